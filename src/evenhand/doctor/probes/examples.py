"""Whether the order counts in which a judge is shown examples: answers with their verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evenhand.doctor import readings
from evenhand.doctor.pairs import Pair
from evenhand.doctor.probe import BAD, EXAMPLES, GOOD, Examples, Kind, Made, Probe, Setting, case_of
from evenhand.evaluators.judged_examples import JudgedExample
from evenhand.suites.evaluators import JUDGE_TYPE, type_of

ORDER: Final = "example_order"
# How many examples an evaluator without any is given, at most.
_MOST: Final = 4


def examples_for(evaluator: Mapping[str, Any], unasked: Sequence[Pair]) -> Examples:
    """Return the examples of an evaluator, or as many that pass as that fail, made of pairs that are not asked."""
    if own := evaluator.get("examples"):
        return tuple(own)
    # Texts to read are long, and would be paid for with each question.
    several = sorted(unasked, key=lambda pair: pair.context is not None)[:_MOST]
    return tuple(_example(pair, number) for number, pair in enumerate(several[: len(several) // 2 * 2]))


def _example(pair: Pair, number: int) -> Mapping[str, str]:
    answer, verdict = ((pair.good, "pass"), (pair.bad, "fail"))[number % 2]
    return JudgedExample(
        question=pair.question,
        context=pair.context,
        reference_answer=pair.reference,
        candidate_answer=answer,
        verdict=verdict,
    ).as_dict()


def lacks_order(evaluator: Mapping[str, Any], unasked: Sequence[Pair]) -> str:
    """Say why the order of examples cannot be examined; "" where it can."""
    if type_of(evaluator) != JUDGE_TYPE:
        return "the evaluator shows its judge no examples"
    found = len(examples_for(evaluator, unasked))
    if found > 1:
        return ""
    if found == 1:
        return "the evaluator has a single example, of which there is no other order"
    return "so many pairs are asked that none are left to be examples"


def other_order(examples: Examples) -> Examples:
    """Return examples backwards, with another verdict at the end if there is another: the last one counts most.

    >>> [example["verdict"] for example in other_order(({"verdict": "fail"}, {"verdict": "pass"}, {"verdict": "fail"}))]
    ['fail', 'fail', 'pass']
    """
    backwards = examples[::-1]
    others = [example for example in backwards if example["verdict"] != examples[-1]["verdict"]]
    if not others or others[-1] is backwards[-1]:
        return backwards
    return (*(example for example in backwards if example is not others[-1]), others[-1])


def _both_orders(pair: Pair, setting: Setting) -> Iterator[Made]:
    answer, text = ((GOOD, pair.good), (BAD, pair.bad))[setting.number % 2]
    for variant, examples in (("1", setting.examples), ("2", other_order(setting.examples))):
        yield Made(case=case_of(pair, text), answer=answer, variant=variant, examples=examples)


EXAMPLE_ORDER: Final = (
    Probe(
        name=ORDER,
        kind=Kind.BIAS,
        about="The judge is shown examples with their verdicts, in one order and in another.",
        harm="answers that pass with the examples in one order and not in the other",
        make=_both_orders,
        read=readings.flipped,
        limit="max_bias",
        evaluator=EXAMPLES,
    ),
)
