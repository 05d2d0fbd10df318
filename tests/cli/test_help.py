"""The help of every command, and that its examples are true."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from evenhand.cli.groups import Command
from evenhand.cli.main import COMMANDS as TABLE, app
from evenhand.cli.options import KINDS, SETTINGS
from evenhand.cli.settings import load_settings

# Many, and together they take a while.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def commands(group: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield above, group
    for name, one in getattr(group, "commands", {}).items():
        yield from commands(one, (*above, name))


COMMANDS = dict(commands(typer.main.get_command(app)))
every_command = pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "evenhand")


def is_right(argv: list[str]) -> bool:
    """Tell whether a command line names a command and options that are there."""
    found: Any = COMMANDS[()]
    words = argv[1:]
    while words and hasattr(found, "commands") and words[0] in found.commands:
        found = found.commands[words.pop(0)]
    known = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)}
    given = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
    return argv[0] == "evenhand" and given <= known | {"-h", "--help"}


@every_command
def test_the_help_ends_with_an_example_that_is_right(path: tuple[str, ...], command: Callable[..., Any]) -> None:
    done = command(*path, "--help")
    *_, ending = re.split(r"^ *Examples?:\n", done.out, flags=re.MULTILINE)

    assert done.code == 0
    assert done.out != ending
    assert [line for line in ending.strip().splitlines() if not is_right(shlex.split(line))] == []


@every_command
def test_every_option_explains_itself(path: tuple[str, ...]) -> None:
    options = [one for one in COMMANDS[path].params if one.param_type_name == "option"]

    assert [one.name for one in options if not one.help] == []


def test_the_list_of_commands_tells_what_each_does(command: Callable[..., Any]) -> None:
    listed = command("--help").out.partition("Commands:")[2].partition("Example")[0]

    assert len(listed.strip().splitlines()) == len(COMMANDS[()].commands)
    assert "..." not in listed


@pytest.mark.parametrize("name", [name for name, entry in TABLE.items() if isinstance(entry, Command)])
def test_the_list_of_commands_says_what_the_help_of_a_command_begins_with(name: str) -> None:
    first, *_ = COMMANDS[(name,)].help.splitlines()

    assert first.partition(". ")[0].removesuffix(".") + "." == TABLE[name].help


def test_the_page_names_every_command_and_every_option() -> None:
    page = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    options = {one for found in COMMANDS.values() for parameter in found.params for one in parameter.opts}
    missing = [option for option in options if option.startswith("--") and not re.search(rf"{option}\b(?!-)", page)]

    assert [" ".join(path) for path in COMMANDS if path and f"evenhand {' '.join(path)}" not in page] == []
    assert missing == []


def test_the_page_names_every_setting_and_its_example_is_right(folder: Path) -> None:
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    (example,) = re.findall(r'^```toml title="evenhand.toml"\n(.*?)^```', page, re.MULTILINE | re.DOTALL)
    (folder / "evenhand.toml").write_text(example)

    found = load_settings(folder, KINDS)

    assert len(found.values) == len(example.splitlines())
    assert [name for name in SETTINGS if f"`{name.replace('_', '-')}`" not in page] == []
