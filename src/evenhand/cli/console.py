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
_LONGEST_LINE = 1024


class Console:
    """Standard output and standard error as a command uses them; ``quiet`` leaves errors only."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        # Taken now, not when the module is loaded: tests and other programs put their own in place.
        self.out = _lenient(sys.stdout)
        self._err = _lenient(sys.stderr)
        self._rewritten = 0
        # Whether a question is open, which other lines would hide.
        self.is_asking = False

    @property
    def can_ask(self) -> bool:
        """Whether somebody is there to answer questions while the work goes on."""
        return self.is_live and sys.stdin.isatty() and not self.quiet

    @property
    def is_live(self) -> bool:
        """Whether a line can be rewritten: standard error is a terminal, and not in CI."""
        return self._err.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")

    @property
    def shows_results(self) -> bool:
        """Whether results and messages are read by the same person: on one terminal."""
        return self.out.isatty() and self._err.isatty() and not self.quiet

    @property
    def colour(self) -> bool:
        """Whether results may be coloured."""
        return self.out.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")

    @property
    def width(self) -> int:
        """How many characters a line has room for."""
        return max(shutil.get_terminal_size((100, 24)).columns, 40)

    def result(self, text: str) -> None:
        """Print a result that its writer has made safe."""
        self._clear()
        with _unless_closed(self.out):
            self.out.write(text if text.endswith("\n") else f"{text}\n")
            self.out.flush()

    def results(self, lines: Iterable[bytes]) -> None:
        """Print results as they are, byte by byte."""
        self.out.flush()
        self.out.buffer.writelines(lines)
        self.out.buffer.flush()

    def note(self, text: str) -> None:
        """Print a message, unless quiet."""
        if not self.quiet:
            self._print(text)

    def error(self, text: str) -> None:
        """Print an error and how to fix it, even when quiet."""
        self._print(f"evenhand: {text}")

    def live(self, text: str) -> None:
        """Write over the line that was written like this before."""
        line = plain(text, self.width - 1)
        self._write(f"\r{line.ljust(self._rewritten)}")
        self._rewritten = len(line)

    def prompt(self, text: str) -> None:
        """Write what comes before something is typed, also when quiet."""
        self._clear()
        self._write(text)

    def confirm(self, question: str) -> bool | None:
        """Ask a yes-or-no question; return None if standard input is not a terminal."""
        if not sys.stdin.isatty():
            return None
        self._write(f"{plain(question, None)} [y/N] ")
        return sys.stdin.readline().strip().lower() in {"y", "yes"}

    async def ask(self, question: str) -> bool:
        """Ask a yes-or-no question on a terminal while other tasks go on; cancelling it leaves nothing behind."""
        import asyncio  # noqa: PLC0415 - not for commands that ask nothing
        import threading  # noqa: PLC0415

        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bytes] = loop.create_future()

        def deliver(line: bytes) -> None:
            if not answer.done():
                answer.set_result(line)

        def read() -> None:
            # Not through sys.stdin: its lock, held at the end of the program, would crash it.
            line = os.read(sys.stdin.fileno(), _LONGEST_LINE)
            with contextlib.suppress(RuntimeError):  # the loop may be gone by now
                loop.call_soon_threadsafe(deliver, line)

        self._clear()
        self.is_asking = True
        try:
            self._write(f"{plain(question, None)} [y/N] ")
            threading.Thread(target=read, name="evenhand-question", daemon=True).start()
            return (await answer).strip().lower() in {b"y", b"yes"}
        finally:
            self.is_asking = False
            if not answer.done() or answer.cancelled():
                self._write("\n")

    def _print(self, text: str) -> None:
        self._clear()
        lines = [plain(line, None) for line in text.splitlines()]
        self._write("\n".join(lines) + "\n")

    def _clear(self) -> None:
        if self._rewritten:
            self._write(f"\r{' ' * self._rewritten}\r")
            self._rewritten = 0

    def _write(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError), _unless_closed(self._err):
            self._err.write(text)  # a closed pipe does not stop the work
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


def write_from_signal(text: str) -> None:
    """Write to standard error from a signal handler, which may interrupt another write."""
    with contextlib.suppress(OSError):  # the terminal may be closed
        os.write(_ERROR, f"\n{plain(text, None)}\n".encode())


@contextlib.contextmanager
def _unless_closed(stream: TextIO) -> Iterator[None]:
    """Write to a terminal that may have been closed: then everything, now and later, is discarded."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _lenient(stream: TextIO | None) -> TextIO:
    """Return the stream with unknown characters shown as question marks; a missing stream discards everything."""
    if stream is None:
        return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    return stream


def confirm(console: Console, question: str) -> None:
    """Ask whether to delete something; a no ends the command, and without a terminal ``--yes`` is needed."""
    answer = console.confirm(question)
    if answer is None:
        raise ConfigError(f"{question} Cannot ask for confirmation without a terminal; use --yes")
    if not answer:
        console.note("nothing was deleted")
        raise typer.Exit


def show_addresses(ctx: typer.Context, from_env_file: Mapping[str, Path]) -> None:
    """Print the addresses that variables set for models, until the command ends, and which file set them."""
    for left in [
        handler for handler in ADDRESSES.handlers if isinstance(handler, _AddressNotes)
    ]:  # by a command that never began
        ADDRESSES.removeHandler(left)
    handler = _AddressNotes(ctx, from_env_file)
    ADDRESSES.addHandler(handler)
    ADDRESSES.propagate = False
    ctx.call_on_close(lambda: _end(handler))


def _end(handler: logging.Handler) -> None:
    ADDRESSES.removeHandler(handler)
    ADDRESSES.propagate = True


class _AddressNotes(logging.Handler):
    def __init__(self, ctx: typer.Context, from_env_file: Mapping[str, Path]) -> None:
        super().__init__()
        self._ctx = ctx
        self._from_env_file = from_env_file

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        variable: Any = getattr(record, "variable", None)
        if (file := self._from_env_file.get(variable)) is not None:
            text = f"{text.removesuffix(')')} in {file})"
        Console(quiet=bool(self._ctx.params.get("quiet"))).note(text)
