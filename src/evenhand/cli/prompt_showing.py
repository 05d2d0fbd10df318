"""Prompts and test cases shown to people; what users wrote is made plain, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evenhand.domain.prompt import Prompt, TestCase
from evenhand.reports.numbers import counted, moment_text
from evenhand.reports.plain import plain

_NAME: Final = 32
_COLUMNS: Final = "{:<32}  {:>7}  {:<6}  {:>5}  {:<20}  {}"

HEADING: Final = _COLUMNS.format("prompt", "version", "mode", "cases", "edited", "id")


def line(prompt: Prompt) -> str:
    """Show a prompt in the list."""
    return _COLUMNS.format(
        plain(prompt.name, _NAME),
        prompt.version,
        prompt.text.evaluation_mode.value,
        f"{prompt.test_cases:,}",
        moment_text(prompt.edited),
        prompt.id,
    )


def lines(prompt: Prompt, cases: Sequence[TestCase]) -> Iterator[str]:
    """Show a prompt in whole, with its test cases."""
    text = prompt.text
    yield f"{plain(prompt.name)}: version {prompt.version} of {prompt.latest}, mode {text.evaluation_mode.value}"
    yield f"{prompt.id}, edited {moment_text(prompt.edited)}"
    yield from _part("content", text.content)
    yield from _part("expected schema", text.expected_schema)
    yield from _part("criteria", text.evaluation_criteria)
    yield f"\n{counted(len(cases), 'test case')}" if cases else "\nno test cases yet"
    for case in cases:
        yield f"\n{case.id}, version {case.version}"
        yield from _part("input", case.text.input, before="  ")
        yield from _part("schema", case.text.evaluation_schema, before="  ")
        yield from _part("reference", case.text.reference, before="  ")


def _part(title: str, text: str | None, before: str = "") -> Iterator[str]:
    """Show a text below its title; none where there is nothing in it."""
    if text is None or not text.strip():
        return
    yield f"{before}{title}:"
    for one in text.strip("\r\n").splitlines():
        indent = len(one) - len(one.lstrip(" "))
        yield f"{before}  {' ' * indent}{plain(one, None)}".rstrip()
