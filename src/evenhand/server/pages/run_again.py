"""Running a prompt again from where it is edited: like its last run, with the prompt and the test cases as they are."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from evenhand.domain.errors import ConflictError, RunNotFoundError
from evenhand.domain.run import RunRecord
from evenhand.server.pages.run_view import own
from evenhand.server.runs.baseline import of_prompt
from evenhand.server.runs.progress import AT_WORK
from evenhand.server.runs.requests import RunRequest
from evenhand.store.store import Store

# How many runs are searched for the last one of a prompt.
_NEAR: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """The run to start again; ``form`` makes sure that it is started once, however often the button is pressed."""

    run: RunRecord
    request: RunRequest
    form: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def address(self) -> str:
        """The address of the run."""
        return own(self.run)

    @property
    def about(self) -> str:
        """What it would use."""
        judged = f", judged by {self.request.judge}" if self.request.judge else ""
        return f"All test cases on {', '.join(self.request.models)}{judged}, as in the last run (Shift R)"

    @classmethod
    def of(cls, store: Store, prompt_id: str, run_id: str = "") -> Again | None:
        """Return the run to start again: the named one, else the last of the prompt; None where none can be."""
        for run in _candidates(store, run_id):
            if of_prompt(run) != prompt_id or run.status in AT_WORK:
                continue
            try:
                return cls(run=run, request=RunRequest.again(run))
            except ConflictError:  # its models have no names
                continue
        return None


def _candidates(store: Store, run_id: str) -> Iterator[RunRecord]:
    if run_id:
        with contextlib.suppress(RunNotFoundError):  # it was deleted since
            yield store.runs.find(run_id)
    yield from store.runs.newest(_NEAR)
