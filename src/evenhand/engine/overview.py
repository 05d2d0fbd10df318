"""The overview of a run: computed as evaluations are committed, or from the rows, and kept beside them."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from evenhand.domain.early_decision import early_decision, without_intervals
from evenhand.domain.errors import StoreError
from evenhand.domain.evaluation import Attempt, Evaluation, Usage, is_token_count
from evenhand.domain.failure import Failure
from evenhand.domain.gates import GateResult, slices_of
from evenhand.domain.json_codec import evaluation_from
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer, PlannedCase, RunRecord, RunStatus
from evenhand.engine.store_location import db_option
from evenhand.engine.stored_survey import stored_survey
from evenhand.reports.overview import FORMAT, Overview, Survey
from evenhand.reports.phrases import Standing
from evenhand.reports.report import Report
from evenhand.store.results import cases_at
from evenhand.store.rows import PATIENT, answer_of, dumps, loads
from evenhand.store.store import Store
from evenhand.store.summaries import Summaries

if TYPE_CHECKING:
    from evenhand.domain.comparison import TargetComparison


# How many cases are read together.
_AT_ONCE: Final = 50
# A run in progress has other numbers each time that it is looked at. With more rows, a list does not count it.
MOST_COUNTED: Final = 10_000


def overview_of(store: Store, run: RunRecord) -> Overview:
    """Return the overview of a run as it is now.

    It is kept with what it covers, which is looked at before the rows are read and again after: one that was worked
    out while rows were added, or before, is not shown. A run that somebody works on is counted and not kept.
    """
    summaries = store.summaries
    if (overview := _read_kept(summaries, run, summaries.known_coverage(run))) is not None:
        return _as_far_as_decided(run, overview)
    coverage = summaries.coverage(run)
    overview = stored_survey(store, run)
    keep_overview(store, run, coverage, overview)
    return _as_far_as_decided(run, overview)


def keep_overview(store: Store, run: RunRecord, coverage: str, overview: Overview) -> None:
    """Keep the overview of a run, unless more was added to it than the overview covers, or may be at any moment."""
    if not is_at_work(store, run) and store.summaries.coverage(run) == coverage:
        with contextlib.suppress(StoreError):  # a store that can only be read
            store.summaries.keep(run, coverage, dumps(overview.as_dict()), format=FORMAT)


def listed_overview(store: Store, run: RunRecord) -> Overview | None:
    """Return the overview of a run for a list of runs; None if it is in progress, and too large to count each time."""
    if is_at_work(store, run) and sum(store.summaries.counts(run).values()) > MOST_COUNTED:
        return None
    return overview_of(store, run)


def _as_far_as_decided(run: RunRecord, overview: Overview) -> Overview:
    """Return an overview, without intervals if the run was decided before all cases were judged."""
    if early_decision(run) is None:
        return overview
    return replace(overview, summary=without_intervals(overview.summary))


def kept_overview(store: Store, run: RunRecord) -> Overview | None:
    """Return the overview of a run where it is known without reading the run."""
    summaries = store.summaries
    overview = _read_kept(summaries, run, summaries.known_coverage(run))
    return None if overview is None else _as_far_as_decided(run, overview)


def report_from(store: Store, run: RunRecord, overview: Overview, gates: tuple[GateResult, ...]) -> Report:
    """Return what the writers of reports need."""
    return Report(
        run=run,
        summary=overview.summary,
        gates=gates,
        results=lambda: store.results(run),
        overview=overview,
        at=functools.partial(results_at, store, run),
        standings=functools.partial(_case_standings, store, run),
        targets=functools.partial(_compare_targets, store, run),
        db_option=db_option(store.address),
    )


def _compare_targets(store: Store, run: RunRecord) -> TargetComparison | None:
    from evenhand.engine.target_comparison import compare_targets  # noqa: PLC0415 - not every reader asks for it

    return compare_targets(store, run)


def results_at(store: Store, run: RunRecord, positions: Sequence[int]) -> Iterator[CaseResult]:
    """Yield the cases of some positions, in that order; one that is not there is left out."""
    for first in range(0, len(positions), _AT_ONCE):
        some = positions[first : first + _AT_ONCE]
        found = cases_at(store, run, sorted(set(some)))
        yield from (found[position].result for position in some if position in found)


def _case_standings(store: Store, run: RunRecord) -> Iterator[tuple[int, Standing]]:
    from evenhand.engine.case_scores import case_standings  # noqa: PLC0415 - not every reader asks for it

    return case_standings(store, run)


def _read_kept(summaries: Summaries, run: RunRecord, coverage: str) -> Overview | None:
    content = summaries.find(run, coverage, format=FORMAT)
    if content is None:
        return None
    try:
        return Overview.from_dict(loads(content))
    except (KeyError, TypeError, ValueError, AttributeError, StoreError):  # whole, and not what this version writes
        return None


def is_at_work(store: Store, run: RunRecord) -> bool:
    """Return whether rows may be added to a run at any moment: its cases, too, if it was never planned to the end."""
    return run.status is RunStatus.PLANNING or (run.status is RunStatus.RUNNING and store.runs.in_hand(run))


_Value = TypeVar("_Value")


class LiveOverview:
    """Takes in what is committed to a run that began with nothing, and keeps the overview when the run has finished.

    It is kept only if the run has as many rows as were taken in here. All other runs (one that was resumed, or stopped,
    or to which somebody else added rows) are read from the store when they are looked at.
    """

    def __init__(self, run: RunRecord) -> None:
        self._thresholds = run.thresholds
        self._repeat = run.repeat
        self._survey = Survey(slices_of(run.definition))
        self._unfinished: dict[int, _UnfinishedCase] = {}
        self._cases = self._evaluations = self._answers = 0
        self._is_sound = True

    def add_answer(self, planned: PlannedCase, answer: MadeAnswer, content: str) -> None:
        """Take in an answer, with what the store has of it."""
        try:
            self._answers += 1
            case = self._unfinished.setdefault(planned.position, _UnfinishedCase())
            case.answers[answer.sample] = answer if _is_plain_answer(answer, content) else answer_of(content)
        except Exception:  # it is anybody's code that made it; whoever reads the run will hear of it
            self._is_sound = False

    def add_evaluation(self, planned: PlannedCase, place: int, judgment: Judgment, content: str) -> None:
        """Take in an evaluation, with what the store has of it."""
        try:
            self._evaluations += 1
            if not _is_plain_evaluation(judgment.evaluation, content):
                judgment = judgment._replace(evaluation=evaluation_from(loads(content)))
            self._add(planned, place, judgment)
        except Exception:  # as above
            self._is_sound = False

    def _add(self, planned: PlannedCase, place: int, judgment: Judgment) -> None:
        position, expected = planned.position, planned.expected * self._repeat
        if expected == 1 and position not in self._unfinished:
            self._cases += 1
            self._survey.add_single(position, planned.case, judgment, self._thresholds)
            return
        case = self._unfinished.setdefault(position, _UnfinishedCase())
        case.judgments[judgment.sample, place] = judgment
        if len(case.judgments) < expected:
            return
        del self._unfinished[position]
        self._cases += 1
        self._survey.add(
            CaseResult(
                position=position,
                case=planned.case,
                answers=_in_order(case.answers),
                judgments=_in_order(case.judgments),
                thresholds=self._thresholds,
            )
        )

    def keep(self, store: Store, run: RunRecord) -> None:
        """Keep the overview of a run that was just marked as finished, if it is what its rows would give.

        A store that cannot be written to raises ``StoreError``. Nothing is lost by it: the run is read when somebody
        looks at it.
        """
        counts = (self._cases, self._evaluations, self._answers)
        if run.status is not RunStatus.FINISHED or counts != (run.cases, run.evaluations, run.answers):
            return
        if self._is_sound and self._survey.is_exact:
            overview = dumps(self._survey.overview().as_dict())
            store.summaries.keep(run, store.summaries.coverage(run), overview, format=FORMAT)


class _UnfinishedCase:
    """What is there of a case of which more is to come: answers by sample, judgments by sample and evaluator."""

    __slots__ = ("answers", "judgments")

    def __init__(self) -> None:
        self.answers: dict[int, MadeAnswer] = {}
        self.judgments: dict[tuple[int, int], Judgment] = {}


def _in_order(values: Mapping[Any, _Value]) -> tuple[_Value, ...]:
    return tuple(values[key] for key in sorted(values))


_TEXT_OR_NONE: Final = (str, type(None))
_ERROR_OR_NONE: Final = (Failure, str, type(None))
_NUMBER_OR_NONE: Final = (float, type(None))
# What is in details and is looked into.
_NESTED: Final = frozenset(("members", "meta_judge", "ambiguous"))


def _is_plain_evaluation(evaluation: Evaluation, content: str) -> bool:
    """Return whether an evaluation that is read back from the store is counted as this one is.

    Evaluators are anybody's code, and may give what JSON has no word for.
    """
    details = evaluation.details
    return (
        type(details) is dict
        and type(details.get("judge")) in _TEXT_OR_NONE
        and _NESTED.isdisjoint(details)
        and type(evaluation.evaluator) is type(evaluation.type) is type(evaluation.reasoning) is str
        and type(evaluation.score) in _NUMBER_OR_NONE
        and type(evaluation.retry_count) is int
        and not (evaluation.flags and any(type(flag) is not str for flag in evaluation.flags))
        and _is_plain(evaluation, content)
    )


def _is_plain_answer(answer: MadeAnswer, content: str) -> bool:
    """Return whether an answer that is read back from the store is counted as this one is."""
    return _is_plain_amount(answer.cost) and _is_plain(answer, content)


def _is_plain(record: Evaluation | MadeAnswer, content: str) -> bool:
    if content.startswith(PATIENT) or type(record.error) not in _ERROR_OR_NONE:
        return False
    usage = record.usage
    for attempt in record.attempts:
        if type(attempt) is not Attempt or type(attempt.error) not in _ERROR_OR_NONE:
            return False
        if not (_is_plain_amount(attempt.cost) and _is_plain_amount(attempt.saved)) or (
            attempt.usage is not usage and not _is_plain_usage(attempt.usage)
        ):
            return False
    return _is_plain_usage(usage)


def _is_plain_amount(dollars: float | None) -> bool:
    return dollars is None or (type(dollars) is float and math.isfinite(dollars))


def _is_plain_usage(usage: Usage | None) -> bool:
    return usage is None or (
        type(usage) is Usage
        and is_token_count(usage.input_tokens)
        and is_token_count(usage.output_tokens)
        and is_token_count(usage.cached_tokens)
        and is_token_count(usage.cache_write_tokens)
    )
