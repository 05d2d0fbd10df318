"""Profiles scored and ranked by a model: JSON asked for, checked, asked for again, all on record (SPEC-K1, K2).

Each promise is kept twice: by the library, and by the command line that users have.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evenhand import Scripted, evaluate_profiles
from evenhand.cli.main import app

CRITERIA = "Experience on a ward"
STRONG = '{"score": 7, "justification": "Strong experience..."}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a user has in the end, whichever way it was got, and what the model was asked on the way."""

    profiles: dict[str, dict[str, Any]]
    total_retries: int
    failures_by_profile: dict[str, int]
    invalid_samples: list[str]
    asked: list[str]


@contextlib.contextmanager
def serving(replies: list[str] | Callable[[str], str]) -> Iterator[tuple[str, list[str]]]:
    """Let a server on this machine give the replies, and tell where it is and what it was asked."""
    left, asked = iter(replies if isinstance(replies, list) else ()), list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
            asked.append("\n".join(one["content"] for one in messages))
            choice = {
                "message": {"role": "assistant", "content": replies(asked[-1]) if callable(replies) else next(left)},
                "finish_reason": "stop",
            }
            body = json.dumps({"choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# Scores texts, named by their letters, with the replies that a model gives one after the other.
Way = Callable[..., Outcome]


def by_library(replies: list[str], texts: dict[str, str], max_attempts: int) -> Outcome:
    judge = Scripted(replies)
    found = evaluate_profiles(
        [{"id": name, "text": text} for name, text in texts.items()],
        mode="scoring",
        criteria=CRITERIA,
        judge=judge,
        max_attempts=max_attempts,
        store=None,
        concurrency=1,
    )
    return Outcome(
        profiles={one.id: one.as_dict() for one in found},
        total_retries=found.total_retries,
        failures_by_profile=dict(found.failures_by_profile),
        invalid_samples=[one.reply for one in found.invalid_samples],
        asked=["\n".join(message.content for message in ask.messages) for ask in judge.asked],
    )


def by_command(replies: list[str], texts: dict[str, str], max_attempts: int) -> Outcome:
    Path("people.jsonl").write_text("\n".join(json.dumps({"id": name, "text": text}) for name, text in texts.items()))
    with serving(replies) as (url, asked):
        done = CliRunner().invoke(
            app,
            [
                "score", "people.jsonl", "--criteria", CRITERIA, "--judge", "openai/gpt-5-mini", "-j", "1",
                "--max-attempts", str(max_attempts), "-o", "scores.json", "-q",
            ],
            prog_name="evenhand",
            env={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"},
        )  # fmt: skip
    assert done.exit_code in {0, 101}, done.stderr
    written = json.loads(Path("scores.json").read_text())
    scoring = written["scoring"]
    return Outcome(
        profiles={one["id"]: one for one in written["profiles"]},
        total_retries=scoring["total_retries"],
        failures_by_profile=scoring["failures_by_profile"],
        invalid_samples=[one["reply"] for one in scoring["invalid_samples"]],
        asked=asked,
    )


@pytest.fixture(params=[by_library, by_command], ids=["library", "command"])
def evaluated(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Way:
    """Score the texts a, b, c …, one for each that is given, with the replies that a model gives."""
    monkeypatch.chdir(tmp_path)

    def run(*replies: str, texts: tuple[str, ...] = ("Ten years a nurse.",), max_attempts: int = 3) -> Outcome:
        outcome: Outcome = request.param(list(replies), dict(zip("abc", texts, strict=False)), max_attempts)
        return outcome

    return run


class TestJsonOutputPrompting:
    """The model is prompted to return JSON-only output."""

    def test_the_prompt_instructs_to_respond_with_json_containing_score_and_justification(self, evaluated: Way) -> None:
        (asked,) = evaluated(STRONG).asked

        assert "Reply with a single JSON object and nothing else" in asked
        assert '- "score": a number from 0 to 10' in asked
        assert '- "justification": a string' in asked
        assert "Ten years a nurse." in asked
        assert CRITERIA in asked


class TestOutputSchemaValidation:
    """All outputs are validated against a defined schema."""

    def test_a_valid_output_is_accepted_and_recorded(self, evaluated: Way) -> None:
        found = evaluated(STRONG)

        assert (found.profiles["a"]["score"], found.profiles["a"]["justification"]) == (7, "Strong experience...")
        assert (found.profiles["a"]["status"], found.total_retries) == ("scored", 0)

    @pytest.mark.parametrize(
        "reply", ['{"score": 7, "justific', "Seven out of ten.", '{"score": 7}', '{"justification": "Strong."}', "{}"]
    )
    def test_malformed_json_or_missing_fields_trigger_a_retry(self, evaluated: Way, reply: str) -> None:
        found = evaluated(reply, STRONG)

        assert (len(found.asked), found.total_retries, found.profiles["a"]["score"]) == (2, 1, 7)


class TestScoreRangeValidation:
    """The score is a numeric value in the range 0-10."""

    @pytest.mark.parametrize("score", [7.5, 0, 10])
    def test_a_score_in_the_range_is_accepted(self, evaluated: Way, score: float) -> None:
        found = evaluated(json.dumps({"score": score, "justification": "Fair."}))

        assert (found.profiles["a"]["score"], found.total_retries) == (score, 0)

    @pytest.mark.parametrize("score", [15, -2])
    def test_a_score_out_of_range_is_rejected_and_a_retry_triggered(self, evaluated: Way, score: float) -> None:
        found = evaluated(json.dumps({"score": score, "justification": "Well."}), STRONG)

        assert (found.profiles["a"]["score"], found.total_retries) == (7, 1)
        assert f"score must be a number from 0 to 10, not {score}" in found.asked[1]


class TestAutomaticRetry:
    """Invalid outputs are retried up to a configurable limit."""

    def test_after_an_invalid_first_attempt_the_valid_second_is_used_and_the_count_recorded(
        self, evaluated: Way
    ) -> None:
        found = evaluated("not JSON", STRONG)

        assert (found.profiles["a"]["score"], found.profiles["a"]["retry_count"]) == (7, 1)
        assert (found.profiles["a"]["failures"], found.failures_by_profile) == (0, {})

    @pytest.mark.parametrize("limit", [1, 2, 4])
    def test_when_all_attempts_fail_the_profile_is_marked_as_failed_in_the_outputs(
        self, evaluated: Way, limit: int
    ) -> None:
        found = evaluated(*["not JSON"] * limit, STRONG, texts=("A nurse.", "A baker."), max_attempts=limit)

        assert (found.profiles["a"]["status"], found.profiles["a"]["score"]) == ("error", None)
        assert found.profiles["a"]["error"] == "unparsable: the reply has no complete JSON object"
        assert found.profiles["b"]["score"] == 7
        assert len(found.asked) == limit + 1


class TestRetryTracking:
    """Retry counts and invalid outputs are recorded."""

    def test_total_retries_failures_per_profile_and_invalid_samples_are_available(self, evaluated: Way) -> None:
        invalid = ["not JSON", '{"score": 15, "justification": "!"}', '{"score": 7}']

        found = evaluated(invalid[0], STRONG, invalid[1], invalid[2], texts=("A nurse.", "A baker."), max_attempts=2)

        assert found.total_retries == 2
        assert found.failures_by_profile == {"b": 1}
        assert found.invalid_samples == invalid


class TestEvaluationModes:
    """Scoring mode: each profile alone."""

    def test_each_profile_is_evaluated_independently_and_assigned_a_score(self, evaluated: Way) -> None:
        replies = [json.dumps({"score": score, "justification": "Fair."}) for score in (8, 2, 5)]

        found = evaluated(*replies, texts=("First person.", "Second person.", "Third person."))

        assert {name: one["score"] for name, one in found.profiles.items()} == {"a": 8, "b": 2, "c": 5}
        assert ["First" in asked for asked in found.asked] == [True, False, False]
        assert ["Third" in asked for asked in found.asked] == [False, False, True]


class TestRankingMode:
    """Profiles are presented in groups, and the model ranks them."""

    TEXTS = ("A year on a ward.", "Ten years on a ward.", "Never on a ward.")

    @staticmethod
    def ranks(text: str) -> str:
        """Rank by what the texts say, whatever letters they have."""
        worth = {"Ten years": 2, "A year": 1, "Never": 0}
        shown = re.findall(r'<profile_([A-Z]) id="\w+">\n(Ten years|A year|Never)', text)
        order = [letter for letter, said in sorted(shown, key=lambda one: -worth[one[1]])]
        return json.dumps({"reasoning": "Years.", "order": order})

    def test_by_the_library(self) -> None:
        asked = list[str]()

        def judge(messages: Any) -> str:
            asked.append(messages[-1]["content"])
            return self.ranks(asked[-1])

        people = [{"id": name, "text": text} for name, text in zip("abc", self.TEXTS, strict=True)]
        found = evaluate_profiles(people, mode="ranking", criteria=CRITERIA, judge=judge, rounds=2, store=None)

        assert found.order == ("b", "a", "c")
        assert all(all(text in one for text in self.TEXTS) for one in asked)

    def test_by_the_command_line(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        people = [{"id": name, "text": text} for name, text in zip("abc", self.TEXTS, strict=True)]
        Path("people.jsonl").write_text("\n".join(map(json.dumps, people)))
        with serving(self.ranks) as (url, asked):
            done = CliRunner().invoke(
                app,
                [
                    "rank", "people.jsonl", "--criteria", CRITERIA, "--judge", "openai/gpt-5-mini", "--rounds", "2",
                    "--json",
                ],
                prog_name="evenhand",
                env={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"},
            )  # fmt: skip

        assert json.loads(done.stdout)["ranking"]["order"] == ["b", "a", "c"]
        assert len(asked) == 2
