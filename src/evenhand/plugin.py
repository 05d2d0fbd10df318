"""The pytest plugin: evaluations as tests, in test functions and in suite files.

It is loaded with every run of pytest, so it imports nothing but pytest until there is something to judge. It has no
assertions for pytest to rewrite: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from evenhand.domain.run import CaseResult, PlannedCase
    from evenhand.engine.job import Job
    from evenhand.engine.run import Run
    from evenhand.engine.store_location import StoreLocation
    from evenhand.suites.from_python import CaseLike
    from evenhand.suites.python_evaluators import EvaluatorLike
    from evenhand.suites.suite import Suite

ENDINGS: Final = (".evenhand.yaml", ".evenhand.yml", ".evenhand.json")
VERDICTS: Final = ("fail", "borderline", "pass")

_OPTIONS: Final = {
    "judge": "the judge of evaluators that have none of their own, such as openai/gpt-5-mini",
    "db": "a database of runs and cached replies, so that equal questions are asked once; in memory by default",
    "min-verdict": "the lowest verdict that passes a test: pass (the default), borderline, or fail",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line and, with underscores, of the configuration."""
    group = parser.getgroup("evenhand", "judging the outputs of language models")
    for name, words in _OPTIONS.items():
        group.addoption(f"--evenhand-{name}", metavar=name.upper(), help=words)
        parser.addini(f"evenhand_{name.replace('-', '_')}", words, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Set up what the tests of this process share."""
    config.stash[_SESSION] = session = JudgeSession(config)
    config.pluginmanager.register(session, "evenhand-session")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    """Collect a suite file as tests, one for each case."""
    return SuiteFile.from_parent(parent, path=file_path) if file_path.name.endswith(ENDINGS) else None


# Whether a test runs: the gates of what it evaluates are enforced.
test_runs = False


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Tell ``evaluate`` that a test runs."""
    global test_runs  # noqa: PLW0603 - tests run one after the other
    before, test_runs = test_runs, True  # a test may run pytest itself
    try:
        return (yield)
    finally:
        test_runs = before


@pytest.fixture
def evenhand(request: pytest.FixtureRequest) -> Checker:
    """Judge answers in a test: ``evenhand.check(case, evaluators)`` fails unless they pass."""
    return Checker(request.config.stash[_SESSION], request.node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the results into the report, so that they get from a worker to the summary."""
    report = yield
    if results := item.stash.get(_RESULTS, []):
        vars(report)["evenhand"] = results
        item.stash[_RESULTS] = []
    loaded = sys.modules.get("evenhand.domain.evaluation")
    if call.excinfo is not None and loaded is not None and isinstance(call.excinfo.value, loaded.JudgeError):
        vars(report)["evenhand_judge_failed"] = True
    return report


def pytest_report_teststatus(report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
    """Report an error rather than a failure if the judge or the target failed."""
    return ("error", "E", "ERROR") if report.failed and getattr(report, "evenhand_judge_failed", False) else None


class JudgeSession:
    """What the tests of this process share: the judge, the database, and the results."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._results: list[dict[str, Any]] = []
        if self.min_verdict not in VERDICTS:
            raise pytest.UsageError(
                f"evenhand-min-verdict is {self.min_verdict!r}; it must be one of {', '.join(VERDICTS)}"
            )

    def _option(self, name: str) -> str | None:
        return self._config.getoption(f"evenhand_{name}") or self._config.getini(f"evenhand_{name}") or None

    @property
    def judge(self) -> str | None:
        """The judge of evaluators without one of their own."""
        return self._option("judge")

    @property
    def min_verdict(self) -> str:
        """The lowest verdict that passes a test, unless the test sets its own."""
        return self._option("min_verdict") or "pass"

    @functools.cached_property
    def place(self) -> StoreLocation:
        """The database of runs and cached replies."""
        from evenhand.engine.store_location import StoreLocation  # noqa: PLC0415

        return StoreLocation(self._option("db"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the results of a test, in whichever process it ran."""
        self._results += getattr(report, "evenhand", [])

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print a summary of all answers, if any were judged."""
        if self._results:
            from evenhand.reports.pytest_text import summary_sentences  # noqa: PLC0415

            terminalreporter.write_sep("=", "evenhand")
            for line in summary_sentences(self._results):
                terminalreporter.write_line(line)


class Checker:
    """Judges answers in one test."""

    def __init__(self, session: JudgeSession, item: pytest.Item) -> None:
        self._session = session
        self._item = item

    def check(
        self,
        case: CaseLike,
        evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None = None,
        *,
        min_verdict: str | None = None,
        allow_not_evaluated: bool = False,
        **options: Any,
    ) -> CaseResult:
        """Judge a case, and fail unless its verdict is ``min_verdict`` or better.

        ``JudgeError`` is raised when it was the judge or the target that failed. A case with nothing to judge fails
        too, unless ``allow_not_evaluated``. The other options are those of ``evenhand.evaluate``.
        """
        __tracebackhide__ = True
        from evenhand.domain.errors import ConfigError, RunStoppedError  # noqa: PLC0415
        from evenhand.domain.evaluation import JudgeError  # noqa: PLC0415

        lowest = str(min_verdict or self._session.min_verdict)
        if lowest not in VERDICTS:
            raise ConfigError(f"min_verdict is {lowest!r}; it must be one of {', '.join(VERDICTS)}")
        try:
            (result,) = self.evaluate([case], evaluators, **{"enforce": False, **options})
        except RunStoppedError as stopped:
            raise JudgeError(str(stopped)) from None
        if result.has_errors:
            raise JudgeError(_description(result))
        if not (allow_not_evaluated and result.outcome.status == "not_evaluated"):
            _require(result, lowest)
        return result

    def evaluate(
        self,
        cases: CaseLike | Iterable[CaseLike],
        evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None = None,
        **options: Any,
    ) -> Run:
        """Judge many cases, with the options of ``evenhand.evaluate``, and return the run.

        Where ``gates`` are given and the run does not pass, ``GatesFailed`` is raised, unless ``enforce`` is false.
        """
        __tracebackhide__ = True
        from evenhand.api.runs import evaluate  # noqa: PLC0415

        options.setdefault("judge", self._session.judge)
        options.setdefault("store", self._session.place)
        options.setdefault("name", self._item.nodeid)
        enforce = options.pop("enforce", None)
        run = evaluate(cases, evaluators, enforce=False, **options)
        for result in run:
            _add_result(self._item, result)
        if enforce or (enforce is None and run.gates):
            run.raise_if_failed()
        return run


class SuiteFile(pytest.File):
    """A suite whose cases are tests. They are judged together when the first of them is run."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._results: dict[str, CaseResult] = {}
        self._error = ""

    @functools.cached_property
    def suite(self) -> Suite:
        """The suite, its header read and checked."""
        from evenhand.suites.suite import read_suite  # noqa: PLC0415

        return read_suite(self.path)

    def collect(self) -> Iterator[SuiteCase]:
        """Read the cases; this needs no keys."""
        from evenhand.domain.errors import EvenhandError  # noqa: PLC0415

        try:
            for planned in self.suite.cases():
                yield SuiteCase.from_parent(self, name=planned.case.id, planned=planned)
        except EvenhandError as error:
            raise self.CollectError(str(error)) from None

    def result_of(self, item: SuiteCase) -> CaseResult:
        """Return the result of a case, or fail with the reason why there is none."""
        from evenhand.domain.errors import EvenhandError  # noqa: PLC0415

        if item.name not in self._results and not self._error:
            # A worker of xdist gets its tests one by one.
            alone = hasattr(self.config, "workerinput")
            cases = [case for case in self.session.items if isinstance(case, SuiteCase) and case.parent is self]
            try:
                self._judge([case.planned for case in ([item] if alone else cases)])
            except EvenhandError as error:
                self._error = str(error)
        if item.name not in self._results:
            pytest.fail(self._error, pytrace=False)
        return self._results[item.name]

    @functools.cached_property
    def _job(self) -> Job:
        from evenhand.suites.from_python import job_from  # noqa: PLC0415

        return job_from(self.suite, judge=self.config.stash[_SESSION].judge)

    def _judge(self, cases: list[PlannedCase]) -> None:
        from evenhand.domain.errors import RunStoppedError  # noqa: PLC0415
        from evenhand.engine.execution import Execution  # noqa: PLC0415
        from evenhand.engine.job import Pace, Scope  # noqa: PLC0415

        built = self.suite.built
        execution = Execution(
            replace(self._job, cases=lambda: cases),
            scope=Scope(repeat=built.repeat),
            pace=Pace.of(concurrency=built.concurrency),
            place=self.config.stash[_SESSION].place,
        )
        try:
            run = execution.run_and_wait()
        except RunStoppedError as stopped:
            run, self._error = stopped.run, str(stopped)
        self._results |= {result.id: result for result in run if not result.pending}


class SuiteCase(pytest.Item):
    """A case of a suite as a test: a broken judge or target is an error of its setup, a bad answer its failure."""

    parent: SuiteFile

    def __init__(self, *, planned: PlannedCase, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.planned = planned

    def setup(self) -> None:
        """Judge the case."""
        result = self.parent.result_of(self)
        _add_result(self, result)
        if result.has_errors:
            pytest.fail(_description(result), pytrace=False)

    def runtest(self) -> None:
        """Compare the verdict with the lowest that passes."""
        _require(self.parent.result_of(self), self.config.stash[_SESSION].min_verdict)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the result, and no code: none of it is the user's."""
        return str(excinfo.value) if isinstance(excinfo.value, AssertionError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the position of the case in its file."""
        return self.path, (self.planned.line or 1) - 1, self.name


_SESSION: Final = pytest.StashKey[JudgeSession]()
_RESULTS: Final = pytest.StashKey[list[dict[str, Any]]]()


def _require(result: CaseResult, lowest: str) -> None:
    __tracebackhide__ = True
    verdict = result.outcome.verdict
    if verdict is None or VERDICTS.index(verdict) < VERDICTS.index(lowest):
        raise AssertionError(_description(result, lowest))


def _description(result: CaseResult, lowest: str | None = None) -> str:
    from evenhand.reports.pytest_text import describe  # noqa: PLC0415

    return describe(result, lowest)


def _add_result(item: pytest.Item, result: CaseResult) -> None:
    from evenhand.reports.pytest_text import outcome_record  # noqa: PLC0415

    item.stash.setdefault(_RESULTS, []).append(outcome_record(result))
