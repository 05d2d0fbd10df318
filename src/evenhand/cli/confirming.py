"""Asking before something is deleted."""

from __future__ import annotations

import typer

from evenhand.cli.console import Console
from evenhand.domain.errors import ConfigError


def confirm(console: Console, question: str) -> None:
    """Ask whether to go on; a no ends the command, and so does nobody being there to ask."""
    answer = console.confirm(question)
    if answer is None:
        raise ConfigError(f"{question} Nobody is there to ask; give --yes")
    if not answer:
        console.note("nothing was deleted")
        raise typer.Exit
