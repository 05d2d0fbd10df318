"""The pytest plugin: evaluations as tests, in test functions and in suite files.

It is loaded with every run of pytest, so it imports nothing but pytest until something is to be judged. It has no
assertions that pytest would have to explain: PYTEST_DONT_REWRITE.
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
    "db": "a database for the runs and for replies, so that equal questions are asked once; otherwise in memory",
    "min-verdict": "the worst verdict with which a test passes: pass (the default), borderline, or fail",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options, for the command line and, with underscores, for the configuration."""
    group = parser.getgroup("evenhand", "judging the outputs of language models")
    for name, told in _OPTIONS.items():
        group.addoption(f"--evenhand-{name}", metavar=name.upper(), help=told)
        parser.addini(f"evenhand_{name.replace('-', '_')}", told, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to judge for this process, and to count what is found."""
    config.stash[_JUDGING] = judging = Judging(config)
    config.pluginmanager.register(judging, "evenhand-judging")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    """Take a suite file for tests: one for each case."""
    return SuiteFile.from_parent(parent, path=file_path) if file_path.name.endswith(ENDINGS) else None


@pytest.fixture
def evenhand(request: pytest.FixtureRequest) -> Checker:
    """Judge answers in a test: ``evenhand.check(case, evaluators)`` fails it unless they pass."""
    return Checker(request.config.stash[_JUDGING], request.node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put into the report what was found, so that it gets from a worker to whoever sums up."""
    report = yield
    if found := item.stash.get(_FOUND, []):
        vars(report)["evenhand"] = found
        item.stash[_FOUND] = []
    errors = sys.modules.get("evenhand.domain.errors")
    if call.excinfo is not None and errors is not None and isinstance(call.excinfo.value, errors.JudgeError):
        vars(report)["evenhand_judge_failed"] = True
    return report


def pytest_report_teststatus(report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
    """Call it an error, and no failure, when it was the judge or the target that failed."""
    return ("error", "E", "ERROR") if report.failed and getattr(report, "evenhand_judge_failed", False) else None


class Judging:
    """What the tests of this process share: judge, database, and what was found."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._found: list[dict[str, Any]] = []
        if self.min_verdict not in VERDICTS:
            raise pytest.UsageError(f"evenhand-min-verdict is {self.min_verdict!r}; it is one of {', '.join(VERDICTS)}")

    def _option(self, name: str) -> str | None:
        return self._config.getoption(f"evenhand_{name}") or self._config.getini(f"evenhand_{name}") or None

    @property
    def judge(self) -> str | None:
        """The judge of evaluators that have none of their own."""
        return self._option("judge")

    @property
    def min_verdict(self) -> str:
        """The worst verdict with which a test passes, unless it says so itself."""
        return self._option("min_verdict") or "pass"

    @functools.cached_property
    def place(self) -> StoreLocation:
        """Where runs and replies are kept."""
        from evenhand.engine.store_location import StoreLocation  # noqa: PLC0415

        return StoreLocation(self._option("db"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what a test found, wherever it ran."""
        self._found += getattr(report, "evenhand", [])

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how all answers together came out, if any were judged."""
        if self._found:
            from evenhand.reports.pytest_text import summed_up  # noqa: PLC0415

            terminalreporter.write_sep("=", "evenhand")
            for line in summed_up(self._found):
                terminalreporter.write_line(line)


class Checker:
    """Judges answers in one test."""

    def __init__(self, judging: Judging, item: pytest.Item) -> None:
        self._judging = judging
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

        wanted = str(min_verdict or self._judging.min_verdict)
        if wanted not in VERDICTS:
            raise ConfigError(f"min_verdict is {wanted!r}; it is one of {', '.join(VERDICTS)}")
        try:
            (result,) = self.evaluate([case], evaluators, **options)
        except RunStoppedError as stopped:
            raise JudgeError(str(stopped)) from None
        if result.outcome.status == "error":
            raise JudgeError(_told(result))
        if not (allow_not_evaluated and result.outcome.status == "not_evaluated"):
            _require(result, wanted)
        return result

    def evaluate(
        self,
        cases: CaseLike | Iterable[CaseLike],
        evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None = None,
        **options: Any,
    ) -> Run:
        """Judge many cases, with the options of ``evenhand.evaluate``, and give the run, whatever it found."""
        __tracebackhide__ = True
        from evenhand.api.runs import evaluate  # noqa: PLC0415

        options.setdefault("judge", self._judging.judge)
        options.setdefault("store", self._judging.place)
        options.setdefault("name", self._item.nodeid)
        run = evaluate(cases, evaluators, **options)
        for result in run:
            _note(self._item, result)
        return run


class SuiteFile(pytest.File):
    """A suite whose cases are tests. They are judged together when the first of them is due."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._results: dict[str, CaseResult] = {}
        self._trouble = ""

    @functools.cached_property
    def suite(self) -> Suite:
        """The suite, its header read and checked."""
        from evenhand.suites.suite import read_suite  # noqa: PLC0415

        return read_suite(self.path)

    def collect(self) -> Iterator[SuiteCase]:
        """Read the cases; nothing is made that needs a key."""
        from evenhand.domain.errors import EvenhandError  # noqa: PLC0415

        try:
            for planned in self.suite.cases():
                yield SuiteCase.from_parent(self, name=planned.case.id, planned=planned)
        except EvenhandError as error:
            raise self.CollectError(str(error)) from None

    def result_of(self, item: SuiteCase) -> CaseResult:
        """Return what was found about a case, or fail with why nothing was."""
        from evenhand.domain.errors import EvenhandError  # noqa: PLC0415

        if item.name not in self._results and not self._trouble:
            # A worker of xdist is told its tests one by one.
            alone = hasattr(self.config, "workerinput")
            others = [one for one in self.session.items if isinstance(one, SuiteCase) and one.parent is self]
            try:
                self._judge([one.planned for one in ([item] if alone else others)])
            except EvenhandError as error:
                self._trouble = str(error)
        if item.name not in self._results:
            pytest.fail(self._trouble, pytrace=False)
        return self._results[item.name]

    @functools.cached_property
    def _job(self) -> Job:
        from evenhand.suites.from_python import job_from  # noqa: PLC0415

        return job_from(self.suite, judge=self.config.stash[_JUDGING].judge)

    def _judge(self, cases: list[PlannedCase]) -> None:
        from evenhand.domain.errors import RunStoppedError  # noqa: PLC0415
        from evenhand.engine.execution import Execution  # noqa: PLC0415
        from evenhand.engine.job import DEFAULT_CONCURRENCY, Pace, Scope  # noqa: PLC0415

        built = self.suite.built
        undertaking = Execution(
            replace(self._job, cases=lambda: cases),
            scope=Scope(repeat=built.repeat),
            pace=Pace(concurrency=built.concurrency or DEFAULT_CONCURRENCY),
            place=self.config.stash[_JUDGING].place,
        )
        try:
            run = undertaking.run_and_wait()
        except RunStoppedError as stopped:
            run, self._trouble = stopped.run, str(stopped)
        self._results |= {result.id: result for result in run if not result.pending}


class SuiteCase(pytest.Item):
    """A case of a suite as a test: a broken judge or target is an error of its setup, a bad answer its failure."""

    parent: SuiteFile

    def __init__(self, *, planned: PlannedCase, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.planned = planned

    def setup(self) -> None:
        """Have the case judged."""
        result = self.parent.result_of(self)
        _note(self, result)
        if result.outcome.status == "error":
            pytest.fail(_told(result), pytrace=False)

    def runtest(self) -> None:
        """Hold the verdict against the one that is wanted."""
        _require(self.parent.result_of(self), self.config.stash[_JUDGING].min_verdict)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what was found, and no code: there is none of the user's."""
        return str(excinfo.value) if isinstance(excinfo.value, AssertionError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Say where the case stands."""
        return self.path, (self.planned.line or 1) - 1, self.name


_JUDGING: Final = pytest.StashKey[Judging]()
_FOUND: Final = pytest.StashKey[list[dict[str, Any]]]()


def _require(result: CaseResult, wanted: str) -> None:
    __tracebackhide__ = True
    verdict = result.outcome.verdict
    if verdict is None or VERDICTS.index(verdict) < VERDICTS.index(wanted):
        raise AssertionError(_told(result, wanted))


def _told(result: CaseResult, wanted: str | None = None) -> str:
    from evenhand.reports.pytest_text import told  # noqa: PLC0415

    return told(result, wanted)


def _note(item: pytest.Item, result: CaseResult) -> None:
    from evenhand.reports.pytest_text import noted  # noqa: PLC0415

    item.stash.setdefault(_FOUND, []).append(noted(result))
