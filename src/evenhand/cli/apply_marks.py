"""Take over the marks of a judge card: written into a suite after the difference was shown and agreed to."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

import typer

from evenhand.cli.console import Console
from evenhand.domain.errors import ConfigError
from evenhand.domain.verdict import Thresholds
from evenhand.reports.judge_card import label_lines, mark_lines, sure_lines
from evenhand.reports.report import write_whole
from evenhand.stats.refusal import Refused
from evenhand.suites.document import open_document
from evenhand.suites.evaluators import name_of
from evenhand.suites.suite_edit import with_thresholds
from evenhand.trust.card import JudgeCard, ProposedMark


def apply_marks(card: JudgeCard, suite: str, console: Console, *, sure: bool, yes: bool) -> None:
    """Write the proposed pass mark, or the thresholds of sure verdicts, into a suite.

    What they were chosen on, how good they are on other labels, and the difference in the file are shown first.
    """
    document = open_document(Path(suite))
    path = document.path.resolve()
    marks = _sure_marks(card) if sure else _best_mark(card, _in_use(document.header, card.evaluator))
    before = path.read_bytes().decode("utf-8")
    after = with_thresholds(before, marks, evaluator=card.evaluator, name=suite)
    if after == before:
        console.note(f"{suite} has these marks already")
        return
    shown = [f"Chosen on: {line}" for line in label_lines(card) if "labelled by" in line]
    for line in [*shown, *(sure_lines(card) if sure else _about_the_mark(card))]:
        console.note(line)
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    difference = difflib.unified_diff(old, new, fromfile=suite, tofile=f"{suite}, with other marks")
    console.result("".join(line if line.endswith("\n") else f"{line}\n" for line in difference).rstrip("\n"))
    if not yes:
        _require_yes(console, f"Write this to {suite}?")
    write_whole(path, after)
    console.note(f"wrote {suite}; the next run uses it")


def _about_the_mark(card: JudgeCard) -> Iterator[str]:
    yield from mark_lines(card)
    found = card.proposed_mark
    if isinstance(found, ProposedMark) and found.honest <= found.current:
        yield "that is no better than now: on other labels, this mark would gain nothing"


def _require_yes(console: Console, question: str) -> None:
    answer = console.confirm(question)
    if answer is None:
        raise ConfigError(f"{question} Cannot ask for confirmation without a terminal; use --yes")
    if not answer:
        console.note("nothing was written")
        raise typer.Exit


def _in_use(header: Mapping[str, object], evaluator: str | None) -> Mapping[str, object]:
    """Return the thresholds that a suite has written down, for whole cases or for an evaluator."""
    listed = header.get("evaluators")
    mappings = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    owner = header if evaluator is None else next((one for one in mappings if name_of(one) == evaluator), {})
    found = owner.get("thresholds")
    return found if isinstance(found, Mapping) else {}


def _best_mark(card: JudgeCard, in_use: Mapping[str, object]) -> dict[str, float]:
    found = card.proposed_mark
    if isinstance(found, Refused):
        raise ConfigError(f"there is no pass mark to take over: {found.reason}")
    borderline = in_use.get("borderline")
    # One above the pass mark would contradict it.
    too_high = isinstance(borderline, int | float) and borderline > found.mark
    return {"pass": found.mark} | ({"borderline": found.mark} if too_high else {})


def _sure_marks(card: JudgeCard) -> dict[str, float]:
    if isinstance(card.sure, Refused):
        raise ConfigError(f"there are no thresholds to take over: {card.sure.reason}")
    marks = card.sure.thresholds
    if not isinstance(marks, Thresholds):
        raise ConfigError(f"these thresholds cannot be those of a suite: {marks.reason}")
    return {"pass": marks.pass_at, "borderline": marks.borderline_at}
