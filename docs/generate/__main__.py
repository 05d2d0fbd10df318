"""Write the pages of the reference, or, with ``--check``, tell which of them are no longer true."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from docs.generate import command_line, python_names, suite_file

FOLDER: Final = Path(__file__).resolve().parents[1] / "reference"
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "suite-file.md": suite_file.page,
    "command-line.md": command_line.page,
    "python.md": python_names.page,
}


def main(arguments: list[str]) -> int:
    """Do what is asked, and give the exit code."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m docs.generate [--check]\n")
        return 2
    stale = []
    for name, page in PAGES.items():
        path, text = FOLDER / name, page()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not arguments:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        told = f"docs/reference/{name} is out of date: python -m docs.generate" if arguments else f"wrote {name}"
        sys.stdout.write(f"{told}\n")
    return 1 if arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
