"""Templates are compiled once; whatever becomes of what was kept, they are rendered."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from evenhand.reports.html.compiled import CompiledTemplates


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kept"
    monkeypatch.setattr(sys, "pycache_prefix", str(path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return path


def rendered(source: str = "{{ 6 * seven }}") -> str:
    environment = Environment(loader=DictLoader({"page": source}), autoescape=True, bytecode_cache=CompiledTemplates())
    return environment.get_template("page").render(seven=7)


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("template-*") if path.is_file()]


def test_a_template_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = rendered()
    (file,) = kept(folder)
    monkeypatch.setattr(Environment, "compile", lambda *_: pytest.fail("it was compiled again"))

    assert (first, rendered()) == ("42", "42")
    assert kept(folder) == [file]


def test_a_template_that_has_changed_is_compiled_again(folder: Path) -> None:
    assert [rendered(), rendered("{{ seven }}"), rendered()] == ["42", "7", "42"]
    assert len(kept(folder)) == 1


@pytest.mark.parametrize("content", [b"", b"j2", b"something else"])
def test_a_damaged_file_is_replaced(folder: Path, content: bytes) -> None:
    rendered()
    (file,) = kept(folder)
    whole = file.read_bytes()
    file.write_bytes(content or whole[: len(whole) // 2])

    assert rendered() == "42"
    assert file.read_bytes() == whole


def test_nothing_is_kept_where_python_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    assert rendered() == "42"
    assert kept(folder) == []


def test_a_folder_that_cannot_be_made_is_done_without(folder: Path) -> None:
    folder.write_text("a file", encoding="utf-8")

    assert rendered() == "42"
