"""A value that must not be seen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from evenhand.domain.scrubber import HIDDEN, LEAST_LENGTH, Scrubber

__all__ = ["HIDDEN", "SECRET_NAMES", "Secret", "scrubber_of"]

# Variables and settings with such names hold what must not be seen.
SECRET_NAMES: Final = re.compile(r"auth|key|token|secret|password", re.IGNORECASE)

# What is not known to be a credential has to be as long as most of them are to be taken for one in a reply.
_SURELY_NO_WORDS = 16


class Secret:
    """An API key: shows as ``***`` wherever it is printed, and cannot be pickled.

    >>> Secret("sk-123")
    ***

    ``written`` is what stands for it where it may be shown, such as ``${NAME}``. What comes out of a variable and is
    no credential, such as the name of a host, may be a word that others use, too.
    """

    __slots__ = ("_scrubber", "_value", "is_credential", "written")

    def __init__(self, value: str, *, written: str = HIDDEN, is_credential: bool = True) -> None:
        self._value = value
        self._scrubber: Scrubber | None = None
        self.written = written
        self.is_credential = is_credential

    def reveal(self) -> str:
        """Return the value itself, for the one place that sends it."""
        return self._value

    def scrub(self, text: str) -> str:
        """Hide the value in a text that came from elsewhere, also where it is encoded."""
        if self._scrubber is None:
            self._scrubber = Scrubber([self._value])
        return self._scrubber.scrub(text)

    @property
    def is_unlike_words(self) -> bool:
        """Whether a text that has it must have seen it: short ones and bare words are placeholders, or names."""
        length = len(self._value)
        if length >= _SURELY_NO_WORDS or not self.is_credential:
            return length >= _SURELY_NO_WORDS
        return length >= LEAST_LENGTH and not self._value.isalpha()

    def __repr__(self) -> str:
        return HIDDEN

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Secret is not pickled: pass the name of its variable instead")


def scrubber_of(secrets: Iterable[Secret], *, in_replies: bool = False) -> Scrubber:
    """Make what hides secrets in texts; in replies, which people judge by, only those that are unlike words."""
    return Scrubber(secret.reveal() for secret in secrets if secret.is_unlike_words or not in_replies)
