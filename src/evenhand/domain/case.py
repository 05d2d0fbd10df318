"""What is judged: a case, or a profile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from types import NoneType
from typing import Any, Final

from evenhand.domain.context import ContextDocument, ContextLike, context_from, documents_of
from evenhand.domain.errors import ConfigError
from evenhand.domain.message import Message, MessageLike, messages_from
from evenhand.domain.rubric import Rubric, RubricLike, rubric_items
from evenhand.domain.scale import is_finite_number

_TEXTS = ("id", "question", "candidate_answer", "reference_answer", "expected_outcome", "cluster")
_MESSAGES = ("input_messages", "output_messages", "expected_messages")
_AS_MESSAGES = {"question": "input_messages", "reference_answer": "expected_messages"}
_texts, _messages = attrgetter(*_TEXTS), attrgetter(*_MESSAGES)
_TEXT = frozenset({str, NoneType})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question, the answer to judge, and what the judge may hold it against.

    >>> Case(question="Capital of France?", candidate_answer="Paris", expected_outcome="Names Paris").question
    'Capital of France?'

    ``candidate_answer=None`` means that there is no answer; an empty string is an answer. Where the reference is given
    as ``expected_messages``, ``reference_answer`` is what the assistant says in them last. ``context`` is what the
    answer was to be based on: a text, or a list of documents, each a text or a mapping with ``id`` and ``text``.
    ``latency`` (seconds) and ``cost`` (dollars) are what making the answer took, where known.
    """

    id: str | None = None
    question: str | None = None
    input_messages: Sequence[MessageLike] = ()
    candidate_answer: str | None = None
    output_messages: Sequence[MessageLike] = ()
    reference_answer: str | None = None
    expected_messages: Sequence[MessageLike] = ()
    expected_outcome: str | None = None
    evaluation_schema: str | Mapping[str, Any] | bool | None = None
    rubrics: Sequence[RubricLike] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    cluster: str | None = None
    latency: float | None = None
    cost: float | None = None
    context: ContextLike | None = None

    def __post_init__(self) -> None:
        if not _TEXT.issuperset(map(type, _texts(self))):
            self._check_texts()
        # Most cases have none of these, and a suite may have very many cases.
        if _messages(self) != ((), (), ()):
            for name in _MESSAGES:
                object.__setattr__(self, name, self._parsed_messages(name))
            if self.expected_messages and self.reference_answer is None:
                object.__setattr__(self, "reference_answer", self._reference_in_messages())
        if self.rubrics != ():
            object.__setattr__(self, "rubrics", rubric_items(self.rubrics, where=f"{self._where()}rubrics"))
        if type(self.metadata) is not dict and not isinstance(self.metadata, Mapping):
            raise ConfigError(f"{self._where()}metadata must be a mapping, not {type(self.metadata).__name__}")
        schema = self.evaluation_schema
        if schema is not None and not isinstance(schema, (str, bool, Mapping)):
            kind = type(schema).__name__
            raise ConfigError(f"{self._where()}evaluation_schema must be JSON text or an object, not {kind}")
        if self.latency is not None or self.cost is not None:
            self._check_numbers()
        if self.context is not None:
            self._settle_context()

    def _settle_context(self) -> None:
        try:
            object.__setattr__(self, "context", context_from(self.context))
        except ConfigError as error:
            raise ConfigError(f"{self._where()}{error}") from None

    def _check_texts(self) -> None:
        for name, value in zip(_TEXTS, _texts(self), strict=True):
            if value is not None and not isinstance(value, str):
                kind = type(value).__name__
                hint = f"; messages are given as {_AS_MESSAGES[name]}" if name in _AS_MESSAGES else ""
                raise ConfigError(f"{self._where()}{name} must be text or None, not {kind}: {value!r:.80}{hint}")

    def _check_numbers(self) -> None:
        for name, value in (("latency", self.latency), ("cost", self.cost)):
            if value is not None and not (is_finite_number(value) and value >= 0):
                raise ConfigError(f"{self._where()}{name} is {value!r:.80}; it must be a number, 0 or more, or None")

    def _parsed_messages(self, name: str) -> tuple[Message, ...]:
        messages = getattr(self, name)
        if isinstance(messages, (str, Mapping)) or not isinstance(messages, Sequence):
            raise ConfigError(f"{self._where()}{name} must be a list of messages, not {type(messages).__name__}")
        try:
            return messages_from(messages)
        except ConfigError as error:
            raise ConfigError(f"{self._where()}{name}: {error}") from None

    def _reference_in_messages(self) -> str | None:
        try:
            return reference_in(self.expected_messages)
        except ConfigError as error:
            raise ConfigError(f"{self._where()}expected_messages: {error}") from None

    def _where(self) -> str:
        return f"case {self.id!r}: " if isinstance(self.id, str) else "case: "

    @property
    def items(self) -> tuple[Rubric, ...]:
        """The rubric items, settled."""
        return self.rubrics  # type: ignore[return-value]  # since it was made

    @property
    def documents(self) -> tuple[ContextDocument, ...]:
        """The context as documents; a text is one without an id."""
        return documents_of(self.context)  # type: ignore[arg-type]  # since it was made

    @property
    def context_text(self) -> str | None:
        """The context as one text: as given, or the documents with their numbers and ids."""
        if self.context is None or isinstance(self.context, str):
            return self.context
        return "\n\n".join(document.numbered(number) for number, document in enumerate(self.documents, 1))

    @property
    def question_text(self) -> str | None:
        """The question as text: as given, or the input messages one after the other."""
        if self.question is not None or not self.input_messages:
            return self.question
        return transcript(self.input_messages)

    @property
    def last_question(self) -> str | None:
        """What distinguishes the case: the question, or the last user message of a conversation."""
        questions = [message.content for message in messages_from(self.input_messages) if message.role == "user"]
        return questions[-1] if self.question is None and questions else self.question_text

    @property
    def reference_text(self) -> str | None:
        """The reference as a judge reads it: the answer, or the conversation that it ends, where that was given."""
        messages = self.expected_messages
        is_whole = len(messages) < 2 or self.reference_answer is None
        if is_whole or self.reference_answer != _last_said(messages_from(messages)):
            return self.reference_answer
        return transcript(messages)


