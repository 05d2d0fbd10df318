"""What the routes of the API share: their parameters, and the problems that any of them may report."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.security import HTTPBearer

from evenhand.server.api.bodies import JsonRoute
from evenhand.server.api.schemas import ProblemDetails

_PROBLEM: Final = {"model": ProblemDetails, "content": {"application/problem+json": {}}}
_ALWAYS: Final[dict[int | str, dict[str, Any]]] = {
    400: _PROBLEM | {"description": "It is not what HTTP wants."},
    401: _PROBLEM | {"description": "The token is missing or wrong."},
    403: _PROBLEM | {"description": "It comes from another site."},
    404: _PROBLEM | {"description": "There is no such thing."},
    409: _PROBLEM | {"description": "It does not go with what is there."},
    413: _PROBLEM | {"description": "The body is too large."},
    415: _PROBLEM | {"description": "The body is of another kind; Content-Type says which it is."},
    422: _PROBLEM | {"description": "Something in it is not valid; errors names the field."},
    429: _PROBLEM | {"description": "Too many changes; Retry-After says how many seconds to wait."},
}
# Of routes that may have to be asked again.
BUSY: Final[dict[int | str, dict[str, Any]]] = {
    503: _PROBLEM | {"description": "Not now; Retry-After says how many seconds to wait."}
}
# For the OpenAPI document only: the guard asks for it.
_TOKEN: Final = HTTPBearer(auto_error=False, scheme_name="token", description="EVENHAND_TOKEN, or .evenhand/token.")
# Ids and names are opaque, and never a path: whatever they hold is looked up, and nothing else.
PromptId = Annotated[str, Path(max_length=300, description="The prompt's id, or its name.")]
CaseId = Annotated[str, Path(max_length=300, description="The test case's id.")]
RunId = Annotated[str, Path(max_length=200, description="The run's id, how that begins, or last.")]
Number = Annotated[int, Path(ge=1, le=2**53 - 1)]
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=2000, description="The next of the page before.")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="With the same key and body, this is done once, however often it is sent; kept for two days.",
    ),
]


def routes(tag: str) -> APIRouter:
    """Make a router whose routes ask for the token first, read JSON strictly, and tell problems in one way."""
    return APIRouter(route_class=JsonRoute, tags=[tag], responses=_ALWAYS, dependencies=[Depends(_TOKEN)])
