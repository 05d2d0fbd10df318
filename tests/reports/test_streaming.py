"""A report of many cases takes no more memory than one of few."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.run import CaseResult
from evenhand.reports.report import writer_of
from evenhand.reports.summary import summarize

FEW = 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "many",
    [
        3_000,
        pytest.param(8_000, marks=pytest.mark.long),
        pytest.param(20_000, marks=pytest.mark.sweep),
    ],
)
@pytest.mark.parametrize("name", ["jsonl", "json", "csv", "xml", "summary"])
def test_memory_stays_flat(made: Any, tmp_path: Path, name: str, many: int) -> None:
    case = made.case(made.judgment(0.5, reasoning="because " * 20, attempts=(made.reply("said"),)))

    def results(count: int) -> Iterator[CaseResult]:
        for place in range(count):
            yield replace(case, position=place)

    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            if name == "summary":
                summarize(results(count))
            else:
                report = replace(made.report(case), results=lambda: results(count))
                with (tmp_path / "out").open("w", encoding="utf-8", newline="") as out:
                    writer_of(name)(report, out)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)  # whatever is loaded and remembered once

    # If all cases were kept, it would be more with the fewest of them; if a case left behind but one number, with the
    # others.
    assert peak(many) < peak(FEW) + 200_000