def reference_in(messages: Sequence[MessageLike]) -> str | None:
    """Return what the assistant says last; None where it only calls tools. Refuses messages without an assistant.

    >>> reference_in([("user", "Capital of France?"), ("assistant", "Paris")])
    'Paris'
    """
    turns = messages_from(messages)
    if not has_assistant(turns):
        raise ConfigError(
            "none of these messages is from the assistant, so there is no answer to compare with; write "
            "{'role': 'assistant', 'content': '…'}, or give the answer as reference_answer"
        )
    return _last_said(turns)


def has_assistant(messages: Sequence[Message]) -> bool:
    """Return whether one of the messages is the assistant's."""
    return any(message.role == "assistant" for message in messages)


def _last_said(messages: Sequence[Message]) -> str | None:
    # A message that has only tool calls says nothing; one that has nothing at all is an empty answer.
    texts = [
        message.content for message in messages if message.role == "assistant" and (message.content or not message.more)
    ]
    return texts[-1] if texts else None


def transcript(messages: Sequence[MessageLike]) -> str:
    """Write messages down as text, one paragraph each; a lone user message is just its content."""
    turns = messages_from(messages)
    if len(turns) == 1 and turns[0].role == "user":
        return turns[0].content
    return "\n\n".join(f"{message.role}: {message.content}" for message in turns)


def is_blank(text: str | None) -> bool:
    """Return whether a text is absent or only white space (SPEC-M1)."""
    return text is None or not text.strip()


_MOST_ID: Final = 200
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def _as_written(value: object) -> str:
    """Show a value that is no text; nothing as files call it."""
    return "null" if value is None else f"{value!r:.80}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A text with an id, and what is known beside it.

    >>> Profile(id="anna", text="Ten years a nurse.", attributes={"city": "Graz"}).id
    'anna'

    A judge sees the text and nothing else: neither the id nor the ``attributes``. Profiles that share a source are
    given the same ``cluster``, so that they do not count as independent.
    """

    id: str
    text: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    cluster: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str):
            raise ConfigError(f"profile: id must be text or a whole number, not {self.id!r:.80}")
        # Ids that differ in outer spaces alone look the same wherever they are shown.
        if not self.id or self.id != self.id.strip() or len(self.id) > _MOST_ID or _CONTROL.search(self.id):
            raise ConfigError(
                f"profile {self.id!r:.80}: an id has 1 to {_MOST_ID} characters, no control characters, and no space "
                "at either end"
            )
        if not isinstance(self.text, str):
            raise ConfigError(f"profile {self.id!r}: text must be a string, not {_as_written(self.text)}")
        if is_blank(self.text):
            raise ConfigError(f"profile {self.id!r}: its text is empty; there is nothing to judge")
        if not isinstance(self.attributes, Mapping):
            kind = type(self.attributes).__name__
            raise ConfigError(f"profile {self.id!r}: attributes must be a mapping, not {kind}")
        if self.cluster is not None and not isinstance(self.cluster, str):
            raise ConfigError(f"profile {self.id!r}: cluster must be text or None, not {self.cluster!r:.80}")

    @property
    def case(self) -> Case:
        """The profile as a case, which is what runs are made of."""
        return Case(id=self.id, candidate_answer=self.text, metadata=dict(self.attributes), cluster=self.cluster)
