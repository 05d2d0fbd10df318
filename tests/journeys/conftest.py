"""Journeys type their commands into the folder of the test, in forks of a warm process."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.harness.warm import WarmEvenhand


@pytest.fixture
def typed(warm: WarmEvenhand) -> Callable[..., str]:
    """Give a function that runs a command, expects its exit code, and returns what it printed."""

    def run(*argv: str, code: int = 0) -> str:
        done = warm.run(*argv)
        assert done.returncode == code, done.stderr + done.stdout
        return done.stdout

    return run
