"""What a user of the server wants to run or resume, which models they may name, and the job that it takes.

What the one who starts the server names with ``--judge`` and ``--model`` may be anything: that is the server's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from evenhand import registry
from evenhand.domain.errors import ConfigError, ConflictError, MissingKeyError, MissingModelError, did_you_mean
from evenhand.domain.prompt import FieldError, Prompt
from evenhand.domain.run import BATCH, NOT_A_LABEL, TAGS, RunRecord, RunStatus, is_label, tags_of
from evenhand.domain.run_kind import is_doctor, is_tuning, mode_of
from evenhand.engine.carry_over import require_own, require_same_programs
from evenhand.engine.estimate import Estimate, forecast
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.store_location import run_command
from evenhand.models.environment import variable
from evenhand.models.providers import Provider
from evenhand.models.resolve import JUDGE_VARIABLE, normal_name, provider_and_model, provider_of
from evenhand.profiles.modes import with_next_rounds
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store
from evenhand.store.transfer import IMPORTED
from evenhand.suites.suite import job_of_run
from evenhand.workspace.prompt_run import PROMPT, Trial, asks_judge, is_trial


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProvider:
    """A provider: the names of its variables, and which of them is set.

    Of one that another package brings, it is unknown what it needs: ``needs_key`` is None.
    """

    name: str
    variables: tuple[str, ...] = ()
    needs_key: bool | None = None
    found: str | None = None

    @property
    def has_key(self) -> bool | None:
        """Whether its key is set; None where it needs none, or that is unknown."""
        return self.found is not None if self.needs_key else None

    @property
    def state(self) -> str:
        """Whether its models can be asked."""
        if self.found:
            return "key is set"
        return "no key" if self.needs_key else "needs no key"

    @classmethod
    def of(cls, name: str, made: Any) -> KnownProvider:
        """Look which of its variables is set."""
        if not isinstance(made, Provider):
            return cls(name=name)
        set_variable = next((key for key in made.key_variables if variable(key)), None)
        return cls(name=name, variables=made.key_variables, needs_key=made.needs_key, found=set_variable)


def known_providers() -> list[KnownProvider]:
    """Return the providers that are registered, but for those whose models are files or run in the server."""
    points = registry.points(registry.MODELS).items()
    return [KnownProvider.of(name, point.load()) for name, point in points if name not in (*OF_FILES, EMBEDDED)]


LONGEST_NAME: Final = 200
EMBEDDED: Final = "embedded"
# Providers whose models are files.
OF_FILES: Final = ("recorded",)


def require_offered(name: str, settings: ServerSettings, field: str) -> str:
    """Return the name of a model if users may ask for it; ``field`` is where they wrote it."""
    if name in (settings.judge, *settings.models):
        return name
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise FieldError(field, f"a model's name has at most {LONGEST_NAME} printable characters")
    providers = [point for point in registry.points(registry.MODELS) if point not in OF_FILES]
    if provider_of(name) == EMBEDDED:
        from evenhand.models.embedded.catalogue import MODELS  # noqa: PLC0415 - few ask for it

        model = normal_name(name).partition("/")[2]
        if model and model not in MODELS:
            raise FieldError(field, f"no embedded model {model!r:.80}{did_you_mean(model, MODELS)}")
        return name
    try:
        provider, _ = provider_and_model(name)
    except ConfigError as error:
        raise FieldError(field, str(error)) from None
    if provider not in providers:
        raise FieldError(field, f"no provider {provider!r:.80}{did_you_mean(provider, providers)}")
    return name


def require_all_offered(definition: Mapping[str, Any], settings: ServerSettings) -> None:
    """Refuse the definition of a run that names a model which users may not name."""
    target = definition.get("target")
    models = target.get("models", ()) if isinstance(target, Mapping) else ()
    for field, names in (("models", models), ("judge", [definition.get("judge")])):
        for name in names:
            if isinstance(name, str):
                require_offered(name, settings, field)


NO_CACHE = "no_cache"


def taken_up(store: Store, run: RunRecord, change: Callable[[Pace], Pace]) -> tuple[RunRecord, Job, Pace]:
    """Claim a run and make its job from what it stored, or say why it cannot go on here."""
    require_own(run)
    use_cache, batch = run.options.get(NO_CACHE) is not True, run.options.get(BATCH) is True
    # That of a suite is for requests; in batches, as many evaluations as possible wait together.
    concurrency = None if batch else run.definition.get("concurrency")
    pace = change(Pace.of(concurrency=concurrency, use_cache=use_cache, batch=batch))
    if pace.batch and not batch:
        raise FieldError(BATCH, f"run {run.id} does not ask in batches; leave batch out, or start it again with it")
    if run.status is RunStatus.FINISHED and not pace.retry_errors:
        raise ConflictError(f"run {run.id} is finished; set retry_errors to retry its errors")
    if run.status is RunStatus.PLANNING:
        raise ConfigError(f"run {run.id} was never planned to the end; delete it and start it again")
    job = job_to_resume(store, run)
    require_same_programs(store, run, job)
    store.runs.claim(run)
    return store.runs.mark(run, RunStatus.RUNNING), job, pace


def job_to_resume(store: Store, run: RunRecord) -> Job:
    """Make the job of a run from what it stored, or say why it cannot go on here."""
    on_the_command_line = run_command("resume", run.id, store.address)
    if run.options.get(IMPORTED):
        raise ConfigError(f"run {run.id} was imported; see what it would use with: {on_the_command_line}")
    if is_tuning(run.definition):
        raise ConfigError(f"run {run.id} tunes a prompt; resume it on the command line: {on_the_command_line}")
    is_stored_whole = is_trial(run.definition) or mode_of(run.definition) or is_doctor(run.definition)
    if run.source is None and not is_stored_whole:
        raise ConfigError(f"run {run.id} was started by a program, and only that program can resume it; run it again")
    return with_next_rounds(job_of_run(store, run))


MOST_MODELS: Final = 20
MOST_REPEATS: Final = 100
MOST_AT_ONCE: Final = 1_000
MOST_OUTAGE_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestScope(Scope):
    """A scope that knows whether the run asks anew: when it is resumed, it does so again."""

    no_cache: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the scope as plain JSON values."""
        return Scope.as_dict(self) | ({NO_CACHE: True} if self.no_cache else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
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
    max_consecutive_errors: int | None = None
    label: str | None = None
    tags: tuple[str, ...] = ()
    batch: bool = False
    max_attempts: int | None = None

    def __post_init__(self) -> None:
        if self.label is not None and not is_label(self.label):
            raise FieldError("label", NOT_A_LABEL)
        try:
            tags_of(self.tags)
        except ConfigError as error:
            raise FieldError(TAGS, str(error)) from None

    @classmethod
    def again(cls, run: RunRecord, *, use_cache: bool = True) -> RunRequest:
        """Return the request for another run like this one: the same models, judge and settings.

        The prompt is taken in its latest version, with all of its test cases as they are now. Without ``use_cache``
        every model is asked, whatever it said before.
        """
        prompt, target = run.definition.get(PROMPT), run.definition.get("target")
        models = target.get("models") if isinstance(target, Mapping) else None
        judge = run.definition.get("judge")
        is_named = isinstance(models, list) and all(isinstance(name, str) for name in models)
        if not isinstance(prompt, Mapping) or not is_named or not isinstance(judge, str | None):
            raise ConflictError(
                f"run {run.id} cannot be started again here: only a run of a prompt whose models and judge have names "
                "can; start it again where it was started"
            )
        return cls(
            prompt=str(prompt.get("id")),
            models=tuple(models or ()),
            judge=judge,
            repeat=run.repeat,
            concurrency=run.definition.get("concurrency"),
            use_cache=use_cache and run.options.get(NO_CACHE) is not True,
            batch=run.options.get(BATCH) is True,
            max_attempts=run.definition["evaluators"][0].get("max_attempts"),
        )

    @property
    def scope(self) -> Scope:
        """How often each case is judged, whether replies from before will do, and what the run is called and tagged."""
        return RequestScope(
            repeat=self.repeat, no_cache=not self.use_cache, label=self.label, tags=self.tags, batch=self.batch
        )

    @property
    def pace(self) -> Pace:
        """How much at once, and what it may spend."""
        return Pace.of(
            concurrency=self.concurrency,
            max_calls=self.max_calls,
            max_cost=self.max_cost,
            use_cache=self.use_cache,
            outage_timeout=self.outage_timeout,
            max_consecutive_errors=self.max_consecutive_errors,
            batch=self.batch,
        )

    def job(self, store: Store, settings: ServerSettings, *, to_ask: bool = True) -> Job:
        """Make the job; what cannot be right is refused here, by field, and nobody is asked.

        One that is not ``to_ask`` anybody, but only to be estimated, needs no keys.
        """
        prompt = store.prompts.find(self.prompt, self.version)
        models = [require_offered(name, settings, "models") for name in self.models or settings.models]
        judge = judge_for(prompt, self.judge, settings)
        trial = Trial(
            prompt=prompt,
            models=models,
            judge=judge,
            test_cases=self.test_cases,
            repeat=self.repeat,
            max_attempts=self.max_attempts,
        )
        job = job_of_trial(trial, store, to_ask=to_ask)
        if self.max_cost is not None:
            self._require_prices(self.estimate(store, job))
        return job

    def estimate(self, store: Store, job: Job) -> Estimate:
        """Estimate what the run would take; no model is asked."""
        return forecast(store, job, self.scope, use_cache=self.use_cache)

    def _require_prices(self, expected: Estimate) -> None:
        unknown = [model.model for model in expected.models if model.low is None]
        if unknown:
            raise FieldError("max_cost", f"the price of {' and '.join(unknown)} is unknown; set max_calls instead")


def judge_for(prompt: Prompt, named: str | None, settings: ServerSettings) -> str | None:
    """Return the judge of a prompt's answers: the one that is named, else the server's; None where none is needed."""
    judge = settings.judge if named is None else require_offered(named, settings, "judge")
    return _judge_of_the_environment() if judge is None and asks_judge(prompt.text) else judge


def _judge_of_the_environment() -> str:
    name = os.environ.get(JUDGE_VARIABLE, "").strip()
    if not name:
        raise FieldError("judge", "no judge; name one, such as openai/gpt-5-mini, or start the server with --judge")
    return name


def job_of_trial(trial: Trial, store: Store, *, to_ask: bool = True) -> Job:
    """Make the job, and say by field which model cannot be asked: keys are the server's, from its environment."""
    try:
        return trial.job(store, to_ask=to_ask)
    except (MissingKeyError, MissingModelError) as error:
        need = error.need if isinstance(error, MissingKeyError) else None
        message = error.problem if need is None else f"{need} where the server runs"
        raise FieldError("judge" if error.part is None else "models", message) from None
