"""Scoring profiles from Python: a run like any other, read back as scores from 0 to 10."""

from __future__ import annotations

import csv
import json
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from evenhand import (
    Case,
    ConfigError,
    Contains,
    Profile,
    ProfileScoreEvaluator,
    Run,
    RunStoppedError,
    ScoredProfiles,
    Scripted,
    evaluate,
    evaluate_profiles,
    score,
)
from evenhand.domain.run import RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.engine.job import Scope
from evenhand.engine.plan import plan
from evenhand.engine.store_location import StoreLocation
from evenhand.profiles.job import ScoringJob
from evenhand.profiles.score_report import MOST_SHOWN, terminal, write
from evenhand.profiles.scores import LONGEST_SAMPLE, MOST_SAMPLES
from evenhand.reports.overview import survey
from evenhand.reports.report import Report
from evenhand.server.runs.requests import taken_up


def said(points: float, justification: str = "Because.") -> str:
    return json.dumps({"score": points, "justification": justification})


def scored(*replies: str | Exception, profiles: Any = ("A nurse.",), **options: Any) -> ScoredProfiles:
    """Score one after the other, so that replies meet the profiles they are meant for."""
    usual: dict[str, Any] = {"criteria": "Experience", "judge": Scripted(replies), "store": None, "concurrency": 1}
    return score(profiles, **(usual | options))


def report_of(run: Run) -> Report:
    return Report(run=run.record, summary=run.summary, results=lambda: run)


# Scores


def test_each_profile_has_the_mean_of_its_repeats_their_spread_and_a_typical_justification() -> None:
    found = scored(said(2, "Low."), said(6, "Middle."), said(7, "High."), repeat=3)

    (one,) = found
    assert (one.score, one.scores, one.justification) == (5.0, (2.0, 6.0, 7.0), "Middle.")
    assert one.spread == pytest.approx(2.6457513)


def test_one_score_has_no_spread_and_no_interval() -> None:
    found = scored(said(7.5))

    assert [(one.score, one.spread) for one in found] == [(7.5, None)]
    assert (found.mean, found.interval) == (7.5, None)


def test_mean_and_interval_are_from_0_to_10() -> None:
    found = scored(said(5), said(7.5), said(10), profiles=["A", "B", "C"])

    assert found.mean == pytest.approx(7.5)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(1.6919, abs=1e-4)
    assert found.interval.high == pytest.approx(9.7787, abs=1e-4)


def test_a_profile_that_failed_has_no_score_and_is_in_no_mean() -> None:
    found = scored("no", "no", said(8), profiles=["A", "B"], max_attempts=2)

    assert [(one.status, one.score, one.failures) for one in found] == [("error", None, 1), ("scored", 8.0, 0)]
    assert found.mean == pytest.approx(8)
    assert found.failures_by_profile == {"profile-1": 1}


def test_a_repeat_that_failed_is_counted_and_left_out_of_the_mean() -> None:
    found = scored(said(8), "no", said(6), repeat=3, max_attempts=1)

    (one,) = found
    assert (one.status, one.score, one.failures, one.error) == (
        "scored", 7.0, 1, "unparsable: the reply has no complete JSON object",
    )  # fmt: skip


def test_the_highest_score_comes_first_equal_ones_by_id_and_failures_last() -> None:
    profiles = [Profile(id=name, text=name) for name in "dcba"]
    found = scored(said(3), said(9), "no", said(9), profiles=profiles, max_attempts=1)

    assert [one.id for one in found.by_score()] == ["a", "c", "d", "b"]
    assert [one.id for one in found] == list("dcba")


def test_invalid_replies_are_kept_word_for_word_and_not_without_end() -> None:
    replies = ["x" * (LONGEST_SAMPLE + 1), *["no"] * MOST_SAMPLES]

    found = scored(*replies, max_attempts=len(replies))

    assert len(found.invalid_samples) == MOST_SAMPLES
    first, second = found.invalid_samples[:2]
    assert (first.cut, len(first.reply)) == (True, LONGEST_SAMPLE)
    assert (second.profile, second.repeat, second.reply, second.cut) == ("profile-1", 1, "no", False)
    assert found.total_retries == MOST_SAMPLES


# A run like any other


