"""Examinations of judges as the server shows them."""

from __future__ import annotations

from evenhand.doctor.examination import Examination, examination_of
from evenhand.domain.errors import ConflictError
from evenhand.domain.run import RunRecord
from evenhand.domain.run_kind import is_doctor
from evenhand.store.store import Store


def examination_in(store: Store, run: RunRecord) -> Examination:
    """Return what an examination found, from some thousand cases at most; refuse other runs."""
    if not is_doctor(run.definition):
        raise ConflictError(f"run {run.id} does not examine a judge")
    return examination_of(run.definition, store.results(run))
