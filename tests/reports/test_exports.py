"""Results for programs: JSONL, JSON and CSV (SPEC-S7), and back again."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from typing import Any, TextIO

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer, RunRecord, RunStatus
from evenhand.domain.verdict import Thresholds, Verdict
from evenhand.reports.csv import COLUMNS, write_csv
from evenhand.reports.json import write_json, write_jsonl
from evenhand.reports.report import Report
from evenhand.reports.safe_text import strict_json
from evenhand.reports.summary import summarize

NASTY = {
    "NUL": "a\x00b",
    "half a surrogate pair": "a\ud800b",
    "right to left": "\u202egnorw",
    "escape": "\x1b]0;title\x07\x1b[2J",
    "line ends": "one\r\ntwo\nthree\rfour\u2028five\x85six",
    "quotes": "she said \"so\" and 'so'",
    "commas": "a,b;c\td",
    "end of CDATA": "a ]]> b",
    "script": "<script>alert(1)</script>",
    "emoji": "👩‍💻 naïve ✓",
    "digits": "9" * 5000,
    "long": "lorem ipsum " * 20_000,
}


def written(write: Callable[[Report, TextIO], None], report: Report) -> str:
    out = io.StringIO(newline="")
    write(report, out)
    return out.getvalue()


def strictly(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    text.encode("utf-8")
    return json.loads(text, parse_constant=refuse)


def rows_of(text: str) -> list[dict[str, Any]]:
    before = csv.field_size_limit(10_000_000)  # for the whole process
    try:
        return list(csv.DictReader(io.StringIO(text, newline="")))
    finally:
        csv.field_size_limit(before)


def report_with(text: str, value: object = None) -> Report:
    """Make a report that has a text, and any value, wherever somebody else's can stand."""
    evaluation = Evaluation.with_score(
        evaluator=text, type="own", score=0.5, verdict=Verdict.FAIL, score_raw=value, hits=(text,), misses=(text,),
        reasoning=text, details={"value": value, text: text}, flags=(text,),
    )  # fmt: skip
    failed = Evaluation.with_error(evaluator="quality", type="own", error=text or "x")
    case = Case(id=text, question=text, candidate_answer=text, cluster=text, metadata={text: value})
    results = [
        CaseResult(position=0, case=case, judgments=(Judgment(evaluation=evaluation, cost=0.0),)),
        CaseResult(position=1, case=case, answers=(MadeAnswer(text=text),), judgments=(Judgment(evaluation=failed),)),
        CaseResult(position=2, case=case, awaited=1),
    ]
    run = RunRecord(number=1, id="r", name=text, status=RunStatus.FINISHED, reason=text, definition={text: value})
    return Report(run=run, summary=summarize(results), results=lambda: results)


# JSONL


def test_jsonl_has_one_line_per_case_in_suite_order(made: Any) -> None:
    report = made.report(made.case(0.9, id="b"), made.case("empty: x", id="a"), made.case(None), made.case(awaited=1))

    rows = [strictly(line) for line in written(write_jsonl, report).splitlines()]

    assert [(row["case_id"], row["status"], row["score"], row["verdict"]) for row in rows] == [
        ("b", "scored", 0.9, "pass"),
        ("a", "error", 0.0, "fail"),
        ("case-3", "not_evaluated", None, None),
        ("case-4", "pending", None, None),
    ]


def test_a_line_has_the_evaluations_whole_and_their_place_in_the_run(made: Any) -> None:
    judgment = made.judgment(0.9, weight=2.0, required=True, sample=3, cost=0.25, attempts=(made.reply("raw"),))

    (row,) = [strictly(line) for line in written(write_jsonl, made.report(made.case(judgment))).splitlines()]

    place = {"weight": 2.0, "required": True, "sample": 3, "cost": 0.25}
    assert row["evaluations"] == [judgment.evaluation.as_dict() | place]
    assert row.keys() == {"case_id", "status", "score", "verdict", "question", "answer", "evaluations"}


def test_a_line_has_the_question_and_the_answer_that_was_judged(made: Any) -> None:
    given = made.case(1.0, input_messages=[{"role": "user", "content": "Capital?"}], candidate_answer="Paris")
    failed = made.case(
        "no_answer: x", question="q", candidate_answer="old", answers=(MadeAnswer(text=None, error="x"),)
    )

    rows = [strictly(line) for line in written(write_jsonl, made.report(given, failed, made.case(None))).splitlines()]

    assert [(row["question"], row["answer"]) for row in rows] == [("Capital?", "Paris"), ("q", None), (None, None)]


