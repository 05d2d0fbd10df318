"""Counts behind the numbers of a run: of all cases, of an evaluator, of a slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from evenhand.domain.aggregate import weighted_mean
from evenhand.domain.evaluation import Attempt, Evaluation, Status
from evenhand.domain.failure import Failure
from evenhand.domain.slices import MOST_VALUES
from evenhand.domain.summary import AnswerTally, Discarded, Slice, Tally
from evenhand.domain.verdict import Verdict, median_verdict
from evenhand.stats.intervals import Scores
from evenhand.stats.sample import ExactSum

# By names of their own: to look into an enum, for each evaluation, takes seven times as long.
_SCORED, _PASS = Status.SCORED, Verdict.PASS
# The class of an evaluation's error where no judge was asked, since the target had failed.
NO_ANSWER: Final = "no_answer"

# An error that names no kind is all kind.
_LONGEST_KIND: Final = 60
_OTHER_KIND: Final = "other"

# Where something was seen first: the position of the case, and which of those in the case it is.
Place: TypeAlias = tuple[int, int]


class Counts:
    """The counts behind a ``Tally``."""

    __slots__ = (
        "_answers", "_errors", "_lost", "_not_evaluated", "_passes", "_scores", "_target_errors", "_verdicts",
        "pending", "place",
    )  # fmt: skip

    def __init__(self, place: Place = (0, 0)) -> None:
        self.place = place
        self._scores = Scores()
        self._passes = Scores()
        self._verdicts: Counter[Verdict] = Counter()
        self._not_evaluated = 0
        self._errors = 0
        self._target_errors = 0
        # What the answers to repeated cases add to the counts of cases.
        self._answers: Counter[str] = Counter()
        # What the scores of cases would lose if the errors among their answers were zeros.
        self._lost = ExactSum()
        self.pending = 0

    def add(
        self,
        status: Status,
        score: float | None,
        verdict: Verdict | None,
        cluster: str | None,
        evaluations: Iterable[Evaluation],
        *,
        times: int = 1,
    ) -> None:
        """Count what came of a case, or of an evaluator's evaluations of it; ``times`` cases that are alike."""
        if status is _SCORED and verdict is not None:
            if score is not None:
                self._scores.add(score, cluster, times)
            self._passes.add(1.0 if verdict is _PASS else 0.0, cluster, times)
            self._verdicts[verdict] += times
        elif status is Status.ERROR:
            self._errors += times
            self._target_errors += times * no_answer(evaluations)
        else:
            self._not_evaluated += times

    def add_answers(
        self,
        status: Status,
        score: float | None,
        verdict: Verdict | None,
        answers: Sequence[tuple[Status, Iterable[Evaluation]]],
    ) -> None:
        """Count what became of each answer to a case that was judged several times: its status and evaluations.

        Without ``answers``, nothing is counted: the case has one, and its own counts say all.
        """
        if not answers:
            return
        statuses = [answer for answer, _ in answers]
        errors = statuses.count(Status.ERROR)
        blamed = [no_answer(evaluations) for answer, evaluations in answers if answer is Status.ERROR]
        # Less what the case itself counts as, since others may have one answer only.
        self._answers["n"] += len(answers) - 1
        self._answers["errors"] += errors - (status is Status.ERROR)
        self._answers["target_errors"] += sum(blamed) - (status is Status.ERROR and all(blamed))
        self._answers["not_evaluated"] += statuses.count(Status.NOT_EVALUATED) - (status is Status.NOT_EVALUATED)
        if errors and status is _SCORED:
            self._answers["cases"] += 1
            self._answers["failed"] += verdict is Verdict.FAIL
            if score is not None:
                self._lost.add(score * errors / (errors + statuses.count(_SCORED)))

    def _by_answer(self) -> AnswerTally:
        more = self._answers
        return AnswerTally(
            n=self._passes.n + self._not_evaluated + self._errors + more["n"],
            errors=self._errors + more["errors"],
            target_errors=self._target_errors + more["target_errors"],
            not_evaluated=self._not_evaluated + more["not_evaluated"],
            cases=more["cases"],
            failed=more["failed"],
        )

    def _mean_if_errors_zero(self) -> float | None:
        mean, lost = self._scores.mean_with(self._errors), self._lost.value
        return mean if mean is None or not lost else mean - lost / (self._scores.n + self._errors)

    def tally(self) -> Tally:
        """Return the numbers of what was counted so far."""
        scored = self._scores.n
        return Tally(
            n=self._passes.n + self._not_evaluated + self._errors + self.pending,
            scored=scored,
            not_evaluated=self._not_evaluated,
            errors=self._errors,
            target_errors=self._target_errors,
            pending=self.pending,
            mean=self._scores.mean,
            interval=self._scores.interval(),
            mean_if_errors_zero=self._mean_if_errors_zero(),
            passed=self._verdicts[Verdict.PASS],
            borderline=self._verdicts[Verdict.BORDERLINE],
            failed=self._verdicts[Verdict.FAIL],
            failed_unscored=self._passes.n - scored,
            pass_rate=self._passes.mean,
            pass_rate_interval=self._passes.interval(),
            clusters=self._scores.clusters,
            answers=self._by_answer() if self._answers else None,
        )


