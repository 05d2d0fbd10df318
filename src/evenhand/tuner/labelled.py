"""The labelled cases that a prompt is tuned on: what people and the judge said of them, and which part each is in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.label import Label, answer_of
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.stats.pass_mark import FEWEST_OF_A_CLASS
from evenhand.store.results import case_at
from evenhand.store.store import Store
from evenhand.trust.card import Basis
from evenhand.trust.evidence import Evidence, LabelledCase, gather
from evenhand.tuner.split import Placed, split

# With fewer, the held-out part could not show a change of any size that prompts make.
FEWEST: Final = 40
MOST_NOTE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A labelled case of the run that is tuned: where it is, what people and the judge said, and its fold.

    ``fold`` is None for a case that is held out. ``score`` is the judge's.
    """

    id: str
    position: int
    passes: bool
    judge: bool
    score: float
    fold: int | None = None
    cluster: str | None = None
    note: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the judge said what people did."""
        return self.judge is self.passes

    @property
    def gap(self) -> float:
        """How far the judge's score is from what people said."""
        return abs(self.score - float(self.passes))

    def as_dict(self) -> dict[str, Any]:
        """Return the case as plain JSON values; what it has not is left out."""
        row: dict[str, Any] = {"id": self.id, "position": self.position, "passes": self.passes, "judge": self.judge}
        row |= {"score": self.score, "fold": self.fold}
        return row | {key: value for key in ("cluster", "note") if (value := getattr(self, key))}


def from_dicts(rows: Iterable[Mapping[str, Any]]) -> tuple[Labelled, ...]:
    """Return labelled cases as a run keeps them."""
    return tuple(Labelled(**row) for row in rows)


def training(cases: Sequence[Labelled], without: Iterable[int]) -> list[Labelled]:
    """Return the cases that a candidate may be made from: neither held out nor in the folds it will be judged on."""
    left = set(without)
    return [case for case in cases if case.fold is not None and case.fold not in left]


def labelled_cases(
    store: Store,
    run: RunRecord,
    labels: Iterable[Label],
    *,
    evaluator: str,
    held_out: float,
    folds: int,
    seed: int,
) -> tuple[tuple[Labelled, ...], list[str]]:
    """Return the labelled cases, split, and what their reader should know; too few labels are refused, with why.

    ``labels`` must be those for the evaluator.
    """
    draw = store.labels.draw(run, evaluator) or store.labels.draw(run, None)
    evidence = gather(store.results(run), run, labels, draw, evaluator)
    _require_enough(evidence)
    results = [_result(store, run, case) for case in evidence.cases]
    placed = [Placed(_group(result), case.passes) for result, case in zip(results, evidence.cases, strict=True)]
    fold_of = split(placed, held_out=held_out, folds=folds, seed=seed)
    cases = tuple(
        Labelled(
            id=case.case,
            position=case.position,
            passes=case.passes,
            judge=case.view.passes,
            score=case.view.score,
            fold=fold,
            cluster=result.case.cluster,
            note=next((label.note[:MOST_NOTE] for label in case.labels if label.note), ""),
        )
        for case, result, fold in zip(evidence.cases, results, fold_of, strict=True)
    )
    _require_both_verdicts(cases, folds)
    return cases, list(_notes(evidence))


def for_evaluator(labels: Iterable[Label], evaluator: str, *, alone: bool) -> list[Label]:
    """Return labels as those for an evaluator; where it judges ``alone``, labels of whole cases are for it."""
    given = list(labels)
    if alone and not any(label.evaluator == evaluator for label in given):
        return [replace(label, evaluator=evaluator) for label in given if label.evaluator is None]
    return given


def _require_enough(evidence: Evidence) -> None:
    """Refuse labels that cannot decide anything, by what is wrong with them."""
    counts, n = evidence.counts, len(evidence.cases)
    left_out = [
        f"{number} {what}"
        for number, what in (
            (counts.stale, "of answers that the run does not have any more"),
            (counts.unjudged, "of cases that the judge gave no score"),
            (counts.not_drawn, "outside the draw"),
            (sum(counts.elsewhere.values()), "for another evaluator, or for whole cases"),
        )
        if number
    ]
    told = f" (not counted: {', '.join(left_out)})" if left_out else ""
    if n < FEWEST:
        raise ConfigError(
            f"there are {n} labelled cases{told}; tuning takes at least {FEWEST}: some are held out to decide, and the "
            "rest is split again to choose; label more with: evenhand label RUN --sample 100"
        )
    passed = sum(case.passes for case in evidence.cases)
    for count, verdict in ((passed, "passed"), (n - passed, "failed")):
        if count < FEWEST_OF_A_CLASS:
            raise ConfigError(
                f"people {verdict} {count} of the {n} labelled cases{told}; tuning takes at least {FEWEST_OF_A_CLASS}: "
                "with fewer, a judge that always says the same agrees with nearly all of them"
            )


def _require_both_verdicts(cases: Sequence[Labelled], folds: int) -> None:
    """Refuse a split in which clusters leave a part without a pass, or without a fail."""
    parts: Iterator[Sequence[Labelled]] = (training(cases, pair) for pair in combinations(range(folds), 2))
    for part in ([case for case in cases if case.fold is None], *parts):
        if len({case.passes for case in part}) < 2:
            raise ConfigError(
                "the labelled cases come from too few clusters: some part of them would have passes alone, or fails "
                "alone; label cases of other clusters"
            )


def _notes(evidence: Evidence) -> Iterator[str]:
    if evidence.basis is Basis.NOT_DRAWN:
        yield (
            "the labels were not drawn at random: they serve to tune a prompt, and the numbers are about cases like "
            "those that somebody chose"
        )
    if evidence.basis is Basis.UNEQUAL:
        yield "the labels were drawn with unequal chances: the numbers are about the labelled cases, not about all"
    if evidence.counts.stale:
        yield f"{evidence.counts.stale} labels are of answers that the run does not have any more, and do not count"


def _result(store: Store, run: RunRecord, case: LabelledCase) -> CaseResult:
    result = case_at(store, run, case.position)
    if result is None:
        raise ConfigError(f"run {run.id} has no case at position {case.position} any more")
    return result


def _group(result: CaseResult) -> str:
    """Return what a case must stay together with: its cluster, or cases with the same question and answer."""
    if result.case.cluster is not None:
        return f"cluster:{result.case.cluster}"
    text = f"{result.case.question_text}\0{answer_of(result)}"
    return f"text:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
