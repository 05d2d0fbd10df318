"""Comparing two stored runs: refusing what cannot be compared, and going through both, case by case (SPEC-T1)."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from evenhand.domain.comparison import Compared, Comparison, PairedResult
from evenhand.domain.early_decision import early_decision
from evenhand.domain.errors import ConfigError, IncomparableError, ModelChoiceError, did_you_mean
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.domain.run_differences import CaseCount, RunDifferences
from evenhand.domain.summary import CorrectedNumbers
from evenhand.engine.case_pairs import CaseSource, joined, met
from evenhand.engine.case_scores import JudgedById, judged_cases, labelled_cases
from evenhand.engine.labelled import corrected_of
from evenhand.engine.overview import overview_of, results_at
from evenhand.engine.run import Run
from evenhand.engine.store_location import run_command
from evenhand.engine.targets.several import MODEL, stands_for_several, target_names
from evenhand.reports.paired_cases import LabelPairs, PairedSummarizer
from evenhand.reports.phrases import counted
from evenhand.store.results import case_positions
from evenhand.store.rows import loads
from evenhand.store.store import Store

_MOST_NAMED: Final = 5
# How many cases are read together.
_AT_ONCE: Final = 50
ANYWAY: Final = "to compare them anyway: --anyway, or anyway=True in Python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two runs, in the store that has it; with a ``model``, only what that one answered."""

    store: Store
    run: RunRecord
    model: str | None = None

    def cases(self) -> CaseSource:
        """Return the cases in suite order, each with no more than a comparison needs."""
        # The cases of one model are paired by the ids of their test cases, which are not their own.
        by_id = JudgedById(self.store, self.run) if self.model is None else None
        total = functools.partial(self.store.count_sound, self.run)
        return CaseSource(judged_cases(self.store, self.run, model=self.model), by_id, total)

    def models(self) -> tuple[str, ...]:
        """Name the models whose answers are compared."""
        return answering_models(self.store, self.run) if self.model is None else (self.model,)

    def labelling(self) -> set[str]:
        """Name the evaluators of the run whose judges give labels."""
        evaluators = self.run.definition.get("evaluators")
        listed = evaluators if isinstance(evaluators, list) else []
        return {
            str(each.get("name") or each.get("type"))
            for each in listed
            if isinstance(each, Mapping) and each.get("choices") is not None
        }

    def judges(self) -> Mapping[str, tuple[str, ...]]:
        """Name the judges of each evaluator that has some."""
        return overview_of(self.store, self.run).judges

    def corrected(self, evaluator: str | None) -> CorrectedNumbers | None:
        """Return what people would say of the run; None without labels, which are not of one model of several."""
        return None if self.model is not None else corrected_of(self.store, self.run, evaluator)

    def results(self, case_ids: Sequence[str]) -> dict[str, CaseResult]:
        """Read cases in full, by the ids under which they are paired; one that is not there is left out."""
        stored = {name: case_id for case_id in case_ids for name in self._stored_ids(case_id)}
        positions = case_positions(self.store, [self.run], stored)
        found = {position: stored[name] for (_, name), position in positions.items()}
        results = results_at(self.store, self.run, sorted(found))
        return {found[result.position]: result for result in results if self._has(result)}

    def _stored_ids(self, case_id: str) -> tuple[str, ...]:
        """Return the ids that a case may have in the store: in a run of several models, each has its own."""
        return (case_id,) if self.model is None else (case_id, f"{case_id} {self.model}")

    def _has(self, result: CaseResult) -> bool:
        return self.model is None or result.case.metadata.get(MODEL) == self.model


@contextlib.contextmanager
def opened(run: Run, model: str | None = None) -> Iterator[Side]:
    """Open the store of a run, to read it as it is by now."""
    with run._place.opened(to_read=True) as store:  # a run shows no store to its users
        yield Side(store=store, run=store.runs.find(run.id), model=model)


def paired_results(a: Side, b: Side, case_ids: Sequence[str]) -> Iterator[PairedResult]:
    """Yield cases as they are in both runs, in the order of their ids."""
    for start in range(0, len(case_ids), _AT_ONCE):
        some = case_ids[start : start + _AT_ONCE]
        ours, theirs = a.results(some), b.results(some)
        yield from (PairedResult(name, ours[name], theirs[name]) for name in some if name in ours and name in theirs)


def read_paired(a: Run, b: Run, models: tuple[str | None, str | None], case_ids: Sequence[str]) -> list[PairedResult]:
    """Open the stores of two runs, and read cases as they are in both."""
    with opened(a, models[0]) as ours, opened(b, models[1]) as theirs:
        return list(paired_results(ours, theirs, case_ids))


