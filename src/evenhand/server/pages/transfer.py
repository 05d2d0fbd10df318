"""The page that exports and imports prompts."""

from __future__ import annotations

import functools
from typing import Annotated, Final

from fastapi import Query, Request
from fastapi.responses import Response

from evenhand.domain.errors import ConfigError, ConflictError, ContractError
from evenhand.evaluators.reading import parse_strict
from evenhand.reports.line_diff import Line, changes
from evenhand.reports.phrases import counted
from evenhand.server.api.prompts import export_prompts
from evenhand.server.dependencies import ImportJobsDep, StoreDep
from evenhand.server.json_slices import LARGE_BYTES, parse_json
from evenhand.server.pages.base import Form, Sent, page_routes, see_other
from evenhand.server.pages.prompt_list import PromptList
from evenhand.server.pages.prompts import LABELS
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.store.store import Store
from evenhand.workspace.prompt_import import Imported, Update, count_cases, import_document

router = page_routes()

# A longer document is not put back into the page; its file is chosen again.
MOST_ECHOED: Final = 200_000


# An import of more test cases is done in the background, and its progress is shown.
MANY_CASES: Final = 5_000


@router.get("/io")
def show_transfer(
    request: Request,
    store: StoreDep,
    jobs: ImportJobsDep,
    *,
    job_id: Annotated[str, Query(alias="import")] = "",
    update: bool = False,
    q: str = "",
    start: int = 0,
    prompt: Annotated[tuple[str, ...], Query()] = (),
    show: str = "",
) -> Response:
    """Show what can be exported, page by page, the way to import, and an import in progress, or what it did.

    ``prompt`` are those that were selected, on whichever page; ``show=all`` ends the search for a name.
    """
    job = jobs.find(job_id)
    if job is not None and not job.has_ended:
        return page(request, "transfer_progress.html", job=job)
    if job is not None and job.problem is not None:
        return _page(request, store, error=str(job.problem.detail), update=update)
    report = None if job is None else job.report
    if report is not None and report.dry_run:
        return _page(request, store, planned=report, too_long=True, update=update)
    listed = PromptList.of(store, "/io", "" if show == "all" else q, start, prompt)
    return _page(request, store, done=report, update=update, listed=listed)


@router.get("/io/export")
def export(store: StoreDep, prompt: Annotated[list[str] | None, Query()] = None) -> Response:
    """Return prompts as the API does; here, an error is a page."""
    return export_prompts(store, prompt)


@router.post("/io")
def import_prompts(request: Request, store: StoreDep, jobs: ImportJobsDep, sent: Sent) -> Response:
    """Import prompts, all or none, or only show what that would do; nothing is updated that was not shown."""
    update, seen = sent.has("update"), sent.text("seen") or None
    dry_run = sent.text("action") != "import" or (update and seen is None)
    written = ""
    try:
        written = _document(sent)
        document = _parse(written)
        take_in = functools.partial(
            import_document, store, document, dry_run=dry_run, update=update, seen=None if dry_run else seen
        )
        if count_cases(document) > MANY_CASES:
            job = jobs.start(lambda observer: take_in(observer=observer))
            return see_other(f"/io?import={job.id}{'&update=1' if update else ''}")
        try:
            report = take_in()
        except ConflictError:  # it is not what was shown any more
            report = import_document(store, document, dry_run=True, update=update)
            return _page(request, store, written=written, planned=report, update=update, is_changed=True, status=409)
    except ConfigError as error:
        return _page(request, store, written=written, error=str(error), update=update, status=422)
    if report.dry_run:
        return _page(request, store, written=written, planned=report, update=update)
    return see_other(f"/io?import={jobs.ended(report).id}{'&update=1' if update else ''}")


def _page(
    request: Request,
    store: Store,
    *,
    status: int = 200,
    written: str = "",
    error: str | None = None,
    planned: Imported | None = None,
    done: Imported | None = None,
    too_long: bool = False,
    update: bool = False,
    is_changed: bool = False,
    listed: PromptList | None = None,
) -> Response:
    return page(
        request,
        "transfer.html",
        status=status,
        listed=PromptList.of(store, "/io", "", 0) if listed is None else listed,
        written=written if len(written) <= MOST_ECHOED else "",
        too_long=too_long or len(written) > MOST_ECHOED,
        error=error,
        planned=planned,
        done=done,
        update=update,
        is_changed=is_changed,
        changes_of=_changes_of,
        counted=counted,
    )


def _changes_of(change: Update) -> list[tuple[str, list[Line]]]:
    """Return the fields that an import changes, by their labels, with their lines."""
    old, new = ({name: pair[side] for name, pair in change.fields.items()} for side in (0, 1))
    return changes(old, new, {name: label for name, label in LABELS.items() if name in change.fields})


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
    if len(written) <= LARGE_BYTES:
        try:
            return parse_strict(written)
        except ContractError as error:
            raise ConfigError(str(error)) from None
    try:
        return parse_json(written.encode("utf-8", "surrogatepass"))
    except Problem as problem:
        field = "" if problem.field is None else f"{problem.field!r}: "
        raise ConfigError(f"{problem.title}: {field}{problem.detail}") from None
