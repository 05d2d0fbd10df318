"""What came of a ranking, in a few words for a list of runs."""

from __future__ import annotations

from dataclasses import replace

from evenhand.domain.run import RunRecord
from evenhand.engine.overview import is_at_work, keep_overview, overview_of, report_from
from evenhand.reports.overview import Overview
from evenhand.reports.phrases import counted
from evenhand.store.store import Store


def ranking_outcome(store: Store, run: RunRecord, overview: Overview) -> str:
    """Return what came of a ranking; it is worked out once, and kept with the overview of its run.

    Of a run in progress, and of more groups than a list can wait for, it is only how many were ranked.
    """
    if overview.outcome:
        return overview.outcome
    from evenhand.profiles.ranking.job import design_of  # noqa: PLC0415 - these load numpy
    from evenhand.profiles.ranking.report import MOST_FITTED_FOR_A_LINE, ranks_of  # noqa: PLC0415
    from evenhand.profiles.ranking.sentences import in_few_words  # noqa: PLC0415

    groups = overview.summary.cases
    if is_at_work(store, run) or groups.n > MOST_FITTED_FOR_A_LINE:
        ranked = f"{groups.scored:,} of {counted(groups.n, 'group')}"
        return f"{counted(groups.n, 'group') if groups.scored == groups.n else ranked} ranked"
    coverage = store.summaries.coverage(run)
    plain_overview = overview_of(store, run)  # without what labels add, which is not kept with it
    outcome = in_few_words(ranks_of(report_from(store, run, plain_overview, ())), design_of(run.definition))
    keep_overview(store, run, coverage, replace(plain_overview, outcome=outcome))
    return outcome
