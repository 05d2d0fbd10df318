"""`evenhand rank`: from a file of profiles to a leaderboard, by way of a run that can be stopped and gone on with."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from evenhand.profiles.ranking import report
from evenhand.profiles.ranking.fit import ranks_from

# many small ones, which together would take the fast tests beyond their minute
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

USUAL = ("--criteria", "Worth", "--judge", "openai/gpt-5-mini")
GROUPED = (*USUAL, "--group-size", "4", "--rounds", "3")


def honest(text: str) -> dict[str, Any]:
    """Put a group in its true order, or name the better of two."""
    if "answer_a" in text:
        a, b = re.findall(r"worth (\d+)", text)
        return {"says": {"reasoning": "", "winner": "A" if int(a) > int(b) else "B"}}
    shown = re.findall(r'<profile_([A-Z]) id="\w+">\nworth (\d+)', text)
    return {"says": {"reasoning": "", "order": [label for label, _ in sorted(shown, key=lambda one: -int(one[1]))]}}


@pytest.fixture
def judge(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, key: str) -> Any:
    """The judge whom every command asks."""
    started = serve(honest)
    monkeypatch.setenv("OPENAI_BASE_URL", started.url)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    return started


@pytest.fixture
def people(folder: Path) -> Path:
    """Twelve profiles in no order."""
    path = folder / "people.jsonl"
    path.write_text(
        "\n".join(json.dumps({"id": f"p{n * 5 % 12:02}", "text": f"worth {n * 5 % 12}"}) for n in range(12))
    )
    return path


def test_the_leaderboard_has_the_best_first_and_the_plan_stands_before_it(
    people: Path, judge: Any, command: Callable[..., Any]
) -> None:
    done = command("rank", "people.jsonl", *GROUPED, "--top", "3", "-o", "ranking.csv")

    assert done.code == 0
    assert done.err.splitlines()[0].startswith("swiss, groups of 4: 10 to 30 calls to models, about ")
    assert ": 10 evaluations" in done.err
    assert done.out.splitlines()[2].startswith("earlier rounds predict ")
    best = [line.split()[3] for line in done.out.splitlines()[6:9]]
    assert (best[0], set(best) <= {"p11", "p10", "p09", "p08"}) == ("p11", True)
    assert "and 9 more profiles" in done.out
    assert "12 profiles ranked in 10 groups" in done.out
    assert "position bias: none found" in done.out
    with Path("ranking.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows[:3]] == best
    assert [int(row["low"]) <= int(row["rank"]) <= int(row["high"]) for row in rows] == [True] * 12
    assert len(judge.asked) == 10


def test_pairs_are_asked_in_both_orders(people: Path, judge: Any, command: Callable[..., Any]) -> None:
    done = command("rank", "people.jsonl", *USUAL, "--group-size", "2", "--rounds", "5", "--json")

    assert done.code == 0
    assert len(judge.asked) == 2 * 5 * 6
    assert done.json["ranking"]["groups"] == 30
    assert {one["groups"] for one in done.json["profiles"]} == {5}
    assert all(one["win_rate_interval"] for one in done.json["profiles"])


def test_a_budget_stops_it_in_the_middle_and_resume_goes_on_though_the_file_is_gone(
    people: Path, judge: Any, command: Callable[..., Any]
) -> None:
    whole = command("rank", "people.jsonl", *GROUPED, "--json", "--db", "whole.db")
    stopped = command("rank", "people.jsonl", *GROUPED, "--max-calls", "4", "-j", "1")
    people.unlink()
    other = command("resume", "--judge", "openai/other")
    done = command("resume", "--json")
    again = command("report", "--json")

    assert stopped.code == 102
    assert "the ranking may change" in stopped.out
    assert "to use others, start a new run with: evenhand rank" in other.err
    assert done.code == 0
    assert done.json["profiles"] == whole.json["profiles"]
    assert again.json["ranking"] == done.json["ranking"]
    assert len(judge.asked) == 20


def test_groups_that_failed_are_asked_again(
    people: Path, serve: Callable[..., Any], command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    mood = {"bad": True}
    moody = serve(lambda text: {"says": "no"} if mood["bad"] and "worth 3\n" in text else honest(text))
    monkeypatch.setenv("OPENAI_BASE_URL", moody.url)
    monkeypatch.setenv("OPENAI_API_KEY", key)

    failed = command("rank", "people.jsonl", *GROUPED, "--max-attempts", "1", "--json")
    mood["bad"] = False
    done = command("resume", "--retry-errors", "--json")

    assert failed.code == 101
    assert failed.json["ranking"]["failed_groups"] == 4  # of four, of two, and beside two that were ranked
    assert failed.json["ranking"]["refused"] == ["p03"]
    assert failed.json["profiles"][-1] | {"groups": 0} == failed.json["profiles"][-1]
    assert failed.json["profiles"][-1]["rank"] is None
    judged = failed.json["ranking"]["groups"]
    assert f": {judged} evaluations, {judged} already done; errors are retried" in done.err
    assert done.code == 0
    assert done.json["ranking"]["failed_groups"] == 0


def test_a_report_says_how_to_retry_failed_groups_of_this_run_in_this_database(
    people: Path, serve: Callable[..., Any], command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    moody = serve(lambda text: {"says": "no"} if "worth 3\n" in text else honest(text))
    monkeypatch.setenv("OPENAI_BASE_URL", moody.url)
    monkeypatch.setenv("OPENAI_API_KEY", key)

    failed = command("rank", "people.jsonl", *GROUPED, "--max-attempts", "1", "--db", "of mine.db")
    as_page = command("rank", "people.jsonl", *GROUPED, "--max-attempts", "1", "-o", "ranking.html")
    stopped = command("rank", "people.jsonl", *GROUPED, "--max-attempts", "1", "--max-calls", "4", "--no-cache")

    (identity,) = re.findall(r"^run (\S+):", failed.err, re.MULTILINE)
    assert failed.out.splitlines()[-2:] == [
        f"All cases: evenhand report {identity} --db 'of mine.db' --output report.html",
        f"To retry what failed: evenhand resume {identity} --db 'of mine.db' --retry-errors",
    ]
    assert failed.out.count("--retry-errors") == 1
    assert as_page.out.splitlines()[-1].startswith("To retry what failed: evenhand resume ")
    assert " left out; " in stopped.out
    assert "--retry-errors" not in stopped.out


def test_a_ranking_that_stopped_since_nothing_was_ranked_says_once_how_to_resume_it(
    people: Path, serve: Callable[..., Any], command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    broken = serve(lambda text: {"says": "no"})
    monkeypatch.setenv("OPENAI_BASE_URL", broken.url)
    monkeypatch.setenv("OPENAI_API_KEY", key)

    stopped = command("rank", "people.jsonl", *GROUPED, "--max-consecutive-errors", "2", "-j", "1")

    (identity,) = re.findall(r"^run (\S+):", stopped.err, re.MULTILINE)
    fix = f"Fix the cause, then resume with: evenhand resume {identity} --retry-errors"
    assert stopped.code == 104
    assert stopped.out.splitlines()[-1] == stopped.err.splitlines()[-1] == fix
    assert "Resume with" not in stopped.out


@pytest.mark.parametrize("group_size", ["4", "2"])
def test_a_ranking_has_no_answers_to_label(
    people: Path, judge: Any, command: Callable[..., Any], group_size: str
) -> None:
    ways = [(), ("--sample", "2"), ("-o", "labels.csv"), ("--from", "labels.csv")]
    command("rank", "people.jsonl", *USUAL, "--rounds", "2", "--group-size", group_size, "-q")

    refused = [command("label", *given) for given in ways]

    for one in refused:
        assert one.code == 2
        assert "ranks profiles, and has no answers to label; name another run" in one.err


def test_the_list_of_runs_gives_no_mean_of_a_ranking(people: Path, judge: Any, command: Callable[..., Any]) -> None:
    command("rank", "people.jsonl", *GROUPED, "-q")

    (listed,) = command("runs", "list", "--json").json

    assert listed["summary"]["mean"] is None
    assert command("runs").out.splitlines()[-1].endswith("–  12 profiles ranked in 10 groups")


def test_the_list_of_runs_says_where_no_order_was_found(
    people: Path, serve: Callable[..., Any], command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    shuffling = serve(lambda text: {"says": {"reasoning": "", "order": re.findall(r"<profile_([A-Z]) ", text)}})
    monkeypatch.setenv("OPENAI_BASE_URL", shuffling.url)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    command("rank", "people.jsonl", *GROUPED, "-q")

    listed, again = command("runs").out, command("runs").out

    assert listed.splitlines()[-1].endswith("–  12 profiles, no order found")
    assert again == listed


def test_an_estimate_counts_all_rounds_and_asks_nobody(people: Path, judge: Any, command: Callable[..., Any]) -> None:
    shutil.rmtree(".evenhand")

    done = command("rank", "people.jsonl", *GROUPED, "--estimate", "--json")

    assert (done.code, judge.asked) == (0, [])
    assert done.json["calls"] == {"low": 10, "high": 30}
    assert not Path(".evenhand").exists()


def test_what_was_asked_before_comes_from_the_cache(people: Path, judge: Any, command: Callable[..., Any]) -> None:
    first = command("rank", "people.jsonl", *GROUPED, "--json")
    second = command("rank", "people.jsonl", *GROUPED, "--json")

    assert first.json["profiles"] == second.json["profiles"]
    assert len(judge.asked) == 10


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("people.jsonl", "--criteria", "x"), "no judge: give --judge"),
        (("people.jsonl", "--criteria", " ", "--judge", "openai/a"), "criteria is ' '"),
        (("one.jsonl", *USUAL), "there is only one profile; a ranking needs two or more"),
        (("people.jsonl", *USUAL, "--design", "swis"), "design is 'swis'; did you mean 'swiss'"),
        (("people.jsonl", *USUAL, "--group-size", "1"), "group_size is 1; it must be a whole number from 2 to 26"),
        (("people.jsonl", *USUAL, "--rounds", "0"), "rounds is 0; it must be a whole number, 1 or more"),
        (("twice.jsonl", *USUAL), "twice.jsonl:2: duplicate id 'a', first in twice.jsonl:1"),
        (("people.jsonl", *USUAL, "-o", "ranking.xls"), "unknown extension .xls"),
    ],
)
def test_a_mistake_is_told_before_anybody_is_asked(
    argv: tuple[str, ...], told: str, people: Path, folder: Path, judge: Any, command: Callable[..., Any]
) -> None:
    (folder / "one.jsonl").write_text('{"text": "A"}\n')
    (folder / "twice.jsonl").write_text('{"id": "a", "text": "A"}\n{"id": "a", "text": "B"}\n')

    done = command("rank", *argv)

    assert done.code == 2
    assert told in done.err
    assert judge.asked == []
    assert not Path(".evenhand").exists() or command("runs", "list").out == "no runs yet\n"


def test_a_ranking_is_fitted_once_however_many_files_are_written(
    people: Path, judge: Any, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = Mock(wraps=ranks_from)
    monkeypatch.setattr(report, "ranks_from", fit)
    files = [option for ending in ("csv", "html", "md", "json", "jsonl") for option in ("-o", f"ranking.{ending}")]

    done = command("rank", "people.jsonl", *GROUPED, *files)

    assert done.code == 0
    assert [Path(name).stat().st_size > 0 for name in files[1::2]] == [True] * 5
    assert fit.call_count == 1
