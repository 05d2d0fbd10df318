"""Who won in a run of pairwise evaluations: the win rate, what it owes to length, and whether a place is preferred."""

from __future__ import annotations

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
from evenhand.stats.intervals import LEVEL, Scores

_POINTS: Final = {"win": 1.0, "tie": 0.5, "loss": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRate:
    """How often candidate answers were better than reference answers, ties counting half.

    ``rate_at_equal_length`` is what it would be if both were equally long, and ``length_effect`` what the log-odds of
    a win gain where the candidate is longer by one standard step; None where there is too little to say. ``flips``
    counts ties by a changed mind, ``flips_to_first`` those for whatever came first, and ``position_p`` is the exact
    sign test of whether they favour a place. ``errors`` are in no rate.
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
    position_p: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values."""
        return asdict(self)


def win_rate_of(results: Iterable[CaseResult], evaluator: str | None = None) -> WinRate:
    """Work out the win rate of a run by its pairwise evaluator, or by the one of a name where it has several."""
    scores = Scores()
    outcomes: list[float] = []
    longer: list[int] = []
    flips, flips_to_first, errors = 0, 0, 0
    names: set[str] = set()
    for result in results:
        for evaluation in _pairwise(result):
            names.add(evaluation.evaluator)
            if evaluator not in (None, evaluation.evaluator):
                continue
            errors += evaluation.status is Status.ERROR
            if evaluation.status is not Status.SCORED:
                continue
            won = _POINTS[evaluation.details["outcome"]]
            scores.add(won, result.case.cluster)
            outcomes.append(won)
            longer.append(_longer(result))
            if FLIPPED in evaluation.flags:
                flips += 1
                flips_to_first += evaluation.details["orders"][0]["winner"] == PLACES[0]
    _require_single(names, evaluator)
    controlled = at_equal_lengths(outcomes, longer, level=LEVEL)
    return WinRate(
        n=len(outcomes),
        wins=outcomes.count(1.0),
        ties=outcomes.count(0.5),
        losses=outcomes.count(0.0),
        errors=errors,
        rate=scores.mean,
        interval=scores.interval(LEVEL),
        rate_at_equal_length=controlled and controlled.rate,
        interval_at_equal_length=controlled and _sandwich(controlled.low, controlled.high),
        length_effect=controlled and controlled.slope,
        length_interval=controlled and _sandwich(controlled.slope_low, controlled.slope_high),
        flips=flips,
        flips_to_first=flips_to_first,
        position_p=sign_p_value(flips_to_first, flips - flips_to_first) if flips else None,
    )


def _pairwise(result: CaseResult) -> Iterable[Evaluation]:
    for judgment in result.judgments:
        if judgment.evaluation.type == PairwiseEvaluator.type:
            yield judgment.evaluation


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
