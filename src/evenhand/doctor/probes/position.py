"""Whether a place is favoured: that of an answer, or that of an item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from evenhand.doctor import readings
from evenhand.doctor.pairs import Pair
from evenhand.doctor.probe import ITEMS, PAIRWISE, RIGHT, Kind, Made, Probe, Setting, case_of, comparison_of
from evenhand.domain.rubric import Rubric


def _both_orders(pair: Pair, _: Setting) -> Iterator[Made]:
    yield Made(case=comparison_of(pair, pair.good, pair.bad))


# True of every answer of the pairs, good or bad.
_TRUE_ITEMS: Final = (
    Rubric(id="text", description="The answer is more than a single letter"),
    Rubric(id="polite", description="The answer insults nobody"),
)
_RIGHT_ITEM: Final = Rubric(id=RIGHT, description="The answer is right, and does what the question asks")


def _first_and_last(pair: Pair, _: Setting) -> Iterator[Made]:
    case = case_of(pair, pair.bad)
    for variant, items in (("1", (_RIGHT_ITEM, *_TRUE_ITEMS)), ("2", (*_TRUE_ITEMS, _RIGHT_ITEM))):
        yield Made(case=replace(case, rubrics=items), variant=variant)


POSITION: Final = (
    Probe(
        name="position",
        kind=Kind.BIAS,
        about="A good and a bad answer are compared, in both orders.",
        harm="comparisons in which one place is favoured",
        make=_both_orders,
        read=readings.place,
        limit="max_bias",
        evaluator=PAIRWISE,
    ),
    Probe(
        name="rubric_order",
        kind=Kind.BIAS,
        about="Among items that are met, the one that a bad answer misses is listed first, and last.",
        harm="bad answers that are called right in one place of the list and not in the other",
        make=_first_and_last,
        read=readings.apart,
        limit="max_bias",
        evaluator=ITEMS,
    ),
)
