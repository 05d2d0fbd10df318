"""From an error to a line that says what to do, and to the exit code (SPEC-S8)."""

from __future__ import annotations

import errno
import traceback
from typing import cast

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import called
from evenhand.domain.errors import ConfigError, ConflictError, EvenhandError, NotFoundError, RunNotFoundError
from evenhand.domain.gates import ExitCode

_MOST_SHOWN = 1000


def is_for_typer(error: BaseException) -> bool:
    """Tell whether an error is one that typer itself shows: a usage error, an exit, or a reader that went away."""
    if isinstance(error, OSError):
        return error.errno == errno.EPIPE
    return isinstance(error, typer.Abort) or hasattr(error, "exit_code")


def name_source(error: BaseException) -> None:
    """Let the usage error of a bad value name the variable or the file that has it, and no flag that nobody typed."""
    if isinstance(error, typer.BadParameter) and error.ctx is not None and error.param is not None:
        source = called(cast("typer.Context", error.ctx), str(error.param.name))
        if not source.startswith("--"):  # typer names flags and arguments itself
            error.param_hint = source


def tell(error: BaseException, *, verbose: bool) -> ExitCode:
    """Tell an error on standard error, and give the exit code."""
    console = Console()
    if verbose:
        # Without the values of variables, which may be secret.
        console.error("\n".join(["the error arose here:", *traceback.format_exception(error)]))
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
            how = "" if verbose else "; -v shows where"
            console.error(f"this should not have happened: {type(error).__name__}: {error!s:.{_MOST_SHOWN}}{how}")
    return ExitCode.ERROR
