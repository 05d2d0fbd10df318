"""Texts that options give: typed, in a file after @, or from standard input for -."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from evenhand.cli.console import read_input
from evenhand.domain.errors import ConfigError

WAYS = "Typed, or in a file as @FILE, or - for standard input."


def text_option(flag: str, words: str) -> Any:
    """Make an option whose value is a text, however it is given."""
    return typer.Option(flag, metavar="TEXT", help=words)


def texts_given(given: Mapping[str, str | None]) -> dict[str, str]:
    """Read the texts that were given, by their flags; what was not given is left out.

    >>> texts_given({"--content": "@@handle", "--criteria": None})
    {'--content': '@handle'}
    """
    piped = [flag for flag, value in given.items() if value == "-"]
    if len(piped) > 1:
        raise ConfigError(f"standard input can be read once, not for {' and '.join(piped)}")
    return {flag: _read(flag, value) for flag, value in given.items() if value is not None}


def _read(flag: str, value: str) -> str:
    if value == "-":
        return read_input()
    if not value.startswith("@"):
        return value
    if value.startswith("@@"):  # a text that begins with one
        return value[1:]
    path = Path(value[1:])
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{flag}: {path}: byte {error.start + 1} is not UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{flag}: {path}: {error.strerror}; a text that begins with @ is written @@") from None
    return text.removesuffix("\n").removesuffix("\r")  # as from standard input: editors put one last
