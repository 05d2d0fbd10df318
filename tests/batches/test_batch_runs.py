"""Runs in batches: half the price, nothing asked twice, and everything that goes wrong on the way is made up for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evenhand.cli.main import app
from evenhand.cli.options import RunOptions
from evenhand.cli.runs.start import require_one_process
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Usage
from evenhand.engine import batch_queue
from evenhand.models.batches.openai import OpenAIBatches
from evenhand.models.batches.server import BatchLimits
from evenhand.models.prices import PRICES, batch_price, cost
from evenhand.store.store import open_store

KINDS = ("openai", "anthropic", "gemini")


def command(*argv: str) -> Any:
    before = dict(os.environ)
    try:
        return CliRunner().invoke(app, argv, prog_name="evenhand")
    finally:
        os.environ.clear()
        os.environ.update(before)


def bill(provider: Any, model: str) -> float:
    """What the provider asks for, at half price."""
    usage = Usage(input_tokens=provider.input_tokens, output_tokens=provider.output_tokens)
    return cost(usage, batch_price(model, PRICES[model]))


def stored() -> tuple[Any, list[Any]]:
    store = open_store()
    (run,) = store.runs.newest(1)
    results = list(store.results(run))
    left = store.provider_batches.items(run), store.provider_batches.of(run, pending=True)
    store.close()
    assert left == ({}, [])
    return run, results


@pytest.mark.parametrize("kind", KINDS)
def test_a_suite_is_judged_in_one_batch_at_half_the_price(kind: str, provider: Any, suite: Callable[..., Path]) -> None:
    suite(kind, cases=4)
    estimate = json.loads(command("run", "suite.yaml", "--batch", "--estimate", "--json").stdout)

    done = command("run", "suite.yaml", "--batch", "--json", "--max-cost", "1")

    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)["summary"]
    model = estimate["models"][0]["model"]
    assert (len(provider.batches), len(provider.asked), provider.single) == (1, 4, [])
    assert set(provider.asked.values()) == {1}
    assert summary["cost"] == pytest.approx(bill(provider, model))
    assert estimate["cost"]["low"] == pytest.approx(bill(provider, model))
    assert estimate["batch"]["saving"]["low"] == pytest.approx(bill(provider, model))  # the other half
    run, results = stored()
    assert run.options["batch"] is True
    assert [attempt.batch for result in results for attempt in result.judgments[0].evaluation.attempts] == [True] * 4


FAULTS = {
    "a creation whose response is lost": {"lost_creations": 1},
    "a creation that is lost, and listed later": {"lost_creations": 1, "hidden_in_lists": 2, "limited_polls": 3},
    "results in another order, twice, and of nobody": {"strange": True, "shuffled": True},
    "results that are missing": {"missing": frozenset({1, 2})},
    "requests that expired": {"expired": frozenset({0})},
    "requests that failed at the server": {"errors": frozenset({3})},
    "polls that are limited": {"limited_polls": 7},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_whatever_goes_wrong_all_is_scored_and_nothing_answered_twice(
    faults: dict[str, Any], kind: str, provider: Any, suite: Callable[..., Path]
) -> None:
    provider.faults = replace(provider.faults, **faults)
    suite(kind, cases=4)

    done = command("run", "suite.yaml", "--batch", "--json")

    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["scored"] == 4
    assert (len(provider.asked), set(provider.asked.values())) == (4, {1})
    stored()


def test_a_batch_keeps_within_the_limits_of_its_provider(
    provider: Any, suite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite("openai", cases=5)
    monkeypatch.setattr(OpenAIBatches, "limits", BatchLimits(2, 100_000_000))
    by_number = command("run", "suite.yaml", "--batch", "--no-cache", "--json")
    monkeypatch.setattr(OpenAIBatches, "limits", BatchLimits(50_000, 10_000))
    by_size = command("run", "suite.yaml", "--batch", "--no-cache", "--json")

    assert (by_number.exit_code, by_size.exit_code) == (0, 0)
    assert sorted(len(batch.requests) for batch in provider.batches[:3]) == [1, 2, 2]
    assert sum(len(batch.requests) for batch in provider.batches[3:]) == 5
    assert all(len(content) <= 10_100 for content in list(provider.files.values())[3:])


def test_what_would_be_a_large_batch_becomes_several_that_are_submitted_one_after_the_other(
    provider: Any, suite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite("openai", cases=5)
    monkeypatch.setattr(batch_queue, "_MOST_BYTES", 1)

    done = command("run", "suite.yaml", "--batch", "--json")

    assert done.exit_code == 0, done.stderr
    assert [len(batch.requests) for batch in provider.batches] == [1] * 5
    submitted = [asked for asked in provider.requests if asked in ("POST /v1/files", "POST /v1/batches")]
    assert submitted == ["POST /v1/files", "POST /v1/batches"] * 5
    assert set(provider.asked.values()) == {1}
    stored()


def test_answers_of_a_target_come_from_batches_too_and_programs_run_beside(
    provider: Any, suite: Callable[..., Path]
) -> None:
    path = suite("openai", cases=3, target="openai/gpt-4o-mini")
    written = json.loads(path.read_text())
    written["target"] = written["judge"]
    written["evaluators"] += [
        {"name": "swift", "type": "contains", "value": "score"},
        {"name": "again", "type": "llm_judge"},
    ]
    for case in written["cases"]:
        del case["candidate_answer"]
    path.write_text(json.dumps(written))

    done = command("run", "suite.yaml", "--batch", "--json")

    assert done.exit_code == 0, done.stderr + done.stdout
    assert [len(batch.requests) for batch in provider.batches] == [3, 6]
    stored()


def test_an_invalid_reply_is_asked_for_again_in_the_next_batch(provider: Any, suite: Callable[..., Path]) -> None:
    provider.faults.invalid = frozenset({1})
    suite("openai", cases=3)

    done = command("run", "suite.yaml", "--batch", "--json")

    assert done.exit_code == 0, done.stderr
    assert [len(batch.requests) for batch in provider.batches] == [3, 1]
    _, results = stored()
    assert [len(result.judgments[0].evaluation.attempts) for result in results] == [1, 2, 1]


def test_what_the_provider_refuses_is_an_error_of_its_case_alone(provider: Any, suite: Callable[..., Path]) -> None:
    provider.faults.refused = frozenset({2})
    suite("anthropic", cases=3)

    done = command("run", "suite.yaml", "--batch", "--json")

    summary = json.loads(done.stdout)["summary"]
    assert (done.exit_code, summary["scored"], summary["errors"]) == (101, 2, 1)
    assert len(provider.batches) == 1


def test_a_batch_that_is_not_taken_stops_the_run_and_is_submitted_by_the_next(
    provider: Any, suite: Callable[..., Path]
) -> None:
    provider.faults.refused_creations = 1
    suite("openai")

    refused = command("run", "suite.yaml", "--batch")
    resumed = command("resume", "last", "--json")

    assert refused.exit_code == 2
    assert "the batch is not wanted" in refused.stderr + refused.stdout
    assert resumed.exit_code == 0, resumed.stderr
    assert set(provider.asked.values()) == {1}


def test_a_batch_that_fails_as_a_whole_is_told_and_asked_again_when_resumed(
    provider: Any, suite: Callable[..., Path]
) -> None:
    provider.faults.failed = True
    suite("openai")

    failed = command("run", "suite.yaml", "--batch")
    provider.faults.failed = False
    resumed = command("resume", "last", "--json")

    assert (failed.exit_code, resumed.exit_code) == (2, 0)
    assert "Enqueued token limit reached" in failed.stderr + failed.stdout
    assert len(provider.batches) == 2


def limit_replies(path: Path, tokens: int) -> None:
    written = json.loads(path.read_text())
    written["judge"]["max_tokens"] = tokens
    path.write_text(json.dumps(written))


def test_the_first_batch_costs_no_more_than_allowed_however_long_its_replies_are(
    provider: Any, suite: Callable[..., Path]
) -> None:
    path = suite("openai", cases=30)
    whole = json.loads(command("run", "suite.yaml", "--batch", "--estimate", "--json").stdout)["cost"]["low"]

    unlimited = command("run", "suite.yaml", "--batch", "--json", "--no-cache", "--max-cost", str(3 * whole))
    limit_replies(path, 400)
    limited = command("run", "suite.yaml", "--batch", "--json", "--no-cache", "--max-cost", str(3 * whole))

    assert (unlimited.exit_code, limited.exit_code) == (0, 0), unlimited.stderr + limited.stderr
    first, *later, once = [len(batch.requests) for batch in provider.batches]
    assert (first + sum(later), once) == (30, 30)
    longest = bill(provider, "openai/gpt-4o-mini") / 60 / 200 * 4096  # had all tokens been those of the reply
    assert 5 <= first < 30
    assert first * longest * 0.2 < 3 * whole < (first + 1) * longest


def test_no_more_is_submitted_than_the_budget_allows(provider: Any, suite: Callable[..., Path]) -> None:
    limit_replies(suite("openai", cases=4), 200)
    whole = json.loads(command("run", "suite.yaml", "--batch", "--estimate", "--json").stdout)["cost"]["low"]

    done = command("run", "suite.yaml", "--batch", "--json", "--max-cost", str(whole * 0.6))
    calls = command("resume", "last", "--json", "--max-calls", "1")
    rest = command("resume", "last", "--json")

    assert (done.exit_code, calls.exit_code, rest.exit_code) == (102, 102, 0)
    assert [len(batch.requests) for batch in provider.batches] == [2, 1, 1]
    assert set(provider.asked.values()) == {1}


def test_of_a_run_that_is_resumed_without_batches_the_report_says_how_many_calls_were_at_their_price(
    provider: Any, suite: Callable[..., Path]
) -> None:
    suite("openai", cases=4)

    first = command("run", "suite.yaml", "--batch", "--max-calls", "1")
    rest = command("resume", "last", "--no-batch")

    assert "at the batch price" in first.stdout
    assert (len(provider.batches), len(provider.single)) == (1, 3)
    assert ", 1 call at the batch price" in " ".join(rest.stdout.split())


@pytest.mark.parametrize(
    ("more", "options", "told"),
    [
        (
            {"judge": {"model": "ollama/qwen", "base_url": "http://127.0.0.1:9"}},
            (),
            "ollama/qwen cannot be asked in batches",
        ),
        ({"target": "groq/llama-3.1-8b-instant"}, (), "groq/llama-3.1-8b-instant cannot be asked in batches"),
        ({"gates": {"min_pass_rate": 0.5}}, ("--until-decided",), "until_decided"),
    ],
)
def test_what_cannot_be_batched_is_refused_by_name(
    more: Any, options: tuple[str, ...], told: str, provider: Any, suite: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("GROQ_API_KEY", "k-groq-0123456789")
    path = suite("openai", cases=40, **more)
    if "target" in more:
        written = json.loads(path.read_text())
        for case in written["cases"]:
            del case["candidate_answer"]
        path.write_text(json.dumps(written))

    done = command("run", "suite.yaml", "--batch", *options)

    assert done.exit_code == 2
    assert told in done.stderr
    assert provider.requests == []


def test_a_run_on_ray_is_not_asked_in_batches() -> None:
    with pytest.raises(ConfigError, match="--batch and --on ray cannot be combined"):
        require_one_process(RunOptions(on="ray"))
