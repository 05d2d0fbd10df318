"""What the page of a run says about the baseline: whether it is that, and how it came out against it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.reports.comparison import verdict_sentence
from evenhand.reports.numbers import counted
from evenhand.server.api.shared import Opened
from evenhand.server.comparisons import Turns, compared
from evenhand.server.lineage import baseline_of, pin, unpin
from evenhand.server.pages.forms import see_other
from evenhand.server.pages.results_run import own
from evenhand.server.pages.runs_row import counted_in
from evenhand.store.store import Store

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """A run held against its baseline; of ``lines``, each has the address of its cases, and ``why_not`` says why none.

    Where neither is there, both are still being compared.
    """

    baseline: RunRecord
    address: str
    sentence: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    why_not: str = ""

    @classmethod
    def of(cls, request: Request, store: Store, run: RunRecord, seconds: float) -> Against | None:
        """Compare a run with its baseline, if it has one and both came to an end."""
        baseline = baseline_of(store, run) if run.status is RunStatus.FINISHED else None
        if baseline is None:
            return None
        address = f"/compare?{urlencode({'a': baseline.id, 'b': run.id})}"
        try:
            found = compared(counted_in(request), store, (baseline, run), seconds=seconds)
        except TimeoutError:
            return cls(baseline=baseline, address=address)
        except ConfigError as error:
            return cls(baseline=baseline, address=address, why_not=str(error).splitlines()[0].rstrip(":"))
        sentence = verdict_sentence(found.cases.scores)
        return cls(
            baseline=baseline,
            address=address,
            sentence=f"{sentence[:1].upper()}{sentence[1:]}, where A is the baseline and B this run.",
            lines=tuple(_lines(Turns.of(found), address)),
        )


def _lines(turns: Turns, address: str) -> list[tuple[str, str]]:
    told = [
        (counted(turns.worse, "regression"), f"{address}&way=worse#changes"),
        (counted(turns.better, "improvement"), f"{address}&way=better#changes"),
    ]
    if turns.broken:
        told.append((f"{counted(turns.broken, 'case')} without a score now", address))
    return told


@router.post("/runs/{run_id}/pin")
def pin_run(run_id: str, store: Opened) -> Response:
    """Hold later runs of the same suite or prompt against this one."""
    return see_other(own(pin(store, store.runs.find(run_id))))


@router.post("/runs/{run_id}/unpin")
def unpin_run(run_id: str, store: Opened) -> Response:
    """Hold no run against this one any more."""
    run = store.runs.find(run_id)
    unpin(store, run)
    return see_other(own(run))
