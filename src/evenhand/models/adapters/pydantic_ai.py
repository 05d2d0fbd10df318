"""pydantic-ai's models as judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.domain.ask import Ask
from evenhand.domain.message import Message
from evenhand.models.adapters.adapter import Adapter, finish_of, json_text, usage_of, wanted_schema
from evenhand.models.dialects.dialect import Generation, Said, stated_model
from evenhand.models.retry import RetryPolicy

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


class PydanticAIModel(Adapter):
    """A ``pydantic_ai.models.Model``, asked without an agent around it.

    Its own retries are switched off where its library can do that, which it can since version 2.
    """

    def __init__(self, model: Any, *, policy: RetryPolicy | None = None) -> None:
        native = _offers(model.profile, "supports_json_schema_output", usually=False)
        structured = native or _offers(model.profile, "supports_tools", usually=True)
        name = f"pydantic-ai/{model.model_name}"
        super().__init__(model, name=name, structured=structured, policy=policy)
        self._native = native

    async def _request(self, ask: Ask, generation: Generation, seconds: float | None) -> Said:  # noqa: ARG002
        from pydantic_ai.direct import model_request  # noqa: PLC0415 - the given model has loaded it already

        response = await model_request(
            self._source,
            _messages(ask.messages),
            model_settings=_settings(self._source, ask),
            model_request_parameters=self._parameters(ask, generation),
        )
        return _read_response(response)

    def _parameters(self, ask: Ask, generation: Generation) -> ModelRequestParameters:
        """Ask for native structured output where the model has it, else for a forced tool call."""
        from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415 - the given model has loaded it already
        from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415
        from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415

        schema = wanted_schema(ask, generation)
        if schema is None or ask.contract is None:
            return ModelRequestParameters()
        if self._native:
            shape = OutputObjectDefinition(json_schema=schema, name=ask.contract.name)
            return ModelRequestParameters(output_mode="native", output_object=shape)
        tool = ToolDefinition(name=ask.contract.name, parameters_json_schema=schema, kind="output")
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _messages(messages: Sequence[Message]) -> list[ModelMessage]:
    from pydantic_ai import messages as theirs  # noqa: PLC0415 - the given model has loaded it already

    turns: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for message in messages:
        if message.role == "assistant":
            turns += [theirs.ModelRequest(parts=parts), theirs.ModelResponse(parts=[theirs.TextPart(message.content)])]
            parts = []
        elif message.role == "system":
            parts.append(theirs.SystemPromptPart(message.content))
        else:
            parts.append(theirs.UserPromptPart(message.content))
    return [*turns, theirs.ModelRequest(parts=parts)]


def _settings(model: Any, ask: Ask) -> ModelSettings:
    settings: ModelSettings = {}
    if "max_retries" not in getattr(model, "unsupported_settings", ()):
        settings["max_retries"] = 0  # tried again by us, and only by us
    limit = ask.max_tokens or (model.settings or {}).get("max_tokens")
    if limit:
        settings["max_tokens"] = limit * ask.room
    return settings


def _offers(profile: Any, feature: str, *, usually: bool) -> bool:
    """Read a model's profile, a mapping since pydantic-ai 2 and an object before."""
    if isinstance(profile, Mapping):
        return bool(profile.get(feature, usually))
    return bool(getattr(profile, feature, usually))


def _read_response(response: ModelResponse) -> Said:
    calls = [part.args for part in response.parts if part.part_kind == "tool-call"]
    texts = [part.content for part in response.parts if part.part_kind == "text"]
    used = response.usage
    usage = usage_of(used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens)
    model = stated_model(response.model_name)
    if isinstance(refusal := (response.provider_details or {}).get("refusal"), str):
        return Said(text=refusal, finish="refusal", usage=usage, model=model)
    text = "".join(texts)
    if calls and calls[0] is not None:
        text = calls[0] if isinstance(calls[0], str) else json_text(calls[0])
    return Said(text=text, finish=finish_of(response.finish_reason), usage=usage, model=model)
