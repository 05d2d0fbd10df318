"""The page about every command, from the program itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import typer.main
from docs.generate.markdown import code, made_by, page as page_of, table

from evenhand.cli.main import app
from evenhand.domain.exit_code import ExitCode
from evenhand.engine.job import DEFAULT_CONCURRENCY, DEFAULT_CONSECUTIVE_ERRORS, DEFAULT_OUTAGE_SECONDS

INTRODUCTION: Final = """\
Every command with its arguments and options. [The command line](../command-line.md) introduces them, and
[Configuration](../configuration.md) shows how to set options permanently: in the environment by the variable named
here, or in a file by the name of the option."""

CODES: Final[Mapping[ExitCode, str]] = {
    ExitCode.OK: "success; without gates, whatever the verdicts",
    ExitCode.ERROR: "an error: the database, a file, an internal error",
    ExitCode.USAGE: "a mistake in the command or the suite; or the judge refuses the key, the account or the model",
    ExitCode.GATE_FAILED: "a gate of the suite failed",
    ExitCode.UNSCORED: "the judge, or the target, failed on some case (a gate `max_unscored` says how many may)",
    ExitCode.BUDGET_REACHED: "the budget was reached",
    ExitCode.JUDGE_NOT_TRUSTED: "the judge does not reach what the suite demands under `trust` (`evenhand calibrate`)",
    ExitCode.NEVER_SCORED: "an evaluator never worked: its first evaluations all failed in the same way",
    ExitCode.INTERRUPTED: "interrupted",
}
COMPLETION: Final = """\
`evenhand --version` shows the version, `evenhand --install-completion` lets your shell complete commands, and
`evenhand --show-completion` shows what that adds to the settings of the shell."""
PRECEDENCE: Final = "If several apply, the exit code is the first of 130, 2, 1, 102, 104, 101, 103, 100."
# Listed once, for all commands.
SHARED: Final = ("--no-env-file", "--verbose")
# The defaults of options that a suite can set too.
DEFAULTS: Final = {
    "--concurrency": DEFAULT_CONCURRENCY,
    "--max-consecutive-errors": DEFAULT_CONSECUTIVE_ERRORS,
    "--outage-timeout": int(DEFAULT_OUTAGE_SECONDS),
    "--repeat": 1,
}


def page() -> str:
    """Write the page."""
    found = dict(_commands(typer.main.get_command(app)))
    return page_of(
        made_by("src/evenhand/cli"),
        "# Every command",
        INTRODUCTION,
        table(
            ("command", ""),
            ((f"[`{name}`](#{_anchor(name)})", _first(command)) for name, command in found.items()),
        ),
        _of_all(found),
        _codes(),
        *(part for name, command in found.items() for part in _section(name, command)),
    )


def _commands(group: Any, above: str = "evenhand") -> Iterator[tuple[str, Any]]:
    for name, one in group.commands.items():
        yield f"{above} {name}", one
        if hasattr(one, "commands"):
            yield from _commands(one, f"{above} {name}")


def _of_all(found: Mapping[str, Any]) -> str:
    shared: dict[str, Any] = {}
    for command in found.values():
        shared |= {one.opts[0]: one for one in _options(command) if one.opts[0] in SHARED}
    rows = [_option_row(shared[name]) for name in SHARED if name in shared]
    rows.append(("`-h`, `--help`", "", "", "Show the help of the command and exit."))
    return page_of(
        "## Options of all commands",
        table(("option", "variable", "default", "meaning"), rows),
        COMPLETION,
    )


def _codes() -> str:
    if missing := {*ExitCode} - {*CODES}:
        raise KeyError(f"docs/generate/command_line.py has no words for the exit codes {missing}")
    rows = ((str(int(number)), words) for number, words in CODES.items())
    return page_of("## Exit codes", table(("code", "means"), rows), PRECEDENCE)


def _section(name: str, command: Any) -> Iterator[str]:
    yield f"## `{name}`"
    yield _words(command)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in _options(command) if one.opts[0] not in SHARED]
    if not hasattr(command, "commands"):
        usage = [name, *(_usage(one) for one in arguments), *(["[OPTIONS]"] if options else [])]
        yield f"```text\n{' '.join(usage)}\n```"
    if arguments:
        yield table(("argument", "meaning"), ((code(one.metavar or one.name.upper()), one.help) for one in arguments))
    if options:
        yield table(("option", "variable", "default", "meaning"), map(_option_row, options))
    yield f"For example:\n\n```text\n{_examples(command)}\n```"


def _options(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option" and not one.hidden]


def _usage(argument: Any) -> str:
    shown = argument.metavar or argument.name.upper()
    return shown if argument.required else f"[{shown}]"


def _option_row(option: Any) -> tuple[str, str, str, str]:
    names = sorted([*option.opts, *option.secondary_opts], key=len)
    operand = "" if option.is_flag or not option.metavar else f" {option.metavar}"
    shown = ", ".join(code(f"{name}{operand if name is names[-1] else ''}") for name in names)
    usual = DEFAULTS.get(names[-1]) if option.default is None else option.default
    default = "" if option.is_flag or usual is None else code(str(usual))
    return shown, code(option.envvar) if option.envvar else "", default, option.help


def _words(command: Any) -> str:
    """Return what a command says about itself; the exit codes have a section of their own."""
    paragraphs = [part for part in re.split(r"\n{2,}", command.help.strip()) if not part.startswith("Exit codes:")]
    return "\n\n".join(re.sub(r"(?<![`\w])(--[a-z][a-z-]+)", r"`\1`", part) for part in paragraphs)


def _first(command: Any) -> str:
    return _words(command).partition("\n")[0]


def _examples(command: Any) -> str:
    return "\n".join(line.strip() for line in command.epilog.partition(":\n")[2].splitlines())


def _anchor(name: str) -> str:
    return name.replace(" ", "-")
