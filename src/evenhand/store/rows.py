"""What a run writes, as rows: cases, answers, evaluations, and replies for the cache."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from evenhand.domain.contract import storable
from evenhand.domain.errors import StoreError
from evenhand.domain.json_codec import answer_from, answer_to, case_from, case_to, evaluation_from
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer, PlannedCase, RunRecord
from evenhand.domain.verdict import Thresholds
from evenhand.store.records import Row, refuse_damage
from evenhand.store.shared_texts import readable

# Stands before JSON that the standard library wrote, and has to read: orjson takes long integers for floats.
PATIENT: Final = "\n"
# Stands for the words of an attempt that are the text of the answer, which may be of any length.
_THE_TEXT: Final = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows that are committed together."""

    answers: list[tuple[Any, ...]] = field(default_factory=list)
    evaluations: list[tuple[Any, ...]] = field(default_factory=list)
    replies: list[tuple[Any, ...]] = field(default_factory=list)
    # Requests in batches whose answers are in these rows: the run and the item of each.
    asked: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.answers) + len(self.evaluations)


def dumps(value: object) -> str:
    """Write JSON for a column. NaN becomes null; other values that are not JSON become text."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # whole numbers of more than 64 bits, lone surrogates, and what is nested deep
        text = storable(json.dumps(value, default=str, ensure_ascii=False))
        return PATIENT + json.dumps(json.loads(text, parse_constant=lambda _: None), ensure_ascii=False)


def loads(text: str) -> Any:
    """Read JSON from a column; texts that it shares with others are empty if they were not put back."""
    text = readable(text)
    try:
        return json.loads(text) if text.startswith(PATIENT) else orjson.loads(text)
    except ValueError:
        raise StoreError(
            f"the database is damaged: invalid JSON in a row: {text!r:.80}; evenhand runs verify shows where"
        ) from None


def column(text: str) -> str:
    """Write a text for a column of its own: no database takes lone surrogates, and PostgreSQL no NUL."""
    return text if text.isascii() and "\0" not in text else storable(text).replace("\0", "\ufffd")


def case_content(planned: PlannedCase) -> dict[str, Any]:
    """Return what defines a case: itself, and the evaluators it brings."""
    content: dict[str, Any] = {"case": case_to(planned.case)}
    if planned.evaluators is not None:
        content["evaluators"] = [dict(evaluator) for evaluator in planned.evaluators]
    return content


def planned_from(position: int, digest: str, expected: int, content: str) -> PlannedCase:
    """Read a case."""
    fields: Mapping[str, Any] = loads(content)
    evaluators = fields.get("evaluators")
    return PlannedCase(
        position=position,
        case=case_from(fields["case"]),
        evaluators=None if evaluators is None else tuple(evaluators),
        hash=digest,
        expected=expected,
    )


def planned_of_row(row: Sequence[Any]) -> PlannedCase:
    """Read a case from its columns, in the table's order from ``position`` on, and its content."""
    position, _, digest, expected, content, *_ = row
    return planned_from(position, digest, expected, content)


def answer_row(run: int, position: int, answer: MadeAnswer) -> tuple[Any, ...]:
    """Write an answer of a target; its text is stored once, and not again in its attempt."""
    written = answer_to(answer)
    for attempt, attempt_fields in zip(answer.attempts, written["attempts"], strict=True):
        if attempt.raw is not None and attempt.raw == answer.text:
            attempt_fields["raw"] = _THE_TEXT
            attempt_fields.pop("dropped", None)
    return (run, position, answer.sample, answer.round, dumps(written))


def answer_fields(content: str) -> dict[str, Any]:
    """Read the fields of an answer, each attempt with its text."""
    fields: dict[str, Any] = loads(content)
    for attempt in fields.get("attempts", ()):
        if attempt.get("raw") is _THE_TEXT:
            attempt["raw"] = fields["text"]
    return fields


def answer_of(content: str) -> MadeAnswer:
    """Read an answer of a target."""
    return answer_from(answer_fields(content))


