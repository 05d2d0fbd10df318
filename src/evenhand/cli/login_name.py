"""Whose labels those are of which nobody says it."""

from __future__ import annotations

import getpass

from evenhand.domain.label import MOST_RATER, is_rater


def login_name() -> str:
    """Return the name of whoever is logged in, as far as it can be the name of a person who labels."""
    try:
        name = getpass.getuser().strip()[:MOST_RATER]
    except (OSError, KeyError, ImportError):
        name = ""
    return name if is_rater(name) else "me"
