"""The events of a run, as they happen: JSON lines in a file, and with ``-v`` on the terminal.

No prompt, no answer, no reply and no key is ever written here.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from evenhand.cli.console import Console
from evenhand.domain.errors import ConfigError
from evenhand.domain.failure import Failure
from evenhand.domain.run import Judgment, PlannedCase, RunRecord
from evenhand.drive.loop_watch import Block
from evenhand.engine.breaker import Outage
from evenhand.engine.concurrency_limit import ConcurrencyLimit
from evenhand.engine.run import Progress
from evenhand.reports.json import moment
from evenhand.reports.safe_text import strict_json

_CLASS = re.compile(r"[a-z][a-z_ ]{0,40}")


class Journal:
    """Logs events; ``observe`` is for the runner, the other methods for whoever starts and ends it."""

    def __init__(self, file: TextIO | None, console: Console, *, verbose: bool = False) -> None:
        self._file = file
        self._console = console
        self._verbose = verbose
        self._limits: dict[str, int] = {}

    @property
    def is_read(self) -> bool:
        """Whether events go anywhere."""
        return self._file is not None or self._verbose

    def began(self, run: RunRecord, *, evaluations: int, done: int, concurrency: int) -> None:
        """Log that work on a run begins."""
        self._log(
            "run_started",
            {"run": run.id, "name": run.name, "cases": run.cases, "evaluations": evaluations, "done": done,
             "concurrency": concurrency},
        )  # fmt: skip

    def observe(self, planned: PlannedCase, judgment: Judgment) -> None:
        """Log an evaluation that was committed, and the attempts that failed before."""
        evaluation = judgment.evaluation
        about = {"case": planned.case.id, "evaluator": evaluation.evaluator, "sample": judgment.sample}
        for attempt in evaluation.attempts:
            if attempt.error is not None:
                self._log("attempt_failed", about | {"kind": attempt.kind, "class": _class(attempt.error)})
        self._log(
            "evaluation_committed",
            about
            | {
                "status": evaluation.status.value,
                "score": evaluation.score if evaluation.error is None else None,
                "error": None if evaluation.error is None else _class(evaluation.error),
                "seconds": round(judgment.seconds, 4),
                "retries": evaluation.retry_count,
                "cached": sum(attempt.cached for attempt in evaluation.attempts),
                "round": judgment.round,
            },
        )

    def watch(self, lanes: Mapping[str, ConcurrencyLimit]) -> None:
        """Log each limit of concurrency that was lowered."""
        for account, lane in lanes.items():
            limit = int(lane.limit)
            before = self._limits.get(account, limit)
            if limit < before:
                # After the address comes what distinguishes keys.
                server = account.split(" ")[0]
                self._log("concurrency_cut", {"server": server, "from": before, "to": limit})
            self._limits[account] = limit

    def outage(self, outage: Outage) -> None:
        """Log that a provider stopped answering, or that it is back."""
        if outage.lasted is None:
            about = {"model": outage.model, "class": _class(outage.error), "limit": outage.limit}
            self._log("provider_gone", about)
        else:
            self._log("provider_back", {"model": outage.model, "seconds": round(outage.lasted, 3)})

    def blocked(self, block: Block) -> None:
        """Log that something blocks the event loop, and where."""
        self._log("loop_blocked", {"seconds": round(block.seconds, 3), "stack": list(block.stack)})

    def interrupted(self) -> None:
        """Log that the user asked to stop."""
        self._log("interrupted", {})

    def ended(self, run: RunRecord, progress: Progress) -> None:
        """Log how the work ended."""
        about = {"run": run.id, "status": run.status.value, "reason": _class(run.reason) if run.reason else None}
        counts = {name: getattr(progress, name) for name in ("done", "errors", "retries", "calls", "cost")}
        self._log("run_ended", about | counts | {"seconds": round(progress.seconds, 3)})

    def _log(self, event: str, about: Mapping[str, Any]) -> None:
        if self._file is not None:
            self._write(strict_json({"time": moment(time.time()), "event": event, **about}))
        if self._verbose:
            details = ", ".join(f"{name} {value}" for name, value in about.items() if value not in (None, ""))
            self._console.note(f"{event.replace('_', ' ')}: {details}" if details else event.replace("_", " "))

    def _write(self, line: str) -> None:
        assert self._file is not None  # noqa: S101 - the caller looked
        try:
            self._file.write(f"{line}\n")
            self._file.flush()
        except OSError as error:  # the run is worth more than its journal
            self._console.error(f"{self._file.name}: {error.strerror}; no more events are written to it")
            self._file = None


@contextlib.contextmanager
def open_journal(
    log_file: str | None, console: Console, *, verbose: bool, option: str = "--log-file"
) -> Iterator[Journal]:
    """Open a journal: in a file if one is named, and on the terminal if ``verbose``.

    ``option`` is what names the file: the flag, a variable, or a key in the settings.
    """
    if log_file is None:
        yield Journal(None, console, verbose=verbose)
        return
    file = _open(log_file, option)
    try:
        yield Journal(file, console, verbose=verbose)
    finally:
        with contextlib.suppress(OSError):  # which was reported when it was written
            file.close()


def _open(log_file: str, option: str) -> TextIO:
    try:
        return Path(log_file).open("a", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{option} {log_file}: {error.strerror}") from None


def _class(error: str) -> str:
    """Return the class of an error; the text after it may quote a model."""
    kind = Failure.of(error).kind
    return kind if _CLASS.fullmatch(kind) else "other"
