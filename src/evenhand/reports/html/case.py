"""All about one case, for the HTML report: what was asked and answered, and how it was judged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from markupsafe import Markup

from evenhand.domain.aggregate import CaseScore
from evenhand.domain.case import transcript
from evenhand.domain.evaluation import Attempt, Check, Evaluation, Usage
from evenhand.domain.json_codec import case_to
from evenhand.domain.message import MessageLike, messages_from
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer
from evenhand.domain.verdict import Verdict
from evenhand.reports.html.markup import join, tag, text
from evenhand.reports.json_text import strict_json
from evenhand.reports.phrases import Standing, cost_text, counted, duration_text, score_text
from evenhand.reports.summary import blamed

# Of a longer text the beginning and the end are shown: a judge's verdict tends to stand at the end.
HEAD: Final = 15_000
TAIL: Final = 5_000
# Longer ones scroll.
_LONG: Final = 1_200
_LONG_LINES: Final = 24

_SHOWN_BY_THEMSELVES: Final = {
    "id", "question", "input_messages", "candidate_answer", "output_messages", "reference_answer", "expected_messages",
    "expected_outcome",
}  # fmt: skip


def badge(standing: Standing) -> Markup:
    """Show a standing by sign, word and colour."""
    return tag("span", tag("span", standing.glyph, aria_hidden="true"), f" {standing.word}", class_=f"badge {standing}")


def sign(standing: Standing) -> Markup:
    """Show a standing where there is room for its sign only."""
    return tag("abbr", standing.glyph, title=standing.word, class_=standing.value)


def about_case(result: CaseResult) -> Markup:
    """Show everything that was found about a case."""
    return tag("div", _heading(result), _material(result), _judgments(result), class_="about")


def fold(summary: str, *inside: str | None) -> Markup:
    """Hide what most readers do not look for; it opens at a click."""
    return tag("details", tag("summary", summary), *inside, class_="fold")


def as_json(value: object) -> str:
    """Write a value for people who read JSON."""
    return json.dumps(json.loads(strict_json(value)), ensure_ascii=False, indent=2)


def verbatim(said: str) -> Markup:
    """Show text as it is, line by line: it is somebody else's, and only ever text."""
    # What is long scrolls, and what scrolls must be reachable by keyboard.
    long = len(said) > _LONG or said.count("\n") > _LONG_LINES
    return _lines(said, class_="long" if long else None, tabindex=0 if long else None)


def _lines(said: str, **attributes: str | int | None) -> Markup:
    # HTML drops a line break that comes first: this one is for it to take.
    return tag("pre", Markup("\n"), _abridged(said), dir="auto", **attributes)


def _abridged(said: str) -> Markup:
    left_out = len(said) - HEAD - TAIL
    if left_out <= 0:
        return text(said)
    note = tag("span", f"\n… {counted(left_out, 'character')} left out of this page …\n", class_="quiet")
    return join(said[:HEAD], note, said[-TAIL:])


def _problem(error: str | None) -> Markup | None:
    return None if error is None else tag("p", _abridged(error), class_="problem", dir="auto")


def _heading(result: CaseResult) -> Markup:
    standing = Standing.of_case(result)
    outcome = result.outcome
    facts = [
        result.case.cluster and f"cluster {result.case.cluster}",
        f"cost {cost_text(result.cost)}" if result.judgments and result.cost is not None else None,
        f"{counted(result.awaited, 'judgment')} still to be made" if result.awaited else None,
        f"{blamed(result)} failed: no score, and in no mean" if standing is Standing.ERROR else None,
    ]
    if standing is Standing.FAIL and result.thresholds.verdict(outcome.score or 0) is not Verdict.FAIL:
        facts.append("fails because a required evaluator does")
    samples = result.by_sample
    if len(samples) > 1:
        facts.append(f"{len(samples)} samples: {', '.join(map(_sample, samples))}")
    return tag(
        "header",
        tag("h3", result.id),
        tag("span", _listed(facts), class_="quiet"),
        tag("a", "Link to this case", href=f"#case-{result.position + 1}"),
    )


def _sample(found: CaseScore) -> str:
    standing = Standing.of(found)
    return f"{standing.glyph} {score_text(found.score) if standing.scored else standing.word}"


def _material(result: CaseResult) -> Markup:
    case = result.case
    rest = {key: value for key, value in case_to(case).items() if key not in _SHOWN_BY_THEMSELVES}
    question = case.question if case.question is not None else _conversation(case.input_messages)
    return tag(
        "div",
        _passage("Question", question),
        *(_answer(one, alone=len(result.answers) == 1) for one in result.answers),
        None if result.answers else _passage("Answer", case.candidate_answer, missing="There is no answer."),
        _passage("Messages of the answer", _conversation(case.output_messages)),
        _passage("Reference", case.reference_answer),
        _passage("Messages expected", _conversation(case.expected_messages)),
        _passage("Expected outcome", case.expected_outcome),
        fold(f"More of the case: {', '.join(rest)}", verbatim(as_json(rest))) if rest else None,
        class_="material",
    )


def _passage(name: str, said: str | None, *after: str | None, missing: str | None = None) -> Markup | None:
    if said is None and missing is None and not any(after):
        return None
    shown = tag("p", missing, class_="quiet") if said is None and missing is not None else None
    return tag("div", tag("h4", name), shown if said is None else verbatim(said), *after, class_="passage")


