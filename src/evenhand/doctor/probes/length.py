"""Whether length alone helps: words that say nothing are added to an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evenhand.doctor import readings
from evenhand.doctor.pairs import Pair
from evenhand.doctor.probe import GOOD, PAIRWISE, Kind, Made, Probe, Setting, case_of, comparison_of

_FILLER: Final = (
    "To answer this well, it helps to look at the question from several sides.",
    "There are a number of aspects that one may wish to keep in mind here.",
    "Each of them deserves attention, and together they give a fuller view of the matter.",
    "It is worth taking the time to consider what is being asked, and why.",
    "With this in mind, the answer given above can be read in its wider setting.",
    "Questions of this kind come up often, and people approach them in different ways.",
    "A careful reader will want to weigh all of this before moving on.",
    "In summary, the points made above address the question that was asked.",
)
# How many times longer a padded answer is, at least.
_TIMES: Final = 3


def padded(text: str) -> str:
    """Return a text with sentences that say nothing, three times as long or longer.

    >>> padded("Paris.").startswith("Paris. To answer")
    True
    """
    made = f"{text} {_FILLER[0]}" if "\n" not in text else f"{text}\n\n{_FILLER[0]}"
    number = 1
    while len(made) < _TIMES * len(text) or number < len(_FILLER) // 2:
        made += f" {_FILLER[number % len(_FILLER)]}"
        number += 1
    return made


def _longer_bad(pair: Pair, _: Setting) -> Iterator[Made]:
    yield Made(case=case_of(pair, padded(pair.bad)))


def _longer_good(pair: Pair, _: Setting) -> Iterator[Made]:
    yield Made(case=comparison_of(pair, padded(pair.good), pair.good), answer=GOOD)


LENGTH: Final = (
    Probe(
        name="padding",
        kind=Kind.BIAS,
        about="Bad answers are made at least three times as long by sentences that say nothing.",
        harm="bad answers whose score rises when they are longer",
        make=_longer_bad,
        read=readings.raised,
        limit="max_bias",
    ),
    Probe(
        name="verbosity",
        kind=Kind.BIAS,
        about="A good answer is compared with itself, made longer by sentences that say nothing.",
        harm="comparisons in which the longer of two equal answers is favoured",
        make=_longer_good,
        read=readings.favoured,
        limit="max_bias",
        evaluator=PAIRWISE,
    ),
)
