"""The OpenAPI document and the page that shows it, which works offline."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse

from evenhand.server.api.bodies import routes
from evenhand.server.api.schemas import Health
from evenhand.server.dependencies import ReadinessDep
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.version import __version__

_METHODS: Final = ("get", "post", "put", "patch", "delete")
_DEEPEST: Final = 4
_CODE: Final = re.compile(r"(`{1,2})([^`]+)\1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A parameter, or a field of a body: ``place`` is where it goes, ``kind`` its type."""

    name: str
    place: str
    kind: str
    required: bool
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route, as the page shows it."""

    method: str
    path: str
    title: str
    about: str
    anchor: str
    fields: tuple[Field, ...]
    answers: tuple[tuple[str, str, str], ...]
    changes: bool


def described(document: Mapping[str, Any]) -> dict[str, list[Route]]:
    """Return the routes of an OpenAPI document by their groups, in its order."""
    schemas = document.get("components", {}).get("schemas", {})
    groups: dict[str, list[Route]] = {}
    for path, operations in document["paths"].items():
        for method in _METHODS:
            if method in operations:
                operation = operations[method]
                group = next(iter(operation.get("tags", ())), "more")
                groups.setdefault(group, []).append(_route(method, path, operation, schemas))
    return groups


def _route(method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Route:
    return Route(
        method=method.upper(),
        path=path,
        title=operation.get("summary", ""),
        about=operation.get("description", ""),
        anchor=operation["operationId"],
        fields=(*_parameters(operation, schemas), *_body(operation, schemas)),
        answers=tuple(_answers(operation, schemas)),
        changes=method != "get",
    )


def _parameters(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Field]:
    for parameter in operation.get("parameters", ()):
        yield Field(
            name=parameter["name"],
            place=parameter["in"],
            kind=kind_of(parameter["schema"], schemas),
            required=parameter.get("required", False),
            about=parameter.get("description", ""),
        )


def _body(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Field]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = _resolve(content.get("schema", {}), schemas)
    for name, field in schema.get("properties", {}).items():
        yield Field(
            name=name,
            place="body",
            kind=kind_of(field, schemas),
            required=name in schema.get("required", ()),
            about=field.get("description", ""),
        )


def _answers(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for status, response in operation["responses"].items():
        if status[0] == "2":
            content = next(iter(response.get("content", {}).items()), None)
            if content is None:
                yield status, "no content", ""
            else:
                media, body = content
                example = _example(body.get("schema", {}), schemas)
                shown = json.dumps(example, indent=2) if isinstance(example, (dict, list)) else ""
                yield status, media, shown


def in_pieces(text: str) -> list[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is code, which is between one or two backticks.

    >>> in_pieces("Gives ``next`` or `null`.")
    [('Gives ', False), ('next', True), (' or ', False), ('null', True), ('.', False)]
    """
    pieces = [(piece, place % 3 == 2) for place, piece in enumerate(_CODE.split(text)) if place % 3 != 1]
    return [(piece, is_code) for piece, is_code in pieces if piece]


def kind_of(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """Describe the type of a value in words.

    >>> kind_of({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, {})
    'integer, 1 or more, or null'
    """
    if several := schema.get("anyOf"):
        return ", or ".join(dict.fromkeys(kind_of(option, schemas) for option in several))
    if values := schema.get("enum"):
        return " | ".join(map(str, values))
    if "const" in schema:
        return str(schema["const"])
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {kind_of(schema.get('items', {}), schemas)}"
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None and high < 2**50:
        return f"{kind}, {low} to {high}"
    return kind if low is None else f"{kind}, {low} or more"


def _resolve(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema that a reference names; of several, the first."""
    if several := schema.get("anyOf"):
        return _resolve(several[0], schemas)
    if "$ref" in schema:
        target: Mapping[str, Any] = schemas[str(schema["$ref"]).rpartition("/")[2]]
        return target
    return schema


def _example(schema: Mapping[str, Any], schemas: Mapping[str, Any], depth: int = 0) -> Any:
    """Make an example of a schema: its names, with the types of their values."""
    whole = _resolve(schema, schemas)
    if depth < _DEEPEST and "properties" in whole:
        return {name: _example(field, schemas, depth + 1) for name, field in whole["properties"].items()}
    if depth < _DEEPEST and whole.get("type") == "array":
        return [_example(whole.get("items", {}), schemas, depth + 1)]
    return kind_of(schema, schemas)


router = routes("about")


@router.get("/health", response_model=Health, name="health")
async def get_health() -> Any:
    """Return the server's version, as long as its process is alive; this needs no token."""
    return {"status": "ok", "version": __version__}


@router.get("/ready", response_model=Health, name="ready")
async def get_ready(readiness: ReadinessDep) -> Any:
    """Return whether the server can do its work; 503 if its database cannot be used. This needs no token."""
    if not await readiness.is_ready():
        why = "its database does not answer, or has the tables of another version; see the server's log"
        raise Problem(503, "Not ready", why, headers={"retry-after": "5"})
    return {"status": "ready", "version": __version__}


@router.get("/openapi.json", response_class=JSONResponse, include_in_schema=False)
def get_openapi(request: Request) -> JSONResponse:
    """Return the OpenAPI document."""
    return JSONResponse(request.app.openapi())


@router.get("/docs", response_class=HTMLResponse, include_in_schema=False)
def show_docs(request: Request) -> HTMLResponse:
    """Show all routes with their parameters and responses."""
    return page(request, "api.html", groups=described(request.app.openapi()), in_pieces=in_pieces)
