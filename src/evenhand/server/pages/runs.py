"""The pages of runs: the list, one run, its baseline, and its downloads."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, Final, cast
from urllib.parse import urlencode

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from evenhand.domain.errors import ConfigError, IncomparableError
from evenhand.domain.run import BATCH, NOT_A_LABEL, RunRecord, RunStatus, is_label
from evenhand.domain.run_kind import SCORING, is_doctor, mode_of
from evenhand.engine.job import Pace
from evenhand.reports.comparison import verdict_sentence
from evenhand.reports.phrases import counted
from evenhand.reports.report import Report
from evenhand.reports.report_kind import writer_for_run
from evenhand.server.dependencies import (
    ProfileNumbersDep,
    ResultsDep,
    RunManagerDep,
    SettingsDep,
    StoreDep,
    SummaryCacheDep,
)
from evenhand.server.pages import run_view
from evenhand.server.pages.base import Sent, page_routes, see_other
from evenhand.server.pages.run_view import own
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.server.runs import batches
from evenhand.server.runs.baseline import (
    BROKEN,
    HollowRunError,
    VerdictChanges,
    baseline_of,
    compare_in_background,
    is_baseline,
    is_hollow,
    of_prompt,
    pin,
    run_before,
    unpin,
)
from evenhand.server.runs.live_runs import state_of_runs
from evenhand.server.runs.progress import AT_WORK, with_actual_status
from evenhand.server.runs.requests import RunRequest
from evenhand.server.runs.summaries import Numbers, SummaryCache
from evenhand.store.store import Store

baseline_router = page_routes()


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineComparison:
    """A run compared with its baseline; each of ``lines`` has the address of its cases, ``why_not`` a reason for none.

    Without either, the runs are still being compared.
    """

    baseline: RunRecord
    address: str
    sentence: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    why_not: str = ""

    @classmethod
    def of(cls, store: Store, summaries: SummaryCache, run: RunRecord, seconds: float) -> BaselineComparison | None:
        """Compare a finished run with its baseline, if it has one."""
        baseline = baseline_of(store, run) if run.status is RunStatus.FINISHED else None
        if baseline is None:
            return None
        address = f"/compare?{urlencode({'a': baseline.id, 'b': run.id})}"
        try:
            comparison = compare_in_background(summaries, store, (baseline, run), seconds=seconds)
        except TimeoutError:
            return cls(baseline=baseline, address=address)
        except ConfigError as error:
            why_not = error.why if isinstance(error, IncomparableError) else str(error)
            return cls(baseline=baseline, address=address, why_not=why_not)
        sentence = verdict_sentence(comparison.as_shown().cases)
        return cls(
            baseline=baseline,
            address=address,
            sentence=f"{sentence[:1].upper()}{sentence[1:]}, where A is the baseline and B this run.",
            lines=tuple(_lines(VerdictChanges.of(comparison), address)) if comparison.has_verdicts else (),
        )


def _lines(turns: VerdictChanges, address: str) -> list[tuple[str, str]]:
    lines = [
        (counted(turns.worse, "regression"), f"{address}&way=worse#changes"),
        (counted(turns.better, "improvement"), f"{address}&way=better#changes"),
    ]
    if turns.broken:
        lines.append((f"{counted(turns.broken, 'case')} no longer scored", f"{address}&way={BROKEN}#changes"))
    return lines


@baseline_router.post("/runs/{run_id}/pin")
def pin_run(request: Request, run_id: str, store: StoreDep, sent: Sent) -> Response:
    """Make a run the baseline of its suite or prompt; ask first where nothing was scored in it."""
    run = store.runs.find(run_id)
    try:
        return see_other(own(pin(store, run, anyway=sent.text("anyway") == "1")))
    except HollowRunError:
        return page(request, "runs_pin.html", status=409, run=run)


@baseline_router.post("/runs/{run_id}/unpin")
def unpin_run(run_id: str, store: StoreDep) -> Response:
    """Stop using a run as the baseline."""
    run = store.runs.find(run_id)
    unpin(store, run)
    return see_other(own(run))


@baseline_router.post("/runs/{run_id}/label")
def label_run(run_id: str, store: StoreDep, sent: Sent) -> Response:
    """Set or remove the label of a run."""
    label = sent.text("label").strip()
    if label and not is_label(label):
        raise Problem(422, "Invalid request", NOT_A_LABEL, field="label")
    return see_other(own(store.runs.set_label(store.runs.find(run_id), label)))


@baseline_router.post("/runs/{run_id}/tags")
def tag_run(run_id: str, store: StoreDep, sent: Sent) -> Response:
    """Add tags to a run, which commas separate, or remove one."""
    run = store.runs.find(run_id)
    added = [tag for tag in sent.text("add").split(",") if tag.strip()]
    remove = [sent.text("remove")] if sent.text("remove") else []
    try:
        return see_other(own(store.runs.change_tags(run, add=added, remove=remove)))
    except ConfigError as error:
        raise Problem(422, "Invalid request", str(error), field="tags") from None


router = page_routes()

_KINDS: Final = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "xml": "application/xml",
}
_CHUNK: Final = 64 * 1024


@router.get("/runs/{run_id}")
def one_run(
    request: Request,
    run_id: str,
    store: StoreDep,
    *,
    settings: SettingsDep,
    manager: RunManagerDep,
    summaries: SummaryCacheDep,
    results: ResultsDep,
    profile_numbers: ProfileNumbersDep,
) -> Response:
    """Show a run: live while it is in progress, then with its numbers."""
    run = find_run(store, run_id)
    wait = settings.page_wait_seconds
    at_work = run.status in AT_WORK
    progress = manager.progress(run.id) if at_work else None
    numbers = None if at_work or not run.cases else _numbers_within(wait, store, run, summaries)
    scored = None if numbers is None else run_view.scored_run(store, run, profile_numbers, wait)
    if not at_work:
        results.prepare(run)
    has_errors = numbers is not None and bool(numbers.summary.errors_by_class)
    return page(
        request,
        "runs_show.html",
        run=run,
        mode=mode_of(run.definition),
        has_examination=is_doctor(run.definition),
        at_work=at_work,
        is_counting=numbers is None and not at_work and run.cases > 0,
        is_here=progress is not None and progress["here"],
        asks_in_batches=run.options.get(BATCH) is True,
        pending=store.provider_batches.of(run, pending=True),
        live=None if progress is None else run_view.live(progress),
        live_facts=run_view.LIVE_FACTS,
        state=state_of_runs([run]) if at_work else "",
        # One that was never planned has no cases to go on with.
        can_resume=run.status in (RunStatus.INTERRUPTED, RunStatus.STOPPED) and run.cases > 0,
        can_retry=run.status is RunStatus.FINISHED and not run.origin and has_errors,
        can_run_again=not at_work and of_prompt(run) is not None,
        is_hollow=numbers is not None and is_hollow(run, numbers.summary),
        first_errors=run_view.first_errors(store, run) if has_errors else {},
        form=secrets.token_hex(16),
        trend_of={"prompt": of_prompt(run)} if of_prompt(run) is not None else {"run": run.id},
        previous=run_before(store, run) if run.status is RunStatus.FINISHED else None,
        is_baseline=is_baseline(run),
        against=BaselineComparison.of(store, summaries, run, wait),
        kinship=run_view.kinship(run),
        facts=run_view.facts(run, numbers),
        fact_links=run_view.fact_links(run),
        drift_at=run_view.drift_link(run),
        numbers=numbers,
        view=None if numbers is None else run_view.view_of(run, numbers, scored),
        best=run_view.best_profiles(store, run, scored),
        is_spreading=numbers is not None and scored is None and mode_of(run.definition) == SCORING,
        verdict_links=run_view.verdict_links(run),
        slice_link=functools.partial(run_view.slice_link, run),
        pass_mark=run_view.pass_mark(run),
        formats=run_view.PROFILE_FORMATS if mode_of(run.definition) else run_view.FORMATS,
        definition=run_view.defined(run),
    )


def _numbers_within(seconds: float, store: Store, run: RunRecord, summaries: SummaryCache) -> Numbers | None:
    try:
        return summaries.of(store, run, seconds)
    except TimeoutError:
        return None


def _find(store: Store, run_id: str) -> RunRecord:
    """Find a run by its whole id: addresses must not change their meaning when runs are added."""
    run = store.runs.find(run_id)
    if run.id != run_id:
        raise Problem(404, "Not found", f"no run {run_id!r:.80}; see the list of runs")
    return run


@router.post("/runs/{run_id}/cancel")
async def cancel(run_id: str, manager: RunManagerDep) -> Response:
    """Cancel a run."""
    return see_other(own(await manager.cancel(run_id)))


@router.post("/runs/{run_id}/resume")
async def resume(run_id: str, manager: RunManagerDep, sent: Sent) -> Response:
    """Resume a run, or retry the errors of one that has finished."""
    retry_errors, one_by_one = sent.text("retry_errors") == "1", sent.text("one_by_one") == "1"

    def change(usual: Pace) -> Pace:
        return replace(usual.one_by_one if one_by_one else usual, retry_errors=retry_errors)

    return see_other(own(await manager.resume(run_id, change)))


@router.post("/runs/{run_id}/batches/cancel")
async def cancel_batches(run_id: str, store: StoreDep, manager: RunManagerDep) -> Response:
    """Cancel the batches of a run, and the run itself if it waits for them."""
    run = await run_in_threadpool(_find, store, run_id)
    batches.require_cancelled(await batches.cancel(store, manager, run))
    return see_other(own(run))


@router.post("/runs/{run_id}/again")
async def run_again(
    run_id: str, store: StoreDep, settings: SettingsDep, manager: RunManagerDep, sent: Sent
) -> Response:
    """Start another run like this one, once, however often the button is pressed."""
    run = await run_in_threadpool(_find, store, run_id)
    request = RunRequest.again(run, use_cache=sent.text("no_cache") != "1")
    key = hashlib.sha256(repr((sent.text("form"), request)).encode()).hexdigest()
    job = functools.partial(request.job, store, settings)
    run, _ = await manager.start(job, request.scope, request.pace, key=key, asked="again")
    return see_other(own(run))


@router.get("/runs/{run_id}/delete")
def ask_to_delete(request: Request, run_id: str, store: StoreDep) -> Response:
    """Ask whether a run is to be deleted, if it can be by now."""
    run = _find(store, run_id)
    store.runs.require_deletable(run)
    return page(request, "runs_delete.html", run=run)


@router.post("/runs/{run_id}/delete")
def delete(run_id: str, store: StoreDep) -> Response:
    """Delete a run with everything in it."""
    store.runs.delete(_find(store, run_id))
    return see_other("/runs?done=deleted")


@router.get("/runs/{run_id}/download.{ending}")
def download(run_id: str, ending: str, store: StoreDep, summaries: SummaryCacheDep) -> Response:
    """Return the report of a run as a file."""
    run = _find(store, run_id)
    if ending not in _KINDS:
        available = ", ".join(f".{kind}" for kind in _KINDS)
        raise Problem(404, "Not found", f"no report format .{ending:.20}; available: {available}")
    headers = {"content-disposition": f'attachment; filename="{run.id}.{ending}"'}
    report = summaries.of(store, run).report(store, run)
    file = _write_report(report, ending)
    return StreamingResponse(_pieces(file), media_type=_KINDS[ending], headers=headers)


def _write_report(report: Report, ending: str) -> BinaryIO:
    """Write a report to a file before it is sent: an error is reported, instead of half a file."""
    with contextlib.ExitStack() as closing:
        spooled = closing.enter_context(tempfile.SpooledTemporaryFile(max_size=1024 * 1024))
        file = cast("BinaryIO", spooled)
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            writer_for_run(report.run.definition, ending)(report, text)
        finally:
            text.detach()
        file.seek(0)
        closing.pop_all()  # it is complete: the response closes it
        return file


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_CHUNK):
            yield piece


def find_run(store: Store, run_id: str) -> RunRecord:
    """Find the run that an address names, as it is now."""
    return with_actual_status(store, _find(store, run_id))
