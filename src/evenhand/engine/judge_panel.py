"""The verdicts of several judges on the same answers, from stored runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from evenhand.domain.errors import ConfigError, IncomparableError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.label import Label, answer_hash, answer_of, require_evaluator
from evenhand.domain.run import CaseResult, Judgment, RunRecord
from evenhand.domain.verdict import Verdict, median_verdict
from evenhand.reports.highlights import judges_of
from evenhand.reports.phrases import counted
from evenhand.store.store import Store
from evenhand.trust.evidence import judge_view, majority, pass_mark_of, passes
from evenhand.trust.judge_panel import MARGIN, JudgesComparison, Votes, compare_judges

MOST_JUDGES: Final = 20
_MOST_NAMED: Final = 5
_ANYWAY: Final = "to leave these cases out: --anyway, or anyway=True in Python"


@dataclass(slots=True)
class _Judge:
    """What one judge said so far."""

    run: RunRecord
    evaluator: str | None
    label: str = ""
    verdicts: dict[str, bool] = field(default_factory=dict)
    unscored: int = 0
    judgments: int = 0
    cost: float | None = 0.0
    cached: int = 0
    models: set[str] = field(default_factory=set)

    def say(self, case: str, passes: bool | None) -> None:
        if passes is None:
            self.unscored += 1
        else:
            self.verdicts[case] = passes

    def spend(self, judgments: Iterable[Judgment]) -> None:
        for judgment in judgments:
            attempts = judgment.evaluation.attempts
            self.models.update(judges_of(judgment.evaluation))
            if attempts and all(attempt.cached for attempt in attempts):
                self.cached += 1
                continue
            self.judgments += 1
            self.cost = None if self.cost is None or judgment.cost is None else self.cost + judgment.cost

    def votes(self, name: str) -> Votes:
        return Votes(
            name=name,
            run=self.run.id,
            evaluator=self.evaluator,
            verdicts=self.verdicts,
            unscored=self.unscored,
            cost=None if self.cost is None or not self.judgments else self.cost / self.judgments,
            cached=self.cached,
        )


@dataclass(slots=True)
class _Panel:
    judges: list[_Judge] = field(default_factory=list)
    jury: _Judge | None = None
    # The hash of the answer of each case, as the first run has it, and which cases have others elsewhere.
    answers: dict[str, str] = field(default_factory=dict)
    changed: dict[str, None] = field(default_factory=dict)
    runs: int = 0

    def answer(self, case: str, answer: str) -> bool:
        """Take in the answer of a case; return whether it is the one that the first run has."""
        hashed = answer_hash(answer)
        if self.answers.setdefault(case, hashed) == hashed:
            return True
        self.changed[case] = None
        return False


def compare_judges_of(
    store: Store,
    runs: Sequence[RunRecord],
    *,
    evaluator: str | None = None,
    labels: Iterable[Label] | None = None,
    margin: float = MARGIN,
    anyway: bool = False,
) -> JudgesComparison:
    """Compare the judges of several runs, or the evaluators of one; of a single jury, its members.

    With ``labels``, these count instead of those that are stored with the runs; of several runs, the first that has
    labels for whole cases.
    """
    panel = _read(store, runs, evaluator)
    if panel.changed:
        named = [f"case {case!r:.200} has another answer" for case in list(panel.changed)[:_MOST_NAMED]]
        more = len(panel.changed) - _MOST_NAMED
        if not anyway:
            raise IncomparableError(
                "the runs did not all judge the same answers",
                differing=[*named, *([f"and {more:,} more"] if more > 0 else [])],
                advice=_ANYWAY,
            )
    for judge, case in itertools.product(panel.judges, panel.changed):
        judge.verdicts.pop(case, None)
    votes = [judge.votes(name) for judge, name in zip(panel.judges, _names(panel.judges), strict=True)]
    people = _people(store, runs, panel, labels)
    jury = None if panel.jury is None else panel.jury.votes(str(panel.jury.evaluator))
    were = "was" if len(panel.changed) == 1 else "were"
    left_out = f"{counted(len(panel.changed), 'case')} with different answers {were} left out"
    return compare_judges(votes, people, margin=margin, jury=jury, notes=(left_out,) if panel.changed else ())


def _read(store: Store, runs: Sequence[RunRecord], evaluator: str | None) -> _Panel:
    if len({run.id for run in runs}) < len(runs):
        raise ConfigError("a run is named twice; name each run once, see: evenhand runs")
    panel = _Panel()
    if len(runs) == 1:
        _read_one(store, runs[0], evaluator, panel)
    for run in runs if len(runs) > 1 else ():
        judge = _Judge(run, evaluator, label=run.label)
        panel.judges.append(judge)
        names: set[str] = set()
        for result, evaluations in _answered(store, run, panel):
            names.update(judgment.evaluation.evaluator for judgment in evaluations)
            view = judge_view(result, evaluator)
            judge.say(result.id, None if view is None else view.passes)
            judge.spend(each for each in evaluations if evaluator in (None, each.evaluation.evaluator))
        if evaluator is not None and run.cases:
            require_evaluator(run, evaluator, names)
    if len(panel.judges) > MOST_JUDGES:
        raise ConfigError(f"{len(panel.judges)} judges are too many to compare at once; at most {MOST_JUDGES} are")
    return panel


def _answered(store: Store, run: RunRecord, panel: _Panel) -> Iterator[tuple[CaseResult, list[Judgment]]]:
    """Yield the cases that have the same answer as in the runs before, with all judgments, replaced ones too."""
    for result in store.results(run):
        answer = answer_of(result)
        if answer is not None and panel.answer(result.id, answer):
            replaced = [each for each in result.replaced if isinstance(each, Judgment)]
            yield result, [*result.judgments, *replaced]


def _read_one(store: Store, run: RunRecord, evaluator: str | None, panel: _Panel) -> None:
    """Take the evaluators of a run as judges; where there is one alone and it is a jury, its members."""
    judges: dict[str, _Judge] = {}
    members: dict[str, _Judge] = {}
    for result, evaluations in _answered(store, run, panel):
        by_name: dict[str, list[Judgment]] = {}
        for judgment in evaluations:
            by_name.setdefault(judgment.evaluation.evaluator, []).append(judgment)
        for name, own in by_name.items():
            if evaluator not in (None, name):
                continue
            view = judge_view(result, name)
            judge = judges.setdefault(name, _Judge(run, name, label=name))
            judge.say(result.id, None if view is None else view.passes)
            judge.spend(own)
            counted = [judgment.evaluation for judgment in result.judgments if judgment.evaluation.evaluator == name]
            for member, verdict in _member_verdicts(counted).items():
                members.setdefault(member, _Judge(run, member, label=member, cost=None)).say(result.id, verdict)
    if evaluator is not None and run.cases:
        require_evaluator(run, evaluator, judges)
    if len(judges) == 1 and len(members) > 1:
        (panel.jury,) = judges.values()
        panel.judges = list(members.values())
    else:
        panel.judges = list(judges.values())


def _member_verdicts(evaluations: Sequence[Evaluation]) -> dict[str, bool | None]:
    """Return what the members of a jury said, over all samples; details may be anything."""
    said: dict[str, list[Verdict]] = {}
    for evaluation in evaluations:
        listed: Any = evaluation.details.get("members")
        for member in listed if isinstance(listed, list) and evaluation.details.get("jury") is True else ():
            if isinstance(member, Mapping) and isinstance(member.get("evaluator"), str):
                verdicts = said.setdefault(member["evaluator"], [])
                if member.get("status") == "scored" and member.get("verdict") in set(Verdict):
                    verdicts.append(Verdict(member["verdict"]))
    return {name: median_verdict(verdicts) is Verdict.PASS if verdicts else None for name, verdicts in said.items()}


def _names(judges: Sequence[_Judge]) -> list[str]:
    """Name judges: evaluators by their names, runs by their labels or models, and what is the same by its run, too."""
    plain = [judge.label or ", ".join(sorted(judge.models)) or judge.run.name for judge in judges]
    return [
        name if plain.count(name) == 1 else f"{name} ({judge.run.id})"
        for name, judge in zip(plain, judges, strict=True)
    ]


def _people(store: Store, runs: Sequence[RunRecord], panel: _Panel, labels: Iterable[Label] | None) -> dict[str, bool]:
    """Return what people say of cases as a whole, by the labels of the answers that were judged."""
    sources = [list(labels)] if labels is not None else [list(store.labels.of(run)) for run in runs]
    for given, run in zip(sources, runs, strict=False):
        fitting = [
            label for label in given if label.evaluator is None and panel.answers.get(label.case) == label.answer
        ]  # fmt: skip
        is_drawn = any(label.is_drawn for label in fitting)
        mark = pass_mark_of(run)
        said: dict[str, list[bool]] = {}
        for label in fitting:
            if label.is_drawn or not is_drawn:
                said.setdefault(label.case, []).append(passes(label, mark))
        if said:
            return {case: majority(each) for case, each in said.items()}
    return {}
