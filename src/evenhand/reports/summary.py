"""From the results of a run's cases to its numbers (SPEC-S7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from evenhand.domain.aggregate import CaseScore
from evenhand.domain.evaluation import Attempt, Evaluation, Status, Usage
from evenhand.domain.failure import Failure
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer
from evenhand.domain.slices import slice_value
from evenhand.domain.summary import Summary
from evenhand.domain.verdict import Verdict
from evenhand.reports.cascades import CascadeCounts, cascades_of
from evenhand.reports.counts import (
    NO_ANSWER,
    Counts,
    DiscardedCounts,
    Place,
    SliceCounts,
    Slicing,
    first_seen,
    in_order,
    no_answer,
    over_samples,
)
from evenhand.reports.highlights import Part, ambiguities_of, juries_of, parts_of
from evenhand.reports.safe_text import plain
from evenhand.stats.agreement import Rating, Ratings
from evenhand.stats.repeats import Samples, steadiness
from evenhand.stats.sample import ExactSum

# By names of their own: to look into an enum, for each evaluation, takes seven times as long.
_SCORED, _PASS = Status.SCORED, Verdict.PASS
_MOST_REASONS: Final = 10
_MOST_REASONS_KEPT: Final = 100
_OTHER_REASONS: Final = "other reasons"
# The key of a case's metadata that names the model which answers it.
MODEL: Final = "model"
# The flag of an evaluation whose reply had several different verdicts.
_AMBIGUOUS: Final = "ambiguous"


class Summarizer:
    """Takes in the results of a run one by one and gives its numbers; memory grows with clusters, not with cases.

    The cases may come in any order: where an order shows, it is that of the suite. ``slices`` are keys of their
    metadata, for each of which they are counted by its values too.

    >>> Summarizer().summary().cases.mean is None
    True
    """

    def __init__(self, slices: Iterable[str] = ()) -> None:
        self._cases = Counts()
        self._evaluators: dict[str, Counts] = {}
        self._models = Slicing()
        self._slices = {key: Slicing() for key in slices}
        self._repeat = 1
        self._retries = 0
        self._calls = 0
        self._programs = 0
        self._functions = 0
        self._target_calls = 0
        self._batch_calls = 0
        self._cached = 0
        self._transport_faults = 0
        self._input_tokens = 0
        self._output_tokens = 0
        self._prompt_cached_tokens = 0
        self._prompt_cache_saving = ExactSum()
        self._cost = ExactSum()
        self._unpriced: set[str] = set()
        self._judges: dict[str, set[str]] = {}
        self._errors = _Frequencies()
        self._flags = _Frequencies()
        self._reasons = _Reasons()
        self._ambiguous: Counter[str] = Counter()
        self._overturned: Counter[str] = Counter()
        self._repeats: Counter[Samples] = Counter()
        self._discarded = DiscardedCounts()
        self._juries: dict[str, tuple[Place, Ratings]] = {}
        self._cascades: dict[str, tuple[Place, CascadeCounts]] = {}

    def add(self, result: CaseResult, outcome: CaseScore | None = None) -> None:
        """Take in the result of a case; its ``outcome`` too, where that is worked out already."""
        position, cluster = result.position, result.case.cluster
        sliced = self._slices_of(result)
        samples = result.by_sample if result.judgments and result.judgments[-1].sample > 0 else ()
        self._add_case(result, outcome, sliced, samples)
        by_evaluator: dict[str, list[Evaluation]] = {}
        for judgment in result.judgments:
            evaluation = judgment.evaluation
            by_evaluator.setdefault(evaluation.evaluator, []).append(evaluation)
            parts = parts_of(evaluation)
            self._note(judgment, parts, position)
            self._add_effort(judgment, parts)
            self._add_cascades(judgment, (position, len(by_evaluator)))
        for order, (name, evaluations) in enumerate(by_evaluator.items()):
            of_all_samples = over_samples(evaluations)
            for evaluators in (self._evaluators, *(counts.evaluators for counts in sliced)):
                counting = first_seen(evaluators, name, (position, order))
                counting.add(*of_all_samples, cluster, evaluations)
                counting.add_answers(*of_all_samples, [(one.status, (one,)) for one in evaluations] if samples else [])
            self._add_juries(evaluations, (position, order), cluster)
        for replaced in result.replaced:
            self._add_effort(replaced, parts_of(replaced.evaluation) if isinstance(replaced, Judgment) else ())
        for answer in result.answers:
            self._add_effort(answer, ())
        for error in _errors(result):
            self._errors.add(error, position)

    def _add_case(
        self,
        result: CaseResult,
        outcome: CaseScore | None,
        sliced: Sequence[SliceCounts],
        samples: Sequence[CaseScore],
    ) -> None:
        """Count a case as a whole; ``samples`` are those of a repeated one."""
        counted = [self._cases, *(counts.cases for counts in (*sliced, *self._models_of(result)))]
        if result.pending:
            for counts in counted:
                counts.pending += 1
            return
        outcome, cluster = outcome or result.outcome, result.case.cluster
        answers = [(sample.status, sample.evaluations) for sample in samples]
        for counts in counted:
            counts.add(outcome.status, outcome.score, outcome.verdict, cluster, outcome.evaluations)
            counts.add_answers(outcome.status, outcome.score, outcome.verdict, answers)
        if samples:
            verdicts = [sample.verdict for sample in samples if sample.status is _SCORED]
            self._repeats[len(verdicts), verdicts.count(_PASS), cluster] += 1

    def _add_juries(self, evaluations: Sequence[Evaluation], place: Place, cluster: str | None) -> None:
        """Take in what jurors gave in all samples of a case."""
        samples: dict[str, list[tuple[list[Rating], int]]] = {}
        for evaluation in evaluations:
            for name, ratings, missing in juries_of(evaluation):
                samples.setdefault(name, []).append((ratings, missing))
        for name, rated in samples.items():
            first, collected = self._juries.get(name) or (place, Ratings())
            self._juries[name] = min(first, place), collected
            collected.add(rated, cluster)

    def _add_cascades(self, judgment: Judgment, place: Place) -> None:
        """Take in how far the cascades of a judgment went."""
        for passed in cascades_of(judgment.evaluation):
            first, counts = self._cascades.get(passed.name) or (place, CascadeCounts())
            self._cascades[passed.name] = min(first, place), counts
            counts.add(passed, has_prices=judgment.cost is not None)

    def add_alike(self, result: CaseResult, outcome: CaseScore, times: int) -> None:
        """Take in that many cases with one judgment like this one, all but for what it spent: see ``spend``."""
        evaluation = result.judgments[0].evaluation
        groups = [(self._cases, self._evaluators)]
        groups += [(counts.cases, counts.evaluators) for counts in self._slices_of(result)]
        for cases, evaluators in groups:
            for counting in (cases, first_seen(evaluators, evaluation.evaluator, (result.position, 0))):
                counting.add(outcome.status, outcome.score, outcome.verdict, None, (), times=times)
        self._note(result.judgments[0], parts_of(evaluation), result.position)
        self._calls += times
        self._batch_calls += times * evaluation.attempts[0].batch

    def spend(
        self, usage: Usage | None, cost: float | None, *, saved: float | None = None, whose: str = "judge"
    ) -> None:
        """Take in what one judgment of many alike took, or what else was paid for."""
        if usage is not None:
            self._input_tokens += usage.input_tokens
            self._output_tokens += usage.output_tokens
            if usage.cached_tokens:  # of some, more than there are
                self._prompt_cached_tokens += min(usage.cached_tokens, usage.input_tokens)
        if saved:
            self._prompt_cache_saving.add(saved)
        if cost is None:
            self._unpriced.add(whose)
        elif cost:
            self._cost.add(cost)

    def _models_of(self, result: CaseResult) -> Iterator[SliceCounts]:
        """Yield the counts of the model of a case, if it names one and models are so few."""
        model = result.case.metadata.get(MODEL)
        if isinstance(model, str) and (counts := self._models.of(model, result.position)) is not None:
            yield counts

    def _slices_of(self, result: CaseResult) -> list[SliceCounts]:
        """Return the counts of the slices that a case is in, one for each key that has not too many values."""
        metadata, position = result.case.metadata, result.position
        found = (slicing.of(slice_value(metadata, key), position) for key, slicing in self._slices.items())
        return [counts for counts in found if counts is not None]

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
        self._discarded.add(record.attempts, done.cost, prefix="target " if whose == "target" else "")
        self.spend(None if record.attempts else record.usage, done.cost, whose=whose)

    def _count_request(self, attempt: Attempt) -> None:
        if attempt.cached:
            self._cached += 1
        else:
            self._calls += 1
            self._batch_calls += attempt.batch and attempt.kind == "reply"
            self._transport_faults += attempt.kind == "transport"
            self.spend(attempt.usage, 0.0, saved=attempt.saved)

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
        return {name: tuple(sorted(self._judges[name])) for name in in_order(self._evaluators) if name in self._judges}

    def summary(self) -> Summary:
        """Return the numbers of what was taken in so far."""
        models = self._models.slices()
        return Summary(
            cases=self._cases.tally(),
            evaluators={name: counting.tally() for name, counting in in_order(self._evaluators).items()},
            models={name: part.cases for name, part in models.items()} if len(models) > 1 else {},
            slices={key: slicing.slices() for key, slicing in self._slices.items() if not slicing.has_too_many},
            unsliced=tuple(key for key, slicing in self._slices.items() if slicing.has_too_many),
            repeat=self._repeat,
            calls=self._calls,
            programs=self._programs,
            functions=self._functions,
            target_calls=self._target_calls,
            batch_calls=self._batch_calls,
            cached=self._cached,
            retries=self._retries,
            transport_faults=self._transport_faults,
            input_tokens=self._input_tokens,
            output_tokens=self._output_tokens,
            prompt_cached_tokens=self._prompt_cached_tokens,
            prompt_cache_saving=self._prompt_cache_saving.value,
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
            discarded=self._discarded.discarded(),
            agreement={name: ratings.agreement() for name, (_, ratings) in sorted(self._juries.items(), key=_order)},
            cascades={name: counts.tally() for name, (_, counts) in sorted(self._cascades.items(), key=_order)},
        )


def summarize(results: Iterable[CaseResult], slices: Iterable[str] = ()) -> Summary:
    """Return the numbers of a run from the results of its cases."""
    summarizer = Summarizer(slices)
    for result in results:
        summarizer.add(result)
    return summarizer.summary()


def blamed(result: CaseResult) -> str:
    """Return who is to blame for a case that ended in error."""
    return "the target" if no_answer(result.outcome.evaluations) else "the judge"


def _order(item: tuple[str, tuple[Place, Ratings | CascadeCounts]]) -> tuple[Place, str]:
    name, (place, _) = item
    return place, name


class _Frequencies:
    """How often names occur. The most frequent come first, and of equals the one that the suite has first."""

    __slots__ = ("_count", "_places", "_seen")

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._places: dict[str, Place] = {}
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
