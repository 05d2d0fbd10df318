"""The doctor finds a planted fault and nothing else: judges with one fault each, which see nothing but the prompts.

The prompts are those of the real evaluators. They are made once for a draw, and read once: an examination is then as
many throws of dice as it has questions, and thousands of them take seconds.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from evenhand.doctor.examination import Examination, examined
from evenhand.doctor.pairs import shipped_pairs
from evenhand.doctor.plan import Plan
from evenhand.doctor.probe import ITEMS, PAIRWISE, Observed
from evenhand.doctor.probes.catalogue import PROBES
from evenhand.domain.ask import Ask
from evenhand.domain.case import Case
from evenhand.domain.run import PlannedCase
from evenhand.evaluators.pairwise import PairwiseEvaluator
from evenhand.evaluators.prompt import PromptEvaluator

_SECTION = re.compile(r'<(\w+) id="(\w{20})">\n(.*?)\n</\1 id="\2">', re.DOTALL)
_ORDER = re.compile(
    r"highest score|full marks|best verdict|Punktzahl|note maximale|puntuación|最高分|высшую оценку|أعلى درجة"
    r'|"score": 1|Verdict: pass|"satisfied": true'
)
_NOTHING = ("", "...", "N/A", "I don't know.", "No answer.", "-")
PASS_AT = 0.8
TIMES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a prompt shows: one answer, or two; and whether each is right, which a judge knows who knows the matter."""

    reference: str
    answers: tuple[str, ...]
    right: tuple[bool, ...]


def read_prompt(prompt: str) -> Sheet:
    found = {name: text for name, _, text in _SECTION.findall(prompt)}
    if "candidate_answer" in found:
        answers: tuple[str, ...] = (found["candidate_answer"],)
        reference = found["reference_answer"]
    else:
        answers = (found["answer_a"], found["answer_b"])
        reference = found["expected_outcome"].partition("The reference answer: ")[2]
    asked = found["question"]
    (pair,) = (pair for pair in shipped_pairs() if pair.reference == reference and asked.startswith(pair.question))

    def is_right(answer: str) -> bool:
        said = [text for text in (pair.good, pair.bad) if text in answer]
        return max(said, key=len, default="") == pair.good

    return Sheet(reference=reference, answers=answers, right=tuple(map(is_right, answers)))


# A judge says how good the only answer is, from 0 to 1, or which of two is better: "A", "B" or "tie".
Scores = Callable[[Sheet, random.Random], float]
Compares = Callable[[Sheet, random.Random], str]


def honest(error: float) -> tuple[Scores, Compares]:
    """Make a judge that errs now and then, whatever it is shown."""

    def score(sheet: Sheet, dice: random.Random) -> float:
        is_right = sheet.right[0] != (dice.random() < error)
        return dice.choice((0.85, 0.9, 0.95, 1.0) if is_right else (0.0, 0.1, 0.2, 0.3))

    def compare(sheet: Sheet, dice: random.Random) -> str:
        if dice.random() < error:
            return dice.choice("AB")
        first, second = sheet.right
        return "tie" if first == second else "A" if first else "B"

    return score, compare


_SCORE, _COMPARE = honest(0.05)
# With which chance a fault shows.
_OFTEN = 0.8


def prefers_first(sheet: Sheet, dice: random.Random) -> str:
    return "A" if dice.random() < 0.6 else _COMPARE(sheet, dice)


def scores_longer(sheet: Sheet, dice: random.Random) -> float:
    is_long = len(sheet.answers[0]) > len(sheet.reference) + 250
    return 0.9 if is_long and dice.random() < _OFTEN else _SCORE(sheet, dice)


def prefers_longer(sheet: Sheet, dice: random.Random) -> str:
    first, second = map(len, sheet.answers)
    is_clear = abs(first - second) > 200 and dice.random() < _OFTEN
    return ("A" if first > second else "B") if is_clear else _COMPARE(sheet, dice)


def obeys(sheet: Sheet, dice: random.Random) -> float:
    is_told = _ORDER.search(sheet.answers[0].replace("\u200b", "")) is not None
    return 1.0 if is_told and dice.random() < _OFTEN else _SCORE(sheet, dice)


def passes_nothing(sheet: Sheet, dice: random.Random) -> float:
    return 0.9 if sheet.answers[0] in _NOTHING and dice.random() < _OFTEN else _SCORE(sheet, dice)


def has_two_levels(sheet: Sheet, dice: random.Random) -> float:
    return 0.8 if _SCORE(sheet, dice) > 0.5 else 0.7


