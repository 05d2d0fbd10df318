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
from evenhand.store.store import Store

_MOST_NAMED = 5


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
    before = dict(store.hashes(run))
    after = {written.given.case.id or "": written.hash for written in planned_cases(store, job, scope)}
    differences = [
        *_name_cases("was added", [identity for identity in after if identity not in before]),
        *_name_cases("is gone", [identity for identity in before if identity not in after]),
        *_name_cases(
            "has changed",
            [identity for identity in after if identity in before and after[identity] != before[identity]],
        ),
    ]
    return differences or ["cases: in a different order"]


def go_on_with_batches(store: Store, planned: RunRecord) -> RunRecord:
    """Return an earlier run in place of one just planned, if it is the same and has answers from batches to come.

    So a program that is started again gets what its batches brought, and asks for nothing twice.
    """
    for run in store.runs.with_option(BATCH):
        if run.id == planned.id or not _is_like(run, planned) or store.runs.in_hand(run):
            continue
        if run.status is RunStatus.FINISHED or not store.provider_batches.items(run):
            continue
        if all(before == now for before, now in itertools.zip_longest(store.hashes(run), store.hashes(planned))):
            try:
                store.runs.claim(run)
            except RunBusyError:
                continue
            undo(store, planned)
            return store.runs.mark(run, RunStatus.RUNNING)
    return planned


def _is_like(run: RunRecord, other: RunRecord) -> bool:
    return (run.name, run.source, run.repeat, run.definition, run.options) == (
        other.name, other.source, other.repeat, other.definition, other.options
    )  # fmt: skip


def _name_cases(change: str, ids: list[str]) -> Iterator[str]:
    for identity in ids[:_MOST_NAMED]:
        yield f"case {identity!r} {change}"
    if len(ids) > _MOST_NAMED:
        yield f"and {len(ids) - _MOST_NAMED} more, each of which {change}"


def copy_finished(store: Store, before: RunRecord, run: RunRecord, job: Job) -> int:
    """Take over from an earlier run whatever is the same in a new one, and return how many evaluations those are.

    Same is what has the same identity: case, evaluator, judge, prompt, target and sample, wherever it is in the run.
    """
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
                for sample in range(run.repeat):
                    key = evaluation_key(planned.hash, fingerprints.of(evaluator), target, sample)
                    places_by_key.setdefault(key, []).append((planned.position, place))
        copied += store.copy(before, run, positions=there, places=places_by_key, answers=same_target)
    return copied
