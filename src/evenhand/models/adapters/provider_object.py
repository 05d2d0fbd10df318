"""An object with ``invoke`` or ``ainvoke`` as a judge, whoever wrote it."""

from __future__ import annotations

from typing import Any

from evenhand.domain.ask import Ask
from evenhand.drive.functions import call
from evenhand.models.adapters.adapter import Adapter
from evenhand.models.adapters.results import text_of
from evenhand.models.dialects.dialect import Generation, Said
from evenhand.models.retry import RetryPolicy


class ProviderObject(Adapter):
    """An object whose ``ainvoke`` or ``invoke`` takes a list of ``{"role", "content"}`` messages.

    It may return text, a mapping with ``text``, ``content`` or ``output``, or an object with ``.text`` or ``.content``.
    """

    def __init__(self, given: Any, *, policy: RetryPolicy | None = None) -> None:
        super().__init__(given, name=f"provider/{type(given).__name__}", policy=policy)

    async def _request(self, ask: Ask, generation: Generation, seconds: float | None) -> Said:  # noqa: ARG002
        method = getattr(self._given, "ainvoke", None) or self._given.invoke
        return Said(text=text_of(await call(method, [message.as_dict() for message in ask.messages])))
