"""Why calls gave no score: refusals, replies that could not be used, or no reply at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from evenhand.domain.failure import Failure
from evenhand.profiles.audit.observed import Observed
from evenhand.reports.safe_text import plain

_LONGEST_MESSAGE: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorClass:
    """The calls that failed in one way: how many, and what the ``first`` of them says."""

    calls: int
    first: Failure

    @property
    def words(self) -> str:
        """Say it in a few words.

        >>> ErrorClass(calls=12, first=Failure("unparsable", "the reply has no complete JSON object")).words
        '12 × unparsable (the reply has no complete JSON object)'
        """
        message = plain(self.first.message, _LONGEST_MESSAGE)
        return f"{self.calls:,} × {plain(self.first.kind)}{f' ({message})' if message else ''}"


def error_classes(profiles: Iterable[Observed]) -> tuple[ErrorClass, ...]:
    """Return the classes of all errors, the most frequent first."""
    counts: Counter[str] = Counter()
    first: dict[str, Failure] = {}
    for profile in profiles:
        for error in profile.errors:
            failure = Failure.of(error)
            counts[failure.kind] += 1
            first.setdefault(failure.kind, failure)
    return tuple(ErrorClass(calls=calls, first=first[kind]) for kind, calls in counts.most_common())
