"""What a tuning found: how often judge and people agree with the current prompt and with the best one, and why not."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.paired_difference import LEVEL, PairedDifference
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.domain.summary import Rate
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.kappa import Kappa
from evenhand.stats.refusal import Refused
from evenhand.trust.card import plain_values
from evenhand.tuner.choice import CrossValidation, Judged, Side, change, side
from evenhand.tuner.job import FINAL, part_of, verdicts_in
from evenhand.tuner.labelled import Labelled
from evenhand.tuner.settings import TuneSettings, settings_of

_NEW_KEYS: Final = ("instructions", "examples")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """How a prompt does on some cases: with people's verdicts as the measure; on ``errors`` cases it has no verdict."""

    counts: JudgedLabels
    errors: int
    agreement: Rate | Refused
    sensitivity: Rate | Refused
    specificity: Rate | Refused
    kappa: Kappa | Refused

    @classmethod
    def of(cls, found: Side) -> Measured:
        """Return the numbers of a side."""
        counts = found.counts
        return cls(
            counts=counts,
            errors=found.errors,
            agreement=counts.agreement(),
            sensitivity=counts.sensitivity(),
            specificity=counts.specificity(),
            kappa=counts.kappa(),
        )

    @property
    def share(self) -> float | None:
        """The agreement alone; None where there is none."""
        return None if isinstance(self.agreement, Refused) else self.agreement.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What came of tuning the prompt of an evaluator.

    ``current`` and the others are over the ``open`` cases, those that are not held out: ``honest`` is by nested
    cross-validation, ``apparent`` that of the proposed prompt on the very cases it was made from and chosen on.
    ``ways`` has the agreement of each way to make a prompt over folds, ``by_fold`` the way that was chosen without
    each fold. The held-out cases decide: ``held_out_change`` is None where they were not used. ``evaluator`` is the
    definition that is proposed, None where there is none.
    """

    run: str
    tuned: str
    name: str
    finished: bool
    cases: int
    open: int
    held_out: int
    looks: int
    ways: Mapping[str, float | None]
    by_fold: tuple[str, ...]
    way: str | None
    current: Measured
    honest: Measured
    honest_change: PairedDifference
    apparent: Measured | None
    overfit: float | None
    held_out_current: Measured | None
    held_out_proposed: Measured | None
    held_out_change: PairedDifference | None
    adopted: bool
    why: str
    before: Mapping[str, Any]
    evaluator: Mapping[str, Any] | None
    notes: tuple[str, ...]

    @property
    def new(self) -> dict[str, Any]:
        """What the proposal has that the current definition has not: instructions, examples."""
        proposed = self.evaluator or {}
        return {key: proposed[key] for key in _NEW_KEYS if key in proposed and proposed[key] != self.before.get(key)}

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values; what is refused is a mapping with the reason under ``refused``."""
        return {each.name: plain_values(getattr(self, each.name)) for each in dataclasses.fields(self)}


def tuning_of(run: RunRecord, results: Iterable[CaseResult]) -> Tuning:
    """Return what a run that tunes a prompt has found, by what it stored alone."""
    settings = settings_of(run.definition)
    found = list(results)
    verdicts = verdicts_in(found)
    over_folds = CrossValidation(settings.cases, verdicts, settings.ways, settings.folds)
    open_cases, held_out = settings.open_cases, settings.held_out_cases
    way = over_folds.best
    final = {part["case"] for part in (part_of(result.case) for result in found) if part["part"] == FINAL}
    proposal = _proposal(settings, found)

    def proposed(case: Labelled) -> bool | None:
        return None if way is None else verdicts.get(Judged(way, (), case.id))

    honest = Measured.of(side(open_cases, over_folds.honest))
    apparent = Measured.of(side(open_cases, proposed)) if final else None
    used = [case for case in held_out if case.id in final]
    held_out_proposed = Measured.of(side(used, proposed)) if used else None
    decisive = change(used, proposed) if used else None
    finished = run.status is RunStatus.FINISHED
    adopted, why = _decision(finished, over_folds, held_out_proposed, decisive, settings.looks if proposal else None)
    return Tuning(
        run=run.id,
        tuned=settings.tuned,
        name=settings.evaluator,
        finished=finished,
        cases=len(settings.cases),
        open=len(open_cases),
        held_out=len(held_out),
        looks=settings.looks,
        ways={way: over_folds.of_way(way).agreement for way in settings.ways},
        by_fold=over_folds.by_fold,
        way=way,
        current=Measured.of(side(open_cases, lambda case: case.judge)),
        honest=honest,
        honest_change=change(open_cases, over_folds.honest),
        apparent=apparent,
        overfit=_minus(apparent, honest),
        held_out_current=Measured.of(side(used, lambda case: case.judge)) if used else None,
        held_out_proposed=held_out_proposed,
        held_out_change=decisive,
        adopted=adopted,
        why=why,
        before=settings.current,
        evaluator=proposal,
        notes=(*settings.notes, *_looks(settings)),
    )


