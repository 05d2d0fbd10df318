"""What a user of the server wants to be run, and the job, scope and pace that it takes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.errors import MissingKeyError, MissingModelError
from evenhand.domain.prompt import EvaluationMode, FieldError
from evenhand.engine.budget import Limits
from evenhand.engine.forecast import Estimate
from evenhand.engine.forecasting import forecast
from evenhand.engine.job import DEFAULT_CONCURRENCY, DEFAULT_OUTAGE_SECONDS, Job, Pace, Scope
from evenhand.models.resolve import JUDGE_VARIABLE
from evenhand.server.choosing import require_offered
from evenhand.server.resuming import NO_CACHE
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store
from evenhand.workspace.trial import Trial

_OF_THE_TARGET: Final = "target: "
MOST_MODELS: Final = 20
MOST_REPEATS: Final = 100
MOST_AT_ONCE: Final = 1_000
MOST_OUTAGE_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedScope(Scope):
    """A scope that knows whether the run asks anew: when it is resumed, it does so again."""

    no_cache: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Give the scope as plain JSON values."""
        return Scope.as_dict(self) | ({NO_CACHE: True} if self.no_cache else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWanted:
    """A run that somebody wants: a prompt by id or name, models and a judge by their names."""

    prompt: str
    models: tuple[str, ...]
    version: int | None = None
    judge: str | None = None
    test_cases: tuple[str, ...] | None = None
    repeat: int = 1
    concurrency: int | None = None
    max_cost: float | None = None
    max_calls: int | None = None
    use_cache: bool = True
    outage_timeout: float | None = None

    @property
    def scope(self) -> Scope:
        """How often each case is judged, and whether replies from before will do."""
        return AskedScope(repeat=self.repeat, no_cache=not self.use_cache)

    @property
    def pace(self) -> Pace:
        """How much at once, and what it may spend."""
        return Pace(
            concurrency=self.concurrency or DEFAULT_CONCURRENCY,
            limits=Limits(max_calls=self.max_calls, max_cost=self.max_cost),
            use_cache=self.use_cache,
            outage_timeout=DEFAULT_OUTAGE_SECONDS if self.outage_timeout is None else self.outage_timeout,
        )

    def job(self, store: Store, settings: ServerSettings, *, to_ask: bool = True) -> Job:
        """Make the job; what cannot be right is refused here, by field, and nobody is asked.

        One that is not ``to_ask`` anybody, but only to be estimated, needs no keys.
        """
        prompt = store.prompts.find(self.prompt, self.version)
        models = [require_offered(name, settings, "models") for name in self.models or settings.models]
        judge = settings.judge if self.judge is None else require_offered(self.judge, settings, "judge")
        if judge is None and prompt.text.criteria is not None and prompt.text.evaluation_mode is EvaluationMode.LLM:
            judge = _judge_of_the_environment()
        trial = Trial(prompt=prompt, models=models, judge=judge, test_cases=self.test_cases, repeat=self.repeat)
        job = _job_of(trial, store, to_ask=to_ask)
        if self.max_cost is not None:
            self._require_prices(self.estimate(store, job))
        return job

    def estimate(self, store: Store, job: Job) -> Estimate:
        """Tell what the run would take; nobody is asked."""
        return forecast(store, job, self.scope, use_cache=self.use_cache)

    def _require_prices(self, expected: Estimate) -> None:
        unknown = [one.model for one in expected.models if one.low is None]
        if unknown:
            raise FieldError("max_cost", f"nobody knows what {' and '.join(unknown)} costs; set max_calls instead")


def _judge_of_the_environment() -> str:
    name = os.environ.get(JUDGE_VARIABLE, "").strip()
    if not name:
        raise FieldError(
            "judge", "there is none; name one, such as openai/gpt-5-mini, or start the server with --judge"
        )
    return name


def _job_of(trial: Trial, store: Store, *, to_ask: bool) -> Job:
    """Make the job, and say by field which model cannot be asked: keys are the server's, from its environment."""
    try:
        return trial.job(store, to_ask=to_ask)
    except (MissingKeyError, MissingModelError) as error:
        told = str(error).replace(", or give api_key", " where the server runs")
        if told.startswith(_OF_THE_TARGET):
            raise FieldError("models", told.removeprefix(_OF_THE_TARGET)) from None
        raise FieldError("judge", told) from None