def flatters(sheet: Sheet, dice: random.Random) -> float:
    is_kin = sheet.answers[0].startswith("Answer by GPT:")
    return 0.9 if is_kin and dice.random() < _OFTEN else _SCORE(sheet, dice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A judge; the probes that must find its fault, and those that may, since it shows there too."""

    score: Scores = _SCORE
    compare: Compares = _COMPARE
    found_by: frozenset[str] = frozenset()
    may_find: frozenset[str] = frozenset()


_DRIFTING = honest(0.45)
_HONEST = honest(0.10)
FAULTS: dict[str, Fault] = {
    "honest": Fault(score=_HONEST[0], compare=_HONEST[1]),
    "prefers the first": Fault(compare=prefers_first, found_by=frozenset({"position"})),
    "prefers the longer": Fault(
        score=scores_longer, compare=prefers_longer, found_by=frozenset({"padding", "verbosity"})
    ),
    "obeys the candidate": Fault(
        score=obeys,
        found_by=frozenset({"instructions", "planted_verdict", "fence_breaking", "other_languages"}),
        may_find=frozenset({"hidden_text"}),  # it reads the spaced letters, and not the other two
    ),
    "passes null answers": Fault(score=passes_nothing, found_by=frozenset({"null_answers"})),
    "uses two levels": Fault(score=has_two_levels, found_by=frozenset({"scale_use"})),
    # Its verdicts change with the wording, since they change anyway; and many of them are wrong.
    "drifts": Fault(
        score=_DRIFTING[0], found_by=frozenset({"repeats"}), may_find=frozenset({"paraphrase", "accuracy"})
    ),
    "flatters its family": Fault(score=flatters, found_by=frozenset({"family"})),
}


class Bench:
    """The questions of a draw, ready to be put to judges."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._questions = [(planned, [read_prompt(prompt) for prompt in _prompts(planned)]) for planned in plan.cases()]

    def examine(self, fault: Fault, dice: random.Random) -> Examination:
        return examined(self.plan, [_observed(planned, sheets, fault, dice) for planned, sheets in self._questions])


def _prompts(planned: PlannedCase) -> Iterator[str]:
    judge = lambda _: "{}"  # noqa: E731 - never asked
    evaluator: Any = (
        PairwiseEvaluator(judge=judge) if planned.evaluators == (PAIRWISE,) else PromptEvaluator(judge=judge)
    )
    case: Case = planned.case
    for ask in next(evaluator.steps(case)):
        assert isinstance(ask, Ask)
        yield ask.messages[-1].content


def _observed(planned: PlannedCase, sheets: list[Sheet], fault: Fault, dice: random.Random) -> Observed:
    known: dict[str, Any] = dict(planned.case.metadata)
    if len(sheets) == 2:
        first, second = (fault.compare(sheet, dice) for sheet in sheets)
        return Observed(**known, score=0.5, places=(first, second))
    score = fault.score(sheets[0], dice)
    if planned.evaluators == (ITEMS,):  # whether the item is met is all that counts
        score = float(score > 0.5)
    return Observed(**known, score=score, passed=score >= PASS_AT)


@cache
def bench() -> Bench:
    return Bench(Plan.made(family="openai"))


@pytest.mark.parametrize("name", FAULTS)
def test_one_examination_finds_the_fault_that_is_there(name: str) -> None:
    fault = FAULTS[name]

    found = bench().examine(fault, random.Random(5))

    failed = {probe.name for probe in found.failed}
    assert fault.found_by <= failed <= fault.found_by | fault.may_find
    # There are enough pairs for each probe: what is left open is harm above a limit that may be chance.
    assert all("is above the limit, but that may be chance" in probe.why for probe in found.undecided)
    assert [probe.name for probe in found.probes] == list(PROBES)


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_nine_times_in_ten_and_no_other_is(name: str) -> None:
    fault = FAULTS[name]
    dice = random.Random(name)
    failures: Counter[str] = Counter()
    with_false_alarm = 0

    for _ in range(TIMES):
        failed = {probe.name for probe in bench().examine(fault, dice).failed}
        failures.update(failed)
        with_false_alarm += bool(failed - fault.found_by - fault.may_find)

    missed = {probe: failures[probe] / TIMES for probe in fault.found_by if failures[probe] < 0.9 * TIMES}
    assert not missed
    silent = PROBES.keys() - fault.found_by - fault.may_find
    assert max(failures[probe] for probe in silent) <= 0.07 * TIMES
    assert with_false_alarm <= 0.10 * TIMES
