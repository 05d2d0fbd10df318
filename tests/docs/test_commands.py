"""Every command on a page does what the page says."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import pytest

ANYTHING = "…"
SECONDS = 500


class Outcome(NamedTuple):
    """How a command ended, if it did, and what it printed."""

    command: Any
    code: int | None
    printed: str


def run(page: Any, folder: Path, results: Path) -> list[Outcome]:
    """Do what the page does, in one shell, so that what a command sets holds for those after it."""
    page.write_files(folder)
    results.mkdir()
    script, commands, written = [], [], set()
    for number, step in enumerate(page.steps):
        place = results / str(number)
        if not hasattr(step, "title"):
            commands.append((step, place.with_suffix(".code"), place.with_suffix(".out")))
            script.append(
                f"eval {quote(step.text)} >{quote(f'{place}.out')} 2>&1 </dev/null; echo $? >{quote(f'{place}.code')}"
            )
        elif step.title in written:  # the page changes the file
            place.write_text(step.text, encoding="utf-8")
            script.append(f"cp {quote(str(place))} {quote(str(folder / step.title))}")
        else:
            written.add(step.title)
    with subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=folder, start_new_session=True) as shell:
        with contextlib.suppress(subprocess.TimeoutExpired):
            shell.wait(SECONDS)
        with contextlib.suppress(ProcessLookupError):  # also what the page left running in the background
            os.killpg(shell.pid, signal.SIGKILL)
    return [
        Outcome(
            command,
            int(code.read_text()) if code.exists() else None,
            out.read_text("utf-8", "replace") if out.exists() else "",
        )
        for command, code, out in commands
    ]


def wrong_with(outcome: Outcome) -> str | None:
    """Say what a command did that its page does not say."""
    command, code, printed = outcome
    if code is None:
        return f"It did not end: the commands of a page have {SECONDS} seconds."
    if code != command.exit_code:
        return f"It ended with {code} and not with {command.exit_code}; `# exit {code}` after the command expects that."
    if command.output.strip() and not is_like(command.output, printed):
        return f"The page shows something else (`{ANYTHING}` stands for anything):\n{indented(command.output)}"
    return None


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines()) or "    (nothing)"


def is_like(shown: str, printed: str) -> bool:
    """Compare what a page shows with what was printed, however wide the gaps are and wherever lines are blank."""
    parts = [re.escape(plain(part)) for part in shown.split(ANYTHING)]
    return re.fullmatch(r"\s*" + r".*".join(parts) + r"\s*", plain(printed), re.DOTALL) is not None


def plain(text: str) -> str:
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[ \t]+", " ", text)).strip()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_commands_on_a_page_do_what_it_says(page_with_commands: Any, page_folder: Path, tmp_path: Path) -> None:
    page = page_with_commands

    outcomes = run(page, page_folder, tmp_path / "results")

    for outcome in outcomes:
        command, wrong = outcome.command, wrong_with(outcome)
        where = f"{page.name}:{command.line}\n    $ {command.text}"
        assert wrong is None, f"\n{where}\n{wrong}\nIt printed:\n{indented(outcome.printed)}"


PAGE = """
```text title="notes/a.txt"
one
```

```console
$ export NAME=Ada
$ cat notes/a.txt; echo $NAME
one
Ada
$ sh -c 'exit 3'    # fails with exit 3
$ echo 1 \\
> 2
1 2
```

```text title="notes/a.txt"
two
```

```console
$ cat notes/a.txt
three
$ sh -c 'echo oh; exit 1'
```
"""


def test_commands_share_a_shell_and_what_is_wrong_is_told(page_of: Any, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    *right, other, failed = run(page_of(PAGE), folder, tmp_path / "results")

    assert [wrong_with(outcome) for outcome in right] == [None] * 4
    assert (other.command.line, other.printed) == (22, "two\n")
    assert wrong_with(other) == "The page shows something else (`…` stands for anything):\n    three"
    assert "It ended with 1 and not with 0" in str(wrong_with(failed))


@pytest.mark.parametrize(
    ("shown", "alike"),
    [
        ("wrote suite.yaml\nNow try: evenhand run suite.yaml", True),
        ("wrote …\n\nNow   try: …", True),
        ("…\nNow try: evenhand run suite.yaml", True),
        ("wrote suite.yaml", False),
        ("Now try: …\n…\nwrote …", False),
    ],
)
def test_output_is_compared_loosely(shown: str, alike: bool) -> None:
    assert is_like(shown, "wrote suite.yaml  \nNow try: evenhand run suite.yaml\n") is alike
