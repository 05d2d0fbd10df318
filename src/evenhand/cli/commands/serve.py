"""`evenhand serve`: the web pages and the REST API, and the file with the token that opens them."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import DB, Db, Judge, On, Quiet, WorkerEnv, Workers
from evenhand.cli.telemetry import sent_telemetry
from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret
from evenhand.engine.store_location import run_command
from evenhand.store.location import FOLDER

if TYPE_CHECKING:
    from evenhand.server.settings import ServerSettings


def token_of(path: str) -> str:
    """Return the token in a file; create the file with a random token if it is missing."""
    file = Path(path)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if file.parent.name == FOLDER:  # the database, which does this too, may be elsewhere
            with contextlib.suppress(FileExistsError), (file.parent / ".gitignore").open("x") as ignored:
                ignored.write("*\n")
        try:
            created = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return _read_token(file)
        token = secrets.token_urlsafe(32)
        with os.fdopen(created, "w", encoding="ascii") as opened:
            opened.write(f"{token}\n")
    except OSError as error:
        raise ConfigError(f"{path}: cannot write the token: {error.strerror}; see --token-file") from None
    return token


def _read_token(file: Path) -> str:
    if os.name == "posix" and file.stat().st_mode & 0o077:
        raise ConfigError(f"{file}: other users can read the token; run: chmod 600 {file}")
    token = file.read_text(encoding="utf-8", errors="replace").strip()
    if not token:
        raise ConfigError(f"{file} is empty; delete it to create a new token")
    return token


TOKEN_VARIABLE = "EVENHAND_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_FILE = ".evenhand/token"  # noqa: S105 - the name of a file


def serve(
    *,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port to listen on; 0 picks a free one.")
    ] = 8642,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A host name under which others reach the server. Can be repeated.",
        ),
    ] = None,
    db: Db = DB,
    judge: Judge = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="A model to offer for runs. Can be repeated."),
    ] = None,
    token_file: Annotated[
        str,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="The file with the token, created if missing. EVENHAND_TOKEN takes precedence.",
        ),
    ] = TOKEN_FILE,
    on: On = None,
    workers: Workers = None,
    worker_env: WorkerEnv = None,
    quiet: Quiet = False,
) -> None:
    """Serve the web pages and the REST API.

    The server stops at Ctrl-C; runs in progress can be resumed. Only this machine can reach it, unless --host says
    otherwise; then EVENHAND_TOKEN must be set, and every client must send that token. On this machine programs send it
    to make changes: Authorization: Bearer TOKEN.
    """
    from evenhand.server.settings import ServerSettings, is_loopback  # noqa: PLC0415

    if on is not None:
        from evenhand.cluster.ray_connection import check_place  # noqa: PLC0415 - few servers need it

        check_place(on, worker_env or ())
    variable = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not variable and not is_loopback(host):
        raise ConfigError(
            f"--host {host} lets others in: set {TOKEN_VARIABLE} to a secret token of 16 characters or more, or listen "
            "on 127.0.0.1"
        )
    settings = ServerSettings(
        db=db,
        token=Secret(variable or token_of(token_file)),
        host=host,
        port=port,
        names=tuple(allow_host or ()),
        judge=judge,
        models=tuple(model or ()),
        on=on,
        workers=workers,
        worker_env=tuple(worker_env or ()),
    )
    try:  # the server is an extra, and takes a while to load: what is wrong with the settings is said before
        from evenhand.server.app import serve as serve_app  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError(f"evenhand serve needs {error.name}: pip install 'evenhand[web]'") from None
    console = Console(quiet=quiet)
    token_source = TOKEN_VARIABLE if variable else token_file
    with sent_telemetry(console):
        interrupted = serve_app(settings, lambda settled: _show_address(console, settled, token_source))
    for run in interrupted:
        console.note(f"run {run} was interrupted; resume with: {run_command('resume', run, db)}")


def _show_address(console: Console, settings: ServerSettings, token_source: str) -> None:
    console.result(f"Evenhand is at {settings.address}")
    console.note(f"the token for programs is in {token_source}; press Ctrl-C to stop the server")
    if settings.is_public and not settings.names:
        console.note("others can reach it only under a name that is allowed: --allow-host NAME, such as evals.example")
