"""`evenhand models`: what is told, on which stream, and with which exit code."""

from __future__ import annotations

import hashlib
import os
import random
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evenhand.cli.commands.models
from evenhand.cli.console import Console
from evenhand.models.embedded.catalogue import MODELS, KnownModel, Part, Quality
from evenhand.models.embedded.download import LocalFile, Wheels

pytestmark = pytest.mark.slow  # many small ones, which together would take the fast tests beyond their minute

CONTENT = b"GGUF" + random.Random(7).randbytes(99_996)


@pytest.fixture
def kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for models, while one of noise is all that is known and no source is beyond this machine."""
    model = KnownModel(
        name="tiny",
        title="Tiny, of noise",
        licence="CC0-1.0",
        bytes=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        parts=tuple(
            Part(package=f"tiny-part{number}", version="1.0", member="data.bin", bytes=10_000) for number in range(10)
        ),
        repository="somebody/tiny",
        file="tiny.gguf",
        about="a fixture",
    )
    for name in list(MODELS):
        monkeypatch.delitem(MODELS, name)
    monkeypatch.setitem(MODELS, "tiny", model)
    monkeypatch.setenv("EVENHAND_MODELS", str(folder / "kept"))
    monkeypatch.setenv("HF_ENDPOINT", "http://nobody.invalid")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    (folder / "own.gguf").write_bytes(CONTENT)
    return folder / "kept"


@pytest.fixture
def wheels(kept: Path, folder: Path) -> Path:
    """A folder with the model's wheels."""
    (folder / "wheels").mkdir()
    for number in range(10):
        with zipfile.ZipFile(folder / "wheels" / f"tiny_part{number}-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr("data.bin", CONTENT[number * 10_000 :][:10_000])
    return folder / "wheels"


# list


def test_models_are_listed_with_their_state_and_how_they_judge(
    kept: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    quality = Quality(
        pairs=180, auc=0.9123, accuracy=0.84, passed_bad=0.1, failed_good=0.2, pair_right=0.75, pair_wrong=0.1
    )
    monkeypatch.setitem(MODELS, "good", replace(MODELS["tiny"], name="good", quality=quality))

    done = command("models")

    assert done.code == 0
    assert done.out == (
        "embedded/tiny  [not here]\n"
        "    Tiny, of noise; 0 MB; CC0-1.0; a fixture\n"
        "    as a judge: not measured\n"
        "embedded/good  [not here]\n"
        "    Tiny, of noise; 0 MB; CC0-1.0; a fixture\n"
        f"    as a judge: {quality.summary}\n"
    )
    assert done.err == f"models are stored in {kept}; to use your own file: --judge embedded/path/to/file.gguf\n"


@pytest.mark.parametrize(
    ("name", "content", "state"),
    [
        ("tiny.gguf", CONTENT, "here"),
        ("tiny.gguf", CONTENT[:-1], "damaged"),
        ("tiny.gguf.partial", CONTENT[:-1], "0 MB fetched"),
        ("other.gguf", CONTENT, "not here"),
    ],
)
def test_the_list_tells_what_is_here(
    kept: Path, command: Callable[..., Any], name: str, content: bytes, state: str
) -> None:
    kept.mkdir()
    (kept / name).write_bytes(content)

    done = command("models", "list", "--json")

    assert done.code == 0
    assert done.err == ""
    assert done.json == [
        {
            "name": "embedded/tiny",
            "state": state,
            "file": str(kept / "tiny.gguf"),
            "title": "Tiny, of noise",
            "licence": "CC0-1.0",
            "bytes": 100_000,
            "sha256": MODELS["tiny"].sha256,
            "yes_from": 0.5,
            "quality": None,
        }
    ]


def test_the_real_models_can_be_listed(command: Callable[..., Any]) -> None:
    done = command("models", "list", "--json")

    assert [one["name"] for one in done.json] == [f"embedded/{name}" for name in MODELS]


# pull


def test_a_pull_tells_size_and_room_and_progress_and_gives_the_file(
    kept: Path, wheels: Path, command: Callable[..., Any]
) -> None:
    done = command("models", "pull", "tiny", "--from", str(wheels))

    first, *lines = done.err.splitlines()
    assert (done.code, done.out) == (0, f"{kept / 'tiny.gguf'}\n")
    assert first.startswith(f"downloading tiny: 0 MB, CC0-1.0, from {wheels}; ")
    assert first.endswith(" of disk space are free")
    assert lines == [
        *(f"{percent} %, 0 MB of 0 MB" for percent in range(10, 101, 10)),
        "tiny is downloaded, and its sha256 is correct",
    ]
    assert (kept / "tiny.gguf").read_bytes() == CONTENT


def test_a_second_pull_has_nothing_to_do(kept: Path, command: Callable[..., Any]) -> None:
    command("models", "pull", "embedded/tiny", "--from", "own.gguf")

    done = command("models", "pull", "tiny")

    assert (done.code, done.out, done.err) == (0, f"{kept / 'tiny.gguf'}\n", "")


def test_a_pull_goes_on_where_it_ended(kept: Path, wheels: Path, command: Callable[..., Any]) -> None:
    kept.mkdir()
    (kept / "tiny.gguf.partial").write_bytes(CONTENT[:57_000])

    done = command("models", "pull", "tiny", "--from", str(wheels))

    assert done.code == 0
    assert [line.split(" %")[0] for line in done.err.splitlines()[1:-1]] == ["57", "70", "80", "90", "100"]


@pytest.mark.parametrize("live", [True, False])
def test_a_quiet_pull_gives_the_file_only(
    kept: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, live: bool
) -> None:
    monkeypatch.setattr(Console, "is_live", live)

    done = command("models", "pull", "tiny", "--from", "own.gguf", "--quiet")

    assert (done.code, done.out, done.err) == (0, f"{kept / 'tiny.gguf'}\n", "")


def test_on_a_terminal_one_line_is_written_again_and_again(
    wheels: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Console, "is_live", True)

    done = command("models", "pull", "tiny", "--from", str(wheels))

    bars = done.err.split("\r")
    assert bars[1].startswith(f"[###{'.' * 27}] 10 %, 0 MB of 0 MB, ")
    assert any(bar.startswith(f"[{'#' * 30}] 100 %") for bar in bars)
    assert done.err.endswith("\rtiny is downloaded, and its sha256 is correct\n")


def test_a_source_that_must_begin_anew_is_shown_from_the_beginning(
    wheels: Path, command: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(wheels / "tiny_part9-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("data.bin", bytes(10_000))
    two = (Wheels(MODELS["tiny"], wheels), LocalFile(MODELS["tiny"], folder / "own.gguf"))
    monkeypatch.setattr(evenhand.cli.commands.models, "sources_for", lambda model, given: two)

    done = command("models", "pull", "tiny")

    assert done.code == 0
    assert [line.split(" %")[0] for line in done.err.splitlines()[-4:-1]] == ["90", "100", "100"]


def test_sources_that_cannot_be_reached_are_named_each_with_its_reason(
    kept: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")

    done = command("models", "pull", "tiny")

    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == (
        "evenhand: tiny cannot be fetched: pip could not be started: No such file or directory; "
        "http://nobody.invalid/somebody/tiny/resolve/main/tiny.gguf cannot be read: "
        "[Errno -2] Name or service not known"
    )
    assert list(kept.iterdir()) == []


@pytest.mark.slow
def test_a_package_that_the_index_does_not_have_is_named(kept: Path, command: Callable[..., Any]) -> None:
    done = command("models", "pull", "tiny")

    assert done.code == 1
    assert "pip could not fetch tiny-part0==1.0: ERROR: No matching distribution found for tiny-part0==1.0" in done.err
    assert "http://nobody.invalid/" in done.err


def test_a_file_that_is_something_else_is_deleted(kept: Path, command: Callable[..., Any], folder: Path) -> None:
    (folder / "own.gguf").write_bytes(CONTENT[:-1] + b"!")

    done = command("models", "pull", "tiny", "--from", "own.gguf")

    assert done.code == 1
    assert f"and not {MODELS['tiny'].sha256}; it was deleted" in done.err
    assert list(kept.iterdir()) == []


def test_what_is_given_must_be_there(kept: Path, command: Callable[..., Any]) -> None:
    done = command("models", "pull", "tiny", "--from", "none.gguf")

    assert done.code == 1
    assert "none.gguf cannot be read: No such file or directory" in done.err


@pytest.mark.parametrize("verb", ["pull", "remove"])
def test_a_name_that_nobody_has_is_a_usage_error(kept: Path, command: Callable[..., Any], verb: str) -> None:
    done = command("models", verb, "tny")

    assert (done.code, done.out) == (2, "")
    assert done.err == "evenhand: no embedded model 'tny'; did you mean 'tiny'?\n"


# remove


def test_a_model_is_removed_with_what_was_begun(kept: Path, command: Callable[..., Any]) -> None:
    command("models", "pull", "tiny", "--from", "own.gguf")
    (kept / "tiny.gguf.partial").write_bytes(b"GGUF")

    done = command("models", "remove", "tiny", "--yes")
    again = command("models", "remove", "tiny")

    assert (done.code, done.out, done.err) == (0, "", "deleted tiny: 0 MB freed\n")
    assert (again.code, again.err) == (0, "tiny is not downloaded\n")
    assert list(kept.iterdir()) == []


def test_where_nobody_can_be_asked_nothing_is_removed(kept: Path, command: Callable[..., Any]) -> None:
    command("models", "pull", "tiny", "--from", "own.gguf")

    done = command("models", "remove", "tiny")

    assert done.code == 2
    assert (
        done.err
        == f"evenhand: Delete {kept / 'tiny.gguf'}? Cannot ask for confirmation without a terminal; use --yes\n"
    )
    assert (kept / "tiny.gguf").is_file()


@pytest.mark.parametrize(("answer", "stays"), [(True, False), (False, True)])
def test_somebody_who_is_there_is_asked(
    kept: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, answer: bool, stays: bool
) -> None:
    command("models", "pull", "tiny", "--from", "own.gguf")
    monkeypatch.setattr(Console, "confirm", lambda self, question: answer)

    done = command("models", "remove", "tiny")

    assert done.code == 0
    assert (kept / "tiny.gguf").is_file() is stays
    assert ("nothing was deleted" in done.err) is stays
