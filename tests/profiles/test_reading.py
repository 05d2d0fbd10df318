"""Profiles from files, folders and programs: read bit by bit, and every mistake told with its place."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand import ConfigError, Profile
from evenhand.engine.compact_sets import IdSet
from evenhand.profiles.sources import profiles_from


def made(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(given: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        list(profiles_from(given))
    return str(raised.value)


def test_lines_of_json_are_profiles_and_what_is_unknown_is_an_attribute(tmp_path: Path) -> None:
    lines = [
        '{"id": "anna", "text": "A nurse.", "city": "Graz", "attributes": {"age": 40}, "cluster": "c"}',
        "",
        '{"text": "A baker."}',
    ]
    path = made(tmp_path / "people.jsonl", "\ufeff" + "\r\n".join(lines))

    found = list(profiles_from(path))

    assert found == [
        Profile(id="anna", text="A nurse.", attributes={"age": 40, "city": "Graz"}, cluster="c"),
        Profile(id="profile-2", text="A baker."),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.ndjson", '{"id": "anna", "text": "A nurse.", "city": "Graz"}\n{"text": "A baker."}\n'),
        ("people.json", '\ufeff[\n{"id": "anna", "text": "A nurse.", "city": "Graz"},\n{"text": "A baker."}]'),
        ("PEOPLE.JSON", '[{"id": "anna", "text": "A nurse.", "attributes": {"city": "Graz"}}, "A baker."]'),
    ],
)
def test_json_by_other_names_and_a_list_of_it_are_profiles_too(name: str, content: str, tmp_path: Path) -> None:
    path = made(tmp_path / name, content)

    found = list(profiles_from(path))

    assert found == [
        Profile(id="anna", text="A nurse.", attributes={"city": "Graz"}),
        Profile(id="profile-2", text="A baker."),
    ]


def test_rows_of_a_table_are_profiles_and_other_columns_are_attributes(tmp_path: Path) -> None:
    path = made(tmp_path / "people.csv", 'city,id,text,cluster\nGraz,anna,"A nurse,\nat night.",\n\n,ben,A baker.,c\n')

    found = list(profiles_from(str(path)))

    assert found == [
        Profile(id="anna", text="A nurse,\nat night.", attributes={"city": "Graz"}),
        Profile(id="ben", text="A baker.", attributes={"city": ""}, cluster="c"),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"id": 7, "text": "A nurse."}'),
        ("a.csv", "id,text\n7,A nurse.\n"),
        ("a.csv", "ID,Text\n7,A nurse.\n"),
        ("a.csv", "Id;TEXT\n7;A nurse.\n"),
        ("a.csv", "sep=;\nid;text\n7;A nurse.\n"),
        ("a.tsv", "id\ttext\n7\tA nurse.\n"),
    ],
)
def test_numbers_are_ids_and_tables_are_read_as_spreadsheets_write_them(
    name: str, content: str, tmp_path: Path
) -> None:
    assert list(profiles_from(made(tmp_path / name, content))) == [Profile(id="7", text="A nurse.")]


def test_numbers_of_a_program_are_ids() -> None:
    numpy = pytest.importorskip("numpy")

    found = list(profiles_from([{"id": 7, "text": "A nurse."}, {"id": numpy.int64(8), "text": "A baker."}]))

    assert [one.id for one in found] == ["7", "8"]


def test_parquet_has_profiles_with_numbers_for_ids(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"ID": [7, 8], "Text": ["A nurse.", "A baker."], "city": ["Graz", None]})
    parquet.write_table(table, tmp_path / "people.parquet")

    found = list(profiles_from(tmp_path / "people.parquet"))

    assert found == [
        Profile(id="7", text="A nurse.", attributes={"city": "Graz"}),
        Profile(id="8", text="A baker.", attributes={"city": None}),
    ]


def test_a_cell_may_be_as_long_as_a_profile(tmp_path: Path) -> None:
    text = "word " * 300_000
    path = made(tmp_path / "long.csv", f'id,text\na,"{text}\nend"\nb,{text}\n')

    assert [len(one.text) for one in profiles_from(path)] == [len(text) + 4, len(text)]


def test_a_link_that_leads_out_of_a_folder_is_refused_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    made(tmp_path / "secret.txt", "A password.")
    made(folder / "anna.txt", "A nurse.")
    (folder / "ben.txt").symlink_to("anna.txt")

    assert [one.id for one in profiles_from(folder)] == ["anna.txt", "ben.txt"]

    (folder / "cleo.txt").symlink_to(tmp_path / "secret.txt")

    told = refused(folder)
    assert "cleo.txt: a symbolic link that leads out of the folder" in told
    assert "copy the file into the folder" in told


def test_a_folder_may_be_a_link_itself(tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    made(tmp_path / "people" / "anna.txt", "A nurse.")
    (tmp_path / "link").symlink_to("people")

    assert [one.id for one in profiles_from(tmp_path / "link")] == ["anna.txt"]


def test_files_of_a_folder_are_profiles_by_their_names_in_order(tmp_path: Path) -> None:
    made(tmp_path / "ben.md", "A baker.\n")
    made(tmp_path / "anna.txt", "A nurse.\nAt night.\n")
    made(tmp_path / ".hidden", b"\xff")

    found = list(profiles_from(tmp_path))

    assert [(one.id, one.text) for one in found] == [("anna.txt", "A nurse.\nAt night.\n"), ("ben.md", "A baker.\n")]


def test_a_program_gives_profiles_mappings_and_texts() -> None:
    given: list[Any] = [
        Profile(id="anna", text="A nurse."),
        {"id": "ben", "text": "A baker.", "city": "Linz"},
        "A smith.",
    ]

    assert [one.id for one in profiles_from(given)] == ["anna", "ben", "profile-3"]
    assert [one.id for one in profiles_from(given[0])] == ["anna"]
    assert [one.attributes for one in profiles_from({"text": "A baker.", "city": "Linz"})] == [{"city": "Linz"}]


def test_profiles_are_taken_one_at_a_time() -> None:
    def endless() -> Iterator[str]:
        for number in itertools.count():
            yield f"Person {number}."

    found = list(itertools.islice(profiles_from(endless()), 3))

    assert [one.text for one in found] == ["Person 0.", "Person 1.", "Person 2."]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.jsonl", '{"id": "x", "text": "a"}\n{"id": "y", "text": ', "a.jsonl:2: not JSON"),
        ("a.jsonl", '{"id": "x", "id": "y", "text": "a"}', "a.jsonl:1: duplicate key in an object"),
        ("a.jsonl", '\n["x"]', "a.jsonl:2: a profile is an object with id and text, not ['x']"),
        ("a.jsonl", '{"id": "x"}', "a.jsonl:1: the profile has no text"),
        ("a.jsonl", '{"id": "x", "text": " "}', "a.jsonl:1: profile 'x': its text is empty"),
        ("a.jsonl", '{"id": true, "text": "a"}', "a.jsonl:1: profile: id must be text or a whole number, not True"),
        ("a.jsonl", '{"id": 7.5, "text": "a"}', "a.jsonl:1: profile: id must be text or a whole number, not 7.5"),
        ("a.jsonl", '{"id": 7, "text": "a"}\n{"id": "7", "text": "b"}', "a.jsonl:2: duplicate id '7', first in "),
        ("a.jsonl", '{"ID": 7, "Text": "a"}', "the profile has no text; 'Text' must be written text"),
        ("a.jsonl", '{"text": "a", "attributes": 1}', "a.jsonl:1: attributes must be an object, not 1"),
        ("a.jsonl", '{"text": "a", "b": 1, "attributes": {"b": 2}}', "a.jsonl:1: 'b' is both a field and an attribute"),
        ("a.jsonl", '{"id": "x", "text": "a"}\n\n{"id": "x", "text": "b"}', "a.jsonl:3: duplicate id 'x', first in "),
        ("a.jsonl", b'{"text": "a"}\n{"text": "\xe4"}', "a.jsonl:2: the byte 0xe4 is not UTF-8"),
        ("a.jsonl", "\n \n", "a.jsonl: there are no profiles"),
        ("a.csv", "", "a.csv: the file is empty; the first line names the columns, such as id,text"),
        ("a.csv", "id,words\nx,a\n", "a.csv:1: the first line names the columns, and none of them is text"),
        ("a.csv", "text,id,id\na,x,y\n", "a.csv:1: columns 2 and 3 have the same name, 'id'; rename one"),
        ("a.csv", "id,ID,text\na,x,y\n", "a.csv:1: columns 'id' and 'ID' both name the id; rename or remove one"),
        ("a.csv", "id;TEXT;Text\na;x;y\n", "a.csv:1: columns 'TEXT' and 'Text' both name the text; rename or"),
        ("a.csv", "id,te;xt\na,x\n", "a.csv:1: the first line has commas and semicolons, and it cannot be told which"),
        ("a.csv", "id,text\nx,a\ny,b,c\n", "a.csv:3: this row has 3 cells, and the first line names 2 columns"),
        ("a.csv", "id,text\nx,a\n,b\n", "a.csv:3: profile '': an id has"),
        ("a.csv", "id,text\nx,a\nx,b\n", "a.csv:3: duplicate id 'x', first in "),
        ("a.csv", 'id,text\nx,"a', "a.csv:2: a quote is opened in this row and never closed"),
        ("a.csv", f"id,text\nx,{'a' * 11_000_000}\n", "a.csv:2: what begins here has more than 10 MB; split it"),
        ("a.jsonl", f'{{"text": "{"a" * 10_000_001}"}}', "a.jsonl:1: this line has more than 10 MB; split it"),
        ("a.json", "[]", "a.json: there are no profiles"),
        ("a.json", "", "a.json: the file is empty; a file of profiles is a list"),
        ("a.json", '{"text": "a"}', "a.json:1: a file of profiles is a list, not a mapping"),
        ("a.json", '[\n{"text": "a"},\n{"id": "x"}]', "a.json:3: the profile has no text"),
        ("a.json", '[\n{"text": "a", "text": "b"}]', "a.json:2: duplicate key 'text'"),
        ("a.jsonl", '{"text": "a", "age": NaN}', "a.jsonl:1: NaN is not JSON; write null for a value that is missing"),
        ("a.jsonl", '{\n"text": "a"}', "Expecting property name enclosed in double quotes; write one profile per line"),
        ("a.jsonl", '{"text": "a"} {"text": "b"}\n', "Extra data; write one profile per line"),
        ("a.json", '[{"text": "a", "age": NaN}]', "a.json:1: NaN is not JSON; write null, or a finite number"),
        ("a.json", '[{"text": "a"}\n', "a.json:2:1: not JSON: expected a comma or ]"),
        ("a.xml", "<a/>", "a.xml: profiles come from a .jsonl, .json, .csv, .tsv or .parquet file, or from a folder"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_told_with_file_and_line(
    name: str, content: str | bytes, told: str, tmp_path: Path
) -> None:
    path = made(tmp_path / name, content)

    assert told in refused(path)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"text": "a", "text": "b"}', "a.jsonl:1: duplicate key in an object: 'text'"),
        ('{"text": "a",}', "a.jsonl:1: not JSON at column 14: Expecting property name enclosed in double quotes"),
    ],
)
def test_only_what_is_the_problem_is_advised(line: str, told: str, tmp_path: Path) -> None:
    assert refused(made(tmp_path / "a.jsonl", line)).endswith(told)


def test_what_is_no_text_in_a_folder_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    made(tmp_path / "anna.txt", "A nurse.")
    made(tmp_path / "ben.pdf", "%PDF")

    assert "ben.pdf: not a .txt or .md file" in refused(tmp_path)


def test_a_folder_in_a_folder_is_called_that(tmp_path: Path) -> None:
    made(tmp_path / "anna.txt", "A nurse.")
    (tmp_path / "sub").mkdir()

    assert f"{tmp_path}: sub is a folder; keep only .txt and .md files here" in refused(tmp_path)


def test_an_empty_text_in_a_folder_is_named(tmp_path: Path) -> None:
    made(tmp_path / "anna.txt", "\n")

    assert "anna.txt: profile 'anna.txt': its text is empty" in refused(tmp_path)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "profiles: there are no profiles"),
        (7, "profiles must be a path, or a list of Profile, mappings or texts, not 7"),
        (["A", 7], "profile 2: a profile is an object with id and text, not 7"),
        ([{"id": "a", "text": "A"}, {"id": "a", "text": "B"}], "profile 2: duplicate id 'a', first in profile 1"),
        ("nowhere.jsonl", "nowhere.jsonl: it cannot be read: No such file"),
        ("nowhere", "nowhere: there is no such file or folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_profiles_is_refused(given: Any, told: str) -> None:
    assert told in refused(given)


def test_of_what_can_be_read_but_once_a_double_is_refused_without_its_first_place() -> None:
    given = ({"id": "a", "text": text} for text in ("A", "B"))

    assert refused(given).endswith("profile 2: duplicate id 'a'")


def test_ids_that_only_look_alike_in_memory_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IdSet, "add", lambda *_: True)

    assert [one.id for one in profiles_from([{"id": "a", "text": "A"}, {"id": "b", "text": "B"}])] == ["a", "b"]


@pytest.mark.long
def test_the_ids_of_a_file_take_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"id": "profile-{number}", "text": "a"}}\n' for number in range(20_000)))
    tracemalloc.start()
    try:
        assert sum(1 for _ in profiles_from(path)) == 20_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1_500_000
