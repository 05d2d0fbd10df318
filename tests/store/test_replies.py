"""A reply is kept once, where it stands in its run; the cache points to it, and goes with the run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand import Contains
from evenhand.domain.ask import Ask
from evenhand.domain.case import Case
from evenhand.domain.evaluation import MAX_RAW, Attempt, Usage
from evenhand.domain.reply import Reply
from evenhand.domain.run import MadeAnswer, PlannedCase, RunRecord, RunStatus
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.engine.targets.model import ModelTarget
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.store import replies
from evenhand.store.rows import Batch, answer_fields, answer_row, reply_row
from evenhand.store.store import Store, open_store
from evenhand.store.transfer import export_lines

LONG = 3 * MAX_RAW


class Model:
    """Says what a function of the question gives, and counts."""

    keeps_deadlines = True

    def __init__(self, name: str, say: Callable[[Ask], str]) -> None:
        self.name = name
        self.identity = {"model": name}
        self.say = say
        self.asked = 0

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
        self.asked += 1
        return Reply.said(self.say(ask), usage=Usage(input_tokens=1, output_tokens=2))


def job_of(evaluator: Any, *, target: Model | None = None, cases: int = 1) -> Job:
    known = [Case(id=f"c{n}", question=f"q{n}", expected_outcome="good") for n in range(cases)]
    if target is None:
        known = [replace(one, candidate_answer="a") for one in known]
    planned = [PlannedCase(position=place, case=case) for place, case in enumerate(known)]
    return Job(
        name="x",
        definition={},
        cases=lambda: planned,
        evaluators_for=lambda _: (evaluator,),
        target=None if target is None else ModelTarget(client=target),
    )


def finished(store: Store, job: Job) -> RunRecord:
    run = asyncio.run(Runner(store, plan(store, job, Scope()), job, Pace(concurrency=4)).run())
    assert run.status is RunStatus.FINISHED
    return run


def characters(store: Store) -> int:
    """Count the characters of all that a run leaves: its answers, its evaluations, and the cache."""
    tables = ("answers", "evaluations", "replies")
    return sum(store.database.rows(f"SELECT COALESCE(SUM(LENGTH(content)), 0) FROM {one}")[0][0] for one in tables)


def test_an_answer_of_15_million_characters_is_kept_whole_and_once(store: Store) -> None:
    target = Model("target", lambda _: "x" * 15_000_000)
    job = job_of(Contains(value="y"), target=target)

    run = finished(store, job)

    assert characters(store) < 15_010_000
    (result,) = store.results(run)
    assert result.answers[0].text == result.answers[0].attempts[0].raw == "x" * 15_000_000
    again = finished(store, job)
    assert target.asked == 1
    assert next(iter(store.results(again))).answers[0].attempts[0].cached


def test_the_reply_of_a_judge_is_kept_once_and_found_again(store: Store) -> None:
    said = json.dumps({"score": 0.5, "reasoning": "because " * 50, "hits": [], "misses": []})
    judge = Model("judge", lambda _: said)
    job = job_of(PromptEvaluator(judge=judge), cases=3)

    first = finished(store, job)
    second = finished(store, job)

    assert judge.asked == 3
    assert not any("because" in content for (content,) in store.database.rows("SELECT content FROM replies"))
    ((model, count, size, _),) = store.replies_by_model()
    assert (model, count, size) == ("judge", 3, 3 * len(said))
    evaluations = [[one.judgments[0].evaluation for one in store.results(run)] for run in (first, second)]
    assert [one.attempts[0].raw for one in evaluations[1]] == [said] * 3  # a record stands alone
    assert [one.score for one in evaluations[0]] == [one.score for one in evaluations[1]]


def test_with_a_run_its_replies_are_gone_from_the_cache(store: Store) -> None:
    judge = Model("judge", lambda _: '{"score": 0.5}')
    job = job_of(PromptEvaluator(judge=judge), cases=2)
    first, second = finished(store, job), finished(store, job)
    assert len(list(store.reply_keys())) == 2

    store.runs.delete(second)
    kept = list(store.reply_keys())
    store.runs.delete(first)

    assert len(kept) == 2
    assert list(store.reply_keys()) == []
    finished(store, job)
    assert judge.asked == 4


def test_replies_of_older_versions_are_still_found_and_stay(store: Store, made: Any) -> None:
    run = made.run(store)
    store.commit(Batch(replies=[reply_row("old", "m", {"text": "said", "usage": None})]))
    store.database.execute("UPDATE replies SET checksum = NULL")
    store.runs.delete(store.runs.mark(run, RunStatus.FINISHED))

    assert store.reply("old") == {"text": "said", "usage": None}


@pytest.mark.parametrize("said", ["a\ud800b", "\0", "{1}", "ä€😀", ""])
def test_a_reply_comes_back_from_the_cache_in_the_letters_that_can_be_kept(store: Store, said: str) -> None:
    target = Model("target", lambda _: said)
    job = job_of(Contains(value="y"), target=target)

    runs = [finished(store, job) for _ in range(2)]

    assert target.asked == 1
    texts = [next(iter(store.results(run))).answers[0].text for run in runs]
    assert texts == [said.replace("\ud800", "?")] * 2


# What is too long


def test_of_a_reply_beyond_all_measure_the_beginning_is_kept_with_a_mark(store: Store) -> None:
    judge = Model("judge", lambda _: "x" * LONG)
    run = finished(store, job_of(PromptEvaluator(judge=judge, max_attempts=3)))

    (result,) = store.results(run)

    evaluation = result.judgments[0].evaluation
    assert judge.asked == 3
    assert evaluation.error is not None
    assert evaluation.error.startswith("too_long: ")
    for attempt in evaluation.attempts:
        assert attempt.raw == "x" * MAX_RAW + "… [2,097,152 more characters were not kept]"
        assert attempt.dropped == LONG - MAX_RAW
    assert characters(store) < 3 * MAX_RAW + 10_000
    assert list(store.reply_keys()) == []
    (line,) = list(export_lines(store, run))[1:]
    assert json.loads(line)["evaluations"][0]["attempts"][0]["dropped"] == LONG - MAX_RAW


def test_an_answer_that_failed_is_kept_up_to_the_same_length() -> None:
    attempt = Attempt(kind="reply", raw="x" * LONG, error="truncated: x")

    *_, content = answer_row(1, 0, MadeAnswer(text=None, error="truncated: x", attempts=(attempt,)))

    (kept,) = answer_fields(content)["attempts"]
    assert (kept["dropped"], len(kept["raw"])) == (
        LONG - MAX_RAW,
        MAX_RAW + len("… [2,097,152 more characters were not kept]"),
    )


def test_what_was_shortened_is_not_shortened_again() -> None:
    attempt = Attempt(kind="reply", raw="x" * LONG).shortened()

    assert attempt.shortened() is attempt
    assert Attempt(kind="reply", raw=attempt.raw, dropped=attempt.dropped).as_dict()["raw"] == attempt.raw
    assert "dropped" not in Attempt(kind="reply", raw="x" * MAX_RAW).as_dict()


def test_a_file_with_an_answer_of_15_million_characters_is_no_larger_than_that(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    store = open_store(str(path))
    finished(store, job_of(Contains(value="y"), target=Model("target", lambda _: "x" * 15_000_000)))
    store.close()

    assert path.stat().st_size < 16_000_000


def test_the_keys_of_a_run_are_read_page_by_page(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "_PAGE", 2)
    runs = [
        finished(store, job_of(PromptEvaluator(judge=Model(name, lambda _: '{"score": 1}')), cases=5))
        for name in ("one", "other")
    ]

    of_runs = [list(store.replies.keys(run)) for run in runs]

    assert [len(keys) for keys in of_runs] == [5, 5]
    assert sorted(of_runs[0] + of_runs[1]) == list(store.replies.keys())
