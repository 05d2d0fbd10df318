"""`evenhand config`: every setting, and where it comes from."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from typing import Any, Final

import typer

from evenhand.cli.console import Console
from evenhand.cli.groups import typer_command
from evenhand.cli.options import DB, KINDS, PREFIX, SETTINGS, Json, NoEnvFile, source_of, variable_of
from evenhand.domain.errors import did_you_mean
from evenhand.reports.safe_text import plain, strict_json
from evenhand.store.location import without_password

# Variables that are not options: the folder of embedded models, and the token of the server.
_OTHER_VARIABLES: Final = ("EVENHAND_MODELS", "EVENHAND_TOKEN")


def config(
    ctx: typer.Context,
    *,
    json: Json = False,
    no_env_file: NoEnvFile = False,
) -> None:
    """Show every setting and where it comes from.

    These are the values that options would have in this folder. A flag takes precedence over the environment, and that
    over the file: evenhand.toml, or [tool.evenhand] in pyproject.toml, here or in your own settings folder.
    """
    console = Console()
    settings = list(_values(ctx, without_env_file=no_env_file))
    if json:
        console.result(
            strict_json([{"name": name, "value": value, "source": source} for name, value, source in settings])
        )
    else:
        width = max(len(name) for name, _, _ in settings)
        shown = [(name, _format_value(value), source) for name, value, source in settings]
        middle = max(len(value) for _, value, _ in shown)
        for name, value, source in shown:
            console.result(f"{name.ljust(width)}  {plain(value, None).ljust(middle)}  {plain(source, None)}")
    known = {*map(variable_of, SETTINGS), *_OTHER_VARIABLES}
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known:
            console.note(f"note: {name} is set but has no effect{did_you_mean(name, known)}")


def _values(ctx: typer.Context, *, without_env_file: bool) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and source of each setting, as a command would have it here without flags."""
    flags = ["--no-env-file"] if without_env_file else []
    with _command_with_every_setting().make_context("settings", flags, parent=ctx.find_root()) as context:
        for name in SETTINGS:
            value = context.params[name]
            yield name.replace("_", "-"), without_password(value) if name == "db" else value, source_of(context, name)


def _command_with_every_setting() -> Any:
    def command(**values: object) -> None:
        """Do nothing: only the values of the options matter."""

    defaults = {"db": DB} | {name: False for name, kind in KINDS.items() if kind is bool}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=defaults.get(name))
        for name, annotation in SETTINGS.items()
    ]
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {}
    return typer_command(command, "settings")


def _format_value(value: Any) -> str:
    if value is None or value in ([], ()):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
