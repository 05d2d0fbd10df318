"""A case of a run in a terminal: what was asked and answered, and how it was judged.

Rich is slow to load: import this module only where a case goes to a terminal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from evenhand.domain.evaluation import Attempt
from evenhand.domain.message import Message
from evenhand.domain.run import RunRecord
from evenhand.reports.html.case import CaseView, GroupView
from evenhand.reports.html.judgment import RANKED, SCORED, AnswerView, JudgmentView, attempt_views, attempts_phrase
from evenhand.reports.phrases import Standing, counted
from evenhand.reports.safe_text import plain, plain_lines, strict_json
from evenhand.reports.terminal import marked, printed

_INDENT: Final = 2


def terminal_case(
    view: CaseView, run: RunRecord, *, prompts: bool = False, width: int = 100, colour: bool = False
) -> str:
    """Return a case as text for a terminal of some width, with the prompts and replies where these are wanted.

    What models and users wrote is shown in full, made safe and indented: only our own lines begin at the margin.
    """
    return printed(_parts(view, run, prompts=prompts), width=width, colour=colour)


def _parts(view: CaseView, run: RunRecord, *, prompts: bool) -> Iterator[RenderableType]:
    yield Text.assemble((f"{plain(view.result.id, None)}  ", "bold"), _mark(view))
    yield _facts([f"run {run.id}", run.name, *view.facts])
    yield from _material(view, prompts=prompts)
    if not view.judgments:
        yield Text("\nNot judged yet.")
    for judgment in view.judgments:
        yield from _judgment(judgment, prompts=prompts)
    if view.replaced:
        yield Text(f"\n{counted(len(view.replaced), 'earlier attempt')}, retried after an error", style="bold")
    for earlier in view.replaced:
        yield from (
            _answer(earlier, prompts=prompts)
            if isinstance(earlier, AnswerView)
            else _judgment(earlier, prompts=prompts)
        )
    if prompts and not any(judgment.prompts for judgment in (*view.judgments, *_judgments_in(view.replaced))):
        yield Text("\nNo prompts are stored with this case.")


def _judgments_in(views: Sequence[JudgmentView | AnswerView]) -> list[JudgmentView]:
    return [view for view in views if isinstance(view, JudgmentView)]


def _mark(view: CaseView | JudgmentView) -> Text:
    """Write the verdict and the score; a group that was ranked has neither, and not every profile a verdict."""
    if view.outcome in (RANKED, SCORED):
        score = "" if view.score is None else f" {view.score}"
        return Text(f"{Standing.PASS.glyph} {view.outcome}{score}", style="green")
    return marked(view.standing, "" if view.score is None else f" {view.score}")


def _facts(facts: Sequence[str]) -> RenderableType:
    return Padding(Text(" · ".join(plain(fact, None) for fact in facts), style="dim"), (0, 0, 0, _INDENT))


def _block(content: str, *, style: str = "") -> RenderableType:
    return Padding(Text(plain_lines(content), style=style, overflow="fold"), (0, 0, 0, _INDENT))


def _passage(name: str, content: str) -> Iterator[RenderableType]:
    yield Text(f"\n{plain(name, None)}", style="bold")
    yield _block(content)


def _as_json(value: object) -> str:
    return json.dumps(json.loads(strict_json(value)), ensure_ascii=False, indent=2)


def _messages(messages: Sequence[Message], prefix: str = "") -> Iterator[RenderableType]:
    for message in messages:
        yield from _passage(f"{prefix}{message.role}", message.content)
        if message.more:
            yield _block(_as_json(message.as_dict()))


def _material(view: CaseView, *, prompts: bool) -> Iterator[RenderableType]:
    """Show what was asked, answered and expected."""
    if view.group is not None:
        yield from _group(view.group)
    else:
        case = view.case
        if case.question is not None:
            yield from _passage("Question", case.question)
        yield from _messages(view.input_messages)
        for number, document in enumerate(case.documents, 1):
            name = "" if document.id is None else f": {document.id}"
            title = "Context" if isinstance(case.context, str) else f"Context, document {number}{name}"
            yield from _passage(title, document.text)
        for answer in view.answers:
            yield from _answer(answer, prompts=prompts)
        if not view.answers:
            is_given = case.candidate_answer is not None
            yield from _passage(view.noun, case.candidate_answer or "" if is_given else "No answer.")
        yield from _messages(view.output_messages)
        if view.reference is not None:
            yield from _passage("Reference", view.reference)
        yield from _messages(view.expected_messages, "Expected: ")
        if case.expected_outcome is not None:
            yield from _passage("Expected outcome", case.expected_outcome)
    if view.rest:
        yield from _passage("Other fields of the case", _as_json(view.rest))


def _group(group: GroupView) -> Iterator[RenderableType]:
    for member in group.members:
        place = "" if member.place is None else f" · place {member.place} of {len(group.members)}"
        yield from _passage(f"{member.letter} · {member.id}{place}", member.text)
    if group.order:
        yield from _passage("The judge’s order, best first", "\n".join([group.order, *group.lines]))


def _answer(view: AnswerView, *, prompts: bool) -> Iterator[RenderableType]:
    yield Text(f"\n{view.title}", style="bold")
    if view.made.text is not None:
        yield _block(view.made.text)
    if view.made.error is not None:
        yield _block(view.made.error, style="magenta")
    yield _facts(view.facts)
    for title, text in view.told:
        yield from _passage(title, text)
    yield from _attempts(view.made.attempts, replies=prompts)


def _judgment(view: JudgmentView, *, prompts: bool) -> Iterator[RenderableType]:
    evaluation = view.evaluation
    yield Text("")
    yield Text.assemble((f"{plain(view.title, None)}  ", "bold"), _mark(view))
    yield _facts(view.facts)
    if evaluation.error is not None:
        yield _block(f"{view.error_note}\n{evaluation.error}", style="magenta")
    if evaluation.reasoning:
        yield _block(evaluation.reasoning)
    if view.schema_errors:
        yield from (_point(Standing.FAIL, f"{path}: {message}") for path, message in view.schema_errors)
    else:
        yield from (_point(Standing.PASS, hit) for hit in evaluation.hits)
        yield from (_point(Standing.FAIL, miss) for miss in evaluation.misses)
    if evaluation.checks:
        yield _facts([counted(len(evaluation.checks), "check"), f"{view.satisfied} satisfied"])
    for check in evaluation.checks:
        score = "" if check.score is None else f" {check.score} of 10"
        quoted = "" if check.evidence is None else f" “{check.evidence}”"
        yield _point(
            Standing.PASS if check.satisfied else Standing.FAIL, f"{check.id}{score}: {check.reasoning}{quoted}"
        )
    if view.details:
        yield _facts(["Details"])
        yield _block(_as_json(view.details))
    if prompts:
        for name, prompt in view.prompts:
            yield _facts([name])
            yield _block(prompt)
    yield from _attempts(evaluation.attempts, replies=prompts)


def _point(standing: Standing, content: str) -> RenderableType:
    mark = marked(standing)
    return Padding(Text.assemble((f"{standing.glyph} ", mark.style), plain(content, None)), (0, 0, 0, _INDENT))


def _attempts(attempts: Sequence[Attempt], *, replies: bool) -> Iterator[RenderableType]:
    """Show the attempts that failed, or, with their replies, all of them."""
    shown = [view for view in attempt_views(attempts) if replies or view.attempt.error is not None]
    if not shown:
        return
    yield _facts([attempts_phrase(attempts)])
    for view in shown:
        yield _facts(view.facts)
        if view.attempt.error is not None:
            yield _block(view.attempt.error, style="magenta")
        if replies and view.attempt.raw is not None:
            yield _block(view.attempt.raw)
