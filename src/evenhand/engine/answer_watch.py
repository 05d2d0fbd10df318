"""What answers bring along that nobody asked for: a misspelt key ends the run, and others are named once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evenhand.domain.failure import Failure
from evenhand.domain.run import MadeAnswer
from evenhand.engine.targets.output import MISSPELT

_MOST_NAMED: Final = 20


class AnswerWatch:
    """Looks at each answer of a run once it is kept; ``tell`` is told of keys, ``stop`` why the run stops."""

    def __init__(self, *, stop: Callable[[Failure], None], tell: Callable[[str], None] | None) -> None:
        self._stop = stop
        self._tell = tell
        self._named: set[str] = set()

    def look_at(self, case: str, made: MadeAnswer) -> None:
        """Look at an answer: with a misspelt key, all others would lack the same."""
        error = None if made.error is None else Failure.of(made.error)
        if error is not None and error.kind == MISSPELT:
            self._stop(Failure(MISSPELT, f"the target's answer to case {case}: {error.message}"))
        if (new := made.more.keys() - self._named) and len(self._named) < _MOST_NAMED:
            self._named |= new
            if self._tell is not None:
                names = ", ".join(map(repr, sorted(new)))
                self._tell(f"note: the target's answers have {names:.200}, which is kept and shown to no judge")
