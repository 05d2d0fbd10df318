"""The page that adds test cases from CSV or JSONL: a text or a file, a preview of it, and then all of them at once."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response

from evenhand.convert.case_import import MOST_LISTED, MOST_SHOWN, CasesImport, add_cases, plan_cases
from evenhand.convert.case_table import CaseTable, fields_guessed, read_cases
from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import EvaluationMode, FieldError, Prompt
from evenhand.reports.phrases import counted
from evenhand.server.dependencies import StoreDep
from evenhand.server.pages.base import Form, Sent, page_routes, see_other
from evenhand.server.rendering import page

router = page_routes()

FIELDS: Final = {"input": "Input", "reference": "Reference", "evaluation_schema": "Evaluation Schema"}
# A longer text is not put back into the page; its file is chosen again.
MOST_ECHOED: Final = 200_000
_PASTED: Final = "pasted text"


@router.get("/prompts/{prompt_id}/cases/import")
def show_import(request: Request, store: StoreDep, prompt_id: str) -> Response:
    """Show the empty form."""
    return _page(request, store.prompts.find(prompt_id))


@router.post("/prompts/{prompt_id}/cases/import")
def import_cases(request: Request, store: StoreDep, prompt_id: str, sent: Sent) -> Response:
    """Show what a text would add, or add it; nothing is stored before that."""
    prompt = store.prompts.find(prompt_id)
    written, table, chosen = "", None, dict[str, str]()
    try:
        content, name = _content(sent)
        written = content.decode("utf-8-sig", "replace")
        table = read_cases(content, name=name)
        chosen = _chosen(sent, table)
        fields = _fields(chosen)
        plan = plan_cases(store, prompt, table, fields)
        is_add = sent.text("action") == "add"
        if not is_add or sent.text("seen") != plan.digest:
            return _page(request, prompt, written=written, table=table, chosen=chosen, plan=plan, is_changed=is_add)
        done = add_cases(store, prompt, table, fields, skip_mistakes=sent.text("skip_mistakes") == "1")
    except ConfigError as error:
        told = error.told if isinstance(error, FieldError) else str(error)
        return _page(request, prompt, written=written, table=table, chosen=chosen, error=told)
    counts = {"added": len(done.new), "duplicates": len(done.duplicates), "mistakes": len(done.mistakes)}
    return see_other(f"/prompts/{prompt.id}/cases?{urlencode({'start': prompt.test_cases, **counts})}")


def _content(sent: Form) -> tuple[bytes, str]:
    """Return what was sent, and what it is called."""
    file, text = sent.file("file"), sent.text("text")
    if file and text.strip():
        raise ConfigError("there are both a file and a text; empty one of them, so that it is clear which is meant")
    return (file, sent.file_name("file")) if file else (text.encode("utf-8", "surrogatepass"), _PASTED)


def _chosen(sent: Form, table: CaseTable) -> dict[str, str]:
    """Return the field of each column, as chosen; before anything was chosen of these columns, as guessed."""
    columns, chosen = sent.texts("column"), sent.texts("field")
    if tuple(columns) != table.columns or len(chosen) != len(columns):
        return {column: field for field, column in fields_guessed(table.columns).items()}
    return {column: field for column, field in zip(columns, chosen, strict=True) if field in FIELDS}


def _fields(chosen: dict[str, str]) -> dict[str, str]:
    """Return the column of each field."""
    fields: dict[str, str] = {}
    for column, field in chosen.items():
        if field in fields:
            both = f"{fields[field]!r:.80} and {column!r:.80}"
            raise FieldError("columns", f"{both} are both the {FIELDS[field].lower()}; choose one of them")
        fields[field] = column
    return fields


def _page(
    request: Request,
    prompt: Prompt,
    *,
    written: str = "",
    table: CaseTable | None = None,
    chosen: dict[str, str] | None = None,
    plan: CasesImport | None = None,
    error: str | None = None,
    is_changed: bool = False,
) -> Response:
    return page(
        request,
        "tests_import.html",
        status=422 if error else 409 if is_changed else 200,
        prompt=prompt,
        in_schema_mode=prompt.text.evaluation_mode is EvaluationMode.SCHEMA,
        written=written if len(written) <= MOST_ECHOED else "",
        too_long=len(written) > MOST_ECHOED,
        table=table,
        labels=FIELDS,
        chosen=chosen or {},
        counted=counted,
        plan=plan,
        shown=[] if plan is None else plan.new[:MOST_SHOWN],
        most_listed=MOST_LISTED,
        error=error,
        is_changed=is_changed,
    )
