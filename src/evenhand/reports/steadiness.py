"""How steady the numbers of a run are, in sentences and as rows of a table."""

from __future__ import annotations

from typing import Final

from evenhand.domain.summary import Rate, Summary
from evenhand.reports.phrases import counted, interval_text, score_text


def steady_sentences(summary: Summary) -> list[str]:
    """Say how far the pass rate could move: by cases that ended in error, and by judging the same cases again.

    >>> from evenhand.domain.summary import Tally
    >>> steady_sentences(Summary(cases=Tally(n=10, scored=8, passed=6, errors=2)))
    ['if the 2 cases that ended in error had all passed, the pass rate would be 0.80; if none had, 0.60']
    """
    sentences = []
    cases, steadiness = summary.cases, summary.steadiness
    if (bounds := cases.pass_rate_bounds) is not None and cases.decided:
        low, high = map(score_text, bounds)
        if cases.errors == 1:
            condition = f"if the case that ended in error had passed, the pass rate would be {high}; if not, {low}"
        else:
            condition = (
                f"if the {cases.errors:,} cases that ended in error had all passed, the pass rate would be {high}; "
                f"if none had, {low}"
            )
        sentences.append(condition)
    if steadiness is not None:
        of_cases = f"{steadiness.flipped:,} of {counted(steadiness.cases, 'case')}"
        sentences.append(
            f"flip rate {rate_text(steadiness.flip_rate)}: {of_cases} passed in some samples and not in others"
        )
        sentences.append(f"two samples of a case agree with probability {rate_text(steadiness.same_verdict)}")
    return sentences


def rate_text(rate: Rate) -> str:
    """Write a rate with its interval.

    >>> rate_text(Rate(value=0.3))
    '0.30 (no interval)'
    """
    return f"{score_text(rate.value)} {'(no interval)' if rate.interval is None else interval_text(rate.interval)}"


PASS_HEADINGS: Final = ("k", "pass@k: any passes", "pass^k: all pass", "cases")


def pass_rows(summary: Summary) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table of pass@k and pass^k; none where cases were judged once."""
    passes = () if summary.steadiness is None else summary.steadiness.passes
    return [(str(row.k), rate_text(row.any), rate_text(row.all), f"{row.cases:,}") for row in passes]
