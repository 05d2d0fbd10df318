"""OpenTelemetry: spans and events, where the program has OpenTelemetry set up, and nothing where not.

The names are those of the conventions for generative AI. This module never imports OpenTelemetry: a program that uses
it has done so before.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from evenhand import registry
from evenhand.domain.ask import Ask, Evaluator, Steps, Turn
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation, JudgeError, Status, total_usage
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Reply, Unanswered
from evenhand.drive.driver import Deadline, ask_now, drive
from evenhand.version import __version__

EVENT: Final = "gen_ai.evaluation.result"
FAILED_ATTEMPT: Final = "evenhand.attempt.failed"
CAPTURE_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

# The older instrumentations know true and false; the newer ones say where the content may go.
_IN_EVENTS: Final = frozenset({"true", "event_only", "span_and_event"})
_IN_SPANS: Final = frozenset({"true", "span_only", "span_and_event"})
# What the API gives while nobody has set a provider.
_NO_PROVIDERS: Final = frozenset(
    {"ProxyLoggerProvider", "NoOpLoggerProvider", "ProxyTracerProvider", "NoOpTracerProvider"}
)
# What the conventions call our providers, where that is not their name here.
_PROVIDERS: Final = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}

_log = logging.getLogger(__name__)

Outcome = TypeVar("Outcome")
Attributes: TypeAlias = dict[str, str | float | Sequence[str]]
# How a judge is asked: as ``ask_now`` does it.
Put: TypeAlias = Callable[[Ask, Deadline, Turn | None], Awaitable[Reply | Unanswered]]


def current() -> Telemetry | None:
    """Return the OpenTelemetry that this program has set up; None where it has set up none."""
    trace, logs = sys.modules.get("opentelemetry.trace"), sys.modules.get("opentelemetry._logs")
    tracers = None if trace is None else _set_provider(trace.get_tracer_provider())
    loggers = None if logs is None else _set_provider(logs.get_logger_provider())
    return None if tracers is None and loggers is None else Telemetry(tracers, loggers)


def _set_provider(provider: Any) -> Any:
    return None if type(provider).__name__ in _NO_PROVIDERS else provider


class OpenSpan:
    """A span that is under way, and the context for what belongs to it.

    Where spans are not recorded there is only the context, which is None for the current one.
    """

    __slots__ = ("_span", "_telemetry", "context")

    def __init__(self, telemetry: Telemetry, span: Any, context: Any) -> None:
        self._telemetry = telemetry
        self._span = span
        self.context = context

    def set(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes."""
        if self._span is not None:
            with self._telemetry.guarded():
                self._span.set_attributes(attributes)

    def fail(self, kind: str) -> None:
        """Mark what the span is about as failed; ``kind`` is the class of the error."""
        if self._span is not None:
            with self._telemetry.guarded():
                self._span.set_attribute("error.type", kind)
                self._span.set_status(self._telemetry.error_status())

    def add_event(self, name: str, attributes: Mapping[str, Any], at: int | None = None) -> None:
        """Add an event to the span itself, ``at`` a time in nanoseconds."""
        if self._span is not None:
            with self._telemetry.guarded():
                self._span.add_event(name, attributes, at)

    def end(self, at: int | None = None) -> None:
        """End the span."""
        if self._span is not None:
            with self._telemetry.guarded():
                self._span.end(at)


