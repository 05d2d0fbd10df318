"""A real model in this process keeps the contracts, whatever it thinks of the answers (SPEC-P8)."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evenhand import (
    Case,
    Evaluation,
    PairwiseEvaluator,
    PromptEvaluator,
    Status,
    rank,
    resolve,
)
from evenhand.cli.main import app
from evenhand.domain.ask import Ask
from evenhand.domain.contract import FieldContract, Score
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.scale import UNIT
from evenhand.models.embedded.client import EmbeddedModel

pytestmark = [pytest.mark.slow, pytest.mark.group("smollm"), pytest.mark.timeout(1200)]

PROFILES = Path(__file__).parents[3] / "examples" / "profiles"
CANBERRA = Case(
    id="canberra",
    question="What is the capital of Australia?",
    candidate_answer="It is Canberra.",
    reference_answer="The capital of Australia is Sydney.",
)
ITEMS = ("Names Canberra", "Is polite")


def scored(evaluation: Evaluation) -> Evaluation:
    """Require a score between 0 and 1, with everything that was said on record."""
    assert (evaluation.status, evaluation.error) == (Status.SCORED, None)
    assert evaluation.score is not None
    assert 0 <= evaluation.score <= 1
    assert all(attempt.usage is not None and attempt.usage.input_tokens > 0 for attempt in evaluation.attempts)
    return evaluation


def asked(judge: str | dict[str, Any], *messages: str, **options: Any) -> Reply | Unanswered:
    client = resolve(judge)
    return asyncio.run(
        client.ask(Ask(messages=tuple(Message("user", one) for one in messages), judge=client, **options))
    )


@pytest.mark.long
def test_it_grades_freely_in_the_form_that_was_asked_for(smollm: str) -> None:
    evaluation = scored(PromptEvaluator(judge=smollm).evaluate(CANBERRA))

    (attempt,) = evaluation.attempts
    assert attempt.raw is not None
    assert set(json.loads(attempt.raw)) == {"reasoning", "hits", "misses", "score"}
    assert evaluation.details["judge"] == smollm


@pytest.mark.long
def test_it_checks_items_by_the_probability_of_yes_writes_nothing_and_reads_once_what_they_share(smollm: str) -> None:
    evaluation = scored(PromptEvaluator(judge=smollm, rubrics=ITEMS).evaluate(CANBERRA))

    assert "logprobs" in evaluation.flags
    assert [check.id for check in evaluation.checks] == ["rubric-1", "rubric-2"]
    assert all(check.probability is not None and 0 < check.probability < 1 for check in evaluation.checks)
    first, second = (attempt.usage for attempt in evaluation.attempts)
    assert first is not None
    assert second is not None
    assert (first.output_tokens, second.output_tokens) == (1, 1)
    assert second.cached_tokens > 100
    assert second.input_tokens - second.cached_tokens <= 40


@pytest.mark.long
def test_a_check_does_not_depend_on_what_was_asked_before(smollm: str) -> None:
    def probabilities(case: Case, *items: str) -> list[float | None]:
        evaluation = scored(PromptEvaluator(judge=smollm, rubrics=items).evaluate(case))
        return [check.probability for check in evaluation.checks]

    other = replace(CANBERRA, id="sydney", candidate_answer="Sydney, and of that I am as certain as anybody can be.")
    first = probabilities(CANBERRA, *ITEMS)
    again = probabilities(CANBERRA, ITEMS[1])  # which was asked last
    probabilities(other, ITEMS[0])
    backwards = probabilities(CANBERRA, *ITEMS[::-1])

    assert again == first[1:]
    assert backwards == first[::-1]


@pytest.mark.long
def test_it_checks_items_in_words_when_told_to(smollm: str) -> None:
    evaluation = scored(PromptEvaluator(judge=smollm, rubrics=ITEMS[:1], score_from="text").evaluate(CANBERRA))

    assert [check.id for check in evaluation.checks] == ["rubric-1"]
    assert evaluation.flags == ()


@pytest.mark.long
def test_a_score_can_be_read_from_the_first_token(smollm: str) -> None:
    evaluation = scored(PromptEvaluator(judge=smollm, score_from="logprobs", scale="1-5").evaluate(CANBERRA))

    assert evaluation.details["probability_mass"] > 0


@pytest.mark.long
def test_it_compares_in_both_orders(smollm: str) -> None:
    evaluation = scored(PairwiseEvaluator(judge=smollm).evaluate(CANBERRA))

    first, second = evaluation.details["orders"]
    assert (first["candidate"], second["candidate"]) == ("A", "B")
    assert evaluation.details["outcome"] in {"win", "tie", "loss"}


def test_a_schema_binds_what_it_writes(smollm: str) -> None:
    contract = FieldContract(name="bare", fields=(Score(scale=UNIT),))

    reply = asked(smollm, "Say something, in French.", contract=contract)

    assert isinstance(reply, Reply)
    assert reply.finish == "stop"
    contract.accept(json.loads(reply.text))


@pytest.mark.long
def test_without_a_schema_it_writes_what_it_likes_and_that_is_an_error_with_a_record(smollm: str) -> None:
    judge = {"model": smollm, "structured": "none", "max_tokens": 8}

    evaluation = PromptEvaluator(judge=judge, max_attempts=2).evaluate(CANBERRA)

    assert (evaluation.status, evaluation.score) == (Status.ERROR, 0.0)
    assert len(evaluation.attempts) == 2
    assert all(attempt.raw and attempt.error for attempt in evaluation.attempts)


@pytest.mark.long
def test_the_same_question_gets_the_same_reply(smollm: str) -> None:
    replies = [asked(smollm, "Name a river.", max_tokens=8) for _ in range(2)]

    first, second = replies
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert first.text == second.text


def test_a_prompt_longer_than_the_context_is_refused_with_both_numbers(smollm: str) -> None:
    answer = asked({"model": smollm, "context": 256}, "word " * 400)

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("too_long: the prompt has 4")
    assert "context of 256" in answer.error


def test_a_file_that_only_begins_like_a_model_is_an_error_of_the_evaluation(smollm: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 1000)

    answer = asked(f"embedded/{broken}", "Hello")

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("not_found: llama.cpp cannot load")


def test_the_event_loop_goes_on_while_it_thinks(smollm: str) -> None:
    async def both() -> int:
        client = resolve(smollm)
        question = Ask(messages=(Message("user", "Count to a hundred. " * 5),), judge=client, max_tokens=8)
        asking = asyncio.create_task(client.ask(question))
        turns = 0
        while not asking.done():
            await asyncio.sleep(0.001)
            turns += 1
        return turns

    assert asyncio.run(both()) > 5


@pytest.mark.long
def test_it_stops_waiting_in_time_and_answers_the_next_question(smollm: str) -> None:
    late = asked({"model": smollm, "timeout": 0.01}, "Write a long story. " * 10, max_tokens=10)
    reply = asked(smollm, "Name a river.", max_tokens=4)

    assert isinstance(late, Unanswered)
    assert late.error.startswith("timeout:")
    assert isinstance(reply, Reply)


def test_all_who_name_a_file_share_one_model(smollm: str) -> None:
    first, second = resolve(smollm), resolve({"model": smollm, "max_tokens": 5})
    assert isinstance(asked(smollm, "Hi", max_tokens=1), Reply)
    threads = threading.active_count()

    for client in (first, second):
        assert isinstance(
            asyncio.run(client.ask(Ask(messages=(Message("user", "Hi"),), judge=client, max_tokens=1))), Reply
        )

    assert isinstance(first, EmbeddedModel)
    assert isinstance(second, EmbeddedModel)
    assert first.account == second.account
    assert threading.active_count() <= threads  # an earlier test's may have ended meanwhile


def test_nobody_else_on_this_machine_can_use_it(smollm: str) -> None:
    """The library serves on a loopback port; without our key it answers nobody."""
    assert isinstance(asked(smollm, "Hi", max_tokens=1), Reply)

    answers = [unlocked(port) for port in listening_ports()]

    # The others are servers of other tests in this process.
    assert {status for server, status in answers if server == "llama.cpp"} == {401}


def unlocked(port: int) -> tuple[str | None, int]:
    """Ask a server without a key; return what it calls itself, and the status of its answer, 0 for none."""
    body = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", data=body)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.headers["Server"], answer.status
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.headers["Server"], refused.code
    except (OSError, http.client.HTTPException):
        return None, 0


def listening_ports() -> list[int]:
    """Find the ports on which this process listens."""
    sockets = set()
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the one that lists them is closed again
            sockets.add(str(link.readlink()))
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


@pytest.mark.long
def test_the_examples_profiles_are_ranked_in_pairs_by_it(smollm: str, tmp_path: Path) -> None:
    texts = sorted((PROFILES / "texts").iterdir())
    for text in texts[:4]:
        shutil.copy(text, tmp_path)

    ranked = rank(tmp_path, criteria="Has led children", judge=smollm, group_size=2, rounds=2, store=None)

    assert sorted(one.id for one in ranked) == [text.name for text in texts[:4]]
    assert {one.groups for one in ranked} == {2}
    assert ranked.ranks.failed == 0
    assert all(len(text.read_text().split()) < 40 for text in texts)


def write_suite(folder: Path, judge: str) -> Path:
    suite = folder / "suite.yaml"
    suite.write_text(
        f"judge: {judge}\ncases:\n  - id: one\n    question: Capital of Australia?\n    candidate_answer: Canberra\n"
        "    rubrics: [Names Canberra]\n"
    )
    return suite


@pytest.mark.long
def test_a_command_judges_with_it_and_finds_the_reply_in_the_cache_the_next_time(smollm: str, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, smollm)
    command = ["run", str(suite), "--json", "--db", str(tmp_path / "runs.db")]

    first, second = (json.loads(CliRunner().invoke(app, command).stdout)["summary"] for _ in range(2))

    assert first["judges"] == [smollm]
    assert (first["scored"], first["calls"], first["cached"], first["cost"]) == (1, 1, 0, 0.0)
    assert (second["scored"], second["calls"], second["cached"]) == (1, 0, 1)
    assert first["mean"] == second["mean"]


@pytest.mark.long
def test_a_process_that_judged_with_it_ends_without_a_word(smollm: str, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, smollm)
    command = [sys.executable, "-m", "evenhand", "run", str(suite), "--json", "--db", str(tmp_path / "runs.db")]

    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert json.loads(done.stdout)["summary"]["scored"] == 1
