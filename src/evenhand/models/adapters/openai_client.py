"""The clients of OpenAI's own library as judges, and of others made like it."""

from __future__ import annotations

import inspect
from typing import Any

from evenhand.domain.ask import Ask
from evenhand.domain.errors import ConfigError
from evenhand.drive.driver import call_function
from evenhand.models.adapters.adapter import Adapter
from evenhand.models.dialects.dialect import Generation, Said
from evenhand.models.dialects.openai import OPENAI
from evenhand.models.retry import RetryPolicy


class OpenAIClient(Adapter):
    """An ``OpenAI`` or ``AsyncOpenAI`` client, or an Azure one, and the model that it is to ask.

    Its own retries are switched off: requests are tried again by us, and only by us.
    """

    def __init__(self, client: Any, *, model: str | None, policy: RetryPolicy | None = None) -> None:
        if not model:
            kind = type(client).__name__
            raise ConfigError(f"the judge is an {kind} client, which asks any model; name one: model='gpt-4o-mini'")
        asked = model.removeprefix("openai:")
        if getattr(getattr(client, "base_url", None), "host", None) == "api.openai.com":
            asked = asked.removeprefix("openai/")
        super().__init__(client, name=f"{_provider(client)}/{asked}", policy=policy)
        self._client = client.with_options(max_retries=0)
        self._generation = Generation(model=asked)

    async def _request(self, ask: Ask, generation: Generation, seconds: float | None) -> Said:
        request = OPENAI.encode(ask, generation)
        if seconds is not None:
            request["timeout"] = _shorter_limits(seconds, getattr(self._source, "timeout", None))
        create = self._client.chat.completions.create
        # A decorator of the library hides of which kind its method is.
        if inspect.iscoroutinefunction(inspect.unwrap(create)):
            response = await create(**request)
        else:
            response = await call_function(create, **request)
        if hasattr(response, "model_dump"):  # what is no JSON comes as it is
            response = response.model_dump(exclude_unset=True, warnings=False)
        return OPENAI.decode(response)

    def _otherwise(self, ask: Ask, generation: Generation, error: Exception, message: str) -> Generation | None:  # noqa: ARG002
        other = OPENAI.otherwise(generation, message)
        return None if other is None or OPENAI.encode(ask, other) == OPENAI.encode(ask, generation) else other


def _provider(client: object) -> str:
    """Name the library: its own classes are at the root of whatever was derived from them."""
    classes = type(client).__mro__
    if any("Azure" in each.__name__ for each in classes):
        return "azure"
    packages = [each.__module__.partition(".")[0] for each in classes]
    return [package for package in packages if package not in {"builtins", "typing", "abc"}][-1]


def _shorter_limits(seconds: float, own: Any) -> Any:
    """Keep the client's own time limits, a number or one for each phase of a request, where they are the shorter."""
    if isinstance(own, (int, float)):
        return min(own, seconds)
    limits = {phase: getattr(own, phase, None) for phase in ("connect", "read", "write", "pool")}
    if not any(limits.values()):
        return seconds
    return type(own)(**{phase: min(limit or seconds, seconds) for phase, limit in limits.items()})
