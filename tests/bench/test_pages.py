"""The measurement of pages works, in small, on both databases; its figures are for `make bench`."""

from __future__ import annotations

import pytest

from bench import pages


@pytest.mark.long
@pytest.mark.group("postgres-long")
@pytest.mark.starts(4, "measures a server")
def test_every_page_is_measured_and_has_its_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ROUNDS", 1)

    measured = list(pages.rows(4_000))

    goals = ["", "", "", *(goal for _, goal in pages.PAGES.values()), pages.KILOBYTES, pages.MEGABYTES]
    assert [goal for _, _, goal in measured] == goals * 2
