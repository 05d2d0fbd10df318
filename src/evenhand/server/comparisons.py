"""Two runs of the store compared, once for as long as nothing is judged in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evenhand.domain.comparison import STANDINGS, Change, Comparison
from evenhand.domain.run import RunRecord
from evenhand.engine.comparing import Side, compare_runs
from evenhand.profiles.undertaken import require_scores
from evenhand.reports.standing import Standing
from evenhand.server.counting import Counted
from evenhand.store.store import Store
from evenhand.suites.judging import judging_differences

MOST_CHANGES: Final = 100
SCORED: Final = ("pass", "borderline", "fail")
_WAYS: Final = {"worse": "To a worse verdict", "better": "To a better verdict"}


def compared(
    counts: Counted,
    store: Store,
    runs: tuple[RunRecord, RunRecord],
    *,
    seconds: float,
    evaluator: str | None = None,
    most_changes: int | None = MOST_CHANGES,
    anyway: bool = False,
) -> Comparison:
    """Compare run B with run A; raises ``TimeoutError`` where that takes longer than so many seconds, and goes on.

    ``most_changes`` is how many of the cases that changed are named, all if it is None.
    """
    a, b = runs
    for run in runs:
        require_scores(run)

    def compare() -> Comparison:
        return compare_runs(
            Side(store=store, run=a),
            Side(store=store, run=b),
            differing=judging_differences(a.definition, b.definition),
            evaluator=evaluator,
            limit=most_changes,
            anyway=anyway,
        )

    return counts.compared(store, runs, compare, seconds, str(evaluator or ""), str(most_changes), str(anyway))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """How many cases came to a worse verdict, how many to a better one, and how many lost their score to an error."""

    worse: int
    better: int
    broken: int

    @classmethod
    def of(cls, found: Comparison) -> Turns:
        """Count them in the table of verdicts."""
        rows = [dict(zip(STANDINGS, row, strict=True)) for row in found.cases.transitions]
        table = dict(zip(STANDINGS, rows, strict=True))
        pairs = [(before, after) for before in SCORED for after in SCORED]
        return cls(
            worse=sum(table[before][after] for before, after in pairs if is_worse(before, after)),
            better=sum(table[before][after] for before, after in pairs if is_worse(after, before)),
            broken=sum(table[before]["error"] for before in SCORED),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Which changes are wanted: from one verdict, to another, or all that went the same ``way``."""

    before: str
    after: str
    way: str

    @property
    def is_any(self) -> bool:
        """Whether some are left out."""
        return bool(self.before or self.after or self.way in _WAYS)

    @property
    def words(self) -> str:
        """Say which."""
        if self.way in _WAYS:
            return _WAYS[self.way]
        before, after = (Standing(one).word if one in STANDINGS else "anything" for one in (self.before, self.after))
        return f"From {before} to {after}"

    def takes(self, change: Change) -> bool:
        """Tell whether a change is wanted."""
        before, after = change.standing_a, change.standing_b
        turned = {"worse": is_worse(before, after), "better": is_worse(after, before)}
        return self.before in ("", before) and self.after in ("", after) and turned.get(self.way, True)


def is_worse(before: str, after: str) -> bool:
    """Tell whether a verdict became worse; an error is nobody's verdict."""
    return before in SCORED and after in SCORED and SCORED.index(after) > SCORED.index(before)
