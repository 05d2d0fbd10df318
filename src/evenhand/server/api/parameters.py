"""What the routes of the API share: their parameters, and the problems that any of them may report."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.security import HTTPBearer

from evenhand.server.api.bodies import JsonRoute
from evenhand.server.api.schemas import ProblemDetails

_PROBLEM: Final = {"model": ProblemDetails, "content": {"application/problem+json": {}}}
_ALWAYS: Final[dict[int | str, dict[str, Any]]] = {
    400: _PROBLEM | {"description": "Malformed request."},
    401: _PROBLEM | {"description": "The token is missing or wrong."},
    403: _PROBLEM | {"description": "Cross-site request."},
    404: _PROBLEM | {"description": "Not found."},
    409: _PROBLEM | {"description": "Conflicts with the current state."},
    413: _PROBLEM | {"description": "The body is too large."},
    415: _PROBLEM | {"description": "Unsupported Content-Type; send application/json."},
    422: _PROBLEM | {"description": "Invalid request; errors names the fields."},
    429: _PROBLEM | {"description": "Too many changes; Retry-After has the seconds to wait."},
}
# Of routes that may have to be asked again.
BUSY: Final[dict[int | str, dict[str, Any]]] = {
    503: _PROBLEM | {"description": "Busy; Retry-After has the seconds to wait."}
}
# For the OpenAPI document only: the guard asks for it.
_TOKEN: Final = HTTPBearer(auto_error=False, scheme_name="token", description="EVENHAND_TOKEN, or .evenhand/token.")
# Ids and names are opaque, and never a path: whatever they hold is looked up, and nothing else.
PromptId = Annotated[str, Path(max_length=300, description="The prompt's id, or its name.")]
CaseId = Annotated[str, Path(max_length=300, description="The test case's id.")]
RunId = Annotated[str, Path(max_length=200, description="The run's id, a unique prefix of it, or last.")]
Number = Annotated[int, Path(ge=1, le=2**53 - 1)]
Limit = Annotated[int, Query(ge=1, le=500, description="Page size.")]
Cursor = Annotated[str | None, Query(max_length=2000, description="The next of the previous page.")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="Requests with the same key and body are executed once. Keys are kept for two days.",
    ),
]


def routes(tag: str) -> APIRouter:
    """Make a router whose routes require the token, parse JSON strictly, and report problems in the same way."""
    return APIRouter(route_class=JsonRoute, tags=[tag], responses=_ALWAYS, dependencies=[Depends(_TOKEN)])
