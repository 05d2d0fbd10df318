"""The measurement of finished runs works, in small; its figures are for `make bench`."""

from __future__ import annotations

import pytest

from bench import reading_runs


@pytest.mark.long
@pytest.mark.starts(11, "measures whole commands")
def test_every_command_is_measured_and_has_its_goal() -> None:
    rows = list(reading_runs.rows(cases=60))

    assert [goal for _, _, goal in rows] == ["", "", reading_runs.LISTED, reading_runs.SHOWN, reading_runs.COMPARED]
    assert all(float(measured.removesuffix(" s")) > 0 for _, measured, _ in rows)
