"""Why there is no number: a value in its place, so that nothing wrong is printed instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refused:
    """What cannot be said from the data, with the reason and what would be needed.

    >>> Refused("8 labels; an interval takes at least 20").reason
    '8 labels; an interval takes at least 20'
    """

    reason: str
