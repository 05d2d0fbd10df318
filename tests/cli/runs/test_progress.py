"""The line that shows the progress of a run."""

from __future__ import annotations

from evenhand.cli.runs.progress import LEAST_SECONDS, PLAIN_SECONDS, PlainLines, line
from evenhand.engine.cost_forecast import CostForecast
from evenhand.engine.run import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_line_has_the_rate_the_time_left_the_cost_the_errors_the_retries_and_the_failed_calls() -> None:
    clock = Clock()
    progress = Progress(total=1200, clock=clock)
    clock.now = 10.0
    progress.done, progress.cost, progress.errors, progress.retries, progress.faults = 300, 0.126, 2, 3, 1
    progress.cached = 7

    told = line(progress)

    assert told == (
        "300 of 1,200 evaluations, 25 %, 30.0/s, 30 s left, $0.13, 2 errors, 3 retries, 1 failed call, 7 from the cache"
    )


def test_what_the_run_will_cost_in_all_stands_beside_what_it_has_cost() -> None:
    progress = Progress(total=100, done=50)
    progress.cost = 0.5
    progress.forecast = CostForecast(spent=0.5, rest=0.6, low=0.55, high=0.65, cases=50)

    assert line(progress) == "50 of 100 evaluations, 50 %, $0.50 of about $1.10 [$1.05 to $1.15]"


def test_an_unknown_cost_is_said_to_be_unknown_and_a_long_time_is_told_in_minutes() -> None:
    clock = Clock()
    progress = Progress(total=100_000, done=10, clock=clock)
    clock.now, progress.done, progress.cost = 10.0, 110, None

    assert line(progress) == "110 of 100,000 evaluations, 0 %, 10.0/s, 2 h 46 min left, cost unknown"


def test_where_nobody_watches_a_line_is_due_every_tenth_or_every_ten_seconds() -> None:
    clock = Clock()
    progress = Progress(total=100, clock=clock)
    lines = PlainLines(clock=clock)
    due = []
    for done, seconds in [(0, 0), (50, 0.5), (50, LEAST_SECONDS), (55, 2), (60, 2.5), (61, PLAIN_SECONDS), (61, 13)]:
        progress.done, clock.now = done, seconds
        due.append(lines.is_due(progress))

    assert due == [False, False, True, False, True, False, True]