def first_seen(countings: dict[str, Counts], name: str, place: Place) -> Counts:
    """Return the counts of a name, and remember the first place in the suite that has it."""
    if (counting := countings.get(name)) is None:
        counting = countings[name] = Counts(place)
    elif place < counting.place:
        counting.place = place
    return counting


def in_order(countings: dict[str, Counts]) -> dict[str, Counts]:
    """Return counts by name, in the order in which the suite has the names first."""
    return dict(sorted(countings.items(), key=lambda item: item[1].place))


class SliceCounts:
    """The counts behind a ``Slice``."""

    __slots__ = ("cases", "evaluators")

    def __init__(self, place: Place) -> None:
        self.cases = Counts(place)
        self.evaluators: dict[str, Counts] = {}

    def slice(self) -> Slice:
        """Return the numbers of what was counted so far."""
        return Slice(
            cases=self.cases.tally(),
            evaluators={name: counting.tally() for name, counting in in_order(self.evaluators).items()},
        )


class Slicing:
    """The counts of cases by the value that they have for one key of their metadata.

    Where the values are too many, the key is no kind of case but something that each case has its own of: nothing is
    counted then.
    """

    __slots__ = ("_values", "has_too_many")

    def __init__(self) -> None:
        self._values: dict[str, SliceCounts] = {}
        self.has_too_many = False

    def of(self, value: str, position: int) -> SliceCounts | None:
        """Return the counts of a value that a case has; None where the values are too many."""
        if self.has_too_many:
            return None
        counts = self._values.get(value)
        if counts is None:
            if len(self._values) == MOST_VALUES:
                self.has_too_many = True
                self._values.clear()
                return None
            counts = self._values[value] = SliceCounts((position, 0))
        counts.cases.place = min(counts.cases.place, (position, 0))
        return counts

    def slices(self) -> dict[str, Slice]:
        """Return the slices, in the order in which the suite has their values first."""
        ordered = sorted(self._values.items(), key=lambda item: item[1].cases.place)
        return {value: counts.slice() for value, counts in ordered}


class DiscardedCounts:
    """The counts behind a ``Discarded``: attempts that did not count, by their kind."""

    __slots__ = ("_costs", "_counts")

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}
        self._costs: dict[str, ExactSum] = {}

    def add(self, attempts: Iterable[Attempt], cost: float | None, *, prefix: str = "") -> None:
        """Take in those of some attempts that did not count; ``cost`` is that of all of them, None if unknown."""
        for attempt in attempts:
            if attempt.error is not None:
                kind = Failure.of(str(attempt.error)).kind
                self._add(attempt, cost, prefix + (kind if len(kind) <= _LONGEST_KIND else _OTHER_KIND))

    def _add(self, attempt: Attempt, cost: float | None, kind: str) -> None:
        counts = self._counts.setdefault(kind, Counter())
        paid = self._costs.setdefault(kind, ExactSum())
        counts["failed_calls" if attempt.kind == "transport" else "replies"] += 1
        if attempt.cached:
            return
        usage = attempt.usage
        if usage is not None:
            counts["input_tokens"] += usage.input_tokens
            counts["output_tokens"] += usage.output_tokens
        elif attempt.kind == "transport":  # nobody counts the tokens of what brought no reply, nor charges for them
            return
        if attempt.cost is not None:
            paid.add(attempt.cost)
        elif cost != 0:  # where everything together cost nothing, this did not either
            counts["uncounted"] += usage is None
            counts["unpriced"] += 1

    def discarded(self) -> dict[str, Discarded]:
        """Return the attempts that did not count by their kind, the most frequent first."""
        parts = {kind: Discarded(known_cost=self._costs[kind].value, **counts) for kind, counts in self._counts.items()}
        return dict(sorted(parts.items(), key=lambda item: (-item[1].attempts, item[0])))


def over_samples(evaluations: Sequence[Evaluation]) -> tuple[Status, float | None, Verdict | None]:
    """Return what an evaluator says of a case in all its samples: the mean score, and the median verdict."""
    if len(evaluations) == 1:
        return evaluations[0].status, evaluations[0].score, evaluations[0].verdict
    scored = [
        (evaluation.score, evaluation.verdict) for evaluation in evaluations if evaluation.status is Status.SCORED
    ]
    if not scored:
        failed = any(evaluation.status is Status.ERROR for evaluation in evaluations)
        return (Status.ERROR if failed else Status.NOT_EVALUATED), None, None
    mean = weighted_mean([(score, 1.0) for score, _ in scored if score is not None])
    return Status.SCORED, mean, median_verdict(verdict for _, verdict in scored if verdict is not None)


def no_answer(evaluations: Iterable[Evaluation]) -> bool:
    """Return whether no judge is to blame for the errors: the target failed, and there was nothing to ask about."""
    return all(
        Failure.of(evaluation.error).kind == NO_ANSWER for evaluation in evaluations if evaluation.error is not None
    )
