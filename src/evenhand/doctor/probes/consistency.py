"""Whether a judge says the same when it is asked the same: again, or in other words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evenhand.doctor import readings
from evenhand.doctor.pairs import Pair
from evenhand.doctor.probe import BAD, GOOD, Kind, Made, Probe, Setting, case_of, turn

_WORDINGS: Final = (
    "A right answer carries out the whole request and is in line with the reference answer.",
    "Is the answer correct? It must fulfil the task completely and not be at odds with the reference answer.",
    "Good answers meet every part of the request, and state nothing that the reference answer rules out.",
    "The answer should be correct: the request is satisfied in full, without a conflict with the reference answer.",
)


def _again(pair: Pair, _: Setting) -> Iterator[Made]:
    # The line break is not in the cache, and means nothing: what is asked is the same, by the letter and to the judge.
    for answer, text in ((GOOD, pair.good), (BAD, pair.bad)):
        yield Made(case=case_of(pair, text, question=f"{pair.question}\n"), answer=answer)


def _in_other_words(pair: Pair, setting: Setting) -> Iterator[Made]:
    variant, wording = turn(_WORDINGS, setting)
    answer, text = ((GOOD, pair.good), (BAD, pair.bad))[setting.number % 2]
    yield Made(case=case_of(pair, text, outcome=wording), answer=answer, variant=variant)


CONSISTENCY: Final = (
    Probe(
        name="repeats",
        kind=Kind.CONSISTENCY,
        about="Good and bad answers are judged a second time.",
        harm="verdicts that change when the same is asked again",
        make=_again,
        read=readings.changed,
        limit="max_inconsistency",
    ),
    Probe(
        name="paraphrase",
        kind=Kind.CONSISTENCY,
        about="What a right answer is, is said in other words.",
        harm="verdicts that change with the wording of the instructions",
        make=_in_other_words,
        read=readings.changed,
        limit="max_inconsistency",
    ),
)
