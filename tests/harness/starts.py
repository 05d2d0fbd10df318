"""What a test starts is counted, as starting takes most of the time of the tests that take longest.

Counted are the processes that the test itself and its own fixtures start; what a fixture of a wider scope starts is
shared. A test that starts more than its folder's allowance says why: ``@pytest.mark.starts(4, "kills three runs")``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import pytest
from tests.harness.folders import allowances, folder_of

_EVENTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"}
PROPERTY = "starts"
_SHARED = "starts_for_others_too"

Fixture = TypeVar("Fixture", bound=Callable[..., Any])


def for_others_too(fixture: Fixture) -> Fixture:
    """Declare that what a fixture starts stays for the tests that follow, so that no single one pays for it."""
    setattr(fixture, _SHARED, True)
    return fixture


class Starts:
    """Counts what the test that runs starts."""

    def __init__(self) -> None:
        self._count = 0
        self._shared = 0  # how many fixtures of a wider scope are being set up
        self._events = _EVENTS  # the module may be gone before the last event
        self.by_test: Counter[str] = Counter()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if event in self._events and not self._shared:
            self._count += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """Leave out what a fixture of a wider scope starts."""
        wider = fixturedef.scope != "function" or getattr(fixturedef.func, _SHARED, False)
        self._shared += wider
        try:
            return (yield)
        finally:
            self._shared -= wider

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Begin to count with each test."""
        self._count = 0
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Turn a test red that started more than it may."""
        report = yield
        if call.when == "call":
            report.user_properties.append((PROPERTY, self._count))
            allowed, reason = self._allowed(item)
            if report.passed and self._count > allowed:
                report.outcome = "failed"
                report.longrepr = (
                    f"it started {self._count} processes, and {reason} allows {allowed}: use the warm process (the"
                    ' fixture "warm"), share what it starts, or say why it needs them:'
                    f' @pytest.mark.starts({self._count}, "…")'
                )
        return report

    @staticmethod
    def _allowed(item: pytest.Item) -> tuple[int, str]:
        if marker := item.get_closest_marker("starts"):
            number, reason = marker.args
            assert reason, "a reason belongs to each allowance"
            return number, "its mark"
        folder = folder_of(item.nodeid)
        return allowances()["starts"].get(folder, 0), f"the folder {folder}"
