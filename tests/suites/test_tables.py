"""CSV and TSV: what spreadsheets write is read row by row, and what could be two things is refused."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from evenhand import Contains, evaluate
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import problems, read_suite
from evenhand.suites.tables import read_table

SUITE = "evaluators: [{type: contains, value: x}]\ncases: data.csv\n"


def read(content: str | bytes, *, name: str = "data.csv", more: str = "") -> list[Case]:
    written(content, name, more)
    return [planned.case for planned in read_suite("suite.yaml").cases()]


def mistakes(content: str | bytes, *, name: str = "data.csv", more: str = "") -> list[str]:
    written(content, name, more)
    return problems("suite.yaml")


def written(content: str | bytes, name: str, more: str) -> None:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    Path("suite.yaml").write_text(SUITE.replace("data.csv", name) + more, encoding="utf-8")


ROWS = [
    Case(id="1", question="Capital, please?", candidate_answer="Paris"),
    Case(id="007", question='Say "hi"\nand more', candidate_answer="5"),
]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", 'id,input,output\n1,"Capital, please?",Paris\n007,"Say ""hi""\nand more",5\n'),
        ("data.csv", '\ufeffid;input;output\r\n1;Capital, please?;Paris\r\n007;"Say ""hi""\nand more";5\r\n'),
        ("data.csv", 'sep=;\r\nid;input;output\r\n1;Capital, please?;Paris\r\n007;"Say ""hi""\nand more";"5"'),
        ("data.csv", 'id\tinput\toutput\n1\tCapital, please?\tParis\n007\t"Say ""hi""\nand more"\t5\n'),
        ("data.csv", 'id|input|output\n\n1|Capital, please?|Paris\n||\n007|"Say ""hi""\nand more"|5\n\n'),
        ("data.tsv", 'id\tinput\toutput\n1\tCapital, please?\tParis\n007\t"Say ""hi""\nand more"\t5\n'),
        ("DATA.CSV", '"id","input","output"\n"1","Capital, please?","Paris"\n007,"Say ""hi""\nand more",5\n'),
    ],
)
def test_what_spreadsheets_write_is_the_same_cases(name: str, content: str) -> None:
    assert read(content, name=name) == ROWS


def test_the_line_of_a_case_is_the_one_where_its_row_begins() -> None:
    written('id,input,output\na,"1\n2\n3",x\n\nb,"4\n5",x\nc,6,x\n', "data.csv", "")

    assert [planned.line for planned in read_suite("suite.yaml").cases()] == [2, 6, 8]


def test_line_ends_within_a_cell_stay_as_they_are() -> None:
    assert [case.candidate_answer for case in read('output,id\r\n"a\r\nb\nc",1\r\n')] == ["a\r\nb\nc"]


def test_columns_are_the_keys_of_a_case_and_further_ones_are_metadata() -> None:
    row = {
        "id": "a",
        "input": '["not", "JSON"]',
        "candidate_answer": "42",
        "reference_answer": "42.0",
        "rubrics": '["Names Paris", {"id": "b", "description": "Is kind"}]',
        "evaluators": '[{"type": "llm_judge", "name": "own"}]',
        "metadata": '{"deep": [1, 2]}',
        "output_messages": '[{"role": "assistant", "content": "42"}]',
        "evaluation_schema": '{"type": "object"}',
        "latency": " 1.5",
        "cost": "2",
        "topic": "7",
        "question_id": "x",
    }
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(row)
    writer.writerow(row.values())

    (case,) = read(table.getvalue())

    assert (case.question, case.candidate_answer, case.reference_answer) == ('["not", "JSON"]', "42", "42.0")
    assert [getattr(item, "description", item) for item in case.rubrics] == ["Names Paris", "Is kind"]
    assert case.metadata == {"deep": [1, 2], "topic": "7", "question_id": "x"}
    assert (case.latency, case.cost, case.evaluation_schema) == (1.5, 2, '{"type": "object"}')
    assert getattr(case.output_messages[0], "content", None) == "42"


def test_an_empty_cell_is_a_missing_value() -> None:
    (case,) = read("id,input,output,criteria,cost,topic\n,,Paris,,,\n")

    assert (case.question, case.expected_outcome, case.cost, dict(case.metadata)) == (None, None, None, {})
    assert str(case.id).startswith("case-")


def test_an_empty_answer_is_refused_unless_a_target_makes_answers() -> None:
    table = "id,input,output\na,Why?,\n"

    assert mistakes(table) == [
        'data.csv:2, case "a": output is missing; give text, leave out the row, or give a target that makes answers'
    ]
    (case,) = read(table, more="target: {command: [app]}\n")
    assert case.candidate_answer is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "data.csv: the file is empty; the first line names the columns, such as input"),
        ("\n\n", "data.csv: the file is empty; the first line names the columns, such as input"),
        ("id,,input\n", "data.csv:1: column 2 has no name; the first line names the columns: name it, or remove it"),
        ("id,input,id\n", "data.csv:1: columns 1 and 3 have the same name, 'id'; rename one"),
        ("1,What?,Paris\n2,Who?,Rome\n", "data.csv:1: the first line must name the columns, and none is a key of a case, such as input or candidate_answer: '1', 'What?', 'Paris'; map them with columns, such as columns: {input: 1}"),
        ("id,input;x\n", "data.csv:1: the first line has commas and semicolons, and it cannot be told which separate the columns; write names that contain one in quotes, or sep=, in a line before it"),
        ("id,inptu\n1,2\n", "data.csv:1: no key 'inptu'; did you mean 'input'?"),
        ("id,output,ground_truth\n1,2,3\n", "data.csv:1: no key 'ground_truth'; it is called 'reference_answer' here, or write columns: {reference_answer: ground_truth}"),
        ("id,input\na,b,c\nd,e\n", "data.csv:2, case 1: this row has 3 cells, and the first line names 2 columns; a cell that contains ',' must be in quotes"),
        ("id;input\na\n", "data.csv:2, case 1: this row has 1 cell, and the first line names 2 columns; 'input' is the first without one; a cell that contains ';' must be in quotes"),
        ('id,input\nx,y\na,"b\nc,d\n', "data.csv:3, case 2: a quote is opened in this row and never closed"),
        ('id,input\na,"b"c\nc,d\n', "data.csv:2, case 1: cell 2 goes on after its closing quote; double the quotes in it, and quote it as a whole"),
        ("id,input\na,b\0\n", "data.csv:2, case 1: this row contains the character NUL; is the file text, in UTF-8?"),
        ("id,input\na,b\rc,d\n", "data.csv:2, case 1: a carriage return that ends no line; save the file with usual line ends, or quote the cell"),
        ("id,rubrics\na,Is kind\n", 'data.csv:2, case "a": rubrics must be JSON, such as ["Names Paris"]: column 1: not JSON: Is is not JSON; put text in double quotes'),
        ('id,metadata\na,"{""a"": 1, ""a"": 2}"\n', 'data.csv:2, case "a": metadata must be JSON, such as {"topic": "geography"}: duplicate key \'a\'; first in line 2'),
        ("id,cost\na,\"1,5\"\n", "data.csv:2, case \"a\": cost must be a number, 0 or more, not '1,5'"),
        ("id,cost\na,1_0\n", "data.csv:2, case \"a\": cost must be a number, 0 or more, not '1_0'"),
        ("id,cost\na,nan\n", "data.csv:2, case \"a\": cost must be a number, 0 or more, not 'nan'"),
        ("id,input\na,x\na,y\n", 'data.csv:3, case "a": duplicate id, first in line 2; ids must differ'),
        ("id,input\n", "data.csv: there are no cases; list some"),
        ("id,input\nx,caf\u00e9\n".encode("cp1252"), "data.csv:2: the byte 0xe9 is not UTF-8 (it looks like Windows-1252); save the file as UTF-8"),
        ("id,input\n".encode("utf-16"), "data.csv: this looks like UTF-16; save it as UTF-8"),
        ("id,input\n".encode("utf-16-le"), "data.csv: this looks like UTF-16; save it as UTF-8"),
        (b"PK\x03\x04rest", "data.csv: this is a zip file or an Excel workbook, whatever its name; export it as CSV (UTF-8), or unpack it"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "data.csv: this is an Excel workbook, whatever its name; export it as CSV (UTF-8)"),
        (b"\x1f\x8b\x08rest", "data.csv: this is packed by gzip, whatever its name; unpack it"),
        (b"PAR1rest", "data.csv: this is a Parquet file; name it .parquet"),
    ],
)  # fmt: skip
def test_what_is_no_table_of_cases_is_refused_with_its_place(content: str | bytes, told: str) -> None:
    assert mistakes(content)[0] == told


def test_a_row_that_is_wrong_does_not_hide_the_next() -> None:
    told = mistakes('id,latency\na,1,2\nb,"x"y\nc,z\nd,1\n')

    assert [message.partition(",")[0] for message in told] == ["data.csv:2", "data.csv:3", "data.csv:4"]


@pytest.mark.slow
def test_a_row_has_a_bound_and_a_quote_that_is_never_closed_is_suspected() -> None:
    told = mistakes('id,input\na,b\nc,"' + f"{'d' * 99}\n" * 102_000)

    assert told == [
        "data.csv:3: what begins here has more than 10 MB; split it; perhaps a quote in it is never closed",
    ]


@pytest.mark.slow
def test_many_rows_take_less_than_two_megabytes() -> None:
    with Path("data.csv").open("w", encoding="utf-8") as file:
        file.write("id,input,output,topic\n")
        file.writelines(f'{number},"What is number {number}?",It is x.,numbers\n' for number in range(10_000))
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")
    next(read_suite("suite.yaml").cases())  # so that what is imported does not count

    tracemalloc.start()
    count = sum(1 for _ in read_suite("suite.yaml").cases())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 10_000
    assert peak < 2_000_000


# The writer puts a carriage return alone into no quotes.
CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=8)


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=5),
    delimiter=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_what_the_standard_library_writes_is_read_as_it_was(
    rows: list[tuple[str, str, str]], delimiter: str, end: str, quoting: Any
) -> None:
    table = io.StringIO()
    writer = csv.writer(table, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([("id", "input", "output"), *rows])
    Path("data.csv").write_bytes(table.getvalue().encode())

    found = list(read_table(Path("data.csv"), lambda names: None))

    assert [tuple((piece.value or {}).values()) for piece in found] == rows


COLUMNS = "columns: {input: q, reference_answer: gold, metadata.lang: language}\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", "id,q,gold,language,output\na,Why?,So.,en,x\n"),
        ("data.jsonl", '{"id": "a", "q": "Why?", "gold": "So.", "language": "en", "output": "x"}\n'),
        ("data.json", '[{"id": "a", "q": "Why?", "gold": "So.", "language": "en", "output": "x"}]'),
        ("more.yaml", "- {id: a, q: Why?, gold: So., language: en, output: x}\n"),
    ],
)
def test_columns_says_which_column_is_which_key(name: str, content: str) -> None:
    (case,) = read(content, name=name, more=COLUMNS)

    assert case == Case(id="a", question="Why?", reference_answer="So.", candidate_answer="x", metadata={"lang": "en"})


def test_with_columns_further_keys_of_lines_are_metadata_too() -> None:
    (case,) = read('{"q": "Why?", "topic": "t"}\n', name="data.jsonl", more="columns: {input: q}\n")

    assert (case.question, case.metadata) == ("Why?", {"topic": "t"})


def test_a_column_in_whose_place_another_is_given_is_metadata() -> None:
    (case,) = read("input,text,output\nold,new,x\n", more="columns: {input: text}\n")

    assert (case.question, case.metadata) == ("new", {"input": "old"})


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("{inputt: q}", "suite.yaml:3: columns: a case has no key 'inputt'; did you mean 'input'?"),
        ("{input: q, question: gold}", "suite.yaml:3: columns: input and question are two names for the same thing; give one"),
        ("{input: q, criteria: q}", "suite.yaml:3: columns: 'q' is given for input and for criteria; give it once"),
        ("{input: 3}", "suite.yaml:3: columns: input must be the name of a column, not 3"),
        ("[q]", "suite.yaml:3: columns must be a mapping of keys of a case to columns, such as {input: question}"),
        ("{input: qq}", "data.csv:1: columns: there is no column 'qq' for input; did you mean 'q'?"),
        ("{input: nothing}", "data.csv:1: columns: there is no column 'nothing' for input; known: id, q, output"),
    ],
)  # fmt: skip
def test_columns_that_are_wrong_are_refused(columns: str, told: str) -> None:
    found = mistakes("id,q,output\na,Why?,x\n", more=f"columns: {columns}\n")

    assert found == [told]


def test_a_column_that_no_line_has_is_refused() -> None:
    found = mistakes('{"q": "Why?", "gold": "x"}\n', name="data.jsonl", more="columns: {input: q, criteria: godl}\n")

    assert found[-1] == "suite.yaml: columns: no case has 'godl' for expected_outcome; did you mean 'gold'?"


def test_a_name_that_the_metadata_would_have_twice_is_refused() -> None:
    found = mistakes("input,lang,language\na,b,c\n", more="columns: {metadata.lang: language}\n")

    assert found == ["data.csv:2, case 1: 'lang' is in the metadata twice; give it once"]


def test_columns_are_part_of_the_definition() -> None:
    written("id,q\na,Why?\n", "data.csv", "columns: {input: q}\n")

    assert read_suite("suite.yaml").definition["columns"] == {"input": "q"}


@pytest.mark.parametrize("path", ["data.csv", "da*.csv"])
def test_a_table_needs_no_suite_in_python(path: str) -> None:
    Path("data.csv").write_text("id,q,output,topic\n1,Why?,xyz,t\n2,Who?,abc,\n", encoding="utf-8")

    run = evaluate(path, Contains(value="x"), columns={"input": "q"}, store=None)

    assert {one.id: (one.case.question, dict(one.case.metadata), one.outcome.score) for one in run} == {
        "1": ("Why?", {"topic": "t"}, 1.0),
        "2": ("Who?", {}, 0.0),
    }
    assert run.record.definition["columns"] == {"input": "q"}


def test_columns_in_python_are_for_mappings_too() -> None:
    rows: list[dict[str, Any]] = [{"q": "Why?", "response": "x"}]

    (result,) = evaluate(rows, Contains(value="x"), columns={"input": "q", "output": "response"}, store=None)

    assert (result.case.question, result.case.candidate_answer) == ("Why?", "x")


@pytest.mark.parametrize(
    ("cases", "columns", "told"),
    [
        ([{"output": "x", "q": "?"}], {"input": "p"}, "columns: no case has 'p' for input; known: output, q"),
        ([{"output": "x"}], {"inputt": "p"}, "columns: a case has no key 'inputt'; did you mean 'input'?"),
        ("suite.yaml", {"input": "p"}, "columns: a suite says itself which columns its cases have; write columns into the suite"),
    ],
)  # fmt: skip
def test_wrong_columns_are_refused_in_python(cases: Any, columns: dict[str, str], told: str) -> None:
    Path("data.csv").write_text("id\na\n", encoding="utf-8")
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")

    with pytest.raises(ConfigError) as raised:
        evaluate(cases, Contains(value="x"), columns=columns, store=None)

    assert str(raised.value) == told


def test_ids_must_differ_over_all_files_in_python_too() -> None:
    Path("a.csv").write_text("id,output\n1,x\n", encoding="utf-8")
    Path("b.csv").write_text("id,output\n2,x\n1,x\n", encoding="utf-8")

    with pytest.raises(ConfigError) as raised:
        evaluate("*.csv", Contains(value="x"), store=None)

    assert str(raised.value) == 'b.csv:3, case "1": duplicate id, first in a.csv:2; ids must differ'


def test_rows_mean_the_same_wherever_they_come_from() -> None:
    row = {"id": "a", "input": "Why?", "output": "x", "topic": "t", "rubrics": '["Is kind"]', "latency": "1.5"}
    table = io.StringIO()
    csv.writer(table).writerows([row, row.values()])

    Path("rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (from_python,) = (one.case for one in evaluate([row], Contains(value="x"), judge=lambda _: "", store=None))
    (from_lines,) = (one.case for one in evaluate("rows.jsonl", Contains(value="x"), judge=lambda _: "", store=None))

    assert [from_python] == [from_lines] == read(table.getvalue())
