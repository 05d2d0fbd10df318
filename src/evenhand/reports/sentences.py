"""The numbers of a run in sentences, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.summary import Interval, Summary, Tally
from evenhand.reports.numbers import cost_text, counted, interval_text, score_text

# What a flag says of an evaluation, to be read behind "1 evaluation" as well as behind "2 evaluations".
_FLAGS: Final = {
    "embedded": "had the verdict within other text",
    "echo_skipped": "passed over an object that merely repeats one from the prompt",
    "ambiguous": "had two different verdicts, of which the first counts",
    "clamped": "had a score out of range, which was clamped",
    "coerced": "had a number in quotes, which was taken",
    "trimmed": "had hits or misses that were empty, no text, or too many",
    "unknown_ids": "had checks for items that do not exist, which were dropped",
    "unquoted": "had a check without the evidence that was asked for",
    "logprobs": "took the score from token probabilities",
    "samples_lost": "lost some of the samples",
    "members_left_out": "of a composite left out members that failed or had nothing to judge",
}


def mean_sentence(tally: Tally) -> str:
    """Say the mean, and what it is over (SPEC-E2).

    >>> interval = Interval(low=0.62, high=0.8, method="t")
    >>> mean_sentence(Tally(n=100, scored=97, errors=3, mean=0.71, interval=interval, mean_if_errors_zero=0.6887))
    'mean 0.71 [0.62, 0.80] over 97 of 100; 3 judge errors; 0.69 if counted as 0'
    """
    if tally.mean is None:
        parts = [f"no mean: of {counted(tally.n, 'case')} none is scored"]
    else:
        around = around_text(tally, tally.interval)
        parts = [f"mean {score_text(tally.mean)} {around} over {tally.scored:,} of {tally.n:,}"]
    if tally.errors:
        by_blame = (("judge error", tally.errors - tally.target_errors), ("target error", tally.target_errors))
        parts.append(" and ".join(counted(count, blamed) for blamed, count in by_blame if count))
        if tally.mean is not None:
            parts.append(f"{score_text(tally.mean_if_errors_zero)} if counted as 0")
    if tally.not_evaluated:
        parts.append(f"{tally.not_evaluated:,} not evaluated")
    if tally.pending:
        parts.append(f"{tally.pending:,} not judged yet")
    return "; ".join(parts)


def pass_rate_sentence(tally: Tally) -> str:
    """Say which share of the scored cases passed.

    >>> pass_rate_sentence(Tally(n=1, scored=1, passed=1, pass_rate=1.0))
    'pass rate 1.00 (n=1, no interval): 1 of 1'
    """
    if tally.pass_rate is None:
        return "no pass rate"
    around = around_text(tally, tally.pass_rate_interval)
    return f"pass rate {score_text(tally.pass_rate)} {around}: {tally.passed:,} of {tally.scored:,}"


def around_text(tally: Tally, interval: Interval | None) -> str:
    """Write the interval around a mean of a tally, or why there is none."""
    if interval is None:
        return (
            "(one cluster, no interval)" if tally.clusters == 1 < tally.scored else f"(n={tally.scored}, no interval)"
        )
    if interval.method == "widest":
        return f"{interval_text(interval)} (all scores equal)"
    if interval.method == "clustered" and tally.clusters is not None:
        return f"{interval_text(interval)} ({counted(tally.clusters, 'cluster')})"
    return interval_text(interval)


def effort_sentence(summary: Summary, run: RunRecord | None = None) -> str:
    """Say what a run took; with the run itself, also what it took and gave up.

    >>> effort_sentence(Summary(cases=Tally(), calls=312, cached=20, input_tokens=5200, output_tokens=900, cost=0.12))
    '312 requests, 20 replies from the cache, 5,200 tokens in and 900 out, cost $0.12'
    """
    parts = [counted(summary.calls, "request")]
    if summary.cached:
        parts.append(f"{summary.cached:,} {'reply' if summary.cached == 1 else 'replies'} from the cache")
    if summary.retries:
        parts.append(f"{summary.retries:,} {'retry' if summary.retries == 1 else 'retries'}")
    if summary.transport_faults:
        parts.append(f"{counted(summary.transport_faults, 'request')} failed on the way")
    if summary.input_tokens or summary.output_tokens:
        parts.append(f"{summary.input_tokens:,} tokens in and {summary.output_tokens:,} out")
    parts.append(f"cost {cost_text(summary.cost)}")
    if given_up := "" if run is None else abandoned_phrase(run):
        parts.append(given_up)
    return ", ".join(parts)


def abandoned_phrase(run: RunRecord) -> str:
    """Say what was asked for evaluations that were given up when the run stopped; nothing where nothing was."""
    calls = run.abandoned_calls
    if not calls:
        return ""
    more = "1 more request" if calls == 1 else f"{calls:,} more requests"
    return f"beside {more} ({cost_text(run.abandoned_cost)}) for evaluations that were given up when the run stopped"


def flag_phrases(summary: Summary) -> Iterator[tuple[int, str]]:
    """Say what was done to evaluations, or is to be known of them: how many, and in which words.

    >>> list(flag_phrases(Summary(cases=Tally(), flags={"samples_lost": 2, "own": 1})))
    [(2, 'evaluations lost some of the samples (samples_lost)'), (1, 'evaluation flagged (own)')]
    """
    for flag, count in summary.flags.items():
        yield count, f"{'evaluation' if count == 1 else 'evaluations'} {_FLAGS.get(flag, 'flagged')} ({flag})"


def next_step(run: RunRecord) -> str:
    """Say how to go on."""
    if run.status is RunStatus.FINISHED:
        return f"All cases: evenhand report {run.id} --output report.html"
    return f"Not finished. To go on: evenhand resume {run.id}"
