"""Two runs side by side, case by case: which is better, by how much, and how sure that is (SPEC-T1)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from evenhand.domain.notebook import ShownInNotebooks
from evenhand.domain.paired_difference import LEVEL, PairedDifference
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.run_differences import RunDifferences
from evenhand.domain.run_kind import has_verdicts, highest_score
from evenhand.domain.summary import CorrectedNumbers
from evenhand.domain.took import Took

# The standings that a case, or an evaluation of it, may have in a run that has finished.
STANDINGS: Final = ("pass", "borderline", "fail", "error", "not_evaluated")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTable:
    """How often each label of A met each of B in the same case, the label with the highest score first.

    The rows of ``counts`` are A's labels, its columns B's. ``without`` cases have no label in one of the runs: no
    score, or samples that disagree.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    without: int = 0

    @property
    def same(self) -> int:
        """How many cases have the same label in both runs."""
        return sum(row[place] for place, row in enumerate(self.counts))

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        counts = {
            before: dict(zip(self.labels, row, strict=True))
            for before, row in zip(self.labels, self.counts, strict=True)
        }
        return {"labels": list(self.labels), "counts": counts, "same": self.same, "without": self.without}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The case score, or one evaluator, in two runs: nothing is left out without being counted.

    Of the cases ``in_common``, ``scores.n`` are scored in both runs; the others have no score in A only
    (``unscored_a``), in B only, or in both. ``pending`` of them are not judged to the end in one of the runs, and stand
    in no cell of ``transitions``: the rows of that are A's standing, its columns B's, in the order of ``STANDINGS``.
    ``p_holm`` is the p value after Holm's correction for as many evaluators as there are; the case score needs none.
    ``bounds`` is the difference if each case without a score in one of the runs had spoken against B, and if it had
    spoken for B; None where no case is scored in one run only. ``errors`` counts the cases that have more errors among
    their answers in A, and those in B; ``errors_p`` is the p value of the exact sign test of whether one of them is
    more frequent than chance would have it. ``labels`` has those of an evaluator whose judge gives labels.
    """

    in_common: int
    only_a: int
    only_b: int
    unscored_a: int
    unscored_b: int
    unscored_both: int
    pending: int
    scores: PairedDifference
    transitions: tuple[tuple[int, ...], ...]
    p_holm: float | None = None
    bounds: tuple[float, float] | None = None
    errors: tuple[int, int] = (0, 0)
    errors_p: float | None = None
    labels: LabelTable | None = None

    @property
    def better(self) -> bool:
        """Whether B scored better beyond chance, allowing for the number of tests."""
        return self.scores.better and self._is_corrected

    @property
    def worse(self) -> bool:
        """Whether B scored worse beyond chance, allowing for the number of tests."""
        return self.scores.worse and self._is_corrected

    @property
    def _is_corrected(self) -> bool:
        return self.p_holm is None or self.p_holm <= LEVEL

    @property
    def fails_more(self) -> bool:
        """Whether B ends in error more often than A, beyond chance."""
        only_a, only_b = self.errors
        return self.errors_p is not None and self.errors_p <= LEVEL and only_b > only_a

    def times(self, factor: float) -> Compared:
        """Return the same with all scores multiplied by a factor."""
        bounds = None if self.bounds is None else (self.bounds[0] * factor, self.bounds[1] * factor)
        return replace(self, scores=self.scores.times(factor), bounds=bounds)

    def as_dict(self, *, has_verdicts: bool = True) -> dict[str, Any]:
        """Return it as plain JSON values; where nothing passes or fails, ``transitions`` is null."""
        fields = asdict(self)
        transitions = {
            before: dict(zip(STANDINGS, row, strict=True))
            for before, row in zip(STANDINGS, self.transitions, strict=True)
        }
        fields["transitions"] = transitions if has_verdicts else None
        fields["errors"] = {"a": self.errors[0], "b": self.errors[1]}
        del fields["labels"]
        labels = {} if self.labels is None else {"labels": self.labels.as_dict()}
        return fields | {"better": self.better, "worse": self.worse, "fails_more": self.fails_more} | labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A case that came out differently: its score and standing in both runs."""

    case_id: str
    score_a: float
    score_b: float
    standing_a: str
    standing_b: str

    @property
    def difference(self) -> float:
        """How much more it scored in B."""
        return self.score_b - self.score_a

    def as_dict(self, *, has_verdicts: bool = True) -> dict[str, Any]:
        """Return it as plain JSON values; where nothing passes or fails, both standings are null."""
        standings = {} if has_verdicts else {"standing_a": None, "standing_b": None}
        return asdict(self) | standings | {"difference": self.difference}


