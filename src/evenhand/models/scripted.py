"""A model that says what it is told to, for tests: ours and yours."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

from evenhand.domain.ask import Ask
from evenhand.domain.errors import ConfigError, ScriptExhaustedError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Reply, Unanswered
from evenhand.models.retry import BUDGET


class Scripted:
    """Replays given replies in order, raises when they run out, and records in ``asked`` what it was asked.

    A reply is a text, a ``Reply``, or an exception, which stands for a request that failed on the way.

    >>> judge = Scripted(['{"score": 1}'])
    >>> judge.name
    'scripted'
    """

    keeps_deadlines: Final = True

    def __init__(self, replies: Iterable[str | Reply | Exception], *, name: str = "scripted") -> None:
        if isinstance(replies, str):
            replies = [replies]
        if not isinstance(replies, Iterable) or isinstance(replies, Mapping):
            raise ConfigError(f"Scripted takes a list of replies, not {type(replies).__name__}")
        self._replies = deque(replies)
        for reply in self._replies:
            if not isinstance(reply, (str, Reply, Exception)):
                raise ConfigError(f"a scripted reply is text, a Reply or an exception, not {type(reply).__name__}")
        self._given = len(self._replies)
        self._name = name
        self.asked: list[Ask] = []

    @property
    def name(self) -> str:
        """How the model is called in reports."""
        return self._name

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:  # noqa: ARG002
        """Return the next reply."""
        if ask.allowance is not None and not ask.allowance.take():
            return Unanswered(error=Failure(BUDGET, "no more calls are allowed"), attempts=())
        self.asked.append(ask)
        try:
            reply = self._replies.popleft()
        except IndexError:
            # Its end tells, where an invalid reply was asked for again, what was wrong with it.
            ending = " ".join(ask.messages[-1].content[-160:].split())
            raise ScriptExhaustedError(
                f"{self._name} was asked {len(self.asked)} times and has {self._given} to say; "
                f"the last question ends: …{ending}"
            ) from None
        if isinstance(reply, Exception):
            error = Failure("scripted", f"{type(reply).__name__}: {reply}")
            return Unanswered(error=error, attempts=(Attempt(kind="transport", error=error),))
        return reply if isinstance(reply, Reply) else Reply.said(reply)

    def __repr__(self) -> str:
        return f"Scripted({len(self._replies)} of {self._given} replies left)"
