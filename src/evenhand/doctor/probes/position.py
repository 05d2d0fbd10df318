"""Whether a place is favoured: that of an answer, or that of an item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evenhand.doctor import readings
from evenhand.doctor.pairs import Pair
from evenhand.doctor.probe import Kind, Made, Probe, Setting, comparison_of


def _both_orders(pair: Pair, _: Setting) -> Iterator[Made]:
    yield Made(case=comparison_of(pair, pair.good, pair.bad))


POSITION: Final = (
    Probe(
        name="position",
        kind=Kind.BIAS,
        about="A good and a bad answer are compared, in both orders.",
        harm="comparisons in which one place is favoured",
        make=_both_orders,
        read=readings.place,
        limit="max_bias",
        compares=True,
    ),
)
