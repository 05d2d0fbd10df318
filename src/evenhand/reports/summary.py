"""From the results of a run's cases to its numbers (SPEC-S7)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from evenhand.domain.aggregate import CaseScore, weighted_mean
from evenhand.domain.evaluation import Attempt, Evaluation, Status, Usage
from evenhand.domain.failure import Failure
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer
from evenhand.domain.summary import Summary, Tally
from evenhand.domain.verdict import Verdict
from evenhand.reports.highlights import ambiguities_of, judges_of, parts_of
from evenhand.reports.safe_text import plain
from evenhand.stats.intervals import ExactSum, Scores

_FROM_WORST = (Verdict.FAIL, Verdict.BORDERLINE, Verdict.PASS)
# The class of an evaluation's error where no judge was asked, since the target had failed.
NO_ANSWER: Final = "no_answer"
_MOST_REASONS: Final = 10
_OTHER_REASONS: Final = "other reasons"
# The key of a case's metadata that names the model which answers it; where it has more values, it means something else.
_MODEL: Final = "model"
_MOST_MODELS: Final = 50
# The flag of an evaluation whose reply had several different verdicts.
_AMBIGUOUS: Final = "ambiguous"


class Summarizer:
    """Takes in the results of a run one by one and gives its numbers; memory grows with clusters, not with cases.

    >>> Summarizer().summary().cases.mean is None
    True
    """

    def __init__(self) -> None:
        self._cases = _Counting()
        self._evaluators: defaultdict[str, _Counting] = defaultdict(_Counting)
        self._models: defaultdict[str, _Counting] = defaultdict(_Counting)
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
        self._unpriced = False
        self._judges: defaultdict[str, set[str]] = defaultdict(set)
        self._errors: Counter[str] = Counter()
        self._flags: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._other_reasons = 0
        self._ambiguous: Counter[str] = Counter()
        self._overturned: Counter[str] = Counter()

    def add(self, result: CaseResult, outcome: CaseScore | None = None) -> None:
        """Take in the result of a case; its ``outcome`` too, where that is worked out already."""
        cluster = result.case.cluster
        if result.pending:
            for counting in self._counted_by(result):
                counting.pending += 1
        else:
            outcome = outcome or result.outcome
            unanswered = no_answer(outcome.evaluations)
            for counting in self._counted_by(result):
                counting.add(outcome.status, outcome.score, outcome.verdict, cluster, unanswered)
        by_evaluator: dict[str, list[Evaluation]] = {}
        for judgment in result.judgments:
            by_evaluator.setdefault(judgment.evaluation.evaluator, []).append(judgment.evaluation)
            self._repeat = max(self._repeat, judgment.sample + 1)
            self._note(judgment.evaluation)
            self._add_effort(judgment)
        for name, evaluations in by_evaluator.items():
            self._evaluators[name].add(*over_samples(evaluations), cluster, no_answer(evaluations))
        for replaced in result.replaced:
            self._add_effort(replaced)
        for answer in result.answers:
            self._add_effort(answer)
        self._errors.update(_errors(result))

    def _counted_by(self, result: CaseResult) -> Iterator[_Counting]:
        yield self._cases
        model = result.case.metadata.get(_MODEL)
        if isinstance(model, str) and (model in self._models or len(self._models) <= _MOST_MODELS):
            yield self._models[model]

    def _add_effort(self, done: Judgment | MadeAnswer) -> None:
        """Count what a judgment or an answer took; replies from the cache took nothing."""
        if isinstance(done, Judgment):
            record: Evaluation | MadeAnswer = done.evaluation
            self._count_parts(done.evaluation)
        else:
            record = done
            self._target_calls += sum(not attempt.cached for attempt in done.attempts)
        for attempt in record.attempts:
            self._count_request(attempt)
        if not record.attempts:  # a function may say what it took, and not how
            self._count_tokens(record.usage)
        if done.cost is None:
            self._unpriced = True
        else:
            self._cost.add(done.cost)

    def _count_parts(self, evaluation: Evaluation) -> None:
        """Count the programs and functions that judged; none did where there was no answer."""
        if evaluation.error is None or Failure.of(evaluation.error).kind != NO_ANSWER:
            for part in parts_of(evaluation):
                self._programs += part.programs
                self._functions += part.functions

    def _count_request(self, attempt: Attempt) -> None:
        if attempt.cached:
            self._cached += 1
        else:
            self._calls += 1
            self._transport_faults += attempt.kind == "transport"
            self._count_tokens(attempt.usage)

    def _count_tokens(self, usage: Usage | None) -> None:
        if usage is not None:
            self._input_tokens += usage.input_tokens
            self._output_tokens += usage.output_tokens

    def _note(self, evaluation: Evaluation) -> None:
        self._retries += evaluation.retry_count
        self._flags.update(evaluation.flags)
        if judges := judges_of(evaluation):
            self._judges[evaluation.evaluator].update(judges)
        if _AMBIGUOUS in evaluation.flags:
            self._note_ambiguous(evaluation)
        if evaluation.status is Status.NOT_EVALUATED:
            # Reasons may be as many as cases: those that came first are told apart, the others only counted.
            reason = plain(evaluation.reasoning)
            if reason in self._reasons or len(self._reasons) < _MOST_REASONS:
                self._reasons[reason] += 1
            else:
                self._other_reasons += 1

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
    def judges(self) -> dict[str, tuple[str, ...]]:
        """The judges of each evaluator that has some."""
        return {name: tuple(sorted(judges)) for name, judges in self._judges.items()}

    @property
    def _compares(self) -> bool:
        """Whether there are several models, and so few that they are models."""
        return 1 < len(self._models) <= _MOST_MODELS

    def summary(self) -> Summary:
        """Return the numbers of what was taken in so far."""
        return Summary(
            cases=self._cases.tally(),
            evaluators={name: counting.tally() for name, counting in self._evaluators.items()},
            models={name: counting.tally() for name, counting in self._models.items()} if self._compares else {},
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
            judges=tuple(sorted(set().union(*self._judges.values()))),
            errors_by_class=dict(self._errors.most_common()),
            flags=dict(self._flags.most_common()),
            reasons=dict(self._reasons.most_common())
            | ({_OTHER_REASONS: self._other_reasons} if self._other_reasons else {}),
            ambiguous=dict(sorted(self._ambiguous.items())),
            overturned=dict(sorted(self._overturned.items())),
        )


def summarize(results: Iterable[CaseResult]) -> Summary:
    """Return the numbers of a run from the results of its cases."""
    summarizer = Summarizer()
    for result in results:
        summarizer.add(result)
    return summarizer.summary()


def blamed(result: CaseResult) -> str:
    """Name who is to blame for a case that ended in error."""
    return "the target" if no_answer(result.outcome.evaluations) else "the judge"


class _Counting:
    """The counts behind a ``Tally``."""

    __slots__ = ("_errors", "_not_evaluated", "_passes", "_scores", "_target_errors", "_verdicts", "pending")

    def __init__(self) -> None:
        self._scores = Scores()
        self._passes = Scores()
        self._verdicts: Counter[Verdict] = Counter()
        self._not_evaluated = 0
        self._errors = 0
        self._target_errors = 0
        self.pending = 0

    def add(
        self, status: Status, score: float | None, verdict: Verdict | None, cluster: str | None, no_answer: bool
    ) -> None:
        match status:
            case Status.SCORED if score is not None and verdict is not None:
                self._scores.add(score, cluster)
                self._passes.add(float(verdict is Verdict.PASS), cluster)
                self._verdicts[verdict] += 1
            case Status.ERROR:
                self._errors += 1
                self._target_errors += no_answer
            case _:
                self._not_evaluated += 1

    def tally(self) -> Tally:
        scored = self._scores.n
        return Tally(
            n=scored + self._not_evaluated + self._errors + self.pending,
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
            pass_rate=self._passes.mean,
            pass_rate_interval=self._passes.interval(),
            clusters=self._scores.clusters,
        )


def over_samples(evaluations: Sequence[Evaluation]) -> tuple[Status, float | None, Verdict | None]:
    """Return what an evaluator says of a case in all its samples: the mean score, and the middle verdict."""
    if len(evaluations) == 1:
        return evaluations[0].status, evaluations[0].score, evaluations[0].verdict
    scored = [(one.score, one.verdict) for one in evaluations if one.status is Status.SCORED]
    if not scored:
        failed = any(one.status is Status.ERROR for one in evaluations)
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
            found = Failure.of(judgment.evaluation.error).kind
            if found != NO_ANSWER:
                yield found
            elif judgment.sample not in unanswered:  # the answer itself is not known
                unanswered.add(judgment.sample)
                yield found
    yield from (f"target {Failure.of(answer.error).kind}" for answer in result.answers if answer.error)


def no_answer(evaluations: Iterable[Evaluation]) -> bool:
    """Tell whether no judge is to blame for the errors: the target failed, and there was nothing to ask about."""
    return all(Failure.of(one.error).kind == NO_ANSWER for one in evaluations if one.error is not None)