def _answer(made: MadeAnswer, *, alone: bool) -> Markup | None:
    took = [
        None if made.latency is None else duration_text(made.latency),
        _tokens(made.usage),
        f"cost {cost_text(made.cost)}",
    ]
    return _passage(
        "Answer" if alone else f"Answer, sample {made.sample + 1}",
        made.text,
        _problem(made.error),
        tag("p", _listed(took), class_="quiet took"),
        _attempts(made.attempts),
    )


def _conversation(messages: Sequence[MessageLike]) -> str | None:
    """Write messages down: as a transcript, or as JSON where they hold more than text."""
    told = messages_from(messages)
    if not told:
        return None
    return as_json([one.as_dict() for one in told]) if any(one.more for one in told) else transcript(told)


def _judgments(result: CaseResult) -> Markup:
    several = len({one.sample for one in result.judgments}) > 1
    shown = [_judgment(one, several=several) for one in result.judgments]
    replaced = [
        _judgment(one, several=several) if isinstance(one, Judgment) else _answer(one, alone=not several)
        for one in result.replaced
    ]
    return tag(
        "div",
        *(shown or [tag("p", "Not judged yet.", class_="quiet")]),
        fold(f"{counted(len(replaced), 'earlier attempt')} done anew after an error", *replaced) if replaced else None,
        class_="judgments",
    )


def _judgment(judgment: Judgment, *, several: bool) -> Markup:
    found = judgment.evaluation
    raw = found.score_raw if found.score_raw != found.score else None
    details = dict(found.details)
    judge = details.pop("judge") if isinstance(details.get("judge"), str) else None
    facts = [
        found.type,
        judge,
        f"sample {judgment.sample + 1}" if several else None,
        None if raw is None else f"given as {strict_json(raw)}",
        None if judgment.weight == 1 else f"weight {judgment.weight:g}",
        "required" if judgment.required else None,
        f"asked {found.retry_count + 1} times" if found.retry_count else None,
        f"flags: {', '.join(found.flags)}" if found.flags else None,
    ]
    standing = Standing.of(found)
    heading = tag(
        "header",
        tag("h4", found.evaluator),
        badge(standing),
        None if standing is Standing.ERROR or found.score is None else tag("span", score_text(found.score, 3)),
        tag("span", _listed(facts), class_="quiet"),
    )
    return tag(
        "article",
        heading,
        _problem(found.error),
        _lines(found.reasoning, class_="prose") if found.reasoning else None,
        _points(found),
        tag(
            "div",
            _checks(found.checks),
            fold("Details", verbatim(as_json(details))) if details else None,
            _attempts(found.attempts),
            _prompts(found.evaluator_provider_request),
            class_="folds",
        ),
        class_="evaluation",
    )


def _points(found: Evaluation) -> Markup | None:
    lines = [
        tag("li", tag("abbr", standing.glyph, title=word, class_=standing.value), _abridged(point), dir="auto")
        for standing, word, points in ((Standing.PASS, "hit", found.hits), (Standing.FAIL, "miss", found.misses))
        for point in points
    ]
    return tag("ul", *lines, class_="points") if lines else None


def _checks(checks: Sequence[Check]) -> Markup | None:
    if not checks:
        return None
    met = sum(check.satisfied for check in checks)
    head = tag("tr", *(tag("th", name, scope="col") for name in ("Check", "Found", "Reasoning")))
    return fold(
        f"{counted(len(checks), 'check')}, {met} satisfied",
        tag("table", tag("thead", head), tag("tbody", *(_check(one) for one in checks))),
    )


def _check(check: Check) -> Markup:
    found = [
        "satisfied" if check.satisfied else "not satisfied",
        None if check.score is None else f"{check.score} of 10",
        None if check.probability is None else f"P(yes) {check.probability:.3f}",
    ]
    quote = None if check.evidence is None else tag("div", f"“{check.evidence}”", class_="quiet", dir="auto")
    return tag(
        "tr",
        tag("th", check.id, scope="row", class_="id"),
        tag("td", sign(Standing.PASS if check.satisfied else Standing.FAIL), " ", _listed(found)),
        tag("td", tag("div", check.reasoning, dir="auto"), quote),
    )


def _attempts(attempts: Sequence[Attempt]) -> Markup | None:
    if not attempts:
        return None
    failed = sum(one.error is not None for one in attempts)
    cached = sum(one.cached for one in attempts)
    said = counted(len(attempts), "attempt")
    said += (f", {failed} failed" if failed else "") + (f", {cached} cached" if cached else "")
    return fold(said, tag("ol", *(_attempt(number, one) for number, one in enumerate(attempts, 1)), class_="attempts"))


def _attempt(number: int, attempt: Attempt) -> Markup:
    facts = [
        f"{number}. {attempt.kind}",
        "from the cache" if attempt.cached else duration_text(attempt.latency),
        _tokens(attempt.usage),
    ]
    return tag(
        "li",
        tag("div", _listed(facts), class_="quiet"),
        _problem(attempt.error),
        None if attempt.raw is None else verbatim(attempt.raw),
    )


def _prompts(request: Mapping[str, str] | None) -> Markup | None:
    if not request:
        return None
    known = {"systemPrompt": "System prompt", "userPrompt": "User prompt"}
    order = [*(key for key in known if key in request), *(key for key in request if key not in known)]
    return fold("Prompts as sent", *(join(tag("h5", known.get(key, key)), verbatim(request[key])) for key in order))


def _tokens(usage: Usage | None) -> str | None:
    if usage is None:
        return None
    return f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"


def _listed(facts: Iterable[str | None]) -> Markup:
    return join(*(fact for fact in facts if fact), between=" · ")
