"""Where model files are kept, and which ones are taken."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError, MissingModelError, UnknownNameError
from evenhand.models.embedded.catalogue import DEFAULT, MODELS, known_model, located, megabytes, models_folder


@pytest.fixture
def known(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The tiny model, known by its name."""
    monkeypatch.setitem(MODELS, "tiny", tiny.model)
    return tiny


# The folder


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep caches elsewhere")
def test_models_are_kept_in_the_cache_unless_a_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somebody")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    usual = models_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    empty = models_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    moved = models_folder()
    monkeypatch.setenv("EVENHAND_MODELS", " ~/my models ")
    named = models_folder()

    assert usual == empty == Path("/somebody/.cache/evenhand/models")
    assert moved == Path("/caches/evenhand/models")
    assert named == Path("/somebody/my models")


def test_a_home_folder_that_nobody_has_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_MODELS", "~nobody-here/models")

    with pytest.raises(ConfigError, match="~nobody-here/models: there is no such home folder; write it out, or set"):
        models_folder()


# By name


def test_a_model_is_found_by_its_name(known: Any) -> None:
    known.kept.mkdir()
    known.target.write_bytes(known.content)

    assert located("tiny") == located(" embedded/tiny ") == (known.target, known.model)


def test_a_model_that_is_not_here_says_how_it_is_fetched(known: Any) -> None:
    known.begin(known.content)  # all of it, and not verified

    with pytest.raises(MissingModelError) as raised:
        located("tiny")

    assert str(raised.value) == ("embedded/tiny is not on this machine; fetch it (0 MB): evenhand models pull tiny")


@pytest.mark.parametrize("change", [-1, 1])
def test_a_file_of_another_size_is_damaged(known: Any, change: int) -> None:
    known.kept.mkdir()
    known.target.write_bytes(known.content[:change] if change < 0 else known.content + b"!")

    with pytest.raises(ConfigError) as raised:
        located("tiny")

    assert not isinstance(raised.value, MissingModelError)
    assert str(raised.value) == (
        f"{known.target} is not the file of embedded/tiny: it has {24_004 + change:,} bytes and not 24,004; "
        "fetch it again: evenhand models pull tiny"
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("smollm2-135", "no embedded model 'smollm2-135'; did you mean 'smollm2-135m'?"),
        ("qwen2.5-coder-1.5B", f"did you mean '{DEFAULT}'?"),
        ("zzz", "no embedded model 'zzz'; known: qwen2.5-coder-1.5b, smollm2-135m"),
        ("", "no embedded model ''; known: "),
        ("my models/own.bin", "; your own model file must end in .gguf"),
    ],
)
def test_a_name_that_nobody_has_says_which_was_meant(name: str, told: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        located(name)

    assert told in str(raised.value)


def test_a_name_may_come_with_its_provider() -> None:
    assert known_model("embedded/smollm2-135m") is known_model("smollm2-135m")


# By path


@pytest.mark.parametrize("name", ["own.gguf", "with spaces and ü.gguf", "OWN.GGUF", "deep/er/own.gguf"])
def test_a_file_of_ones_own_is_found_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b"GGUF and more")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert located(name) == (Path(name), None)
    assert located(str(tmp_path / name)) == located(f"~/{name}") == (tmp_path / name, None)


def test_a_file_that_is_not_there_is_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.gguf").mkdir()

    with pytest.raises(MissingModelError, match=f"embedded/own.gguf: there is no file {tmp_path}/own.gguf"):
        located("own.gguf")
    with pytest.raises(MissingModelError, match=r"there is no file .*folder\.gguf"):
        located("folder.gguf")
    with pytest.raises(ConfigError, match=r"~nobody-here/own\.gguf: there is no such home folder"):
        located("~nobody-here/own.gguf")


@pytest.mark.parametrize("content", [b"", b"GG", b"gguf", b"<html></html>", b"\x00\x00\x00\x00GGUF"])
def test_a_file_that_does_not_begin_as_models_do_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "own.gguf").write_bytes(content)

    with pytest.raises(ConfigError, match=r"own.gguf is not a GGUF file: it begins with b'.*' and not with b'GGUF'"):
        located(str(tmp_path / "own.gguf"))


@pytest.mark.skipif(sys.platform != "linux", reason="a file that even root cannot read")
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.symlink_to("/proc/self/mem")

    with pytest.raises(ConfigError, match=r"own\.gguf cannot be read: "):
        located(str(own))

    own.unlink()  # nobody else can read it either


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 MB"), (98_362_432, "98 MB"), (999_000_000, "999 MB"), (1_117_320_768, "1.12 GB")]
)
def test_sizes_are_for_people(size: int, text: str) -> None:
    assert megabytes(size) == text
