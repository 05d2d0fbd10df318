"""A case of any run as pages and terminals show it: on the scale of its run, and with a verdict where it has one."""

from __future__ import annotations

from dataclasses import replace

from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.run_kind import has_verdicts
from evenhand.profiles.ranking import group_view
from evenhand.reports.html.case import CaseView


def case_view(result: CaseResult, run: RunRecord) -> CaseView:
    """Return the view of a case; profiles have a verdict only where a pass mark was set."""
    return replace(group_view.case_view(result, run), has_verdicts=has_verdicts(run.definition))
