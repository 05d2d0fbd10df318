"""Files that cannot be written are refused before anybody is asked, by every command that asks a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SUITE = "judge: openai/gpt-5-mini\nevaluators: [{type: llm_judge}]\ncases: [{id: a, candidate_answer: b, expected_outcome: c}]\n"
DESIGN = {
    "template": "{name}", "factors": {"name": ["Anna", "Ben"]}, "groups": ["name"], "criteria": "x",
    "judge": "openai/gpt-5-mini",
}  # fmt: skip
SCORED = ("people.jsonl", "--criteria", "x", "--judge", "openai/gpt-5-mini")
COMMANDS: list[tuple[str, ...]] = [
    ("run", "suite.yaml"),
    ("score", *SCORED),
    ("rank", *SCORED),
    ("audit", "design.yaml"),
    ("doctor", "openai/gpt-5-mini"),
    ("drift", "last"),
    ("tune", "last"),
    ("calibrate", "last"),
]


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    (folder / "notes.txt").write_text("Mine.")
    (folder / "out.html").mkdir()
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "other.yaml").write_text(SUITE)
    (folder / "design.yaml").write_text(json.dumps(DESIGN))
    (folder / "people.jsonl").write_text('{"text": "A"}\n{"text": "B"}\n')


@pytest.mark.parametrize("words", COMMANDS, ids=[words[0] for words in COMMANDS])
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("notes.txt/x.html", "notes.txt/x.html: notes.txt is a file, not a folder; name another folder"),
        ("notes.txt/a/b/x.html", "notes.txt is a file, not a folder"),
        ("out.html", "out.html: this is a folder; name a file in it, such as out.html/report.html"),
    ],
)
def test_a_place_for_no_file_is_refused_first(command: Any, words: tuple[str, ...], path: str, told: str) -> None:
    done = command(*words, "-o", path)

    assert done.code == 2
    assert told in " ".join(done.err.split())


def test_so_is_one_for_each_of_several_suites(command: Any, folder: Path) -> None:
    (folder / "suite").write_text("Mine.")

    done = command("run", "other.yaml", "suite.yaml", "-o", "{suite}/x.html")

    assert done.code == 2
    assert "suite/x.html: suite is a file, not a folder" in done.err


def test_so_is_one_for_artifacts(command: Any) -> None:
    done = command("audit", "design.yaml", "--artifacts", "notes.txt/kept")

    assert done.code == 2
    assert "notes.txt is a file, not a folder" in done.err
