"""The order of tests: quick ones first, so that what fails there is seen first; then what takes longest.

Workers get the tests of a group together and others by the handful, in that order: a long chain that starts last would
keep one worker busy and all others waiting. How long files and groups took stands in ``seconds.json``.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any, Final

import pytest
from tests.harness.folders import HERE
from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

RECORDED: Final = HERE / "seconds.json"
HANDFUL: Final = 8


class ByCost(LoadGroupScheduling):  # type: ignore[misc]  # has no types
    """Hand out units of tests in the order in which they were collected.

    Each test by itself would take longer to hand out than most take to run: for each, xdist goes through all that were
    handed out before. Units that are done are forgotten here for the same reason.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # which would put the largest units first
        self._units: dict[str, str] = {}
        self._handed: Counter[str] = Counter()
        self._places: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        """Return the unit of a test: its group, or a handful of its file."""
        group: str = super()._split_scope(nodeid)
        if group != nodeid:
            return group
        if nodeid not in self._units:
            file = nodeid.partition("::")[0]
            self._units[nodeid] = f"{file} {self._handed[file] // HANDFUL}"
            self._handed[file] += 1
        return self._units[nodeid]

    def _assign_work_unit(self, node: Any) -> None:
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        if not self._places:  # all workers have collected the same
            self._places = {nodeid: place for place, nodeid in enumerate(self.collection)}
        node.send_runtest_some([self._places[nodeid] for nodeid, is_done in unit.items() if not is_done])

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Note that a test is done, forget its unit if it was the last one, and hand out more."""
        nodeid = self.collection[item_index]
        scope = self._split_scope(nodeid)
        unit = self.assigned_work[node][scope]
        unit[nodeid] = True
        if all(unit.values()):
            del self.assigned_work[node][scope]
        self._reschedule(node)


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
    marker = item.get_closest_marker("xdist_group")
    if marker is None:
        return item.nodeid.partition("::")[0]
    return f"@{marker.args[0] if marker.args else marker.kwargs['name']}"


def recorded_seconds() -> dict[str, float]:
    """Read how long each file and each group took when that was last recorded."""
    if not RECORDED.exists():
        return {}
    recorded = json.loads(RECORDED.read_text("utf-8"))
    return {unit: entry["seconds"] for target in recorded.values() for unit, entry in target["units"].items()}
