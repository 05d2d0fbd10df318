"""A model over HTTP: one client for all providers, each with its own dialect."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from evenhand.domain.ask import Ask
from evenhand.domain.contract import storable
from evenhand.domain.reply import Reply, Unanswered
from evenhand.models.dialects.dialect import Complaint, Dialect, Generation, complaint_in
from evenhand.models.exchange import Endpoint, Response, post
from evenhand.models.retry import (
    RetryPolicy,
    TransportFault,
    ask_with_retries,
    quoted,
    retry_after_seconds,
    status_fault,
)

_LONGEST_PAGE = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpModel:
    """A model behind an HTTP API, as the providers make it: ``OPENAI("gpt-5-mini", temperature=0)``.

    It holds no connection: those belong to the event loop on which it is asked.
    """

    name: str
    dialect: Dialect = field(repr=False)
    generation: Generation
    endpoint: Endpoint
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    # How to ask, once the server has refused the way of ``generation``.
    _adjusted: list[Generation] = field(default_factory=list, init=False, repr=False, compare=False)

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:
        """Ask once, trying again on transport faults until ``deadline`` (``time.monotonic``)."""
        import aiohttp  # noqa: F401, PLC0415 - loaded by the first ask, before its time is taken
        import orjson  # noqa: F401, PLC0415

        # How this ask is put: the last form is tried, and kept for others once the server has taken it.
        forms = [self._adjusted[0] if self._adjusted else self.generation]
        return await ask_with_retries(
            lambda seconds: self._once(ask, forms, seconds), policy=self.policy, deadline=deadline
        )

    async def _once(self, ask: Ask, forms: list[Generation], seconds: float) -> Reply:
        began = time.perf_counter()
        generation = forms[-1]
        try:
            request = self.dialect.encode(ask, generation)
            response = await post(self.endpoint, _written(request), seconds=seconds)
            if not 200 <= response.status < 300:
                self._raise_fault(response, ask, forms, request)
            said = self.dialect.decode(_parsed(response.content))
        except RecursionError:
            raise TransportFault("invalid_body", "the response is nested too deep to be read", retryable=True) from None
        except TransportFault as fault:
            # Scrubbed before it is cut: half a key is a secret too.
            raise fault.saying(quoted(self.endpoint.scrub(fault.message))) from None
        if len(forms) > 1:
            self._adjusted[:] = [generation]
        return Reply.said(
            self.endpoint.scrub_reply(storable(said.text)),
            finish=said.finish,
            usage=said.usage,
            latency=time.perf_counter() - began,
            first_token=said.first_token,
        )

    def _raise_fault(self, response: Response, ask: Ask, forms: list[Generation], request: dict[str, Any]) -> NoReturn:
        """Raise the fault of a response that is no success; where it was the request's form, add another first."""
        status = response.status
        if 300 <= status < 400:
            target = response.headers.get("Location", "elsewhere")
            raise TransportFault(
                "redirect",
                f"HTTP {status}: redirects are not followed, so that a key does not travel; base_url leads to {target}",
                retryable=False,
            )
        complaint = complaint_in(_json_or_none(response.content)) or Complaint(None, _page(response.content))
        message, code = complaint.message, complaint.code
        if status in (400, 422):
            other = self.dialect.otherwise(forms[-1], f"{code}: {message}")
            if other is not None and self.dialect.encode(ask, other) != request:
                forms.append(other)
                raise TransportFault("format_refused", f"HTTP {status}: {message}", retryable=True, at_once=True)
        if status == 404:
            message = f"{message} (asked at {self.endpoint.url})"
        wait = _retry_after(response.headers) or complaint.retry_after
        raise status_fault(status, message, code=code, retry_after=wait)


def _written(request: dict[str, Any]) -> bytes:
    import orjson  # noqa: PLC0415 - loaded by the first request

    try:
        return orjson.dumps(request)
    except TypeError:
        # It refuses lone surrogates and long integers, which JSON can spell.
        return json.dumps(request).encode()


def _parsed(content: bytes) -> Any:
    body = _json_or_none(content)
    if body is None:
        raise TransportFault("invalid_body", f"the response is not JSON: {_page(content)}", retryable=True)
    return body


def _json_or_none(content: bytes) -> Any:
    import orjson  # noqa: PLC0415 - loaded by the first request

    try:
        return orjson.loads(content)
    except ValueError:
        pass
    try:
        # More patient: with bytes that are no UTF-8, and with lone surrogates.
        return json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _page(content: bytes) -> str:
    """Read a body that is no JSON, or nobody's error object."""
    return content[:_LONGEST_PAGE].decode("utf-8", "replace").strip() or "an empty body"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    milliseconds = retry_after_seconds(headers.get("retry-after-ms"), now=0)
    if milliseconds is not None:
        return milliseconds / 1000
    return retry_after_seconds(headers.get("Retry-After"), now=time.time())
