"""What a run would take, with an eye on what the cache has; nobody is asked (SPEC-S4)."""

from __future__ import annotations

from evenhand.domain.ask import Ask
from evenhand.engine.budget import Budget, Limits
from evenhand.engine.estimate import estimate
from evenhand.engine.forecast import Estimate
from evenhand.engine.gateway import Gateway, cache_key
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import planned_cases
from evenhand.store.store import Store


def forecast(store: Store, job: Job, scope: Scope, *, use_cache: bool) -> Estimate:
    """Estimate a run."""
    gateway = Gateway(store, budget=Budget(Limits()), prices=job.prices, concurrency=1, use_cache=use_cache)

    def cached(ask: Ask, sample: int) -> bool:
        _, _, identity = gateway.known(ask.judge)
        if identity is None:
            return False
        key = cache_key(identity, ask, sample)
        return key in gateway.remembered and store.reply(key) is not None

    return estimate(
        (one.given for one in planned_cases(store, job, scope)),
        job.evaluators_for,
        target=job.target,
        repeat=scope.repeat,
        prices=job.prices,
        cached=cached,
    )
