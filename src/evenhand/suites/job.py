"""From a suite, or from what a run stored of one, to the job that the engine does."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import RunRecord
from evenhand.engine.job import Job
from evenhand.store.store import Store
from evenhand.suites.definition import Definition
from evenhand.suites.panel import MADE_IN_PYTHON
from evenhand.suites.suite import Suite


def job_of(suite: Suite) -> Job:
    """Make the job of judging a suite."""
    return Job(
        name=suite.name,
        source=suite.source,
        definition=suite.definition,
        cases=suite.cases,
        evaluators_for=suite.evaluators_for,
        target=suite.built.target(),
        prices=suite.built.prices,
        timeout=suite.built.timeout,
    )


def job_of_run(store: Store, run: RunRecord, *, trusted: bool = True) -> Job:
    """Make the job of a stored run, whose suite need not be there any more."""
    if any(MADE_IN_PYTHON in one for one in run.definition.get("evaluators") or () if isinstance(one, Mapping)):
        raise ConfigError(f"run {run.id} has evaluators that were made in Python; run that program again")
    built = Definition(run.definition, source=run.source)
    return Job(
        name=run.name,
        source=run.source,
        definition=run.definition,
        cases=lambda: itertools.chain.from_iterable(store.planned(run)),
        evaluators_for=built.evaluators_for,
        target=built.target(trusted=trusted),
        prices=built.prices,
        timeout=built.timeout,
    )
