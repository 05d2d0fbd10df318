"""The command `evenhand`, to which the verbs are added."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from evenhand.cli import (
    cache,
    config,
    export,
    failures,
    importing,
    init,
    judge,
    report,
    resume,
    run,
    runs,
    validate,
)
from evenhand.cli.console import Console
from evenhand.cli.options import is_verbose
from evenhand.version import __version__


class Verbs(TyperGroup):
    """The verbs; an error that one raises becomes a line on standard error and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            if failures.is_for_typer(error):
                raise
            raise typer.Exit(failures.tell(error, verbose=is_verbose(ctx))) from None


# Plain help: rich would take longer to load than most commands take. Tracebacks are ours to show, or not to.
app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main() -> None:
    """Run the command line."""
    app(prog_name="evenhand")


def _show_version(wanted: bool) -> None:
    if wanted:
        Console().result(f"evenhand {__version__}")
        raise typer.Exit


@app.callback(epilog=config.EPILOG)
def evenhand(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Judge the outputs of language models."""


for verb in (run, resume, judge, report, validate, init, export, importing, config):
    app.command(verb.NAME, epilog=verb.EPILOG)(verb.COMMAND)
for group in (runs, cache):
    app.add_typer(group.app, name=group.NAME)
