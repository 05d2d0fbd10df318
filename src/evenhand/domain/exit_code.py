"""The exit code of a command: of all that is the matter, what matters most (SPEC-S8)."""

from __future__ import annotations

from enum import IntEnum

from evenhand.domain.gates import Gates
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


def exit_code(
    summary: Summary | None,
    gates: Gates | None = None,
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
    not come to numbers.
    """
    gates = gates or Gates()
    failed = {result.kind for result in gates.check(summary) if not result.ok} if summary else set()
    errors = summary is not None and summary.cases.errors > 0 and not gates.limits_unscored
    for happened, code in (
        (interrupted, ExitCode.INTERRUPTED),
        (usage, ExitCode.USAGE),
        (error, ExitCode.ERROR),
        (budget_reached, ExitCode.BUDGET_REACHED),
        (never_scored, ExitCode.NEVER_SCORED),
        (errors or "unscored" in failed, ExitCode.UNSCORED),
        (judge_not_trusted, ExitCode.JUDGE_NOT_TRUSTED),
        ("score" in failed, ExitCode.GATE_FAILED),
    ):
        if happened:
            return code
    return ExitCode.OK
