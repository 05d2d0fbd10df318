"""From the cases of two runs, pair by pair, to the numbers of their comparison (SPEC-T1)."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, Protocol, TypeAlias

from evenhand.domain.comparison import STANDINGS, Change, Compared, LabelTable
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult
from evenhand.domain.verdict import FLOAT_NOISE
from evenhand.reports.counts import over_samples
from evenhand.reports.phrases import Standing
from evenhand.stats.distributions import sign_p_value
from evenhand.stats.paired import PairedScores, holm
from evenhand.stats.sample import ExactSum

# The score of the whole case, among those of the evaluators, which have names.
_WHOLE: Final = None


class PairedFinding(NamedTuple):
    """The standing of a case, or of an evaluation of it; the score is None unless it counts.

    ``errors`` says of each answer to the case whether it ended in error.
    """

    standing: Standing
    score: float | None
    errors: tuple[bool, ...] = ()


class JudgedBy(Protocol):
    """What says how a case is to be judged, equal to others that say the same."""

    def settle(self) -> None:
        """Let go of what takes room."""
        ...


class JudgedCase(NamedTuple):
    """What a comparison keeps of a case in one run, until it meets the same case in the other.

    ``judged_by`` is all that the case itself says on how it is to be judged.
    """

    # A tuple, of which a million are made more quickly than of anything else.

    id: str
    position: int
    cluster: str | None
    judged_by: JudgedBy
    found: Mapping[str | None, PairedFinding]

    def settled(self) -> JudgedCase:
        """Let go of what takes room, so that many can wait."""
        self.judged_by.settle()
        return self


_Findings: TypeAlias = Mapping[str | None, PairedFinding]
# Of a case that a run does not have.
_NOTHING: Final[_Findings] = {}
# So many pairs that are not alike are gathered.
_MOST_ALIKE: Final = 10_000


def findings_of(result: CaseResult) -> Mapping[str | None, PairedFinding]:
    """Take from a result what counts; samples are averaged first, so that a case is one case."""
    findings: dict[str | None, PairedFinding] = {_WHOLE: _whole_finding(result)}
    by_evaluator: dict[str, list[Evaluation]] = {}
    for judgment in result.judgments:
        by_evaluator.setdefault(judgment.evaluation.evaluator, []).append(judgment.evaluation)
    for name, evaluations in by_evaluator.items():
        status, score, verdict = over_samples(evaluations)
        errors = tuple(evaluation.status is Status.ERROR for evaluation in evaluations)
        if status is Status.SCORED and verdict is not None:
            findings[name] = PairedFinding(Standing(verdict.value), score, errors)
        else:
            findings[name] = PairedFinding(Standing(status.value), None, errors)
    return findings


def _whole_finding(result: CaseResult) -> PairedFinding:
    if result.pending:
        return PairedFinding(Standing.PENDING, None)
    outcome = result.outcome  # computed from all samples: once is enough
    standing = Standing.of(outcome)
    errors = tuple(sample.status is Status.ERROR for sample in result.by_sample)
    return PairedFinding(standing, outcome.score if standing.scored else None, errors)


class PairedSummarizer:
    """Takes in the cases of two runs pair by pair, and gives the numbers; what it keeps are sums, and a few changes.

    ``evaluator`` is the one whose changes are wanted, None for those of whole cases; ``limit`` is how many of them.
    """

    def __init__(self, *, evaluator: str | None = None, limit: int | None = None) -> None:
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise ConfigError(f"limit is {limit!r:.80}; it must be a whole number, 0 or more, or None for all changes")
        self._evaluator = evaluator
        self._counted: dict[str | None, _Counts] = {_WHOLE: _Counts()}
        self._changes = _Largest(limit)
        # Pairs by the identity of what was found, which those who read runs have once for many cases.
        self._alike: dict[tuple[int, int], _AlikePairs] = {}

    def add(self, a: JudgedCase | None, b: JudgedCase | None) -> None:
        """Take in a case: as it is in A and in B, None where a run does not have it.

        Cases that came out alike are gathered, and counted when all are there. Nothing depends on their order.
        """
        ours = _NOTHING if a is None else a.found
        theirs = _NOTHING if b is None else b.found
        cluster = (a and a.cluster) or (b and b.cluster) or None
        if cluster is not None:
            self._count(ours, theirs, cluster)
        elif (alike := self._alike.get((id(ours), id(theirs)))) is not None:
            alike.times += 1
        else:
            self._gather(ours, theirs)
        if a is not None and b is not None and self._evaluator in ours and self._evaluator in theirs:
            self._changes.add(a, ours[self._evaluator], theirs[self._evaluator])

    def _gather(self, ours: _Findings, theirs: _Findings) -> None:
        if len(self._alike) == _MOST_ALIKE:
            self._count_alike()
        self._alike[id(ours), id(theirs)] = _AlikePairs(ours, theirs)
        for name in (*ours, *theirs):  # in the order in which they come
            if name not in self._counted:
                self._counted[name] = _Counts()

    def _count_alike(self) -> None:
        for alike in self._alike.values():
            self._count(alike.ours, alike.theirs, None, alike.times)
        self._alike.clear()

    def _count(self, ours: _Findings, theirs: _Findings, cluster: str | None, times: int = 1) -> None:
        for name in dict.fromkeys((*ours, *theirs)):
            if (counting := self._counted.get(name)) is None:
                counting = self._counted[name] = _Counts()
            counting.add(ours.get(name), theirs.get(name), cluster, times)

    @property
    def in_common(self) -> int:
        """How many cases both runs have."""
        self._count_alike()
        return self._counted[_WHOLE].in_common

    @property
    def changed(self) -> int:
        """How many cases, scored in both runs, have another score or verdict in B."""
        return self._changes.count

    def changes(self) -> tuple[Change, ...]:
        """Return the changes, the largest first."""
        return self._changes.sorted()

    def cases(self) -> Compared:
        """Return the numbers of whole cases."""
        self._count_alike()
        return self._counted[_WHOLE].compared()

    def evaluators(self) -> dict[str, Compared]:
        """Return the numbers of each evaluator, with p values that allow for their number."""
        self._count_alike()
        compared = {name: counts.compared() for name, counts in self._counted.items() if name is not None}
        if self._evaluator is not None and self._evaluator not in compared:
            suggestion = did_you_mean(str(self._evaluator), compared)
            raise ConfigError(f"no evaluator of these runs is named {self._evaluator!r:.80}{suggestion}")
        corrected = holm({name: numbers.scores.p for name, numbers in compared.items() if numbers.scores.p is not None})
        return {name: replace(numbers, p_holm=corrected.get(name)) for name, numbers in compared.items()}


# The label of each evaluator, with its score; None where there is none that all samples have.
Labelled: TypeAlias = Mapping[str, tuple[str, float] | None]


class LabelPairs:
    """Counts which label of an evaluator in A meets which in B."""

    def __init__(self, evaluators: Iterable[str]) -> None:
        self._pairs: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in evaluators}
        self._scores: dict[str, dict[str, float]] = {name: {} for name in self._pairs}
        self._without: Counter[str] = Counter()

    def add(self, a: Labelled, b: Labelled) -> None:
        """Take in a case, as it is in A and in B."""
        for name, pairs in self._pairs.items():
            if name not in a or name not in b:
                continue
            before, after = a[name], b[name]
            if before is None or after is None:
                self._without[name] += 1
            else:
                self._scores[name] |= dict([before, after])
                pairs[before[0], after[0]] += 1

    def table(self, evaluator: str) -> LabelTable | None:
        """Return the counts of an evaluator; None where no case has a label in both runs."""
        scores = self._scores.get(evaluator)
        if not scores:
            return None
        labels = tuple(sorted(scores, key=lambda label: (-scores[label], label)))
        counts = tuple(tuple(self._pairs[evaluator][before, after] for after in labels) for before in labels)
        return LabelTable(labels=labels, counts=counts, without=self._without[evaluator])


class _AlikePairs:
    """What was found in both runs of cases that are alike, and how many there are."""

    __slots__ = ("ours", "theirs", "times")

    def __init__(self, ours: _Findings, theirs: _Findings) -> None:
        self.ours = ours
        self.theirs = theirs
        self.times = 1


class _Counts:
    """The counts behind a ``Compared``."""

    __slots__ = (
        "_difference", "_errors", "_known", "_only_a", "_only_b", "_pairs", "_transitions", "_unscored", "in_common",
    )  # fmt: skip

    def __init__(self) -> None:
        self.in_common = 0
        self._only_a = 0
        self._only_b = 0
        self._unscored: Counter[tuple[bool, bool]] = Counter()
        self._pairs = PairedScores()
        # The sum of all differences, and of the scores that cases have in A only and in B only.
        self._difference = ExactSum()
        self._known = (ExactSum(), ExactSum())
        self._transitions: Counter[tuple[Standing, Standing]] = Counter()
        # How many cases have more errors in A, and in B.
        self._errors = [0, 0]

    def add(self, a: PairedFinding | None, b: PairedFinding | None, cluster: str | None, times: int) -> None:
        if a is None or b is None:
            self._only_a += times * (a is not None)
            self._only_b += times * (b is not None)
            return
        self.in_common += times
        self._transitions[a.standing, b.standing] += times
        alike = min(len(a.errors), len(b.errors))  # with more answers, there are more errors
        ours, theirs = sum(a.errors[:alike]), sum(b.errors[:alike])
        self._errors[0] += times * (ours > theirs)
        self._errors[1] += times * (theirs > ours)
        if a.score is not None and b.score is not None:
            self._pairs.add(a.score, b.score, cluster, times)
            self._difference.add(b.score - a.score, times)
        else:
            self._unscored[a.score is None, b.score is None] += times
            for known, finding in zip(self._known, (a, b), strict=True):
                known.add(finding.score or 0.0, times)

    def compared(self) -> Compared:
        states = [Standing(name) for name in STANDINGS]
        scores = self._pairs.compared()
        return Compared(
            in_common=self.in_common,
            only_a=self._only_a,
            only_b=self._only_b,
            unscored_a=self._unscored[True, False],
            unscored_b=self._unscored[False, True],
            unscored_both=self._unscored[True, True],
            pending=sum(count for pair, count in self._transitions.items() if Standing.PENDING in pair),
            scores=scores,
            bounds=self._bounds(scores.n),
            transitions=tuple(tuple(self._transitions[before, after] for after in states) for before in states),
            errors=(self._errors[0], self._errors[1]),
            errors_p=sign_p_value(*self._errors) if any(self._errors) else None,
        )

    def _bounds(self, n: int) -> tuple[float, float] | None:
        """Return the difference if every missing score had been against B, and if every one had been for B."""
        lacks_b, lacks_a = self._unscored[False, True], self._unscored[True, False]
        if not lacks_a + lacks_b:
            return None
        total = self._difference.value + self._known[1].value - self._known[0].value
        whole = n + lacks_a + lacks_b
        return (total - lacks_a) / whole, (total + lacks_b) / whole


class _Largest:
    """The largest changes, so many of them at most, and how many there were."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        # By size, a new verdict before none, and cases that come first in the suite before others.
        self._heap: list[tuple[float, bool, int, int, Change]] = []
        self.count = 0

    def add(self, case: JudgedCase, a: PairedFinding, b: PairedFinding) -> None:
        if a.score is None or b.score is None:
            return
        size, turned = abs(b.score - a.score), a.standing is not b.standing
        if size <= FLOAT_NOISE and not turned:
            return
        self.count += 1
        # Rounded, so that float noise does not order what is equal.
        rank = (round(size, 9), turned, -case.position, -self.count)
        is_full = self._limit is not None and len(self._heap) >= self._limit
        if is_full and (not self._heap or rank < self._heap[0][:4]):
            return
        change = Change(
            case_id=case.id,
            score_a=a.score,
            score_b=b.score,
            standing_a=a.standing.value,
            standing_b=b.standing.value,
        )
        if is_full:
            heapq.heappushpop(self._heap, (*rank, change))
        else:
            heapq.heappush(self._heap, (*rank, change))

    def sorted(self) -> tuple[Change, ...]:
        return tuple(change for *_, change in sorted(self._heap, reverse=True))
