"""Which runs workers can make themselves from their definition: objects of one program stay in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase
from evenhand.engine.identity import Fingerprints
from evenhand.engine.job import EvaluatorsFor, Job, Rebuild
from evenhand.models.embedded.client import EmbeddedModel
from evenhand.models.embedded.runtime import Load
from evenhand.suites.definition import Definition
from evenhand.suites.python_evaluators import MADE_IN_PYTHON


def require_shippable(job: Job) -> None:
    """Refuse a job that workers cannot make themselves from its definition: objects of this program stay here."""
    if any(MADE_IN_PYTHON in each for each in job.definition.get("evaluators") or () if isinstance(each, Mapping)):
        raise ConfigError(
            "on: evaluators that are objects of this program cannot be sent to other processes; name them in a suite, "
            "or leave out on"
        )
    if job.target is None:
        return
    try:
        built = Definition(job.definition, source=job.file).target()
    except ConfigError:
        built = None
    if built is None or built.description() != job.target.description():
        raise ConfigError(
            f"on: the target {job.target.name} is an object of this program and cannot be sent to other processes; "
            "write it into a module next to the suite and name it as python: module:function, or leave out on"
        )


def evaluators_elsewhere(definition: Mapping[str, Any], file: str | None, rebuild: Rebuild | None) -> EvaluatorsFor:
    """Return who judges in another process, by what is sent to it."""
    return Definition(definition, source=file).evaluators_for if rebuild is None else rebuild(definition, file)


def models_in(job: Job, cases: Iterable[PlannedCase]) -> tuple[Load, ...]:
    """Return the embedded models that judge or answer some cases, in the order in which they are named."""
    built = Definition(job.definition, source=job.file)
    evaluators_for = built.evaluators_for if job.rebuild is None else job.rebuild(job.definition, job.file)
    clients: list[object] = []
    for planned in cases:
        clients += [getattr(each, "judge", None) for each in evaluators_for(planned)]
        if job.target is not None:
            clients.append(job.target.client_for(planned.case))
    return tuple(dict.fromkeys(each.load for each in (*built.clients, *clients) if isinstance(each, EmbeddedModel)))


def require_same_evaluators(job: Job, planned: PlannedCase) -> None:
    """Refuse a run whose workers would judge a case by other evaluators than this process would."""
    prints = Fingerprints()
    own = [prints.of(each) for each in job.evaluators_for(planned)]
    theirs = [prints.of(each) for each in evaluators_elsewhere(job.definition, job.file, job.rebuild)(planned)]
    if own != theirs:
        raise ConfigError("on: this run cannot be judged by other processes: its definition does not have all of it")
