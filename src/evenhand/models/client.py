"""A model over HTTP: one client for all providers, each with its own dialect."""

from __future__ import annotations

import functools
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias
from urllib.parse import urlsplit

from evenhand.domain.ask import Ask, Turn
from evenhand.domain.contract import storable
from evenhand.domain.reply import Reply, TokenChoice, Unanswered
from evenhand.models.dialects.dialect import Complaint, Dialect, Generation, without_setting
from evenhand.models.endpoint import Endpoint
from evenhand.models.environment import tell_address
from evenhand.models.rate_limit import exhausted_seconds
from evenhand.models.retry import (
    RetryPolicy,
    TransportFault,
    ask_with_retries,
    quoted,
    retry_after_seconds,
    status_fault,
)

if TYPE_CHECKING:
    from evenhand.models.wire.connection import Response

Post: TypeAlias = "Callable[..., Awaitable[Response]]"

_log = logging.getLogger(__name__)

# Of what a server says went wrong, a line is kept; so much is searched for secrets first.
_LONGEST_READ = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpModel:
    """A model behind an HTTP API, as the providers make it: ``OPENAI("gpt-5-mini", temperature=0)``.

    It holds no connection: those belong to the event loop on which it is asked.
    """

    # Each request ends in time, and so does each wait between them.
    keeps_deadlines: ClassVar[bool] = True
    # Its retries wait for their turn like any other request.
    takes_turns: ClassVar[bool] = True

    name: str
    dialect: Dialect = field(repr=False)
    generation: Generation
    endpoint: Endpoint
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    # Requests and tokens per minute that may be sent.
    rpm: float | None = None
    tpm: float | None = None
    # How to ask, once the server has refused the way of ``generation``.
    _adjusted: list[Generation] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def identity(self) -> dict[str, Any]:
        """What decides on the replies: two models of equal identity are the same to ask. It holds no secret."""
        return {
            "model": self.name,
            "url": self.endpoint.scrub(self.endpoint.written_url),
            "headers": {name: value for name, value in self.endpoint.headers.items() if isinstance(value, str)},
            "generation": self.generation.identity,
        }

    @property
    def account(self) -> str:
        """Whose limits count: the server and the key, which is distinguished from others but not shown."""
        keys = [value.reveal() for value in self.endpoint.headers.values() if not isinstance(value, str)]
        if self.endpoint.signer is not None:
            keys.append(self.endpoint.signer.access_key.reveal())
        digest = hashlib.sha256("\0".join([*keys, _server(self.endpoint.url)]).encode()).hexdigest()[:12]
        return f"{_server(self.endpoint.written_url)} {digest}"

    @property
    def server(self) -> tuple[str, int] | None:
        """The host and the port that are asked; None where they come from a variable, and are not to be shown."""
        url = urlsplit(self.endpoint.scrub(self.endpoint.written_url))
        if url.hostname is None or set("$*") & set(url.netloc):
            return None
        return url.hostname, url.port or (443 if url.scheme == "https" else 80)

    def ask(
        self, ask: Ask, *, deadline: float | None = None, turn: Turn | None = None
    ) -> Coroutine[Any, Any, Reply | Unanswered]:
        """Ask once, trying again on transport faults until ``deadline`` (``time.monotonic``).

        The ``turn``, if there is one, is given back while a retry waits.
        """
        post = _post()
        if self.endpoint.variable is not None:
            tell_address(self.name, _server(self.endpoint.written_url), self.endpoint.variable)
        # How this ask is put: the last form is tried, and kept for others once the server has taken it.
        forms = [self.form]
        return ask_with_retries(
            lambda seconds: self._ask_once(post, ask, forms, seconds, turn),
            policy=self.policy,
            deadline=deadline,
            allowance=ask.allowance,
            turn=turn,
            sent_once=ask.sent_once,
        )

    async def _ask_once(
        self, post: Post, ask: Ask, forms: list[Generation], seconds: float, turn: Turn | None
    ) -> Reply:
        began = time.perf_counter()
        try:
            request = self.dialect.encode(ask, forms[-1])
            response = await post(self.endpoint, request, seconds=seconds)
        except TransportFault as fault:
            raise self._scrubbed_fault(fault) from None
        if turn is not None and (pause := exhausted_seconds(response.headers, now=time.time())) is not None:
            turn.pause(pause)
        return self._read(response, ask, forms, request, latency=time.perf_counter() - began)

    @property
    def form(self) -> Generation:
        """How the model is asked, once the server has refused the way that the settings ask for."""
        return self._adjusted[0] if self._adjusted else self.generation

    def encode(self, ask: Ask, form: Generation) -> dict[str, Any]:
        """Return the body of the request for an ask; raises ``TransportFault`` for what cannot be asked."""
        return self.dialect.encode(ask, form)

    def read(self, response: Response, ask: Ask, form: Generation) -> Reply:
        """Read a response to what was asked in that form, from wherever it came; raises ``TransportFault``.

        A fault that is ``at_once`` was about the form: from then on, the model has another.
        """
        forms = [form]
        request = {} if response.status == 200 else self.dialect.encode(ask, form)  # looked at in complaints only
        try:
            return self._read(response, ask, forms, request, latency=0.0)
        except TransportFault:
            if len(forms) > 1 and forms[-1] != self.form:
                self._keep(forms[-1])
            raise

    def _read(
        self, response: Response, ask: Ask, forms: list[Generation], request: dict[str, Any], *, latency: float
    ) -> Reply:
        generation = forms[-1]
        try:
            if not 200 <= response.status < 300:
                self._raise_fault(response, ask, forms, request)
            body = response.json
            if body is None:
                raise TransportFault("invalid_body", f"the response is not JSON: {response.page}", retryable=True)
            decoded = self.dialect.decode(body)
        except RecursionError:
            raise TransportFault("invalid_body", "the response is nested too deep to be read", retryable=True) from None
        except TransportFault as fault:
            raise self._scrubbed_fault(fault) from None
        if len(forms) > 1:
            self._keep(generation)
        return Reply.said(
            self.endpoint.scrub_reply(storable(decoded.text)),
            finish=decoded.finish,
            usage=decoded.usage,
            latency=latency,
            first_token=self._scrubbed(decoded.first_token) if decoded.first_token else (),
            model=None if decoded.model is None else self.endpoint.scrub_reply(storable(decoded.model)),
        )

    def _scrubbed_fault(self, fault: TransportFault) -> TransportFault:
        # Scrubbed before it is cut: half a key is a secret too.
        return fault.saying(quoted(self.endpoint.scrub(fault.message[:_LONGEST_READ])))

    def _keep(self, generation: Generation) -> None:
        """Ask in another way from now on; that a setting of the user's is left out is logged once."""
        before = self.form
        for name in ("temperature", "top_p"):
            if getattr(before, name) is not None and getattr(generation, name) is None:
                _log.warning("%s: the provider refuses %s for this model; it is asked without", self.name, name)
        self._adjusted[:] = [generation]

    def _scrubbed(self, choices: tuple[TokenChoice, ...]) -> tuple[TokenChoice, ...]:
        return tuple(replace(choice, token=self.endpoint.scrub_reply(choice.token)) for choice in choices)

    def _raise_fault(self, response: Response, ask: Ask, forms: list[Generation], request: dict[str, Any]) -> NoReturn:
        """Raise the fault of a response that is no success; where it was the request's form, add another first."""
        status = response.status
        if 300 <= status < 400:
            target = response.headers.get("location", "elsewhere")
            raise TransportFault(
                "redirect",
                f"HTTP {status}: redirects are not followed, so that a key does not travel; base_url leads to {target}",
                retryable=False,
            )
        complaint = self.dialect.complaint(response.json, response.headers) or Complaint(None, response.page)
        message, code = complaint.message, complaint.code
        if status in (400, 422):
            other = without_setting(forms[-1], complaint)
            if other is not None and self.dialect.encode(ask, other) != request:
                forms.append(other)
                problem = f"HTTP {status}: {message}; asked again without {complaint.param}"
                raise TransportFault("setting_refused", problem, retryable=True, at_once=True)
            other = self.dialect.otherwise(forms[-1], f"{code}: {message}")
            if other is not None and self.dialect.encode(ask, other) != request:
                forms.append(other)
                raise TransportFault("format_refused", f"HTTP {status}: {message}", retryable=True, at_once=True)
        if status == 404:
            # Scrubbed while its end is one: it may be half a key.
            message = f"{self.endpoint.scrub(message[:_LONGEST_READ])} (asked at {self.endpoint.written_url})"
        wait = _retry_after(response.headers) or complaint.retry_after
        raise status_fault(status, message, code=code, retry_after=wait)


def _server(url: str) -> str:
    return "/".join(url.split("/")[:3])


@functools.cache
def _post() -> Post:
    """Load what speaks HTTP, for the first ask and before its time is taken."""
    from evenhand.models.exchange import post  # noqa: PLC0415

    return post


def _retry_after(headers: Mapping[str, str]) -> float | None:
    milliseconds = retry_after_seconds(headers.get("retry-after-ms"), now=0)
    if milliseconds is not None:
        return milliseconds / 1000
    return retry_after_seconds(headers.get("retry-after"), now=time.time())
