"""Reports as files: by their ending, and whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import CaseResult
from evenhand.reports.report import FORMATS, format_of, write, writer_of


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("results.jsonl", '{"case_id":"case-1"'),
        ("report.json", '{"schema_version": 1'),
        ("cells.CSV", '"case_id","case_status"'),
        ("notes.md", "# refunds"),
        ("out/deep/junit.xml", "<?xml"),
        ("page.html", "<!doctype html>"),
    ],
)
def test_the_ending_says_which_format(made: Any, tmp_path: Path, name: str, beginning: str) -> None:
    write(made.report(made.case(1.0)), tmp_path / name)

    assert (tmp_path / name).read_text(encoding="utf-8").startswith(beginning)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("report.pdf", ".pdf"), ("report", "(none)"), (".json", "(none)")],
)
def test_an_unknown_ending_is_refused_with_the_known_ones(name: str, shown: str) -> None:
    with pytest.raises(ConfigError) as caught:
        format_of(name)

    assert (
        str(caught.value) == f"{name}: unknown extension {shown}; a report can be .jsonl, .json, .csv, .md, .xml, .html"
    )


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_writer(name: str) -> None:
    assert callable(writer_of(name))


def test_what_was_there_stays_when_writing_fails(made: Any, tmp_path: Path) -> None:
    def interrupted() -> Iterator[CaseResult]:
        yield made.case(1.0)
        raise KeyboardInterrupt

    report = replace(made.report(made.case(1.0)), results=interrupted)
    target = tmp_path / "results.jsonl"
    target.write_text("from before")

    with pytest.raises(KeyboardInterrupt):
        write(report, target)

    assert target.read_text() == "from before"
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


def test_a_file_is_replaced_by_the_newer_one(made: Any, tmp_path: Path) -> None:
    target = tmp_path / "results.jsonl"
    write(made.report(made.case(1.0), made.case(1.0)), target)

    write(made.report(made.case(1.0)), target)

    assert target.read_text(encoding="utf-8").count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
def test_a_report_can_be_read_by_whom_the_user_lets(made: Any, tmp_path: Path) -> None:
    by_hand = tmp_path / "by_hand"
    by_hand.touch()

    write(made.report(made.case(1.0)), tmp_path / "results.jsonl")

    assert stat.S_IMODE((tmp_path / "results.jsonl").stat().st_mode) == stat.S_IMODE(by_hand.stat().st_mode)


def test_line_ends_within_texts_are_kept(made: Any, tmp_path: Path) -> None:
    write(made.report(made.case(made.judgment(1.0, reasoning="one\r\ntwo\nthree"))), tmp_path / "cells.csv")

    assert b'"one\r\ntwo\nthree"' in (tmp_path / "cells.csv").read_bytes()


def test_a_file_that_cannot_be_written_is_named_as_the_user_did(made: Any, tmp_path: Path) -> None:
    name = f"{'x' * 245}.json"  # its temporary name is longer than names may be

    with pytest.raises(OSError, match="too long") as caught:
        write(made.report(made.case(1.0)), tmp_path / name)

    assert caught.value.filename == str(tmp_path / name)