def test_what_was_scored_can_be_opened_again(tmp_path: Path) -> None:
    made = scored(
        said(7, "Strong."), profiles=[{"id": "anna", "text": "A nurse.", "city": "Graz"}], store=tmp_path / "e.db"
    )

    again = ScoredProfiles.open(made.run.id, store=tmp_path / "e.db")

    assert again.to_dicts() == made.to_dicts()
    assert [(one.id, one.score, one.attributes) for one in again] == [("anna", 7.0, {"city": "Graz"})]
    assert len(again) == 1


def test_a_run_of_something_else_is_no_scoring() -> None:
    run = evaluate(Case(candidate_answer="Paris"), Contains(value="Paris"), store=None)

    with pytest.raises(ConfigError, match="does not score profiles"):
        ScoredProfiles(run)


def test_the_run_keeps_how_it_was_judged_and_no_object() -> None:
    definition = scored(said(7), name="nurses", max_attempts=2).run.record.definition

    assert definition["profiles"] == {"mode": "scoring"}
    assert definition["judge"] == {"model": "scripted"}
    assert definition["name"] == "nurses"
    (evaluator,) = definition["evaluators"]
    assert (evaluator["type"], evaluator["criteria"], evaluator["max_attempts"]) == ("profile_score", "Experience", 2)


def test_a_budget_stops_the_run_with_what_is_there() -> None:
    with pytest.raises(RunStoppedError) as raised:
        scored(said(7), said(8), profiles=["A", "B"], max_calls=1)

    found = ScoredProfiles(raised.value.run)
    assert [(one.status, one.score) for one in found] == [("scored", 7.0), ("pending", None)]


def test_the_server_can_go_on_with_it_where_the_judge_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    named = ScoringJob(profiles=["A nurse."], criteria="Experience", judge="openai/a", kept="openai/a", max_attempts=2)
    unnamed = ScoringJob(profiles=["A nurse."], criteria="Experience", judge=Scripted([]))
    with StoreLocation(None).opened() as store:
        stopped, other = (
            store.runs.mark(plan(store, one.job(), Scope()), RunStatus.STOPPED) for one in (named, unnamed)
        )

        taken, job, _ = taken_up(store, stopped, lambda pace: pace)
        (evaluator,) = job.evaluators_for(next(iter(job.cases())))

        assert taken.status is RunStatus.RUNNING
        assert isinstance(evaluator, ProfileScoreEvaluator)
        assert (evaluator.criteria, evaluator.max_attempts, evaluator.client.name) == ("Experience", 2, "openai/a")
        with pytest.raises(ConfigError, match="made in Python"):
            taken_up(store, other, lambda pace: pace)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"criteria": " "}, "criteria is ' '"),
        ({"max_attempts": 0}, "max_attempts is 0"),
        ({"repeat": 0}, "repeat is 0"),
        ({"timeout": -1}, "timeout is -1"),
        ({"name": 7}, "name must be text"),
        ({"profiles": []}, "there are no profiles"),
    ],
)
def test_what_cannot_be_right_is_refused_before_anybody_is_asked(options: dict[str, Any], told: str) -> None:
    judge = Scripted([])

    with pytest.raises(ConfigError) as raised:
        scored(judge=judge, **options)

    assert told in str(raised.value)
    assert judge.asked == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"mode": "guessing", "criteria": "x"}, "mode is 'guessing'; it must be 'scoring' or 'ranking'"),
        ({}, "evaluate_profiles: criteria is missing"),
        ({"criteria": "x", "criterion": "y"}, "evaluate_profiles: no option 'criterion'"),
    ],
)
def test_a_mode_or_an_option_that_is_not_there_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        evaluate_profiles(["A nurse."], **options)

    assert told in str(raised.value)


# Files and the terminal


@pytest.fixture
def mixed() -> ScoredProfiles:
    """A profile with a score, and one without, with texts that would like to be more than texts."""
    profiles = [Profile(id="=anna", text="A"), Profile(id="ben|", text="B")]
    return scored(said(7, "=HYPERLINK() | <b>\x1b[2J"), said(15), profiles=profiles, max_attempts=1)


