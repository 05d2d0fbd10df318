"""The golden figures: inputs with what is to come out of them, each worked out in two ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture
def shared() -> Path:
    """Return the folder of data that is next to the repository."""
    if not SHARED.is_dir():
        pytest.skip("../shared is not here: no golden figures")
    return SHARED


@pytest.fixture
def golden(shared: Path) -> Callable[[str, str], list[Any]]:
    """Return a function that gives the cases of a golden file which are about the same."""

    def cases(file: str, what: str) -> list[Any]:
        found = json.loads((shared / "golden" / file).read_text(encoding="utf-8"))["cases"]
        alike = [case for case in found if case["what"] == what]
        assert alike, f"{file} has no case of {what!r}"
        return alike

    return cases
