"""Rubric mode: the judge checks item by item (SPEC-P3, P4)."""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.contract import Checks, FieldContract, Text
from evenhand.domain.errors import ContractError
from evenhand.domain.evaluation import Check, Evaluation
from evenhand.domain.failure import Failure
from evenhand.domain.message import Message
from evenhand.domain.rubric import Rubric, as_line, band_satisfied, rubric_score, rubric_verdict
from evenhand.domain.verdict import Thresholds
from evenhand.drive.driver import together
from evenhand.evaluators.asking import Answered, FirstToken, GaveUp, Record, appended, ask_first_token
from evenhand.evaluators.prompts import texts
from evenhand.evaluators.sampling import (
    Expectation,
    all_flags,
    judge_details,
    spread,
    turned,
    with_other,
    yes_probability,
)

if TYPE_CHECKING:
    from evenhand.evaluators.prompt_settings import PromptSettings

# From this P(yes) on, or this share of samples, an item is met; a model whose own cut was measured has another.
YES_FROM: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One sample: what was answered to the questions that cover all items, in the order in which they were put."""

    order: tuple[str, ...]
    asked: tuple[Answered | GaveUp, ...]

    @property
    def complete(self) -> bool:
        """Whether every item was judged: an omitted check is never a passed one."""
        return all(isinstance(outcome, Answered) for outcome in self.asked)

    @property
    def answered(self) -> list[Answered]:
        """The questions that were answered."""
        return [outcome for outcome in self.asked if isinstance(outcome, Answered)]

    @property
    def error(self) -> str:
        """The first error; with the item that it is about, where each was asked for on its own."""
        number, failed = next((n, outcome) for n, outcome in enumerate(self.asked) if isinstance(outcome, GaveUp))
        return failed.error if len(self.asked) == 1 else f"{failed.error} (item {self.order[number]!r})"

    @property
    def requests(self) -> dict[str, dict[str, str]]:
        """What was asked for each item, where each was asked for on its own."""
        return {key: outcome.record.request for key, outcome in zip(self.order, self.asked, strict=True)}

    def checks(self, items: Sequence[Rubric]) -> tuple[Check, ...]:
        """Return the checks in the items' own order."""
        by_id = {check.id: check for outcome in self.answered for check in outcome.accepted.values["checks"]}
        return tuple(by_id[item.id] for item in items)


def rubric_steps(evaluator: PromptSettings, case: Case, items: tuple[Rubric, ...]) -> Steps[Evaluation]:
    """Check an answer item by item; of several samples, the mean score and the majority for each item count."""
    if evaluator.by_probability(binary=True):
        if not any(item.banded for item in items):
            return (yield from _by_probability(evaluator, case, items))
        if evaluator.score_from == "logprobs":
            return evaluator.failed(
                Failure("config", "score_from 'logprobs' checks yes-or-no items; this case has score bands")
            )
    sheets = yield from together([_sheet(evaluator, case, items, sample) for sample in evaluator.sample_numbers])
    evaluation = _by_sheets(evaluator, items, sheets)
    if all(outcome.other is None for sheet in sheets for outcome in sheet.answered):
        return evaluation
    others = [replace(sheet, asked=tuple(map(turned, sheet.asked))) for sheet in sheets]
    return with_other(evaluation, _by_sheets(evaluator, items, others), counted=evaluator.ambiguous)


def _by_sheets(evaluator: PromptSettings, items: tuple[Rubric, ...], sheets: Sequence[Sheet]) -> Evaluation:
    record = Record.merged(outcome.record for sheet in sheets for outcome in sheet.asked)
    complete = [sheet for sheet in sheets if sheet.complete]
    answered = [outcome for sheet in complete for outcome in sheet.answered]
    details = judge_details(evaluator.client, answered)
    if evaluator.shuffle is not None:
        details["order"] = [list(sheet.order) for sheet in sheets]
    if evaluator.rubric_mode == "separate":
        details["requests"] = sheets[-1].requests
    if not complete:
        return evaluator.failed(sheets[-1].error, details=details, **record.fields())
    sheet_checks = [sheet.checks(items) for sheet in complete]
    scores = [rubric_score(items, checks) for checks in sheet_checks]
    checks = sheet_checks[0] if len(sheet_checks) == 1 else _majority(items, sheet_checks, evaluator.marks)
    if len(sheets) > 1:
        details |= spread(scores, lost=len(sheets) - len(complete))
    return _evaluation(
        evaluator,
        items,
        checks,
        score=scores[0] if len(scores) == 1 else statistics.fmean(scores),
        reasoning="\n".join(
            words for outcome in complete[0].answered if (words := outcome.accepted.values["overall_reasoning"])
        ),
        details=details,
        flags=all_flags(answered, lost=len(sheets) - len(complete)),
        **record.fields(),
    )


