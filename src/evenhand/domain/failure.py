"""Failures as values: what kind they are of, and a message for people."""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import Final

# Why a run stopped in which an evaluator failed again and again, and never scored.
NEVER_SCORED: Final = "never_scored"
_OF_A_KIND: Final = string.ascii_lowercase + string.digits + "_"


class Failure(str):
    """Why something failed. As text it is ``kind: message``, which is how it is stored, exported and shown.

    >>> failure = Failure("timeout", "the judge did not answer within 30 s")
    >>> failure.kind, failure.message
    ('timeout', 'the judge did not answer within 30 s')
    >>> failure
    'timeout: the judge did not answer within 30 s'
    """

    __slots__ = ("kind", "message")

    kind: str
    message: str

    def __new__(cls, kind: str, message: str) -> Failure:
        """Make a failure of a kind."""
        self = super().__new__(cls, f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message
        return self

    def __reduce__(self) -> tuple[type[Failure], tuple[str, str]]:
        """Return what a copy, or a pickle, is made from."""
        return type(self), (self.kind, self.message)

    @classmethod
    def of(cls, error: str) -> Failure:
        """Return an error as a failure; one that is only text, from a store or from a user's code, is parsed.

        >>> Failure.of("truncated: the reply was cut off").kind
        'truncated'
        """
        if isinstance(error, cls):
            return error
        kind, _, message = error.partition(":")
        return cls(kind.strip(), message.strip())

    def is_one_of(self, kinds: Iterable[str]) -> bool:
        """Return whether this failure, or one that its message quotes, is of one of these kinds."""
        kind_set = frozenset(kinds)
        before_colons = self.message.split(":")[:-1]
        quoted = (text[len(text.rstrip(_OF_A_KIND)) :] for text in before_colons)
        return self.kind in kind_set or not kind_set.isdisjoint(quoted)
