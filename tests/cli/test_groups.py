"""The tree of commands: loaded when used, and options that are declared once for many commands."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from evenhand.cli.groups import LeanCommand, as_command, typer_command


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
for argv in (["--help"], ["cache", "--help"], ["config", "--json"]):
    before = set(sys.modules)
    app(argv, standalone_mode=False)
    print("loaded", sorted(name for name in set(sys.modules) - before if name.startswith("evenhand.cli.commands.")))
"""


def test_only_the_modules_of_the_command_are_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=60, check=True)

    assert [line for line in done.stdout.splitlines() if line.startswith("loaded")] == [
        "loaded []",
        "loaded ['evenhand.cli.commands.cache']",
        "loaded ['evenhand.cli.commands.config']",
    ]


LOADED_BY_A_RUN = """
import sys
from evenhand.cli.main import app
from pathlib import Path
Path("suite.yaml").write_text("evaluators: [{type: equals, value: b}]\\ncases: [{id: a, input: a, candidate_answer: b}]")
for argv in (["runs", "list", "--limit", "5"], ["run", "suite.yaml", "-j", "2", "--max-cost", "0.5", "-o", "a.csv"]):
    app(argv, standalone_mode=False)
print(sorted({".".join(name.split(".")[:2]) for name in sys.modules} & {
    "evenhand.doctor", "evenhand.labels", "evenhand.profiles", "evenhand.tuner", "evenhand.trust", "pydantic", "numpy",
}))
"""


def test_a_run_loads_nothing_of_other_kinds_of_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED_BY_A_RUN], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.splitlines()[-1] == "['evenhand.trust']"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("0", "0 must be a whole number from 1 to 10."),
        ("4.5", "4.5 must be a whole number from 1 to 10."),
        ("", "'' must be a whole number from 1 to 10."),
    ],
)
def test_a_number_that_is_refused_is_named_with_what_would_be_right(given: str, wanted: str) -> None:
    def command(*, size: Annotated[int, typer.Option("--size", min=1, max=10)] = 3) -> None:
        typer.echo(size)

    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command("command", cls=LeanCommand)(as_command(command))

    done = CliRunner().invoke(app, ["--size", given])

    assert (done.exit_code, done.output.splitlines()[-1]) == (2, f"Error: Invalid value for '--size': {wanted}")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("a", "b"), (["a", "b"], "text", 3, 0.5, None)),
        (("a", "--word", "ü", "--size", "4"), (["a"], "ü", 4, 0.5, None)),
        (("a", "--name", "x", "--name", "y"), (["a"], "text", 3, 0.5, ["x", "y"])),
        (("a", "--size", "007", "--share", "-0"), (["a"], "text", 7, -0.0, None)),
        *(
            (("a", "--share", given), (["a"], "text", 3, float(given), None))
            for given in ("1", "1.", "-.25", "1e-3", "-7.5")
        ),
        *((("a", "--size", given), "--size") for given in ("4.5", "0x1", "٣٣x", "-", "", "9" * 5000, "11", "-5")),
        *((("a", "--share", given), "--share") for given in ("1.5.5", ".", "", "half", "1,5", "-9")),
        (("a", "--size", "1_0"), "10"),
        (("a", "--size", " 10 "), "10"),
        ((), "Missing argument 'FILES...'"),
        (("a", "--size", "many"), "--size"),
        (("a", "--size", "0"), "--size"),
    ],
)
def test_what_is_not_converted_is_what_typer_would_make_of_it(argv: tuple[str, ...], expected: object) -> None:
    def command(
        files: Annotated[list[str], typer.Argument(metavar="FILES...")],
        *,
        word: Annotated[str, typer.Option("--word")] = "text",
        size: Annotated[int, typer.Option("--size", min=1, max=10)] = 3,
        share: Annotated[float | None, typer.Option("--share", min=-8)] = 0.5,
        names: Annotated[list[str] | None, typer.Option("--name")] = None,
    ) -> None:
        typer.echo(repr((files, word, size, share, names)))

    def invoke(kind: type[TyperCommand]) -> tuple[int, str]:
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        app.command("command", cls=kind)(as_command(command))
        done = CliRunner().invoke(app, argv)
        return done.exit_code, done.output

    done, (code, told) = invoke(LeanCommand), invoke(TyperCommand)

    problem = "Invalid value for '--"  # what is wrong with a number is said in other words
    assert (done[0], done[1].partition(problem)[:2]) == (code, told.partition(problem)[:2])
    assert problem in told or done[1] == told
    assert str(expected) in done[1]
