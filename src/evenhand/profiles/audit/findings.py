"""What an audit found, in sentences that can be read aloud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from evenhand.domain.summary import Interval
from evenhand.profiles.audit.effects import MAIN, Effect, Offset
from evenhand.profiles.audit.refusals import Refusal
from evenhand.profiles.audit.uncertainty import REPLICATES
from evenhand.reports.phrases import counted, interval_text

_BEYOND_THESE: Final = "this is more than chance explains, on these profiles and on others like them"
_ON_THESE: Final = "this is more than the judge's own noise explains"
_NOT_BEYOND: Final = f"{_ON_THESE} on these profiles; other profiles may not show it"


def effect_sentence(effect: Effect, groups: Sequence[str]) -> str:
    """Say what an effect is, by how much, and how surely; it must have an estimate.

    >>> effect_sentence(
    ...     Effect(kind="main", factors=("years",), levels=("5",), against=("1",), is_group=False, estimate=0.81), []
    ... )
    'Changing years from 1 to 5 raises the score by 0.81 points.'
    """
    said = _main(effect) if effect.kind == MAIN else _interaction(effect, groups)
    return f"{said}{_surely(effect)}."


def _main(effect: Effect) -> str:
    (factor,), (level,), (other,) = effect.factors, effect.levels, effect.against
    verb = "lowers" if (effect.estimate or 0.0) < 0 else "raises"
    return f"Changing {factor} from {other} to {level} {verb} the score by {_points(effect)}"


def _interaction(effect: Effect, groups: Sequence[str]) -> str:
    """Say how much more an attribute is worth in one group; where both factors are groups, the first is that group."""
    group = 0 if effect.factors[0] in groups else 1
    merit = 1 - group
    change = f"Changing {effect.factors[merit]} from {effect.against[merit]} to {effect.levels[merit]}"
    more = "less" if (effect.estimate or 0.0) < 0 else "more"
    name, level, other = effect.factors[group], effect.levels[group], effect.against[group]
    return f"{change} is worth {_points(effect)} {more} if {name} is {level} than if it is {other}"


def _points(effect: Effect) -> str:
    points = f"{abs(effect.estimate or 0.0):.2f} points"
    return points if effect.interval is None else f"{points} {interval_text(size_interval(effect))}"


def _surely(effect: Effect) -> str:
    if not effect.found:
        return "" if effect.p_holm is None else "; chance alone may explain this"
    if effect.decided_by == REPLICATES:
        return f"; {_BEYOND_THESE if effect.generalises else _NOT_BEYOND}"
    return f"; {_BEYOND_THESE}"


def size_interval(effect: Effect) -> Interval | None:
    """Return the interval as it is for the size of an effect, whatever its direction."""
    around = effect.interval
    if around is None or (effect.estimate or 0.0) >= 0:
        return around
    return replace(around, low=-around.high, high=-around.low)


def refusal_sentence(refusal: Refusal) -> str:
    """Say how many calls gave no score in one level, and how many in the others, and whether chance may explain it.

    >>> refusal_sentence(Refusal(
    ...     factor="name", level="Ben", against="Anna", refused=16, calls=24, other_refused=0, other_calls=24,
    ...     together=1.0, p=6.5e-7, p_holm=6.5e-7,
    ... )).partition(":")[0]
    'The judge gave no score in 16 of 24 calls if name is Ben, and in 0 of 24 if it is Anna'
    """
    only = " The effects below include only profiles that were scored." if refusal.found else ""
    return f"The judge gave {refusal_words(refusal)}.{only}"


def refusal_words(refusal: Refusal) -> str:
    """Say how many calls gave no score in one level, and how many in the others, as part of a sentence."""
    other = "otherwise" if refusal.against is None else f"if it is {refusal.against}"
    counts = (
        f"no score in {refusal.refused:,} of {counted(refusal.calls, 'call')} if {refusal.factor} is "
        f"{refusal.level}, and in {refusal.other_refused:,} of {refusal.other_calls:,} {other}"
    )
    p = f"p {'<' if refusal.p_holm < 0.001 else '='} {max(refusal.p_holm, 0.001):.3f}"
    return (
        f"{counts}: {'this is more than chance explains' if refusal.found else 'chance alone may explain this'} ({p})"
    )


def offset_sentence(offset: Offset, group: Effect, merit: Effect) -> str:
    """Say how much of a merit makes up for belonging to a group."""
    (factor,), (level,), (other,) = group.factors, group.levels, group.against
    verb = "lowers" if (group.estimate or 0.0) < 0 else "raises"
    change = f"changing {merit.factors[0]} from {merit.against[0]} to {merit.levels[0]}"
    does = "takes away" if (merit.estimate or 0.0) < 0 else "adds"
    around = offset.interval
    # Of scores without noise the interval has no width, and would promise too much.
    ends = [around.low, around.high] if around is not None and around.low < around.high else []
    low_high = sorted(end if offset.share >= 0 else -end for end in ends)
    share = _percent(abs(offset.share)) + (f" [{', '.join(map(_percent, low_high))}]" if ends else "")
    return f"Changing {factor} from {other} to {level} {verb} the score by {share} of what {change} {does}."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
