"""Texts of models and users in HTML: shown as they are, the beginning and the end of what is very long."""

from __future__ import annotations

import json
from typing import Final

from markupsafe import Markup

from evenhand.reports.html.markup import join, tag, text
from evenhand.reports.phrases import counted
from evenhand.reports.safe_text import strict_json

# Of a longer text the beginning and the end are shown: a judge's verdict tends to be at the end.
HEAD: Final = 15_000
TAIL: Final = 5_000
# Longer ones scroll.
_LONG: Final = 1_200
_LONG_LINES: Final = 24


def verbatim(content: str) -> Markup:
    """Show text as it is, line by line: somebody else wrote it, and it is only ever text."""
    return in_lines(abridged(content), content)


def in_lines(shown: Markup, content: str) -> Markup:
    """Show markup line by line, in a box that scrolls where the ``content`` is long."""
    # What is long scrolls, and what scrolls must be reachable by keyboard.
    long = len(content) > _LONG or content.count("\n") > _LONG_LINES
    # HTML drops a line break that comes first: this one is for it to take.
    return tag("pre", Markup("\n"), shown, dir="auto", class_="long" if long else None, tabindex=0 if long else None)


def verbatim_json(value: object) -> Markup:
    """Show a value as indented JSON."""
    return verbatim(json.dumps(json.loads(strict_json(value)), ensure_ascii=False, indent=2))


def abridged(content: str, head: int = HEAD, tail: int = TAIL) -> Markup:
    """Show text, the beginning and the end of it if it is very long."""
    left_out = len(content) - head - tail
    if left_out <= 0:
        return text(content)
    note = tag("span", f"\n… {counted(left_out, 'character')} left out of this page …\n", class_="quiet")
    return join(content[:head], note, content[-tail:])
