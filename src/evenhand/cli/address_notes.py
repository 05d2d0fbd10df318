"""What the command line tells of models that are asked at an address which stands in a variable."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from evenhand.cli.console import Console
from evenhand.models.addresses import ADDRESSES


def tell_addresses(ctx: typer.Context, from_env_file: Mapping[str, Path]) -> None:
    """Tell on standard error where models are asked, until the command ends, and which file has the variable."""
    for left in [one for one in ADDRESSES.handlers if isinstance(one, _Notes)]:  # by a command that never began
        ADDRESSES.removeHandler(left)
    handler = _Notes(ctx, from_env_file)
    ADDRESSES.addHandler(handler)
    ADDRESSES.propagate = False
    ctx.call_on_close(lambda: _end(handler))


def _end(handler: logging.Handler) -> None:
    ADDRESSES.removeHandler(handler)
    ADDRESSES.propagate = True


class _Notes(logging.Handler):
    def __init__(self, ctx: typer.Context, from_env_file: Mapping[str, Path]) -> None:
        super().__init__()
        self._ctx = ctx
        self._from_env_file = from_env_file

    def emit(self, record: logging.LogRecord) -> None:
        told = record.getMessage()
        variable: Any = getattr(record, "variable", None)
        if (file := self._from_env_file.get(variable)) is not None:
            told = f"{told.removesuffix(')')} in {file})"
        Console(quiet=bool(self._ctx.params.get("quiet"))).note(told)