class Telemetry:
    """Makes spans and events. If OpenTelemetry refuses one, that is logged once, and no more are made."""

    def __init__(self, tracers: Any, loggers: Any) -> None:
        self._tracer = None if tracers is None else tracers.get_tracer("evenhand", __version__)
        self._logger = None if loggers is None else loggers.get_logger("evenhand", __version__)
        setting = os.environ.get(CAPTURE_VARIABLE, "").strip().lower()
        self.content_in_events = setting in _IN_EVENTS
        self.content_in_spans = setting in _IN_SPANS
        self._is_broken = False

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Keep what OpenTelemetry raises from ending what it only watches."""
        try:
            yield
        except Exception:
            if not self._is_broken:
                self._is_broken = True
                _log.warning("OpenTelemetry refused a span or an event; no more of them are made", exc_info=True)

    @contextlib.contextmanager
    def span(
        self, name: str, attributes: Mapping[str, Any], *, parent: Any = None, is_client: bool = False
    ) -> Iterator[OpenSpan]:
        """Open a span under the ``parent``, a context, or under what is current; an exception marks it as failed.

        It is current while it is open, so that spans of judges and targets that make their own belong to it.
        """
        span = self.start(name, attributes, parent=parent, is_client=is_client)
        token = None if span.context is parent else _context().attach(span.context)
        try:
            yield span
        except BaseException as error:
            span.fail(error_type(error))
            raise
        finally:
            if token is not None:
                _context().detach(token)
            span.end()

    @property
    def makes_spans(self) -> bool:
        """Whether spans are made, and not only events."""
        return self._tracer is not None and not self._is_broken

    def start(
        self, name: str, attributes: Mapping[str, Any], *, parent: Any, is_client: bool, began: int | None = None
    ) -> OpenSpan:
        """Start a span, now or at a time in nanoseconds, which whoever asks for it must end."""
        if self._tracer is None or self._is_broken:
            return OpenSpan(self, None, parent)
        trace = sys.modules["opentelemetry.trace"]
        with self.guarded():
            kind = trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL
            span = self._tracer.start_span(name, context=parent, kind=kind, attributes=attributes, start_time=began)
            return OpenSpan(self, span, trace.set_span_in_context(span, parent))
        return OpenSpan(self, None, parent)

    def error_status(self) -> Any:
        """Return the status of a span that failed, without a description: that may quote a model."""
        trace = sys.modules["opentelemetry.trace"]
        return trace.Status(trace.StatusCode.ERROR)

    def emit(self, attributes: Attributes, span: OpenSpan, at: int | None = None) -> None:
        """Emit an evaluation as an event that belongs to a span; without loggers, as an event of the span itself."""
        if self._is_broken:
            return
        if self._logger is None:
            span.add_event(EVENT, attributes, at)
            return
        logs = sys.modules["opentelemetry._logs"]
        with self.guarded():
            record = logs.LogRecord(
                timestamp=at or time.time_ns(), event_name=EVENT, attributes=attributes, context=span.context
            )
            self._logger.emit(record)

    async def put(
        self, ask: Ask, deadline: Deadline, turn: Turn | None, *, parent: Any, attributes: Mapping[str, Any]
    ) -> Reply | Unanswered:
        """Ask a judge within a span of its own, which covers all requests that this takes."""
        if not self.makes_spans:
            return await ask_now(ask, deadline, turn)
        request = {**request_attributes(ask), **attributes}
        name = f"chat {request['gen_ai.request.model']}"
        with self.span(name, request, parent=parent, is_client=True) as span:
            answer = await ask_now(ask, deadline, turn)
            self._describe(span, ask, answer)
        return answer

    def _describe(self, span: OpenSpan, ask: Ask, answer: Reply | Unanswered) -> None:
        """Say in a span what came of a question."""
        attempts = answer.attempts
        values: Attributes = {"evenhand.attempts": len(attempts)}
        if (usage := total_usage(attempts)) is not None:
            values["gen_ai.usage.input_tokens"] = usage.input_tokens
            values["gen_ai.usage.output_tokens"] = usage.output_tokens
            if usage.cached_tokens:
                values["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens
            if usage.cache_write_tokens:
                values["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_write_tokens
        if isinstance(answer, Reply):
            values["gen_ai.response.finish_reasons"] = [answer.finish]
            if attempts and attempts[-1].model is not None:
                values["gen_ai.response.model"] = attempts[-1].model
        if self.content_in_spans:
            values |= _content(ask, answer)
        span.set(values)
        for number, attempt in enumerate(attempts, start=1):
            if attempt.error is not None:
                failed = {"error.type": Failure.of(attempt.error).kind, "evenhand.attempt": number}
                span.add_event(FAILED_ATTEMPT, failed | {"evenhand.attempt.seconds": attempt.latency})
        if isinstance(answer, Unanswered):
            span.fail(Failure.of(answer.error).kind)


def _context() -> Any:
    return sys.modules["opentelemetry.context"]


def error_type(error: BaseException) -> str:
    """Return the class of an error: that of the failure where a judge failed, else that of the exception."""
    if isinstance(error, JudgeError) and error.attempts and (failure := error.attempts[-1].error) is not None:
        return Failure.of(failure).kind
    return type(error).__name__


def request_attributes(ask: Ask) -> Attributes:
    """Return the attributes of a question to a model, without its words."""
    name = str(ask.judge.name)
    values: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider := name.partition("/")[0], provider),
        "gen_ai.request.model": model_of(name),
    }
    if ask.contract is not None:
        values["gen_ai.output.type"] = "json"
    generation = getattr(ask.judge, "generation", None)
    for setting in ("temperature", "top_p", "seed", "max_tokens"):
        value = getattr(generation, setting, None)
        if isinstance(value, (int, float)):
            values[f"gen_ai.request.{setting}"] = value
    if isinstance(server := getattr(ask.judge, "server", None), tuple):
        values["server.address"], values["server.port"] = server
    return values


def _content(ask: Ask, answer: Reply | Unanswered) -> Attributes:
    """Return what was said, in the form of the conventions, as JSON: attributes of spans hold no objects."""
    said = [{"role": message.role, "parts": [{"type": "text", "content": message.content}]} for message in ask.messages]
    content: Attributes = {"gen_ai.input.messages": json.dumps(said, ensure_ascii=False)}
    if isinstance(answer, Reply):
        reply = {
            "role": "assistant",
            "parts": [{"type": "text", "content": answer.text}],
            "finish_reason": answer.finish,
        }
        content["gen_ai.output.messages"] = json.dumps([reply], ensure_ascii=False)
    return content


def evaluation_attributes(evaluation: Evaluation, case_id: str | None, *, with_content: bool) -> Attributes:
    """Return the attributes of an evaluation's event; what models and users wrote only ``with_content``."""
    values: Attributes = {
        "gen_ai.evaluation.name": evaluation.evaluator,
        "evenhand.status": evaluation.status.value,
        "evenhand.case.id": case_id or "",
    }
    if isinstance(judge := evaluation.details.get("judge"), str):
        values["gen_ai.request.model"] = model_of(judge)
    if evaluation.status is Status.ERROR:
        values["error.type"] = Failure.of(evaluation.error or "").kind
    if evaluation.status is Status.SCORED and evaluation.score is not None and evaluation.verdict is not None:
        values["gen_ai.evaluation.score.value"] = evaluation.score
        values["gen_ai.evaluation.score.label"] = evaluation.verdict.value
    if with_content and evaluation.reasoning:
        values["gen_ai.evaluation.explanation"] = evaluation.reasoning
    return values