def _proposal(settings: TuneSettings, results: Sequence[CaseResult]) -> dict[str, Any] | None:
    """Return the definition of the evaluator that is proposed, as its cases were judged by it."""
    for result in reversed(results):
        part = part_of(result.case)
        if part["part"] == FINAL:
            return {**settings.current, **part["proposal"]}
    return None


def _decision(
    finished: bool,
    over_folds: CrossValidation,
    held_out: Measured | None,
    decisive: PairedDifference | None,
    looks: int | None,
) -> tuple[bool, str]:
    """Return whether the proposal is adopted, and why; ``looks`` is None where there is no proposal."""
    if not finished:
        return False, "the run is not finished"
    if over_folds.best is None:
        return False, "the judge, or the model that writes instructions, failed on too many cases of every candidate"
    if looks is None:
        return False, "the model that writes instructions wrote none from all open labels"
    if held_out is None or decisive is None:
        return False, (
            "no candidate agreed with people more often than the current prompt over the folds; the held-out cases "
            "were not used"
        )
    if not Side(counts=held_out.counts, errors=held_out.errors).is_usable:
        return False, f"the judge failed on {held_out.errors} of the held-out cases, and the rest may be the easy ones"
    return is_beyond_chance(decisive, looks), _by_held_out(decisive, looks)


def is_beyond_chance(found: PairedDifference, looks: int = 0) -> bool:
    """Return whether a change is for the better, beyond chance; after earlier looks at the same cases it takes more."""
    return found.better and found.p is not None and found.p <= LEVEL / (looks + 1)


def _by_held_out(decisive: PairedDifference, looks: int) -> str:
    if decisive.difference is None or decisive.interval is None or decisive.p is None:
        return decisive.lacking or "the held-out cases decide nothing"
    told = f"{decisive.difference:+z.2f} [{decisive.interval.low:+z.2f}, {decisive.interval.high:+z.2f}]"
    change_told = f"on {decisive.n} held-out cases, agreement with people changes by {told}"
    if is_beyond_chance(decisive, looks):
        return f"{change_told}: more than chance"
    if decisive.worse:
        return f"{change_told}: it is worse"
    if decisive.better:
        most = LEVEL / (looks + 1)
        return f"{change_told}; but after {_times(looks)}, p must be at most {most:.3f}, and it is {decisive.p:.3f}"
    least = decisive.minimum_detectable
    shows = "" if least is None else f"; so many cases show a change of {least:.2f} or more, four times in five"
    return f"{change_told}, which may be chance{shows}"


def _times(looks: int) -> str:
    return "1 earlier look at held-out cases" if looks == 1 else f"{looks} earlier looks at held-out cases"


def _looks(settings: TuneSettings) -> list[str]:
    if not settings.looks:
        return []
    told = f"{_times(settings.looks)}, by tunings of this evaluator by this run: each makes it likelier that a proposal"
    most = f"{LEVEL / (settings.looks + 1):.3f}"
    return [f"{told} is adopted by chance, so p must be at most {most}; label more cases for a fresh start"]


def _minus(first: Measured | None, second: Measured) -> float | None:
    if first is None or first.share is None or second.share is None:
        return None
    return first.share - second.share
