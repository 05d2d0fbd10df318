"""Freeform mode: the judge grades the answer as a whole (SPEC-P2)."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.contract import FieldContract, Score, Text, Texts
from evenhand.domain.errors import ContractError
from evenhand.domain.evaluation import Evaluation, Status, total_usage
from evenhand.domain.message import Message
from evenhand.domain.scale import UNIT, Labels, Scale
from evenhand.drive.driver import together
from evenhand.evaluators.asking import Answered, GaveUp, Record, ask_first_token
from evenhand.evaluators.prompts import texts
from evenhand.evaluators.sampling import (
    all_flags,
    expected_number,
    judge_details,
    last_error,
    spread,
    turned,
    with_other,
)

if TYPE_CHECKING:
    from evenhand.evaluators.prompt_settings import PromptSettings

MOST_POINTS: Final = 4
LABEL: Final = "label"


def score_field(scale: Scale, *, about: str, direction: str = "") -> Score:
    """Return the field of a reply that decides: a score, or a label."""
    if isinstance(scale, Labels):
        return Score(scale=scale, about=about, name=LABEL)
    return Score(scale=scale, about=f"{about}{direction}")


def _raw(values: Mapping[str, Any]) -> Any:
    return values[LABEL] if LABEL in values else values["score"]


@functools.lru_cache(maxsize=16)
def freeform_contract(scale: Scale = UNIT) -> FieldContract:
    """Make the contract of a freeform reply; the judge reasons before it scores."""
    return FieldContract(
        name="freeform",
        fields=(
            Text(name="reasoning", about="why the answer earns its score, in two or three sentences"),
            Texts(name="hits", most=MOST_POINTS, about="what the candidate answer gets right"),
            Texts(name="misses", most=MOST_POINTS, about="what it gets wrong or leaves out"),
            score_field(scale, about="how well the candidate answer does", direction=", higher being better"),
        ),
    )


@functools.lru_cache(maxsize=16)
def ready_contract(scale: Scale = UNIT) -> FieldContract:
    """Make the contract of a reply to a ready prompt, which says itself what is judged."""
    return FieldContract(
        name="freeform",
        fields=(
            Text(name="reasoning", about="your reasons, step by step, before the score"),
            Texts(name="hits", most=MOST_POINTS, about="what speaks for a high score"),
            Texts(name="misses", most=MOST_POINTS, about="what speaks against it"),
            score_field(scale, about="your judgment, in the sense of the task", direction=", higher being better"),
        ),
    )


FREEFORM: Final = freeform_contract(UNIT)


def freeform_steps(evaluator: PromptSettings, case: Case) -> Steps[Evaluation]:
    """Grade an answer freely; of several samples, the mean counts."""
    if evaluator.by_probability(binary=False):
        return (yield from _by_probability(evaluator, case))
    scale = evaluator.settled_scale
    if evaluator.prompt is not None:
        contract, task = ready_contract(scale), texts.READY_TASK
    else:
        contract = FREEFORM if scale is UNIT else freeform_contract(scale)
        task = evaluator.freeform_task if evaluator.template is None else texts.TEMPLATE_TASK
    if evaluator.samples is None:
        return _by_one_reply(evaluator, scale, (yield from evaluator.inquire(case, contract, task)))
    inquiries = [evaluator.inquire(case, contract, task, sample=sample) for sample in range(evaluator.samples)]
    return _by_samples(evaluator, scale, (yield from together(inquiries)))


def _by_one_reply(evaluator: PromptSettings, scale: Scale, asked: Answered | GaveUp) -> Evaluation:
    if isinstance(asked, GaveUp):
        return evaluator.failed(asked.error, details=judge_details(evaluator.client), **asked.record.fields())
    values = asked.accepted.values
    raw = _raw(values)
    score = scale.unit(raw)
    record = asked.record
    # Not by ``scored``: to hand so many keywords on, twice, would cost as much as to make the evaluation.
    evaluation = Evaluation(
        evaluator=evaluator.name,
        type=evaluator.type,
        status=Status.SCORED,
        score=score,
        score_raw=raw,
        verdict=evaluator.marks.verdict(score),
        hits=values["hits"],
        misses=values["misses"],
        reasoning=values["reasoning"],
        details=judge_details(evaluator.client, (asked,)),
        attempts=record.attempts,
        retry_count=record.retry_count,
        evaluator_provider_request=record.request,
        usage=total_usage(record.attempts),
        flags=asked.flags,
        label=values.get(LABEL),
    )
    if asked.other is None:
        return evaluation
    return with_other(evaluation, _by_one_reply(evaluator, scale, turned(asked)), counted=evaluator.ambiguous)


def _by_samples(evaluator: PromptSettings, scale: Scale, asked: Sequence[Answered | GaveUp]) -> Evaluation:
    record = Record.merged(outcome.record for outcome in asked)
    answered = [outcome for outcome in asked if isinstance(outcome, Answered)]
    if not answered:
        return evaluator.failed(last_error(asked), details=judge_details(evaluator.client), **record.fields())
    raws = [_raw(outcome.accepted.values) for outcome in answered]
    scores = [scale.unit(raw) for raw in raws]
    score = statistics.fmean(scores)
    lost = len(asked) - len(answered)
    # The words are those of the reply that comes nearest to the mean.
    nearest = min(range(len(scores)), key=lambda number: abs(scores[number] - score))
    values = answered[nearest].accepted.values
    evaluation = evaluator.scored(
        score,
        score_raw=raws,
        hits=values["hits"],
        misses=values["misses"],
        reasoning=values["reasoning"],
        details=judge_details(evaluator.client, answered) | spread(scores, lost=lost),
        flags=all_flags(answered, lost=lost),
        # Samples that disagree have a mean, and no label in common.
        label=raws[0] if LABEL in values and len(set(raws)) == 1 else None,
        **record.fields(),
    )
    if all(outcome.other is None for outcome in answered):
        return evaluation
    other = _by_samples(evaluator, scale, [turned(outcome) for outcome in asked])
    return with_other(evaluation, other, counted=evaluator.ambiguous)


def _by_probability(evaluator: PromptSettings, case: Case) -> Steps[Evaluation]:
    scale = evaluator.token_scale()
    numbers = range(int(scale.low), int(scale.high) + 1)
    task = f"{texts.ONE_NUMBER}{scale.words}."
    messages = (
        evaluator.system_message(case, task),
        Message("user", evaluator.user_prompt(case)),
    )
    asked = yield from ask_first_token(messages, judge=evaluator.client)
    if isinstance(asked, GaveUp):
        return evaluator.failed(asked.error, details=judge_details(evaluator.client), **asked.record.fields())
    fields = asked.record.fields()
    try:
        expected = expected_number(asked.choices, numbers)
    except ContractError as error:
        return evaluator.failed(error.failure, details=judge_details(evaluator.client), **fields)
    details = {**judge_details(evaluator.client), "probability_mass": expected.mass}
    score = scale.unit(expected.value)
    return evaluator.scored(score, score_raw=expected.value, details=details, flags=("logprobs",), **fields)