def test_a_line_has_what_the_case_brought_and_the_target_made(made: Any) -> None:
    answers = (MadeAnswer(text="Paris", latency=0.5, cost=0.1), MadeAnswer(text="Lyon", sample=1))
    case = made.case(1.0, answers=answers, cluster="eu", metadata={"tier": 1}, context=["a"])

    row = strictly(written(write_jsonl, made.report(case)))

    assert (row["answer"], row["cluster"], row["metadata"]) == ("Paris", "eu", {"tier": 1})
    assert row["context"] == ["a"]
    assert [(one["text"], one["sample"], one["latency"]) for one in row["answers"]] == [
        ("Paris", 0, 0.5),
        ("Lyon", 1, None),
    ]


@pytest.mark.parametrize("name", NASTY)
def test_jsonl_gives_a_nasty_text_back(name: str) -> None:
    text = NASTY[name]

    lines = written(write_jsonl, report_with(text)).splitlines()  # which also ends lines where JSON does not

    rows = [strictly(line) for line in lines]
    assert len(rows) == 3
    assert rows[0]["case_id"] == text.replace("\ud800", "?")
    assert rows[0]["evaluations"][0]["reasoning"] == text.replace("\ud800", "?")
    assert rows[1]["answer"] == text.replace("\ud800", "?")


# JSON


def test_json_has_the_run_its_cases_and_its_numbers(made: Any) -> None:
    report = made.report(
        made.case(1.0), made.case(0.7), made.case("empty: x"), made.case(None), gates={"min_mean": 0.9}
    )

    document = strictly(written(write_json, report))

    assert document.keys() == {"schema_version", "run", "cases", "summary", "gates"}
    assert document["schema_version"] == 1
    assert document["run"]["id"] == "20260102-030405-abcd"
    assert document["run"]["created"] == "2026-01-02T03:04:05.000Z"
    assert [case["status"] for case in document["cases"]] == ["scored", "scored", "error", "not_evaluated"]
    assert document["gates"] == [{"name": "min_mean", "wanted": 0.9, "found": 0.85, "ok": False, "kind": "score"}]
    summary = document["summary"]
    assert {name: summary[name] for name in ("n", "scored", "not_evaluated", "errors", "pass", "borderline", "fail")} == {
        "n": 4, "scored": 2, "not_evaluated": 1, "errors": 1, "pass": 1, "borderline": 1, "fail": 0,
    }  # fmt: skip
    assert (summary["mean"], summary["retries"], summary["cost"]) == (0.85, 0, 0.0)
    assert summary["mean_if_errors_zero"] == pytest.approx(1.7 / 3)
    assert (summary["reasons"], summary["target_errors"]) == ({"There is nothing to judge.": 1}, 0)
    assert summary["interval"].keys() == {"low", "high", "method", "level"}
    assert summary["evaluators"]["quality"]["mean"] == 0.85


def test_an_unknown_cost_is_null(made: Any) -> None:
    document = strictly(written(write_json, made.report(made.case(made.judgment(1.0, cost=None)))))

    assert document["summary"]["cost"] is None
    assert document["cases"][0]["evaluations"][0]["cost"] is None


def test_a_run_without_cases_is_json_too(made: Any) -> None:
    assert strictly(written(write_json, made.report()))["cases"] == []


# CSV


def test_csv_has_a_row_per_case_evaluator_and_sample(made: Any) -> None:
    twice = [made.judgment(0.5, sample=sample) for sample in (0, 1)]
    answers = tuple(MadeAnswer(text=f"answer {sample}", sample=sample) for sample in (0, 1))
    report = made.report(made.case(1.0, "empty: x"), made.case(*twice, answers=answers), made.case(awaited=1))

    rows = rows_of(written(write_csv, report))

    shown = [(row["case_id"], row["evaluator"], row["sample"], row["status"], row["answer"]) for row in rows]
    assert shown == [
        ("case-1", "quality", "0", "scored", ""),
        ("case-1", "second", "0", "error", ""),
        ("case-2", "quality", "0", "scored", "answer 0"),
        ("case-2", "quality", "1", "scored", "answer 1"),
        ("case-3", "", "", "", ""),
    ]
    assert [row["case_status"] for row in rows] == ["error", "error", "scored", "scored", "pending"]


