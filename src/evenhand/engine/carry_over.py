"""Going on with a run: what has changed since, and what of an earlier run still holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from evenhand.domain.early_decision import UntilDecided
from evenhand.domain.errors import ConfigError, RunBusyError
from evenhand.domain.run import BATCH, RunRecord, RunStatus
from evenhand.engine.identity import Fingerprints, digest_of, evaluation_key
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import planned_cases, undo
from evenhand.engine.programs import ProgramChanges, ProgramFingerprints, ProgramSurvey, without_programs
from evenhand.engine.store_location import run_command
from evenhand.store.results import case_hashes
from evenhand.store.rows import column
from evenhand.store.store import Store

_MOST_NAMED = 5
# How many cases are looked up together.
_AT_ONCE = 500


def require_own(run: RunRecord) -> None:
    """Refuse to go on with a run whose results another tool recorded: what judged it is not here."""
    if run.origin:
        raise ConfigError(
            f"run {run.id} was imported from {run.origin}, and what judged it is not here; a suite whose cases have "
            f"the same ids can judge its answers anew: evenhand run SUITE --answers-from {run.id}"
        )


def scope_of(run: RunRecord) -> Scope:
    """Return the scope with which a run was started."""
    options = run.options
    return Scope(
        only=tuple(options.get("only") or ()),
        limit=options.get("limit"),
        repeat=run.repeat,
        answers_from=options.get("answers_from"),
        label=run.label or None,
        tags=run.tags,
        until_decided=UntilDecided.of(run),
        batch=options.get(BATCH) is True,
    )


def case_differences(store: Store, run: RunRecord, job: Job) -> list[str]:
    """Say how the cases of a job differ from those of a run; an empty list if they do not."""
    # What has changed is to be said, and not refused as too few.
    scope = replace(scope_of(run), until_decided=None, batch=False)
    now = ((written.given.case.id or "", written.hash) for written in planned_cases(store, job, scope))
    if all(stored == current for stored, current in itertools.zip_longest(store.hashes(run), now)):
        return []
    return _differences(store, run, ((one.given.case.id or "", one.hash) for one in planned_cases(store, job, scope)))


def program_changes(store: Store, run: RunRecord, job: Job) -> ProgramChanges:
    """Return the programs of a run that have another source now than when it began, as far as that is known."""
    before = ProgramFingerprints.of(run.options)
    if before is None:
        return ProgramChanges()
    survey = ProgramSurvey.of(job)
    for page in store.planned(run):
        for planned in page:
            survey.add(job.evaluators_for(planned))
    return survey.fingerprints.changed_since(before)


def program_notes(store: Store, run: RunRecord, job: Job) -> Iterator[str]:
    """Say of which programs of a run it is unknown whether they have changed."""
    before = ProgramFingerprints.of(run.options)
    if before is not None:
        if before.unknown:
            yield (
                f"note: whether {', '.join(before.unknown)} has changed since run {run.id} began is unknown: no source "
                "was found; give it a version, and change that with it"
            )
        return
    survey = ProgramSurvey.of(job)
    survey.add(evaluator for planned in next(store.planned(run), ()) for evaluator in job.evaluators_for(planned))
    if names := survey.fingerprints.names:
        yield (
            f"note: run {run.id} has no fingerprints of its programs, so whether {', '.join(names)} has changed since "
            "it began is unknown"
        )


def require_same_programs(store: Store, run: RunRecord, job: Job) -> None:
    """Refuse to go on with a run whose programs have another source now than when it began."""
    if changes := list(program_changes(store, run, job).words()):
        raise ConfigError(
            f"run {run.id} cannot go on: {'; '.join(changes)}. To keep what is still valid and do the rest again: "
            f"{run_command('resume', run.id, store.address)} --fork"
        )


def go_on_with_batches(store: Store, planned: RunRecord) -> RunRecord:
    """Return an earlier run in place of one just planned, if it is the same and has answers from batches to come.

    So a program that is started again gets what its batches brought, and asks for nothing twice. If a function in it
    has changed meanwhile, that is refused: a new run would pay for the same batches again.
    """
    for run in store.runs.with_option(BATCH):
        if run.id == planned.id or not _is_like(run, planned) or store.runs.in_hand(run):
            continue
        if run.status is RunStatus.FINISHED or not store.provider_batches.has_requests(run):
            continue
        if all(before == now for before, now in itertools.zip_longest(store.hashes(run), store.hashes(planned))):
            if changes := list(changed_programs(run, planned).words()):
                undo(store, planned)
                raise ConfigError(
                    f"run {run.id} waits for batches, and cannot go on: {'; '.join(changes)}. Undo the change to "
                    "continue it, or give this run another name to ask everything anew"
                )
            try:
                store.runs.claim(run)
            except RunBusyError:
                continue
            undo(store, planned)
            return store.runs.mark(run, RunStatus.RUNNING)
    return planned


def _is_like(run: RunRecord, other: RunRecord) -> bool:
    return (run.name, run.source, run.repeat, run.definition, without_programs(run.options)) == (
        other.name, other.source, other.repeat, other.definition, without_programs(other.options)
    )  # fmt: skip


def _differences(store: Store, run: RunRecord, now: Iterator[tuple[str, str]]) -> list[str]:
    """Say which cases are not as they were: they are looked up some at a time, so that few are in memory."""
    added, gone, changed = (_NamedCases(change) for change in ("was added", "is gone", "has changed"))
    there = bytearray()
    while some := list(itertools.islice(now, _AT_ONCE)):
        before = case_hashes(store, run, [identity for identity, _ in some])
        for identity, digest in some:
            position, stored = before.get(column(identity), (None, ""))
            if position is None:
                added.add(identity)
                continue
            there.extend(bytes(max(position + 1 - len(there), 0)))
            there[position] = True
            if digest != stored:
                changed.add(identity)
    for position, (identity, _) in enumerate(store.hashes(run)):
        if position >= len(there) or not there[position]:
            gone.add(identity)
    return [*added.words(), *gone.words(), *changed.words()] or ["cases: in a different order"]


class _NamedCases:
    """Cases to which the same happened: the first of them by name, and how many there are."""

    def __init__(self, change: str) -> None:
        self._change = change
        self._first: list[str] = []
        self._count = 0

    def add(self, identity: str) -> None:
        self._count += 1
        if len(self._first) < _MOST_NAMED:
            self._first.append(identity)

    def words(self) -> Iterator[str]:
        for identity in self._first:
            yield f"case {identity!r} {self._change}"
        if self._count > _MOST_NAMED:
            yield f"and {self._count - _MOST_NAMED} more, each of which {self._change}"


def copy_finished(store: Store, before: RunRecord, run: RunRecord, job: Job) -> int:
    """Take over from an earlier run whatever is the same in a new one, and return how many evaluations those are.

    Same is what has the same identity: case, evaluator, judge, prompt, target and sample, wherever it is in the run;
    and what a program said under another source is not.
    """
    changes = changed_programs(before, run)
    if changes.target:
        return 0
    fingerprints = Fingerprints()
    target = "" if job.target is None else digest_of(job.target.description())
    same_target = before.definition.get("target") == run.definition.get("target")
    copied = 0
    store.shared_texts.copy(before.number, run.number)
    for page in store.planned(run):
        there = store.positions(before, page)
        places_by_key: dict[str, list[tuple[int, int]]] = {}
        for planned in page:
            for place, evaluator in enumerate(job.evaluators_for(planned)):
                if evaluator.name in changes.evaluators:
                    continue
                for sample in range(run.repeat):
                    key = evaluation_key(planned.hash, fingerprints.of(evaluator), target, sample)
                    places_by_key.setdefault(key, []).append((planned.position, place))
        copied += store.copy(before, run, positions=there, places=places_by_key, answers=same_target)
    return copied


def changed_programs(before: RunRecord, run: RunRecord) -> ProgramChanges:
    """Return the programs that have another source in a run than in an earlier one."""
    then, now = ProgramFingerprints.of(before.options), ProgramFingerprints.of(run.options)
    return ProgramChanges() if then is None or now is None else now.changed_since(then)
