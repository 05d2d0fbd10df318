"""What an evaluator may ask for, and who answers: a judge, a program, or a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.failure import Failure
from evenhand.domain.message import Message
from evenhand.domain.reply import Exited, Raised, Reply, Returned, Unanswered

if TYPE_CHECKING:
    from evenhand.domain.contract import Contract


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question to a judge.

    ``contract`` is what the reply must satisfy, None where any text will do; ``sample`` keeps repeated equal
    questions apart; ``top_logprobs`` asks for that many alternatives per token; ``room`` multiplies the model's token
    limit and is doubled after a reply was cut off. Each request takes one from the ``allowance``, where there is one.
    A question that is ``sent_once`` is not sent again when its request fails.
    """

    messages: tuple[Message, ...]
    judge: ModelClient
    contract: Contract | None = None
    sample: int = 0
    top_logprobs: int = 0
    room: int = 1
    max_tokens: int | None = None
    allowance: Allowance | None = None
    sent_once: bool = False


class Allowance(Protocol):
    """How many requests may still be sent."""

    def take(self) -> bool:
        """Take one, and return whether there was one to take."""
        ...


class Turn(Protocol):
    """The right to have a request in flight, which somebody else may have while this one waits to be retried."""

    def give_back(self, failure: Failure, retry_after: float | None) -> None:
        """Give the turn back, since the request failed; ``retry_after`` is how long the server asked to wait."""
        ...

    async def take_back(self) -> bool:
        """Wait for a turn again, and return whether there will be one."""
        ...

    def pause(self, seconds: float) -> None:
        """Let nobody begin for so long: the provider says that nothing is left."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exec:
    """A program to run: an argument list, text for its standard input, and its limits."""

    argv: tuple[str, ...]
    stdin: str = ""
    timeout: float = 60.0
    memory_bytes: int | None = None
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A user's function to call, sync or async."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


Want: TypeAlias = Ask | Exec | Call
Answer: TypeAlias = Reply | Unanswered | Exited | Returned | Raised

Outcome = TypeVar("Outcome")
# A step generator yields what it wants to know, several things at once if it likes, is sent the answers in the same
# order, and returns its outcome.
Steps: TypeAlias = Generator[tuple[Want, ...], tuple[Answer, ...], Outcome]


@runtime_checkable
class ModelClient(Protocol):
    """A model that can be asked. It owns the retries of transport faults, and never raises for them.

    ``name`` is how the model is called in reports, for example ``openai/gpt-5-mini``.
    """

    @property
    def name(self) -> str:
        """How the model is called in reports."""
        ...

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:
        """Ask once, trying again on transport faults until ``deadline`` (``time.monotonic``)."""
        ...


class Evaluator(Protocol):
    """Something that scores a case. It decides and never acts: what it wants to know, it yields."""

    @property
    def name(self) -> str:
        """How the evaluator is called in reports."""
        ...

    @property
    def type(self) -> str:
        """The registered name of its kind, such as ``llm_judge``."""
        ...

    @property
    def weight(self) -> float:
        """How much it counts in the case's score; 0 shows but does not count."""
        ...

    @property
    def required(self) -> bool:
        """Whether its failing fails the case."""
        ...

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Work out the evaluation of a case, step by step."""
        ...
