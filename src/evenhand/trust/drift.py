"""Whether a judge has changed: its verdicts of the same anchors, then and now."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from evenhand.domain.errors import ConfigError
from evenhand.domain.scale import is_finite_number
from evenhand.domain.summary import Rate
from evenhand.stats.drift import (
    ALARM,
    MAX_DROP,
    USUAL_FLIPS,
    Drift,
    FlipWatch,
    Outcome,
    chance_of_few_flips,
    chance_of_ok,
    drift,
    has_few_flips,
    watch_flips,
)
from evenhand.stats.refusal import Refused
from evenhand.stats.shares import share
from evenhand.trust.anchors import Anchor, AnchorSet
from evenhand.trust.card import plain_values

_NO_LABELS: Final = Refused("people said nothing of these answers, so only flips can be counted")


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftLimits:
    """By how much the agreement with people may fall, and which share of verdicts flips without any change."""

    max_drop: float = MAX_DROP
    usual_flips: float = USUAL_FLIPS

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not is_finite_number(value) or not 0 < value < 1:
                raise ConfigError(f"{field.name} is {value!r:.80}; it must be above 0 and below 1", key=field.name)

    def chance(self, anchors: int, *, labelled: bool) -> float | None:
        """Return how likely so many anchors show that a judge is unchanged, if it is; None without anchors."""
        if anchors == 0:
            return None
        if labelled:
            return chance_of_ok(anchors, flips=self.usual_flips, max_drop=self.max_drop)
        return chance_of_few_flips(anchors, flips=self.usual_flips, max_drop=self.max_drop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """An anchor of which the judge says something else now: whether it passes now, and whether people pass it."""

    case: str
    passes: bool
    people: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """What the same anchors say of a judge then and now.

    ``outcome`` is ``ok``, ``drifted`` or ``undecided``. With labels it is that of ``change``, the change of agreement
    with people; without them, that of the flips alone. ``anchors`` were scored both times, ``left_out`` says how many
    were not, by reason. ``chance`` is how likely so many show an unchanged judge to be ok. ``watch`` is the monitor of
    flips. ``notes`` say what to know of the numbers.
    """

    then: str
    now: str
    name: str
    evaluator: str | None
    outcome: Outcome
    labelled: bool
    anchors: int
    left_out: Mapping[str, int]
    max_drop: float
    usual_flips: float
    chance: float | None
    change: Drift | Refused
    agreement_then: Rate | Refused
    agreement_now: Rate | Refused
    flips: int
    flip_rate: Rate | Refused
    flipped: tuple[Flip, ...]
    watch: FlipWatch
    judges: tuple[str, ...]
    models_then: tuple[str, ...]
    models_now: tuple[str, ...]
    judged_then: float
    judged_now: float
    notes: tuple[str, ...]

    @property
    def drifted(self) -> bool:
        """Whether the judge has changed for the worse, or more than it usually does."""
        return self.outcome == "drifted"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values; what is refused is a mapping with the reason under ``refused``."""
        return {each.name: plain_values(getattr(self, each.name)) for each in dataclasses.fields(self)}


class _Pair(NamedTuple):
    case: str
    then: bool
    now: bool
    people: bool | None

    @property
    def is_flip(self) -> bool:
        return self.then != self.now


def compare_anchors(
    then: AnchorSet, now: Sequence[Anchor], after: AnchorSet, limits: DriftLimits, notes: Sequence[str] = ()
) -> DriftReport:
    """Compare verdicts on anchors: ``now`` has those of ``then`` in their order, as they are in the set ``after``."""
    left_out = Counter[str]()
    pairs = list(_pairs(then, now, left_out))
    flips = [pair for pair in pairs if pair.is_flip]
    watch = watch_flips([pair.is_flip for pair in pairs], limits.usual_flips)
    labelled = then.labelled
    change = _change(pairs, limits) if labelled else _NO_LABELS
    if isinstance(change, Drift):
        outcome = change.outcome
    else:
        outcome = "undecided" if labelled else _outcome_of_flips(len(flips), len(pairs), watch, limits)
    return DriftReport(
        then=then.run,
        now=after.run,
        name=then.name,
        evaluator=then.evaluator,
        outcome=outcome,
        labelled=labelled,
        anchors=len(pairs),
        left_out=dict(left_out),
        max_drop=limits.max_drop,
        usual_flips=limits.usual_flips,
        chance=limits.chance(len(pairs), labelled=labelled),
        change=change,
        agreement_then=_agreement([pair.then == pair.people for pair in pairs]) if labelled else _NO_LABELS,
        agreement_now=_agreement([pair.now == pair.people for pair in pairs]) if labelled else _NO_LABELS,
        flips=len(flips),
        flip_rate=share(len(flips), len(pairs), "anchors"),
        flipped=tuple(Flip(case=pair.case, passes=pair.now, people=pair.people) for pair in flips),
        watch=watch,
        judges=after.judges or then.judges,
        models_then=then.models,
        models_now=after.models,
        judged_then=then.judged,
        judged_now=after.judged,
        notes=tuple(notes),
    )


def _pairs(then: AnchorSet, now: Sequence[Anchor], left_out: Counter[str]) -> Iterator[_Pair]:
    """Yield the anchors that were scored both times, and count the others."""
    for before, after in zip(then.cases, now, strict=True):
        if before.judge is None or after.judge is None:
            when = [word for word, one in (("then", before), ("now", after)) if one.judge is None]
            left_out[f"without a score {' and '.join(when)}"] += 1
        else:
            yield _Pair(before.case, before.judge, after.judge, before.people)


def _agreement(same: Sequence[bool]) -> Rate | Refused:
    return share(sum(same), len(same), "anchors")


def _change(pairs: Sequence[_Pair], limits: DriftLimits) -> Drift | Refused:
    became_right = sum(pair.is_flip and pair.now == pair.people for pair in pairs)
    became_wrong = sum(pair.is_flip and pair.then == pair.people for pair in pairs)
    return drift(became_right, became_wrong, len(pairs), limits.max_drop)


def _outcome_of_flips(flips: int, anchors: int, watch: FlipWatch, limits: DriftLimits) -> Outcome:
    """Decide by flips: the agreement with anybody can have fallen by no more than the share of them."""
    # In the end, not whether it ever rang: neighbours in a suite may be alike, and flip together.
    if watch.e_value >= ALARM:
        return "drifted"
    return "ok" if has_few_flips(flips, anchors, limits.max_drop) else "undecided"
