"""Spans of a process that has no OpenTelemetry: recorded here, and made by another process that has it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evenhand.drive.telemetry import Attributes, OpenSpan, Telemetry, error_type


class FinishedSpan(NamedTuple):
    """A span that is over, with those that belong to it. Times are in nanoseconds.

    ``failed`` is the class of the error, if there was one; ``results`` are evaluations, which may be events of their
    own where the span is made.
    """

    name: str
    is_client: bool
    began: int
    ended: int
    attributes: dict[str, Any]
    failed: str | None
    events: list[tuple[str, Mapping[str, Any], int]]
    results: list[tuple[Attributes, int]]
    spans: list[FinishedSpan]


class RecordedSpan(OpenSpan):
    """A span that is under way here; its context is the span itself."""

    __slots__ = ("_failed", "_is_client", "_name", "_results", "attributes", "began", "events", "spans")

    def __init__(self, telemetry: SpanRecorder, name: str, attributes: Mapping[str, Any], *, is_client: bool) -> None:
        super().__init__(telemetry, None, self)
        self._name = name
        self._is_client = is_client
        self._failed: str | None = None
        self._results: list[tuple[Attributes, int]] = []
        self.began = time.time_ns()
        self.attributes = dict(attributes)
        self.events: list[tuple[str, Mapping[str, Any], int]] = []
        self.spans: list[FinishedSpan] = []

    def set(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes."""
        self.attributes.update(attributes)

    def fail(self, kind: str) -> None:
        """Mark what the span is about as failed."""
        self._failed = kind

    def add_event(self, name: str, attributes: Mapping[str, Any], at: int | None = None) -> None:
        """Add an event to the span itself."""
        self.events.append((name, attributes, at or time.time_ns()))

    def add_result(self, attributes: Attributes) -> None:
        """Add an evaluation."""
        self._results.append((attributes, time.time_ns()))

    def finished(self) -> FinishedSpan:
        """End the span."""
        return FinishedSpan(
            self._name,
            self._is_client,
            self.began,
            time.time_ns(),
            self.attributes,
            self._failed,
            self.events,
            self._results,
            self.spans,
        )


class SpanRecorder(Telemetry):
    """Records spans and evaluations as ``Telemetry`` would make them; ``finished`` are those without a parent here."""

    def __init__(self, *, content_in_events: bool, content_in_spans: bool) -> None:
        super().__init__(None, None)
        self.content_in_events = content_in_events
        self.content_in_spans = content_in_spans
        self.finished: list[FinishedSpan] = []

    @property
    def makes_spans(self) -> bool:
        """Whether spans are made, and not only events."""
        return True

    @property
    def root(self) -> OpenSpan:
        """What spans belong to that have no other parent here."""
        return OpenSpan(self, None, None)

    @contextlib.contextmanager
    def span(
        self, name: str, attributes: Mapping[str, Any], *, parent: Any = None, is_client: bool = False
    ) -> Iterator[OpenSpan]:
        """Record a span under the ``parent``, or under none; an exception marks it as failed."""
        span = RecordedSpan(self, name, attributes, is_client=is_client)
        try:
            yield span
        except BaseException as error:
            span.fail(error_type(error))
            raise
        finally:
            (self.finished if parent is None else parent.spans).append(span.finished())

    def emit(self, attributes: Attributes, span: OpenSpan, at: int | None = None) -> None:  # noqa: ARG002 - it is now
        """Record an evaluation that belongs to a span."""
        if isinstance(span, RecordedSpan):
            span.add_result(attributes)


def make_again(telemetry: Telemetry, recorded: FinishedSpan, parent: Any) -> None:
    """Make a span that another process recorded, and all that belongs to it, under a ``parent`` of this one."""
    span = telemetry.start(
        recorded.name, recorded.attributes, parent=parent, is_client=recorded.is_client, began=recorded.began
    )
    for name, attributes, at in recorded.events:
        span.add_event(name, attributes, at)
    for result, at in recorded.results:
        telemetry.emit(result, span, at)
    if recorded.failed is not None:
        span.fail(recorded.failed)
    for each in recorded.spans:
        make_again(telemetry, each, span.context)
    span.end(recorded.ended)
