"""Which cases people are to label: drawn at random by a seed, each with the chance that it had.

Each case has a random number, the hash of the seed and its id. Without ``uncertain``, the cases with the n smallest
numbers are drawn: a simple random sample, p = n/N. With it, this is done in two groups, the cases of which the judge is
unsure and the others (stratified sampling): p is the share of its group that is drawn, and never 0. So a larger draw
with the same seed contains the smaller one. The order in which cases are shown is random too, by another hash: whoever
stops early has labelled a random part of each group.
"""

from __future__ import annotations

import hashlib
import heapq
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Status
from evenhand.domain.label import MOST_SEED, Draw, DrawnCase, answer_hash, answer_of, require_evaluator
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.domain.run_kind import is_ranking
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import FLOAT_NOISE, Verdict
from evenhand.store.store import Store

# A judge is unsure of a score this near to the pass mark.
NEAR: Final = 0.1
# Cases of which the judge is sure need a chance too: where it is wrong there, nobody would ever see it.
MOST_UNCERTAIN: Final = 0.9
MOST_SAMPLE: Final = 100_000


class Candidate(NamedTuple):
    """A case that can be drawn, and whether the judge is unsure of it."""

    position: int
    case: str
    answer: str
    is_unsure: bool


class Candidates(NamedTuple):
    """The cases of a run that can be drawn, and how many cannot, by reason."""

    cases: Sequence[Candidate]
    left_out: Mapping[str, int]


def candidates_of(results: Iterable[CaseResult], run: RunRecord, evaluator: str | None = None) -> Candidates:
    """Return the cases that have an answer and a score: of one evaluator, or of the case as a whole."""
    left_out = Counter[str]()
    return Candidates(list(_candidates(results, run, evaluator, left_out)), left_out)


def _candidates(
    results: Iterable[CaseResult], run: RunRecord, evaluator: str | None, left_out: Counter[str]
) -> Iterator[Candidate]:
    """Yield the cases that can be drawn, and count the others."""
    evaluators: set[str] = set()
    for result in results:
        evaluators.update(judgment.evaluation.evaluator for judgment in result.judgments)
        answer = answer_of(result)
        scores, verdicts = _scores(result, evaluator)
        if answer is None:
            left_out["without an answer"] += 1
        elif not scores or result.pending:
            left_out["without a score"] += 1
        else:
            is_unsure = (
                Verdict.BORDERLINE in verdicts
                or len(set(verdicts)) > 1
                or abs(sum(scores) / len(scores) - run.thresholds.pass_at) <= NEAR + FLOAT_NOISE
            )
            yield Candidate(result.position, result.id, answer_hash(answer), is_unsure)
    if evaluator is not None and run.cases:
        require_evaluator(run, evaluator, evaluators)


def _scores(result: CaseResult, evaluator: str | None) -> tuple[list[float], list[Verdict]]:
    """Return the scores and verdicts of all samples, none if one sample has none that counts."""
    judged = (
        result.by_sample
        if evaluator is None
        else [judgment.evaluation for judgment in result.judgments if judgment.evaluation.evaluator == evaluator]
    )
    scored = [one for one in judged if one.status is Status.SCORED]
    scores = [one.score for one in scored if one.score is not None]
    return scores, [one.verdict for one in scored if one.verdict is not None]


def draw_cases(
    candidates: Candidates, *, sample: int, uncertain: float = 0.0, seed: int, evaluator: str | None = None
) -> Draw:
    """Draw cases; the same ones for the same seed. If there are fewer than ``sample``, all of them are drawn.

    >>> cases = [Candidate(number, f"case-{number}", "h0", is_unsure=number < 2) for number in range(10)]
    >>> draw = draw_cases(Candidates(cases, {}), sample=4, uncertain=0.5, seed=1)
    >>> sorted((drawn.position, drawn.p) for drawn in draw.cases)
    [(0, 1.0), (1, 1.0), (2, 0.25), (9, 0.25)]
    """
    _check(sample, uncertain, seed)
    drawing = _Drawing(sample, seed)
    for case in candidates.cases:
        drawing.add(case)
    return drawing.draw(uncertain, evaluator, candidates.left_out)


class _Drawing:
    """Takes in the cases that can be drawn one by one, and keeps those that may be: so many of each group."""

    def __init__(self, sample: int, seed: int) -> None:
        self._sample, self._seed = sample, seed
        self._all, self._unsure, self._sure = (_Smallest(sample) for _ in range(3))

    def add(self, case: Candidate) -> None:
        number = int.from_bytes(_number(self._seed, "draw", case.case))
        self._all.add(number, case)
        (self._unsure if case.is_unsure else self._sure).add(number, case)

    def draw(self, uncertain: float, evaluator: str | None, left_out: Mapping[str, int]) -> Draw:
        sample, unsure, sure = self._sample, self._unsure, self._sure
        if not self._all.count:
            why = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
            raise ConfigError(f"no case can be drawn: {why or 'the run has none'}")
        groups = [(self._all, min(sample, self._all.count))]
        if uncertain and unsure.count and sure.count:
            first = _size_of_first(sample, uncertain, unsure.count, sure.count)
            groups = [(unsure, first), (sure, min(sample - first, sure.count))]
        drawn = [
            DrawnCase(case=case.case, position=case.position, p=size / group.count, answer=case.answer)
            for group, size in groups
            for case in group.first(size)
        ]
        drawn.sort(key=lambda case: _number(self._seed, "order", case.case))
        return Draw(
            seed=self._seed,
            uncertain=uncertain,
            evaluator=evaluator,
            eligible=self._all.count,
            unsure=unsure.count,
            left_out=dict(left_out),
            cases=tuple(drawn),
        )


