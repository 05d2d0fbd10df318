"""From an error to a message on standard error and an exit code (SPEC-S8)."""

from __future__ import annotations

import errno
import traceback
from typing import cast

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import display_name
from evenhand.domain.errors import ConfigError, ConflictError, EvenhandError, NotFoundError, RunNotFoundError
from evenhand.domain.exit_code import ExitCode

_MAX_CHARACTERS = 1000


def is_for_typer(error: BaseException) -> bool:
    """Return whether typer itself handles an error: a usage error, an exit, or a closed pipe."""
    if isinstance(error, OSError):
        return error.errno == errno.EPIPE
    return isinstance(error, typer.Abort) or hasattr(error, "exit_code")


def name_source(error: BaseException) -> None:
    """Let a usage error name the variable or the file that has the bad value, where no flag was typed."""
    if isinstance(error, typer.BadParameter) and error.ctx is not None and error.param is not None:
        source = display_name(cast("typer.Context", error.ctx), str(error.param.name))
        if not source.startswith("--"):  # typer names flags and arguments itself
            error.param_hint = source


def report(error: BaseException, *, verbose: bool) -> ExitCode:
    """Write an error to standard error, then what its notes advise, and return the exit code."""
    console = Console()
    code = _tell(error, console, verbose=verbose)
    for note in getattr(error, "__notes__", ()):
        console.error(note)
    return code


def _tell(error: BaseException, console: Console, *, verbose: bool) -> ExitCode:
    if verbose:
        # Without the values of variables, which may be secret.
        console.error("\n".join(["traceback of the error:", *traceback.format_exception(error)]))
    match error:
        case KeyboardInterrupt():
            console.error("interrupted")
            return ExitCode.INTERRUPTED
        case ConfigError() | RunNotFoundError() | NotFoundError() | ConflictError():
            console.error(str(error))
            return ExitCode.USAGE
        case EvenhandError():
            console.error(str(error))
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            console.error(f"{where}{error.strerror or error}")
        case _:
            hint = "" if verbose else "; -v shows the traceback"
            console.error(f"internal error: {type(error).__name__}: {error!s:.{_MAX_CHARACTERS}}{hint}")
    return ExitCode.ERROR
