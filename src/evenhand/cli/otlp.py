"""Sends spans and events by OTLP; this module imports OpenTelemetry, and is imported only where it is asked for."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from evenhand.drive import telemetry
from evenhand.reports.phrases import counted

# How long a command waits at its end for what is not sent yet.
FLUSH_SECONDS: Final = 5.0
# Runs end many spans at once; with room for fewer, some would be lost before anybody could send them.
_MOST_WAITING: Final = 20_000

_current: Sending | None = None


def start(*, traces: bool, logs: bool) -> Sending | None:
    """Set OpenTelemetry up for this process; None where the program has done so itself."""
    global _current  # noqa: PLW0603 - providers are set once for a process
    if _current is None and telemetry.current() is None:
        logging.getLogger("opentelemetry").propagate = False  # what could not be sent is said once, at the end
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        _current = Sending(traces=traces, logs=logs)
    return _current


class _Signal:
    """How many of one kind were made and how many of them arrived, and how the rest is sent."""

    def __init__(self, noun: str, exporter: Any) -> None:
        self.noun = noun
        self.made = 0
        self.sent = 0
        self.flush: Callable[[], object] = bool
        self._exporter = exporter

    def export(self, batch: Sequence[Any]) -> Any:
        """Send a batch, and count it if it arrived."""
        result = self._exporter.export(batch)
        if result.name == "SUCCESS":
            self.sent += len(batch)
        return result

    def shutdown(self) -> None:
        """Send no more."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002
        """Do nothing: an exporter keeps nothing back."""
        return True


class _SpanCount(SpanProcessor):
    def __init__(self, signal: _Signal) -> None:
        self._signal = signal

    def on_end(self, span: ReadableSpan) -> None:
        if span.context is not None and span.context.trace_flags.sampled:
            self._signal.made += 1


class _EventCount(LogRecordProcessor):
    def __init__(self, signal: _Signal) -> None:
        self._signal = signal

    def on_emit(self, log_record: Any) -> None:  # noqa: ARG002
        self._signal.made += 1

    def shutdown(self) -> None:
        pass

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002
        return True


class Sending:
    """The providers of this process, which send in the background."""

    def __init__(self, *, traces: bool, logs: bool) -> None:
        self._signals: list[_Signal] = []
        ready: list[Callable[[], None]] = []  # to be set when all of them could be made
        resource = Resource.create()
        if str(resource.attributes.get("service.name", "unknown_service")).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": "evenhand"}))
        if traces:
            spans = _Signal("span", OTLPSpanExporter())
            tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
            tracers.add_span_processor(_SpanCount(spans))
            most = None if "OTEL_BSP_MAX_QUEUE_SIZE" in os.environ else _MOST_WAITING
            tracers.add_span_processor(BatchSpanProcessor(spans, max_queue_size=most))  # type: ignore[arg-type]
            ready.append(lambda: trace.set_tracer_provider(tracers))
            spans.flush = tracers.force_flush
            self._signals.append(spans)
        if logs:
            events = _Signal("event", OTLPLogExporter())
            loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
            loggers.add_log_record_processor(_EventCount(events))
            most = None if "OTEL_BLRP_MAX_QUEUE_SIZE" in os.environ else _MOST_WAITING
            loggers.add_log_record_processor(BatchLogRecordProcessor(events, max_queue_size=most))  # type: ignore[arg-type]
            ready.append(lambda: set_logger_provider(loggers))
            events.flush = loggers.force_flush
            self._signals.append(events)
        for set_provider in ready:
            set_provider()

    def flush(self, seconds: float = FLUSH_SECONDS) -> str:
        """Send the rest, for so long at most; return what could not be sent, empty if all of it was."""
        deadline = time.monotonic() + seconds
        # In threads that nobody waits for: a flush of OpenTelemetry takes as long as the server likes.
        threads = [threading.Thread(target=signal.flush, daemon=True) for signal in self._signals]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0))
        missing = []
        for signal in self._signals:
            lost, made = signal.made - signal.sent, signal.made
            signal.made = signal.sent = 0
            if lost > 0:
                missing.append(f"{lost:,} of {counted(made, signal.noun)}")
        return " and ".join(missing)
