"""Whether a judge has changed: the same labelled cases, its anchors, judged then and now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from evenhand.domain.summary import Interval
from evenhand.stats.distributions import incomplete_beta, sign_p_value
from evenhand.stats.refusal import Refused
from evenhand.stats.shares import bonett_price

# An end of this interval is passed by chance once in twenty times.
LEVEL: Final = 0.9
MAX_DROP: Final = 0.05
SIGNIFICANT: Final = 0.05
# How many verdicts on anchors differ between two runs of the same judge, where nothing else is known.
USUAL_FLIPS: Final = 0.06
# If the judge has not changed, it reaches this once in twenty times at most, however often one looks.
ALARM: Final = 20.0

Outcome: TypeAlias = Literal["ok", "drifted", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The change of agreement with people: ``ok`` if it surely fell by no more than allowed, ``drifted`` if it fell.

    ``p`` is that of McNemar's exact test of any change. What is neither is ``undecided``: more anchors would tell.
    """

    anchors: int
    change: float
    interval: Interval
    p: float
    outcome: Outcome


def drift(became_right: int, became_wrong: int, anchors: int, max_drop: float = MAX_DROP) -> Drift | Refused:
    """Compare the agreement with people on the same anchors; of these, some became right and some became wrong.

    >>> drift(4, 5, 200).outcome, drift(2, 9, 200).outcome, drift(1, 16, 200).outcome
    ('ok', 'undecided', 'drifted')
    """
    if not 0 < max_drop < 1:
        raise ValueError(f"a drop that is allowed lies between 0 and 1; got {max_drop!r}")
    if anchors == 0:
        return Refused("there are no anchors: no labelled case was judged both then and now")
    interval = bonett_price(became_right, became_wrong, anchors, LEVEL)
    p = sign_p_value(became_right, became_wrong)
    outcome: Outcome = "undecided"
    if interval.low >= -max_drop:
        outcome = "ok"
    elif became_wrong > became_right and p < SIGNIFICANT:
        outcome = "drifted"
    change = (became_right - became_wrong) / anchors
    return Drift(anchors=anchors, change=change, interval=interval, p=p, outcome=outcome)


def chance_of_ok(anchors: int, *, flips: float = USUAL_FLIPS, max_drop: float = MAX_DROP) -> float:
    """Return how likely so many anchors show that a judge has not changed, if it has not: to be said beforehand.

    ``flips`` is the share of anchors on which two runs of the same judge differ, to either side alike.

    >>> [round(chance_of_ok(anchors), 2) for anchors in (100, 200, 400)]
    [0.58, 0.86, 0.99]
    """
    if anchors < 1 or not 0 < flips < 1:
        raise ValueError(f"there is 1 anchor or more, and some share of them flips; got {anchors!r} and {flips!r}")
    chances = []
    for changed in range(anchors + 1):
        chance = math.exp(
            math.lgamma(anchors + 1) - math.lgamma(changed + 1) - math.lgamma(anchors - changed + 1)
            + changed * math.log(flips) + (anchors - changed) * math.log1p(-flips)
        )  # fmt: skip
        if chance > 1e-15:
            chances.append(chance * _share_of_ok(changed, anchors, max_drop))
    return math.fsum(chances)


def _share_of_ok(changed: int, anchors: int, max_drop: float) -> float:
    """Return how often so many changes, each to either side like a coin, leave the agreement as it was."""
    # The more of them became right the better: look for the fewest that will do.
    low, high = 0, changed + 1
    while low < high:
        right = (low + high) // 2
        if bonett_price(right, changed - right, anchors, LEVEL).low >= -max_drop:
            high = right
        else:
            low = right + 1
    if low > changed:
        return 0.0
    return 1.0 if low == 0 else incomplete_beta(low, changed - low + 1, 0.5)


def has_few_flips(flips: int, anchors: int, max_drop: float = MAX_DROP) -> bool:
    """Return whether surely less than such a share of anchors flips: then no agreement fell by as much (exact test).

    >>> has_few_flips(0, 59), has_few_flips(0, 58), has_few_flips(3, 200)
    (True, False, True)
    """
    return flips < anchors and incomplete_beta(anchors - flips, flips + 1, 1 - max_drop) <= SIGNIFICANT


def chance_of_few_flips(anchors: int, *, flips: float = USUAL_FLIPS, max_drop: float = MAX_DROP) -> float:
    """Return how likely so many anchors without labels show that a judge has not changed, if it has not.

    >>> round(chance_of_few_flips(100, flips=0.01), 2), round(chance_of_few_flips(100), 2)
    (0.74, 0.02)
    """
    most = -1
    while most < anchors and has_few_flips(most + 1, anchors, max_drop):
        most += 1
    return incomplete_beta(anchors - most, most + 1, 1 - flips) if most >= 0 else 0.0


def flip_e_value(flips: int, anchors: int, usual: float) -> float:
    """Return how much the flips speak for more than the usual rate of them; below 1 they speak for it.

    It may be looked at after every anchor: the chance that it ever reaches 20 is at most 1 in 20, if the judge flips
    at most as often as usual.

    >>> round(flip_e_value(9, 50, 0.05), 3)
    34.542
    """
    if not 0 <= flips <= anchors or not 0 < usual < 1:
        raise ValueError(
            f"the flips are among the anchors, and usually some share is; got {flips!r} of {anchors!r}, {usual!r}"
        )
    a, b = flips + 1, anchors - flips + 1
    above = incomplete_beta(b, a, 1 - usual)
    logarithm = (
        math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b) - flips * math.log(usual) - (b - 1) * math.log1p(-usual)
    )
    if above == 0:
        return 0.0
    logarithm += math.log(above) - math.log1p(-usual)
    return math.exp(logarithm) if logarithm < 700 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipWatch:
    """What a monitor of flips saw: ``alarm_after`` is after how many anchors it raised an alarm, None if it did not."""

    anchors: int
    flips: int
    e_value: float
    alarm_after: int | None


def watch_flips(flipped: Sequence[bool], usual: float) -> FlipWatch:
    """Look after every anchor whether the judge flips more often than usual; an alarm is not taken back.

    >>> watch_flips([False] * 20 + [True] * 8, 0.05).alarm_after
    26
    """
    flips, after, value = 0, None, 1.0
    for anchors, is_flip in enumerate(flipped, start=1):
        flips += bool(is_flip)
        value = flip_e_value(flips, anchors, usual)
        if after is None and value >= ALARM:
            after = anchors
    return FlipWatch(anchors=len(flipped), flips=flips, e_value=value, alarm_after=after)