def test_a_table_has_a_row_for_each_profile_and_runs_nothing(mixed: ScoredProfiles, tmp_path: Path) -> None:
    with mixed.save(tmp_path / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert [(row["id"], row["status"], row["score"]) for row in rows] == [
        ("'=anna", "scored", "7.0"),
        ("ben|", "error", ""),
    ]
    assert rows[0]["justification"].startswith("'=HYPERLINK()")
    assert rows[1]["error"] == "contract: score must be a number from 0 to 10, not 15"


def test_json_has_the_numbers_of_the_run_and_the_scores(mixed: ScoredProfiles, tmp_path: Path) -> None:
    whole = json.loads(mixed.save(tmp_path / "scores.json").read_text())
    lines = mixed.save(tmp_path / "scores.jsonl").read_text().splitlines()

    assert {"total_retries", "failures_by_profile", "invalid_samples", "mean", "interval"} <= whole["scoring"].keys()
    assert whole["scoring"]["failures_by_profile"] == {"ben|": 1}
    assert whole["scoring"]["invalid_samples"][0]["reply"] == said(15)
    assert whole["profiles"] == [json.loads(line) for line in lines]


def test_markdown_shows_what_models_wrote_as_text(mixed: ScoredProfiles, tmp_path: Path) -> None:
    text = mixed.save(tmp_path / "scores.md").read_text()

    assert "| 7.00 | – | 0 | \\=anna | \\=HYPERLINK() \\| \\<b\\> |" in text
    assert "| error | – | 1 | ben\\| | contract\\: score must be" in text


def test_an_extension_that_is_not_known_is_refused(mixed: ScoredProfiles, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown extension"):
        mixed.save(tmp_path / "scores.xls")


def test_a_terminal_shows_the_scores_and_obeys_no_text(mixed: ScoredProfiles) -> None:
    shown = terminal(report_of(mixed.run))

    assert " 7.00       –       0  =anna    =HYPERLINK() | <b>" in shown
    assert "failed: ben| (1 of 1)" in shown
    assert "scores from 0 to 10: mean 7.00 (n=1, no interval) over 1 of 2; 1 judge error; 3.50 if counted as 0" in shown
    assert "\x1b" not in shown


def test_a_terminal_shows_no_more_than_it_has_room_for() -> None:
    count = MOST_SHOWN + 5
    shown = terminal(report_of(scored(*[said(5)] * count, profiles=[f"P{number}" for number in range(count)]).run))

    assert shown.count("Because.") == MOST_SHOWN
    assert "and 5 more; all of them: evenhand report " in shown


# What people see


@pytest.fixture
def nurses() -> ScoredProfiles:
    """Six profiles, three of which share the first place, and one that has no score."""
    points = [said(points, f"Worth {points}.") for points in (4, 9, 2.5, 9, 9)]
    profiles = [Profile(id=name, text=f"{name} is a nurse.") for name in ("ben", "anna", "dora", "eve", "cleo", "lia")]
    return scored(*points, "no", profiles=profiles, max_attempts=1)


VERDICTS = re.compile(r"\b(pass|passed|passes|pass rate|borderline|fail|fails)\b", re.IGNORECASE)


def words_of(page: str) -> str:
    """Return what a page shows: neither its style and script, nor the definition of the run."""
    page = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    page = re.sub(r"<footer>.*?</footer>", "", page, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", page)


def test_a_report_has_mean_median_spread_ties_and_a_histogram(nurses: ScoredProfiles) -> None:
    told = nurses.report()

    assert "scores from 0 to 10: mean 6.70" in told
    assert "median 9.00, standard deviation 3.19, from 2.50 to 9.00" in told
    assert "3 profiles share the top score of 9.00: anna, cleo and eve" in told
    assert " 9–10  3  ████" in told
    assert not VERDICTS.search(told)
    assert (nurses.median, nurses.spread.at_top) == (9.0, 3)
    assert nurses.standard_deviation == pytest.approx(3.1937, abs=1e-4)


@pytest.mark.parametrize("ending", ["html", "md", "xml"])
def test_files_for_people_have_scores_from_0_to_10_the_best_first_with_their_reasons_and_no_verdict(
    nurses: ScoredProfiles, tmp_path: Path, ending: str
) -> None:
    told = nurses.save(tmp_path / f"scores.{ending}").read_text()

    shown = told if ending != "html" else words_of(told)
    places = [shown.index(f"Worth {points}.") for points in ("9", "4", "2.5")]
    assert places == sorted(places)
    assert "9.00" in shown
    assert "0.90" not in shown
    assert "6.70" in shown
    assert re.search('[Mm]edian 9.00|median" value="9.00', shown)
    assert "3 profiles share the top score of 9.00" in shown.replace("\\", "")
    assert not VERDICTS.search(shown)


def test_junit_has_an_error_for_a_profile_without_a_score_and_no_failure(
    nurses: ScoredProfiles, tmp_path: Path
) -> None:
    (suite,) = ET.parse(nurses.save(tmp_path / "scores.xml")).getroot()

    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == ["anna", "cleo", "eve", "ben", "dora", "lia"]
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("0", "1", "0")
    assert cases[0].findtext("system-out") == "score: 9.00 of 10\n  Worth 9."
    numbers = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert (numbers["scale"], numbers["mean"], numbers["median"], numbers["standard_deviation"]) == (
        "0-10", "6.70", "9.00", "3.19",
    )  # fmt: skip
    assert "9–10  3  ███" in (suite.findtext("system-out") or "")


def test_json_has_the_same_scale_throughout_and_says_nothing_of_verdicts(
    nurses: ScoredProfiles, tmp_path: Path
) -> None:
    whole = json.loads(nurses.save(tmp_path / "scores.json").read_text())

    assert whole["summary"]["mean"] == whole["scoring"]["mean"] == whole["summary"]["evaluators"]["score"]["mean"]
    assert whole["summary"]["mean"] == pytest.approx(6.7)
    assert {"pass", "fail", "borderline", "pass_rate"}.isdisjoint(whole["summary"])
    assert whole["scoring"]["spread"]["top"] == ["anna", "cleo", "eve"]
    assert [profile["id"] for profile in whole["profiles"]] == ["anna", "cleo", "eve", "ben", "dora", "lia"]
    assert "verdict" not in whole["profiles"][0]


def test_a_pass_mark_gives_verdicts(tmp_path: Path) -> None:
    found = scored(said(7), said(6.9), "no", profiles=["A", "B", "C"], max_attempts=1, pass_mark=7)

    assert [one.verdict for one in found] == ["pass", "fail", None]
    assert "pass rate 0.50 [0.09, 0.91]: 1 of 2; a profile passes with 7 points or more" in found.report()
    with found.save(tmp_path / "scores.csv").open(newline="") as file:
        assert [row["verdict"] for row in csv.DictReader(file)] == ["pass", "fail", ""]
    assert 'skipped="1"' in found.save(tmp_path / "scores.xml").read_text()
    assert "| 6.90 | – | 0 | fail |" in found.save(tmp_path / "scores.md").read_text()
    page = words_of(found.save(tmp_path / "scores.html").read_text())
    assert "A profile passes with 7 points or more." in page
    assert "borderline" not in page


@pytest.mark.parametrize("mark", [-1, 10.5, "seven", True, float("nan")])
def test_a_pass_mark_beyond_the_scale_is_refused(mark: Any) -> None:
    with pytest.raises(ConfigError, match="it must be a number from 0 to 10"):
        scored(pass_mark=mark)


def test_a_run_from_before_there_were_pass_marks_has_no_verdicts_either(nurses: ScoredProfiles, tmp_path: Path) -> None:
    record = nurses.run.record
    definition = {key: value for key, value in record.definition.items() if key != "thresholds"}
    results = [replace(result, thresholds=Thresholds()) for result in nurses.run]
    old = survey(results)
    report = Report(run=replace(record, definition=definition), summary=old.summary, results=lambda: results)

    assert old.summary.cases.failed == 2
    write(report, tmp_path / "old.xml")
    write(report, tmp_path / "old.html")

    assert 'failures="0" errors="1" skipped="0"' in (tmp_path / "old.xml").read_text()
    assert not VERDICTS.search(words_of((tmp_path / "old.html").read_text()))


@pytest.mark.long
def test_a_file_of_many_profiles_takes_little_memory(tmp_path: Path) -> None:
    def judge(messages: Any) -> str:
        return said(sum(map(ord, messages[-1]["content"])) % 21 / 2, "Because of this and that. " * 160)

    found = score((f"Person {n}." for n in range(1_000)), criteria="x", judge=judge, store=tmp_path / "e.db")
    report = found.run.whole_report
    tracemalloc.start()
    try:
        write(report, tmp_path / "scores.csv")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (tmp_path / "scores.csv").stat().st_size > 4_000_000
    assert peak < 4_000_000
