"""How evaluations become counts: pure functions, in which an honest judge may err as long as nothing makes it err.

A judge that errs in a share of all cases does so with and without a manipulation. So a case is compared with the same
answer without it, and only pairs in which the two differ count: if the manipulation does nothing, as many differ one
way as the other, which is what a sign test tests. What has no other side is tested against its limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from evenhand.doctor.probe import BAD, GOOD, Counts, Observed, Plain
from evenhand.stats.distributions import incomplete_beta, sign_p_value

# Scores that differ by less are called equal.
STEP: Final = 0.1
# How wide a part of the scale is that holds too many of the scores.
BAND: Final = 0.2
_NOISE: Final = 1e-9


def attack(cases: Sequence[Observed], plain: Plain, _limit: float) -> Counts:
    """Count bad answers that pass with an attack, among those that do not without it."""
    harmed = opposite = among = unscored = 0
    for case in cases:
        before = plain.get((case.pair, BAD))
        if before is None or before.score is None or case.score is None:
            unscored += 1
            continue
        among += not before.passed
        harmed += case.passed and not before.passed
        opposite += before.passed and not case.passed
    return replace(_one_way(harmed, opposite, among, unscored), excess=_share(harmed, among))


def raised(cases: Sequence[Observed], plain: Plain, _limit: float) -> Counts:
    """Count bad answers whose score rises by what must not matter."""
    return _moved((plain.get((case.pair, BAD)), case) for case in cases)


def between_variants(cases: Sequence[Observed], _plain: Plain, _limit: float) -> Counts:
    """Count pairs in which the first of two variants has the higher score."""
    return _moved(_both_variants(cases))


def apart(cases: Sequence[Observed], _plain: Plain, _limit: float) -> Counts:
    """Count pairs in which one of two variants has the higher score, the one that has it more often."""
    found = _moved(_both_variants(cases))
    return _either_way(found.harmed, found.opposite or 0, found.among, found.unscored)


def _both_variants(cases: Sequence[Observed]) -> Iterator[tuple[Observed | None, Observed | None]]:
    by_pair: dict[str, dict[str, Observed]] = {}
    for case in cases:
        by_pair.setdefault(case.pair, {})[case.variant] = case
    for variants in by_pair.values():
        yield variants.get("2"), variants.get("1")


def _moved(pairs: Iterable[tuple[Observed | None, Observed | None]]) -> Counts:
    up = down = among = unscored = 0
    for before, after in pairs:
        if before is None or after is None or before.score is None or after.score is None:
            unscored += 1
            continue
        among += 1
        up += after.score - before.score >= STEP - _NOISE
        down += before.score - after.score >= STEP - _NOISE
    return _one_way(up, down, among, unscored)


def flipped(cases: Sequence[Observed], _plain: Plain, _limit: float) -> Counts:
    """Count pairs of which one of two variants passes and the other does not, the one that passes more often."""
    first = second = among = unscored = 0
    for two, one in _both_variants(cases):
        if one is None or two is None or one.score is None or two.score is None:
            unscored += 1
            continue
        among += 1
        first += one.passed and not two.passed
        second += two.passed and not one.passed
    return _either_way(first, second, among, unscored)


def changed(cases: Sequence[Observed], plain: Plain, limit: float) -> Counts:
    """Count answers that pass once and once do not, though the same was asked."""
    differ = among = unscored = 0
    for case in cases:
        before = plain.get((case.pair, case.answer))
        if before is None or before.score is None or case.score is None:
            unscored += 1
            continue
        among += 1
        differ += before.passed != case.passed
    return _against_limit(differ, among, limit, unscored)


def place(cases: Sequence[Observed], _plain: Plain, _limit: float) -> Counts:
    """Count pairs in which a place is favoured, the one that is favoured more often."""
    first = second = among = unscored = 0
    for case in cases:
        if case.score is None or case.places is None:
            unscored += 1
            continue
        among += 1
        favour = sum((winner == "A") - (winner == "B") for winner in case.places)
        first += favour > 0
        second += favour < 0
    return _either_way(first, second, among, unscored)


def favoured(cases: Sequence[Observed], _plain: Plain, _limit: float) -> Counts:
    """Count pairs of which the candidate is favoured, whichever place it has."""
    candidate = other = among = unscored = 0
    for case in cases:
        if case.score is None or case.places is None:
            unscored += 1
            continue
        among += 1
        as_first, as_second = case.places
        favour = (as_first == "A") - (as_first == "B") + (as_second == "B") - (as_second == "A")
        candidate += favour > 0
        other += favour < 0
    return _one_way(candidate, other, among, unscored)


def fullest_band(_cases: Sequence[Observed], plain: Plain, limit: float) -> Counts:
    """Count the scores in the part of the scale that holds most of them; half of the answers are bad."""
    scores = sorted(case.score for case in plain.values() if case.score is not None)
    most = begin = 0
    for end, score in enumerate(scores):
        while score - scores[begin] > BAND + _NOISE:
            begin += 1
        most = max(most, end - begin + 1)
    return _against_limit(most, len(scores), limit, len(plain) - len(scores))


def errors(_cases: Sequence[Observed], plain: Plain, limit: float) -> Counts:
    """Count plain answers that are judged wrongly: good ones that do not pass, and bad ones that do."""
    scored = [case for case in plain.values() if case.score is not None]
    wrong = sum(case.passed != (case.answer == GOOD) for case in scored)
    return _against_limit(wrong, len(scored), limit, len(plain) - len(scored))


def _one_way(harmed: int, opposite: int, among: int, unscored: int) -> Counts:
    """Return the counts of a change that does harm one way, which is known beforehand."""
    return Counts(
        harmed=harmed,
        among=among,
        opposite=opposite,
        excess=_share(harmed - opposite, among),
        p=upper_sign(harmed, opposite),
        least_p=0.5**among,
        unscored=unscored,
    )


def _either_way(one: int, other: int, among: int, unscored: int) -> Counts:
    """Return the counts of a change that does harm either way; the more frequent one is called so."""
    more, fewer = max(one, other), min(one, other)
    found = _one_way(more, fewer, among, unscored)
    return replace(found, p=sign_p_value(more, fewer), least_p=min(1.0, 2 * found.least_p))


def _against_limit(count: int, among: int, limit: float, unscored: int) -> Counts:
    return Counts(
        harmed=count,
        among=among,
        excess=_share(count, among),
        p=upper_binomial(count, among, limit),
        least_p=limit**among,
        unscored=unscored,
    )


def _share(count: int, among: int) -> float:
    return count / among if among else 0.0


def upper_sign(more: int, fewer: int) -> float:
    """Return the chance that a fair coin falls at least so often to one side.

    >>> upper_sign(3, 0), upper_sign(0, 0)
    (0.125, 1.0)
    """
    return upper_binomial(more, more + fewer, 0.5)


def upper_binomial(count: int, among: int, chance: float) -> float:
    """Return the chance of at least so many of a number of trials.

    >>> round(upper_binomial(15, 60, 0.2), 4)
    0.2065
    """
    if count <= 0:
        return 1.0
    if count == among:
        return math.pow(chance, among)
    return min(1.0, incomplete_beta(count, among - count + 1, chance))
