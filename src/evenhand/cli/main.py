"""The command `evenhand`, to which the verbs are added."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.version import __version__

# Locals in a traceback would print what must not be seen, such as API keys.
app = typer.Typer(no_args_is_help=True, pretty_exceptions_show_locals=False)


def main() -> None:
    """Run the command line."""
    app(prog_name="evenhand")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evenhand {__version__}")
        raise typer.Exit


@app.callback()
def evenhand(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Judge the outputs of language models."""
