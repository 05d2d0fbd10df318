"""`evenhand run`."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Many, and together they take a while.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

BAD = {"score": 0.1, "misses": ["wrong"], "reasoning": "Wrong."}


def runs_in(folder: Path) -> int:
    with sqlite3.connect(folder / ".evenhand" / "evenhand.db") as database:
        return int(database.execute("SELECT COUNT(*) FROM runs").fetchone()[0])


# What it shows


def test_a_suite_is_judged_and_reported(command: Callable[..., Any], suite: Callable[..., Path], provider: Any) -> None:
    suite(3, judge=provider)

    done = command("run", "suite.yaml")

    assert done.code == 0
    assert done.out.startswith("suite: 3 cases, finished\n")
    assert "mean 0.90" in done.out
    assert "evenhand report 2" in done.out
    assert done.err.startswith("run 2")
    assert done.err.endswith(": 3 evaluations\n")
    assert len(provider.asked) == 3


def test_json_is_one_object_and_nothing_else(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(2, judge=provider, gates={"min_mean": 0.5})

    done = command("run", "suite.yaml", "--json")

    assert done.json.keys() == {"schema_version", "run", "summary", "gates"}
    assert done.json["run"]["status"] == "finished"
    assert (done.json["summary"]["n"], done.json["summary"]["mean"]) == (2, 0.9)
    assert done.out.count("\n") == 1


def test_quiet_means_the_id_of_the_run_and_errors_only(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    suite(2)

    good, bad = command("run", "suite.yaml", "--quiet"), command("run", "nowhere.yaml", "--quiet")

    shown = command("report", good.out.strip(), "--json")
    assert (good.code, good.err) == (0, "")
    assert shown.json["run"]["id"] == good.out.strip()
    assert (bad.code, bad.out, bad.err) == (2, "", "evenhand: nowhere.yaml: there is no such file\n")


def test_reports_are_written_by_the_ending_of_their_names(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path]
) -> None:
    suite(2)
    names = [f"out/report.{ending}" for ending in ("jsonl", "json", "csv", "md", "xml", "html")]

    done = command("run", "suite.yaml", *(part for name in names for part in ("-o", name)))

    assert done.code == 0
    assert [name for name in names if f"wrote {name}\n" not in done.err] == []
    assert len((folder / "out/report.jsonl").read_text().splitlines()) == 2
    assert json.loads((folder / "out/report.json").read_text())["summary"]["n"] == 2


def test_deprecations_and_kin_are_pointed_out_before_anything_is_asked(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    model = {"model": "openai/gpt-4o", "base_url": provider.url, "api_key": "${JUDGE_KEY}"}
    suite(1, judge=provider, target=model, evaluators=[{"type": "rubric", "rubrics": ["short"]}])

    done = command("run", "suite.yaml", "--estimate")

    assert "note: " in done.err
    assert "'rubric' is an old name; write 'llm_judge'" in done.err
    assert "judge openai/gpt-4o-mini and target openai/gpt-4o are of the same family" in done.err
    assert provider.asked == []


# How it ends


def test_a_gate_that_fails_is_100(command: Callable[..., Any], suite: Callable[..., Path], serve: Any) -> None:
    suite(2, judge=serve(lambda _: {"says": BAD}), gates={"min_mean": 0.5})

    done = command("run", "suite.yaml")

    assert done.code == 100
    assert "min_mean: wanted at least 0.5, found 0.1" in done.out


def test_a_judge_that_fails_on_a_case_is_101(
    command: Callable[..., Any], suite: Callable[..., Path], serve: Any
) -> None:
    suite(2, judge=serve(lambda text: {"says": "no JSON"} if "Question 1?" in text else {}))

    done = command("run", "suite.yaml")

    assert done.code == 101
    assert "1 judge error" in done.out


def test_bad_answers_alone_are_no_failure(command: Callable[..., Any], suite: Callable[..., Path], serve: Any) -> None:
    suite(2, judge=serve(lambda _: {"says": BAD}))

    assert command("run", "suite.yaml").code == 0


def test_a_budget_that_is_reached_is_102_and_the_rest_can_be_resumed(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(9, judge=provider)

    done = command("run", "suite.yaml", "--max-calls", "4")
    resumed = command("resume", "--json")

    assert (done.code, len(provider.asked)) == (102, 9)
    assert (
        "evenhand: the run stopped: budget: max_calls: 4 calls were allowed; resume with: evenhand resume 2" in done.err
    )
    assert (resumed.code, resumed.json["summary"]["scored"]) == (0, 9)


def test_a_budget_in_dollars_is_kept(command: Callable[..., Any], suite: Callable[..., Path], provider: Any) -> None:
    suite(20, judge=provider)  # a call costs 0.00021 dollars

    done = command("run", "suite.yaml", "--max-cost", "0.001", "--json", "-j", "1")

    assert done.code == 102
    assert 0 < done.json["summary"]["cost"] < 0.001 + 0.00021  # what the last one costs is known afterwards


@pytest.mark.parametrize(("status", "what"), [(401, "unauthorized"), (403, "forbidden"), (404, "not_found")])
def test_a_key_that_is_refused_ends_the_run_at_once_with_one_message(
    command: Callable[..., Any], suite: Callable[..., Path], serve: Any, status: int, what: str
) -> None:
    provider = serve(lambda _: {"status": status, "says": "no such key"})
    suite(50, judge=provider)

    done = command("run", "suite.yaml", "--quiet")

    assert (done.code, done.out.count("\n")) == (2, 1)
    assert len(provider.asked) <= 5
    assert done.err.count("\n") == 1
    assert f"evenhand: the run stopped: openai/gpt-4o-mini: {what}: HTTP {status}: no such key" in done.err
    assert f"; resume with: evenhand resume {done.out.strip()}\n" in done.err


# Mistakes


@pytest.mark.parametrize("name", ["report.pdf", "report"])
def test_an_ending_that_no_report_has_is_refused_before_anything_else(
    folder: Path, command: Callable[..., Any], name: str
) -> None:
    shutil.rmtree(folder / ".evenhand")

    done = command("run", "nowhere.yaml", "-o", name)

    assert done.code == 2
    assert f"evenhand: {name}: " in done.err
    assert list(folder.iterdir()) == []


def test_a_mistake_in_a_case_leaves_no_run_behind(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    path = suite(3, judge=provider)
    path.write_text(path.read_text().replace('"expected_outcome": "Names 2"', '"expected_outcom": "Names 2"'))

    done = command("run", "suite.yaml")

    assert (done.code, done.out) == (2, "")
    assert "suite.yaml:" in done.err
    assert "case-2" in done.err
    assert "did you mean 'expected_outcome'?" in done.err
    assert provider.asked == []
    assert runs_in(folder) == 0


def test_a_missing_key_is_a_mistake_too(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(1, judge=provider)
    monkeypatch.delenv("JUDGE_KEY")

    done = command("run", "suite.yaml")

    assert done.code == 2
    assert "JUDGE_KEY, which is not set" in done.err


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--timeout", "0"], "'--timeout': 0 must be a number of seconds above 0"),
        (["--timeout", "nan"], "'--timeout': nan must be"),
        (["--max-cost", "nan"], "--max-cost"),
        (["--max-cost", "inf"], "'--max-cost': inf must be a number of dollars, 0 or more"),
        (["--limit", "0"], "--limit"),
        (["--concurrency", "many"], "--concurrency"),
        (["--only", "nothing"], "no case has the id 'nothing'"),
        (["--answers-from", "nothing"], "no run 'nothing'"),
        (["--judge", "opnai/x"], "no model provider 'opnai'; did you mean 'openai'?"),
        (["--retry-errors"], "there is no run of suite.yaml yet"),
        (["--log-file", "no/such/folder.jsonl"], "--log-file no/such/folder.jsonl: No such file or directory"),
        (["--db", "nosql://there"], "unsupported database 'nosql'"),
    ],
)
def test_an_option_that_cannot_be_right_is_refused(
    command: Callable[..., Any], suite: Callable[..., Path], argv: list[str], told: str
) -> None:
    suite(1)

    done = command("run", "suite.yaml", *argv)

    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_an_infinite_amount_is_refused_before_anything_is_stored(
    command: Callable[..., Any], suite: Callable[..., Path], tmp_path: Path
) -> None:
    suite(1)
    command("run", "suite.yaml")

    refused = [command(*argv, "--max-cost", "inf") for argv in (["run", "suite.yaml"], ["resume"])]
    estimate = command("run", "suite.yaml", "--estimate", "--max-cost", "inf")

    assert [each.code for each in (*refused, estimate)] == [2, 2, 2]
    assert runs_in(tmp_path) == 1


# What is judged


def test_only_some_cases_are_taken(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    suite(12)

    by_id = command("run", "suite.yaml", "--only", "case-1*", "--only", "case-3", "--json")
    first = command("run", "suite.yaml", "--only", "case-1*", "--limit", "2", "--json")

    assert by_id.json["run"]["cases"] == 4
    assert first.json["run"]["cases"] == 2


def test_each_case_is_judged_as_often_as_wanted(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(2, judge=provider)

    done = command("run", "suite.yaml", "--repeat", "3", "--json")

    assert len(provider.asked) == 6
    assert done.json["run"]["repeat"] == 3


def test_what_was_asked_before_is_not_asked_again_unless_wanted(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(3, judge=provider)

    command("run", "suite.yaml")
    cached = command("run", "suite.yaml", "--json")
    asked = len(provider.asked)
    command("run", "suite.yaml", "--no-cache")

    assert (asked, cached.json["summary"]["cached"]) == (3, 3)
    assert len(provider.asked) == 6


def test_the_answers_of_another_run_are_judged_without_making_them_anew(
    command: Callable[..., Any], suite: Callable[..., Path], serve: Any
) -> None:
    target, judge = serve(lambda _: {"says": "Made just now."}), serve()
    model = {"model": "openai/gpt-4o", "base_url": target.url, "api_key": "${JUDGE_KEY}"}
    case = {"id": "a", "input": "Question?", "expected_outcome": "Anything"}
    suite(judge=judge, target=model, cases=[case])
    first = command("run", "suite.yaml", "--json")
    suite(judge=judge, target=model, cases=[{**case, "expected_outcome": "Something else"}])

    second = command("run", "suite.yaml", "--json", "--answers-from", "last")

    assert second.code == 0
    assert second.json["run"]["options"]["answers_from"] == first.json["run"]["id"]
    assert len(target.asked) == 1
    assert "Made just now." in judge.asked[1]


def test_errors_are_done_again_in_the_same_run(
    command: Callable[..., Any], suite: Callable[..., Path], serve: Any
) -> None:
    broken = True
    provider = serve(lambda text: {"says": "no JSON"} if broken and "Question 1?" in text else {})
    suite(3, judge=provider)
    first = command("run", "suite.yaml", "--json")
    broken = False

    second = command("run", "suite.yaml", "--retry-errors", "--json")

    assert (first.code, second.code) == (101, 0)
    assert first.json["run"]["id"] == second.json["run"]["id"]
    assert len(provider.asked) == 2 + 3 + 1
    assert "errors are retried" in second.err


def test_doing_errors_again_takes_the_run_as_it_is(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    suite(3)
    command("run", "suite.yaml")

    done = command("run", "suite.yaml", "--retry-errors", "--limit", "1")

    assert done.code == 2
    assert "leave out --limit" in done.err


# Who judges


def test_a_judge_that_is_typed_replaces_that_of_the_suite(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(1, judge=provider)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)

    done = command("run", "suite.yaml", "--judge", "openai/other", "--json")

    assert done.json["summary"]["judges"] == ["openai/other"]
    assert done.json["run"]["definition"]["judge"]["model"] == "openai/other"


def test_a_judge_that_is_typed_is_asked_with_the_settings_of_the_suite(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    settings = {"base_url": provider.url, "api_key": "${JUDGE_KEY}", "temperature": 0.3, "seed": 7, "max_tokens": 99}
    suite(1, judge={"model": "openai/gpt-4o-mini", **settings})

    command("run", "suite.yaml", "--judge", "openai/other")

    (body,) = provider.bodies
    assert (body["model"], body["temperature"], body["seed"]) == ("other", 0.3, 7)
    assert 99 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_a_judge_of_another_provider_gets_neither_the_key_nor_the_address_of_the_suites(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = serve()
    settings = {"base_url": provider.url, "api_key": "${JUDGE_KEY}", "temperature": 0.3, "max_tokens": 99}
    suite(1, judge={"model": "openai/gpt-4o-mini", **settings})
    monkeypatch.setenv("VLLM_API_KEY", "another-key")
    monkeypatch.setenv("VLLM_BASE_URL", other.url)

    done = command("run", "suite.yaml", "--judge", "vllm/qwen")

    assert done.code == 0
    assert (provider.asked, other.keys) == ([], {"bearer another-key"})
    assert (other.bodies[0]["temperature"], other.bodies[0]["max_tokens"]) == (0.3, 99)
    assert "--judge vllm/qwen: base_url, api_key of the suite's judge are not carried over to it" in done.err


def test_a_target_that_is_typed_is_asked_as_the_suite_says(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    settings = {"base_url": provider.url, "api_key": "${JUDGE_KEY}", "temperature": 0.3, "max_tokens": 99}
    target = {"model": "openai/small", "prompt": "Briefly: {{ input }}", "system": "You are terse.", **settings}
    suite(cases=[{"id": "a", "input": "Why?"}], evaluators=[{"type": "contains", "value": "x"}], target=target)

    done = command("run", "suite.yaml", "--target", "openai/large", "--json")

    (body,) = provider.bodies
    assert [message["content"] for message in body["messages"]] == ["You are terse.", "Briefly: Why?"]
    assert (body["model"], body["temperature"]) == ("large", 0.3)
    assert done.json["run"]["definition"]["target"] == {**target, "model": "openai/large"}


def test_that_nothing_of_a_program_goes_over_to_a_model_is_said(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    target = {"command": ["python", "bot.py"], "timeout": 5}
    suite(cases=[{"id": "a", "input": "Why?"}], evaluators=[{"type": "contains", "value": "x"}], target=target)

    done = command("run", "suite.yaml", "--target", "openai/large")

    assert "--target openai/large: command, timeout of the suite's target are not carried over to it" in done.err
    assert provider.asked == ["Why?"]


def test_a_judge_of_the_environment_is_for_suites_that_name_none(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    monkeypatch.setenv("EVENHAND_JUDGE", "openai/other")
    suite(1, judge=provider)
    own = command("run", "suite.yaml", "--json")
    suite(1, evaluators=[{"type": "llm_judge"}])

    usual = command("run", "suite.yaml", "--json")
    monkeypatch.delenv("EVENHAND_JUDGE")
    again = command("resume", "--fork", "--json")

    assert own.json["summary"]["judges"] == ["openai/gpt-4o-mini"]
    assert usual.json["summary"]["judges"] == ["openai/other"]
    assert (again.code, again.json["summary"]["judges"]) == (0, ["openai/other"])


JURY: list[dict[str, Any]] = [
    {"name": "tone", "type": "llm_judge", "judge": "ollama/a"},
    {
        "name": "jury",
        "type": "composite",
        "members": [{"type": "llm_judge", "judge": "ollama/b"}, {"type": "contains"}],
    },
    {"name": "right", "type": "contains"},
]


@pytest.mark.parametrize(
    ("evaluators", "told"),
    [
        (JURY, "note: --judge has no effect: tone and jury name their own judges\n"),
        (JURY[1:], "note: --judge has no effect: jury names its own judge\n"),
        (
            [JURY[0] | {"name": name} for name in "abcdef"],
            "note: --judge has no effect: a, b, c, d, e and others name their own judges\n",
        ),
        (JURY[2:], "note: --judge has no effect: nothing in the suite asks a judge\n"),
        ([*JURY, {"name": "usual", "type": "llm_judge"}], ""),
        ([{"type": "composite", "members": [{"type": "contains"}], "aggregator": "llm_judge"}], ""),
    ],
)
def test_a_judge_that_is_typed_in_vain_is_told(
    command: Callable[..., Any], suite: Callable[..., Path], evaluators: list[Any], told: str
) -> None:
    suite(2, evaluators=evaluators)

    done = command("run", "suite.yaml", "--judge", "ollama/other", "--estimate")

    assert (done.code, done.err) == (0, told)


def test_a_judge_that_rubrics_of_a_case_ask_is_not_typed_in_vain(folder: Path, command: Callable[..., Any]) -> None:
    cases = [{"id": "a", "output": "x"}, {"id": "b", "output": "x", "rubrics": ["Is kind"]}]
    (folder / "suite.yaml").write_text(json.dumps({"evaluators": JURY[2:], "cases": cases}))

    done = command("run", "suite.yaml", "--judge", "ollama/other", "--estimate")

    assert (done.code, done.err) == (0, "")


def test_a_judge_of_the_environment_may_be_of_no_use(
    command: Callable[..., Any], suite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_JUDGE", "openai/other")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    suite(1)

    done = command("run", "suite.yaml")

    assert done.code == 0
    assert "note:" not in done.err


@pytest.mark.parametrize("how", ["--judge", "EVENHAND_JUDGE", "judge in {folder}/evenhand.toml"])
def test_a_judge_is_called_by_what_named_it(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    suite(1)
    argv = ["--judge", "opnai/x"] if how == "--judge" else []
    if how == "EVENHAND_JUDGE":
        monkeypatch.setenv(how, "opnai/x")
    elif not argv:
        (folder / "evenhand.toml").write_text('judge = "opnai/x"\n')

    done = command("run", "suite.yaml", *argv)

    assert done.code == 2
    assert done.err.startswith(f"evenhand: {how.format(folder=folder)}: no model provider 'opnai'")


def test_a_missing_key_is_told_only_where_the_judge_is_asked(
    command: Callable[..., Any], suite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    suite(1)

    in_vain = command("run", "suite.yaml", "--judge", "openai/x")

    assert in_vain.code == 0
    assert "API key" not in in_vain.err


# Before anything is spent


def test_an_estimate_asks_nobody_and_leaves_nothing_behind(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(4, judge=provider)
    shutil.rmtree(folder / ".evenhand")

    told, plain = command("run", "suite.yaml", "--estimate", "--json"), command("run", "suite.yaml", "--estimate")

    assert (told.code, told.json["cases"], told.json["calls"]) == (0, 4, {"low": 4, "high": 12})
    assert plain.out.startswith("4 cases, 4 to 12 calls to models")
    assert provider.asked == []
    assert [path.name for path in folder.iterdir()] == ["suite.yaml"]


def test_an_estimate_without_a_model_is_one_line(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    suite(3)

    done = command("run", "suite.yaml", "--estimate")

    assert (done.code, done.out) == (0, "3 cases, 0 calls to models\n")


def test_an_estimate_knows_the_cache(command: Callable[..., Any], suite: Callable[..., Path], provider: Any) -> None:
    suite(4, judge=provider)
    command("run", "suite.yaml", "--limit", "3")

    with_cache = command("run", "suite.yaml", "--estimate", "--json").json
    without = command("run", "suite.yaml", "--estimate", "--json", "--no-cache").json

    assert (with_cache["calls"]["low"], with_cache["cached"]) == (1, 3)
    assert (without["calls"]["low"], without["cached"]) == (4, 0)


def test_a_limit_in_dollars_needs_prices(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    judge = {"model": "openai/home-made", "base_url": provider.url, "api_key": "${JUDGE_KEY}"}
    evaluators = [{"type": "llm_judge"}]
    path = suite(2, judge=provider)
    suite_without = {**json.loads(path.read_text()), "judge": judge, "evaluators": evaluators}
    path.write_text(json.dumps(suite_without))
    refused = command("run", "suite.yaml", "--max-cost", "1")
    path.write_text(json.dumps({**suite_without, "prices": {"openai/home-made": {"input": 1, "output": 1}}}))

    taken = command("run", "suite.yaml", "--max-cost", "1")

    assert refused.code == 2
    assert "the price of openai/home-made is unknown" in refused.err
    assert taken.code == 0
    assert runs_in(folder) == 1


# The journal


def test_the_journal_tells_what_happened_and_not_what_was_said(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], serve: Any, key: str
) -> None:
    turns = iter([{"status": 429, "headers": {"Retry-After": "0"}, "says": "slow down"}, {"says": "no JSON"}])
    suite(2, judge=serve(lambda _: next(turns, {})))

    command("run", "suite.yaml", "--log-file", "log.jsonl", "-j", "1")
    text = (folder / "log.jsonl").read_text()
    events = [json.loads(line) for line in text.splitlines()]

    assert [one["event"] for one in events] == [
        "run_started", "attempt_failed", "attempt_failed", "evaluation_committed", "evaluation_committed", "run_ended"
    ]  # fmt: skip
    assert [one.get("class") for one in events[1:3]] == ["rate_limited", "unparsable"]
    assert events[3]["case"] == "case-0"
    assert events[3]["retries"] == 1
    assert events[-1]["status"] == "finished"
    assert all(hidden not in text for hidden in (key, "Question", "Answer", "Names", "Right.", "slow down", "no JSON"))


def test_the_journal_is_told_in_words_to_those_who_want_them(
    command: Callable[..., Any], suite: Callable[..., Path]
) -> None:
    suite(1)

    done = command("run", "suite.yaml", "-v")

    assert "run started: run 2" in done.err
    assert "evaluation committed: case case-0, evaluator right, sample 0, status scored, score 1.0" in done.err


def test_a_key_is_nowhere_to_be_found_afterwards(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], serve: Any, key: str
) -> None:
    # A server that repeats the key is the worst case.
    provider = serve(lambda text: {"status": 400, "says": f"bad key {key}"} if "Question 1?" in text else {})
    suite(3, judge=provider)
    outputs = [part for ending in ("jsonl", "html", "md", "xml") for part in ("-o", f"r.{ending}")]

    done = [
        command("run", "suite.yaml", "-v", "--log-file", "log.jsonl", *outputs),
        command("config"),
        command("export", "last", "-o", "run.jsonl"),
    ]

    assert provider.keys == {f"bearer {key}"}
    assert all(key not in one.out + one.err for one in done)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) >= 8
    assert [path for path in files if key.encode() in path.read_bytes()] == []


def test_calls_for_evaluations_that_were_given_up_are_told(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(4, judge=provider, evaluators=[{"type": "llm_judge", "samples": 3}])

    # One at a time: of several that are given up at once, one may still be connecting, and never arrive.
    stopped = command("run", "suite.yaml", "--max-calls", "7", "-j", "1", "--json").json
    told = command("report", "last").out

    assert len(provider.asked) == 7
    assert stopped["summary"]["calls"] + stopped["run"]["abandoned_calls"] == 7
    assert stopped["run"]["abandoned_calls"] > 0
    assert "for evaluations that were abandoned when the run stopped" in " ".join(told.split())


# Several suites


def test_several_suites_are_runs_of_their_own_one_after_the_other(
    command: Callable[..., Any], suite: Callable[..., Path], folder: Path
) -> None:
    suite(2, name="a.yaml")
    suite(3, name="b.yaml", gates={"min_mean": 0.5})

    done = command("run", "a.yaml", "b.yaml", "--json", "-o", "reports-{suite}.jsonl")

    runs = [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, [(one["run"]["name"], one["summary"]["n"]) for one in runs]) == (0, [("a", 2), ("b", 3)])
    assert [len((folder / f"reports-{name}.jsonl").read_text().splitlines()) for name in "ab"] == [2, 3]
    assert "a.yaml:\n" in done.err
    assert done.err.index("a.yaml:") < done.err.index("b.yaml:")


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("wrong.yaml", {"evaluators": [{"type": "containz"}]}),
        ("wrong.yaml", {"cases": [{"id": "a", "ouput": "x"}]}),
        ("wrong.yaml", {"cases": [{"id": "a"}, {"id": "a"}]}),
        (
            "wrong.yaml",
            {"judge": {"model": "openai/x", "api_key": "${NOWHERE}"}, "evaluators": [{"type": "llm_judge"}]},
        ),
    ],
)
def test_nothing_is_spent_if_one_of_several_suites_is_wrong(
    command: Callable[..., Any],
    suite: Callable[..., Path],
    provider: Any,
    folder: Path,
    name: str,
    broken: dict[str, Any],
) -> None:
    suite(2, name="right.yaml", judge=provider)
    suite(2, **({"name": name} | broken))

    done = command("run", "right.yaml", name)

    assert done.code == 2
    assert provider.asked == []
    assert not (folder / ".evenhand").exists() or runs_in(folder) == 0


def test_the_exit_code_of_several_suites_is_the_worst(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    suite(1, name="good.yaml")
    suite(1, name="failed.yaml", gates={"min_mean": 0.5}, evaluators=[{"type": "equals", "value": "no"}])

    codes = [command("run", *names).code for names in (["failed.yaml", "good.yaml"], ["good.yaml", "good.yaml"])]

    assert codes == [100, 0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-o", "all.html"], "--output: several suites would write the same file; write {suite} into its name"),
        (["--max-cost", "1"], "--max-cost is for one run; give it with one suite"),
        (["--max-calls", "0"], "--max-calls is for one run; give it with one suite"),
        (["--answers-from", "last"], "--answers-from is for one run; give it with one suite"),
        (["--retry-errors"], "--retry-errors is for one run; give it with one suite"),
    ],
)
def test_options_that_mean_one_run_are_refused_for_several_suites(
    command: Callable[..., Any], suite: Callable[..., Path], options: list[str], told: str
) -> None:
    suite(1, name="a.yaml")
    suite(1, name="b.yaml")

    done = command("run", "a.yaml", "b.yaml", *options)

    assert done.code == 2
    assert told in done.err


def test_suites_of_one_name_would_write_one_file(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    suite(1, name="a/suite.yaml")
    suite(1, name="b/suite.yaml")

    done = command("run", "a/suite.yaml", "b/suite.yaml", "-o", "{suite}.html")

    assert (done.code, "several suites would write the same file" in done.err) == (2, True)


def test_an_estimate_is_made_for_each_suite(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    suite(1, name="a.yaml")
    suite(2, name="b.yaml")

    done = command("run", "a.yaml", "b.yaml", "--estimate", "--json")

    assert [json.loads(line)["cases"] for line in done.out.splitlines()] == [1, 2]


# Until decided


def test_a_run_stops_when_its_gates_are_decided_and_can_be_completed(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(60, judge=provider, gates={"min_mean": 0.99})  # which 0.9 never reaches

    early = command("run", "suite.yaml", "--until-decided", "--alpha", "0.01", "--concurrency", "2")
    asked = len(provider.asked)
    shown = command("report", "last", "--json")
    whole = command("resume")

    assert (early.code, shown.json["run"]["status"]) == (100, "stopped")
    (gate,) = shown.json["gates"]
    assert gate["decided"]["after"] <= asked < 60
    assert f"decided after {gate['decided']['after']} of 60: min_mean 0.99 fails" in early.out
    assert shown.json["summary"]["interval"] is None
    assert "Decided early. To judge the other cases too: evenhand resume" in early.out
    assert "the run stopped" not in early.err
    assert (whole.code, len(provider.asked)) == (100, 60)
    assert "min_mean: wanted at least 0.99, found 0.9" in whole.out


def test_gates_that_hold_are_a_success_before_all_is_judged(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(60, judge=provider, gates={"min_pass_rate": 0.5})

    done = command("run", "suite.yaml", "--until-decided", "--concurrency", "1")

    assert done.code == 0
    assert len(provider.asked) < 30


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--until-decided"], "until_decided: 3 cases; gates are decided early from 50 on"),
        (["--alpha", "0.1"], "alpha is for runs that are decided early; give --until-decided with it"),
        (["--until-decided", "--alpha", "2"], "alpha is 2.0; it must be a number between 0 and 1"),
        (["--until-decided", "--retry-errors"], "leave out --until-decided"),
    ],
)
def test_what_cannot_be_decided_early_is_refused(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any, options: list[str], words: str
) -> None:
    suite(3, judge=provider, gates={"min_mean": 0.5})

    done = command("run", "suite.yaml", *options)

    assert done.code == 2
    assert words in done.err
    assert not provider.asked
