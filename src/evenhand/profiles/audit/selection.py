"""Who would be selected: impact ratios of the groups, and what swapping the group alone changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from evenhand.domain.summary import Interval
from evenhand.domain.verdict import reaches
from evenhand.profiles.audit.design import AuditDesign, Factor
from evenhand.profiles.audit.factorial import Cell
from evenhand.profiles.audit.observed import Observed
from evenhand.stats.distributions import t_quantile
from evenhand.stats.regression import NOISE, Fit
from evenhand.stats.wilson import LEVEL

FOUR_FIFTHS: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """How often a level of a group is selected, against the level that is selected most often.

    ``rate`` is over all ``profiles`` that the judge replied about, of which ``scored`` have a score and ``selected``
    one that is high enough; each counts with the share of its replies that gave a score, so that being refused is not
    being selected. ``refused`` of ``calls``, those with a reply, gave none. ``unjudged`` profiles are left out, since
    no call brought a reply, or some are to come. ``ratio`` is the share of the other level's rate; None where the
    judge replied about nobody of the level, or nobody is selected at all. Where none is scored, no ``interval`` says
    how far off it is.
    """

    factor: str
    level: str
    against: str
    selected: int
    scored: int
    profiles: int
    unjudged: int
    refused: int
    calls: int
    rate: float | None
    ratio: float | None
    interval: Interval | None
    lacking: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether the judge replied about every profile of the level, and scored none of them."""
        return self.profiles > 0 and not self.scored and not self.unjudged

    @property
    def below_four_fifths(self) -> bool:
        """Whether the ratio is below the line that is commonly drawn."""
        return self.ratio is not None and not reaches(self.ratio, FOUR_FIFTHS)

    def as_dict(self) -> dict[str, Any]:
        """Return the impact as plain JSON values."""
        return asdict(self) | {"below_four_fifths": self.below_four_fifths}


def impacts(design: AuditDesign, profiles: Iterable[Observed]) -> tuple[Impact, ...]:
    """Return the impact of each group, level by level; nothing where the design does not say who is selected."""
    if (mark := design.select_at) is None:
        return ()
    several = list(profiles)
    return tuple(
        impact
        for place, factor in enumerate(design.factors)
        if factor.name in design.groups
        for impact in _factor_impacts(
            factor,
            [
                _Applicants([profile for profile in several if profile.cell[place] == level], mark)
                for level in range(len(factor.levels))
            ],
        )
    )


class _Applicants:
    """The profiles of a level: how far each counts as selected, with its cluster."""

    def __init__(self, all_profiles: Sequence[Observed], mark: float) -> None:
        self.profiles = profiles = [profile for profile in all_profiles if profile.is_judged]
        self.unjudged = len(all_profiles) - len(profiles)
        chosen = [profile.score is not None and reaches(profile.score, mark) for profile in profiles]
        self.selected = sum(chosen)
        self.scored = sum(profile.score is not None for profile in profiles)
        self.refused = sum(profile.refused for profile in profiles)
        self.calls = self.refused + sum(len(profile.scores) for profile in profiles)
        self.shares = [
            (profile.cluster, profile.answered * is_chosen) for profile, is_chosen in zip(profiles, chosen, strict=True)
        ]
        self.total = math.fsum(share for _, share in self.shares)

    @property
    def rate(self) -> float | None:
        """The rate of selection; None where nothing is known."""
        return self.total / len(self.profiles) if self.profiles else None


def _factor_impacts(factor: Factor, levels: Sequence[_Applicants]) -> Iterator[Impact]:
    best = max(range(len(levels)), key=lambda number: -1.0 if (rate := levels[number].rate) is None else rate)
    for number, mine in enumerate(levels):
        yield _impact(factor.name, factor.names[number], factor.names[best], mine, levels[best])


def _impact(factor: str, level: str, against: str, mine: _Applicants, theirs: _Applicants) -> Impact:
    lacking = ""
    if not mine.profiles:
        lacking = f"{factor} {level!r} is missing: none of its profiles was judged"
    elif not theirs.total:
        lacking = "nobody is selected"
    return Impact(
        factor=factor,
        level=level,
        against=against,
        selected=mine.selected,
        scored=mine.scored,
        profiles=len(mine.profiles),
        unjudged=mine.unjudged,
        refused=mine.refused,
        calls=mine.calls,
        rate=mine.rate,
        ratio=None if lacking else mine.total * len(theirs.profiles) / (len(mine.profiles) * theirs.total),
        interval=_interval(mine.shares, theirs.shares) if mine.scored and not lacking and level != against else None,
        lacking=lacking,
    )


