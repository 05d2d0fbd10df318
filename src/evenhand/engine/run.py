"""A run as a program gets it: its progress, its numbers, its cases one by one, and its reports."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.domain.early_decision import stopped_decided
from evenhand.domain.errors import ConfigError, EvenhandError, GatesFailed, did_you_mean
from evenhand.domain.exit_code import ExitCode, exit_code
from evenhand.domain.failure import Failure
from evenhand.domain.gates import GateResult, Gates
from evenhand.domain.label import Draw, Label
from evenhand.domain.run import CaseResult, Judgment, RunRecord, RunStatus
from evenhand.domain.summary import CorrectedNumbers, Summary
from evenhand.domain.verdict import Verdict
from evenhand.engine.cost_forecast import CostForecast
from evenhand.engine.labelled import all_gates, labelled_overview
from evenhand.engine.overview import results_at
from evenhand.engine.store_location import DEFAULT, PlaceLike, StoreLocation, db_option
from evenhand.models.retry import BUDGET
from evenhand.reports.json import case_row
from evenhand.reports.overview import Overview
from evenhand.reports.phrases import Standing, cost_text, counted, mean_sentence
from evenhand.reports.report import FORMATS, Report, write
from evenhand.reports.report_kind import ReportKind, report_kind_of, writer_for_run
from evenhand.store.batches import StoredBatch
from evenhand.store.store import Store

if TYPE_CHECKING:
    from evenhand.domain.comparison import TargetComparison
    from evenhand.trust.card import JudgeCard

# By names of their own: to look into an enum, for each evaluation, takes seven times as long.
_PASS, _BORDERLINE = Verdict.PASS, Verdict.BORDERLINE


class Progress:
    """Counts that grow while a run goes on; reading them costs nothing."""

    def __init__(self, *, total: int = 0, done: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.began = clock()
        self.total = total
        self.done_before = self.done = done
        self.scored = self.not_evaluated = self.errors = self.retries = 0
        self.passed = self.borderline = 0
        self.calls = self.cached = self.faults = 0
        self.cost: float | None = 0.0
        # What the rest will cost, once enough cases are judged.
        self.forecast: CostForecast | None = None
        # The error of the evaluation that failed last.
        self.latest_error: str | None = None
        # Which provider is gone and waited for, in words.
        self.paused: str | None = None
        # Which batches are waited for, and how many dollars batches save in this process.
        self.batches: tuple[StoredBatch, ...] = ()
        self.batch_saving: float | None = None
        # Whether nearly all workers of a cluster wait for replies, so that more of them would not help.
        self.waits_for_provider = False

    def add(self, judgment: Judgment) -> None:
        """Count an evaluation that was committed."""
        evaluation = judgment.evaluation
        if judgment.round == 0:
            self.done += 1
        self.retries += evaluation.retry_count
        if evaluation.score is None:  # which only one that did not happen has
            self.not_evaluated += 1
        elif evaluation.error is not None:
            self.errors += 1
            self.latest_error = evaluation.error
        else:
            self.scored += 1
            self.passed += evaluation.verdict is _PASS
            self.borderline += evaluation.verdict is _BORDERLINE

    @property
    def failed(self) -> int:
        """How many were scored and did not pass, not even nearly."""
        return self.scored - self.passed - self.borderline

    @property
    def seconds(self) -> float:
        """How long this process has been at it."""
        return self._clock() - self.began

    @property
    def rate(self) -> float:
        """Evaluations a second."""
        return (self.done - self.done_before) / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """How long the rest may take at this rate; None while that is unknown."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None


def stop_reason(why: str, progress: Progress) -> str:
    """Say why a run stopped; where its money is spent, also how far it came and what the rest would cost."""
    failure = Failure.of(why)
    if failure.kind != BUDGET or not failure.message.startswith("max_cost") or progress.cost is None:
        return why
    done = f"{progress.done:,} of {counted(progress.total, 'evaluation')} are done"
    rest = "" if progress.forecast is None else f", and the rest would cost {rest_text(progress.forecast)}"
    return f"{why}; {done}{rest}"


def rest_text(forecast: CostForecast) -> str:
    """Write what the rest will cost.

    >>> rest_text(CostForecast(spent=0.1, rest=0.5, low=0.42, high=0.58, cases=25))
    'about $0.50 [$0.42, $0.58]'
    """
    return f"about {cost_text(forecast.rest)} [{cost_text(forecast.low)}, {cost_text(forecast.high)}]"


