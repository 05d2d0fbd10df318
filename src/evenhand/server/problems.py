"""Errors as the API returns them (problem details, RFC 9457) and as the pages show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from evenhand.domain.errors import (
    ConfigError,
    ConflictError,
    ConnectionLostError,
    EvenhandError,
    NotFoundError,
    ReadOnlyError,
    RunBusyError,
    RunNotFoundError,
)
from evenhand.domain.prompt import FieldError

if TYPE_CHECKING:
    from starlette.types import Scope

API: str = "/api"
# In the scope of a request, how its sender spelt the names at the top of the body, such as ``evaluationMode``.
WRITTEN: str = "evenhand.written"


def is_api(path: str) -> bool:
    """Return whether a path belongs to the API rather than to the pages."""
    return path == API or path.startswith(f"{API}/")


class Problem(HTTPException):
    """A request that cannot be met: status, title, and what would be right. ``field`` names the invalid field.

    ``others`` are further invalid fields, each with its error.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str = "",
        *,
        field: str | None = None,
        others: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.status = status
        self.title = title
        self.field = field
        self.others = others

    @classmethod
    def of(cls, error: EvenhandError) -> Problem:
        """Make a problem of an Evenhand error; its class decides the status."""
        match error:
            case FieldError():
                return cls(422, "Invalid request", error.told, field=error.field)
            case NotFoundError() | RunNotFoundError():
                return cls(404, "Not found", str(error))
            case ConflictError() | RunBusyError() | ReadOnlyError():
                return cls(409, "Conflict", str(error))
            case ConnectionLostError():
                return cls(503, "Database unavailable", str(error), headers={"retry-after": "5"})
            case ConfigError():
                return cls(422, "Invalid request", str(error))
            case _:
                return cls(500, "Internal server error", str(error))

    def as_dict(self) -> dict[str, Any]:
        """Return the problem details."""
        details: dict[str, Any] = {"type": "about:blank", "status": self.status, "title": self.title}
        if self.detail:
            details["detail"] = self.detail
        if self.field is not None:
            fields = [(self.field, self.detail), *self.others]
            details["errors"] = [{"field": field, "detail": detail} for field, detail in fields]
        return details

    def _as_written(self, scope: Scope) -> Problem:
        """Return the problem with the names of fields as the sender spelt them."""
        names: Mapping[str, str] = scope.get(WRITTEN, {})
        if self.field is None or not names:
            return self

        def spelt(field: str) -> str:
            first, dot, rest = field.partition(".")
            return f"{names.get(first, first)}{dot}{rest}"

        others = [(spelt(field), detail) for field, detail in self.others]
        return Problem(self.status, self.title, self.detail, field=spelt(self.field), others=others)

    def response(self, scope: Scope) -> Response:
        """Return the response: JSON under /api, a page elsewhere."""
        if is_api(scope["path"]):
            return JSONResponse(
                self._as_written(scope).as_dict(),
                status_code=self.status,
                media_type="application/problem+json",
                headers=self.headers,
            )
        text = _page(self.status, self.title, self.detail)
        return HTMLResponse(text, status_code=self.status, headers=self.headers)


@lru_cache(maxsize=64)  # refusals are few and alike: whoever is refused all the time must not keep the server busy
def _page(status: int, title: str, detail: str) -> str:
    from evenhand.server.rendering import templates  # noqa: PLC0415 - loaded when one is shown

    return templates().get_template("problem.html").render(path="", token="", problem=Problem(status, title, detail))