def answering_models(store: Store, run: RunRecord) -> tuple[str, ...]:
    """Name the models that answered in a run, as its cases name them, else as its definition does."""
    if several := overview_of(store, run).summary.models:
        return tuple(several)
    contents = (content for page, _ in store.columns(run) for _, _, _, _, content, _ in page)
    model = loads(next(contents, '{"case": {}}'))["case"].get("metadata", {}).get(MODEL)
    return (model,) if isinstance(model, str) else tuple(target_names(run.definition.get("target")))


def compare_runs(
    a: Side,
    b: Side,
    *,
    differing: Sequence[str] = (),
    evaluator: str | None = None,
    limit: int | None = None,
    anyway: bool = False,
) -> Comparison:
    """Compare run B with run A; ``differing`` is what their definitions say differently on how to judge.

    Both are read once, side by side. Where they have the same cases in the same order, next to nothing is kept; a case
    that is elsewhere in the other run waits for it, as a few numbers, and where many would wait they are looked up.
    """
    a, b = _with_models(a, b)
    if a.run.id == b.run.id and a.model == b.model:
        raise ConfigError(f"run {a.run.id} cannot be compared with itself; name two runs, see: evenhand runs")
    notes = [_unfinished(side, anyway=anyway) for side in (a, b) if side.run.status is not RunStatus.FINISHED]
    if differing:
        _refuse(a.run, b.run, differing, anyway=anyway)
    comparing = PairedSummarizer(evaluator=evaluator, limit=limit)
    unlike, only_a, only_b = _Named(), _Named(), _Named()
    reclustered = 0
    for case_a, case_b in joined(a.cases(), b.cases()):
        comparing.add(case_a, case_b)
        if case_a is not None and case_b is not None:
            reclustered += case_a.cluster != case_b.cluster
            if case_a.judged_by != case_b.judged_by:
                unlike.add(case_a.id)
        elif case_a is not None:
            only_a.add(case_a.id)
        elif case_b is not None:
            only_b.add(case_b.id)
    if not comparing.in_common:
        raise _nothing_in_common(a, b)
    differences = [*differing, *_other_judges(a, b), *_unlike(unlike)]
    if differences:
        _refuse(a.run, b.run, differences, anyway=anyway)
    return Comparison(
        a=a.run,
        b=b.run,
        cases=comparing.cases(),
        evaluators=_with_labels(comparing.evaluators(), a, b),
        evaluator=evaluator,
        changes=comparing.changes(),
        changed=comparing.changed,
        differing=tuple(differences),
        notes=(*_model_notes(a, b), *notes, *_notes(a.run, b.run, reclustered)),
        model_a=a.model,
        model_b=b.model,
        judges_a=_names(a.judges()),
        judges_b=_names(b.judges()),
        corrected_a=a.corrected(evaluator),
        corrected_b=b.corrected(evaluator),
        differences=RunDifferences(only_a=only_a.counted(), only_b=only_b.counted(), edited=unlike.counted()),
    )


def cases_of_cells(
    a: Side, b: Side, cells: Collection[tuple[str, str]], *, evaluator: str | None = None, most: int
) -> tuple[str, ...]:
    """Return the ids of the first cases with such standings in A and in B, by an evaluator or as a whole."""
    pairs = ((ours, theirs) for ours, theirs in joined(a.cases(), b.cases()) if ours is not None and theirs is not None)
    found = (
        ours.id
        for ours, theirs in pairs
        if evaluator in ours.found
        and evaluator in theirs.found
        and (ours.found[evaluator].standing.value, theirs.found[evaluator].standing.value) in cells
    )
    return tuple(itertools.islice(found, most))


