"""`evenhand serve`: the web pages and the REST API."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import DB, Db, Judge, NoEnvFile, Quiet, Verbose, is_typed

if TYPE_CHECKING:
    from evenhand.server.settings import ServerSettings

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
        from evenhand.server.serving import serve as serve_app
        from evenhand.server.settings import ServerSettings, is_loopback
    except ImportError as error:
        from evenhand.domain.errors import ConfigError

        raise ConfigError(f"evenhand serve needs {error.name}: pip install 'evenhand[web]'") from None
    from evenhand.cli.token_file import token_of
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
