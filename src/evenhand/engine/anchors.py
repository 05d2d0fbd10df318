"""The anchors of a stored run: its labelled cases, or all of them, with what the judge said of each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from evenhand.domain.label import Label, answer_hash, answer_of, require_evaluator
from evenhand.domain.run import CaseResult, PlannedCase, RunRecord
from evenhand.engine.case_scores import judged_by, metadata_shown
from evenhand.reports.highlights import judges_of, stated_models_of
from evenhand.store.results import case_positions, cases_at, evaluator_names, planned_at
from evenhand.store.store import Store
from evenhand.trust.anchors import JUDGING, Anchor, AnchorSet
from evenhand.trust.evidence import judge_view, majority, pass_mark_of, passes

# How many cases are read together.
_AT_ONCE: Final = 100
_MOST_NAMES: Final = 1000
_HASH: Final = 16


def labelled_anchors(
    store: Store, run: RunRecord, *, evaluator: str | None = None, labels: Iterable[Label] | None = None
) -> AnchorSet:
    """Return the cases that people labelled, with what they and the judge said; without ``labels``, by stored ones.

    Labels count as they do for a judge card: not those of an answer that the run does not have any more, and beside
    labels that were drawn at random no others. Where no label counts, there are no anchors.
    """
    given = [label for label in (store.labels.of(run) if labels is None else labels) if label.evaluator == evaluator]
    by_position: dict[int, list[Label]] = {}
    for label in given:
        by_position.setdefault(label.position, []).append(label)
    return _anchors(store, run, sorted(by_position), evaluator, by_position)


def all_anchors(store: Store, run: RunRecord, *, evaluator: str | None = None) -> AnchorSet:
    """Return all cases that have an answer, with what the judge said of them."""
    return _anchors(store, run, range(run.cases), evaluator)


def anchors_called(store: Store, run: RunRecord, ids: Sequence[str], *, evaluator: str | None = None) -> AnchorSet:
    """Return the cases with some ids, as far as the run has them and they have answers."""
    positions: list[int] = []
    for start in range(0, len(ids), _AT_ONCE):
        positions += case_positions(store, [run], ids[start : start + _AT_ONCE]).values()
    return _anchors(store, run, sorted(positions), evaluator)


class _Gathered:
    """What is found while cases are read."""

    def __init__(self, evaluator: str | None) -> None:
        self.evaluator = evaluator
        self.judges: set[str] = set()
        self.models: set[str] = set()
        self.cached = 0
        self.own_answers = False

    def take(self, result: CaseResult) -> None:
        self.own_answers = self.own_answers or len(result.answers) > 1
        evaluations = [judgment.evaluation for judgment in result.judgments]
        evaluations = [each for each in evaluations if self.evaluator in (None, each.evaluator)]
        for evaluation in evaluations:
            self.judges.update(judges_of(evaluation))
            self.models.update(stated_models_of(evaluation))
        self.cached += any(attempt.cached for evaluation in evaluations for attempt in evaluation.attempts)


def _anchors(
    store: Store,
    run: RunRecord,
    positions: Sequence[int],
    evaluator: str | None,
    labels: dict[int, list[Label]] | None = None,
) -> AnchorSet:
    if evaluator is not None and run.cases:
        require_evaluator(run, evaluator, evaluator_names(store, run, cases=run.cases, limit=_MOST_NAMES))
    found = _Gathered(evaluator)
    read = list(_read(store, run, positions, found, labels))
    # As for a judge card: where some labels were drawn at random, others do not stand beside them.
    is_drawn = any(label.is_drawn for _, given in read for label in given)
    mark = pass_mark_of(run, evaluator)
    cases: list[Anchor] = []
    for anchor, given in read:
        counted = [passes(label, mark) for label in given if label.is_drawn or not is_drawn]
        if labels is None or counted:
            cases.append(anchor if labels is None else replace(anchor, people=majority(counted)))
    return AnchorSet(
        run=run.id,
        name=run.name,
        evaluator=evaluator,
        definition={key: run.definition[key] for key in JUDGING if run.definition.get(key) is not None},
        judges=tuple(sorted(found.judges)),
        models=tuple(sorted(found.models)),
        judged=run.created,
        cases=tuple(cases),
        cached=found.cached,
        own_answers=found.own_answers,
    )


def _read(
    store: Store,
    run: RunRecord,
    positions: Sequence[int],
    found: _Gathered,
    labels: dict[int, list[Label]] | None,
) -> Iterator[tuple[Anchor, list[Label]]]:
    """Yield the anchors at some positions with the labels of their answers; what has no answer is no anchor."""
    terms = _Terms(run)
    wanted = iter(positions)
    while some := list(itertools.islice(wanted, _AT_ONCE)):
        planned, stored = planned_at(store, run, some), cases_at(store, run, some)
        for position in some:
            if position not in stored or (answer := answer_of(stored[position].result)) is None:
                continue
            result, hashed = stored[position].result, answer_hash(answer)
            fresh = [label for label in (labels or {}).get(position, ()) if label.answer == hashed]
            if labels is not None and not fresh:
                continue
            found.take(result)
            view = judge_view(result, found.evaluator)
            judge = None if view is None else view.passes
            yield Anchor(case=result.id, answer=hashed, terms=terms.of(planned[position]), judge=judge), fresh


class _Terms:
    """The hash of what a case says on how it is to be judged, short enough for a card."""

    def __init__(self, run: RunRecord) -> None:
        self._of_a_prompt = "prompt" in run.definition
        self._metadata: frozenset[str] = metadata_shown(run.definition.get("evaluators"))

    def of(self, planned: PlannedCase) -> str:
        return judged_by(planned, of_a_prompt=self._of_a_prompt, metadata=self._metadata)[:_HASH]
