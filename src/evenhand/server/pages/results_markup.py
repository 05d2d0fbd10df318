"""Markup of the reports within pages: only what was made there, where everything else is escaped."""

from __future__ import annotations

from markupsafe import Markup

from evenhand.reports import html_case
from evenhand.reports.markup import Html


def drawn(made: Html) -> Markup:
    """Let a template take markup as it is. Text is refused, whoever wrote it."""
    if not isinstance(made, Html):
        raise TypeError(f"markup made by the reports is wanted, not {type(made).__name__}")
    return Markup(made)  # noqa: S704 - made of escaped parts only


def verbatim(said: str) -> Markup:
    """Show somebody else's text line by line, also where it has characters that nobody sees."""
    return drawn(html_case.verbatim(said))


def as_json(value: object) -> Markup:
    """Show a value to people who read JSON."""
    return verbatim(html_case.as_json(value))
