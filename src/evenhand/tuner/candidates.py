"""Candidates: what is made from labelled cases to be put into a judge's prompt, examples and new instructions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.evaluators.judged_examples import JudgedExample
from evenhand.evaluators.prompts import texts
from evenhand.evaluators.prompts.ready import READY
from evenhand.store.results import cases_at
from evenhand.store.store import Store
from evenhand.tuner.labelled import Labelled, training
from evenhand.tuner.settings import BOTH, EXAMPLES, INSTRUCTIONS, TuneSettings

# A judge reads examples with every case: shorter ones are taken first.
LONG: Final = 4_000
# What the model that writes instructions is shown of each text, and of how many cases: most of them those that differ.
MOST_TEXT: Final = 3_000
MOST_DIFFERING: Final = 16
MOST_AGREEING: Final = 4


class Read(NamedTuple):
    """A labelled case with its texts: as it is judged, with the answer in it, and why the judge said what it said."""

    labelled: Labelled
    case: Case
    reasoning: str


def read_cases(store: Store, run: RunRecord, settings: TuneSettings) -> dict[str, Read]:
    """Return the labelled cases by id, with their texts, from the run that is tuned."""
    stored = cases_at(store, run, [case.position for case in settings.cases])
    found: dict[str, Read] = {}
    for labelled in settings.cases:
        if labelled.position not in stored:
            raise ConfigError(f"run {run.id} has no case {labelled.id!r:.80} any more, and it was labelled")
        result = stored[labelled.position].result
        found[labelled.id] = Read(labelled, _answered(result), _reasoning(result, settings.evaluator))
    return found


def _answered(result: CaseResult) -> Case:
    return result.answers[0].put_into(result.case) if result.answers else result.case


def _reasoning(result: CaseResult, evaluator: str) -> str:
    return next((one.evaluation.reasoning for one in result.judgments if one.evaluation.evaluator == evaluator), "")


def candidate(
    settings: TuneSettings,
    way: str,
    without: Sequence[int],
    cases: Mapping[str, Read],
    instructions: Mapping[tuple[int, ...], str],
) -> dict[str, Any] | None:
    """Return the evaluator's definition with what a way makes of the cases outside the folds ``without``.

    ``instructions`` are those that a model wrote, by the folds that it did not see; None where it wrote none.
    """
    made = dict(settings.current)
    if way in (EXAMPLES, BOTH):
        chosen = choose_examples(training(settings.cases, without), cases, settings)
        made["examples"] = [example.as_dict() for example in chosen]
    if way in (INSTRUCTIONS, BOTH):
        if tuple(without) not in instructions:
            return None
        made["instructions"] = instructions[tuple(without)]
    return made


def choose_examples(cases: Sequence[Labelled], read: Mapping[str, Read], settings: TuneSettings) -> list[JudgedExample]:
    """Return examples, passes and fails in turn: first those on which the judge was furthest from people."""

    def rank(case: Labelled) -> tuple[bool, bool, float, bytes]:
        return _length(read[case.id].case) > LONG, case.agrees, -case.gap, _order(settings.seed, case.id)

    by_verdict = [sorted((case for case in cases if case.passes is verdict), key=rank) for verdict in (False, True)]
    chosen: list[Labelled] = []
    for place in range(settings.shown):
        side = by_verdict[place % 2] or by_verdict[1 - place % 2]
        if side:
            chosen.append(side.pop(0))
    return [_example(case, read[case.id].case) for case in chosen]


def _example(labelled: Labelled, case: Case) -> JudgedExample:
    return JudgedExample(
        question=case.question_text,
        context=case.context_text,
        expected_outcome=case.expected_outcome,
        reference_answer=case.reference_text,
        candidate_answer=case.candidate_answer or "",
        verdict=_verdict(labelled.passes),
        reasoning=labelled.note or None,
    )


def rewrite_material(settings: TuneSettings, without: Sequence[int], read: Mapping[str, Read]) -> dict[str, str]:
    """Return what a model is shown that is to write instructions: the task, and cases outside the folds ``without``.

    Most of them are those on which judge and people differ.
    """

    def rank(case: Labelled) -> tuple[float, bytes]:
        return -case.gap, _order(settings.seed, case.id)

    cases = sorted(training(settings.cases, without), key=rank)
    differing = [case for case in cases if not case.agrees]
    agreeing = [case for case in cases if case.agrees]
    material = {"current_task": task_of(settings.current)}
    if settings.current.get("instructions"):
        material["current_instructions"] = settings.current["instructions"]
    shown = [*_in_turn(differing)[:MOST_DIFFERING], *_in_turn(agreeing)[:MOST_AGREEING]]
    for number, case in enumerate(shown, start=1):
        parts = {
            "expected_outcome": read[case.id].case.expected_outcome,
            "context": read[case.id].case.context_text,
            "question": read[case.id].case.question_text,
            "reference_answer": read[case.id].case.reference_text,
            "candidate_answer": read[case.id].case.candidate_answer,
            "people": _verdict(case.passes),
            "people_note": case.note,
            "judge": _verdict(case.judge),
            "judge_reasoning": read[case.id].reasoning,
        }
        material |= {f"case_{number}_{name}": text[:MOST_TEXT] for name, text in parts.items() if text}
    return material


def _in_turn(cases: Sequence[Labelled]) -> list[Labelled]:
    """Return cases so that fails and passes by people take turns as long as there are both."""
    fails = [case for case in cases if not case.passes]
    passes = [case for case in cases if case.passes]
    paired = [case for pair in zip(fails, passes, strict=False) for case in pair]
    return [*paired, *fails[len(paired) // 2 :], *passes[len(paired) // 2 :]]


def task_of(definition: Mapping[str, Any]) -> str:
    """Return in words what an evaluator's judge is asked now."""
    if definition.get("prompt"):
        return READY[definition["prompt"]].text
    if definition.get("template"):
        return str(definition["template"])
    items = [item if isinstance(item, str) else item.get("description", "") for item in definition.get("rubrics") or ()]
    return "\n".join([texts.RUBRIC, *(f"- {item}" for item in items)]) if items else texts.FREEFORM


def _verdict(passes: bool) -> str:
    return "pass" if passes else "fail"


def _length(case: Case) -> int:
    texts_of_case = (case.context_text, case.question_text, case.candidate_answer, case.reference_text)
    return sum(len(text or "") for text in texts_of_case)


def _order(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:example:{name}".encode("utf-8", "surrogatepass")).digest()