class _Smallest:
    """The cases with the smallest numbers, so many of them at most, and how many there were."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[int, int, Candidate]] = []
        self.count = 0

    def add(self, number: int, case: Candidate) -> None:
        self.count += 1
        entry = (-number, self.count, case)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)

    def first(self, size: int) -> list[Candidate]:
        return [case for *_, case in sorted(self._heap, reverse=True)[:size]]


def require_answers(run: RunRecord) -> None:
    """Refuse a ranking: its cases are groups of profiles, which neither pass nor fail."""
    if is_ranking(run.definition):
        raise ConfigError(f"run {run.id} ranks profiles, and has no answers to label; name another run")


def make_draw(
    store: Store,
    run: RunRecord,
    *,
    sample: int,
    uncertain: float | None = None,
    seed: int | None = None,
    evaluator: str | None = None,
) -> Draw:
    """Draw cases of a run and store the draw; without a seed that of the draw before, or a random one.

    A draw of which people have labelled cases can be enlarged, and not be replaced by another.
    """
    require_answers(run)
    store.require_writable()
    if run.status in (RunStatus.PLANNING, RunStatus.RUNNING) and store.runs.in_hand(run):
        raise ConfigError(f"run {run.id} is in progress, and its cases would not all have a chance; wait until it ends")
    before = store.labels.draw(run, evaluator)
    if seed is None:
        seed = secrets.randbelow(1_000_000) if before is None else before.seed
    if uncertain is None:
        uncertain = 0.0 if before is None else before.uncertain
    _check(sample, uncertain, seed)
    drawing, left_out = _Drawing(sample, seed), Counter[str]()
    for case in _candidates(store.results(run), run, evaluator, left_out):
        drawing.add(case)
    return store.labels.keep_draw(run, drawing.draw(uncertain, evaluator, left_out))


def draw_words(draw: Draw) -> list[str]:
    """Say what was drawn from what, and what was left out, in sentences."""
    whose = "" if draw.evaluator is None else f" for evaluator {draw.evaluator}"
    words = [f"drew {draw.size:,} of {draw.eligible:,} cases{whose} at random with seed {draw.seed}"]
    if draw.uncertain:
        words += [_uncertain_words(draw)]
    if draw.left_out:
        words += ["left out: " + ", ".join(f"{count:,} {reason}" for reason, count in draw.left_out.items())]
    return words


def _uncertain_words(draw: Draw) -> str:
    chances = sorted({one.p for one in draw.cases}, reverse=True)
    same = "all had the same chance"
    if not draw.unsure:
        return f"the judge is unsure of no case, so {same}"
    if len(chances) == 1:
        return f"the judge is unsure of {draw.unsure:,}; {same}"
    return f"the judge is unsure of {draw.unsure:,}; the chances were {' and '.join(f'{p:.3g}' for p in chances)}"


def _size_of_first(sample: int, share: float, unsure: int, sure: int) -> int:
    """Return how many of the unsure cases are drawn: at least one of each group, and no more than there are."""
    wanted = max(min(round(share * sample), sample - 1), 1)
    return min(max(wanted, sample - sure), unsure)


def _number(seed: int, what: str, case: str) -> bytes:
    """Return the random number of a case, as bytes that sort."""
    return hashlib.sha256(f"{seed}\n{what}\n".encode() + case.encode("utf-8", "surrogatepass")).digest()


def _check(sample: int, uncertain: float, seed: int) -> None:
    least = 2 if uncertain else 1
    if not isinstance(sample, int) or isinstance(sample, bool) or not least <= sample <= MOST_SAMPLE:
        raise ConfigError(
            f"sample is {sample!r:.40}; it must be a whole number from {least} to {MOST_SAMPLE:,}", key="sample"
        )
    if not is_finite_number(uncertain) or not 0 <= uncertain <= MOST_UNCERTAIN:
        raise ConfigError(
            f"uncertain is {uncertain!r:.40}; it must be a share from 0 to {MOST_UNCERTAIN}: cases of which the judge "
            "is sure need a chance too",
            key="uncertain",
        )
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= MOST_SEED:
        raise ConfigError(f"seed is {seed!r:.40}; it must be a whole number from 0 to {MOST_SEED}", key="seed")
