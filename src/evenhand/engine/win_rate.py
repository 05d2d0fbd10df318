"""Who won in a run of pairwise evaluations: the win rate, what it owes to length, and whether a place is preferred."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult
from evenhand.domain.summary import Interval
from evenhand.evaluators.pairwise import FLIPPED, PLACES, PairwiseEvaluator
from evenhand.stats.bias import at_equal_lengths
from evenhand.stats.distributions import sign_p_value
from evenhand.stats.intervals import Scores
from evenhand.stats.wilson import LEVEL

_TIE: Final = 0.5
_STEADY: Final = ""
_POINTS: Final = {"win": 1.0, "tie": 0.5, "loss": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRate:
    """How often candidate answers were better than reference answers, ties counting half.

    ``n`` are cases. One that was judged several times counts once, by the mean of its samples: above one half it is a
    win, below a loss. ``rate_at_equal_length`` is the rate adjusted for the lengths of the answers, and for nothing
    else: which questions are hard is not in it. ``length_effect`` is what the log-odds of a win gain where the
    candidate is longer by one standard step. Both are None where there is too little to say.

    The others count evaluations. ``flips`` are those where the two orders disagree: ``flips_to_first`` preferred
    whatever came first, ``flips_to_second`` whatever came last, and the rest called a tie in one order only.
    ``position_p`` is the exact sign test of whether they favour a place. ``errors`` are in no rate.
    """

    n: int
    wins: int
    ties: int
    losses: int
    errors: int
    rate: float | None
    interval: Interval | None
    rate_at_equal_length: float | None
    interval_at_equal_length: Interval | None
    length_effect: float | None
    length_interval: Interval | None
    flips: int
    flips_to_first: int
    flips_to_second: int
    position_p: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values."""
        return asdict(self)


def win_rate_of(results: Iterable[CaseResult], evaluator: str | None = None) -> WinRate:
    """Work out the win rate of a run by its pairwise evaluator, or by the one of a name where it has several."""
    scores = Scores()
    outcomes: list[float] = []
    longer: list[int] = []
    flips: Counter[str] = Counter()
    errors = 0
    names: set[str] = set()
    for result in results:
        points: list[float] = []
        for evaluation in _pairwise(result):
            names.add(evaluation.evaluator)
            if evaluator not in (None, evaluation.evaluator):
                continue
            errors += evaluation.status is Status.ERROR
            if evaluation.status is not Status.SCORED:
                continue
            points.append(_POINTS[evaluation.details["outcome"]])
            flips[_flip(evaluation)] += 1
        if points:
            won = statistics.fmean(points)
            scores.add(won, result.case.cluster)
            outcomes.append(won)
            longer.append(_longer(result))
    _require_single(names, evaluator)
    to_first, to_second = (flips[place] for place in PLACES)
    controlled = at_equal_lengths(outcomes, longer, level=LEVEL)
    return WinRate(
        n=len(outcomes),
        wins=sum(won > _TIE for won in outcomes),
        ties=outcomes.count(_TIE),
        losses=sum(won < _TIE for won in outcomes),
        errors=errors,
        rate=scores.mean,
        interval=scores.interval(LEVEL),
        rate_at_equal_length=controlled and controlled.rate,
        interval_at_equal_length=controlled and _sandwich(controlled.low, controlled.high),
        length_effect=controlled and controlled.slope,
        length_interval=controlled and _sandwich(controlled.slope_low, controlled.slope_high),
        flips=flips.total() - flips[_STEADY],
        flips_to_first=to_first,
        flips_to_second=to_second,
        position_p=sign_p_value(to_first, to_second) if to_first + to_second else None,
    )


def _pairwise(result: CaseResult) -> Iterable[Evaluation]:
    for judgment in result.judgments:
        if judgment.evaluation.type == PairwiseEvaluator.type:
            yield judgment.evaluation


def _flip(evaluation: Evaluation) -> str:
    """Return which place both orders preferred; a tie where only one of them did, nothing where they agree."""
    if FLIPPED not in evaluation.flags:
        return _STEADY
    first, second = (order["winner"] for order in evaluation.details["orders"])
    return str(first) if first == second else "tie"


def _longer(result: CaseResult) -> int:
    made = next((answer.text for answer in result.answers if answer.text is not None), None)
    candidate = result.case.candidate_answer if made is None else made
    return len(candidate or "") - len(result.case.reference_answer or "")


def _sandwich(low: float, high: float) -> Interval:
    return Interval(low=low, high=high, method="sandwich", level=LEVEL)


def _require_single(names: set[str], evaluator: str | None) -> None:
    if not names:
        raise ConfigError("the run has no pairwise evaluation; use an evaluator of type pairwise")
    if evaluator is not None and evaluator not in names:
        raise ConfigError(f"no pairwise evaluator {evaluator!r}{did_you_mean(evaluator, sorted(names))}")
    if evaluator is None and len(names) > 1:
        raise ConfigError(f"the run has several pairwise evaluators, {', '.join(sorted(names))}; name one: evaluator=…")
