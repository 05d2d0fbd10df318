"""The clients of OpenAI's own library as judges, and any other object with ``chat.completions.create``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from evenhand.domain.ask import Ask
from evenhand.domain.errors import ConfigError
from evenhand.drive.driver import call_function
from evenhand.models.adapters.adapter import NOT_DONE_HERE, Adapter
from evenhand.models.dialects.dialect import Generation, Said
from evenhand.models.dialects.openai import OPENAI
from evenhand.models.retry import RetryPolicy, TransportFault

_OPENAI: Final = "https://api.openai.com/"
# Whose classes say nothing about the model behind them.
_NO_LIBRARIES: Final = frozenset({"builtins", "typing", "abc", "types", "unittest", "__main__"})


class OpenAIClient(Adapter):
    """An object with ``chat.completions.create``, sync or async, and the model that it is to ask.

    The object itself is called, so that whatever wraps or patches it sees each request. Retries have one owner: a
    client with ``max_retries`` above 0 keeps its own, and what it gives up is not tried again; otherwise they are ours.
    """

    def __init__(self, client: Any, *, model: str | None, policy: RetryPolicy | None = None) -> None:
        if not model:
            kind = type(client).__name__
            article = "an" if kind[0] in "AEIOU" else "a"
            raise ConfigError(
                f"the judge is {article} {kind} client, which asks any model; name one: model='gpt-4o-mini'"
            )
        asked = model.removeprefix("openai:")
        if _is_at_openai(client):
            asked = asked.removeprefix("openai/")
        super().__init__(client, name=f"{_provider(client)}/{asked}", policy=policy)
        self._generation = Generation(model=asked)

    async def _request(self, ask: Ask, generation: Generation, seconds: float | None) -> Said:
        create = self._source.chat.completions.create
        takes = _accepts(create)
        if not takes("response_format"):  # the words of the prompt ask for the form
            generation = replace(generation, structured="none")
        request = OPENAI.encode(ask, generation)
        if seconds is not None and takes("timeout"):
            request["timeout"] = _shorter_limits(seconds, getattr(self._source, "timeout", None))
        # Of an async method too, only the making of its coroutine is in a thread: wrappers hide of which kind one is.
        return OPENAI.decode(_body(await call_function(create, **request)))

    def _known_fault(self, error: Exception, message: str) -> TransportFault | None:
        fault = super()._known_fault(error, message)
        retries = getattr(self._source, "max_retries", None)
        if fault is None or not fault.retryable or fault.at_once or not isinstance(retries, int) or retries < 1:
            return fault
        problem = f"{fault.message}; the client retries by itself (max_retries={retries})"
        return TransportFault(fault.kind, problem, retryable=False, retry_after=fault.retry_after)

    def _otherwise(self, ask: Ask, generation: Generation, error: Exception, message: str) -> Generation | None:
        if isinstance(error, NOT_DONE_HERE):  # code that is not the provider's
            return super()._otherwise(ask, generation, error, message)
        other = OPENAI.otherwise(generation, message)
        return None if other is None or OPENAI.encode(ask, other) == OPENAI.encode(ask, generation) else other


def _accepts(function: Callable[..., Any]) -> Callable[[str], bool]:
    """Return a test of whether a function takes an argument of a name; of some functions nobody can say."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return lambda name: True  # noqa: ARG005
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return lambda name: takes_all or name in parameters


# What is read of a response that is an object: a list's only element stands for all, None for any value.
_SHAPE: Final[Mapping[str, Any]] = {
    "model": None,
    "choices": [
        {
            "finish_reason": None,
            "message": {"content": [{"type": None, "text": None}], "refusal": None},
            "logprobs": {"content": [{"top_logprobs": [{"token": None, "logprob": None}]}]},
        }
    ],
    "usage": {
        "prompt_tokens": None,
        "completion_tokens": None,
        "prompt_tokens_details": {"cached_tokens": None},
    },
}


def _body(response: Any) -> Any:
    """Return a response as the JSON that it was; what is none comes as it is."""
    if hasattr(response, "model_dump"):
        dumped = response.model_dump(exclude_unset=True, warnings=False)
        if isinstance(dumped, dict):
            return dumped
    return response if isinstance(response, str) else _plain(response, _SHAPE)


def _plain(value: Any, shape: Any) -> Any:
    """Make mappings of objects, by the names that a reply may have."""
    if isinstance(shape, list):
        return [_plain(item, shape[0]) for item in value] if isinstance(value, (list, tuple)) else value
    if shape is None or value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {name: _plain(item, shape.get(name)) for name, item in value.items()}
    members = {name: _plain(getattr(value, name, None), inner) for name, inner in shape.items()}
    return {name: member for name, member in members.items() if member is not None}


def _is_at_openai(client: object) -> bool:
    return f"{getattr(client, 'base_url', '')}/".startswith(_OPENAI)


def _provider(client: object) -> str:
    """Name the library: its own classes are at the root of whatever was derived from them."""
    classes = type(client).__mro__
    if any("Azure" in each.__name__ for each in classes):
        return "azure"
    packages = [each.__module__.partition(".")[0] for each in classes]
    libraries = [package for package in packages if package not in _NO_LIBRARIES]
    usual = "openai" if _is_at_openai(client) else "client"
    return libraries[-1] if libraries else usual


def _shorter_limits(seconds: float, own: Any) -> Any:
    """Keep the client's own time limits, a number or one for each phase of a request, where they are the shorter."""
    if isinstance(own, (int, float)):
        return min(own, seconds)
    limits = {phase: getattr(own, phase, None) for phase in ("connect", "read", "write", "pool")}
    numbers = {phase: limit for phase, limit in limits.items() if isinstance(limit, (int, float))}
    if not any(numbers.values()):
        return seconds
    return type(own)(**{phase: min(numbers.get(phase) or seconds, seconds) for phase in limits})
