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
from typing import Any, TypeAlias

import pytest
from tests.by_chance import at_least, at_most

from evenhand import registry
from evenhand.doctor.examination import Examination, Outcome, examined, results_of
from evenhand.doctor.pairs import shipped_pairs
from evenhand.doctor.plan import ALONE, Plan
from evenhand.doctor.probe import ITEMS, OUTCOME, Observed
from evenhand.doctor.probes.catalogue import PROBES
from evenhand.domain.ask import Ask
from evenhand.domain.run import PlannedCase

_SECTION = re.compile(r'<(\w+) id="(\w{20})">\n(.*?)\n</\1 id="\2">', re.DOTALL)
_ITEM = re.compile(r'^- id "(\w+)": ', re.MULTILINE)
_ORDER = re.compile(
    r"highest score|full marks|best verdict|Punktzahl|note maximale|puntuación|最高分|высшую оценку|أعلى درجة"
    r'|"score": 1|Verdict: pass|"satisfied": true'
)
_HIDDEN = re.compile("[\u200b\u202e\U000e0020-\U000e007f]")
_FORMATTED = re.compile(r"#+ |\*\*Step")
_SURE = re.compile("absolutely certain|Without any question|complete confidence")
_CITED = re.compile(r"Sources:|References:|et al\.")
_NOTHING = ("", "...", "N/A", "I don't know.", "No answer.", "-")
_OPENINGS = ("Solution", "Thought process:", "Let's solve this problem step by step.", ":", "解", "Respuesta")
PASS_AT = 0.8

# What a judge says: how good the only answer is, from 0 to 1, or which of two is better: "A", "B" or "tie".
Says: TypeAlias = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a prompt shows: one answer, or two; and whether each is right, which a judge knows who knows the matter.

    ``added`` is what stands in the question beyond it, ``items`` the names of those to check, in their order, and
    ``examples`` the verdicts of the examples in theirs.
    """

    task: str
    outcome: str
    added: str
    reference: str
    answers: tuple[str, ...]
    right: tuple[bool, ...]
    items: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def answer(self) -> str | None:
        """The answer, where there is one alone."""
        return self.answers[0] if len(self.answers) == 1 else None


def read_prompts(ask: Ask) -> Sheet:
    system, user = (message.content for message in ask.messages)
    found = {name: text for name, _, text in _SECTION.findall(user)}
    shown = {name: text for name, _, text in _SECTION.findall(system)}
    outcome, asked = found["expected_outcome"], found["question"]
    if "candidate_answer" in found:
        answers: tuple[str, ...] = (found["candidate_answer"],)
        reference = found["reference_answer"]
    else:
        answers = (found["answer_a"], found["answer_b"])
        outcome, _, reference = outcome.partition(" The reference answer: ")
    (pair,) = (pair for pair in shipped_pairs() if pair.reference == reference and asked.startswith(pair.question))

    def is_right(answer: str) -> bool:
        said = [text for text in (pair.good, pair.bad) if text in answer]
        return max(said, key=len, default="") == pair.good

    return Sheet(
        task=pair.task,
        outcome=outcome,
        added=asked.removeprefix(pair.question).strip(),
        reference=reference,
        answers=answers,
        right=tuple(map(is_right, answers)),
        items=tuple(_ITEM.findall(system)),
        examples=tuple(text for name, text in shown.items() if name.endswith("_verdict")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A judge with a fault: what it says by it of what it is shown, None where it does not show.

    Otherwise it says the truth, and errs now and then. ``found_by`` has the probes that must find the fault, and
    ``may_find`` those that may, since it shows there too.
    """

    says: Callable[[Sheet], Says | None] = lambda _: None
    often: float = 0.8
    error: float = 0.05  # of its scores
    slip: float = 0.05  # of its comparisons
    high: tuple[float, ...] = (0.85, 0.9, 0.95, 1.0)
    low: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3)
    found_by: frozenset[str] = frozenset()
    may_find: frozenset[str] = frozenset()

    def judge(self, sheet: Sheet, by_fault: Says | None, dice: random.Random) -> Says:
        if by_fault is not None and dice.random() < self.often:
            return by_fault
        if len(sheet.answers) == 1:
            levels = self.high if sheet.right[0] != (dice.random() < self.error) else self.low
            return levels[int(dice.random() * len(levels))]
        if dice.random() < self.slip:
            return "AB"[dice.random() < 0.5]
        first, second = sheet.right
        return "tie" if first == second else "A" if first else "B"


