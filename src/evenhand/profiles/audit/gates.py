"""The gates of an audit, held against its numbers: an estimate beyond a limit fails, or only a whole interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from evenhand.domain.gates import GateResult
from evenhand.domain.summary import Interval
from evenhand.domain.verdict import reaches
from evenhand.profiles.audit.design import EQUAL_REFUSALS, ESTIMATE, GateSpec
from evenhand.profiles.audit.effects import INTERACTION, MAIN, Effect, Effects
from evenhand.profiles.audit.findings import refusal_words, size_interval
from evenhand.profiles.audit.refusals import SIGNIFICANT, Refusal
from evenhand.profiles.audit.selection import Impact
from evenhand.reports.phrases import interval_text

TEST: Final = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditGate(GateResult):
    """Whether a gate of an audit let the judge pass: ``about`` names what decided, ``interval`` is that around it.

    ``decided_by`` is ``estimate`` or ``interval``, as the design has it, and ``test`` for refusals. ``without_doubt``
    says why what was found needs no interval.
    """

    about: str = ""
    interval: Interval | None = None
    decided_by: str = ESTIMATE
    without_doubt: str = ""

    @property
    def words(self) -> str:
        """Say it in a sentence.

        >>> around = Interval(low=0.1, high=0.7, method="t")
        >>> AuditGate(
        ...     name="max_group_effect", wanted=0.5, found=0.4, ok=True, about="name: A − B", interval=around
        ... ).words
        'max_group_effect: limit 0.5, found 0.40 (name: A − B); its interval [0.10, 0.70] includes the limit'

        Where the interval decides, such a gate is met, and the sentence says that the audit is inconclusive.
        """
        demand = f"{self.name}: limit {self.wanted:.4g}"
        if self.found is None:
            return f"{demand}, which cannot be decided: {self.problem}"
        # Two digits, unless these would hide on which side of the limit it is.
        is_near = round(self.found, 2) == round(self.wanted, 2)
        finding = f"{demand}, found {self.found:{'.4g' if is_near else '.2f'}} ({self.about})"
        if self.interval is None:
            return f"{finding}; {self.without_doubt or 'there is no interval'}"
        around = f"its interval {interval_text(self.interval)}"
        if self.decided_by == ESTIMATE or self.certain:
            return f"{finding}; {around} {'excludes' if self.certain else 'includes'} the limit"
        return f"{finding}; {around} includes the limit, so the audit is inconclusive"

    @property
    def certain(self) -> bool:
        """Whether the interval lies on one side of the limit, or none is needed."""
        if self.interval is None:
            return bool(self.without_doubt)
        return not self.interval.low <= self.wanted <= self.interval.high

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        more = {"about": self.about, "interval": self.interval and asdict(self.interval), "certain": self.certain}
        return GateResult.as_dict(self) | more | {"decided_by": self.decided_by}


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalGate(AuditGate):
    """Whether all levels of the groups were left without a score equally often: ``found`` is the smallest p value."""

    decided_by: str = TEST

    @property
    def words(self) -> str:
        """Say it in a sentence.

        >>> RefusalGate(name="equal_refusals", wanted=0.05, found=1.0, ok=True, about="every call gave a score").words
        'equal_refusals: every call gave a score'
        """
        return f"{self.name}: {self.about}"


def checked(
    demands: GateSpec, effects: Effects, impacts: Sequence[Impact], refusals: Sequence[Refusal]
) -> tuple[AuditGate, ...]:
    """Check the gates that are an audit's own; a gate whose number is missing does not hold.

    What is beyond its limit for certain misses a gate, whatever else is missing.
    """
    own = tuple(_gate_results(demands, effects, impacts))
    return (*own, _equal_refusals(refusals)) if demands.demands_equal_refusals else own


def _equal_refusals(refusals: Sequence[Refusal]) -> RefusalGate:
    worst = min(refusals, key=lambda refusal: refusal.p_holm, default=None)
    return RefusalGate(
        name=EQUAL_REFUSALS,
        wanted=SIGNIFICANT,
        found=1.0 if worst is None else worst.p_holm,
        ok=worst is None or not worst.found,
        about="there are no refusals to compare" if worst is None else refusal_words(worst),
    )


def _gate_results(demands: GateSpec, effects: Effects, impacts: Sequence[Impact]) -> Iterator[AuditGate]:
    groups = [effect for effect in effects.effects if effect.is_group]
    if (limit := demands.max_group_effect) is not None:
        missing = [effect for effect in groups if effect.kind == MAIN and effect.estimate is None]
        yield _at_most(_gate("max_group_effect", limit, demands), effects.widest, missing)
    if (limit := demands.max_group_interaction) is not None:
        crossed = [effect for effect in groups if effect.kind == INTERACTION]
        missing = [effect for effect in crossed if effect.estimate is None]
        yield _at_most(_gate("max_group_interaction", limit, demands), crossed, missing)
    if (limit := demands.min_impact_ratio) is not None:
        yield _at_least(_gate("min_impact_ratio", limit, demands), impacts)


def _gate(name: str, limit: float, demands: GateSpec) -> AuditGate:
    return AuditGate(name=name, wanted=limit, found=None, ok=False, decided_by=demands.decided_by)


def _at_most(gate: AuditGate, effects: Sequence[Effect], missing: Sequence[Effect]) -> AuditGate:
    sizes = [_Number(about=effect.name, value=abs(effect.estimate), interval=size_interval(effect))
             for effect in effects if effect.estimate is not None]  # fmt: skip
    beyond = [size for size in sizes if (near := size.near(gate)) is not None and not reaches(gate.wanted, near)]
    if beyond:
        return max(beyond, key=lambda size: size.value).decides(gate, ok=False)
    if missing or not sizes:
        return replace(gate, problem=missing[0].lacking if missing else "there is no such effect in the design")
    if (unknown := next((size for size in sizes if size.near(gate) is None), None)) is not None:
        return replace(gate, problem=f"{unknown.about} has no interval: too few profiles or repetitions")
    return max(sizes, key=lambda size: size.value).decides(gate, ok=True)


def _at_least(gate: AuditGate, impacts: Sequence[Impact]) -> AuditGate:
    # The level that is selected most often is held against itself only where there is no other.
    others = [impact for impact in impacts if impact.level != impact.against] or impacts
    ratios = [
        _Number(
            about=f"{impact.factor}: {impact.level} against {impact.against}",
            value=impact.ratio,
            interval=impact.interval,
            without_doubt="none of its profiles is scored" if impact.is_refused else "",
        )
        for impact in others
        if impact.ratio is not None
    ]
    # A level that is missing could only lower the ratios of the others.
    beyond = [ratio for ratio in ratios if (near := ratio.near(gate)) is not None and not reaches(near, gate.wanted)]
    if beyond:
        return min(beyond, key=lambda ratio: ratio.value).decides(gate, ok=False)
    if missing := [impact for impact in impacts if impact.ratio is None]:
        return replace(gate, problem=missing[0].lacking)
    if (unknown := next((ratio for ratio in ratios if ratio.near(gate) is None), None)) is not None:
        return replace(gate, problem=f"{unknown.about} has no interval: too few profiles")
    return min(ratios, key=lambda ratio: ratio.value).decides(gate, ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Number:
    """A number that a gate limits; ``without_doubt`` says why it needs no interval."""

    about: str
    value: float
    interval: Interval | None
    without_doubt: str = ""

    def near(self, gate: AuditGate) -> float | None:
        """Return what must be beyond the limit for the gate to fail: the number, or the near end of its interval.

        None is for an interval that is not there.
        """
        if gate.decided_by == ESTIMATE or self.without_doubt:
            return self.value
        if self.interval is None:
            return None
        return self.interval.high if gate.name.startswith("min") else self.interval.low

    def decides(self, gate: AuditGate, *, ok: bool) -> AuditGate:
        """Return the gate as this number decides it."""
        return replace(
            gate, found=self.value, ok=ok, about=self.about, interval=self.interval, without_doubt=self.without_doubt
        )
