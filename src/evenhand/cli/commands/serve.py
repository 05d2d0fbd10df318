"""The file with the token that opens the server: made when it is missing, and for its owner's eyes only."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import DB, Db, Judge, NoEnvFile, Quiet, Verbose, is_typed
from evenhand.domain.errors import ConfigError
from evenhand.store.location import FOLDER

if TYPE_CHECKING:
    from evenhand.server.settings import ServerSettings


def token_of(path: str) -> str:
    """Read the token, or make one that nobody can guess."""
    file = Path(path)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if file.parent.name == FOLDER:  # the database, which sees to this too, may be elsewhere
            with contextlib.suppress(FileExistsError), (file.parent / ".gitignore").open("x") as ignored:
                ignored.write("*\n")
        try:
            made = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return _read(file)
        token = secrets.token_urlsafe(32)
        with os.fdopen(made, "w", encoding="ascii") as written:
            written.write(f"{token}\n")
    except OSError as error:
        raise ConfigError(f"{path}: the token cannot be kept there: {error.strerror}; see --token-file") from None
    return token


def _read(file: Path) -> str:
    if os.name == "posix" and file.stat().st_mode & 0o077:
        raise ConfigError(f"{file}: others can read the token; let only its owner: chmod 600 {file}")
    token = file.read_text(encoding="utf-8", errors="replace").strip()
    if not token:
        raise ConfigError(f"{file} is empty; delete it, and a token is made")
    return token


TOKEN_VARIABLE = "EVENHAND_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_FILE = ".evenhand/token"  # noqa: S105 - the name of a file


def serve(
    ctx: typer.Context,
    *,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 takes a free one.")] = 8642,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A name by which others reach the server. May be given several times.",
        ),
    ] = None,
    db: Db = DB,
    judge: Judge = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="A model to offer for runs. May be given several times."),
    ] = None,
    token_file: Annotated[
        str,
        typer.Option("--token-file", metavar="FILE", help="Where the token is; made if missing. EVENHAND_TOKEN wins."),
    ] = TOKEN_FILE,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Serve the web pages and the REST API, until Ctrl-C.

    Only this machine reaches it, unless --host says otherwise; then EVENHAND_TOKEN must be set, and whoever comes must
    show that token. On this machine programs show it for changes: Authorization: Bearer TOKEN. Runs that are under
    way when the server ends can be resumed.
    """
    try:
        from evenhand.server.app import serve as serve_app
        from evenhand.server.settings import ServerSettings, is_loopback
    except ImportError as error:
        from evenhand.domain.errors import ConfigError

        raise ConfigError(f"evenhand serve needs {error.name}: pip install 'evenhand[web]'") from None
    from evenhand.domain.errors import ConfigError
    from evenhand.domain.secret import Secret
    from evenhand.store.location import without_password

    given = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not given and not is_loopback(host):
        raise ConfigError(
            f"--host {host} lets others in: set {TOKEN_VARIABLE} to a token that only they know, 16 characters or "
            "more, or listen on 127.0.0.1"
        )
    settings = ServerSettings(
        db=db,
        token=Secret(given or token_of(token_file)),
        host=host,
        port=port,
        names=tuple(allow_host or ()),
        judge=judge,
        models=tuple(model or ()),
    )
    console = Console(quiet=quiet)
    left = serve_app(settings, lambda settled: _tell(console, settled, TOKEN_VARIABLE if given else token_file))
    place = f" --db {shlex.quote(without_password(db))}" if is_typed(ctx, "db") else ""
    for run in left:
        console.note(f"run {run} was interrupted; go on with: evenhand resume {run}{place}")


def _tell(console: Console, settings: ServerSettings, token: str) -> None:
    console.result(f"Evenhand is at {settings.address}")
    console.note(f"the token for programs is in {token}; Ctrl-C ends the server")
    if settings.is_public and not settings.names:
        console.note("others reach it only by a name that is given: --allow-host NAME, such as evals.example")
