"""A plain function, or an object with ``invoke`` or ``ainvoke``, as a judge."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from evenhand.domain.ask import Ask
from evenhand.domain.reply import places_text
from evenhand.drive.driver import call_function, last_frames
from evenhand.models.adapters.adapter import Adapter, connection_fault, json_text, text_of
from evenhand.models.dialects.dialect import Generation, Said
from evenhand.models.retry import RetryPolicy, TransportFault


class Function(Adapter):
    """A function, sync or async, that takes a list of ``{"role", "content"}`` messages and returns the reply.

    >>> Function(lambda messages: '{"score": 1}').name
    'function/<lambda>'

    The reply is text; a dict or list is taken for the JSON it would be. What the function raises is a failed request,
    and only ``ConnectionError`` and ``TimeoutError`` are tried again. A sync function runs in a thread, which goes on
    to its end even when nobody waits for it any more.
    """

    failure = "function_error"

    def __init__(self, function: Callable[..., Any], *, policy: RetryPolicy | None = None) -> None:
        super().__init__(function, name=f"function/{_name(function)}", policy=policy)

    async def _request(self, ask: Ask, generation: Generation, seconds: float | None) -> Said:  # noqa: ARG002
        result = await call_function(self._source, [message.as_dict() for message in ask.messages])
        if isinstance(result, str):
            return Said(text=result)
        if isinstance(result, (dict, list)):
            return Said(text=json_text(result))
        raise TypeError(
            f"{_name(self._source)} must return text, or a dict or list to be taken as JSON; "
            f"it returned {type(result).__name__}"
        )

    def _known_fault(self, error: Exception, message: str) -> TransportFault | None:
        return connection_fault(error, message)

    def _fault(self, ask: Ask, forms: list[Generation], error: Exception) -> TransportFault:
        """Class what the function raised; a mistake in it is found by its place."""
        fault = super()._fault(ask, forms, error)
        return (
            fault.saying(f"{fault.message}{places_text(last_frames(error))}") if fault.kind == self.failure else fault
        )


def _name(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


class ProviderObject(Adapter):
    """An object whose ``ainvoke`` or ``invoke`` takes a list of ``{"role", "content"}`` messages.

    It may return text, a mapping with ``text``, ``content`` or ``output``, or an object with ``.text`` or ``.content``.
    """

    def __init__(self, provider: Any, *, policy: RetryPolicy | None = None) -> None:
        super().__init__(provider, name=f"provider/{type(provider).__name__}", policy=policy)

    async def _request(self, ask: Ask, generation: Generation, seconds: float | None) -> Said:  # noqa: ARG002
        method = getattr(self._source, "ainvoke", None) or self._source.invoke
        return Said(text=text_of(await call_function(method, [message.as_dict() for message in ask.messages])))
