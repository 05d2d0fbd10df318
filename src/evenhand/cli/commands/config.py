"""`evenhand config`: every setting, and where it comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final, cast

import typer
from typer.core import TyperGroup

from evenhand.cli.console import Console
from evenhand.cli.options import PREFIX, SETTINGS, Json, NoEnvFile, Verbose, source_of, variable_of
from evenhand.domain.errors import did_you_mean

# The commands which together have every setting; `run` has most of them.
_COMMANDS: Final = ("run", "resume", "report", "import")
# Variables that are no options: where embedded models are kept, and what opens the server.
_NO_OPTIONS: Final = ("EVENHAND_MODELS", "EVENHAND_TOKEN")


def config(
    ctx: typer.Context,
    *,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,
) -> None:
    """Show every setting, and where it comes from.

    These are the options of the commands as they would be here. A flag counts first, then the environment, then the
    file: evenhand.toml, or [tool.evenhand] in pyproject.toml, here or in your own folder for settings.
    """
    from evenhand.reports.json_text import strict_json
    from evenhand.reports.safe_text import plain

    console = Console()
    found = list(_values(ctx, without_env_file=no_env_file))
    if json:
        console.result(strict_json([{"name": name, "value": value, "source": source} for name, value, source in found]))
    else:
        width = max(len(name) for name, _, _ in found)
        shown = [(name, _shown(value), source) for name, value, source in found]
        middle = max(len(value) for _, value, _ in shown)
        for name, value, source in shown:
            console.result(f"{name.ljust(width)}  {plain(value, None).ljust(middle)}  {plain(source, None)}")
    known = {*map(variable_of, SETTINGS), *_NO_OPTIONS}
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known:
            console.note(f"note: {name} is set and means nothing{did_you_mean(name, known)}")


def _values(ctx: typer.Context, *, without_env_file: bool) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and source of each setting, as the command that has it would find it here without flags."""
    from evenhand.store.location import without_password

    root = ctx.find_root()
    flags = ["--no-env-file"] if without_env_file else []
    found: dict[str, tuple[Any, str]] = {}
    for name in _COMMANDS:
        command: Any = cast("TyperGroup", root.command).get_command(ctx, name)
        with command.make_context(name, ["-", *flags], parent=root) as would_run:
            for key in SETTINGS:
                if key in would_run.params and key not in found:
                    found[key] = would_run.params[key], source_of(would_run, key)
    for key in SETTINGS:
        value, source = found[key]
        yield key.replace("_", "-"), without_password(value) if key == "db" else value, source


def _shown(value: Any) -> str:
    if value is None or value in ([], ()):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