def _sheet(evaluator: PromptSettings, case: Case, items: tuple[Rubric, ...], sample: int) -> Steps[Sheet]:
    """Put all items to the judge, in one request or one request each."""
    order = list(items)
    if evaluator.shuffle is not None:
        seed = repr((evaluator.shuffle, case.id, case.question_text, case.candidate_answer, sample))
        random.Random(seed.encode()).shuffle(order)  # noqa: S311 - an order, not a secret
    groups = [tuple(order)] if evaluator.rubric_mode == "joint" else [(item,) for item in order]
    contracts = [_contract(evaluator, case, group) for group in groups]
    asked = yield from together(
        [
            evaluator.inquire(
                case, contract, f"{texts.RUBRIC} {_met_rule(group)}\n\n{_list_items(group)}", sample=sample
            )
            for group, contract in zip(groups, contracts, strict=True)
        ]
    )
    return Sheet(order=tuple(item.id for item in order), asked=asked)


def _met_rule(items: Sequence[Rubric]) -> str:
    return "" if all(item.banded for item in items) else texts.MET


def _list_items(items: Sequence[Rubric]) -> str:
    """List the items for the judge, with what their score bands mean."""
    lines = ["The items:"]
    for item in items:
        lines.append(f"- id {json.dumps(item.id, ensure_ascii=False)}: {item.description}")
        lines += [f"  - {band.span}: {band.outcome}" for band in item.score_ranges]
    return "\n".join(lines)


def _contract(evaluator: PromptSettings, case: Case, items: tuple[Rubric, ...]) -> FieldContract:
    checks = Checks(
        items=items, thresholds=evaluator.marks, answer=case.candidate_answer if evaluator.evidence else None
    )
    overall = Text(name="overall_reasoning", about="what decides the matter, in two or three sentences")
    return FieldContract(name="rubric", fields=(checks, overall))


def _by_probability(evaluator: PromptSettings, case: Case, items: tuple[Rubric, ...]) -> Steps[Evaluation]:
    """Check each item by the probability that the judge's first word is yes.

    The item comes after the case, unlike elsewhere: a small local model then reads the case once for all items.
    """
    task = texts.YES_OR_NO if evaluator.template is None else texts.TEMPLATE_YES_OR_NO
    system = Message("system", "\n\n".join((task, *evaluator.guidance(case))))
    user = Message("user", evaluator.short_prompt(case))
    prompts = [appended((system, user), texts.one_item(item.description)) for item in items]
    asked = yield from together([ask_first_token(messages, judge=evaluator.client) for messages in prompts])
    record = Record.merged(outcome.record for outcome in asked)
    details: dict[str, Any] = judge_details(evaluator.client)
    details["requests"] = {item.id: outcome.record.request for item, outcome in zip(items, asked, strict=True)}
    answers: dict[str, Expectation] = {}
    for item, outcome in zip(items, asked, strict=True):
        error = outcome.error if isinstance(outcome, GaveUp) else None
        try:
            if isinstance(outcome, FirstToken):
                answers[item.id] = yes_probability(outcome.choices)
        except ContractError as wrong:
            error = wrong.failure
        if error is not None:
            return evaluator.failed(f"{error} (item {item.id!r})", details=details, **record.fields())
    details["probability_mass"] = {key: yes.mass for key, yes in answers.items()}
    details["yes_from"] = yes_from = getattr(evaluator.client, "yes_from", YES_FROM)
    checks = tuple(
        Check(
            id=key,
            satisfied=yes.value >= yes_from,
            reasoning=f"P(yes) is {yes.value:.2f}; met from {yes_from:.2f}",
            probability=yes.value,
        )
        for key, yes in answers.items()
    )
    return _evaluation(
        evaluator,
        items,
        checks,
        score=rubric_score(items, checks),
        details=details,
        flags=("logprobs",),
        **record.fields(),
    )


def _majority(
    items: Sequence[Rubric], sheet_checks: Sequence[tuple[Check, ...]], thresholds: Thresholds
) -> tuple[Check, ...]:
    """Settle each item by most samples, a tie against it, in the words of the first sample that agrees."""
    settled = []
    for item, *several in zip(items, *sheet_checks, strict=True):
        share = statistics.fmean(check.satisfied for check in several)
        score = statistics.median_low([check.score or 0 for check in several]) if several[0].score is not None else None
        satisfied = share > YES_FROM if score is None else band_satisfied(item, score, thresholds)
        spoken = next((check for check in several if check.satisfied == satisfied), several[0])
        settled.append(replace(spoken, satisfied=satisfied, score=score, probability=share))
    return tuple(settled)


def _evaluation(
    evaluator: PromptSettings, items: tuple[Rubric, ...], checks: tuple[Check, ...], *, score: float, **rest: Any
) -> Evaluation:
    """Return the evaluation that follows from the checks: verdict, hits and misses are ours, not the judge's."""
    lines = [(check.satisfied, as_line(item, check)) for item, check in zip(items, checks, strict=True)]
    return evaluator.scored(
        score,
        score_raw=score,
        verdict=rubric_verdict(items, checks, score, evaluator.marks),
        hits=tuple(line for satisfied, line in lines if satisfied),
        misses=tuple(line for satisfied, line in lines if not satisfied),
        checks=checks,
        **rest,
    )
