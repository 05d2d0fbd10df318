"""What happens in a run, as it happens: JSON lines in a file, and with ``-v`` in words.

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
from evenhand.reports.json_text import strict_json

_CLASS = re.compile(r"[a-z][a-z_ ]{0,40}")


class Journal:
    """Notes events; ``observe`` is for the runner, the others for those who start and end it."""

    def __init__(self, file: TextIO | None, console: Console, *, verbose: bool = False) -> None:
        self._file = file
        self._console = console
        self._verbose = verbose
        self._limits: dict[str, int] = {}

    def began(self, run: RunRecord, *, evaluations: int, done: int, concurrency: int) -> None:
        """Note that work on a run begins."""
        self._note(
            "run_started",
            {"run": run.id, "name": run.name, "cases": run.cases, "evaluations": evaluations, "done": done,
             "concurrency": concurrency},
        )  # fmt: skip

    def observe(self, planned: PlannedCase, judgment: Judgment) -> None:
        """Note an evaluation that was committed, and what had to be tried again for it."""
        evaluation = judgment.evaluation
        about = {"case": planned.case.id, "evaluator": evaluation.evaluator, "sample": judgment.sample}
        for attempt in evaluation.attempts:
            if attempt.error is not None:
                self._note("attempt_failed", about | {"kind": attempt.kind, "class": _class(attempt.error)})
        self._note(
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
        """Note where fewer questions are asked at once than before."""
        for account, lane in lanes.items():
            limit = int(lane.limit)
            before = self._limits.get(account, limit)
            if limit < before:
                # What follows on the address tells keys apart.
                server = account.split(" ")[0]
                self._note("concurrency_cut", {"server": server, "from": before, "to": limit})
            self._limits[account] = limit

    def outage(self, outage: Outage) -> None:
        """Note that a provider does not answer any more, or that it is back."""
        if outage.lasted is None:
            about = {"model": outage.model, "class": _class(outage.error), "limit": outage.limit}
            self._note("provider_gone", about)
        else:
            self._note("provider_back", {"model": outage.model, "seconds": round(outage.lasted, 3)})

    def blocked(self, block: Block) -> None:
        """Note that something holds the event loop, and where."""
        self._note("loop_blocked", {"seconds": round(block.seconds, 3), "stack": list(block.stack)})

    def interrupted(self) -> None:
        """Note that somebody asked to stop."""
        self._note("interrupted", {})

    def ended(self, run: RunRecord, progress: Progress) -> None:
        """Note how the work ended."""
        about = {"run": run.id, "status": run.status.value, "reason": _class(run.reason) if run.reason else None}
        counts = {name: getattr(progress, name) for name in ("done", "errors", "retries", "calls", "cost")}
        self._note("run_ended", about | counts | {"seconds": round(progress.seconds, 3)})

    def _note(self, event: str, about: Mapping[str, Any]) -> None:
        if self._file is not None:
            self._write(strict_json({"time": moment(time.time()), "event": event, **about}))
        if self._verbose:
            told = ", ".join(f"{name} {value}" for name, value in about.items() if value not in (None, ""))
            self._console.note(f"{event.replace('_', ' ')}: {told}" if told else event.replace("_", " "))

    def _write(self, line: str) -> None:
        assert self._file is not None  # noqa: S101 - the caller looked
        try:
            self._file.write(f"{line}\n")
            self._file.flush()
        except OSError as error:  # the run is worth more than its journal
            self._console.error(f"{self._file.name}: {error.strerror}; nothing more is written to it")
            self._file = None


@contextlib.contextmanager
def journal(log_file: str | None, console: Console, *, verbose: bool, called: str = "--log-file") -> Iterator[Journal]:
    """Keep a journal: in a file if there is one, and in words for those who want them.

    ``called`` is what names the file: the flag, a variable, or the settings.
    """
    if log_file is None:
        yield Journal(None, console, verbose=verbose)
        return
    file = _opened(log_file, called)
    try:
        yield Journal(file, console, verbose=verbose)
    finally:
        with contextlib.suppress(OSError):  # which was told when it was written
            file.close()


def _opened(log_file: str, called: str) -> TextIO:
    try:
        return Path(log_file).open("a", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{called} {log_file}: {error.strerror}") from None


def _class(error: str) -> str:
    """Return the class of an error. What follows on it may quote what a model said."""
    kind = Failure.of(error).kind
    return kind if _CLASS.fullmatch(kind) else "other"
