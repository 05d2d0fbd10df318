"""The form that starts a run of a prompt, with an estimate before anything is spent."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from evenhand import registry
from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import EvaluationMode, FieldError, Prompt
from evenhand.domain.run import RunRecord
from evenhand.engine.budget import Limits
from evenhand.engine.estimate import BATCH_RULE, RULES, Estimate
from evenhand.engine.job import DEFAULT_CONCURRENCY, Job
from evenhand.models.batches.catalogue import PROTOCOLS
from evenhand.models.embedded.catalogue import MODELS, PREFIX
from evenhand.models.embedded.download import is_here
from evenhand.models.prices import PRICES_AS_OF
from evenhand.reports.phrases import cost_text
from evenhand.reports.safe_text import plain
from evenhand.server.dependencies import RunManagerDep, SettingsDep, StoreDep
from evenhand.server.pages.base import Form, Sent, page_routes, see_other
from evenhand.server.pages.prompt_list import PromptList
from evenhand.server.pages.run_view import own
from evenhand.server.rendering import page
from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.requests import MOST_AT_ONCE, MOST_MODELS, MOST_REPEATS, OF_FILES, RunRequest
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store

router = page_routes()

# With more test cases, all are used.
MOST_LISTED: Final = 200
_MOST_CALLS: Final = 10**9
_GIST: Final = 120
_PROVIDERS: Final = {"openai": "OpenAI", "anthropic": "Anthropic", "gemini": "Gemini"}
_FIELDS: Final = ("models", "judge", "repeat", "concurrency", "max_calls", "max_cost", "label", "tags", "batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The fields of the form as typed; ``chosen`` are the test cases, None for all."""

    prompt: Prompt
    typed: Mapping[str, str]
    chosen: tuple[str, ...] | None = None

    @property
    def run_request(self) -> RunRequest:
        """The run that the form requests; invalid fields are refused."""
        names = [line.strip() for line in self.typed["models"].splitlines() if line.strip()]
        if not names:
            raise FieldError("models", "no model; name at least one, such as openai/gpt-5-mini")
        if len(names) > MOST_MODELS:
            raise FieldError("models", f"{len(names)} models; at most {MOST_MODELS} are allowed")
        return RunRequest(
            prompt=self.prompt.id,
            version=self.prompt.version,
            models=tuple(names),
            judge=self.typed["judge"].strip() or None,
            test_cases=self.chosen,
            repeat=self._whole("repeat", MOST_REPEATS) or 1,
            concurrency=self._whole("concurrency", MOST_AT_ONCE),
            max_calls=self._whole("max_calls", _MOST_CALLS),
            max_cost=self._dollars(),
            label=self.typed["label"].strip() or None,
            tags=tuple(tag for tag in self.typed["tags"].split(",") if tag.strip()),
            batch=self.typed["batch"] == "1",
        )

    def _whole(self, name: str, most: int) -> int | None:
        text = self.typed[name].strip().replace(",", "")
        if not text:
            return None
        # Long numbers take long to parse.
        if not text.isascii() or not text.isdecimal() or len(text) > 20 or not 1 <= int(text) <= most:
            raise FieldError(name, f"it must be an integer from 1 to {most:,}")
        return int(text)

    def _dollars(self) -> float | None:
        amount = self.typed["max_cost"].strip().removeprefix("$").replace(",", "")
        if not amount:
            return None
        try:
            return Limits(max_cost=float(amount)).max_cost
        except (ValueError, ConfigError):
            raise FieldError("max_cost", "it must be a number of dollars, such as 0.50") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A run that could be started, with its estimate."""

    run_request: RunRequest
    job: Job
    estimate: Estimate

    @classmethod
    def of(cls, store: Store, settings: ServerSettings, draft: Draft, *, to_ask: bool) -> Prepared:
        """Make the job and its estimate; no model is called, and without ``to_ask`` none can be."""
        request = draft.run_request
        job = request.job(store, settings, to_ask=to_ask)
        return cls(run_request=request, job=job, estimate=request.estimate(store, job))

    @property
    def rules(self) -> tuple[str, ...]:
        """What the figures assume."""
        batch = (BATCH_RULE,) if self.estimate.batch else ()
        return (*batch, *RULES, f"Prices are as of {PRICES_AS_OF}.")

    @property
    def saving(self) -> str:
        """What batches save, in words; empty where the run has none, or their price is unknown."""
        saving = self.estimate.saving if self.estimate.batch else None
        return "" if saving is None else f"Batches save {_dollars(*saving)}."

    @property
    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """A row for each model, and the total."""
        lines = [
            (
                estimate.model,
                _between(estimate.calls, estimate.most_calls),
                f"{estimate.input_tokens:,}",
                f"{estimate.output_tokens:,}",
                _dollars(estimate.low, estimate.high),
            )
            for estimate in self.estimate.models
        ]
        whole = self.estimate
        return [*lines, ("total", _between(whole.calls, whole.most_calls), "", "", _dollars(whole.low, whole.high))]


@router.get("/runs/new")
def new_run(
    request: Request,
    store: StoreDep,
    settings: SettingsDep,
    *,
    prompt: str = "",
    version: str = "",
    q: str = "",
    start: int = 0,
) -> Response:
    """Show the form, or first the prompts to choose from, page by page."""
    if not prompt:
        return page(request, "runs_choose.html", listed=PromptList.of(store, "/runs/new", q, start))
    number = int(version) if version.isascii() and version.isdecimal() and len(version) < 10 else None
    typed = dict.fromkeys(_FIELDS, "") | {
        "models": "\n".join(settings.models),
        "judge": settings.judge or "",
        "repeat": "1",
    }
    return _form(request, store, Draft(prompt=store.prompts.find(prompt, number), typed=typed))


@router.post("/runs/new")
async def start_run(
    request: Request, store: StoreDep, settings: SettingsDep, manager: RunManagerDep, sent: Sent
) -> Response:
    """Show the estimate of a run, or start it."""
    draft = await run_in_threadpool(_draft, store, sent)
    is_start = sent.text("do") == "start"
    try:
        prepared = await run_in_threadpool(Prepared.of, store, settings, draft, to_ask=is_start)
        if is_start:
            return see_other(own(await _start(manager, sent, prepared)))
    except FieldError as error:
        return await run_in_threadpool(_form, request, store, draft, errors={error.field: error.told})
    except ConfigError as error:
        return await run_in_threadpool(_form, request, store, draft, errors={"": str(error)})
    return await run_in_threadpool(_form, request, store, draft, prepared=prepared)


async def _start(manager: RunManager, sent: Form, prepared: Prepared) -> RunRecord:
    """Start a run once, however often the button is pressed; a changed form is another run."""
    request = prepared.run_request
    # Which form it was, and its content.
    key = hashlib.sha256(repr((sent.text("form"), request)).encode()).hexdigest()
    run, _ = await manager.start(lambda: prepared.job, request.scope, request.pace, key=key, asked="page")
    return run


def _draft(store: Store, sent: Form) -> Draft:
    prompt = store.prompts.find(sent.text("prompt"), sent.number("version"))
    chosen = tuple(sent.texts("test_cases")) if sent.has("listed") else None
    if chosen is not None and set(chosen) == {case_id for case_id, _ in _selectable_cases(store, prompt)}:
        chosen = None  # all of them, also those that are not chosen one by one
    return Draft(prompt=prompt, typed={name: sent.text(name) for name in _FIELDS}, chosen=chosen)


def _form(
    request: Request,
    store: Store,
    draft: Draft,
    *,
    errors: Mapping[str, str] | None = None,
    prepared: Prepared | None = None,
) -> Response:
    prompt = draft.prompt
    text = prompt.text
    values: dict[str, Any] = {
        "prompt": prompt,
        "versions": store.prompts.versions(prompt.id),
        "asks_judge": text.evaluation_mode is EvaluationMode.LLM and text.criteria is not None,
        "is_schema": text.evaluation_mode is EvaluationMode.SCHEMA,
        "draft": draft,
        "cases": _selectable_cases(store, prompt),
        "providers": [name for name in registry.points(registry.MODELS) if name not in OF_FILES],
        "here": [f"{PREFIX}{model.name}" for model in MODELS.values() if is_here(model)],
        "usual_concurrency": DEFAULT_CONCURRENCY,
        "batch_providers": [_PROVIDERS.get(name, name) for name in PROTOCOLS],
        "form": secrets.token_hex(16),
        "errors": errors or {},
        "prepared": prepared,
    }
    return page(request, "runs_new.html", status=422 if errors else 200, **values)


def _selectable_cases(store: Store, prompt: Prompt) -> list[tuple[str, str]]:
    """Return the test cases with the start of their inputs, if there are few enough to choose from."""
    if prompt.test_cases > MOST_LISTED:
        return []
    return [(case.id, plain(case.text.input[: 4 * _GIST], _GIST)) for case in store.prompts.cases(prompt.id)]


def _between(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _dollars(low: float | None, high: float | None) -> str:
    return cost_text(low) if low == high else f"{cost_text(low)} to {cost_text(high)}"
