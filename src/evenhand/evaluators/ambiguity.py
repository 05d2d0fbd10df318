"""Which of several different verdicts in one reply counts: a setting of everything that reads replies.

Judges write drafts, and quote. ``first`` and ``last`` take a verdict all the same, flag the evaluation, and put on
record what the other one would have decided; ``ask_again`` makes such a reply one that cannot be used.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

from evenhand.domain.errors import ConfigError

Ambiguous: TypeAlias = Literal["first", "last", "ask_again"]
WAYS: Final[tuple[Ambiguous, ...]] = get_args(Ambiguous)
AMBIGUOUS: Final = "ambiguous"


def _known_as(ambiguous: str) -> dict[str, Any]:
    return {} if ambiguous == "ask_again" else {AMBIGUOUS: ambiguous}


# For evaluators that usually ask again: these keep the identity that they had before there was such an option.
KNOWN_IF_UNUSUAL: Final = {"identity": _known_as}


def check_ambiguous(given: object, *, where: str) -> None:
    """Refuse what does not say which of several verdicts counts."""
    if given not in WAYS:
        raise ConfigError(f"{where}: ambiguous is {given!r:.80}; it must be first, last or ask_again")
