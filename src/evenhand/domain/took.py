"""What the answers of a target took, in dollars and seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What the answers of a target took: dollars, and seconds from the question to the answer.

    Both are sums, over the ``priced`` and the ``timed`` of all ``answers``: of the others it is not known.
    """

    answers: int = 0
    cost: float = 0.0
    priced: int = 0
    seconds: float = 0.0
    timed: int = 0

    @property
    def whole_cost(self) -> float | None:
        """The dollars of all answers; None where the price of one is not known."""
        return self.cost if self.priced == self.answers and self.answers else None

    @property
    def latency(self) -> float | None:
        """The mean of the seconds that are known; None where none are."""
        return self.seconds / self.timed if self.timed else None

    def plus(self, cost: float | None, seconds: float | None) -> Took:
        """Return it with one more answer."""
        return Took(
            answers=self.answers + 1,
            cost=self.cost + (cost or 0.0),
            priced=self.priced + (cost is not None),
            seconds=self.seconds + (seconds or 0.0),
            timed=self.timed + (seconds is not None),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values; null is unknown."""
        return {
            "answers": self.answers, "cost": self.whole_cost, "priced": self.priced, "latency": self.latency,
            "timed": self.timed,
        }  # fmt: skip
