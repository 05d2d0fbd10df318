"""The page on which people label the answers of a run, one case at a time; the judge's view comes after the label."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from evenhand.domain.errors import ConfigError, ConflictError
from evenhand.domain.label import NOT_A_RATER, Draw, Label, answer_hash, answer_of, is_rater, label_value
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.evaluators.cascade import CASCADE, PEOPLE
from evenhand.labels.draw import draw_words, make_draw
from evenhand.labels.queue import Queue, case_of, give_label, people_agreement
from evenhand.labels.undecided import undecided_queue
from evenhand.profiles.case_view import case_view
from evenhand.reports.phrases import Standing, score_text
from evenhand.server.dependencies import StoreDep
from evenhand.server.pages.base import Form, Sent, page_routes, see_other
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.store.results import case_at, evaluator_names
from evenhand.store.store import Store
from evenhand.suites.python_evaluators import MADE_IN_PYTHON

router = page_routes()

RATER_COOKIE: Final = "evenhand-rater"
_JUDGE_COOKIE: Final = "evenhand-shows-judge"
_YEAR: Final = 365 * 24 * 3600
_MOST_EVALUATORS: Final = 50
_DEFAULT_SAMPLE: Final = "100"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A label that was just given, and what the judge had said, if the person wants to see that."""

    label: Label
    standing: Standing | None
    score: str


def rater_of(request: Request) -> str:
    """Return the name under which somebody labels in this browser, empty if they have not said it."""
    name = unquote(request.cookies.get(RATER_COOKIE, ""))
    return name if is_rater(name) else ""


@router.get("/runs/{run_id}/label")
def label_cases(
    request: Request,
    run_id: str,
    store: StoreDep,
    *,
    evaluator: str = "",
    at: str = "",
    after: str = "",
    decided: str = "",
    undecided: str = "",
) -> Response:
    """Show the next case of the draw, or the form that draws some; or the next that a cascade has left to people."""
    run, whose = find_run(store, run_id), evaluator or None
    left = undecided == "1"
    return _shown(request, store, run, whose, at=at, after=after, decided=decided, left=left)


def _shown(
    request: Request,
    store: Store,
    run: RunRecord,
    evaluator: str | None,
    *,
    at: str = "",
    after: str = "",
    decided: str = "",
    left: bool = False,
    problem: str = "",
    typed: Form | None = None,
) -> Response:
    rater, draw = rater_of(request), store.labels.draw(run, evaluator)
    labels = store.labels.of(run, evaluator=evaluator)
    queue = result = None
    if rater and (left or draw is not None):
        queue = _queue(store, run, rater, evaluator, left=left)
        result = _case(store, run, queue, at=_number(at), after=_number(after))
    shows_judge = request.cookies.get(_JUDGE_COOKIE) == "1"
    given = None if queue is None or result is None else queue.label_of(result.position)
    return page(
        request,
        "label.html",
        status=422 if problem else 200,
        run=run,
        evaluator=evaluator,
        left=left,
        has_cascade=_leaves_cases(run),
        evaluators=evaluator_names(store, run, cases=run.cases, limit=_MOST_EVALUATORS),
        rater=rater,
        draw=draw,
        words=[] if draw is None else draw_words(draw),
        queue=queue,
        # Nothing that the judge said: not even which parts of an answer a schema refused.
        view=None if result is None else case_view(replace(result, judgments=(), replaced=()), run),
        read="" if result is None else answer_hash(answer_of(result) or ""),
        given=given,
        decided=_decided(store, run, queue, _number(decided), evaluator, shows_judge=shows_judge),
        shows_judge=shows_judge,
        people=_people(labels, draw),
        agreement=people_agreement(labels),
        problem=problem,
        sample=typed.text("sample") if typed else _DEFAULT_SAMPLE if draw is None else str(draw.size),
        uncertain=typed.text("uncertain") if typed else "0" if draw is None else f"{draw.uncertain:g}",
        seed=typed.text("seed") if typed else "" if draw is None else str(draw.seed),
    )


@router.post("/runs/{run_id}/label-draw")
def draw_cases(request: Request, run_id: str, store: StoreDep, sent: Sent) -> Response:
    """Draw cases at random."""
    run = find_run(store, run_id)
    evaluator = sent.text("evaluator") or None
    seed = sent.text("seed").strip()
    try:
        make_draw(
            store,
            run,
            sample=_whole(sent, "sample"),
            uncertain=_share(sent),
            seed=_whole(sent, "seed") if seed else None,
            evaluator=evaluator,
        )
    except (ConfigError, ConflictError) as error:
        return _shown(request, store, run, evaluator, problem=str(error), typed=sent)
    return see_other(_address(run, evaluator))


@router.post("/runs/{run_id}/label-as")
def choose_rater(request: Request, run_id: str, store: StoreDep, sent: Sent) -> Response:
    """Keep in this browser who labels, and whether the judge's view is shown after each label."""
    run = find_run(store, run_id)
    rater = sent.text("rater").strip()
    if not is_rater(rater):
        raise Problem(422, "Invalid request", f"the name is {rater!r:.120}; {NOT_A_RATER}", field="rater")
    more = {"undecided": 1} if sent.text("undecided") == "1" else {}
    answer = see_other(_address(run, sent.text("evaluator") or None, **more))
    _keep(request, answer, RATER_COOKIE, quote(rater))
    _keep(request, answer, _JUDGE_COOKIE, "1" if sent.text("judge") == "1" else "0")
    return answer


