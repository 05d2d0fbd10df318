"""The page that exports and imports prompts."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from evenhand.domain.errors import ConfigError, ContractError
from evenhand.evaluators.reading import parse_strict
from evenhand.server.api.prompts import export_prompts
from evenhand.server.dependencies import ImportReportsDep, StoreDep
from evenhand.server.pages.base import Form, Sent, see_other
from evenhand.server.rendering import page
from evenhand.store.store import Store
from evenhand.workspace.documents import Imported, import_document

router = APIRouter()

# A longer document is not put back into the page; its file is chosen again.
MOST_ECHOED: Final = 200_000


@router.get("/io")
def show_transfer(request: Request, store: StoreDep, reports: ImportReportsDep, done: str = "") -> Response:
    """Show what can be exported, the way to import, and what the last import did."""
    return _page(request, store, done=reports.of(done))


@router.get("/io/export")
def export(store: StoreDep, prompt: Annotated[list[str] | None, Query()] = None) -> Response:
    """Return prompts as the API does; here, an error is a page."""
    return export_prompts(store, prompt)


@router.post("/io")
def import_prompts(request: Request, store: StoreDep, reports: ImportReportsDep, sent: Sent) -> Response:
    """Import prompts, all or none, or only show what that would do."""
    written = ""
    try:
        written = _document(sent)
        report = import_document(store, _parse(written), dry_run=sent.text("action") != "import")
    except ConfigError as error:
        return _page(request, store, written=written, error=str(error), status=422)
    if report.dry_run:
        return _page(request, store, written=written, planned=report)
    return see_other(f"/io?done={reports.keep(report)}")


def _page(
    request: Request,
    store: Store,
    *,
    status: int = 200,
    written: str = "",
    error: str | None = None,
    planned: Imported | None = None,
    done: Imported | None = None,
) -> Response:
    return page(
        request,
        "transfer.html",
        status=status,
        prompts=store.prompts.all(),
        written=written if len(written) <= MOST_ECHOED else "",
        too_long=len(written) > MOST_ECHOED,
        error=error,
        planned=planned,
        done=done,
    )


def _document(sent: Form) -> str:
    file = sent.file("file")
    if not file:
        return sent.text("document")
    try:
        return file.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"the file is not UTF-8 text: byte {error.start + 1:,} is invalid") from None


def _parse(written: str) -> object:
    if not written.strip():
        raise ConfigError("there is nothing to import; choose a file, or paste a document")
    try:
        return parse_strict(written)
    except ContractError as error:
        raise ConfigError(str(error)) from None
