"""`evenhand score`: from files to a table of scores, by way of a run that can be stopped and gone on with."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# many small ones, which together would take the fast tests beyond their minute
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

SCORES = {"nurse": 8, "baker": 3.5, "smith": 5}
USUAL = ("--criteria", "Experience", "--judge", "openai/gpt-5-mini")


def attentive(text: str) -> dict[str, Any]:
    """Know everybody's score; of a liar none can be read."""
    profile = re.findall(r"<profile id=\S+>\n(.*)\n</profile", text, re.DOTALL)[-1]
    points = next((points for word, points in SCORES.items() if word in profile), None)
    return {"says": "I will not." if points is None else {"score": points, "justification": f"Says {profile}"}}


@pytest.fixture
def judge(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, key: str) -> Any:
    """The judge whom every command asks."""
    started = serve(attentive)
    monkeypatch.setenv("OPENAI_BASE_URL", started.url)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    return started


@pytest.fixture
def people(folder: Path) -> Path:
    """Three profiles, of which the second has no score to be read."""
    lines = [{"id": "ben", "text": "A baker."}, {"id": "lia", "text": "A liar."}, {"id": "anna", "text": "A nurse."}]
    path = folder / "people.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_the_table_has_the_highest_score_first_and_says_what_failed(
    people: Path, judge: Any, command: Callable[..., Any]
) -> None:
    done = command("score", "people.jsonl", *USUAL, "--max-retries", "1", "-o", "scores.csv")

    assert done.code == 101
    assert [line.split()[:4] for line in done.out.splitlines()[4:7]] == [
        ["8.00", "–", "0", "anna"], ["3.50", "–", "0", "ben"], ["error", "–", "1", "lia"],
    ]  # fmt: skip
    assert "failed: lia (1 of 1)" in done.out
    assert "2 replies could not be used; 1 retry" in done.out
    with Path("scores.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["anna", "ben", "lia"]
    assert len(judge.asked) == 4


def test_scores_are_from_0_to_10_everywhere_and_nobody_fails_without_a_mark(
    people: Path, judge: Any, command: Callable[..., Any]
) -> None:
    done = command("score", "people.jsonl", *USUAL, "--max-attempts", "1", "-o", "s.xml", "-o", "s.html", "-o", "s.md")
    listed = command("runs", "list").out.splitlines()[1]
    (row,) = command("runs", "list", "--json").json
    shown = command("report", "--json").json
    case = command("show", "anna")

    assert "median 5.75, standard deviation 3.18, from 3.50 to 8.00" in done.out
    assert "  8–9  1  ████" in done.out
    assert listed.endswith("5.75  [0.08, 9.95] (0–10)")
    assert (row["scale"], row["summary"]["mean"], "pass_rate" in row["summary"]) == (10, 5.75, False)
    assert (shown["summary"]["mean"], "pass" in shown["summary"]) == (5.75, False)
    assert "✓ scored 8.00 of 10" in case.out
    for told in (done.out, case.out, Path("s.xml").read_text(), Path("s.md").read_text()):
        assert not re.search(r"\b(pass|borderline|fail|fails)\b", told)


def test_a_pass_mark_says_who_passes(people: Path, judge: Any, command: Callable[..., Any]) -> None:
    done = command("score", "people.jsonl", *USUAL, "--max-attempts", "1", "--pass-mark", "5")
    wrong = command("score", "people.jsonl", *USUAL, "--pass-mark", "11")

    assert [line.split()[:5] for line in done.out.splitlines()[4:7]] == [
        ["8.00", "–", "0", "pass", "anna"], ["3.50", "–", "0", "fail", "ben"], ["error", "–", "1", "–", "lia"],
    ]  # fmt: skip
    assert "a profile passes with 5 points or more" in done.out
    assert (wrong.code, "pass_mark is 11.0; it must be a number from 0 to 10" in wrong.err) == (2, True)


def test_repeats_show_how_far_scores_lie_apart(
    folder: Path, serve: Callable[..., Any], command: Callable[..., Any], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = iter([4, 6, 8])
    unsteady = serve(lambda _: {"says": {"score": next(points), "justification": "Well."}})
    monkeypatch.setenv("OPENAI_BASE_URL", unsteady.url)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    (folder / "texts").mkdir()
    (folder / "texts" / "anna.txt").write_text("A nurse.")

    done = command("score", "texts", *USUAL, "--repeat", "3", "--json")

    (one,) = done.json["profiles"]
    assert (done.code, one["id"], one["score"], one["spread"], sorted(one["scores"])) == (
        0,
        "anna.txt",
        6,
        2,
        [4, 6, 8],
    )
    assert done.json["run"]["repeat"] == 3


def test_criteria_come_from_a_file_and_the_judge_sees_them(
    people: Path, folder: Path, judge: Any, command: Callable[..., Any]
) -> None:
    (folder / "criteria.md").write_text("Has worked at night.\n")

    done = command("score", "people.jsonl", "--criteria", "@criteria.md", "--judge", "openai/a", "--only", "anna", "-q")

    assert (done.code, done.err) == (0, "")
    (asked,) = judge.asked
    assert "Has worked at night." in asked


def test_a_budget_stops_it_and_resume_goes_on_though_the_file_is_gone(
    people: Path, judge: Any, command: Callable[..., Any]
) -> None:
    stopped = command("score", "people.jsonl", *USUAL, "--max-attempts", "1", "--max-calls", "1", "-j", "1")
    people.unlink()
    other = command("resume", "--judge", "openai/other")
    done = command("resume", "-o", "scores.jsonl")
    shown = command("report", "--json")

    assert stopped.code == 102
    assert "pending" in stopped.out
    assert "to use others, start a new run with: evenhand score" in other.err
    assert done.code == 101
    rows = [json.loads(line) for line in Path("scores.jsonl").read_text().splitlines()]
    assert [(row["id"], row["score"]) for row in rows] == [("anna", 8), ("ben", 3.5), ("lia", None)]
    assert shown.json["scoring"]["failures_by_profile"] == {"lia": 1}
    assert len(judge.asked) == 3


def test_failures_are_done_again_and_what_was_scored_is_kept(
    people: Path, judge: Any, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    command("score", "people.jsonl", *USUAL, "--max-attempts", "1")
    monkeypatch.setitem(SCORES, "liar", 1)

    done = command("resume", "--retry-errors", "--no-cache", "--json")

    assert done.code == 0
    assert [(one["id"], one["score"]) for one in done.json["profiles"]] == [("anna", 8), ("ben", 3.5), ("lia", 1)]
    assert len(judge.asked) == 4


def test_what_was_asked_before_comes_from_the_cache(people: Path, judge: Any, command: Callable[..., Any]) -> None:
    first = command("score", "people.jsonl", *USUAL, "--only", "anna", "--json")
    second = command("score", "people.jsonl", *USUAL, "--only", "anna", "--json")

    assert first.json["profiles"] == second.json["profiles"]
    assert len(judge.asked) == 1


def test_an_estimate_asks_nobody_and_leaves_no_run(people: Path, judge: Any, command: Callable[..., Any]) -> None:
    shutil.rmtree(".evenhand")

    done = command("score", "people.jsonl", *USUAL, "--estimate")

    assert (done.code, judge.asked) == (0, [])
    assert "gpt-5-mini" in done.out
    assert not Path(".evenhand").exists()


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("people.jsonl", "--criteria", "x"), "no judge: give --judge"),
        (("people.jsonl", "--criteria", " ", "--judge", "openai/a"), "criteria is ' '"),
        (("people.jsonl", "--criteria", "@nowhere.md", "--judge", "openai/a"), "--criteria: nowhere.md: No such file"),
        (("nowhere.csv", *USUAL), "nowhere.csv: there is no such file"),
        (
            ("people.jsonl", *USUAL, "--max-attempts", "3", "--max-retries", "2"),
            "max_retries 2 are both given; give one",
        ),
        (("people.jsonl", *USUAL, "-o", "scores.xls"), "unknown extension .xls"),
        (("people.jsonl", *USUAL, "--only", "ana"), "no profile has the id 'ana'; did you mean 'anna'?"),
        (("broken.jsonl", *USUAL), "broken.jsonl:2: the profile has no text"),
        (("people.jsonl", *USUAL, "-j", "0"), "'-j': 0 must be a whole number, 1 or more."),
        (("people.jsonl", *USUAL, "--repeat", "twice"), "'--repeat': twice must be a whole number, 1 or more."),
        (("people.jsonl", *USUAL, "--timeout", "soon"), "'--timeout': soon must be a number"),
        (("people.jsonl", *USUAL, "--max-cost", "nan"), "'--max-cost': nan must be a number of dollars, 0 or more."),
    ],
)
def test_a_mistake_is_told_before_anybody_is_asked(
    argv: tuple[str, ...], told: str, people: Path, folder: Path, judge: Any, command: Callable[..., Any]
) -> None:
    (folder / "broken.jsonl").write_text('{"text": "A"}\n{"id": "b"}\n')

    done = command("score", *argv)

    assert done.code == 2
    assert told in done.err
    assert judge.asked == []
    assert not Path(".evenhand").exists() or command("runs", "list").out == "no runs yet\n"


@pytest.mark.parametrize(("way", "points"), [("first", "8.00"), ("last", "2.00")])
def test_which_of_several_verdicts_counts_can_be_said(
    people: Path,
    serve: Callable[..., Any],
    judge: Any,
    command: Callable[..., Any],
    monkeypatch: Any,
    way: str,
    points: str,
) -> None:
    undecided = serve(
        lambda _: {"says": 'Draft: {"score": 8, "justification": "a"} Final: {"score": 2, "justification": "b"}'}
    )
    monkeypatch.setenv("OPENAI_BASE_URL", undecided.url)

    done = command("score", "people.jsonl", *USUAL, "--ambiguous", way)
    wrong = command("score", "people.jsonl", *USUAL, "--ambiguous", "both")

    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[4:7]] == [points] * 3
    assert len(undecided.asked) == 3
    assert "ambiguous is 'both'; it must be first, last or ask_again" in wrong.err
