"""Reading a ``.env`` file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evenhand.cli.settings import MAX_BYTES, load_env_file, read_env_file
from evenhand.domain.errors import ConfigError


def read(folder: Path, text: str | bytes) -> dict[str, str]:
    path = folder / ".env"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return dict(read_env_file(path))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("NAME=value", "value"),
        ("  NAME = value  ", "value"),
        ("export NAME=value", "value"),
        ("NAME=", ""),
        ("NAME=a value with spaces", "a value with spaces"),
        ("NAME=value # a comment", "value"),
        ("NAME=sk-1#2", "sk-1#2"),
        ("NAME=# nothing but a comment", ""),
        ("NAME='single $X \\n # as it stands'", "single $X \\n # as it stands"),
        ('NAME="double \\"quoted\\"\\n# \\$X"  # a comment', 'double "quoted"\n# $X'),
        ("NAME=$OTHER", "$OTHER"),
        ("NAME=a=b", "a=b"),
        ("NAME=größer", "größer"),
        ("NAME=value\r", "value"),
        ("\ufeffNAME=value", "value"),
    ],
)
def test_a_line_means_what_one_thinks(folder: Path, line: str, value: str) -> None:
    assert read(folder, f"# first\n\n{line}\n"[0 if line[0] != "\ufeff" else 9 :]) == {"NAME": value}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("sk-topsecret", "a line must be NAME=value"),
        ("1NAME=topsecret", "a line must be NAME=value"),
        ("NAME='topsecret", "NAME: the quote ' is not closed"),
        ('NAME="topsecret', 'NAME: the quote " is not closed'),
        ("NAME='topsecret' and more", "NAME: the quote ' is not closed on this line, or text follows"),
        ('NAME="\\q topsecret"', "NAME: unknown escape \\q"),
        ("NAME=top\0secret", "NAME contains a null byte"),
        ("FIRST=topsecret", "duplicate variable FIRST"),
    ],
)
def test_a_bad_line_is_named_and_its_value_is_not_shown(folder: Path, line: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(folder, f"FIRST=1\n{line}\n")

    assert f"{folder / '.env'}:2: " in str(caught.value)
    assert told in str(caught.value)
    assert "topsecret" not in str(caught.value)


def test_a_file_that_is_not_text_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.env:2: not UTF-8"):
        read(folder, b"A=1\nB=\xff\n")
    with pytest.raises(ConfigError, match="larger than 1,000,000 bytes"):
        read(folder, b"#" * (MAX_BYTES + 1))


def test_what_is_set_is_never_overridden_not_even_by_something_else_than_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SET", "mine")
    monkeypatch.setenv("EMPTY", "")
    (folder / ".env").write_text("SET=theirs\nEMPTY=theirs\nNEW=theirs\n")

    added = load_env_file(folder / ".env")

    assert added == ["NEW"]
    assert (os.environ["SET"], os.environ["EMPTY"], os.environ["NEW"]) == ("mine", "", "theirs")
