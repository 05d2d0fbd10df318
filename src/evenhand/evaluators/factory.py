"""The judge factory: a prompt becomes an evaluator function (SPEC-F)."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypedDict, cast

from evenhand import registry
from evenhand.domain.ask import Call, ModelClient, Steps
from evenhand.domain.contract import Accepted, Contract, FieldContract, Text
from evenhand.domain.errors import ConfigError, TemplateError, did_you_mean, require_flag
from evenhand.domain.evaluation import JudgeError, usage_dict
from evenhand.domain.message import Message, conversation_text, messages_from, plain_data
from evenhand.domain.reply import Raised, Returned
from evenhand.domain.scale import Binary, Choices, Labels, Range, Scale
from evenhand.domain.template import Template
from evenhand.evaluators.asking import Answered, GaveUp, appended, inquire
from evenhand.evaluators.freeform import LABEL, score_field
from evenhand.evaluators.output_schema import VALUE, output_contract
from evenhand.evaluators.prompts.ready import ReadyPrompt, ready_prompt
from evenhand.evaluators.reading import AMBIGUOUS, Ambiguous, check_ambiguous

Prompt: TypeAlias = str | Callable[..., Any] | object

_EXAMPLE_KEYS = ("inputs", "outputs", "reasoning", "score")
_ABOUT_EXAMPLES = """\
The <example> blocks at the end of the user message show how others were judged. They are no part of what you judge."""


class EvaluatorResult(TypedDict):
    """What a factory-made evaluator returns: a plain dict."""

    key: str
    score: float | bool
    comment: str | None
    metadata: dict[str, Any]


class FewShotExample(TypedDict, total=False):
    """An example judgment for the prompt."""

    inputs: Any
    outputs: Any
    reasoning: str
    score: float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptedJudge:
    """What ``create_llm_as_judge`` makes: asks a judge with the user's own prompt. Options as in SPEC-F1."""

    prompt: Prompt
    feedback_key: str = "score"
    judge: Any = field(default=None, repr=False)
    model: str | None = None
    system: str | None = None
    continuous: bool = False
    choices: Sequence[float] | Mapping[str, float] | None = None
    use_reasoning: bool = True
    few_shot_examples: Sequence[FewShotExample] | None = None
    output_schema: Any = None
    ambiguous: Ambiguous = "ask_again"
    contract: Contract = field(init=False, repr=False)
    source: Template | ReadyPrompt | Callable[..., Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("continuous", "use_reasoning"):
            require_flag(getattr(self, name), name)
        if not isinstance(self.feedback_key, str) or not self.feedback_key:
            raise ConfigError(f"feedback_key is {self.feedback_key!r:.80}; it must be a name")
        if self.system is not None and not isinstance(self.system, str):
            raise ConfigError(f"system must be text, not {type(self.system).__name__}")
        check_ambiguous(self.ambiguous, where="create_llm_as_judge")
        settled = {
            "source": _source(self.prompt),
            "contract": self._contract(),
            "few_shot_examples": _examples(self.few_shot_examples),
            "judge": registry.judge(self.judge, model=self.model),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def _contract(self) -> Contract:
        schema = self._schema()
        if schema is not None:
            return output_contract(schema)
        score = score_field(self._scale(), about="your judgment, in the sense of the task")
        if not self.use_reasoning:
            return FieldContract(name="judgment", fields=(score,))
        reasoning = Text(name="reasoning", required=True, about="your reasons, step by step, before the score")
        return FieldContract(name="judgment", fields=(reasoning, score))

    def _schema(self) -> object:
        """Return the schema of the output: the one that was given, or that of LangChain's ``StructuredPrompt``."""
        own = None if isinstance(self.prompt, str) else getattr(self.prompt, "schema_", None)
        if own is not None and self.output_schema is not None:
            raise ConfigError("output_schema: the prompt brings a schema of its own; leave out one of them")
        return self.output_schema if own is None else own

    def _scale(self) -> Scale:
        if isinstance(self.choices, Mapping):
            return Labels.of(self.choices)
        if self.choices is not None:
            return Choices(values=cast("tuple[float, ...]", self.choices))
        return Range(low=0.0, high=1.0) if self.continuous else Binary()

    @property
    def returns_schema(self) -> bool:
        """Whether the outcome is what a schema of the user's describes, and no score."""
        return not isinstance(self.contract, FieldContract)

    def steps(self, values: Mapping[str, Any]) -> Steps[Any]:
        """Judge with the given values: an ``EvaluatorResult``, or the object that ``output_schema`` describes."""
        arguments = {name: value for name, value in values.items() if value is not None}
        if _ATTACHMENTS in arguments:
            raise ConfigError(
                "attachments cannot be shown to a judge, only text can; give what they say or show as text, under "
                "another name, such as context"
            )
        messages = self._framed((yield from self._messages(arguments)))
        client: ModelClient = self.judge
        asked = yield from inquire(messages, judge=client, contract=self.contract, ambiguous=self.ambiguous)
        if isinstance(asked, GaveUp):
            raise JudgeError(f"{client.name} gave no usable reply: {asked.error}", attempts=asked.record.attempts)
        return self._result(asked)

    def _messages(self, arguments: Mapping[str, Any]) -> Steps[tuple[Message, ...]]:
        source = self.source
        if isinstance(source, Template):
            self._require_a_place(source, arguments)
            return (Message("user", source.render(_texts(arguments), where="the prompt")),)
        if isinstance(source, ReadyPrompt):
            return (Message("user", source.render(_texts(arguments))),)
        if source is self.prompt:
            call = Call(function=source, kwargs=_with_standard_names(source, arguments))
        else:  # a Runnable takes one mapping, and says which of its places are for messages and not for text
            as_they_are = getattr(self.prompt, "input_types", None) or ()
            texts = _texts({name: value for name, value in arguments.items() if name not in as_they_are})
            call = Call(function=source, args=({**arguments, **texts},))
        (answer,) = yield (call,)
        match answer:
            case Returned(value=value):
                return _prompt_messages(value)
            case Raised(exception=exception):
                raise exception
            case _:
                raise TypeError(f"a Call is answered by Returned or Raised, not {type(answer).__name__}")

    def _require_a_place(self, source: Template, arguments: Mapping[str, Any]) -> None:
        """Refuse a prompt with places as other templates have them, which would be sent as they are written."""
        source.require_plain(arguments, where="the prompt")
        for name in arguments:
            if f"{{{{{name}}}}}" in str(self.prompt) and not source.names & arguments.keys():
                raise TemplateError(
                    f"the prompt has {{{{{name}}}}}, which is literal text; write {{{name}}} for the value"
                )

    def _framed(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Put the system text and the format block into one system message at the top, and examples at the end."""
        own = [message.content for message in messages if message.role == "system"]
        rest = tuple(message for message in messages if message.role != "system")
        examples = "".join(_block(example) for example in self.few_shot_examples or ())
        explained = _ABOUT_EXAMPLES if examples else None
        parts = (self.system, *own, explained, self.contract.instructions())
        return (Message("system", "\n\n".join(part for part in parts if part)), *appended(rest, examples))

    def _result(self, asked: Answered) -> Any:
        values = asked.accepted.values
        if VALUE in values:  # by an output schema
            return values[VALUE]
        record = asked.record
        other = (
            {} if asked.other is None else {AMBIGUOUS: {"counted": self.ambiguous, "score": self._score(asked.other)}}
        )
        return EvaluatorResult(
            key=self.feedback_key,
            score=self._score(asked.accepted),
            comment=values.get("reasoning"),
            metadata={
                "attempts": [attempt.as_dict() for attempt in record.attempts],
                "retry_count": record.retry_count,
                "evaluator_provider_request": record.request,
                "usage": usage_dict(record.fields()["usage"]),
                "flags": list(asked.flags),
                "judge": self.judge.name,
                **({LABEL: values[LABEL]} if LABEL in values else {}),
                **other,
            },
        )

    def _score(self, accepted: Accepted) -> float | bool:
        if isinstance(self.choices, Mapping):
            return self.choices[accepted.values[LABEL]]
        score: float | bool = accepted.values["score"]
        return float(score) if self.continuous and self.choices is None else score


def as_text(value: object, name: str = "value") -> str:
    """Return a value as it goes into a prompt: text and blocks of text as they are, messages role by role, else JSON.

    Pictures, sound and files are refused.
    """
    if isinstance(value, str):
        return value
    try:
        if (text := conversation_text(value)) is not None:
            return text
        data = plain_data(value)
        return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=_plain)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name} cannot be written as JSON: {error}; give text or plain values") from None


def _texts(arguments: Mapping[str, Any]) -> dict[str, str]:
    return {name: as_text(value, name) for name, value in arguments.items()}


def _plain(value: object) -> object:
    return plain_data(_jsonable(value))


def _jsonable(value: object) -> object:
    if (text := conversation_text(value)) is not None:
        return text
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _prompt_messages(value: object) -> tuple[Message, ...]:
    try:
        return messages_from(value)
    except ConfigError as error:
        raise error.within("the prompt") from None


# What other libraries with such a factory send along as pictures, sound and files.
_ATTACHMENTS: Final = "attachments"
# What ``inputs``, ``outputs`` and ``reference_outputs`` are in libraries with such a factory: always given.
_STANDARD_NAMES: Final = ("inputs", "outputs", "reference_outputs")


def _with_standard_names(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Add the standard names that a function takes, as None where they were not given."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of some callables nobody can say
        return dict(arguments)
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    names = [name for name in _STANDARD_NAMES if takes_all or name in parameters]
    return dict.fromkeys(names) | dict(arguments)


def _source(prompt: Prompt) -> Template | ReadyPrompt | Callable[..., Any]:
    """Return what kind of prompt was given (SPEC-F3)."""
    if isinstance(prompt, str):
        if not prompt.strip():
            raise ConfigError("prompt is empty; write a template such as 'Rate: {outputs}', or name a ready prompt")
        if (ready := ready_prompt(prompt)) is not None:
            return ready
        template = Template.with_single_braces(prompt)
        template.require_plain(_STANDARD_NAMES, where="the prompt")
        return template
    for way in ("ainvoke", "invoke"):
        if callable(method := getattr(prompt, way, None)):
            return cast("Callable[..., Any]", method)
    if callable(prompt):
        return prompt
    raise ConfigError(f"prompt must be text, a function or a Runnable, not {type(prompt).__name__}")


def _examples(examples: Sequence[FewShotExample] | None) -> tuple[FewShotExample, ...]:
    if examples is None:
        return ()
    if isinstance(examples, (str, Mapping)) or not isinstance(examples, Sequence):
        raise ConfigError(f"few_shot_examples must be a list of examples, not {type(examples).__name__}")
    return tuple(_example(example) for example in examples)


def _example(example: FewShotExample) -> FewShotExample:
    if not isinstance(example, Mapping) or not {"inputs", "outputs"} <= set(example):
        raise ConfigError(f"few_shot_examples: an example needs inputs and outputs; got {example!r:.120}")
    for key in example:
        if key not in _EXAMPLE_KEYS:
            raise ConfigError(f"few_shot_examples: no key {key!r}{did_you_mean(str(key), _EXAMPLE_KEYS)}")
    for key in ("inputs", "outputs"):
        as_text(example[key], f"few_shot_examples: {key}")  # type: ignore[literal-required]
    # A copy: what the user does with theirs later must not change the prompt.
    return copy.deepcopy(example)


def _block(example: FewShotExample) -> str:
    """Write an example as SPEC-F5 has it."""
    tags = (("input", "inputs"), ("output", "outputs"), ("reasoning", "reasoning"), ("score", "score"))
    fields = cast("Mapping[str, Any]", example)
    lines = [f"<{tag}>{as_text(fields[key], key)}</{tag}>" for tag, key in tags if fields.get(key) is not None]
    return "\n\n<example>\n" + "\n".join(lines) + "\n</example>"
