"""The examination of a judge over HTTP."""

from __future__ import annotations

from typing import Any, Literal

from evenhand.server.api.bodies import RunId, routes
from evenhand.server.api.schemas import Shape
from evenhand.server.dependencies import StoreDep
from evenhand.server.runs.examinations import examination_in
from evenhand.server.runs.progress import with_actual_status

router = routes("runs")


class ProbeShape(Shape):
    """What came of a probe: harm was done ``harmed`` times among ``among``."""

    probe: str
    kind: Literal["consistency", "bias", "attack", "calibration"]
    about: str
    counted: str
    outcome: Literal["passed", "failed", "not_enough_data"]
    harmed: int
    among: int
    opposite: int | None
    unscored: int
    rate: float | None
    interval: dict[str, Any] | None
    excess: float | None
    limit: float
    p: float | None
    why: str


class ExaminationShape(Shape):
    """What the probes of an examination found; ``failed`` names those that the judge failed."""

    passed: bool
    failed: list[str]
    probes: list[ProbeShape]
    attack_success: dict[str, Any] | None
    accuracy: list[dict[str, Any]]
    auc: float | None
    pairs: int
    seed: int
    limits: dict[str, float]
    alpha: float
    cases: int
    unscored: int
    pending: int


class DoctorShape(Shape):
    """An examination of a judge."""

    run: str
    status: str
    doctor: ExaminationShape


@router.get("/runs/{run}/doctor", response_model=DoctorShape)
def get_examination(run: RunId, store: StoreDep) -> Any:
    """Return what an examination of a judge found: each probe with its counts and outcome; 409 for other runs."""
    record = with_actual_status(store, store.runs.find(run))
    return {
        "run": record.id,
        "status": record.status.value,
        "doctor": examination_in(store, record).as_dict(),
    }
