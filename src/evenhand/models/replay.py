"""Judges that replay replies: given ones, for tests, or recorded ones from a file."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from evenhand.domain.ask import Ask
from evenhand.domain.errors import ConfigError, ScriptExhaustedError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Finish, Reply, TokenChoice, Unanswered
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
        self._count = len(self._replies)
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
            # Its end says, where an invalid reply was asked for again, what was wrong with it.
            ending = " ".join(ask.messages[-1].content[-160:].split())
            raise ScriptExhaustedError(
                f"{self._name} was asked {len(self.asked)} times and has {self._count} to say; "
                f"the last question ends: …{ending}"
            ) from None
        if isinstance(reply, Exception):
            error = Failure("scripted", f"{type(reply).__name__}: {reply}")
            return Unanswered(error=error, attempts=(Attempt(kind="transport", error=error),))
        return reply if isinstance(reply, Reply) else Reply.said(reply)

    def __repr__(self) -> str:
        return f"Scripted({len(self._replies)} of {self._count} replies left)"


LABEL: Final = "(recorded)"


def recorded(path: str, /) -> Recorded:
    """Read recorded replies."""
    try:
        file = Path(path).expanduser()
        # By line feeds alone: what else can end a line may be in a reply.
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
    except OSError as error:
        raise ConfigError(f"recorded/{path}: {file.absolute()} cannot be read: {error.strerror}") from None
    except (ValueError, RuntimeError) as error:  # the second, where it is nested too deep, or has no home folder
        raise ConfigError(f"recorded/{path} is not a file of recorded replies: {error}") from None
    try:
        about, *rest = lines
        return Recorded(file, about, {record["question"]: _reply(record) for record in rest})
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"recorded/{path}: the first line must describe the model, and each other line must have a question "
            f"with its text, finish and first_token: {error!r}"
        ) from None


def question_key(ask: Ask) -> str:
    """Hash what was asked, however the model was set."""
    form = None if ask.contract is None else [ask.contract.name, ask.contract.schema()]
    messages = [
        [message.role, message.content, *([dict(message.more)] if message.more else [])] for message in ask.messages
    ]
    asked = [messages, form, ask.sample, ask.top_logprobs, ask.max_tokens]
    return hashlib.sha256(json.dumps(asked, ensure_ascii=True, default=str).encode()).hexdigest()


def written(ask: Ask, reply: Reply) -> dict[str, Any]:
    """Write a reply as a line of such a file has it."""
    choices = [[choice.token, round(choice.logprob, 6)] for choice in reply.first_token]
    return {"question": question_key(ask), "text": reply.text, "finish": reply.finish, "first_token": choices}


def _reply(record: Mapping[str, Any]) -> Reply:
    text, finish = record["text"], record["finish"]
    if not isinstance(text, str) or finish not in get_args(Finish):
        raise ValueError(f"text is {text!r:.80} and finish is {finish!r:.80}")
    choices = tuple(TokenChoice(token=str(token), logprob=float(chance)) for token, chance in record["first_token"])
    # It is one from before: it took no request, and no time.
    attempt = Attempt(kind="reply", raw=text, cached=True)
    return Reply(text=text, finish=finish, attempts=(attempt,), first_token=choices)


class Recorded:
    """A judge that says again what a model said, and nothing else."""

    keeps_deadlines: Final = True

    def __init__(self, file: Path, about: Mapping[str, Any], replies: Mapping[str, Reply]) -> None:
        self._file = file
        self._replies = replies
        self.name = f"{about['model']} {LABEL}"
        self.prefers_logprobs = bool(about.get("prefers_logprobs", False))
        self.yes_from = float(about.get("yes_from", 0.5))
        if not 0 <= self.yes_from <= 1:
            raise ValueError(f"yes_from is {self.yes_from}")
        margin = about.get("pair_margin")
        self.pair_margin = None if margin is None else float(margin)

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:  # noqa: ARG002
        """Find the reply to a question; one that was not asked then has none."""
        reply = self._replies.get(question_key(ask))
        if reply is None:
            error = Failure("not_recorded", f"{self._file.name} has no reply to this question; ask the model itself")
            return Unanswered(error=error, attempts=(Attempt(kind="transport", error=error),))
        return reply

    def __repr__(self) -> str:
        return f"Recorded({self._file.name}, {len(self._replies)} replies)"