@router.post("/runs/{run_id}/labels")
def give(request: Request, run_id: str, store: StoreDep, sent: Sent) -> Response:
    """Keep a label: of the queue, or of any case on its own page, where the judge's view was seen already."""
    run = find_run(store, run_id)
    evaluator = sent.text("evaluator") or None
    result = case_at(store, run, sent.number("position"))
    if result is None:
        raise Problem(404, "Not found", f"run {run.id} has no case at position {sent.number('position')}")
    rater = sent.text("rater").strip() or rater_of(request)
    if not is_rater(rater):
        raise Problem(422, "Invalid request", f"the name is {rater!r:.120}; {NOT_A_RATER}", field="rater")
    from_draw, left = sent.text("drawn") == "1", sent.text("undecided") == "1"
    label = give_label(
        store,
        run,
        result,
        rater=rater,
        value=label_value(sent.text("value") or sent.text("score")),
        note=sent.text("note").strip(),
        evaluator=evaluator,
        from_draw=from_draw,
        read=sent.text("answer_hash") or None,
    )
    more = {"undecided": 1} if left else {}
    is_queued = from_draw or left
    there = f"{own(run)}/results/{label.position}"
    answer = see_other(_address(run, evaluator, decided=label.position, **more) if is_queued else there)
    if rater != rater_of(request):
        _keep(request, answer, RATER_COOKIE, quote(rater))
    return answer


@router.post("/runs/{run_id}/label-undo")
def undo(request: Request, run_id: str, store: StoreDep, sent: Sent) -> Response:
    """Take back a label: the last one that the person gave for the draw, or that of one case."""
    run = find_run(store, run_id)
    evaluator = sent.text("evaluator") or None
    rater = rater_of(request)
    if sent.text("position"):
        position = sent.number("position")
        store.labels.withdraw(run, position=position, rater=rater, evaluator=evaluator)
        return see_other(f"{own(run)}/results/{position}")
    left = sent.text("undecided") == "1"
    more = {"undecided": 1} if left else {}
    last = _queue(store, run, rater, evaluator, left=left).last
    if last is None:
        return see_other(_address(run, evaluator, **more))
    store.labels.withdraw(run, position=last.position, rater=rater, evaluator=evaluator)
    return see_other(_address(run, evaluator, at=last.position, **more))


def _queue(store: Store, run: RunRecord, rater: str, evaluator: str | None, *, left: bool) -> Queue:
    """Return what a person labels: the draw, or what is left to people."""
    found = undecided_queue if left else Queue.of
    return found(store, run, rater=rater, evaluator=evaluator)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _leaves_cases(run: RunRecord) -> bool:
    """Return whether the suite of a run has a cascade that leaves cases to people."""
    evaluators = run.definition.get("evaluators")
    return isinstance(evaluators, list) and any(
        PEOPLE in (each.get("then"), _mapping(each.get(MADE_IN_PYTHON)).get("then"))
        for each in map(_mapping, evaluators)
        if each.get("type") == CASCADE
    )


def _address(run: RunRecord, evaluator: str | None, **more: int) -> str:
    query = urlencode(
        ({"evaluator": evaluator} if evaluator else {}) | {name: str(value) for name, value in more.items()}
    )
    return f"{own(run)}/label{f'?{query}' if query else ''}"


def _keep(request: Request, answer: RedirectResponse, name: str, value: str) -> None:
    is_secure = request.url.scheme == "https"
    answer.set_cookie(name, value, max_age=_YEAR, httponly=True, samesite="strict", secure=is_secure)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 15 else None


def _whole(sent: Form, name: str) -> int:
    if (number := _number(sent.text(name).strip())) is None:
        raise ConfigError(f"{name} is {sent.text(name)!r:.40}; it must be a whole number", key=name)
    return number


def _share(sent: Form) -> float:
    text = sent.text("uncertain").strip() or "0"
    try:
        share = label_value(text)
    except ConfigError:
        share = "fail"
    if isinstance(share, str):
        raise ConfigError(f"uncertain is {text!r:.40}; it must be a share from 0 to 0.9", key="uncertain")
    return share


def _case(store: Store, run: RunRecord, queue: Queue, *, at: int | None, after: int | None) -> CaseResult | None:
    """Return the case to label: the one that is asked for, if it was drawn, or the next without a label."""
    drawn = None if at is None else queue.draw.at(at)
    if drawn is None:
        drawn = queue.next() if after is None else queue.after(after)
    return None if drawn is None else case_of(store, run, drawn)


def _decided(
    store: Store, run: RunRecord, queue: Queue | None, position: int | None, evaluator: str | None, *, shows_judge: bool
) -> Decided | None:
    """Return the label that was just given; what the judge said of a case is shown only to who has decided."""
    label = None if queue is None or position is None else queue.label_of(position)
    if label is None:
        return None
    result = case_at(store, run, label.position) if shows_judge else None
    if result is None:
        return Decided(label=label, standing=None, score="")
    if evaluator is None:
        return Decided(label=label, standing=Standing.of_case(result), score=score_text(result.outcome.score))
    found = next((one.evaluation for one in result.judgments if one.evaluation.evaluator == evaluator), None)
    standing = None if found is None else Standing.of(found)
    return Decided(label=label, standing=standing, score="" if found is None else score_text(found.score))


def _people(labels: list[Label], draw: Draw | None) -> list[tuple[str, int, int, int]]:
    """Return each person with how many cases of the draw they labelled, how many pass, and how many others."""
    drawn, passed, others = Counter[str](), Counter[str](), Counter[str]()
    for label in labels:
        if label.is_drawn and draw is not None:
            drawn[label.rater] += 1
            passed[label.rater] += label.value == "pass"
        else:
            others[label.rater] += 1
    return [(name, drawn[name], passed[name], others[name]) for name in sorted({*drawn, *others})]