def _interval(mine: Sequence[tuple[str, float]], theirs: Sequence[tuple[str, float]]) -> Interval | None:
    """Return the interval of the ratio, by the logarithm, from how far each cluster moves it.

    Each side is given one more that is selected and one that is not: without them, a side of which all or none are
    selected would seem certain.
    """
    moves: dict[str, float] = {}
    logarithm = 0.0
    for side, sign in ((mine, 1.0), (theirs, -1.0)):
        several = [*side, (f"\n{sign}+", 1.0), (f"\n{sign}-", 0.0)]  # clusters that no profile can have
        rate = sum(chosen for _, chosen in several) / len(several)
        logarithm += sign * math.log(rate)
        for cluster, chosen in several:
            moves[cluster] = moves.get(cluster, 0.0) + sign * (chosen - rate) / (len(several) * rate)
    clusters = len({cluster for cluster, _ in (*mine, *theirs)})
    if clusters < 2:
        return None
    error = math.sqrt(math.fsum(move * move for move in moves.values()) * clusters / (clusters - 1))
    half = t_quantile(LEVEL, clusters - 1) * error
    low = 0.0 if not any(chosen for _, chosen in mine) else math.exp(logarithm - half)
    return Interval(low=low, high=math.exp(logarithm + half), method="log_ratio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Pairs of scored profiles that differ in one group's level only.

    ``difference`` is the mean of ``level`` minus ``against``; ``changed`` counts the pairs whose scores differ at all,
    ``flipped`` those of which one is selected and the other is not (None where the design does not say who is).
    ``largest`` is the largest difference, between the two ``profiles`` named.
    """

    factor: str
    level: str
    against: str
    pairs: int
    difference: float
    interval: Interval | None
    changed: int
    flipped: int | None
    largest: float
    profiles: tuple[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Return the swap as plain JSON values."""
        return asdict(self) | {"profiles": list(self.profiles)}


def swaps(design: AuditDesign, profiles: Iterable[Observed]) -> tuple[Swap, ...]:
    """Return the swaps of each group: each level for the first one; a fraction may have none."""
    scored = [profile for profile in profiles if profile.score is not None]
    group_swaps = []
    for place, factor in enumerate(design.factors):
        if factor.name not in design.groups:
            continue
        same: dict[tuple[str | None, Cell], dict[int, Observed]] = {}
        for profile in scored:
            rest = (*profile.cell[:place], *profile.cell[place + 1 :])
            base = None if design.profiles is None else profile.cluster
            same.setdefault((base, rest), {})[profile.cell[place]] = profile
        for level in range(1, len(factor.levels)):
            pairs = [(mine[level], mine[0]) for mine in same.values() if level in mine and 0 in mine]
            if pairs:
                group_swaps.append(_swap(design, factor.name, (factor.names[level], factor.names[0]), pairs))
    return tuple(group_swaps)


def _swap(design: AuditDesign, factor: str, names: tuple[str, str], pairs: list[tuple[Observed, Observed]]) -> Swap:
    differences = [(profile.score or 0.0) - (other.score or 0.0) for profile, other in pairs]
    # Without base profiles every pair is its own cluster, named by its first profile.
    clusters = [profile.id if design.profiles is None else profile.cluster for profile, _ in pairs]
    mean = Fit([[1.0]] * len(pairs), differences, clusters).estimate([1.0])
    at = max(range(len(pairs)), key=lambda place: abs(differences[place]))
    mark = design.select_at
    return Swap(
        factor=factor,
        level=names[0],
        against=names[1],
        pairs=len(pairs),
        difference=sum(differences) / len(pairs),
        interval=None if mean is None else mean.interval,
        changed=sum(abs(difference) > NOISE for difference in differences),
        flipped=None
        if mark is None
        else sum(reaches(profile.score or 0.0, mark) != reaches(other.score or 0.0, mark) for profile, other in pairs),
        largest=differences[at],
        profiles=(pairs[at][0].id, pairs[at][1].id),
    )
