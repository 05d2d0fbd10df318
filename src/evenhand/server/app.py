"""The application: the gate, the guard, the routes, and the store that they share."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from evenhand.domain.errors import EvenhandError
from evenhand.drive.loop_watch import Block, LoopWatch
from evenhand.engine.place import Place
from evenhand.server import api, pages
from evenhand.server.counting import Counted
from evenhand.server.desk import RunDesk
from evenhand.server.import_reports import ImportReports
from evenhand.server.problems import Problem
from evenhand.server.profile_runs import ProfileNumbers
from evenhand.server.results import Results
from evenhand.server.security import Gate, guard
from evenhand.server.settings import ServerSettings
from evenhand.version import __version__

_log = logging.getLogger("evenhand.server")

# Of a body in which everything is wrong, the first few fields.
MOST_TOLD: Final = 20


def make_app(settings: ServerSettings) -> FastAPI:
    """Make the application. Its store is opened when it starts and closed when it ends."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        place = Place(settings.db)
        opened = functools.partial(place.opened, or_read_only=True)
        with (
            opened() as store,
            opened() as reading,
            contextlib.closing(Results(store, reading)) as results,
            LoopWatch(_note_block),
        ):
            app.state.store = store
            app.state.counted = Counted()
            app.state.profiled = ProfileNumbers()
            app.state.desk = RunDesk(store, settings, app.state.counted)
            app.state.results = results
            try:
                yield
            finally:
                await app.state.desk.close()

    app = FastAPI(
        title="Evenhand",
        version=__version__,
        lifespan=lifespan,
        dependencies=[Depends(guard)],
        # Their pages load scripts from elsewhere; ours is at /api/docs.
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        openapi_url=None,  # ours stands behind the guard
    )
    app.state.settings = settings
    app.state.imports = ImportReports()
    app.add_middleware(Gate, settings=settings)
    app.mount("/static", StaticFiles(packages=[("evenhand.server", "static")]), name="static")
    app.include_router(api.router)
    app.include_router(pages.router)
    _tell_problems(app)
    return app


def _note_block(block: Block) -> None:
    _log.warning("%s, and everybody waited; stack: %s", block, ", ".join(block.stack))


def _tell_problems(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(request: Request, error: Problem) -> Response:
        return error.response(request.scope)

    @app.exception_handler(EvenhandError)
    async def ours(request: Request, error: EvenhandError) -> Response:
        return Problem.of(error).response(request.scope)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return Problem(error.status_code, str(error.detail), headers=error.headers).response(request.scope)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        found = [(_field(one["loc"]), str(one["msg"])) for one in error.errors()[:MOST_TOLD]]
        (field, first), *others = found
        return Problem(422, "Not valid", first, field=field, others=others).response(request.scope)


def _field(place: Sequence[Any]) -> str:
    """Name a field as whoever sent it knows it: without where in the request it stood."""
    return ".".join(str(part) for part in place[1:]) or str(place[0])
