"""Serving the application on an address of this machine, until somebody ends it."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType
from typing import Any, Final

import uvicorn

from evenhand.domain.errors import ConfigError
from evenhand.engine.place import Place
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings

# How long answers under way may take when the server ends; streams end at once.
GRACE_SECONDS: Final = 1
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def serve(settings: ServerSettings, told: Callable[[ServerSettings], None]) -> list[str]:
    """Serve until a signal comes, and give the ids of the runs that this interrupted.

    ``told`` hears of it once the server listens, with the port that it got.
    """
    with Place(settings.db).opened(or_read_only=True):
        pass  # what is wrong with the database is said before anybody connects
    with _listening(settings) as listening:
        settings = replace(settings, port=listening.getsockname()[1])
        app = make_app(settings)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        server = _Server(config, lambda: told(settings))
        with _not_killed_by_signals(), _ended_by_hangup(server):
            server.run(sockets=[listening])
        if not server.started:
            raise ConfigError("the server did not start; what it wrote above says why")
        return list(app.state.desk.left)


class _Server(uvicorn.Server):
    """A server that lets go of those who watch runs as soon as it is to end: it would wait for them."""

    def __init__(self, config: uvicorn.Config, told: Callable[[], None]) -> None:
        super().__init__(config)
        self._told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app: Any = self.config.app
        app.state.desk.end_streams()
        await super().shutdown(sockets)


@contextlib.contextmanager
def _listening(settings: ServerSettings) -> Iterator[socket.socket]:
    try:
        family, _, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family, backlog=512)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {settings.host}, port {settings.port}: {error.strerror}; take another with --port"
        ) from None
    with listening:
        yield listening


@contextlib.contextmanager
def _ended_by_hangup(server: uvicorn.Server) -> Iterator[None]:
    """End the server in good order when its terminal is closed, unless it was started to outlive that (``nohup``)."""
    hangup: signal.Signals | None = getattr(signal, "SIGHUP", None)  # not on all systems
    is_heard = threading.current_thread() is threading.main_thread()
    if hangup is None or not is_heard or signal.getsignal(hangup) == signal.SIG_IGN:
        yield
        return

    def heard(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    before = signal.signal(hangup, heard)
    try:
        yield
    finally:
        signal.signal(hangup, before)


@contextlib.contextmanager
def _not_killed_by_signals() -> Iterator[None]:
    """Let a server that was ended by a signal, in good order, be followed by what comes next."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def heard(_number: int, _frame: FrameType | None) -> None:
        """Do nothing: uvicorn, which has heard it first, sends it on when all is done."""

    before = {one: signal.signal(one, heard) for one in _SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
