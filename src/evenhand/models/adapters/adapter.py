"""What all adapters share: one request within its time, failures as values, and the text of what came back."""

from __future__ import annotations

import asyncio
import json
import math
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from evenhand.domain.ask import Ask
from evenhand.domain.contract import storable
from evenhand.domain.errors import ScriptExhaustedError
from evenhand.domain.evaluation import Usage, token_usage
from evenhand.domain.reply import Finish, Reply, Unanswered
from evenhand.domain.scale import is_finite_number
from evenhand.domain.secret import scrubber_of
from evenhand.drive.held_keys import keys_of
from evenhand.models.dialects.dialect import Generation, Said, without_structure
from evenhand.models.retry import (
    RetryPolicy,
    TransportFault,
    ask_with_retries,
    quoted,
    retry_after_seconds,
    status_fault,
)

_FINISHES: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "content_filter": "filtered",
    "content_filtered": "filtered",
    "safety": "filtered",
    "prohibited_content": "filtered",
    "blocklist": "filtered",
    "guardrail_intervened": "filtered",
}


def text_of(result: object) -> str:
    """Find the text in a result: itself, its ``text``, ``content`` or ``output``; other mappings and lists as JSON.

    >>> text_of({"content": [{"type": "text", "text": "Fine."}]})
    'Fine.'
    >>> text_of({"score": 1})
    '{"score": 1}'
    """
    if isinstance(result, str):
        return result
    inner = _inner(result)
    if inner is not None:
        return content_text(inner) if isinstance(inner, list) else text_of(inner)
    if isinstance(result, (Mapping, list)):
        return json_text(result)
    if hasattr(result, "model_dump"):  # a pydantic model that some parser made of the reply
        return json_text(result.model_dump(mode="json"))
    raise TypeError(
        "a reply is text, a mapping or list (taken as JSON), or an object with .content or .text; "
        f"got {type(result).__name__}: {result!r:.80}"
    )


def _inner(result: object) -> str | list[object] | Mapping[str, object] | None:
    for key in ("text", "content", "output"):
        value = result.get(key) if isinstance(result, Mapping) else getattr(result, key, None)
        if isinstance(value, (str, list, Mapping)):
            return value
    return None


def content_text(content: str | Iterable[object]) -> str:
    """Join the text parts of a message's content; thoughts, tool calls and pictures are not what the judge said."""
    if isinstance(content, str):
        return content
    texts = (
        part if isinstance(part, str) else part.get("text")
        for part in content
        if isinstance(part, str) or (isinstance(part, Mapping) and part.get("type", "text") in {"text", "output_text"})
    )
    return "".join(text for text in texts if isinstance(text, str))


def json_text(value: object) -> str:
    """Write a value as the JSON that a judge would have said."""
    return json.dumps(value, ensure_ascii=False)


def finish_of(reason: object) -> Finish:
    """Read why a model stopped, as providers spell it."""
    return _FINISHES.get(reason.lower(), "stop") if isinstance(reason, str) else "stop"


def usage_of(
    input_tokens: object, output_tokens: object, cached_tokens: object, cache_write_tokens: object
) -> Usage | None:
    """Put token counts together; None where nothing was counted, which these libraries write as 0 too."""
    usage = token_usage(input_tokens, output_tokens, cached_tokens, cache_write_tokens)
    return None if usage == Usage() else usage


_LONGEST_READ = 64 * 1024
# What a model's own code raises for what it does not do.
NOT_DONE_HERE = (NotImplementedError, AttributeError, TypeError, AssertionError)
# The faults that another form of the request may mend.
_FORMAL = frozenset({"bad_request", "not_found"})


