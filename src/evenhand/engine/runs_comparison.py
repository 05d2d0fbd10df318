"""Several runs, each against one of them: what cannot be compared is refused run by run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evenhand.domain.comparison import Compared, Comparison, RunsComparison
from evenhand.domain.errors import ConfigError, IncomparableError
from evenhand.domain.run import RunRecord
from evenhand.domain.run_differences import RunDifferences
from evenhand.engine.target_comparison import with_holm


def compare_several(
    a: RunRecord,
    others: Sequence[RunRecord],
    compare: Callable[[RunRecord], Comparison],
    *,
    evaluator: str | None = None,
) -> RunsComparison:
    """Compare each of some runs with run A, by a function that compares two.

    A run that cannot be compared is refused by name, and the others are compared; where none can be, that is an error.
    """
    _refuse_repeated(a, others)
    compared: dict[str, Compared] = {}
    refused: dict[str, str] = {}
    notes: dict[str, tuple[str, ...]] = {}
    differences: dict[str, RunDifferences] = {}
    for run in others:
        try:
            comparison = compare(run)
        except ConfigError as error:
            refused[run.id] = _why(error)
            continue
        compared[run.id] = comparison.subject
        differences[run.id] = comparison.differences
        if comparison.differing or comparison.notes:
            notes[run.id] = (*comparison.differing, *comparison.notes)
    if not compared:
        reasons = "".join(f"\n- {name}: {why}" for name, why in refused.items())
        raise ConfigError(f"none of the runs can be compared with {a.id}:{reasons}")
    return RunsComparison(
        a=a,
        baseline=a.id,
        runs={run.id: run for run in others},
        others=with_holm(compared),
        evaluator=evaluator,
        refused=refused,
        notes=notes,
        differences=differences,
    )


def _why(error: ConfigError) -> str:
    if isinstance(error, IncomparableError):
        return "; ".join((error.why, *error.differing))
    return str(error)


def _refuse_repeated(a: RunRecord, others: Sequence[RunRecord]) -> None:
    seen = {a.id}
    for run in others:
        if run.id in seen:
            raise ConfigError(f"run {run.id} is named twice; name each run once, see: evenhand runs")
        seen.add(run.id)
