"""The page of one case of a run: what was asked, answered and judged, and where else the case is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import Response

from evenhand.domain.errors import NotFoundError
from evenhand.domain.json_codec import case_to
from evenhand.domain.label import Label, answer_hash, answer_of
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.run_kind import has_verdicts
from evenhand.engine.targets.several import MODEL, TEST_CASE, targets_of
from evenhand.profiles.case_view import case_view
from evenhand.reports.html.judgment import outcome_of
from evenhand.reports.json import case_row
from evenhand.reports.phrases import NONE, Standing, names_in, score_text
from evenhand.reports.safe_text import strict_json
from evenhand.server.dependencies import ResultsDep, StoreDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.labels import rater_of
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.server.runs.baseline import lineage
from evenhand.server.runs.profile_summaries import scale_of
from evenhand.server.runs.results import Results
from evenhand.store.results import case_at, case_positions, cases_at
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import PROMPT

router = page_routes()

# How many runs are searched for the same case, and how many of those that have it are shown.
_NEAR: Final = 200
_MOST_IN_HISTORY: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetLink:
    """The answer of another target to the same case, or of this one."""

    name: str
    href: str
    standing: Standing
    is_this: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InOtherRun:
    """The same case in another run of the same suite or prompt."""

    href: str
    when: float
    label: str
    standing: str
    score: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is around a case: the list it is in, its neighbours, where it comes from, and the same case elsewhere.

    ``labels`` are those by people, ``rater`` is who labels in this browser, and ``answer`` the hash of the answer that
    would be labelled, empty if there is none.
    """

    results: str
    json: str
    before: str | None
    after: str | None
    links: tuple[tuple[str, str], ...] = ()
    targets: tuple[TargetLink, ...] = ()
    history: tuple[InOtherRun, ...] = field(default=())
    own: str = ""
    labels: tuple[Label, ...] = ()
    rater: str = ""
    answer: str = ""

    @property
    def can_label(self) -> bool:
        """Whether there is an answer that people can label."""
        return bool(self.answer)


@router.get("/runs/{run_id}/results/{position}")
def one_case(request: Request, run_id: str, position: int, store: StoreDep, results: ResultsDep) -> Response:
    """Show a case in full; the drawer takes its content from here."""
    run = find_run(store, run_id)
    result = _case(store, run, position)
    address = f"{own(run)}/results"
    targets = _targets(store, results, run, result)
    step = max(len(targets), 1)  # to the same target's answer to the next case
    around = Around(
        results=address,
        json=f"{address}/{position}/json",
        before=f"{address}/{position - step}" if position >= step else None,
        after=f"{address}/{position + step}" if position + step < run.cases else None,
        links=tuple(_origins(store, run, result)),
        targets=targets,
        history=tuple(_history(store, run, result)),
        own=own(run),
        labels=tuple(store.labels.of(run, position=position)),
        rater=rater_of(request),
        answer="" if (answer := answer_of(result)) is None else answer_hash(answer),
    )
    return page(request, "case.html", run=run, view=case_view(result, run), around=around)


@router.get("/runs/{run_id}/results/{position}/json")
def case_json(run_id: str, position: int, store: StoreDep) -> Response:
    """Return a case in full as JSON."""
    result = _case(store, find_run(store, run_id), position)
    details = {"position": position, "case": case_to(result.case), **case_row(result)}
    return Response(strict_json(details), media_type="application/json")


def _case(store: Store, run: RunRecord, position: int) -> CaseResult:
    result = case_at(store, run, position) if 0 <= position < 2**53 else None
    if result is None:
        raise Problem(404, "Not found", f"run {run.id} has {run.cases:,} cases; positions start at 0")
    return result


def _origins(store: Store, run: RunRecord, result: CaseResult) -> Iterator[tuple[str, str]]:
    """Yield where a case of a prompt comes from: its test case, and the version of the prompt that was tried."""
    prompt = run.definition.get(PROMPT)
    if not isinstance(prompt, dict):
        return
    test_case = str(result.case.metadata.get(TEST_CASE, result.id))
    try:
        store.prompts.find_case(test_case)
        yield (
            "Test case",
            f"/cases/{quote(test_case, safe='')}?{urlencode({'run': run.id, 'position': result.position})}",
        )
    except NotFoundError:  # it was deleted since
        pass
    try:
        found = store.prompts.find(str(prompt.get("id")))
    except NotFoundError:
        return
    address = f"/prompts/{quote(found.id, safe='')}"
    version = prompt.get("version")
    if version == found.latest:
        yield f"Prompt, version {version}", address
    else:
        yield f"Prompt, version {version} of {found.latest}", f"{address}/versions?a={version}&b={found.latest}"


def _targets(store: Store, results: Results, run: RunRecord, result: CaseResult) -> tuple[TargetLink, ...]:
    """Return the answers of all targets to this case; none where there is one target."""
    if len(targets_of(run)) < 2:
        return ()
    positions = results.targets_of_case(run, result.position)
    return tuple(
        TargetLink(
            name=str(stored.result.case.metadata.get(MODEL, stored.result.id)),
            href=f"{own(run)}/results/{position}",
            standing=Standing.of_case(stored.result),
            is_this=position == result.position,
        )
        for position, stored in sorted(cases_at(store, run, positions).items())
    )


def _history(store: Store, run: RunRecord, result: CaseResult) -> Iterator[InOtherRun]:
    """Yield the same case in other runs of the same suite or prompt, the newest first."""
    scale = scale_of(run)
    if scale is None:
        return
    kin = [other for other in store.runs.newest(_NEAR) if other.id != run.id and lineage(other) == lineage(run)]
    found = case_positions(store, kin, [result.id]) if kin else {}
    those = [(other, found[other.number, result.id]) for other in kin if (other.number, result.id) in found]
    for other, position in those[:_MOST_IN_HISTORY]:
        earlier = case_at(store, other, position)
        if earlier is None:
            continue
        standing = Standing.of_case(earlier)
        score = earlier.outcome.score
        yield InOtherRun(
            href=f"{own(other)}/results/{position}",
            when=other.created,
            label=other.label,
            standing=outcome_of(standing, scale, has_verdicts=has_verdicts(other.definition)),
            score=score_text(score * scale) if standing.scored and score is not None else NONE,
            what=_what(other),
        )


def _what(run: RunRecord) -> str:
    """Say what answered in a run: the version of its prompt, and its models."""
    prompt: Any = run.definition.get(PROMPT)
    version = f"version {prompt.get('version')}" if isinstance(prompt, dict) else ""
    return ", ".join(part for part in (version, *names_in(run.definition.get("target"))) if part)
