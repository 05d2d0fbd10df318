"""The folder that a test counts for, and what it may cost: see ``allowances.toml``."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent


def folder_of(nodeid: str) -> str:
    """Return the folder right below ``tests`` that a test stands in; ``tests`` for a file that stands there itself."""
    places = nodeid.partition("::")[0].split("/")
    return places[1] if places[0] == "tests" and len(places) > 2 else "tests"


@functools.cache
def allowances() -> dict[str, Any]:
    """Read what the tests of each folder may start, and take."""
    return tomllib.loads((HERE / "allowances.toml").read_text("utf-8"))
