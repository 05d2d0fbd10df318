"""A run as a program gets it: its numbers, its cases one by one, and its reports."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evenhand.domain.errors import ConfigError, EvenhandError, did_you_mean
from evenhand.domain.gates import ExitCode, GateResult, Gates, exit_code
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.domain.summary import Summary
from evenhand.engine.overview import overview_of, results_at
from evenhand.engine.place import DEFAULT, Place, PlaceLike
from evenhand.reports.csv import COLUMNS, flat_rows
from evenhand.reports.formats import FORMATS, write, writer_of
from evenhand.reports.overview import Overview
from evenhand.reports.report import Report
from evenhand.reports.rows import case_row
from evenhand.reports.sentences import mean_sentence
from evenhand.store.store import Store

_TEXT = "text"


class Run:
    """A run that was made, or one that was stored: iterate over it for its cases, each a ``CaseResult``.

    >>> from evenhand import Case, Contains, evaluate
    >>> run = evaluate([Case(id="capital", candidate_answer="Paris")], Contains(value="Paris"), store=None)
    >>> [(result.id, result.outcome.score) for result in run]
    [('capital', 1.0)]
    >>> run.summary.cases.mean, run.passed
    (1.0, True)

    The cases are read from the store as they are wanted, never all at once; the numbers are worked out once, when
    first asked for. ``Run.open()`` opens the last run, ``Run.open(id)`` any other.
    """

    def __init__(self, record: RunRecord, place: Place) -> None:
        self.record = record
        self._place = place

    @classmethod
    def open(cls, wanted: str = "last", *, store: PlaceLike = DEFAULT) -> Run:
        """Open a stored run by its id, by the beginning of it, or as ``last``."""
        place = Place.of(store)
        with place.opened(to_read=True) as opened:
            return cls(opened.runs.find(wanted), place)

    @property
    def id(self) -> str:
        """The id, by which the run can be opened again."""
        return self.record.id

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self.record.name

    @property
    def status(self) -> RunStatus:
        """How far it has come: ``finished``, ``stopped``, ``interrupted`` …."""
        return self.record.status

    def __len__(self) -> int:
        return self.record.cases

    def __iter__(self) -> Iterator[CaseResult]:
        with self._opened() as store:
            yield from store.results(self.record)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Store]:
        with self._place.opened(to_read=True) as store:
            store.runs.find(self.id)  # another database may be there by now, and have a run of the same number
            yield store

    def _at(self, positions: Sequence[int]) -> Iterator[CaseResult]:
        with self._opened() as store:
            yield from results_at(store, self.record, positions)

    @functools.cached_property
    def summary(self) -> Summary:
        """The numbers: each mean with how many it is over, its interval, and the judge's errors beside it."""
        return self._overview.summary

    @functools.cached_property
    def _overview(self) -> Overview:
        with self._opened() as store:
            return overview_of(store, self.record)

    @property
    def gates(self) -> tuple[GateResult, ...]:
        """What the gates wanted, and what was found."""
        return self._gates.check(self.summary)

    @property
    def passed(self) -> bool:
        """Whether it finished, and all gates hold; where none limits them, no case may have ended in an error."""
        return self.status is RunStatus.FINISHED and exit_code(self.summary, self._gates) is ExitCode.OK

    @property
    def _gates(self) -> Gates:
        return Gates.of(self.record.definition.get("gates"))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Give the cases as plain JSON values, as ``results.jsonl`` has them: each with all its evaluations."""
        return [case_row(result) for result in self]

    def to_pandas(self) -> Any:
        """Give a ``DataFrame`` with one row per case, evaluator and sample; a case without any has a row too."""
        try:
            pandas: Any = importlib.import_module("pandas")  # an extra, slow to load, and without types
        except ImportError:
            raise ConfigError("to_pandas needs pandas: pip install 'evenhand[pandas]'") from None
        return pandas.DataFrame((row for result in self for row in flat_rows(result)), columns=list(COLUMNS))

    def report(self, format: str = _TEXT) -> str:  # noqa: A002 - the word that everybody types
        """Give a report: as text for people, or as ``md``, ``json``, ``jsonl``, ``csv``, ``xml`` (JUnit), ``html``."""
        if format == _TEXT:
            from evenhand.reports.terminal import terminal  # noqa: PLC0415 - rich is slow to load

            return terminal(self.whole_report)
        if format not in FORMATS:
            known = did_you_mean(str(format), [_TEXT, *FORMATS])
            raise ConfigError(f"no report format {format!r}{known}; to write a file: run.save(path)")
        out = io.StringIO()
        writer_of(format)(self.whole_report, out)
        return out.getvalue()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a report to a file, whose ending says the format: ``run.save("report.html")``."""
        write(self.whole_report, Path(path))
        return Path(path)

    @property
    def whole_report(self) -> Report:
        """The run with its numbers, for whoever writes a report of it."""
        return Report(
            run=self.record,
            summary=self.summary,
            gates=self.gates,
            results=lambda: self,
            overview=self._overview,
            at=self._at,
        )

    def __repr__(self) -> str:
        try:
            numbers = mean_sentence(self.summary.cases)
        except EvenhandError as error:  # whoever prints a run that cannot be read should still see which one it is
            numbers = str(error)
        return f"Run {self.id} {self.status.value}: {numbers}"

    def _repr_html_(self) -> str:
        from evenhand.reports.html import fragment_html  # noqa: PLC0415 - for notebooks only

        return fragment_html(self.whole_report)
