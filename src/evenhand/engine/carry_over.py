"""Going on with a run: what has changed since, and what of an earlier run still holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from evenhand.domain.run import RunRecord
from evenhand.engine.identity import Fingerprints, digest_of, evaluation_key
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import planned_cases
from evenhand.store.store import Store

_TOLD = 5


def scope_of(run: RunRecord) -> Scope:
    """Return the scope with which a run was started."""
    options = run.options
    return Scope(
        only=tuple(options.get("only") or ()),
        limit=options.get("limit"),
        repeat=run.repeat,
        answers_from=options.get("answers_from"),
    )


def case_differences(store: Store, run: RunRecord, job: Job) -> list[str]:
    """Say how the cases of a job differ from those of a run; an empty list if they do not."""
    now = ((one.given.case.id or "", one.hash) for one in planned_cases(store, job, scope_of(run)))
    if all(one == other for one, other in itertools.zip_longest(store.hashes(run), now)):
        return []
    before = dict(store.hashes(run))
    after = {one.given.case.id or "": one.hash for one in planned_cases(store, job, scope_of(run))}
    told = [
        *_named("was added", [identity for identity in after if identity not in before]),
        *_named("is gone", [identity for identity in before if identity not in after]),
        *_named("has changed", [one for one in after if one in before and after[one] != before[one]]),
    ]
    return told or ["cases: in a different order"]


def _named(what: str, ids: list[str]) -> Iterator[str]:
    for identity in ids[:_TOLD]:
        yield f"case {identity!r} {what}"
    if len(ids) > _TOLD:
        yield f"and {len(ids) - _TOLD} more of which each {what}"


def copy_finished(store: Store, before: RunRecord, run: RunRecord, job: Job) -> int:
    """Take over from an earlier run whatever is the same in a new one, and tell how many evaluations that were.

    Same is what has the same identity: case, evaluator, judge, prompt, target and sample, wherever it stands.
    """
    fingerprints = Fingerprints()
    target = "" if job.target is None else digest_of(job.target.description())
    same_target = before.definition.get("target") == run.definition.get("target")
    copied = 0
    for page in store.planned(run):
        there = store.positions(before, page)
        wanted: dict[str, list[tuple[int, int]]] = {}
        for one in page:
            for place, evaluator in enumerate(job.evaluators_for(one)):
                for sample in range(run.repeat):
                    key = evaluation_key(one.hash, fingerprints.of(evaluator), target, sample)
                    wanted.setdefault(key, []).append((one.position, place))
        copied += store.copy(before, run, positions=there, wanted=wanted, answers=same_target)
    return copied
