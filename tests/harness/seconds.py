"""What a run of the tests took: the slowest tests, and the seconds of each folder beside its allowance."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Generator
from typing import Any, Final

import pytest
from tests.harness.folders import allowances, folder_of
from tests.harness.scheduling import RECORDED, unit_of
from tests.harness.starts import PROPERTY

SLOWEST: Final = 10
LEAST: Final = 0.5  # seconds of a file or group, below which its order does not matter


class Seconds:
    """Adds up how long tests take, in the process that reports them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._of_test: Counter[str] = Counter()
        self._starts: dict[str, int] = {}
        self._failed: list[str] = []
        self._units: dict[str, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which tests are one unit."""
        self._units = {item.nodeid: unit_of(item) for item in session.items}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test took, with its setup and teardown."""
        self._of_test[report.nodeid] += report.duration  # type: ignore[assignment]  # seconds, not a number of them
        for name, value in report.user_properties:
            if name == PROPERTY:
                assert isinstance(value, int)
                self._starts[report.nodeid] = value
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that could not be collected."""
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what took longest."""
        target = self._config.getoption("seconds")
        if target:
            self._show(terminalreporter, target)
        if self._config.getoption("record_seconds"):
            self._record(target)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Say in the very last line how to see again what failed."""
        try:
            return (yield)
        finally:
            terminal = self._config.pluginmanager.get_plugin("terminalreporter")
            if self._failed and terminal:
                terminal.write_line(f"To see it again: {again(self._failed)}", red=True)

    def _show(self, terminal: pytest.TerminalReporter, target: str) -> None:
        terminal.section(f"slowest {SLOWEST} tests")
        for nodeid, seconds in self._of_test.most_common(SLOWEST):
            terminal.write_line(f"{seconds:7.1f} s  {self._starts.get(nodeid, 0):3} started  {nodeid}")
        terminal.section("seconds of all workers by folder, and what is allowed")
        allowed = allowances()["seconds"].get(target, {})
        for folder, seconds in by_folder(self._of_test).most_common():
            may = allowed.get(folder, 0)
            note = "   more than allowed: see tests/harness/allowances.toml" if seconds > may else ""
            terminal.write_line(f"{seconds:7.1f} s  of {may:4}  {folder}{note}")

    def _record(self, target: str) -> None:
        recorded = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else {}
        recorded[target] = {
            "tests": len(self._of_test),
            "folders": {
                folder: {
                    "tests": sum(folder_of(nodeid) == folder for nodeid in self._of_test),
                    "seconds": round(seconds, 1),
                    "started": sum(count for nodeid, count in self._starts.items() if folder_of(nodeid) == folder),
                    "most": max(
                        (count for nodeid, count in self._starts.items() if folder_of(nodeid) == folder), default=0
                    ),
                }
                for folder, seconds in by_folder(self._of_test).most_common()
            },
            "slowest": {nodeid: round(seconds, 1) for nodeid, seconds in self._of_test.most_common(SLOWEST)},
            "units": {
                unit: {"seconds": round(seconds, 1)}
                for unit, seconds in by_unit(self._of_test, self._units).most_common()
                if seconds >= LEAST
            },
        }
        RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", "utf-8")


def by_folder(seconds: Counter[str]) -> Counter[str]:
    """Add up the seconds of each folder."""
    found: Counter[str] = Counter()
    for nodeid, spent in seconds.items():
        found[folder_of(nodeid)] += spent
    return found


def by_unit(seconds: Counter[str], units: dict[str, str]) -> Counter[str]:
    """Add up the seconds of each group, and of each file without those."""
    found: Counter[str] = Counter()
    for nodeid, spent in seconds.items():
        found[units[nodeid]] += spent
    return found


def again(failed: list[str]) -> str:
    """Return the command that runs what failed: each test, or each file where there are many."""
    named = sorted(set(failed))  # pytest loses fixtures where files of several folders take turns
    if len(named) > SLOWEST:
        named = list(dict.fromkeys(nodeid.partition("::")[0] for nodeid in named))
    python = os.path.relpath(sys.executable)
    return f"{python} -m pytest {' '.join(shlex.quote(nodeid) for nodeid in named)}"


def add_options(parser: Any) -> None:
    """Declare the options of the harness."""
    group = parser.getgroup("harness")
    group.addoption("--seconds", metavar="TARGET", help="show the seconds of folders beside the allowances of a target")
    group.addoption("--record-seconds", action="store_true", help="keep what this run took in tests/harness")
    group.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")
