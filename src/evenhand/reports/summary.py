"""From the results of a run's cases to its numbers (SPEC-S7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from evenhand.domain.aggregate import CaseScore, weighted_mean
from evenhand.domain.evaluation import Attempt, Evaluation, Status, Usage
from evenhand.domain.failure import Failure
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer
from evenhand.domain.summary import Summary, Tally
from evenhand.domain.verdict import Verdict
from evenhand.reports.highlights import Part, ambiguities_of, parts_of
from evenhand.reports.safe_text import plain
from evenhand.stats.intervals import ExactSum, Scores
from evenhand.stats.repeats import Samples, steadiness

# By names of their own: to look into an enum, for each evaluation, takes seven times as long.
_SCORED, _PASS = Status.SCORED, Verdict.PASS
_FROM_WORST = (Verdict.FAIL, Verdict.BORDERLINE, Verdict.PASS)
# The class of an evaluation's error where no judge was asked, since the target had failed.
NO_ANSWER: Final = "no_answer"
_MOST_REASONS: Final = 10
_MOST_REASONS_KEPT: Final = 100
_OTHER_REASONS: Final = "other reasons"
# The key of a case's metadata that names the model which answers it; where it has more values, it means something else.
MODEL: Final = "model"
_MOST_MODELS: Final = 50
# The flag of an evaluation whose reply had several different verdicts.
_AMBIGUOUS: Final = "ambiguous"


class Summarizer:
    """Takes in the results of a run one by one and gives its numbers; memory grows with clusters, not with cases.

    The cases may come in any order: where an order shows, it is that of the suite.

    >>> Summarizer().summary().cases.mean is None
    True
    """

    def __init__(self) -> None:
        self._cases = _Counts()
        self._evaluators: dict[str, _Counts] = {}
        self._models: dict[str, _Counts] = {}
        self._repeat = 1
        self._retries = 0
        self._calls = 0
        self._programs = 0
        self._functions = 0
        self._target_calls = 0
        self._cached = 0
        self._transport_faults = 0
        self._input_tokens = 0
        self._output_tokens = 0
        self._cost = ExactSum()
        self._unpriced: set[str] = set()
        self._judges: dict[str, set[str]] = {}
        self._errors = _Frequencies()
        self._flags = _Frequencies()
        self._reasons = _Reasons()
        self._ambiguous: Counter[str] = Counter()
        self._overturned: Counter[str] = Counter()
        self._repeats: Counter[Samples] = Counter()

    def add(self, result: CaseResult, outcome: CaseScore | None = None) -> None:
        """Take in the result of a case; its ``outcome`` too, where that is worked out already."""
        position, cluster = result.position, result.case.cluster
        for counting in self._counted_by(result):
            if result.pending:
                counting.pending += 1
            else:
                outcome = outcome or result.outcome
                counting.add(outcome.status, outcome.score, outcome.verdict, cluster, outcome.evaluations)
        if result.judgments and result.judgments[-1].sample > 0 and not result.pending:
            verdicts = [sample.verdict for sample in result.by_sample if sample.status is _SCORED]
            self._repeats[len(verdicts), verdicts.count(_PASS), cluster] += 1
        by_evaluator: dict[str, list[Evaluation]] = {}
        for judgment in result.judgments:
            evaluation = judgment.evaluation
            by_evaluator.setdefault(evaluation.evaluator, []).append(evaluation)
            parts = parts_of(evaluation)
            self._note(judgment, parts, position)
            self._add_effort(judgment, parts)
        for order, (name, evaluations) in enumerate(by_evaluator.items()):
            counting = _first_seen(self._evaluators, name, (position, order))
            counting.add(*over_samples(evaluations), cluster, evaluations)
        for replaced in result.replaced:
            self._add_effort(replaced, parts_of(replaced.evaluation) if isinstance(replaced, Judgment) else ())
        for answer in result.answers:
            self._add_effort(answer, ())
        for error in _errors(result):
            self._errors.add(error, position)

    def add_alike(self, result: CaseResult, outcome: CaseScore, times: int) -> None:
        """Take in that many cases with one judgment like this one, all but for what it spent: see ``spend``."""
        evaluation = result.judgments[0].evaluation
        for counting in (self._cases, _first_seen(self._evaluators, evaluation.evaluator, (result.position, 0))):
            counting.add(outcome.status, outcome.score, outcome.verdict, None, (), times=times)
        self._note(result.judgments[0], parts_of(evaluation), result.position)
        self._calls += times

    def spend(self, usage: Usage | None, cost: float | None, *, whose: str = "judge") -> None:
        """Take in what one judgment of many alike took, or what else was paid for."""
        if usage is not None:
            self._input_tokens += usage.input_tokens
            self._output_tokens += usage.output_tokens
        if cost is None:
            self._unpriced.add(whose)
        elif cost:
            self._cost.add(cost)

    def _counted_by(self, result: CaseResult) -> tuple[_Counts, ...]:
        """Return the counts that a case belongs to: those of all cases, and of its model, if models are so few."""
        model = result.case.metadata.get(MODEL)
        if not isinstance(model, str) or (model not in self._models and len(self._models) > _MOST_MODELS):
            return (self._cases,)
        return self._cases, _first_seen(self._models, model, (result.position, 0))

    def _add_effort(self, done: Judgment | MadeAnswer, parts: Sequence[Part]) -> None:
        """Count what a judgment or an answer took; replies from the cache took nothing."""
        if isinstance(done, Judgment):
            record: Evaluation | MadeAnswer = done.evaluation
            # Where there was no answer, nothing was run to judge it.
            if done.evaluation.error is None or Failure.of(done.evaluation.error).kind != NO_ANSWER:
                for part in parts:
                    self._programs += part.programs
                    self._functions += part.functions
        else:
            record = done
            self._target_calls += sum(not attempt.cached for attempt in done.attempts)
        for attempt in record.attempts:
            self._count_request(attempt)
        # A function may say what it took, and not how.
        whose = "judge" if isinstance(done, Judgment) else "target"
        self.spend(None if record.attempts else record.usage, done.cost, whose=whose)

    def _count_request(self, attempt: Attempt) -> None:
        if attempt.cached:
            self._cached += 1
        else:
            self._calls += 1
            self._transport_faults += attempt.kind == "transport"
            self.spend(attempt.usage, 0.0)

    def _note(self, judgment: Judgment, parts: Sequence[Part], position: int) -> None:
        evaluation = judgment.evaluation
        if judgment.sample >= self._repeat:
            self._repeat = judgment.sample + 1
        self._retries += evaluation.retry_count
        for part in parts:
            if part.judge is not None:
                self._judges.setdefault(evaluation.evaluator, set()).add(part.judge)
        for flag in evaluation.flags:
            self._flags.add(flag, position)
        if _AMBIGUOUS in evaluation.flags:
            self._note_ambiguous(evaluation)
        if evaluation.score is None:  # which only one that did not happen has
            self._reasons.add(plain(evaluation.reasoning), position)

    def _note_ambiguous(self, evaluation: Evaluation) -> None:
        """Count an evaluation by which of the verdicts in its reply counted; a composite, by those of its members."""
        counted, overturned = set[str](), set[str]()
        for way, is_another in ambiguities_of(evaluation):
            counted.add(way)
            if is_another:
                overturned.add(way)
        self._ambiguous.update(counted)
        self._overturned.update(overturned)

    @property
    def is_exact(self) -> bool:
        """Whether these are the numbers that the same cases give in suite order; in suite order they always are."""
        return self._reasons.is_exact

    @property
    def judges(self) -> dict[str, tuple[str, ...]]:
        """The judges of each evaluator that has some."""
        return {name: tuple(sorted(self._judges[name])) for name in _in_order(self._evaluators) if name in self._judges}

    def summary(self) -> Summary:
        """Return the numbers of what was taken in so far."""
        compares = 1 < len(self._models) <= _MOST_MODELS
        return Summary(
            cases=self._cases.tally(),
            evaluators={name: counting.tally() for name, counting in _in_order(self._evaluators).items()},
            models={name: counting.tally() for name, counting in _in_order(self._models).items()} if compares else {},
            repeat=self._repeat,
            calls=self._calls,
            programs=self._programs,
            functions=self._functions,
            target_calls=self._target_calls,
            cached=self._cached,
            retries=self._retries,
            transport_faults=self._transport_faults,
            input_tokens=self._input_tokens,
            output_tokens=self._output_tokens,
            cost=None if self._unpriced else self._cost.value,
            known_cost=self._cost.value,
            unpriced=tuple(sorted(self._unpriced)),
            judges=tuple(sorted(set().union(*self._judges.values()))),
            errors_by_class=self._errors.most_common(),
            flags=self._flags.most_common(),
            reasons=self._reasons.most_common(),
            ambiguous=dict(sorted(self._ambiguous.items())),
            overturned=dict(sorted(self._overturned.items())),
            steadiness=steadiness(self._repeats),
        )


def summarize(results: Iterable[CaseResult]) -> Summary:
    """Return the numbers of a run from the results of its cases."""
    summarizer = Summarizer()
    for result in results:
        summarizer.add(result)
    return summarizer.summary()


def blamed(result: CaseResult) -> str:
    """Return who is to blame for a case that ended in error."""
    return "the target" if no_answer(result.outcome.evaluations) else "the judge"


# Where something was seen first: the position of the case, and which of those in the case it is.
_Place: TypeAlias = tuple[int, int]


class _Frequencies:
    """How often names occur. The most frequent come first, and of equals the one that the suite has first."""

    __slots__ = ("_count", "_places", "_seen")

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._places: dict[str, _Place] = {}
        self._seen = 0

    def add(self, name: str, position: int) -> None:
        """Count a name that a case has; names of one case are given in their order."""
        self._seen += 1
        self._count[name] += 1
        if name not in self._places or position < self._places[name][0]:
            self._places[name] = (position, self._seen)

    def most_common(self) -> dict[str, int]:
        return dict(sorted(self._count.items(), key=lambda item: (-item[1], self._places[item[0]])))


class _Reasons(_Frequencies):
    """Why evaluations did not happen: the reasons that the suite has first, and how many there are beside them.

    They may be as many as cases, so the later ones are forgotten. Where cases come in another order than that of the
    suite, one that turns out to be among the first may have been forgotten before; then the counts are not exact.
    """

    __slots__ = ("_others", "is_exact")

    def __init__(self) -> None:
        super().__init__()
        self._others = 0
        self.is_exact = True

    def add(self, name: str, position: int) -> None:
        is_new = name not in self._places
        super().add(name, position)
        if is_new and self._others and name in self._first():
            self.is_exact = False
        if len(self._places) > _MOST_REASONS_KEPT:
            last = max(self._places, key=self._places.__getitem__)
            del self._places[last]
            self._others += self._count.pop(last)

    def _first(self) -> list[str]:
        return sorted(self._places, key=self._places.__getitem__)[:_MOST_REASONS]

    def most_common(self) -> dict[str, int]:
        first = self._first()
        counts = {name: count for name, count in super().most_common().items() if name in first}
        others = self._others + self._count.total() - sum(counts.values())
        return counts | ({_OTHER_REASONS: others} if others else {})


class _Counts:
    """The counts behind a ``Tally``."""

    __slots__ = ("_errors", "_not_evaluated", "_passes", "_scores", "_target_errors", "_verdicts", "pending", "place")

    def __init__(self, place: _Place = (0, 0)) -> None:
        self.place = place
        self._scores = Scores()
        self._passes = Scores()
        self._verdicts: Counter[Verdict] = Counter()
        self._not_evaluated = 0
        self._errors = 0
        self._target_errors = 0
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

    def tally(self) -> Tally:
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
            mean_if_errors_zero=self._scores.mean_with_zeros(self._errors),
            passed=self._verdicts[Verdict.PASS],
            borderline=self._verdicts[Verdict.BORDERLINE],
            failed=self._verdicts[Verdict.FAIL],
            failed_unscored=self._passes.n - scored,
            pass_rate=self._passes.mean,
            pass_rate_interval=self._passes.interval(),
            clusters=self._scores.clusters,
        )


def _first_seen(countings: dict[str, _Counts], name: str, place: _Place) -> _Counts:
    """Return the counts of a name, and remember the first place in the suite that has it."""
    if (counting := countings.get(name)) is None:
        counting = countings[name] = _Counts(place)
    elif place < counting.place:
        counting.place = place
    return counting


def _in_order(countings: dict[str, _Counts]) -> dict[str, _Counts]:
    return dict(sorted(countings.items(), key=lambda item: item[1].place))


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
    verdicts = sorted(_FROM_WORST.index(verdict) for _, verdict in scored if verdict is not None)
    # The evaluator's own thresholds are not known here; its verdicts are. Between two, the worse one.
    return Status.SCORED, mean, _FROM_WORST[verdicts[(len(verdicts) - 1) // 2]]


def _errors(result: CaseResult) -> Iterator[str]:
    """Yield the classes of a case's errors; a target that failed is named once, not by each evaluator."""
    unanswered = {answer.sample for answer in result.answers if answer.error}
    for judgment in result.judgments:
        if judgment.evaluation.error is not None:
            kind = Failure.of(judgment.evaluation.error).kind
            if kind != NO_ANSWER:
                yield kind
            elif judgment.sample not in unanswered:  # the answer itself is not known
                unanswered.add(judgment.sample)
                yield kind
    yield from (f"target {Failure.of(answer.error).kind}" for answer in result.answers if answer.error)


def no_answer(evaluations: Iterable[Evaluation]) -> bool:
    """Return whether no judge is to blame for the errors: the target failed, and there was nothing to ask about."""
    return all(
        Failure.of(evaluation.error).kind == NO_ANSWER for evaluation in evaluations if evaluation.error is not None
    )
