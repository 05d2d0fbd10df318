"""The application, and serving it on an address of this machine."""

from __future__ import annotations

import contextlib
import functools
import gc
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any, Final

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount
from starlette.staticfiles import StaticFiles

from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.drive.loop_watch import Block, LoopWatch
from evenhand.engine.execution import runner_for
from evenhand.engine.runner import Runner
from evenhand.engine.store_location import StoreLocation
from evenhand.server import api, pages
from evenhand.server.import_jobs import ImportJobs
from evenhand.server.problems import Problem
from evenhand.server.readiness import Readiness
from evenhand.server.runs.live_runs import LiveRuns
from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.playground import Playground
from evenhand.server.runs.profile_summaries import ProfileNumbers
from evenhand.server.runs.results import Results
from evenhand.server.runs.summaries import SummaryCache
from evenhand.server.security import KNOWN_METHODS, Gate, not_allowed
from evenhand.server.settings import ServerSettings
from evenhand.version import __version__

_log = logging.getLogger("evenhand.server")

# How many errors of an invalid body are reported.
MOST_REPORTED: Final = 20


def make_app(settings: ServerSettings) -> FastAPI:
    """Make the application. Its store is opened when it starts and closed when it ends."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        place = StoreLocation(settings.db)
        opened = functools.partial(place.opened, or_read_only=True)
        with (
            opened() as store,
            opened() as reading,
            _runners(settings) as runner_for,
            contextlib.closing(Results(store, reading)) as results,
            contextlib.closing(ImportJobs()) as import_jobs,
            LoopWatch(_note_block),
        ):
            app.state.store = store
            app.state.import_jobs = import_jobs
            app.state.playground = Playground(settings)
            app.state.readiness = Readiness(reading)
            app.state.summary_cache = SummaryCache()
            app.state.profile_numbers = ProfileNumbers()
            app.state.run_manager = RunManager(store, settings, app.state.summary_cache, runner_for)
            app.state.live_runs = LiveRuns(store, app.state.run_manager)
            app.state.results = results
            try:
                yield
            finally:
                await app.state.run_manager.close()

    app = FastAPI(
        title="Evenhand",
        version=__version__,
        lifespan=lifespan,
        # Their pages load scripts from elsewhere; ours is at /api/docs.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # ours is behind the guard
    )
    app.state.settings = settings
    app.add_middleware(Gate, settings=settings, allowed=functools.partial(_allowed_methods, app))
    static = StaticFiles(packages=[("evenhand.server", "static"), ("evenhand.reports", "assets")])
    app.mount("/static", static, name="static")
    app.router.routes.extend((*api.ROUTES, *pages.ROUTES))
    _handle_problems(app)
    return app


@contextlib.contextmanager
def _runners(settings: ServerSettings) -> Iterator[Callable[..., Runner]]:
    """Give what makes the runners of runs: in this process, or on the cluster of the settings, which ends with it."""
    if settings.on is None:
        yield runner_for
        return
    from evenhand.cluster.ray_cluster import ray_cluster  # noqa: PLC0415 - few servers need it
    from evenhand.cluster.traced_runner import cluster_runner_for  # noqa: PLC0415

    with ray_cluster(settings.on, workers=settings.workers, variables=settings.worker_env) as cluster:
        yield functools.partial(cluster_runner_for, cluster)


def settle_memory() -> None:
    """Leave out what is loaded by now when garbage is collected: going through it holds up the loop for long."""
    gc.collect()
    gc.freeze()


@functools.lru_cache(maxsize=256)
def _allowed_methods(app: FastAPI, path: str) -> tuple[str, ...]:
    """Return the methods that a path has, of all its routes."""
    scope = {"type": "http", "path": path, "root_path": "", "headers": []}
    found = {
        method
        for route in app.routes
        for method in (("GET",) if isinstance(route, Mount) else KNOWN_METHODS)  # of files, which only can be read
        if route.matches({**scope, "method": method})[0] is Match.FULL
    }
    return tuple(sorted(found | ({"HEAD"} if "GET" in found else set())))


def _note_block(block: Block) -> None:
    _log.warning("%s, blocking all requests; stack: %s", block, ", ".join(block.stack))


def _handle_problems(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(request: Request, error: Problem) -> Response:
        return error.response(request.scope)

    @app.exception_handler(EvenhandError)
    async def ours(request: Request, error: EvenhandError) -> Response:
        return Problem.of(error).response(request.scope)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 405:
            return not_allowed(request.method, _allowed_methods(app, request.scope["path"])).response(request.scope)
        return Problem(error.status_code, str(error.detail), headers=error.headers).response(request.scope)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        faults: dict[str, list[str]] = {}
        for fault in error.errors()[:MOST_REPORTED]:
            field = _field(fault["loc"], error.body, is_missing=fault["type"] == "missing")
            faults.setdefault(field, []).append(str(fault["msg"]))
        (field, first), *others = [(field, "; or: ".join(messages)) for field, messages in faults.items()]
        return Problem(422, "Invalid request", first, field=field, others=others).response(request.scope)


def _field(place: Sequence[Any], body: Any, *, is_missing: bool) -> str:
    """Return the name of a field as the sender knows it: without its location, and without the kinds of a union."""
    location, *parts = place
    if location != "body":
        return ".".join(map(str, parts)) or str(location)
    names, value = [], body
    for number, part in enumerate(parts, start=1):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part] if part < len(value) else None
        elif not (is_missing and number == len(parts)):
            continue
        names.append(str(part))
    return ".".join(names) or str(parts[0] if parts else location)


# How long responses in flight may take at shutdown; streams end at once.
GRACE_SECONDS: Final = 1
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def serve(settings: ServerSettings, on_ready: Callable[[ServerSettings], None]) -> list[str]:
    """Serve until a signal arrives; return the ids of the runs that were interrupted.

    ``on_ready`` is called once the server listens, with settings that have the actual port.
    """
    with StoreLocation(settings.db).opened(or_read_only=True):
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
        settle_memory()
        server = _Server(config, lambda: on_ready(settings))
        with _not_killed_by_signals(), _ended_by_hangup(server):
            server.run(sockets=[listening])
        if not server.started:
            raise ConfigError("the server did not start; see its output above")
        return list(app.state.run_manager.left)


class _Server(uvicorn.Server):
    """A server that ends all event streams as soon as it shuts down; it would wait for them otherwise."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app: Any = self.config.app
        app.state.run_manager.end_streams()
        await super().shutdown(sockets)


@contextlib.contextmanager
def _listening(settings: ServerSettings) -> Iterator[socket.socket]:
    try:
        family, _, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family, backlog=512)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {settings.host}, port {settings.port}: {error.strerror}; choose another with --port"
        ) from None
    with listening:
        yield listening


@contextlib.contextmanager
def _ended_by_hangup(server: uvicorn.Server) -> Iterator[None]:
    """Shut the server down cleanly when its terminal is closed, unless it was started with ``nohup``."""
    hangup: signal.Signals | None = getattr(signal, "SIGHUP", None)  # not on all systems
    is_heard = threading.current_thread() is threading.main_thread()
    if hangup is None or not is_heard or signal.getsignal(hangup) == signal.SIG_IGN:
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    before = signal.signal(hangup, stop)
    try:
        yield
    finally:
        signal.signal(hangup, before)


@contextlib.contextmanager
def _not_killed_by_signals() -> Iterator[None]:
    """Keep the signal that ended the server from killing the process, so that the caller can finish."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ignore(_number: int, _frame: FrameType | None) -> None:
        """Do nothing: uvicorn handles the signal first, and raises it again when it is done."""

    before = {number: signal.signal(number, ignore) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