def evaluation_row(
    run: int, position: int, place: int, judgment: Judgment, content: str | None = None
) -> tuple[Any, ...]:
    """Write an evaluation, or its content if that is written already; what is searched by has its own column."""
    evaluation = judgment.evaluation
    return (
        run,
        position,
        place,
        judgment.sample,
        judgment.round,
        column(evaluation.evaluator),
        judgment.key,
        evaluation.status._value_,
        evaluation.score,
        None if evaluation.verdict is None else evaluation.verdict._value_,
        judgment.weight,
        int(judgment.required),
        judgment.cost,
        judgment.seconds,
        dumps(evaluation.as_dict()) if content is None else content,
    )


def judgment_of(row: Sequence[Any]) -> Judgment:
    """Read an evaluation from ``sample, round, key, weight, required, cost, seconds, content``."""
    sample, number, key, weight, required, cost, seconds, content = row
    return Judgment(
        evaluation=evaluation_from(loads(content)),
        weight=weight,
        required=bool(required),
        sample=sample,
        round=number,
        key=key,
        cost=cost,
        seconds=seconds,
    )


def judgment_of_row(row: Sequence[Any]) -> Judgment:
    """Read an evaluation from its columns, in the table's order from ``position`` on, and its content."""
    return judgment_of((row[2], row[3], row[5], *row[9:14]))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCase:
    """A case with everything found about it, and for each of its judgments the place and the sample it has in lists."""

    result: CaseResult
    places: tuple[tuple[int, int], ...]


def stored_case(
    run: RunRecord,
    planned: PlannedCase,
    evaluations: Sequence[Sequence[Any]],
    answers: Sequence[Sequence[Any]],
    thresholds: Thresholds,
) -> StoredCase:
    """Put a case together from its rows: evaluations by sample, place and round, answers by sample and round.

    Of several rounds the last counts; those before it ended in an error and were done again.
    """
    judged: dict[tuple[int, int], list[Judgment]] = {}
    for row in evaluations:
        judgment = judgment_of_row(row)
        rounds = judged.setdefault((row[1], row[2]), [])
        if rounds and rounds[-1].round == judgment.round:
            refuse_damage(run, f"duplicate evaluation of the case at position {planned.position}")
        rounds.append(judgment)
    made: dict[int, list[MadeAnswer]] = {}
    for _, sample, number, content, _ in answers:
        answer_rounds = made.setdefault(sample, [])
        if answer_rounds and answer_rounds[-1].round == number:
            refuse_damage(run, f"duplicate answer to the case at position {planned.position}")
        answer_rounds.append(answer_of(content))
    result = CaseResult(
        position=planned.position,
        case=planned.case,
        answers=tuple(rounds[-1] for rounds in made.values()),
        judgments=tuple(rounds[-1] for rounds in judged.values()),
        replaced=(
            *(answer for rounds in made.values() for answer in rounds[:-1]),
            *(judgment for rounds in judged.values() for judgment in rounds[:-1]),
        ),
        awaited=max(planned.expected * run.repeat - len(judged), 0),
        thresholds=thresholds,
    )
    return StoredCase(result=result, places=tuple(judged))


class RunPage(NamedTuple):
    """Some cases of a run, one after the other, with their evaluations and answers by position, as they are stored."""

    cases: list[Row]
    evaluations: Mapping[int, Sequence[Row]]
    answers: Mapping[int, Sequence[Row]]

    def case(self, run: RunRecord, row: Row, thresholds: Thresholds) -> StoredCase:
        """Return one of the cases with everything found about it."""
        judged, made = self.evaluations.get(row[0], ()), self.answers.get(row[0], ())
        return stored_case(run, planned_of_row(row), judged, made, thresholds)


def reply_row(key: str, model: str, content: Mapping[str, Any]) -> tuple[Any, ...]:
    """Write a whole reply for the cache, with its text."""
    return (key, model, time.time(), dumps(content))
