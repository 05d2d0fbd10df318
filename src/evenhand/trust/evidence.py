"""What a card rests on: the judge's view of every case, and what people said of some of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.label import Draw, Label, answer_hash, answer_of, require_evaluator
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import FLOAT_NOISE, Thresholds, Verdict, median_verdict, reaches
from evenhand.trust.card import Basis, LabelCounts
from evenhand.trust.confidence import distance, said_confidence

_MOST_QUESTION: Final = 100
_USUAL_MARK: Final = Thresholds().pass_at


class View(NamedTuple):
    """What the judge said of an answer, and how sure it is; None where nobody can say."""

    score: float
    passes: bool
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledCase:
    """A case with the judge's view and the labels that count: ``score`` is their mean, ``passes`` the majority.

    ``chance`` is that of being drawn; None if it was not.
    """

    case: str
    position: int
    question: str
    view: View
    labels: tuple[Label, ...]
    chance: float | None
    score: float
    passes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The judge's view of all judged cases by their positions, and those of them that count as labelled."""

    views: Mapping[int, View]
    left_out: Mapping[str, int]
    cases: tuple[LabelledCase, ...]
    counts: LabelCounts
    basis: Basis
    pass_mark: float
    draw: Draw | None

    @property
    def has_scores(self) -> bool:
        """Whether people gave scores, rather than pass or fail alone."""
        return any(not isinstance(label.value, str) for case in self.cases for label in case.labels)


def pass_mark_of(run: RunRecord, evaluator: str | None = None) -> float:
    """Return the pass mark in use: that of an evaluator that has its own, or that of the run."""
    for one in _defined(run) if evaluator is not None else ():
        if evaluator == (one.get("name") or one.get("type")) and one.get("thresholds"):
            return Thresholds.of(one["thresholds"]).pass_at
    return run.thresholds.pass_at


def definition_of(run: RunRecord, evaluator: str | None = None) -> dict[str, Any] | None:
    """Return an evaluator as the run defines it, with the run's judge where it names none.

    Without a name it is the only one; None where there are several, or none of that name.
    """
    named = [one for one in _defined(run) if evaluator in (None, one.get("name") or one.get("type"))]
    if len(named) != 1:
        return None
    judge = named[0].get("judge") or run.definition.get("judge")
    return {**named[0], **({} if judge is None else {"judge": judge})}


def _defined(run: RunRecord) -> list[Mapping[str, Any]]:
    defined = run.definition.get("evaluators")
    return [one for one in defined if isinstance(one, Mapping)] if isinstance(defined, list | tuple) else []


def passes(label: Label, pass_mark: float) -> bool:
    """Return whether a person passed an answer; a score passes from the pass mark on."""
    return label.value == "pass" if isinstance(label.value, str) else reaches(label.value, pass_mark)


def majority(verdicts: Sequence[bool]) -> bool:
    """Return what most people said; a tie counts as fail.

    >>> majority([True, True, False]), majority([True, False])
    (True, False)
    """
    return 2 * sum(verdicts) > len(verdicts)


def judge_view(result: CaseResult, evaluator: str | None = None, pass_mark: float = _USUAL_MARK) -> View | None:
    """Return what the judge said of the answer that people read; None if that is no score.

    Where each sample has an answer of its own, people read the first one; otherwise all samples judge the same answer.
    """
    if result.pending:
        return None
    samples = {judgment.sample for judgment in result.judgments}
    only = min(samples, default=0) if len(result.answers) > 1 else None
    judgments = [
        judgment.evaluation
        for judgment in result.judgments
        if only in (None, judgment.sample) and evaluator in (None, judgment.evaluation.evaluator)
    ]
    if evaluator is None:
        outcome = result.outcome if only is None else result.by_sample[0]
        found = [(outcome.score, outcome.verdict)] if outcome.status is Status.SCORED else []
    else:
        found = [(one.score, one.verdict) for one in judgments if one.status is Status.SCORED]
    scored = [(score, verdict) for score, verdict in found if score is not None and verdict is not None]
    if not scored:
        return None
    score = math.fsum(score for score, _ in scored) / len(scored)
    verdict = median_verdict(verdict for _, verdict in scored)
    passed = verdict is Verdict.PASS
    return View(score, passed, _confidence(judgments, distance(score, passes=passed, pass_mark=pass_mark)))


def _confidence(evaluations: Sequence[Evaluation], far: float | None) -> float | None:
    """Return how sure the evaluator says it is, or else how far its score lies from the pass mark.

    Of several evaluators, nobody knows how sure they are together.
    """
    if len({evaluation.evaluator for evaluation in evaluations}) != 1:
        return None
    given = [said for said in map(said_confidence, evaluations) if said is not None]
    if not given:
        return far
    numbers = [number for number in given if is_finite_number(number) and 0 <= number <= 1]
    return math.fsum(numbers) / len(numbers) if len(numbers) == len(evaluations) else None