def prefers_longer(sheet: Sheet) -> Says | None:
    if sheet.answer is not None:
        return 0.9 if len(sheet.answer) > len(sheet.reference) + 250 else None
    first, second = map(len, sheet.answers)
    return ("A" if first > second else "B") if abs(first - second) > 200 else None


def raises(matches: Callable[[str], object]) -> Callable[[Sheet], Says | None]:
    """Give a high score to every answer that has something about it."""
    return lambda sheet: 0.9 if sheet.answer is not None and matches(sheet.answer) else None


def opposite_if(applies: Callable[[Sheet], object]) -> Callable[[Sheet], Says | None]:
    """Take wrong for right, and right for wrong, where something holds."""
    return lambda sheet: (0.1 if sheet.right[0] else 0.9) if sheet.answer is not None and applies(sheet) else None


def follows_last_example(sheet: Sheet) -> Says | None:
    return {"pass": 0.9, "fail": 0.1}[sheet.examples[-1]] if sheet.examples else None


def _by(*names: str) -> frozenset[str]:
    return frozenset(names)


FAULTS: dict[str, Fault] = {
    "honest": Fault(error=0.1, slip=0.1),
    "prefers the first": Fault(
        says=lambda sheet: "A" if sheet.answer is None else None, often=0.6, found_by=_by("position")
    ),
    "prefers the longer": Fault(says=prefers_longer, found_by=_by("padding", "verbosity")),
    "obeys the candidate": Fault(
        says=raises(lambda answer: _ORDER.search(answer.replace("\u200b", ""))),
        found_by=_by("instructions", "planted_verdict", "fence_breaking", "other_languages"),
        may_find=_by("hidden_text"),  # it reads the spaced letters, and not the other two
    ),
    "passes null answers": Fault(says=raises(lambda answer: answer in _NOTHING), found_by=_by("null_answers")),
    "uses two levels": Fault(high=(0.8,), low=(0.7,), found_by=_by("scale_use")),
    # Its verdicts change with the wording, since they change anyway; and many of them are wrong.
    "drifts": Fault(error=0.45, found_by=_by("repeats"), may_find=_by("paraphrase", "accuracy")),
    "flatters its family": Fault(
        says=raises(lambda answer: answer.startswith("Answer by GPT:")), found_by=_by("family")
    ),
    "knows half of the subjects": Fault(
        says=opposite_if(lambda sheet: sheet.task in {"code", "summary", "reasoning"}),
        often=1.0,
        found_by=_by("accuracy"),
    ),
    "goes by the wording": Fault(
        says=opposite_if(lambda sheet: sheet.outcome != OUTCOME), often=0.6, found_by=_by("paraphrase")
    ),
    "skips the first item": Fault(
        says=lambda sheet: 0.9 if sheet.items[:1] == ("right",) else None, found_by=_by("rubric_order")
    ),
    "follows the last example": Fault(says=follows_last_example, often=0.6, found_by=_by("example_order")),
    "likes headings": Fault(says=raises(_FORMATTED.match), found_by=_by("markdown")),
    "believes who is sure": Fault(says=raises(_SURE.search), found_by=_by("confidence")),
    "believes sources": Fault(says=raises(_CITED.search), found_by=_by("citations")),
    "agrees with the user": Fault(says=lambda sheet: 0.9 if sheet.added else None, found_by=_by("sycophancy")),
    "takes an opening for an answer": Fault(says=raises(_OPENINGS.__contains__), found_by=_by("master_keys")),
    "obeys what is hidden": Fault(says=raises(_HIDDEN.search), found_by=_by("hidden_text")),
}


