"""Moments as reports and pages show them: in UTC, and by a script of the pages in the zone of who reads."""

from __future__ import annotations

from markupsafe import Markup

from evenhand.reports.html.markup import tag
from evenhand.reports.json import moment
from evenhand.reports.phrases import moment_text


def moment_element(seconds: float) -> Markup:
    """Return a moment, given in seconds since 1970.

    >>> moment_element(0)
    Markup('<time datetime="1970-01-01T00:00:00.000Z">1970-01-01 00:00 UTC</time>')
    """
    return tag("time", moment_text(seconds), datetime=moment(seconds))
