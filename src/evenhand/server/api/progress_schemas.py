"""What the API returns of a run before it has ended: its estimate, its progress and its batches."""

from __future__ import annotations

from typing import Any

from evenhand.server.api.schemas import Shape


class WaitingShape(Shape):
    """The batches that a run waits for, and their requests; ``since`` is when the first of them was submitted.

    ``saving`` is how many dollars batches save, in about; null in other processes than the one running it.
    """

    pending: int
    requests: int
    since: str
    saving: float | None


class ProgressShape(Shape):
    """The progress of a run; ``rate`` is in evaluations a second, ``eta`` in seconds.

    ``paused`` names the provider that has stopped answering and is being waited for; it is empty if there is none.

    ``errors``, ``not_evaluated``, ``passed``, ``borderline`` and ``failed`` count the evaluations so far, and
    ``latest_error`` is the last error in words, empty if there is none. Rate, time left, calls, retries and cost are
    null in other processes than the one running it, and so is an unknown cost. For a very large run that has ended,
    calls, retries and cost are null until they are counted. ``expected_cost`` is what the run will cost in all, from
    ``low`` to ``high``, learnt from so many ``cases``; null until 20 are judged. ``batches`` is null unless providers
    still work on batches of the run, also when nobody waits for them any more.
    """

    run: str
    status: str
    reason: str
    done: int
    total: int
    rate: float | None
    eta: float | None
    errors: int
    not_evaluated: int
    passed: int
    borderline: int
    failed: int
    latest_error: str
    retries: int | None
    calls: int | None
    cached: int | None
    cost: float | None
    expected_cost: dict[str, float] | None
    paused: str
    batches: WaitingShape | None
    waiting: bool
    stopping: bool
    here: bool


class BatchShape(Shape):
    """A batch of a run. ``state`` is ``intended``, ``submitted``, ``cancelled``, and ``over`` when it is read.

    ``id`` is the provider's, null until it has confirmed the batch; ``key`` is our own. ``error`` says why it could not
    be cancelled, if that was wanted.
    """

    id: str | None
    key: str
    provider: str
    model: str
    state: str
    requests: int
    submitted: str
    error: str = ""


class EstimateShape(Shape):
    """The estimate of a run; unknown costs are null. Of a run that asks in batches, ``batch`` has the saving."""

    cases: int
    repeat: int
    calls: dict[str, int]
    cached: int
    cost: dict[str, float] | None
    models: list[dict[str, Any]]
    rules: list[str]
    batch: dict[str, dict[str, float] | None] | None = None
