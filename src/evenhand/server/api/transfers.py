"""Prompts with their test cases as one document, out and in; all or none (SPEC-M5)."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import Query
from fastapi.responses import Response

from evenhand.server.api.bodies import ImportBody
from evenhand.server.api.shapes import ImportShape
from evenhand.server.api.shared import Key, Opened, routes
from evenhand.server.once import once
from evenhand.workspace.documents import export_document, import_document

router = routes("import and export")


@router.get("/export", response_class=Response, responses={200: {"content": {"application/json": {}}}})
def export_prompts(
    store: Opened,
    prompt: Annotated[list[str] | None, Query(max_length=1000, description="Ids or names; all if left out.")] = None,
) -> Response:
    """Give prompts with their test cases as one document, to be kept or imported elsewhere."""
    document = orjson.dumps(export_document(store, prompt), option=orjson.OPT_INDENT_2)
    name = {"content-disposition": 'attachment; filename="prompts.json"'}
    return Response(document, media_type="application/json", headers=name)


@router.post("/import", response_model=ImportShape)
def import_prompts(body: ImportBody, store: Opened, key: Key = None, dry_run: Annotated[bool, Query()] = False) -> Any:
    """Take prompts in, all or none; those whose names are there already are skipped. A dry run keeps nothing."""
    document = body.given()

    def take_in() -> str:
        return orjson.dumps(import_document(store, document, dry_run=dry_run).as_dict()).decode()

    outcome, _ = once(store, key, ["import", document, dry_run], take_in)
    return orjson.loads(outcome)
