"""A report: a run, its numbers, its gates, and a way to go through its cases as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from evenhand.domain.gates import GateResult
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the writers of all formats get.

    ``results`` gives the cases in suite order, anew at each call; writers go through them one by one and keep none,
    so that a report of a million cases takes no more memory than one of ten.
    """

    run: RunRecord
    summary: Summary
    results: Callable[[], Iterable[CaseResult]]
    gates: tuple[GateResult, ...] = ()
