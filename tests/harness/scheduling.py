"""The order of tests: quick ones first, so that what fails there is seen first; then what takes longest.

Workers get the tests of a group together and others by the handful, in that order: a long chain that starts last would
keep one worker busy and all others waiting. How long files and groups took stands in ``seconds.json``.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Final

import pytest
from tests.harness.folders import HERE

RECORDED: Final = HERE / "seconds.json"
HANDFUL: Final = 8


def units_of(items: list[pytest.Item]) -> list[list[int]]:
    """Put together what one worker does in one go: the tests of a group, or a handful of those of a file.

    Units stand in the order of their first tests; tests are named by their places in the list.
    """
    units: dict[tuple[str, int], list[int]] = {}
    seen: Counter[str] = Counter()
    for place, item in enumerate(items):
        unit = unit_of(item)
        handful = 0 if unit.startswith("@") else seen[unit] // HANDFUL
        seen[unit] += 1
        units.setdefault((unit, handful), []).append(place)
    return list(units.values())


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """Put quick tests first, and then those of the groups and files that take longest."""
    seconds = recorded_seconds()
    first_seen: dict[str, int] = {}

    def place(item: pytest.Item) -> tuple[bool, float, int]:
        unit = unit_of(item)
        is_slow = unit.startswith("@") or any(item.get_closest_marker(name) for name in ("slow", "long", "sweep"))
        return is_slow, -seconds.get(unit, 0) if is_slow else 0, first_seen.setdefault(unit, len(first_seen))

    return sorted(items, key=place)


def at_random(items: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """Shuffle the files, and the tests of each file."""
    drawn = random.Random(seed)
    units: dict[str, list[pytest.Item]] = {}
    for item in items:
        units.setdefault(item.nodeid.partition("::")[0], []).append(item)
    files = list(units.values())
    drawn.shuffle(files)
    for file in files:
        drawn.shuffle(file)
    return [item for file in files for item in file]


def unit_of(item: pytest.Item) -> str:
    """Name what a worker does in one go: ``@group``, or the file."""
    marker = item.get_closest_marker("group")
    if marker is None:
        return item.nodeid.partition("::")[0]
    return f"@{marker.args[0]}"


def recorded_seconds() -> dict[str, float]:
    """Read how long each file and each group took when that was last recorded."""
    if not RECORDED.exists():
        return {}
    recorded = json.loads(RECORDED.read_text("utf-8"))
    return {unit: entry["seconds"] for target in recorded.values() for unit, entry in target["units"].items()}
