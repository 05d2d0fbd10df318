"""What each attribute does to the score: main effects and interactions, estimated from the scored profiles.

Every profile counts once, with the mean of its repetitions. A main effect is the difference that a level makes to the
score against the first level of its factor, on the average over everything else; an interaction is how much that
difference differs between two levels of a group. Which of its two errors decides whether an effect is there: see
``uncertainty``.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from evenhand.domain.summary import Interval
from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.factorial import Coding, Term, crossings
from evenhand.profiles.audit.observed import Observed
from evenhand.profiles.audit.uncertainty import (
    CLUSTERS,
    REPLICATES,
    Basis,
    Uncertainty,
    basis_of,
    by_clusters,
    by_replicates,
    rounding_error,
    step_of,
)
from evenhand.stats.paired import holm
from evenhand.stats.power import minimum_detectable
from evenhand.stats.regression import Estimate, Fit, ratio_interval
from evenhand.stats.replicates import Replicates

MAIN: Final[Literal["main"]] = "main"
INTERACTION: Final[Literal["interaction"]] = "interaction"
SIGNIFICANT: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A difference between scores: of ``levels`` against others, one pair for each factor.

    ``estimate`` is in points from 0 to 10, and None where ``lacking`` says why there is none: never a zero instead.
    ``replicate`` says how sure it is for these profiles, against the judge's own noise, and ``clustered`` for others
    like them; ``decided_by`` which of the two decides whether the effect is ``found``. ``error``, ``interval``, ``df``,
    ``p``, ``p_holm`` and ``detectable`` are by that one. ``p_holm`` is corrected for the number of effects in the
    audit. ``detectable`` is the smallest true effect that would be found four times in five. ``profiles`` is how many
    scored profiles have one of the levels.
    """

    kind: Literal["main", "interaction"]
    factors: tuple[str, ...]
    levels: tuple[str, ...]
    against: tuple[str, ...]
    is_group: bool
    profiles: int = 0
    estimate: float | None = None
    replicate: Uncertainty | None = None
    clustered: Uncertainty | None = None
    decided_by: Basis | None = None
    p_holm: float | None = None
    detectable: float | None = None
    lacking: str = ""

    @property
    def deciding(self) -> Uncertainty | None:
        """How sure it is by the error that decides."""
        return {None: None, REPLICATES: self.replicate, CLUSTERS: self.clustered}[self.decided_by]

    @property
    def error(self) -> float | None:
        """The standard error that decides."""
        return None if self.deciding is None else self.deciding.error

    @property
    def df(self) -> int:
        """The degrees of freedom of that error."""
        return 0 if self.deciding is None else self.deciding.df

    @property
    def interval(self) -> Interval | None:
        """The interval by that error."""
        return None if self.deciding is None else self.deciding.interval

    @property
    def p(self) -> float | None:
        """How often chance alone would show so much, by that error, were there nothing."""
        return None if self.deciding is None else self.deciding.p

    @property
    def name(self) -> str:
        """The effect in a few words.

        >>> Effect(kind="main", factors=("name",), levels=("Anna",), against=("Ben",), is_group=True).name
        'name: Anna − Ben'
        """
        if self.kind == MAIN:
            return f"{self.factors[0]}: {self.levels[0]} − {self.against[0]}"
        pairs = zip(self.levels, self.against, strict=True)
        return f"{' × '.join(self.factors)}: {' × '.join(f'({level} − {other})' for level, other in pairs)}"

    @property
    def found(self) -> bool:
        """Whether it is there beyond chance, also after the correction for how many were looked at."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT

    @property
    def generalises(self) -> bool:
        """Whether it is there for other profiles too: found, and beyond chance by the clustered error."""
        if not self.found or self.clustered is None:
            return False
        return self.decided_by == CLUSTERS or (self.clustered.p_holm or 0.0) < SIGNIFICANT

    def as_dict(self) -> dict[str, Any]:
        """Return the effect as plain JSON values."""
        lists = {"factors": list(self.factors), "levels": list(self.levels), "against": list(self.against)}
        around = self.interval and asdict(self.interval)
        decided = {"error": self.error, "interval": around, "df": self.df, "p": self.p}
        found = {"found": self.found, "generalises": self.generalises}
        return {"name": self.name, **asdict(self), **lists, **decided, **found}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """How much of a merit makes up for belonging to a group: ``share`` of the merit's own effect."""

    group: str
    merit: str
    share: float
    interval: Interval | None

    def as_dict(self) -> dict[str, Any]:
        """Return the offset as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """All effects of an audit, and the largest difference between two levels of each group (``widest``)."""

    effects: tuple[Effect, ...]
    widest: tuple[Effect, ...]
    offsets: tuple[Offset, ...]
    clusters: int


# A model of more numbers than this takes too long; and nobody reads as many interactions.
_WIDEST: Final = 300


def effects_of(design: AuditDesign, profiles: Iterable[Observed]) -> Effects:
    """Estimate all effects of a design; levels of which no profile is scored have none."""
    return _Estimator(design, [profile for profile in profiles if profile.score is not None]).effects()


@dataclass(frozen=True, slots=True)
class _Model:
    """A model with its fit, which is None where there are more effects than profiles."""

    coding: Coding
    fit: Fit | None


@dataclass(frozen=True, slots=True)
class _Estimated:
    """An effect with its estimate by clusters, and with that by replicates where there are any."""

    effect: Effect
    by_clusters: Estimate | None = None
    by_replicates: Estimate | None = None

    @property
    def deciding(self) -> Estimate | None:
        return self.by_replicates if self.effect.decided_by == REPLICATES else self.by_clusters


class _Estimator:
    """Estimates the effects of a design; the models know only the levels that are scored (``_seen``)."""

    def __init__(self, design: AuditDesign, scored: list[Observed]) -> None:
        self._design = design
        self._scored = scored
        factors = range(len(design.factors))
        self._seen = [sorted({profile.cell[place] for profile in scored}) for place in factors]
        self._sizes = [max(len(seen), 1) for seen in self._seen]
        # Of a factor with one level left nothing can be said; it takes part in no model.
        self._open = {place for place in factors if len(self._seen[place]) > 1}
        self._mains: list[Term] = [(place,) for place in sorted(self._open)]
        self._counted: dict[Term, Counter[tuple[int, ...]]] = {}
        self._groups = [place for place in factors if design.factors[place].name in design.groups]
        samples = [scores for profile in scored for scores in profile.samples]
        self._replicates = Replicates(samples)
        self._step = step_of([score for scores in samples for score in scores])

    def effects(self) -> Effects:
        model = self._model([])
        mains = [self._estimated(model, (at,), (level,), (other,)) for at, level, other in self._pairs()]
        effects = _corrected([*(main.effect for main in mains), *self._interactions()])
        return Effects(
            effects=effects,
            widest=tuple(self._widest(model, place) for place in self._groups if place in self._open),
            offsets=tuple(_offsets(effects, mains)),
            clusters=len({profile.cluster for profile in self._scored}),
        )

    def _model(self, crossed: Sequence[Term]) -> _Model:
        coding = Coding(self._sizes, [*self._mains, *crossed])
        if not self._scored or coding.width > len(self._scored) or (crossed and coding.width > _WIDEST):
            return _Model(coding, None)
        cells = [
            [seen.index(level) for seen, level in zip(self._seen, profile.cell, strict=True)]
            for profile in self._scored
        ]
        scores = [profile.score or 0.0 for profile in self._scored]
        return _Model(coding, Fit(coding.rows(cells), scores, [profile.cluster for profile in self._scored]))

    def _pairs(self) -> Iterator[tuple[int, int, int]]:
        """Yield each factor with a level, and the first of its levels that is scored."""
        for place, factor in enumerate(self._design.factors):
            first = next(iter(self._seen[place]), 0)
            yield from ((place, level, first) for level in range(len(factor.levels)) if level != first)

    def _widest(self, model: _Model, place: int) -> Effect:
        """Return the largest difference between two levels of a factor."""
        first, *others = self._seen[place]
        worth = {first: 0.0}
        for level in others:
            worth[level] = self._estimated(model, (place,), (level,), (first,)).effect.estimate or 0.0
        least, most = min(worth, key=worth.__getitem__), max(worth, key=worth.__getitem__)
        early, late = sorted({least, most} if least != most else {first, others[0]})
        return self._estimated(model, (place,), (late,), (early,)).effect

    def _interactions(self) -> Iterator[Effect]:
        terms = crossings(len(self._design.factors), self._groups)
        crossed = [term for term in terms if self._open.issuperset(term)]
        # Together, if that leaves as much to tell the errors from as it takes up; else each beside the main effects.
        is_roomy = 2 * Coding(self._sizes, [*self._mains, *crossed]).width <= min(len(self._scored), 2 * _WIDEST)
        together = self._model(crossed) if is_roomy else None
        for term in terms:
            model = together or self._model([term] if term in crossed else [])
            first, second = ([pair[1:] for pair in self._pairs() if pair[0] == place] for place in term)
            for pairs in itertools.product(first, second):
                levels, against = zip(*pairs, strict=True)
                yield self._estimated(model, term, levels, against).effect

    def _estimated(self, model: _Model, term: Term, levels: tuple[int, ...], against: tuple[int, ...]) -> _Estimated:
        effect = self._unestimated(term, levels, against)
        if lacking := self._unseen(term, levels, against):
            return _Estimated(replace(effect, lacking=lacking))
        if model.fit is None:
            few = f"{len(self._scored):,} scored profiles are too few to estimate so many levels"
            return _Estimated(replace(effect, lacking=few))
        indices, other_indices = (
            [self._seen[place].index(level) for place, level in zip(term, side, strict=True)]
            for side in (levels, against)
        )
        contrast = model.coding.contrast(term, indices, other_indices)
        estimate = model.fit.estimate(contrast)
        if estimate is None:
            return _Estimated(
                replace(effect, lacking="with the scored profiles, it cannot be separated from other effects")
            )
        weights = [
            load for load, mine in zip(model.fit.row_weights(contrast), self._scored, strict=True) for _ in mine.samples
        ]
        error = self._replicates.error(weights)
        replicate = by_replicates(estimate.value, error)
        # Scores that repeat themselves, or stand alone, may fit the model by nothing but their rounding.
        clustered = by_clusters(estimate, 0.0 if replicate is not None else rounding_error(weights, self._step))
        basis = basis_of(replicate, clustered)
        effect = replace(
            effect,
            estimate=estimate.value,
            replicate=replicate,
            clustered=clustered,
            decided_by=basis,
            lacking="" if basis is not None else "too few profiles for an interval",
        )
        if error is None:
            return _Estimated(effect, estimate)
        replicated = Estimate(value=estimate.value, error=error.value, df=error.df, moves=error.moves)
        return _Estimated(effect, estimate, replicated)

    def _unestimated(self, term: Term, levels: tuple[int, ...], against: tuple[int, ...]) -> Effect:
        factors = [self._design.factors[place] for place in term]
        return Effect(
            kind=MAIN if len(term) == 1 else INTERACTION,
            factors=tuple(factor.name for factor in factors),
            levels=tuple(factor.names[level] for factor, level in zip(factors, levels, strict=True)),
            against=tuple(factor.names[level] for factor, level in zip(factors, against, strict=True)),
            is_group=any(place in self._groups for place in term),
            profiles=sum(self._counts(term)[both] for both in itertools.product(*zip(levels, against, strict=True))),
        )

    def _counts(self, term: Term) -> Counter[tuple[int, ...]]:
        """Count the scored profiles by their levels of some factors."""
        if term not in self._counted:
            self._counted[term] = Counter(tuple(profile.cell[place] for place in term) for profile in self._scored)
        return self._counted[term]

    def _unseen(self, term: Term, levels: tuple[int, ...], against: tuple[int, ...]) -> str:
        """Name a level of which no profile is scored."""
        for place, *pair in zip(term, levels, against, strict=True):
            for level in pair:
                if level not in self._seen[place]:
                    factor = self._design.factors[place]
                    return f"{factor.name} {factor.names[level]!r} is missing: none of its profiles is scored"
        return ""


def _corrected(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """Correct p values for the number of effects, and with them what can be found."""
    decided = _holm([effect.deciding for effect in effects])
    by_each = zip(
        _holm([effect.replicate for effect in effects]), _holm([effect.clustered for effect in effects]), strict=True
    )
    tests = max(sum(p is not None for p in decided), 1)
    return tuple(
        replace(
            effect,
            replicate=effect.replicate and effect.replicate.corrected(replicate_p),
            clustered=effect.clustered and effect.clustered.corrected(clustered_p),
            p_holm=p_holm,
            detectable=None if effect.error is None else minimum_detectable(effect.error, effect.df or 1, tests=tests),
        )
        for effect, p_holm, (replicate_p, clustered_p) in zip(effects, decided, by_each, strict=True)
    )


def _holm(several: Sequence[Uncertainty | None]) -> list[float | None]:
    corrected = holm({str(place): one.p for place, one in enumerate(several) if one is not None})
    return [corrected.get(str(place)) for place in range(len(several))]


def _offsets(effects: Sequence[Effect], mains: Sequence[_Estimated]) -> Iterator[Offset]:
    """Yield what group effects are worth in merits; only a merit that matters beyond chance can make up for one.

    The interval is by the error that decides about the group.
    """
    pairs = list(zip(effects, mains, strict=False))
    for (group, above), (merit, below) in itertools.product(pairs, repeat=2):
        upper, lower = above.deciding, below.by_replicates if group.decided_by == REPLICATES else below.by_clusters
        if group.is_group and not merit.is_group and merit.found and upper is not None and lower is not None:
            share = upper.value / lower.value
            yield Offset(group=group.name, merit=merit.name, share=share, interval=ratio_interval(upper, lower))