def gather(
    results: Iterable[CaseResult],
    run: RunRecord,
    labels: Iterable[Label],
    draw: Draw | None,
    evaluator: str | None = None,
) -> Evidence:
    """Put the judge's view of every case beside the labels that count for it; the cases are gone through once."""
    mark = pass_mark_of(run, evaluator)
    gathered = _Gathered(labels, evaluator, mark)
    for result in results:
        gathered.take(result)
    if evaluator is not None and run.cases:
        require_evaluator(run, evaluator, gathered.names)
    cases = tuple(gathered.labelled(mark))
    basis = _basis(cases, draw)
    return Evidence(
        views=gathered.views,
        left_out=dict(gathered.left_out),
        cases=cases,
        counts=gathered.counts(cases, basis, draw),
        basis=basis,
        pass_mark=mark,
        draw=draw,
    )


class _Gathered:
    """What was found so far: views by position, the labels of answers that the run has, and how many do not count."""

    def __init__(self, labels: Iterable[Label], evaluator: str | None, pass_mark: float) -> None:
        self._evaluator = evaluator
        self._pass_mark = pass_mark
        self._elsewhere = Counter[str | None]()
        # Labels that were not met yet.
        self._waiting: dict[int, list[Label]] = {}
        for label in labels:
            if label.evaluator != evaluator:
                self._elsewhere[label.evaluator] += 1
            else:
                self._waiting.setdefault(label.position, []).append(label)
        self.views: dict[int, View] = {}
        self.left_out = Counter[str]()
        self.names: set[str] = set()
        self._read: list[tuple[CaseResult, View, list[Label]]] = []
        self._stale = self._unjudged = 0

    def take(self, result: CaseResult) -> None:
        """Take in a case."""
        self.names.update([judgment.evaluation.evaluator for judgment in result.judgments])
        answer, view = answer_of(result), judge_view(result, self._evaluator, self._pass_mark)
        if answer is None or view is None:
            self.left_out["without an answer" if answer is None else "without a score"] += 1
        else:
            self.views[result.position] = view
        given = self._waiting.pop(result.position, [])
        now = answer_hash(answer) if given and answer is not None else None
        fresh = [label for label in given if label.answer == now]
        self._stale += len(given) - len(fresh)
        if view is None:
            self._unjudged += len(fresh)
        elif fresh:
            self._read.append((result, view, fresh))

    @property
    def _is_drawn(self) -> bool:
        return any(label.is_drawn for _, _, labels in self._read for label in labels)

    def labelled(self, mark: float) -> Iterator[LabelledCase]:
        """Yield the cases with the labels that count: where some were drawn, only these stand for others."""
        is_drawn = self._is_drawn
        for result, view, labels in self._read:
            if counted := [label for label in labels if label.is_drawn or not is_drawn]:
                yield _labelled(result, view, counted, mark)

    def counts(self, cases: Sequence[LabelledCase], basis: Basis, draw: Draw | None) -> LabelCounts:
        """Count the labels by what became of them."""
        counted = sum(len(case.labels) for case in cases)
        drawn = () if draw is None else draw.cases
        labelled = {case.position for case in cases} if basis is not Basis.NOT_DRAWN else set[int]()
        return LabelCounts(
            counted=counted,
            cases=len(cases),
            raters=tuple(sorted({label.rater for case in cases for label in case.labels})),
            not_drawn=sum(len(labels) for _, _, labels in self._read) - counted,
            # A label of a case that the run does not have is of no answer either.
            stale=self._stale + sum(map(len, self._waiting.values())),
            unjudged=self._unjudged,
            elsewhere=dict(self._elsewhere),
            drawn=len(drawn),
            unlabelled=sum(one.position not in labelled for one in drawn),
            eligible=None if draw is None else draw.eligible,
            seed=None if draw is None else draw.seed,
        )


def _basis(cases: Sequence[LabelledCase], draw: Draw | None) -> Basis:
    if not cases:
        return Basis.NONE
    chances = [case.chance for case in cases if case.chance is not None]
    if not chances:
        return Basis.NOT_DRAWN
    # Those who have begun may have labelled cases of one chance only, by luck.
    chances += [] if draw is None else [one.p for one in draw.cases]
    return Basis.DRAWN if max(chances) - min(chances) <= FLOAT_NOISE else Basis.UNEQUAL


def _labelled(result: CaseResult, view: View, labels: Sequence[Label], mark: float) -> LabelledCase:
    return LabelledCase(
        case=result.id,
        position=result.position,
        question=" ".join((result.case.question_text or "")[: 4 * _MOST_QUESTION].split())[:_MOST_QUESTION],
        view=view,
        labels=tuple(labels),
        chance=labels[0].p,
        score=math.fsum(label.score for label in labels) / len(labels),
        passes=majority([passes(label, mark) for label in labels]),
    )
