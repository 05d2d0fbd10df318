"""The one place that writes to the terminal: results to standard output, everything else to standard error (REL-S4).

What models and users wrote is made plain before it is shown. Reports and JSON are made safe by those who write them.
"""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import typer

from evenhand.domain.errors import ConfigError
from evenhand.models.environment import ADDRESSES
from evenhand.reports.safe_text import plain

_ERROR = 2  # the number of standard error


class Console:
    """Standard output and standard error as a command uses them; ``quiet`` leaves errors only."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        # Taken now, not when the module is loaded: tests and other programs put their own in place.
        self.out = _forgiving(sys.stdout)
        self._err = _forgiving(sys.stderr)
        self._rewritten = 0

    @property
    def is_live(self) -> bool:
        """Whether somebody watches: a line may then be written again and again."""
        return self._err.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")

    @property
    def colour(self) -> bool:
        """Whether results may be coloured."""
        return self.out.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")

    @property
    def width(self) -> int:
        """How many characters a line has room for."""
        return max(shutil.get_terminal_size((100, 24)).columns, 40)

    def result(self, text: str) -> None:
        """Return a result that one of our writers made safe."""
        self._clear()
        with _unless_closed(self.out):
            self.out.write(text if text.endswith("\n") else f"{text}\n")
            self.out.flush()

    def results(self, lines: Iterable[bytes]) -> None:
        """Return results as they are, byte by byte."""
        self.out.flush()
        self.out.buffer.writelines(lines)
        self.out.buffer.flush()

    def note(self, text: str) -> None:
        """Tell something on the way."""
        if not self.quiet:
            self._tell(text)

    def error(self, text: str) -> None:
        """Tell what went wrong, and how to go on; also when all else is quiet."""
        self._tell(f"evenhand: {text}")

    def live(self, text: str) -> None:
        """Write over the line that was written like this before."""
        line = plain(text, self.width - 1)
        self._write(f"\r{line.ljust(self._rewritten)}")
        self._rewritten = len(line)

    def confirm(self, question: str) -> bool | None:
        """Ask a question that is answered by y or n; None where nobody is there to answer."""
        if not sys.stdin.isatty():
            return None
        self._write(f"{plain(question, None)} [y/N] ")
        return sys.stdin.readline().strip().lower() in {"y", "yes"}

    def _tell(self, text: str) -> None:
        self._clear()
        lines = [plain(line, None) for line in text.splitlines()]
        self._write("\n".join(lines) + "\n")

    def _clear(self) -> None:
        if self._rewritten:
            self._write(f"\r{' ' * self._rewritten}\r")
            self._rewritten = 0

    def _write(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError), _unless_closed(self._err):
            self._err.write(text)  # where nobody listens any more, the work goes on
            self._err.flush()


def input_bytes() -> BinaryIO:
    """Return standard input as bytes."""
    return sys.stdin.buffer


def read_input() -> str:
    """Read all of standard input, without the line end that a shell puts last."""
    try:
        text = input_bytes().read().decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"standard input: byte {error.start + 1} is not UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


def last_words(text: str) -> None:
    """Write to standard error from a signal handler, which may have come in the middle of another writing."""
    with contextlib.suppress(OSError):  # the terminal may be closed
        os.write(_ERROR, f"\n{plain(text, None)}\n".encode())


@contextlib.contextmanager
def _unless_closed(stream: TextIO) -> Iterator[None]:
    """Write to a terminal that may be closed meanwhile: then what is written, now and later, goes nowhere."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _forgiving(stream: TextIO | None) -> TextIO:
    """Let a terminal that lacks a character show a question mark in its place; where there is none, nobody reads."""
    if stream is None:
        return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    return stream


def confirm(console: Console, question: str) -> None:
    """Ask whether to go on; a no ends the command, and so does nobody being there to ask."""
    answer = console.confirm(question)
    if answer is None:
        raise ConfigError(f"{question} Nobody is there to ask; give --yes")
    if not answer:
        console.note("nothing was deleted")
        raise typer.Exit


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
