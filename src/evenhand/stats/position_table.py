"""Pairs that were shown in both orders: how often the verdict depends on the place, and which place it favours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evenhand.domain.summary import Rate
from evenhand.stats.distributions import sign_p_value
from evenhand.stats.refusal import Refused
from evenhand.stats.shares import share
from evenhand.stats.wilson import LEVEL

# What a verdict says is better: what was shown first, or second; None where it could not be read.
Place: TypeAlias = Literal["first", "second", "tie"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionTable:
    """How verdicts on pairs in both orders go together.

    ``wins`` and ``losses`` are pairs that one of the two wins in both orders, and ``ties`` those that are tied in both.
    The others are inconsistent: ``to_first`` where what is shown first wins both times, ``to_second`` where the second
    does, and ``with_a_tie`` where one verdict is a tie. ``unreadable`` pairs lack a verdict, and are in no rate.
    """

    wins: int = 0
    losses: int = 0
    ties: int = 0
    to_first: int = 0
    to_second: int = 0
    with_a_tie: int = 0
    unreadable: int = 0

    @property
    def valid(self) -> int:
        """How many pairs have both verdicts."""
        return self.wins + self.losses + self.ties + self.inconsistent

    @property
    def inconsistent(self) -> int:
        """How many pairs have verdicts that contradict each other."""
        return self.to_first + self.to_second + self.with_a_tie

    def inconsistency(self, level: float = LEVEL) -> Rate | Refused:
        """Return the share of pairs whose verdicts contradict each other."""
        return share(self.inconsistent, self.valid, "pairs with both verdicts", level)

    def win_rate(self) -> float | Refused:
        """Return how often the first of each pair wins; what is tied or inconsistent counts half."""
        if not self.valid:
            return Refused("there are no pairs with both verdicts")
        return (self.wins + (self.ties + self.inconsistent) / 2) / self.valid

    @property
    def p(self) -> float:
        """How likely chance alone favours one place so much (exact sign test)."""
        return sign_p_value(self.to_first, self.to_second)


def position_table(pairs: Iterable[tuple[Place | None, Place | None]]) -> PositionTable:
    """Count pairs by their verdicts: the first when A was shown first, the second when B was.

    >>> table = position_table([("first", "second"), ("first", "first"), ("tie", "first"), ("second", None)])
    >>> table.wins, table.to_first, table.with_a_tie, table.unreadable
    (1, 1, 1, 1)
    """
    counts = dict.fromkeys(_NAMES.values(), 0) | {"with_a_tie": 0, "unreadable": 0}
    for one, other in pairs:
        for verdict in (one, other):
            if verdict not in ("first", "second", "tie", None):
                raise ValueError(f"a verdict is first, second, tie or None; got {verdict!r:.80}")
        name = "unreadable" if one is None or other is None else _NAMES.get((one, other), "with_a_tie")
        counts[name] += 1
    return PositionTable(**counts)


_NAMES: dict[tuple[Place, Place], str] = {
    ("first", "second"): "wins",
    ("second", "first"): "losses",
    ("tie", "tie"): "ties",
    ("first", "first"): "to_first",
    ("second", "second"): "to_second",
}
