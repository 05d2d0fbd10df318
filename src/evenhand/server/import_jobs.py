"""Imports of prompts that take a while: done one after the other in the background, with their progress."""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from evenhand.domain.errors import EvenhandError
from evenhand.server.problems import Problem
from evenhand.workspace.prompt_import import Imported, ImportObserver, ImportStage

# So many are kept, for whoever asks how they ended.
_MOST: Final = 32
_MOST_WAITING: Final = 8

_log = logging.getLogger("evenhand.server")


@dataclass(slots=True)
class ImportJob:
    """An import: how far it is or, in the end, what it did, or why it did nothing."""

    id: str = field(default_factory=lambda: secrets.token_urlsafe(6))
    status: Literal["waiting", "running", "done", "failed"] = "waiting"
    stage: ImportStage | None = None
    done: int = 0
    total: int = 0
    report: Imported | None = None
    problem: Problem | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it is done, or failed."""
        return self.status in ("done", "failed")

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "id": self.id,
            "status": self.status,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "result": None if self.report is None else self.report.as_dict(),
            "problem": None if self.problem is None else self.problem.as_dict(),
        }


class _ServerStopsError(Exception):
    """Undoes an import that is not finished."""


class ImportJobs:
    """The last few imports, each under a random id."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, ImportJob] = OrderedDict()
        self._background = ThreadPoolExecutor(1, thread_name_prefix="import")
        self._is_closed = False

    def start(self, act: Callable[[ImportObserver], Imported]) -> ImportJob:
        """Do an import in the background; ``act`` is told to whom it reports its progress."""
        waiting = sum(not job.has_ended for job in self._jobs.values())
        if waiting >= _MOST_WAITING:
            wait = {"retry-after": "30"}
            raise Problem(503, "Too many imports", f"{waiting} imports are waiting; try again later", headers=wait)
        job = self._keep(ImportJob())
        self._background.submit(self._do, job, act)
        return job

    def ended(self, report: Imported) -> ImportJob:
        """Keep an import that was done at once."""
        return self._keep(ImportJob(status="done", report=report))

    def find(self, job_id: str) -> ImportJob | None:
        """Return an import, or None if it is not known any more."""
        return self._jobs.get(job_id)

    def close(self) -> None:
        """Undo the import in progress, and begin no other."""
        self._is_closed = True
        self._background.shutdown(wait=True, cancel_futures=True)

    def _keep(self, job: ImportJob) -> ImportJob:
        for known in [known for known in self._jobs.values() if known.has_ended][: max(0, len(self._jobs) - _MOST + 1)]:
            self._jobs.pop(known.id, None)
        self._jobs[job.id] = job
        return job

    def _do(self, job: ImportJob, act: Callable[[ImportObserver], Imported]) -> None:
        def report(stage: ImportStage, done: int, total: int) -> None:
            if self._is_closed:
                raise _ServerStopsError
            job.stage, job.done, job.total = stage, done, total

        job.status = "running"
        try:
            job.report = act(report)
            job.status = "done"
        except (EvenhandError, Problem, _ServerStopsError) as error:
            job.problem = _problem(error)
            job.status = "failed"
        except Exception:
            _log.exception("the import %s failed", job.id)
            job.problem = Problem(500, "Internal server error", "see the server's log")
            job.status = "failed"


def _problem(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case EvenhandError():
            return Problem.of(error)
        case _:
            return Problem(503, "Server stopped", "the server was stopped before the import was done; start it again")
