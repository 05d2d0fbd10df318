"""A model with a prompt as the target."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from evenhand.domain.ask import Ask, ModelClient, Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ContractError, TemplateError, about
from evenhand.domain.evaluation import total_usage
from evenhand.domain.failure import Failure
from evenhand.domain.message import Message, messages_from
from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.run import MadeAnswer
from evenhand.domain.template import METADATA, Template, value_text
from evenhand.engine.identity import describe
from evenhand.evaluators.output_schema import SchemaContract, output_contract
from evenhand.models.resolve import resolve
from evenhand.models.settings import ModelSettings

_INPUT: Final = ("input", "question")
_CONTEXT: Final = "context"
OWN_KEYS: Final = ("prompt", "system", "response_schema")
_TEXTS: Final = ("prompt", "system")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTarget:
    """Asks a model with the input of each case, or with a ``prompt`` that the input goes into.

    ``prompt`` and ``system`` may use ``{{ input }}`` (or ``{{ question }}``), ``{{ context }}``, and the keys of the
    case's metadata, as ``{{ city }}`` or ``{{ metadata.city }}``.
    ``response_schema`` is the JSON Schema that the model is asked to keep to, as far as its provider can.
    ``limited`` says that the token limit is the user's own, so that an answer which ends there is the answer.
    """

    client: ModelClient
    prompt: str | None = None
    system: str | None = None
    response_schema: SchemaContract | None = None
    limited: bool = False

    def __post_init__(self) -> None:
        for name in _TEXTS:
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ConfigError(f"{name} must be text, not {type(value).__name__}", key=name)
            if value is not None:
                with about(name):
                    Template.with_double_braces(value).require_plain((*_INPUT, _CONTEXT), where=f"the {name}")
        if self.prompt is not None and not Template.with_double_braces(self.prompt).names:
            single = ", in double braces" if "{input}" in self.prompt or "{question}" in self.prompt else ""
            raise TemplateError(
                f"the prompt must use {{{{ input }}}}{single}, or a key of the metadata; "
                "as it is, every case would send the same prompt",
                key="prompt",
            )

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ModelTarget:
        """Make a target from ``{"model": …, "prompt": …, "system": …}`` and the settings of the model."""
        settings = {name: value for name, value in options.items() if name not in OWN_KEYS}
        _check_names(settings)
        model, has_settings = settings["model"], len(settings) > 1
        if not isinstance(model, str) and (has_settings or isinstance(model, Mapping)):
            raise ConfigError(
                f"model must be text, not {type(model).__name__}; put settings next to it, under target",
                key="model",
            )
        return cls(
            client=resolve(settings if has_settings else model),
            prompt=options.get("prompt"),
            system=options.get("system"),
            response_schema=_response_schema(options.get("response_schema")),
            limited=settings.get("max_tokens") is not None,
        )

    @property
    def name(self) -> str:
        """How the target is called in reports."""
        return self.client.name

    def client_for(self, _: Case) -> ModelClient:
        """Return the model, which is asked for every answer."""
        return self.client

    def description(self) -> dict[str, Any]:
        """Say what decides on the answers, in plain JSON values and without secrets."""
        description = {"model": describe(self.client), "prompt": self.prompt, "system": self.system}
        return (
            description
            if self.response_schema is None
            else description | {"response_schema": self.response_schema.schema()}
        )

    def steps(self, case: Case) -> Steps[MadeAnswer]:
        """Ask the model for the answer to a case."""
        try:
            messages = self._messages(case)
        except ContractError as missing:
            return MadeAnswer(text=None, error=missing.failure)
        except TemplateError as wrong:
            return MadeAnswer(text=None, error=Failure("template", str(wrong)))
        (answer,) = yield (Ask(messages=messages, judge=self.client, contract=self.response_schema),)
        if isinstance(answer, Unanswered):
            return MadeAnswer(
                text=None, error=answer.error, attempts=answer.attempts, usage=total_usage(answer.attempts)
            )
        if not isinstance(answer, Reply):
            raise TypeError(f"an Ask is answered by a Reply or Unanswered, not {type(answer).__name__}")
        return self._made_answer(answer)

    def _messages(self, case: Case) -> tuple[Message, ...]:
        values = _values(case)
        if self.prompt is None and case.input_messages:
            asked = messages_from(case.input_messages)
        else:
            asked = (Message("user", _fill(self.prompt or "{{ input }}", values, "the prompt")),)
        if self.system is None:
            return asked
        return (Message("system", _fill(self.system, values, "the system text")), *asked)

    def _made_answer(self, reply: Reply) -> MadeAnswer:
        error = self._error(reply)
        attempts = reply.attempts
        if error is not None and attempts:
            attempts = (*attempts[:-1], replace(attempts[-1], error=error))
        return MadeAnswer(
            text=reply.text if error is None else None,
            error=error,
            attempts=attempts,
            # Of the one request that brought the answer, without those that failed before it.
            latency=attempts[-1].latency if attempts and not attempts[-1].cached else None,
            usage=total_usage(attempts),
        )

    def _error(self, reply: Reply) -> str | None:
        """Say what keeps a reply from being an answer. Words of refusal are one, and so is the empty text (SPEC-E2)."""
        match reply.finish:
            case "filtered":
                return "filtered: the provider's content filter cut the answer off"
            case "refusal" if not reply.text:
                return "refusal: the model refused, with an empty reply"
            case "length" if not (self.limited and reply.text):
                return "truncated: the answer was cut off at its token limit; set max_tokens, or a higher one"
        return None


def _response_schema(schema: object) -> SchemaContract | None:
    if schema is None:
        return None
    try:
        return output_contract(json.loads(schema) if isinstance(schema, str) else schema)
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"response_schema: {error}", key="response_schema") from None


def _check_names(settings: Mapping[str, Any]) -> None:
    """Refuse a misspelt name of ours; those of settings are the provider's to know."""
    known = {field.name for field in fields(ModelSettings)}
    for name in settings.keys() - known:
        near = difflib.get_close_matches(name, (*OWN_KEYS, "model"), n=1, cutoff=0.7)
        if near and near[0] != name:
            raise ConfigError(f"no key {name!r}; did you mean {near[0]!r}?", key=str(name))


def _values(case: Case) -> dict[str, Any]:
    values = {str(name): value for name, value in case.metadata.items()}
    values |= {f"{METADATA}{name}": value for name, value in case.metadata.items() if value is not None}
    if case.context is not None:
        values[_CONTEXT] = case.context_text
    for name in _INPUT:
        values.pop(name, None)  # whatever the metadata calls so
        if case.question_text is not None:
            values[name] = case.question_text
    return values


def _as_text(value: object, where: str) -> str:
    try:
        return value_text(value)
    except ConfigError as error:
        raise TemplateError(f"{where}: {error}") from None


def _fill(text: str, values: Mapping[str, Any], where: str) -> str:
    template = Template.with_double_braces(text)
    if not template.names.isdisjoint(_INPUT) and "input" not in values:
        raise ContractError("the case has no input to answer", kind="no_input")
    used = {
        name: _as_text(value, f"{where} uses {name!r}") if name in template.names else ""
        for name, value in values.items()
    }
    return template.render(used, where=where)
