"""What every request passes: host, origin, token, rate and size limits, and response headers (REL-W1 to W7).

It is applied at the root. A route that may be used without a token beyond this machine is named in ``OPEN``.
"""

from __future__ import annotations

import hmac
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.server.form_data import URL_ENCODED, form_kind, form_of
from evenhand.server.problems import Problem, is_api
from evenhand.server.settings import ServerSettings, settings_of

_MOST_CLIENTS: Final = 10_000


class ClientPace:
    """Limits the changes of each client; all those of a minute may come at once.

    >>> pace = ClientPace(60, clock=lambda: 0.0)
    >>> [pace.seconds_to_wait("a") for _ in range(61)][-2:]
    [0, 1]
    """

    def __init__(self, changes_a_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = changes_a_minute
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def seconds_to_wait(self, client: str) -> int:
        """Count a change and return 0, or return how many seconds the client has to wait."""
        now = self._clock()
        left, since = self._left.pop(client, (float(self._most), now))
        left = min(self._most, left + (now - since) * self._most / 60)
        wait = 0 if left >= 1 else max(1, math.ceil((1 - left) * 60 / self._most))
        self._left[client] = (left if wait else left - 1, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return wait


SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
KNOWN_METHODS: Final = SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
# Names of routes that never need a token.
OPEN: Final = frozenset({"login", "static", "health", "ready"})
MOST_BODY_BYTES: Final = 2 * 1024 * 1024
# Imports may contain whole collections of prompts.
MOST_IMPORT_BYTES: Final = 20 * 1024 * 1024
IMPORTS: Final = frozenset({"/api/import", "/io"})
# Of test cases; before it, the path names the prompt.
CASE_IMPORTS: Final = ("/test-cases/import", "/cases/import")
SESSION_COOKIE: Final = "evenhand_session"
FORM_FIELD: Final = "token"
_LONGEST_NEXT: Final = 2000

HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}

_log = logging.getLogger("evenhand.server")


class Gate:
    """The outermost middleware: it checks host, origin, method and size, and adds the security headers."""

    def __init__(
        self, app: ASGIApp, *, settings: ServerSettings, allowed: Callable[[str], Sequence[str]] = lambda _: ()
    ) -> None:
        self._app = app
        self._allowed = allowed
        self._settings = settings
        self._pace = ClientPace(settings.changes_a_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it here."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # nothing here speaks WebSocket
        answer = _Answer(send, is_head=scope["method"] == "HEAD")
        refusal = self._refusal(scope)
        if scope["method"] == "HEAD":  # what GET returns, without its body
            scope = {**scope, "method": "GET"}
        if refusal is None:
            try:
                await self._app(scope, _limited(receive, scope), answer.send)
            except Exception:
                if answer.is_complete:  # the rest of a body that nobody wants
                    return
                _log.exception("%s %s failed", scope["method"], scope["path"])
                refusal = Problem(500, "Internal server error", "see the server's log")
        if refusal is not None and not answer.began:
            await refusal.response(scope)(scope, receive, answer.send)

    def _refusal(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if host not in self._settings.hosts:
            return Problem(
                421,
                "Unknown host",
                "the Host header is not one of this server's names; add it with --allow-host",
            )
        if scope["method"] not in KNOWN_METHODS:
            return not_allowed(scope["method"], self._allowed(scope["path"]))
        changes = scope["method"] not in SAFE_METHODS
        if (changes or is_api(scope["path"])) and _is_foreign(headers, host, changes=changes):
            return Problem(403, "Cross-site request", "only the server's own pages and programs may send this")
        client = scope["client"][0] if scope.get("client") else ""
        if changes and (seconds := self._pace.seconds_to_wait(client)):
            wait = {"retry-after": str(seconds)}
            return Problem(429, "Too many requests", f"wait {seconds} seconds before the next change", headers=wait)
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 15 or int(length) > _most_bytes(scope)):
            return _too_large(scope)
        return None


def not_allowed(method: str, allowed: Sequence[str]) -> Problem:
    """Return the problem of a method that a path does not have; ``allowed`` are those that it has."""
    listed = ", ".join(allowed)
    detail = f"{method:.20} is not supported" + (f" here; {listed} are" if listed else "")
    return Problem(405, "Method not allowed", detail, headers={"allow": listed})


def _is_foreign(headers: Headers, host: str, *, changes: bool) -> bool:
    """Return whether a request comes from another site's page; programs send no origin, and our pages send ours."""
    if changes and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")


async def guard(request: Request) -> None:
    """Require the token: for every change, and from other machines for everything. It runs before all routes."""
    settings = settings_of(request)
    route = request.scope.get("route")
    if getattr(route, "name", None) in OPEN:
        return
    if request.method in SAFE_METHODS and not settings.is_public:
        return
    if not await _shows_token(request, settings):
        if request.method in SAFE_METHODS and not is_api(request.url.path):
            raise Problem(303, "Log in first", headers={"location": _login_address(request)})
        where = "see .evenhand/token, or EVENHAND_TOKEN where the server runs"
        if await _brings_token(request):
            raise Problem(401, "Wrong token", f"the token that was sent is not this server's; {where}")
        raise Problem(401, "Missing token", f"send it as Authorization: Bearer …; {where}")


def _login_address(request: Request) -> str:
    """Return the address of the login that leads back to what was asked for."""
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return "/login" if asked == "/" or len(asked) > _LONGEST_NEXT else f"/login?{urlencode({'next': asked})}"


def own_path(address: str) -> str:
    """Return an address if it is a path on this server, else the first page: nobody is sent to another site.

    >>> own_path("/runs/last?x=1"), own_path("//evil.example"), own_path("https://evil.example")
    ('/runs/last?x=1', '/', '/')
    """
    is_own = address.startswith("/") and not address.startswith(("//", "/\\")) and len(address) <= _LONGEST_NEXT
    return address if is_own and address.isprintable() and "\\" not in address else "/"


async def _shows_token(request: Request, settings: ServerSettings) -> bool:
    token = settings.token.reveal()
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if credentials:
        return scheme.lower() == "bearer" and equal(credentials.strip(), token)
    if settings.is_public and request.method in SAFE_METHODS:
        return equal(request.cookies.get(SESSION_COOKIE, ""), settings.session)
    field = await _token_field(request)
    return field is not None and equal(field, token)


async def _brings_token(request: Request) -> bool:
    """Return whether a request has a token, valid or not."""
    return "authorization" in request.headers or bool(await _token_field(request))


async def _token_field(request: Request) -> str | None:
    """Return the token in a form of our pages."""
    # Not under /api: a body is read once, and its routes read it as JSON.
    if is_api(request.url.path) or form_kind(request) is None:
        return None
    field = (await form_of(request)).get(FORM_FIELD)
    return field if isinstance(field, str) else None


def equal(secret: str, token: str) -> bool:
    """Compare a secret in constant time."""
    return hmac.compare_digest(secret.encode("utf-8", "replace"), token.encode())


class _Answer:
    """Sends a response, with the headers that every response has; to HEAD, without the body."""

    def __init__(self, send: Send, *, is_head: bool) -> None:
        self._send = send
        self._is_head = is_head
        self.began = False
        self.is_complete = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.began = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        elif self._is_head:
            if self.is_complete:
                raise OSError("the response has no body")  # which ends a stream
            self.is_complete = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)


def _most_bytes(scope: Scope) -> int:
    # A document is sent as JSON or as a part; encoded as in an address, it would take long to decode.
    is_encoded = Headers(scope=scope).get("content-type", "").strip().lower().startswith(URL_ENCODED)
    is_import = scope["path"] in IMPORTS or scope["path"].endswith(CASE_IMPORTS)
    return MOST_IMPORT_BYTES if is_import and not is_encoded else MOST_BODY_BYTES


def _too_large(scope: Scope) -> Problem:
    return Problem(413, "Body too large", f"the limit is {_most_bytes(scope):,} bytes")


def _limited(receive: Receive, scope: Scope) -> Callable[[], Awaitable[Any]]:
    """Refuse a body that exceeds the limit, whatever its Content-Length says."""
    seen = 0

    async def receiving() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > _most_bytes(scope):
            raise _too_large(scope)
        return message

    return receiving