class _Named:
    """How many cases there are of a kind, and the first of them by name."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, case_id: str) -> None:
        self.count += 1
        if len(self.first) < _MOST_NAMED:
            self.first.append(case_id)

    def counted(self) -> CaseCount:
        return CaseCount(count=self.count, first=tuple(self.first))


def _names(judges: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in judges.values() for name in names))


def _with_labels(evaluators: Mapping[str, Compared], a: Side, b: Side) -> dict[str, Compared]:
    """Add the tables of labels, for which whole evaluations are read: only where an evaluator has labels."""
    names = {name for name in a.labelling() & b.labelling() if name in evaluators}
    if not names:
        return dict(evaluators)
    pairs = LabelPairs(names)
    ours, theirs = (labelled_cases(side.store, side.run, names, model=side.model) for side in (a, b))
    for before, after in met(ours, theirs):
        pairs.add(before, after)
    return {name: replace(compared, labels=pairs.table(name)) for name, compared in evaluators.items()}


def _with_models(a: Side, b: Side) -> tuple[Side, Side]:
    """Return the sides with the models whose answers can be paired: a run of several has each case once a model."""
    a, b = _checked(a, "a"), _checked(b, "b")
    return _matched(a, b, "a"), _matched(b, a, "b")


def _checked(side: Side, letter: str) -> Side:
    """Refuse a model that did not answer; the only one that did need not be chosen."""
    if side.model is None:
        return side
    known = answering_models(side.store, side.run)
    if side.model not in known:
        near = did_you_mean(side.model, known)
        raise ConfigError(f"model_{letter}: run {side.run.id} has no answers of {side.model!r:.80}{near}")
    return replace(side, model=None) if len(known) == 1 else side


def _matched(side: Side, other: Side, letter: Literal["a", "b"]) -> Side:
    if side.model is not None or not _is_by_model(side) or (other.model is None and _is_by_model(other)):
        return side  # of two runs of several models, each case has its model in its id
    models, theirs = side.models(), other.models()
    if len(theirs) == 1 and theirs[0] in models:
        return replace(side, model=theirs[0])
    raise ModelChoiceError(
        f"run {side.run.id} ({letter.upper()}) has the answers of several models, and run {other.run.id} those of "
        f"{', '.join(theirs) or 'none'}; choose which to compare, {' or '.join(models)}: --model-{letter} NAME, or "
        f"model_{letter} in Python and in the API",
        side=letter,
        models=models,
    )


def _is_by_model(side: Side) -> bool:
    """Return whether a run has each case once for each of several targets, its own or those of another tool."""
    return stands_for_several(side.run.definition.get("target")) and len(side.models()) > 1


def _nothing_in_common(a: Side, b: Side) -> ConfigError:
    problem = f"runs {a.run.id} and {b.run.id} have no case in common"
    if _is_by_model(a) and _is_by_model(b):
        return ConfigError(
            f"{problem}: A has the answers of {', '.join(a.models())}, B those of {', '.join(b.models())}; choose one "
            "of each: --model-a and --model-b, or model_a and model_b in Python and in the API"
        )
    return ConfigError(
        f"{problem}: no id is in both; a case without an id is named by its content, its answer included, so give the "
        "cases ids"
    )


def _model_notes(a: Side, b: Side) -> Iterator[str]:
    for side, letter in ((a, "A"), (b, "B")):
        if side.model is not None:
            yield f"of {letter}, only the answers of {side.model} are compared"


def _unfinished(side: Side, *, anyway: bool) -> str:
    """Say that a run is not finished; refuse it unless it is wanted anyway."""
    run = side.run
    resume = run_command("resume", run.id, side.store.address)
    if early_decision(run) is not None:  # when it stopped depends on its scores
        raise ConfigError(
            f"run {run.id} stopped early, when its gates were decided, so its numbers cannot be compared; "
            f"judge its other cases first, with: {resume}"
        )
    problem = f"run {run.id} is not finished ({run.status.value})"
    if not anyway:
        raise IncomparableError(f"{problem}; resume with: {resume}", advice=ANYWAY)
    return f"{problem}: cases not judged yet are in none of the numbers"


def _refuse(a: RunRecord, b: RunRecord, differing: Sequence[str], *, anyway: bool) -> None:
    """Refuse to compare scores that do not mean the same."""
    if not anyway:
        why = f"{a.id} (A) and {b.id} (B) were not answered or judged by the same definition"
        raise IncomparableError(why, differing=differing, advice=ANYWAY)


def _other_judges(a: Side, b: Side) -> Iterator[str]:
    """Name the evaluators that other models judged for: a definition may leave the judge to the environment."""
    theirs = b.judges()
    for name, judges in a.judges().items():
        others = theirs.get(name, judges)
        if judges != others:
            yield f"judge of {name}: {', '.join(judges)} in A, {', '.join(others)} in B"


def _unlike(cases: _Named) -> Iterator[str]:
    if cases.count:
        names = ", ".join(f"{identity!r:.60}" for identity in cases.first) + (" …" if cases.count > _MOST_NAMED else "")
        terms = (
            "question, context, reference, expected outcome, schema, metadata that the judge is shown, or its own "
            "rubrics or evaluators"
        )
        is_judged = "1 case is" if cases.count == 1 else f"{cases.count:,} cases are"
        yield f"{is_judged} judged differently ({terms}): {names}"


def _notes(a: RunRecord, b: RunRecord, reclustered: int) -> Iterator[str]:
    if a.version != b.version:
        yield f"A was judged by evenhand {a.version}, B by {b.version}, whose prompts may differ"
    if a.repeat != b.repeat:
        yield f"each case was judged {counted(a.repeat, 'time')} in A, {counted(b.repeat, 'time')} in B"
    if reclustered:
        have = "case has" if reclustered == 1 else "cases have"
        yield f"{reclustered:,} {have} a different cluster in B; those of A are used, if there are any"
