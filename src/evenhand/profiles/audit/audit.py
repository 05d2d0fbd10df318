"""An audit as a program gets it: its effects one by one, its gates, and its reports."""

from __future__ import annotations

import os
from pathlib import Path

from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import GateResult
from evenhand.domain.run_kind import is_audit
from evenhand.engine.run import Run
from evenhand.engine.store_location import DEFAULT, PlaceLike
from evenhand.profiles.audit import report
from evenhand.profiles.audit.artifacts import write_artifacts
from evenhand.profiles.audit.diff import AuditDiff, diff
from evenhand.profiles.audit.effects import Effect
from evenhand.profiles.audit.refusals import Refusal
from evenhand.profiles.audit.result import AuditNumbers


class Audit:
    """What ``audit`` gives.

    ``run`` is the run behind it, with every evaluation; ``numbers`` has all that was found. ``Audit.open()`` opens the
    last one that is stored, ``Audit.open(id)`` any other.
    """

    def __init__(self, run: Run) -> None:
        if not is_audit(run.record.definition):
            raise ConfigError(f"run {run.id} is not an audit; its numbers are in Run.open({run.id!r})")
        self.run = run

    @classmethod
    def open(cls, wanted: str = "last", *, store: PlaceLike = DEFAULT) -> Audit:
        """Open a stored audit by the id of its run, by the beginning of it, or as ``last`` or ``previous``."""
        return cls(Run.open(wanted, store=store))

    @property
    def numbers(self) -> AuditNumbers:
        """All numbers: levels, effects, refusals, impact ratios, swaps, spread, and what cannot be told apart."""
        return report.audit_of(self.run.whole_report)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The effects: main ones first, then interactions with groups."""
        return self.numbers.effects

    @property
    def findings(self) -> tuple[Effect | Refusal, ...]:
        """What was found about groups, beyond chance: unequal refusals, and effects on the score."""
        return self.numbers.findings

    @property
    def gates(self) -> tuple[GateResult, ...]:
        """What the gates wanted, and what was found."""
        return (*self.run.gates, *self.numbers.gates)

    @property
    def passed(self) -> bool:
        """Whether it finished, and all gates hold; where none limits them, no profile may be without a score."""
        return self.run.passed and all(gate.ok for gate in self.numbers.gates)

    def report(self) -> str:
        """Return the report as text for people."""
        return report.terminal(self.run.whole_report)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the report to a file, whose ending says the format: ``audit.save("audit.html")``."""
        report.write(self.run.whole_report, Path(path))
        return Path(path)

    def save_artifacts(self, folder: str | os.PathLike[str]) -> Path:
        """Write everything to a folder: what was shown, every reply, what was made of it, report and metadata."""
        return write_artifacts(report.with_gates(self.run.whole_report), folder)

    def diff(self, other: Audit) -> AuditDiff:
        """Return which effects differ in another audit of the same design, that one being B."""
        return diff(self.run.record, other.run.record, self.run, other.run)

    def __repr__(self) -> str:
        return f"Audit of run {self.run.id}: {report.in_short(self.run.whole_report)}"
