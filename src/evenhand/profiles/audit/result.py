"""All numbers of an audit, worked out from the stored run alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.domain.run import CaseResult
from evenhand.domain.run_kind import PROFILES
from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.effects import Effect, Offset, effects_of
from evenhand.profiles.audit.error_classes import ErrorClass, error_classes
from evenhand.profiles.audit.factorial import Alias, aliases
from evenhand.profiles.audit.gates import AuditGate, checked
from evenhand.profiles.audit.observed import Level, Observed, Spread, levels, observed, spread
from evenhand.profiles.audit.refusals import Refusal, refusals
from evenhand.profiles.audit.selection import Impact, Swap, impacts, swaps


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditNumbers:
    """What an audit found.

    ``profiles`` is how many there are, of which ``scored`` have a score and ``pending`` are still to be scored;
    ``calls`` counts repetitions that ended, of which ``failed`` gave no score, for the reasons in ``errors``; as JSON,
    these are in the summary of the run. ``cells`` is how many combinations of
    levels the design has, ``taken`` how many of them are there. Errors are clustered by ``clusters`` base profiles, or
    profiles. ``widest`` has the largest difference between two levels of each group. ``refusals`` tests whether groups
    are left without a score equally often; it is empty where every call gave one.
    """

    design: AuditDesign
    profiles: int
    scored: int
    pending: int
    calls: int
    failed: int
    errors: tuple[ErrorClass, ...]
    cells: int
    taken: int
    clusters: int
    levels: tuple[Level, ...]
    effects: tuple[Effect, ...]
    widest: tuple[Effect, ...]
    offsets: tuple[Offset, ...]
    swaps: tuple[Swap, ...]
    impacts: tuple[Impact, ...]
    refusals: tuple[Refusal, ...]
    spread: Spread
    aliases: tuple[Alias, ...]
    gates: tuple[AuditGate, ...]

    @property
    def missing(self) -> tuple[Level, ...]:
        """The levels of which nothing is known, since none of their profiles has a score."""
        return tuple(level for level in self.levels if level.missing)

    @property
    def findings(self) -> tuple[Effect | Refusal, ...]:
        """What was found about groups, beyond chance: refusals first, then effects on the score."""
        effects = tuple(effect for effect in self.effects if effect.found and effect.is_group)
        return (*(refusal for refusal in self.refusals if refusal.found), *effects)

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values."""
        counts = ("profiles", "scored", "pending", "calls", "failed", "cells", "taken", "clusters")
        lists = ("levels", "effects", "widest", "offsets", "swaps", "impacts", "refusals", "aliases", "gates")
        return (
            {"design": self.design.as_dict()}
            | {name: getattr(self, name) for name in counts}
            | {"missing": [{"factor": level.factor, "level": level.level} for level in self.missing]}
            | {name: [item.as_dict() for item in getattr(self, name)] for name in lists}
            | {"spread": self.spread.as_dict()}
        )


def design_of(definition: Mapping[str, Any]) -> AuditDesign:
    """Return the design that a run's definition keeps."""
    return AuditDesign.stored(definition[PROFILES]["design"])


def numbers_of(definition: Mapping[str, Any], results: Iterable[CaseResult]) -> AuditNumbers:
    """Work out the numbers of an audit from the definition and the results of its run."""
    design = design_of(definition)
    return numbers_from(design, observed(design, results))


def numbers_from(design: AuditDesign, profiles: list[Observed]) -> AuditNumbers:
    """Work out the numbers of an audit from its profiles."""
    effects = effects_of(design, profiles)
    impact = impacts(design, profiles)
    refused = refusals(design, profiles)
    cells = sorted({profile.cell for profile in profiles})
    return AuditNumbers(
        design=design,
        profiles=len(profiles),
        scored=sum(profile.score is not None for profile in profiles),
        pending=sum(profile.pending for profile in profiles),
        calls=sum(len(profile.scores) + profile.failures for profile in profiles),
        failed=sum(profile.failures for profile in profiles),
        errors=error_classes(profiles),
        cells=design.cells,
        taken=len(cells),
        clusters=effects.clusters,
        levels=levels(design, profiles),
        effects=effects.effects,
        widest=effects.widest,
        offsets=effects.offsets,
        swaps=swaps(design, profiles),
        impacts=impact,
        refusals=refused,
        spread=spread(profiles),
        aliases=() if len(cells) == design.cells else aliases_of(design, cells),
        gates=checked(design.gates, effects, impact, refused),
    )


def aliases_of(design: AuditDesign, cells: list[tuple[int, ...]]) -> tuple[Alias, ...]:
    """Return which effects the cells of a design cannot tell apart."""
    names = [factor.name for factor in design.factors]
    groups = [place for place, name in enumerate(names) if name in design.groups]
    return aliases(names, [len(factor.levels) for factor in design.factors], cells, groups)