class PairedResult(NamedTuple):
    """A case with all that was found about it in both runs, by the id under which they are paired."""

    case_id: str
    a: CaseResult
    b: CaseResult


# By its name, since values know nothing of reports.
_WRITERS: Final = "evenhand.reports.comparison_file"


class Saved:
    """A comparison that can be written to a file."""

    __slots__ = ()

    def save(self, path: str | Path) -> Path:
        """Write it to a file, whose ending says the format: ``comparison.save("comparison.html")``."""
        importlib.import_module(_WRITERS).write_comparison(self, str(path))
        return Path(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(ShownInNotebooks, Saved):
    """What ``compare`` gives: run B against run A.

    ``cases`` is about the score of whole cases, ``evaluators`` about each evaluator by name. ``evaluator`` is the one
    that was asked for, None where it is the cases: ``subject`` has its numbers, and ``changes`` are its cases that came
    out differently, the largest difference first, of ``changed`` in all. Where a run has the answers of several models,
    ``model_a`` and ``model_b`` are those that are compared; None stands for all. ``differing`` says how the two runs
    were judged differently, which is empty unless they were to be compared anyway; ``notes`` what else is to be known.
    ``differences`` are those of the settings and the cases, of which some may be the reason for what came out.
    ``judges_a`` and ``judges_b`` are the models that judged. ``corrected_a`` and ``corrected_b`` are what people would
    say of each run, where they have labelled it. ``read_cases`` reads cases of both runs from their stores,
    by the ids of ``changes``; a case that is no longer there is left out.
    """

    a: RunRecord
    b: RunRecord
    cases: Compared
    evaluators: Mapping[str, Compared]
    evaluator: str | None = None
    changes: tuple[Change, ...] = ()
    changed: int = 0
    differing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    model_a: str | None = None
    model_b: str | None = None
    judges_a: tuple[str, ...] = ()
    judges_b: tuple[str, ...] = ()
    corrected_a: CorrectedNumbers | None = None
    corrected_b: CorrectedNumbers | None = None
    differences: RunDifferences = field(default_factory=RunDifferences)
    read_cases: Callable[[Sequence[str]], Iterable[PairedResult]] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def title(self) -> str:
        """What it is."""
        return "Run B against run A"

    @property
    def highest(self) -> int:
        """The highest score as it is shown: 1, or 10 where both runs score profiles."""
        return _highest(self.a, self.b)

    @property
    def has_verdicts(self) -> bool:
        """Whether cases pass or fail in one of the runs."""
        return _any_has_verdicts(self.a, self.b)

    def as_shown(self) -> Comparison:
        """Return the comparison with the scores that people are shown."""
        if (most := self.highest) == 1:
            return self
        changes = (
            replace(change, score_a=change.score_a * most, score_b=change.score_b * most) for change in self.changes
        )
        evaluators = {name: compared.times(most) for name, compared in self.evaluators.items()}
        return replace(self, cases=self.cases.times(most), evaluators=evaluators, changes=tuple(changes))

    @property
    def subject(self) -> Compared:
        """The numbers of what was asked for: the cases, or one evaluator."""
        return self.cases if self.evaluator is None else self.evaluators[self.evaluator]

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as plain JSON values."""
        by_a, by_b = self.corrected_a, self.corrected_b
        passes = self.has_verdicts
        return {
            "a": _run(self.a) | {"model": self.model_a},
            "b": _run(self.b) | {"model": self.model_b},
            "differing": list(self.differing),
            "notes": list(self.notes),
            "differences": self.differences.as_dict(),
            "cases": self.cases.as_dict(has_verdicts=passes),
            "evaluators": {name: compared.as_dict(has_verdicts=passes) for name, compared in self.evaluators.items()},
            "evaluator": self.evaluator,
            "changed": self.changed,
            "changes": [change.as_dict(has_verdicts=passes) for change in self.changes],
            **({"corrected": {"a": _corrected(by_a), "b": _corrected(by_b)}} if by_a or by_b else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralComparison(Saved):
    """Several targets or runs, each against one of them, the ``baseline``, on the cases that both have.

    ``others`` has them by name: A is the baseline in each. Their ``p_holm`` is corrected for as many as there are.
    ``evaluator`` is whose scores these are; None stands for those of whole cases. ``noun`` is what they are: "model"
    where nothing else tells them apart, "target", or "run".
    """

    baseline: str
    others: Mapping[str, Compared]
    evaluator: str | None = None
    noun: str = "target"

    @property
    def title(self) -> str:
        """What it is."""
        return "Targets of a run, side by side"

    def shown_name(self, name: str) -> str:
        """Return how one of them is called in tables."""
        return name

    def as_shown(self) -> SeveralComparison:
        """Return the comparison with the scores that people are shown."""
        return self

    @property
    def has_verdicts(self) -> bool:
        """Whether cases pass or fail in one of them."""
        return True

    @property
    def worse(self) -> tuple[str, ...]:
        """Those that score worse than the baseline, or end in error more often, beyond chance."""
        return tuple(name for name, compared in self.others.items() if compared.worse or compared.fails_more)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "baseline": self.baseline,
            "evaluator": self.evaluator,
            "others": {
                name: compared.as_dict(has_verdicts=self.has_verdicts) for name, compared in self.others.items()
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetComparison(SeveralComparison):
    """The targets of one run, each against the first; ``took`` is what the answers of each took, the first included."""

    took: Mapping[str, Took] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return SeveralComparison.as_dict(self) | {"took": {name: took.as_dict() for name, took in self.took.items()}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsComparison(SeveralComparison):
    """What ``compare`` gives for more than two runs: each against ``a``, by the ids of the runs.

    ``runs`` has all that were to be compared with it. ``refused`` says of some why they are not; ``notes`` has what is
    to be known of others, and ``differences`` how each that is compared differs from A.
    """

    a: RunRecord
    runs: Mapping[str, RunRecord]
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    differences: Mapping[str, RunDifferences] = field(default_factory=dict)
    noun: str = "run"

    @property
    def title(self) -> str:
        """What it is."""
        return "Several runs against run A"

    @property
    def has_verdicts(self) -> bool:
        """Whether cases pass or fail in one of the runs."""
        return _any_has_verdicts(self.a, *self.runs.values())

    def as_shown(self) -> RunsComparison:
        """Return the comparison with the scores that people are shown."""
        most = _highest(self.a, *self.runs.values())
        return self if most == 1 else replace(self, others={name: one.times(most) for name, one in self.others.items()})

    def shown_name(self, name: str) -> str:
        """Return the id of a run with its label, or its name."""
        run = self.a if name == self.a.id else self.runs[name]
        return f"{run.id} {run.label or run.name}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "a": _run(self.a),
            "runs": {name: _run(run) for name, run in self.runs.items()},
            **SeveralComparison.as_dict(self),
            "refused": dict(self.refused),
            "notes": {name: list(notes) for name, notes in self.notes.items()},
            "differences": {name: those.as_dict() for name, those in self.differences.items()},
        }


def _corrected(numbers: CorrectedNumbers | None) -> dict[str, Any] | None:
    return None if numbers is None else asdict(numbers) | {"raters": list(numbers.raters)}


def _any_has_verdicts(*runs: RunRecord) -> bool:
    return any(has_verdicts(run.definition) for run in runs)


def _highest(*runs: RunRecord) -> int:
    several = {highest_score(run.definition) or 1 for run in runs}
    return several.pop() if len(several) == 1 else 1


def _run(run: RunRecord) -> dict[str, Any]:
    return {
        "id": run.id, "name": run.name, "label": run.label, "status": run.status.value, "cases": run.cases,
        "repeat": run.repeat, "target": run.definition.get("target"), "version": run.version,
    }  # fmt: skip
