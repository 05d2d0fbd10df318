"""Content blocks in suites: files beside the suite are read as text, and what is no text is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand import Case, ConfigError, Contains, evaluate
from evenhand.suites.suite import read_suite
from evenhand.suites.values import MAX_BYTES

Mistakes = Callable[..., list[str]]
Cases = Callable[..., list[Case]]

HEAD = "evaluators: [{type: contains, value: x}]\ncases:\n"
PICTURE = "{type: image_url, image_url: {url: 'https://example.org/a.png'}}"


def suite_with(block: str, key: str = "input") -> str:
    return f"{HEAD}- id: a\n  output: x\n  {key}:\n  - role: assistant\n    content:\n    - Look\n    - {block}\n"


def test_a_file_beside_the_suite_is_read_as_text(cases: Cases) -> None:
    Path("notes").mkdir()
    Path("notes/one.md").write_bytes(b"\xef\xbb\xbf# \xc3\x9cber uns\n")

    (case,) = cases(suite_with("{type: file, value: ./notes/one.md}", "expected_output"))

    assert case.reference_answer == "Look\n\n# Über uns\n"


def test_the_folder_is_that_of_the_suite_and_not_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites/notes.md").write_text("Mine")
    case = {"id": "a", "input": [{"role": "user", "content": [{"type": "file", "value": "notes.md"}]}]}
    (tmp_path / "suites/cases.jsonl").write_text(json.dumps(case))
    (tmp_path / "suites/cases.yaml").write_text("evaluators: [{type: equals}]\n")
    monkeypatch.chdir("/")

    (planned,) = read_suite(tmp_path / "suites/cases.jsonl").cases()

    assert planned.case.question_text == "Mine"


def test_a_link_to_a_file_in_the_folder_is_followed(cases: Cases) -> None:
    Path("real.md").write_text("Real")
    Path("link.md").symlink_to("real.md")

    (case,) = cases(suite_with("{type: file, value: link.md}"))

    assert case.question_text == "assistant: Look\n\nReal"


def hostile_names(folder: Path) -> None:
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "latin").write_bytes(b"line\ncaf\xe9")
    (folder / "huge").write_bytes(b"x" * (MAX_BYTES + 1))
    (folder / "out").symlink_to("/etc/hostname")
    (folder / "up").symlink_to("..")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("missing")


OUTSIDE = "it is not in the folder of the suite; put it there, and write its name as seen from there"
ABSENT = "there is no such file; its name is seen from the folder of the suite"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing.md", f"file 'missing.md': {ABSENT}"),
        ("nowhere", f"file 'nowhere': {ABSENT}"),
        ("folder", "file 'folder': it is a folder; name a file in it"),
        (".", "file '.': it is a folder; name a file in it"),
        ("' '", "file ' ': its name is empty; write it as seen from the folder of the suite"),
        ("pipe", "file 'pipe': it is not a regular file"),
        ("latin", "file 'latin':2: the byte 0xe9 is not UTF-8; save the file as UTF-8"),
        ("huge", "file 'huge':1: what begins here has more than 10 MB; split it"),
        ("out", f"file 'out': {OUTSIDE}"),
        ("up/other.md", f"file 'up/other.md': {OUTSIDE}"),
        ("zero", f"file 'zero': {OUTSIDE}"),
        ("/dev/zero", f"file '/dev/zero': {OUTSIDE}"),
        ("../other.md", f"file '../other.md': {OUTSIDE}"),
        ("loop", "file 'loop': it cannot be read: "),
        (r'"a\0b"', r"file 'a\x00b': it cannot be read: "),
        ("x" * 300, f"file '{'x' * 199}: it cannot be read: File name too long"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_mistake_of_the_case(
    folder: Path, mistakes: Mistakes, name: str, problem: str
) -> None:
    hostile_names(folder)

    (mistake,) = mistakes(suite_with(f"{{type: file, value: {name}}}"))

    assert mistake.startswith(f'suite.yaml:6, case "a": input: message 1, block 2: {problem}')


def test_the_files_of_a_case_are_together_no_larger_than_a_case(folder: Path, mistakes: Mistakes) -> None:
    (folder / "half").write_bytes(b"x" * (MAX_BYTES // 2 + 1))

    (mistake,) = mistakes(suite_with("{type: file, value: half}\n    - {type: file, value: half}"))

    assert mistake.endswith("block 3: file 'half': with it, the files here have more than 10 MB; split the case")


@pytest.mark.parametrize("key", ["input", "question", "expected_output", "reference_answer", "output_messages"])
def test_a_picture_is_a_mistake_of_the_case(mistakes: Mistakes, key: str) -> None:
    (mistake,) = mistakes(suite_with(PICTURE, key))

    assert mistake == (
        f'suite.yaml:6, case "a": {key}: message 1, block 2: image_url is a picture, and only text can be judged; '
        "describe it in words instead"
    )


def test_every_mistake_in_messages_is_found(mistakes: Mistakes) -> None:
    second = f"  - role: user\n    content: [{PICTURE}]\n  - role: usr\n    content: Hi\n"

    found = mistakes(suite_with("{type: hologram}") + second)

    assert [mistake.partition("input: ")[2][:25] for mistake in found] == [
        "message 1, block 2: no bl",
        "message 2, block 1: image",
        "no role 'usr'; did you me",
    ]


def test_a_picture_in_metadata_is_refused_where_the_prompt_of_the_target_uses_it(mistakes: Mistakes) -> None:
    target = "target: {model: ollama/qwen2.5:7b, prompt: '{{ input }} {{ seen }}'}\n"
    case = f"- {{id: a, input: Hi, metadata: {{seen: {PICTURE}, unused: {PICTURE}}}}}\n"

    (mistake,) = mistakes(target + HEAD + case)

    assert mistake.startswith(
        "suite.yaml:4, case \"a\": target: the prompt uses 'seen' of the metadata: image_url is a p"
    )


def test_a_python_case_names_no_files_and_no_pictures() -> None:
    Path("notes.md").write_text("x")
    file = {"id": "a", "output": "x", "input": [{"role": "user", "content": [{"type": "file", "value": "notes.md"}]}]}
    picture = {"id": "b", "output": "x", "input": [{"role": "user", "content": [{"type": "image", "url": "x"}]}]}

    with pytest.raises(ConfigError, match=r"case 'a': input: message 1, block 1: the file 'notes.md' is not read here"):
        evaluate([file], Contains(value="x"), store=None)
    with pytest.raises(ConfigError, match="case 'b': input: message 1, block 1: image is a picture"):
        evaluate([picture], Contains(value="x"), store=None)


def test_the_text_of_a_file_is_part_of_the_case_and_of_its_identity(suite: Callable[..., object]) -> None:
    text = suite_with("{type: file, value: notes.md}").replace("- id: a\n  output", "- output")
    Path("suite.yaml").write_text(text)

    Path("notes.md").write_text("before")
    before = evaluate("suite.yaml", store="runs.db")
    Path("notes.md").write_text("after")
    after = evaluate("suite.yaml", store="runs.db")

    (one,), (other,) = before, after
    assert "before" in (one.case.question_text or "")
    assert "after" in (other.case.question_text or "")
    assert one.id != other.id
