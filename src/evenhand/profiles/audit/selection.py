"""Who would be selected: how often profiles of each group reach the mark, against the group that does so most often."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from evenhand.domain.summary import Interval
from evenhand.domain.verdict import reaches
from evenhand.profiles.audit.design import Design
from evenhand.profiles.audit.observed import Observed
from evenhand.stats.intervals import LEVEL
from evenhand.stats.student import t_quantile

FOUR_FIFTHS: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """How often a level of a group is selected, against the level that is selected most often.

    ``ratio`` is the share of that level's rate; None where nobody of either is scored, or nobody is selected at all.
    """

    factor: str
    level: str
    against: str
    selected: int
    scored: int
    rate: float | None
    ratio: float | None
    interval: Interval | None
    lacking: str = ""

    @property
    def below_four_fifths(self) -> bool:
        """Whether the ratio is below the line that is commonly drawn."""
        return self.ratio is not None and not reaches(self.ratio, FOUR_FIFTHS)

    def as_dict(self) -> dict[str, Any]:
        """Give the impact as plain JSON values."""
        return asdict(self) | {"below_four_fifths": self.below_four_fifths}


def impacts(design: Design, profiles: Iterable[Observed]) -> tuple[Impact, ...]:
    """Give the impact of each group, level by level; nothing where the design does not say who is selected."""
    if (mark := design.select_at) is None:
        return ()
    scored = [one for one in profiles if one.score is not None]
    found: list[Impact] = []
    for place, factor in enumerate(design.factors):
        if factor.name in design.groups:
            levels = [
                [(one.cluster, reaches(one.score or 0.0, mark)) for one in scored if one.cell[place] == number]
                for number in range(len(factor.levels))
            ]
            found += _of_factor(factor.name, factor.names, levels)
    return tuple(found)


def _of_factor(factor: str, names: Sequence[str], levels: Sequence[Sequence[tuple[str, bool]]]) -> list[Impact]:
    rates = [sum(chosen for _, chosen in one) / len(one) if one else None for one in levels]
    best = max(range(len(names)), key=lambda number: -1.0 if rates[number] is None else rates[number] or 0.0)
    return [_impact(factor, names[number], names[best], levels[number], levels[best]) for number in range(len(names))]


def _impact(
    factor: str, level: str, against: str, mine: Sequence[tuple[str, bool]], theirs: Sequence[tuple[str, bool]]
) -> Impact:
    selected, most = (sum(chosen for _, chosen in one) for one in (mine, theirs))
    rate = selected / len(mine) if mine else None
    lacking = ""
    if rate is None:
        lacking = f"{factor} {level!r} is missing: none of its profiles is scored"
    elif not most:
        lacking = "nobody is selected"
    return Impact(
        factor=factor,
        level=level,
        against=against,
        selected=selected,
        scored=len(mine),
        rate=rate,
        ratio=None if rate is None or lacking else selected * len(theirs) / (len(mine) * most),
        interval=None if lacking or level == against else _interval(mine, theirs),
        lacking=lacking,
    )


def _interval(mine: Sequence[tuple[str, bool]], theirs: Sequence[tuple[str, bool]]) -> Interval | None:
    """Give the interval of the ratio, by the logarithm, from how far each cluster moves it.

    Each side is given one more that is selected and one that is not: without them, a side of which all or none are
    selected would seem certain.
    """
    moves: dict[str, float] = {}
    logarithm = 0.0
    for side, sign in ((mine, 1.0), (theirs, -1.0)):
        several = [*side, (f"\n{sign}+", True), (f"\n{sign}-", False)]  # clusters that no profile can have
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