@pytest.mark.parametrize("name", NASTY)
def test_csv_gives_a_nasty_text_back(name: str) -> None:
    text = NASTY[name].replace("\ud800", "?")

    rows = rows_of(written(write_csv, report_with(NASTY[name])))

    assert len(rows) == 3
    assert rows[0]["reasoning"].removeprefix("'" if text[0] == "\u202e" else "") == text
    assert json.loads(rows[0]["hits"]) == [text]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\u200b=1", "\ufeff=1", "＝1", "'=1", "''@x"],
)
def test_a_text_that_a_spreadsheet_might_run_gets_a_quote_in_front(text: str) -> None:
    (row, *_) = rows_of(written(write_csv, report_with(text)))

    assert row["reasoning"] == row["case_id"] == row["question"] == row["evaluator"] == "'" + text


@pytest.mark.parametrize("text", ["1-1", "'tis", " =1", "a@b.c", "(=1)"])
def test_any_other_text_stays_as_it_is(text: str) -> None:
    (row, *_) = rows_of(written(write_csv, report_with(text)))

    assert row["reasoning"] == text


@pytest.mark.parametrize(
    ("value", "cell"),
    [(-3, "-3"), (-0.5, "-0.5"), (True, '"true"'), ("-3", '"\'-3"'), ([1, "=x"], '"[1,""=x""]"'), (None, '""')],
)
def test_numbers_stay_numbers_and_all_else_is_quoted(value: object, cell: str) -> None:
    line = written(write_csv, report_with("x", value)).splitlines()[1]

    before = ",".join(['"x"', '"scored"', "0.5", '"fail"', "0", '"x"', '"own"', '""', '"scored"', "0.5"])
    assert line.startswith(f'{before},{cell},"fail",1.0,"false",')


def test_csv_names_the_judge_of_each_evaluation_and_those_of_a_composites_members(made: Any) -> None:
    members = [{"type": "llm_judge", "details": {"judge": name}} for name in ("openai/one", "xai/two", "openai/one")]
    report = made.report(
        made.case(
            made.judgment(1.0, details={"judge": "openai/one"}),
            made.judgment(1.0, name="jury", details={"members": members}),
            made.judgment(1.0, name="check"),
        )
    )

    rows = rows_of(written(write_csv, report))

    assert [(row["evaluator"], row["judge"]) for row in rows] == [
        ("quality", "openai/one"), ("jury", "openai/one, xai/two"), ("check", ""),
    ]  # fmt: skip


def test_the_columns_are_where_they_were(made: Any) -> None:
    header = written(write_csv, made.report()).strip()

    assert header == ",".join(f'"{column}"' for column in COLUMNS)


# Whatever is in them (REL-J2)

ODD_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.text(st.characters()), ODD_VALUES)
def test_exports_can_be_read_by_the_strictest_reader(text: str, value: object) -> None:
    report = report_with(text, value)

    lines = written(write_jsonl, report).splitlines()
    document = written(write_json, report)
    rows = rows_of(written(write_csv, report))

    assert [orjson.loads(line)["status"] for line in lines] == ["scored", "error", "pending"]
    assert orjson.loads(document)["cases"] == [orjson.loads(line) for line in lines]
    assert strictly(document)["summary"]["n"] == len(rows) == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.nan, "null"),
        ([math.inf, -math.inf, 2**70], f"[null,null,{2**70}]"),
        ({1: {"a": (1, 2)}}, '{"1":{"a":[1,2]}}'),
        ("\ud800", '"?"'),
        ({"\udfff": 2**70}, f'{{"?":{2**70}}}'),
        ("\x7f\x9b\u2028", '"\\u007f\\u009b\\u2028"'),
        (Thresholds, f'"{Thresholds}"'),
    ],
)
def test_what_json_cannot_say_is_said_otherwise(value: object, text: str) -> None:
    assert strict_json(value) == text


def test_a_number_too_long_for_python_is_written_in_hexadecimal() -> None:
    assert strict_json(2**20_000) == f'"{hex(2**20_000)}"'


def test_nesting_that_no_reader_would_follow_is_cut_off() -> None:
    deep: object = "end"
    for _ in range(5000):
        deep = [deep]

    assert "nested too deeply" in strict_json(deep)


def test_keys_can_be_sorted_on_both_ways_through() -> None:
    assert strict_json({"b": 1, "a": 2}, sort_keys=True) == '{"a":2,"b":1}'
    assert strict_json({"b": 2**70, "a": 2}, sort_keys=True) == f'{{"a":2,"b":{2**70}}}'
