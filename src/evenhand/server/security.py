"""What stands before every route: the right name, the same origin, a token, limits, and headers (REL-W1 to W7).

It is applied at the root. A route that may be used without a token beyond this machine is named in ``OPEN``.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any, Final

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.server.problems import Problem
from evenhand.server.settings import ServerSettings

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
KNOWN_METHODS: Final = SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
# Names of routes that need no token, also beyond this machine.
OPEN: Final = frozenset({"login", "static", "health"})
MOST_BODY_BYTES: Final = 20 * 1024 * 1024
SESSION_COOKIE: Final = "evenhand_session"
FORM_FIELD: Final = "token"
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")

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


class Gate:
    """The first thing that a request meets: it looks at name, origin, method and size, and adds the headers."""

    def __init__(self, app: ASGIApp, *, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # nothing here speaks WebSocket
        with_headers = _adding_headers(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal.response(scope)(scope, receive, with_headers)
            return
        await self._app(scope, _limited(receive), with_headers)

    def _refusal(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._settings.hosts:
            return Problem(421, "This server goes by another name", "the Host header is not one of its names")
        if scope["method"] not in KNOWN_METHODS:
            return Problem(405, "Method not allowed", f"{scope['method']:.20} is not used here")
        if scope["method"] not in SAFE_METHODS and not self._same_origin(headers):
            return Problem(403, "From another site", "changes are taken from this server's own pages only")
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > MOST_BODY_BYTES:
            return Problem(413, "Too large", f"a body may have {MOST_BODY_BYTES:,} bytes")
        return None

    def _same_origin(self, headers: Headers) -> bool:
        """Tell whether a change comes from our own pages, or from a program, which sends no origin."""
        site = headers.get("sec-fetch-site")
        if site is not None and site not in ("same-origin", "none"):
            return False
        origin = headers.get("origin")
        return origin is None or origin.lower() in {f"http://{host}" for host in self._settings.hosts}


async def guard(request: Request) -> None:
    """Ask for the token: for every change, and beyond this machine for everything. It stands before all routes."""
    settings: ServerSettings = request.app.state.settings
    route = request.scope.get("route")
    if getattr(route, "name", None) in OPEN:
        return
    if request.method in SAFE_METHODS and not settings.is_public:
        return
    if not await _shows_token(request, settings):
        raise Problem(401, "No token", "send it as Authorization: Bearer …; see .evenhand/token or EVENHAND_TOKEN")


async def _shows_token(request: Request, settings: ServerSettings) -> bool:
    token = settings.token.reveal()
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if given:
        return scheme.lower() == "bearer" and _equal(given.strip(), token)
    if settings.is_public and request.method in SAFE_METHODS:
        return _equal(request.cookies.get(SESSION_COOKIE, ""), token)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() in _FORMS:
        field = (await request.form()).get(FORM_FIELD)
        return isinstance(field, str) and _equal(field, token)
    return False


def _equal(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _adding_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _limited(receive: Receive) -> Callable[[], Awaitable[Any]]:
    """Refuse a body that grows beyond the limit, whatever it said of its length."""
    seen = 0

    async def receiving() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BODY_BYTES:
            raise Problem(413, "Too large", f"a body may have {MOST_BODY_BYTES:,} bytes")
        return message

    return receiving
