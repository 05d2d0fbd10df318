"""A command at work tells what happens meanwhile: providers that are gone, and whatever holds the event loop."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli.console import Console
from evenhand.cli.runs.journal import open_journal
from evenhand.cli.runs.session import Interrupts, Session
from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.run import PlannedCase
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.evaluators.base import BaseEvaluator
from evenhand.store.store import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding(BaseEvaluator):
    """An evaluator that does not give the loop back until something has happened."""

    type = "holding"

    until: Callable[[], bool] = field(default=lambda: True)

    def steps(self, case: Case) -> Steps[Evaluation]:
        yield ()
        end = time.monotonic() + 60
        while not self.until():
            assert time.monotonic() < end, "it never came"
            time.sleep(0.01)
        return self.scored(1.0)


@pytest.mark.slow
def test_what_holds_the_event_loop_stands_in_the_journal_and_is_told_in_the_end(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = folder / "log.jsonl"
    evaluator = Holding(until=lambda: "loop_blocked" in log.read_text())
    planned = [PlannedCase(position=0, case=Case(id="a", candidate_answer="x"))]
    job = Job(name="made", definition={}, cases=lambda: planned, evaluators_for=lambda _: (evaluator,))
    store = open_store(str(folder / "runs.db"))
    console = Console()

    with open_journal(str(log), console, verbose=False) as notes, Interrupts() as interrupts:
        session = Session(
            console=console, journal=notes, interrupts=interrupts, outputs=(), json=False, db=str(folder / "runs.db")
        )
        code = session.work_on(store, plan(store, job, Scope()), job, Pace())
    store.close()

    (blocked,) = (note for note in map(json.loads, log.read_text().splitlines()) if note["event"] == "loop_blocked")
    assert code == 0
    assert blocked["seconds"] > 1
    assert any("test_session.py" in call and "steps" in call for call in blocked["stack"])
    told = capsys.readouterr().err
    assert "warning: the event loop was blocked for " in told
    assert "--log-file records the stack" in told
    assert not [one for one in threading.enumerate() if one.name == "evenhand-loop-watch"]


@pytest.mark.slow
def test_a_provider_that_is_gone_is_told_on_the_terminal_and_in_the_journal(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], serve: Any
) -> None:
    def script(text: str) -> dict[str, Any]:
        # Gone after ten questions, for as long as it takes to say so.
        gone = len(provider.asked) > 10 and "provider_gone" not in (folder / "log.jsonl").read_text()
        return {"status": 503, "says": "down"} if gone else {}

    provider = serve(script)
    suite(20, judge=provider)

    done = command("run", "suite.yaml", "--log-file", "log.jsonl", "--outage-timeout", "300", "--json")
    quiet = command("run", "suite.yaml", "--quiet", "--no-cache", "--outage-timeout", "0")

    assert done.code == quiet.code == 0
    assert (done.json["summary"]["scored"], done.json["summary"]["errors"]) == (20, 0)
    assert "does not answer (overloaded: HTTP 503: down); pausing, and retrying for up to 5 min\n" in done.err
    assert "openai/gpt-4o-mini is back after " in done.err
    notes = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    gone, back = (note for note in notes if note["event"].startswith("provider_"))
    assert (gone["event"], gone["model"], gone["class"], gone["limit"]) == (
        "provider_gone",
        "openai/gpt-4o-mini",
        "overloaded",
        300.0,
    )
    assert (back["event"], back["seconds"] > 0) == ("provider_back", True)
    assert quiet.err == ""


@pytest.mark.parametrize("wrong", ["-1", "inf", "nan", "soon"])
def test_what_is_no_time_to_wait_is_refused(
    command: Callable[..., Any], suite: Callable[..., Path], wrong: str
) -> None:
    suite(1)

    done = command("run", "suite.yaml", "--outage-timeout", wrong)

    assert done.code == 2
    assert "--outage-timeout" in done.err
