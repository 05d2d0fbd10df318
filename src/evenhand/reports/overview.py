"""What all reports of a run begin with: found in one pass over its cases, and small enough to be kept beside them."""

from __future__ import annotations

import hashlib
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from evenhand.domain.aggregate import CaseScore
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Status, Usage
from evenhand.domain.run import CaseResult, Judgment
from evenhand.domain.slices import slice_value
from evenhand.domain.summary import (
    AnswerTally,
    CascadeTally,
    Discarded,
    Interval,
    JuryAgreement,
    PassOfK,
    Rate,
    Slice,
    StageTally,
    Steadiness,
    Summary,
    Tally,
)
from evenhand.domain.verdict import FLOAT_NOISE, Thresholds
from evenhand.reports.highlights import FUNCTION, MOST, PROGRAM, Worst
from evenhand.reports.phrases import Standing
from evenhand.reports.summary import MODEL, Summarizer

# The keys of metadata by which cases are counted.
COUNTED_BY: Final = frozenset((MODEL,))
_WITHOUT_JUDGE: Final = (PROGRAM, FUNCTION)
# The details of an evaluation that has others in it.
NESTED: Final = frozenset(("members", "meta_judge"))
# So many cases that are not alike are gathered.
_MOST_ALIKE: Final = 1000
# By a name of its own: to look into an enum, for each case, takes seven times as long.
_SCORED: Final = Status.SCORED

# Of the histogram of scores.
BINS: Final = 20


