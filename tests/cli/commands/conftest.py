"""A run to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def finished(command: Callable[..., Any], suite: Callable[..., Path]) -> str:
    """Make a finished run, and give its id."""
    suite(3)
    identity: str = command("run", "suite.yaml", "--json").json["run"]["id"]
    return identity