class Adapter(ABC):
    """A model client around an object of another library; subclasses say in ``_request`` how it is asked."""

    failure: ClassVar[str] = "model_error"

    def __init__(
        self,
        source: Any,
        *,
        name: str,
        structured: bool = False,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._source = source
        self._name = name
        self._policy = policy or RetryPolicy()
        keys = keys_of(source)
        self._scrubber, self._reply_scrubber = scrubber_of(keys), scrubber_of(keys, in_replies=True)
        # How the object is asked; replaced when it refuses a request for its form. Without structured output the
        # words of the prompt, which are always there, ask for the form.
        self._generation = Generation(model=name, structured="json_schema" if structured else "none")

    @property
    def name(self) -> str:
        """How the model is called in reports."""
        return self._name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:
        """Ask the object, trying again on transport faults until ``deadline``."""
        # How this ask is put: the last form is tried, and kept for others once the object has taken it.
        forms = [self._generation]
        return await ask_with_retries(
            lambda seconds: self._ask_once(ask, forms, seconds),
            policy=self._policy,
            deadline=deadline,
            allowance=ask.allowance,
            sent_once=ask.sent_once,
        )

    @abstractmethod
    async def _request(self, ask: Ask, generation: Generation, seconds: float | None) -> Said:
        """Ask the object once; whatever it raises is a failed request. Nobody waits longer than ``seconds``."""

    async def _ask_once(self, ask: Ask, forms: list[Generation], seconds: float) -> Reply:
        limit = None if math.isinf(seconds) else seconds
        generation = forms[-1]
        began = time.monotonic()
        try:
            async with asyncio.timeout(limit) as timeout:
                response = await self._request(ask, generation, limit)
        except ScriptExhaustedError:
            raise
        except TransportFault as fault:
            raise fault.saying(self._quoted(fault.message)) from None
        except Exception as error:
            if timeout.expired():
                raise TransportFault("timeout", "no reply before the deadline", retryable=False) from error
            raise self._fault(ask, forms, error) from error
        latency = time.monotonic() - began
        if len(forms) > 1:
            self._generation = generation
        return Reply.said(
            self._reply_scrubber.scrub(storable(response.text)),
            finish=response.finish,
            usage=response.usage,
            latency=latency,
            first_token=response.first_token,
            model=None if response.model is None else self._reply_scrubber.scrub(storable(response.model)),
        )

    def _fault(self, ask: Ask, forms: list[Generation], error: Exception) -> TransportFault:
        message = self._quoted(words_of(error))
        fault = self._known_fault(error, message)
        fault = fault or TransportFault(self.failure, f"{type(error).__name__}: {message}", retryable=False)
        if fault.kind in {self.failure, *_FORMAL}:
            other = self._otherwise(ask, forms[-1], error, message)
            if other is not None:
                forms.append(other)
                return TransportFault("format_refused", fault.message, retryable=True, at_once=True)
        return fault

    def _quoted(self, text: str) -> str:
        """Put a text of unknown length on one short line, without secrets: before it is cut, as half a key is one."""
        return quoted(self._scrubber.scrub(text[:_LONGEST_READ]))

    def _known_fault(self, error: Exception, message: str) -> TransportFault | None:
        """Class an exception of the object's library; None for one that says nothing of the transport."""
        return fault_of(error, message)

    def _otherwise(self, ask: Ask, generation: Generation, error: Exception, message: str) -> Generation | None:
        """Return another way to ask, where the object complained of this one; None where there is none."""
        if ask.contract is None or generation.structured == "none":
            return None
        if isinstance(error, NOT_DONE_HERE):
            return replace(generation, structured="none")
        return without_structure(generation, message)


def wanted_schema(ask: Ask, generation: Generation) -> dict[str, Any] | None:
    """Return the schema to ask for structured output with; None where the words of the prompt must do."""
    if ask.contract is None or generation.structured == "none":
        return None
    schema = ask.contract.schema()
    return schema if schema.get("type") == "object" else None  # the only root that all of them know


_MOST_CAUSES = 5
# The names of these libraries' classes: requests and Python itself, aiohttp, httpx, the clients that OpenAI's generator
# made (openai, anthropic, groq …), pydantic-ai.
_TIMEOUTS = frozenset({"TimeoutError", "Timeout", "TimeoutException", "APITimeoutError", "ModelTimeoutError"})
_CONNECTIONS = frozenset(
    {"ConnectionError", "ClientConnectionError", "TransportError", "APIConnectionError", "ModelConnectionError"}
)


def fault_of(error: BaseException, message: str) -> TransportFault | None:
    """Class an exception that concerns the way to the model and back; None for any other."""
    for cause in _with_causes(error):
        if (status := _status(cause)) is not None:
            return status_fault(status, message, code=_code(cause), retry_after=_retry_after(cause))
        if (fault := connection_fault(cause, message)) is not None:
            return fault
        if isinstance(cause, RuntimeError) and _is_of_an_ended_loop(cause):
            # A pool handed out a connection of a loop that has ended; having failed, it is in the pool no more.
            return TransportFault("connection", message, retryable=True, at_once=True)
    return None


def _is_of_an_ended_loop(error: RuntimeError) -> bool:
    """Return whether an event loop raised it because it is closed: for that there is no class, but one function."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].f_code.co_name.endswith("_check_closed")


def connection_fault(error: BaseException, message: str) -> TransportFault | None:
    """Class a connection that failed or took too long; None for any other exception."""
    names = {each.__name__ for each in type(error).__mro__}
    if names & _TIMEOUTS:
        return TransportFault("timeout", message, retryable=True)
    if names & _CONNECTIONS:
        return TransportFault("connection", message, retryable=True)
    return None


def words_of(error: BaseException) -> str:
    """Return the provider's own words for what happened where the exception has them, else the exception's."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error")
        body = (inner if isinstance(inner, Mapping) else body).get("message")
    return body if isinstance(body, str) and body else str(error)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for value in (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "code", None),
    ):
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    return None


def _code(error: BaseException) -> str | None:
    for name in ("code", "provider_error_code"):
        if isinstance(value := getattr(error, name, None), str):
            return value
    return None


def _retry_after(error: BaseException) -> float | None:
    seconds: Any = getattr(error, "retry_after", None)
    if is_finite_number(seconds) and seconds > 0:
        return float(seconds)
    headers = getattr(getattr(error, "response", None), "headers", None)
    return retry_after_seconds(headers.get("retry-after"), now=time.time()) if isinstance(headers, Mapping) else None