_TEXT = "text"


class Run:
    """A run that was made, or one that was stored: iterate over it for its cases, each a ``CaseResult``.

    >>> from evenhand import Case, Contains, evaluate
    >>> run = evaluate([Case(id="capital", candidate_answer="Paris")], Contains(value="Paris"), store=None)
    >>> [(result.id, result.outcome.score) for result in run]
    [('capital', 1.0)]
    >>> run.summary.cases.mean, run.passed
    (1.0, True)

    The cases are read from the store as they are wanted, never all at once; the numbers are worked out once, when
    first asked for. ``Run.open()`` opens the last run, ``Run.open(id)`` any other.
    """

    def __init__(self, record: RunRecord, place: StoreLocation) -> None:
        self.record = record
        self._place = place

    @classmethod
    def open(cls, wanted: str = "last", *, store: PlaceLike = DEFAULT) -> Run:
        """Open a stored run by its id, by the beginning of it, or as ``last``.

        ``previous`` is the one before the last, of the same suite; of runs without a suite, of the same name.
        """
        place = StoreLocation.of(store)
        with place.opened(to_read=True) as opened:
            return cls(opened.runs.find(wanted), place)

    @property
    def id(self) -> str:
        """The id, by which the run can be opened again."""
        return self.record.id

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self.record.name

    @property
    def label(self) -> str:
        """What it was called when it was started, to tell it from others of its suite; empty without a label."""
        return self.record.label

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, by which lists of runs are filtered."""
        return self.record.tags

    @property
    def status(self) -> RunStatus:
        """How far it has come: ``finished``, ``stopped``, ``interrupted`` …."""
        return self.record.status

    def __len__(self) -> int:
        return self.record.cases

    def __iter__(self) -> Iterator[CaseResult]:
        with self.opened_store() as store:
            yield from store.results(self.record)

    @contextlib.contextmanager
    def opened_store(self) -> Iterator[Store]:
        """Open the store that the run is in."""
        with self._place.opened(to_read=True) as store:
            store.runs.find(self.id)  # another database may be there by now, and have a run of the same number
            yield store

    def _results_at(self, positions: Sequence[int]) -> Iterator[CaseResult]:
        with self.opened_store() as store:
            yield from results_at(store, self.record, positions)

    def _standings(self) -> Iterator[tuple[int, Standing]]:
        from evenhand.engine.case_scores import case_standings  # noqa: PLC0415 - few reports ask for it

        with self.opened_store() as store:
            yield from case_standings(store, self.record)

    @functools.cached_property
    def summary(self) -> Summary:
        """The numbers: each mean with how many it is over, its interval, and the judge's errors beside it."""
        return self._overview.summary

    @functools.cached_property
    def _overview(self) -> Overview:
        with self.opened_store() as store:
            return labelled_overview(store, self.record)

    @property
    def corrected(self) -> CorrectedNumbers | None:
        """What people would say of all cases, by the labels that they gave to some; None without labels that count.

        ``summary.evaluators[name].corrected`` is the same for an evaluator that people labelled.
        """
        return self.summary.cases.corrected

    def compare_targets(self, *, baseline: str | None = None, evaluator: str | None = None) -> TargetComparison | None:
        """Compare the targets of a run of several, case by case, with one of them, by default the first.

        With ``evaluator``, by the scores of that evaluator and not of whole cases. None where there is one target.
        """
        from evenhand.engine.target_comparison import compare_targets  # noqa: PLC0415 - few runs have several

        with self.opened_store() as store:
            return compare_targets(store, self.record, baseline=baseline, evaluator=evaluator)

    def calibrate(self, *, evaluator: str | None = None) -> JudgeCard:
        """Return the judge card: what the labels by people that are stored with the run say of its judge.

        With ``evaluator``, of that evaluator, by the labels that people gave for it, and not of the cases as a whole.
        """
        from evenhand.engine.judge_card import card_of  # noqa: PLC0415 - few runs have labels

        with self._place.opened(to_read=True) as store:
            return card_of(store, store.runs.find(self.id), evaluator=evaluator)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels by people: the last one of each person, case and evaluator, in the order they were given."""
        with self.opened_store() as store:
            return tuple(store.labels.of(self.record))

    @property
    def label_draws(self) -> tuple[Draw, ...]:
        """The draws that say which cases people were to label: of whole cases, and of evaluators."""
        with self.opened_store() as store:
            return tuple(store.labels.draws(self.record))

    @property
    def gates(self) -> tuple[GateResult, ...]:
        """What the gates wanted, and what was found; of a labelled run, also what the suite demands of its judge."""
        with self.opened_store() as store:
            return all_gates(store, self.record, self.summary)

    @property
    def passed(self) -> bool:
        """Whether it finished, and all gates hold; where none limits them, no case may have ended in an error.

        A run that was decided early passes if its gates were decided to hold.
        """
        has_ended = self.status is RunStatus.FINISHED or stopped_decided(self.record)
        return has_ended and exit_code(self.summary, self._gates, self.gates) is ExitCode.OK

    def raise_if_failed(self) -> None:
        """Raise ``GatesFailed``, with the report as its message, unless the run ``passed``."""
        __tracebackhide__ = True
        if not self.passed:
            missed = [gate.words for gate in self.gates if not gate.ok] or [
                "answers without a score, which no gate max_unscored allows"
            ]
            raise GatesFailed("\n".join([f"run {self.id}: {'; '.join(missed)}", "", self.report()]), run=self)

    @property
    def _gates(self) -> Gates:
        return Gates.of(self.record.definition.get("gates"))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the cases as plain JSON values, as ``results.jsonl`` has them: each with all its evaluations."""
        return [case_row(result) for result in self]

    def to_pandas(self) -> Any:
        """Return a ``DataFrame`` with one row per case, evaluator and sample; a case without any has a row too."""
        from evenhand.reports.csv import COLUMNS, flat_rows  # noqa: PLC0415

        try:
            pandas: Any = importlib.import_module("pandas")  # an extra, slow to load, and without types
        except ImportError:
            raise ConfigError("to_pandas needs pandas: pip install 'evenhand[pandas]'") from None
        return pandas.DataFrame((row for result in self for row in flat_rows(result)), columns=list(COLUMNS))

    def report(self, format: str = _TEXT) -> str:  # noqa: A002 - the word that everybody types
        """Return a report: as text, or as ``md``, ``json``, ``jsonl``, ``csv``, ``xml`` (JUnit), ``html``.

        That of a scoring, a ranking or an audit is about its profiles, as ``evenhand report`` shows it.
        """
        if format == _TEXT:
            from evenhand.reports.terminal import terminal  # noqa: PLC0415 - rich is slow to load

            return (terminal if self._kind is None else self._kind.terminal)(self.whole_report)
        if format not in FORMATS:
            suggestion = did_you_mean(str(format), [_TEXT, *FORMATS])
            raise ConfigError(f"no report format {format!r}{suggestion}; to write a file: run.save(path)")
        out = io.StringIO()
        writer_for_run(self.record.definition, format)(self.whole_report, out)
        return out.getvalue()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a report to a file, whose ending says the format: ``run.save("report.html")``."""
        (write if self._kind is None else self._kind.write)(self.whole_report, Path(path))
        return Path(path)

    @functools.cached_property
    def whole_report(self) -> Report:
        """The run with its numbers, for whoever writes a report of it."""
        return Report(
            run=self.record,
            summary=self.summary,
            gates=self.gates,
            results=self.__iter__,
            overview=self._overview,
            at=self._results_at,
            standings=self._standings,
            targets=self.compare_targets,
            db_option=db_option(self._place.address),
        )

    @property
    def _kind(self) -> ReportKind | None:
        return report_kind_of(self.record.definition)

    def __repr__(self) -> str:
        try:
            kind = self._kind
            numbers = mean_sentence(self.summary.cases) if kind is None else kind.in_short(self.whole_report)
        except EvenhandError as error:  # whoever prints a run that cannot be read should still see which one it is
            numbers = str(error)
        return f"Run {self.id} {self.status.value}: {numbers}"

    def _repr_html_(self) -> str:
        from evenhand.reports.html.page import fragment_html  # noqa: PLC0415 - for notebooks only

        in_short = None if self._kind is None else self._kind.in_short(self.whole_report)
        return fragment_html(self.whole_report, in_short=in_short)
