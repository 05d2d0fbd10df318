"""`evenhand init`: a first suite to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import NoEnvFile, Quiet, Verbose
from evenhand.domain.errors import ConfigError


def init(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where; here if left out.")] = ".",
    *,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Write a first suite, which runs at once and without a key. Nothing is written over."""
    from evenhand.suites.template import init_files

    place = Path(folder)
    files = {place / name: text for name, text in init_files().items()}
    there = [str(path) for path in files if path.exists()]
    if there:
        raise ConfigError(
            f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already; name another folder"
        )
    place.mkdir(parents=True, exist_ok=True)
    console = Console(quiet=quiet)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
        console.note(f"wrote {path}")
    first = next(iter(files))
    console.note(f"Now try: evenhand run {first}")
