"""The examination of a judge as a program gets it: what was found, probe by probe, and its judge card."""

from __future__ import annotations

import os
from pathlib import Path

from evenhand.doctor import report
from evenhand.doctor.examination import Examination, ProbeResult
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import RunStatus
from evenhand.domain.run_kind import is_doctor
from evenhand.engine.run import Run
from evenhand.engine.store_location import DEFAULT, PlaceLike


class JudgeExamination:
    """What ``examine_judge`` gives.

    ``run`` is the run behind it, with every evaluation; ``found`` has all numbers. ``JudgeExamination.open()`` opens
    the last one that is stored, ``JudgeExamination.open(id)`` any other.
    """

    def __init__(self, run: Run) -> None:
        if not is_doctor(run.record.definition):
            raise ConfigError(f"run {run.id} does not examine a judge; its numbers are in Run.open({run.id!r})")
        self.run = run

    @classmethod
    def open(cls, wanted: str = "last", *, store: PlaceLike = DEFAULT) -> JudgeExamination:
        """Open a stored examination by the id of its run, by the beginning of it, or as ``last`` or ``previous``."""
        return cls(Run.open(wanted, store=store))

    @property
    def found(self) -> Examination:
        """All numbers: the probes, the attack success rate, and how well good answers are told from bad ones."""
        return report.found_in(self.run.whole_report)

    @property
    def probes(self) -> tuple[ProbeResult, ...]:
        """What came of each probe."""
        return self.found.probes

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the probes that the judge failed."""
        return tuple(probe.name for probe in self.found.failed)

    @property
    def passed(self) -> bool:
        """Whether the run finished, and the judge failed no probe."""
        return self.run.status is RunStatus.FINISHED and not self.failed

    def report(self) -> str:
        """Return the judge card as text for people."""
        return report.terminal(self.run.whole_report)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the judge card to a file, whose ending says the format: ``examination.save("card.html")``."""
        report.write(self.run.whole_report, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        return f"JudgeExamination of run {self.run.id}: {report.in_short(self.run.whole_report)}"