def bin_of(score: float) -> int:
    """Return the number of the histogram's bin for a score.

    >>> bin_of(0.1 + 0.7), bin_of(1.0)
    (16, 19)
    """
    return min(int(score * BINS + FLOAT_NOISE), BINS - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The numbers of a run, how its scores spread, who judged, and which cases to look at first, by their positions.

    ``judges`` names the judges of each evaluator. ``outcome`` is what came of a ranking in words, if that is known.
    """

    summary: Summary
    bins: tuple[Mapping[Standing, int], ...]
    worst: tuple[int, ...] = ()
    broken: tuple[int, ...] = ()
    judges: Mapping[str, tuple[str, ...]]
    outcome: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Overview:
        """Make it from what ``as_dict`` returned; anything else raises KeyError, TypeError or ValueError."""
        summary_data = data["summary"]
        tallies = {
            name: {each: _tally(tally) for each, tally in summary_data[name].items()}
            for name in ("evaluators", "models")
        }
        summary = Summary(
            **{
                **summary_data,
                **tallies,
                "cases": _tally(summary_data["cases"]),
                "judges": tuple(summary_data["judges"]),
                "unpriced": tuple(summary_data["unpriced"]),
                "steadiness": _steadiness(summary_data["steadiness"]),
                "discarded": {name: Discarded(**part) for name, part in summary_data["discarded"].items()},
                "agreement": {name: _agreement(part) for name, part in summary_data["agreement"].items()},
                "cascades": {name: _cascade(part) for name, part in summary_data["cascades"].items()},
                "slices": {
                    key: {value: _slice(part) for value, part in parts.items()}
                    for key, parts in summary_data["slices"].items()
                },
                "unsliced": tuple(summary_data["unsliced"]),
            }
        )
        return cls(
            summary=summary,
            bins=tuple({Standing(name): count for name, count in counts.items()} for counts in data["bins"]),
            worst=tuple(data["worst"]),
            broken=tuple(data["broken"]),
            judges={name: tuple(judges) for name, judges in data["judges"].items()},
            outcome=str(data["outcome"]),
        )


def _tally(data: Mapping[str, Any]) -> Tally:
    around = {name: _interval(data[name]) for name in ("interval", "pass_rate_interval")}
    answers = None if data["answers"] is None else AnswerTally(**data["answers"])
    return Tally(**{**data, **around, "answers": answers})


def _slice(data: Mapping[str, Any]) -> Slice:
    evaluators = {name: _tally(tally) for name, tally in data["evaluators"].items()}
    return Slice(cases=_tally(data["cases"]), evaluators=evaluators)


def _interval(data: Mapping[str, Any] | None) -> Interval | None:
    return None if data is None else Interval(**data)


def _rate(data: Mapping[str, Any]) -> Rate:
    return Rate(value=data["value"], interval=_interval(data["interval"]))


def _steadiness(data: Mapping[str, Any] | None) -> Steadiness | None:
    if data is None:
        return None
    passes = tuple(PassOfK(**{**row, "any": _rate(row["any"]), "all": _rate(row["all"])}) for row in data["passes"])
    rates = {name: _rate(data[name]) for name in ("flip_rate", "same_verdict")}
    samples = tuple((samples, passed, cases) for samples, passed, cases in data["samples"])
    return Steadiness(**{**data, **rates, "passes": passes, "samples": samples})


def _agreement(data: Mapping[str, Any]) -> JuryAgreement:
    return JuryAgreement(**{**data, "interval": _interval(data["interval"])})


def _cascade(data: Mapping[str, Any]) -> CascadeTally:
    stages = tuple(StageTally(**stage) for stage in data["stages"])
    return CascadeTally(**{**data, "stages": stages, "interval": _interval(data["interval"])})


def _format() -> str:
    """Return an id of the format of overviews, so that none is read that was written in an older format."""
    # To be raised when numbers of the same name are worked out in another way.
    version = 2
    parts = (
        Overview, Summary, Tally, AnswerTally, Interval, Steadiness, PassOfK, JuryAgreement, CascadeTally, StageTally,
        Discarded, Slice,
    )  # fmt: skip
    names = [[each.name for each in fields(part)] for part in parts]
    return f"{version}:{hashlib.sha256(repr(names).encode()).hexdigest()[:16]}"


FORMAT: Final = _format()


class Survey:
    """Takes in the results of a run one by one, and gives the overview; memory grows with clusters, not with cases.

    The cases may come in any order: where an order shows, it is that of the suite. ``slices`` are the keys of metadata
    that the run slices by.
    """

    def __init__(self, slices: Sequence[str] = ()) -> None:
        self._summarizer = Summarizer(slices)
        self._slices = slices
        self._bins: Sequence[Counter[Standing]] = [Counter() for _ in range(BINS)]
        self._worst: Worst[int] = Worst()
        self._alike: dict[tuple[object, ...], _Alike] = {}
        self._known: dict[tuple[object, ...], _Alike] = {}

    def add(self, result: CaseResult, *, known_as: tuple[object, ...] | None = None) -> None:
        """Take in the result of a case; ``known_as``, see ``add_known``."""
        if len(result.judgments) == 1 and not (result.answers or result.replaced or result.awaited):
            self.add_single(result.position, result.case, result.judgments[0], result.thresholds, known_as=known_as)
        else:
            self._add(result)

    def add_known(
        self,
        known_as: tuple[object, ...],
        position: int,
        usage: Usage | None,
        cost: float | None,
        *,
        saved: float | None,
    ) -> bool:
        """Take in a case that is alike all others that are known by the same; return whether there was one of them."""
        if (alike := self._known.get(known_as)) is None:
            return False
        self._summarizer.spend(usage, cost, saved=saved)
        alike.add(position)
        return True

    def add_single(
        self,
        position: int,
        case: Case,
        judgment: Judgment,
        thresholds: Thresholds,
        *,
        known_as: tuple[object, ...] | None = None,
    ) -> None:
        """Take in a case that has one judgment, and nothing else.

        Most of these differ in position, tokens and cost alone; they are gathered, and counted when all are there.
        """
        if (key := _likeness(case, judgment, thresholds)) is None:
            self._add(CaseResult(position=position, case=case, judgments=(judgment,), thresholds=thresholds))
            return
        if self._slices:
            key += tuple(slice_value(case.metadata, name) for name in self._slices)
        attempt = judgment.evaluation.attempts[0]
        self._summarizer.spend(attempt.usage, judgment.cost, saved=attempt.saved)
        if (alike := self._alike.get(key)) is None:
            if len(self._alike) == _MOST_ALIKE:
                self._count_alike()
            alike = self._alike[key] = _Alike(case, judgment, thresholds)
        alike.add(position)
        if known_as is not None:
            self._known[known_as] = alike

    def _add(self, result: CaseResult) -> None:
        outcome = None if result.pending else result.outcome
        self._summarizer.add(result, outcome)
        if outcome is not None:
            self._place(outcome, [result.position])

    def _count_alike(self) -> None:
        """Count the cases that were gathered."""
        for alike in self._alike.values():
            result = alike.first()
            outcome = result.outcome
            self._summarizer.add_alike(result, outcome, alike.times)
            self._place(outcome, alike.positions, alike.times)
        self._alike.clear()
        self._known.clear()

    def _place(self, outcome: CaseScore, positions: Sequence[int], times: int = 1) -> None:
        """Find the place of cases among the others: of so many that are alike, some of the first positions will do."""
        standing, score = Standing.of(outcome), outcome.score or 0.0
        for position in positions:
            self._worst.add(standing, score, position, position)
        if outcome.score is not None and standing.scored:
            self._bins[bin_of(score)][standing] += times

    @property
    def is_exact(self) -> bool:
        """Whether this is what the same cases give in suite order; in suite order it always is."""
        return self._summarizer.is_exact

    def overview(self) -> Overview:
        """Return what was found so far."""
        self._count_alike()
        return Overview(
            summary=self._summarizer.summary(),
            bins=tuple(
                {standing: counts[standing] for standing in Standing if counts[standing]} for counts in self._bins
            ),
            worst=self._worst.worst,
            broken=self._worst.broken,
            judges=self._summarizer.judges,
        )


class _Alike:
    """Cases that are alike: how many, and the first positions of them."""

    __slots__ = ("_case", "_judgment", "_thresholds", "positions", "times")

    def __init__(self, case: Case, judgment: Judgment, thresholds: Thresholds) -> None:
        self._case = case
        self._judgment = judgment
        self._thresholds = thresholds
        self.positions: list[int] = []
        self.times = 0

    def add(self, position: int) -> None:
        """Take in one more of them."""
        self.times += 1
        if len(self.positions) < MOST or position < self.positions[-1]:
            insort(self.positions, position)
            del self.positions[MOST:]

    def first(self) -> CaseResult:
        """Return the first case in the suite, which is as good as any."""
        return CaseResult(
            position=self.positions[0], case=self._case, judgments=(self._judgment,), thresholds=self._thresholds
        )


def _likeness(case: Case, judgment: Judgment, thresholds: Thresholds) -> tuple[object, ...] | None:
    """Return what all is counted by, tokens and cost aside, of a case that was scored by one reply of a judge.

    None if there is more to it.
    """
    evaluation = judgment.evaluation
    details, attempts = evaluation.details, evaluation.attempts
    if (
        evaluation.status is not _SCORED
        or len(attempts) != 1
        or attempts[0].cached
        or attempts[0].kind != "reply"
        or attempts[0].error is not None
        or evaluation.flags
        or evaluation.retry_count
        or evaluation.type in _WITHOUT_JUDGE
        or case.cluster is not None
        or type(details) is not dict
        or not NESTED.isdisjoint(details)
        or (case.metadata and not COUNTED_BY.isdisjoint(case.metadata))
    ):
        return None
    judge = details.get("judge")
    return (
        evaluation.evaluator,
        judge if isinstance(judge, str) else None,
        attempts[0].batch,
        evaluation.score,
        evaluation.verdict,
        judgment.weight,
        judgment.required,
        judgment.sample,
        thresholds.pass_at,
        thresholds.borderline_at,
    )


def survey(results: Iterable[CaseResult], slices: Sequence[str] = ()) -> Overview:
    """Go through the results of a run once; ``slices`` are the keys of metadata that it slices by."""
    collected = Survey(slices)
    for result in results:
        collected.add(result)
    return collected.overview()
