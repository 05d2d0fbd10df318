"""The exit code of a command: of all that is the matter, what matters most (SPEC-S8)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from evenhand.domain.gates import GateResult, Gates
from evenhand.domain.summary import Summary


class ExitCode(IntEnum):
    """How a command ends."""

    OK = 0
    ERROR = 1
    USAGE = 2
    GATE_FAILED = 100
    UNSCORED = 101
    BUDGET_REACHED = 102
    JUDGE_NOT_TRUSTED = 103
    NEVER_SCORED = 104
    INTERRUPTED = 130


# What matters most comes first.
_ORDER: Final = (
    ExitCode.INTERRUPTED,
    ExitCode.USAGE,
    ExitCode.ERROR,
    ExitCode.BUDGET_REACHED,
    ExitCode.NEVER_SCORED,
    ExitCode.UNSCORED,
    ExitCode.JUDGE_NOT_TRUSTED,
    ExitCode.GATE_FAILED,
    ExitCode.OK,
)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code that matters most; success where there is none.

    >>> worst([ExitCode.OK, ExitCode.GATE_FAILED, ExitCode.UNSCORED]).name
    'UNSCORED'
    """
    return min(codes, key=_ORDER.index, default=ExitCode.OK)


def exit_code(
    summary: Summary | None,
    gates: Gates | None = None,
    results: Iterable[GateResult] | None = None,
    /,
    *,
    interrupted: bool = False,
    usage: bool = False,
    error: bool = False,
    budget_reached: bool = False,
    never_scored: bool = False,
    judge_not_trusted: bool = False,
) -> ExitCode:
    """Return the exit code of a run: of all that is the matter, what matters most (SPEC-S8).

    ``usage`` is a mistake in the command or the suite, ``error`` any other trouble; ``summary`` is None where it did
    not come to numbers. ``results`` are those of the gates where they do not follow from the numbers, as in a run that
    was decided early.
    """
    gates = gates or Gates()
    if results is None:
        results = gates.check(summary) if summary else ()
    failed = {result.kind for result in results if not result.ok}
    errors = summary is not None and summary.cases.by_answer.errors > 0 and not gates.limits_unscored
    happened = {
        ExitCode.INTERRUPTED: interrupted,
        ExitCode.USAGE: usage,
        ExitCode.ERROR: error,
        ExitCode.BUDGET_REACHED: budget_reached,
        ExitCode.NEVER_SCORED: never_scored,
        ExitCode.UNSCORED: errors or "unscored" in failed,
        ExitCode.JUDGE_NOT_TRUSTED: judge_not_trusted or "trust" in failed,
        ExitCode.GATE_FAILED: "score" in failed,
    }
    return worst(code for code, is_so in happened.items() if is_so)
