"""Going on with a run: what has changed since, and what of an earlier run still holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from evenhand.domain.early_decision import UntilDecided
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import RunRecord
from evenhand.engine.identity import Fingerprints, digest_of, evaluation_key
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import planned_cases
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
    )


def case_differences(store: Store, run: RunRecord, job: Job) -> list[str]:
    """Say how the cases of a job differ from those of a run; an empty list if they do not."""
    scope = replace(scope_of(run), until_decided=None)  # what has changed is to be said, and not refused as too few
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
