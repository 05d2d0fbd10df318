"""OpenTelemetry: each evaluation as an event, where the program has OpenTelemetry set up, and nothing where not.

The names are those of the conventions for generative AI. This module never imports OpenTelemetry: a program that uses
it has done so before.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import Any, Final

from evenhand import registry
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.failure import Failure
from evenhand.domain.run import Judgment, PlannedCase
from evenhand.engine.runner import Observer
from evenhand.version import __version__

EVENT: Final = "gen_ai.evaluation.result"
CAPTURE_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

# The older instrumentations know true and false; the newer ones say where the content may go.
_CAPTURED: Final = frozenset({"true", "event_only", "span_and_event"})
# What the API gives while nobody has set a provider.
_NO_PROVIDERS: Final = frozenset({"ProxyLoggerProvider", "NoOpLoggerProvider"})

_log = logging.getLogger(__name__)


def observer(*, run_id: str = "") -> Observer | None:
    """Return an observer that emits an event for each evaluation; None where no logger provider is set."""
    logs: Any = sys.modules.get("opentelemetry._logs")
    if logs is None or type(provider := logs.get_logger_provider()).__name__ in _NO_PROVIDERS:
        return None
    logger = provider.get_logger("evenhand", __version__)
    with_content = os.environ.get(CAPTURE_VARIABLE, "").strip().lower() in _CAPTURED
    broken = False

    def emit(planned: PlannedCase, judgment: Judgment) -> None:
        nonlocal broken
        if broken:
            return
        event_attributes = attributes(planned, judgment, with_content=with_content)
        if run_id:
            event_attributes["evenhand.run.id"] = run_id
        try:
            logger.emit(logs.LogRecord(timestamp=time.time_ns(), event_name=EVENT, attributes=event_attributes))
        except Exception:  # what watches a run must not end it
            broken = True
            _log.warning("OpenTelemetry refused an event; this run emits no more of them", exc_info=True)

    return emit


def attributes(planned: PlannedCase, judgment: Judgment, *, with_content: bool) -> dict[str, str | float]:
    """Return the attributes of an evaluation's event; what models and users wrote only ``with_content``."""
    evaluation = judgment.evaluation
    values: dict[str, str | float] = {
        "gen_ai.evaluation.name": evaluation.evaluator,
        "evenhand.status": evaluation.status.value,
        "evenhand.case.id": planned.case.id or "",
        "evenhand.sample": judgment.sample,
    }
    if (model := _judge_of(evaluation)) is not None:
        values["gen_ai.request.model"] = model
    if evaluation.status is Status.ERROR:
        values["error.type"] = Failure.of(evaluation.error or "").kind
    if evaluation.status is Status.SCORED and evaluation.score is not None and evaluation.verdict is not None:
        values["gen_ai.evaluation.score.value"] = evaluation.score
        values["gen_ai.evaluation.score.label"] = evaluation.verdict.value
    if with_content and evaluation.reasoning:
        values["gen_ai.evaluation.explanation"] = evaluation.reasoning
    return values


def _judge_of(evaluation: Evaluation) -> str | None:
    """Return the model that judged, as its provider calls it."""
    judge = evaluation.details.get("judge")
    if not isinstance(judge, str):
        return None
    provider, _, model = judge.partition("/")
    return model if model and provider in registry.points(registry.MODELS) else judge
