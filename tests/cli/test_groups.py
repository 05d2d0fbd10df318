"""The tree of commands: loaded when used, and options that are declared once for many commands."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from evenhand.cli.groups import as_command, typer_command


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    size: Annotated[int, typer.Option("--size")] = 3
    names: Annotated[list[str] | None, typer.Option("--name")] = None
    internal: str = "no option"


def run(function: Any, *argv: str) -> tuple[int, str]:
    app = typer.Typer(add_completion=False)
    app.command()(as_command(function))
    done = CliRunner().invoke(app, argv)
    return done.exit_code, done.stdout


def show(word: str, *, options: Options) -> int | None:
    typer.echo(f"{word} {options}")
    return options.size if word == "leave" else None


def test_a_command_gets_its_options_as_one_object() -> None:
    code, out = run(show, "hello", "--size", "5", "--name", "a", "--name", "b")

    assert (code, out) == (0, f"hello {Options(size=5, names=['a', 'b'])}\n")


def test_a_field_that_is_not_declared_as_an_option_is_none() -> None:
    names = [parameter.name for parameter in typer_command(as_command(show), "show").params]

    assert names == ["word", "size", "names", "verbose", "no_env_file"]


def test_what_a_command_returns_is_the_exit_code() -> None:
    assert run(show, "leave", "--size", "7")[0] == 7


LOADED = """
import sys
from evenhand.cli.main import app
app([{arguments}], standalone_mode=False)
print(sorted(name for name in sys.modules if name.startswith("evenhand.cli.commands.")))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "modules"),
    [
        ('"--help"', []),
        ('"cache", "--help"', ["evenhand.cli.commands.cache"]),
        ('"config", "--json"', ["evenhand.cli.commands.config"]),
    ],
)
def test_only_the_modules_of_the_command_are_loaded(arguments: str, modules: list[str]) -> None:
    code = LOADED.replace("{arguments}", arguments)

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.splitlines()[-1] == str(modules)