def model_of(name: str) -> str:
    """Return a model as its provider calls it."""
    provider, _, model = name.partition("/")
    return model if model and provider in registry.points(registry.MODELS) else name


async def evaluate(evaluator: Evaluator, case: Case, *, timeout: float | None = None) -> Evaluation:
    """Drive an evaluator over one case, outside of a run."""

    def events(outcome: object, with_content: bool) -> Iterable[Attributes]:
        if isinstance(outcome, Evaluation):
            yield evaluation_attributes(outcome, case.id, with_content=with_content)

    own: Attributes = {"evenhand.evaluator": evaluator.name, "evenhand.case.id": case.id or ""}
    return await observed(evaluator.steps(case), name=evaluator.name, attributes=own, events=events, timeout=timeout)


async def observed(
    steps: Steps[Outcome],
    *,
    name: str,
    attributes: Attributes | None = None,
    events: Callable[[Outcome, bool], Iterable[Attributes]],
    timeout: float | None = None,
) -> Outcome:
    """Drive steps to their outcome; where OpenTelemetry is set up, within a span, and with ``events`` of the outcome.

    ``events`` is given the outcome, and whether it may say what models and users wrote.
    """
    telemetry = current()
    if telemetry is None:
        return await drive(steps, timeout=timeout)
    own = {"evenhand.evaluator": name} if attributes is None else attributes
    with telemetry.span(f"evaluate {name}", own) as span:

        def ask(question: Ask, deadline: Deadline) -> Awaitable[Reply | Unanswered]:
            return telemetry.put(question, deadline, None, parent=span.context, attributes=own)

        try:
            outcome = await drive(steps, timeout=timeout, ask=ask)
        except JudgeError as error:
            failed: Attributes = {"gen_ai.evaluation.name": name, "evenhand.status": Status.ERROR.value}
            telemetry.emit(failed | {"error.type": error_type(error)}, span)
            raise
        for event in events(outcome, telemetry.content_in_events):
            telemetry.emit(event, span)
            if isinstance(kind := event.get("error.type"), str):
                span.fail(kind)
    return outcome
