"""The playground: a prompt tried on one input, at once, of which nothing is kept.

A try is a run of one test case in a store of its own, in memory, which is gone afterwards. So it is asked, judged,
limited and reported on as any run is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.prompt import FieldError, Prompt, TestCase, TestCaseText
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.engine.execution import runner_for
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.reports.json import case_row
from evenhand.server.problems import Problem
from evenhand.server.runs.requests import job_of_trial, judge_for, require_offered
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store, open_store
from evenhand.workspace.prompt_run import Trial

MOST_AT_ONCE: Final = 8
# A judge may be asked again for a reply that can be read; nobody waits for more than this.
MOST_CALLS: Final = 10
LONGEST_SECONDS: Final = 300.0
# How often it is looked whether somebody still waits for the answer.
_LOOK_SECONDS: Final = 0.5
_IN_MEMORY: Final = "sqlite://"

Gone = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TryRequest:
    """What is to be tried: a prompt, which may have a text that is not saved, on an input that may be no test case."""

    prompt: Prompt
    text: TestCaseText
    model: str
    judge: str | None = None
    max_attempts: int | None = None

    def trial(self, settings: ServerSettings) -> Trial:
        """Return the trial; what users may not ask for is refused, by field."""
        if not self.model.strip():
            raise FieldError("model", "no model; name one, such as openai/gpt-5-mini")
        now = time.time()
        case = TestCase(id="try", prompt_id=self.prompt.id, version=1, text=self.text, created=now, edited=now)
        return Trial(
            prompt=self.prompt,
            models=[require_offered(self.model.strip(), settings, "model")],
            judge=judge_for(self.prompt, (self.judge or "").strip() or None, settings),
            given=(case,),
            max_attempts=self.max_attempts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of a try: the case with answer and judgment, how long it took, and why it stopped, if it did."""

    run: RunRecord
    result: CaseResult
    seconds: float

    @property
    def why_stopped(self) -> str | None:
        """The reason why it did not come to an end; None if it did."""
        return None if self.run.status is RunStatus.FINISHED else self.run.reason or "it was interrupted"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values: the case as those of runs, and what is said of the try."""
        row = case_row(self.result)
        return {name: row[name] for name in row if name not in ("case_id", "metadata", "cluster")} | {
            "cost": self.result.cost,
            "seconds": self.seconds,
            "stopped": self.why_stopped,
        }


class Playground:
    """Tries prompts, a few at once. It belongs to one event loop."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._at_work = 0

    async def attempt(self, wanted: TryRequest, *, is_gone: Gone) -> Tried:
        """Ask the model, and the judge about its answer; who goes away meanwhile stops it, so that nothing is spent."""
        if self._at_work >= MOST_AT_ONCE:
            why = f"{self._at_work} are in progress; try again when one has ended"
            raise Problem(503, "Too many tries", why, headers={"retry-after": "10"})
        self._at_work += 1
        try:
            store, runner = await asyncio.to_thread(self._prepared, wanted)
            try:
                return await _driven(store, runner, is_gone)
            finally:
                store.close()
        finally:
            self._at_work -= 1

    def _prepared(self, wanted: TryRequest) -> tuple[Store, Runner]:
        trial = wanted.trial(self._settings)
        store = open_store(_IN_MEMORY)
        try:
            job = job_of_trial(trial, store)
            run = plan(store, job, Scope())
            pace = Pace.of(concurrency=1, max_calls=MOST_CALLS, use_cache=False, outage_timeout=0.0)
            return store, runner_for(store, run, job, pace, on_outage=lambda _: None)
        except BaseException as error:
            store.close()
            if isinstance(error, FieldError) and error.field == "models":  # here it is one
                raise FieldError("model", error.told) from None
            raise


async def _driven(store: Store, runner: Runner, is_gone: Gone) -> Tried:
    began = time.monotonic()
    work = asyncio.create_task(runner.run())
    try:
        while not work.done():
            await asyncio.wait([work], timeout=_LOOK_SECONDS)
            if not work.done() and await is_gone():
                raise Problem(503, "Stopped", "the client has disconnected", headers={"retry-after": "1"})
            if not work.done() and time.monotonic() - began > LONGEST_SECONDS:
                why = f"there was no answer within {LONGEST_SECONDS:.0f} seconds; start a run, which can wait longer"
                raise Problem(504, "No answer in time", why)
        run = work.result()
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait([work])
    (result,) = store.results(run)
    return Tried(run=run, result=result, seconds=time.monotonic() - began)