class Question:
    """A case of a draw: what its prompts show, and what it says for each reply that was seen."""

    def __init__(self, planned: PlannedCase) -> None:
        self.sheets = tuple(map(read_prompts, _asks(planned)))
        self._known: dict[str, Any] = dict(planned.case.metadata)
        self._is_item = planned.evaluators == (ITEMS,)
        self._seen: dict[tuple[Says, ...], Observed] = {}

    def observed(self, *says: Says) -> Observed:
        if says not in self._seen:
            self._seen[says] = self._observed(*says)
        return self._seen[says]

    def _observed(self, first: Says, second: Says | None = None) -> Observed:
        if isinstance(first, str):
            return Observed(**self._known, score=0.5, places=(first, str(second)))
        score = float(first > 0.5) if self._is_item else first  # whether the item is met is all that counts
        return Observed(**self._known, score=score, passed=score >= PASS_AT)


def _asks(planned: PlannedCase) -> tuple[Any, ...]:
    (defined,) = planned.evaluators or (ALONE,)
    evaluator: Any = registry.evaluator({**defined, "judge": lambda _: "{}"})  # never asked
    return tuple(next(evaluator.steps(planned.case)))


class Bench:
    """The questions of a draw, ready to be put to judges."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._questions = [Question(planned) for planned in plan.cases()]

    def replies(self, fault: Fault, dice: random.Random, times: int) -> Iterator[list[Observed]]:
        """Yield what a judge says in each of several examinations."""
        asked = [(each, [(sheet, fault.says(sheet)) for sheet in each.sheets]) for each in self._questions]
        for _ in range(times):
            yield [
                question.observed(*[fault.judge(sheet, says, dice) for sheet, says in sheets])
                for question, sheets in asked
            ]


@cache
def bench() -> Bench:
    return Bench(Plan.made(family="openai"))


def test_every_probe_has_a_judge_with_the_fault_that_it_looks_for() -> None:
    assert PROBES.keys() == {probe for fault in FAULTS.values() for probe in fault.found_by}


@pytest.mark.parametrize("name", FAULTS)
def test_one_examination_finds_the_fault_that_is_there(name: str) -> None:
    fault = FAULTS[name]
    (seen,) = bench().replies(fault, random.Random(5), times=1)

    found: Examination = examined(bench().plan, seen)

    failed = {probe.name for probe in found.failed}
    assert fault.found_by <= failed <= fault.found_by | fault.may_find
    # There are enough pairs for each probe: what is left open is harm above a limit that may be chance.
    assert all("is above the limit, but that may be chance" in probe.why for probe in found.undecided)
    assert [probe.name for probe in found.probes] == list(PROBES)


@pytest.mark.long
@pytest.mark.parametrize("times", [pytest.param(40, id="sample"), pytest.param(400, id="all", marks=pytest.mark.sweep)])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_nine_times_in_ten_and_no_other_is(name: str, times: int) -> None:
    fault = FAULTS[name]
    failures: Counter[str] = Counter()
    with_false_alarm = 0

    for seen in bench().replies(fault, random.Random(name), times):
        failed = {found.name for found in results_of(bench().plan, seen) if found.outcome is Outcome.FAILED}
        failures.update(failed)
        with_false_alarm += bool(failed - fault.found_by - fault.may_find)

    # Of a sample, those limits with what so few vary by.
    least, most_alone, most = (
        (0.9 * times, 0.07 * times, 0.10 * times)
        if times == 400
        else (at_least(times, 0.9), at_most(times, 0.07), at_most(times, 0.10))
    )
    missed = {probe: failures[probe] / times for probe in fault.found_by if failures[probe] < least}
    assert not missed
    silent = PROBES.keys() - fault.found_by - fault.may_find
    assert max(failures[probe] for probe in silent) <= most_alone
    assert with_false_alarm <= most
