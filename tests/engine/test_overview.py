"""The numbers of a run that are kept are those that its rows have now, whatever happened to it in between."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.cli.commands.runs import ListedRun
from evenhand.cli.runs.finish import report_of
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Evaluation, Usage
from evenhand.domain.run import Judgment, MadeAnswer, PlannedCase, RunRecord, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.engine import overview
from evenhand.engine.case_scores import judged_by, judged_cases
from evenhand.engine.overview import kept_overview, overview_of, report_from, results_at
from evenhand.reports.highlights import Highlights
from evenhand.reports.json import canonical
from evenhand.reports.overview import Overview, survey
from evenhand.reports.paired_cases import findings_of
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize
from evenhand.reports.terminal import terminal
from evenhand.store.rows import Batch, answer_row, case_content, dumps, evaluation_row
from evenhand.store.store import Store, open_store
from evenhand.store.transfer import export_lines, import_lines

CASES, PLACES, REPEAT = 5, 2, 2
NAMES = ("quality", "kind\0ness")

PLACED = st.tuples(st.integers(0, CASES - 1), st.integers(0, PLACES - 1), st.integers(0, REPEAT - 1))
FOUND = st.one_of(
    st.floats(0, 1), st.sampled_from([0.1, 0.5, 0.7]), st.sampled_from(["unparsable: no", "no_answer: none"]), st.none()
)
JUDGED = st.tuples(st.just("judge"), PLACED, FOUND, st.integers(0, 3))
ANSWERED = st.tuples(st.just("answer"), PLACED, st.sampled_from([None, "timeout: slow"]))
DONE = st.tuples(st.sampled_from(["read", "end", "begin", "damage", "copy", "outdate", "pin"]))
STEPS = st.lists(st.one_of(JUDGED, JUDGED, ANSWERED, DONE), max_size=15)


def written(overview: Overview) -> str:
    """Write it with the order of everything in it."""
    return dumps(overview.as_dict())


def fresh(store: Store, run: RunRecord) -> Overview:
    return survey(store.results(run))


class Runs:
    """A store in memory with a run that things happen to."""

    def __init__(self) -> None:
        self.store = open_store("sqlite://")
        definition = {"thresholds": {"pass": 0.7}, "gates": {"min_mean": 0.5}}
        self.run = self.store.runs.create(name="any", source=None, definition=definition, options={}, repeat=REPEAT)
        cases = [
            Case(
                id=f"case-{n}",
                question=f"{n}?",
                cluster="shared" if n % 2 else None,
                metadata={"model": f"m/{n % 2}", "profiles": [{"id": f"p-{n}"}, {"id": "p-0"}]} if n else {},
            )
            for n in range(CASES)
        ]
        planned = [PlannedCase(position=n, case=case, hash=f"{n}", expected=PLACES) for n, case in enumerate(cases)]
        rows = [(self.run.number, one.position, one.case.id, "h", PLACES, dumps(case_content(one))) for one in planned]
        self.store.add_cases(rows)
        self.run = self.store.runs.mark(self.run, RunStatus.RUNNING, cases=CASES)

    def do(self, what: str, *rest: Any) -> None:
        getattr(self, what)(*rest)

    def judge(self, placed: tuple[int, int, int], found: float | str | None, oddity: int) -> None:
        position, place, sample = placed
        known: dict[str, Any] = {"evaluator": NAMES[place], "type": "llm_judge"}
        attempt = Attempt(kind="reply", raw="{}", usage=Usage(input_tokens=3, output_tokens=1), cached=oddity == 1)
        known |= {"attempts": (attempt,) * (oddity + 1), "flags": ("cached",) * (oddity == 1), "retry_count": oddity}
        known |= {"details": {"judge": f"judge-{oddity % 2}"} if oddity else {}}
        if isinstance(found, str):
            evaluation = Evaluation.with_error(error=found, **known)
        elif found is None:
            evaluation = Evaluation.without_score(reasoning=f"nothing {oddity}", **known)
        else:
            evaluation = Evaluation.with_score(score=found, verdict=Thresholds().verdict(found), **known)
        (((last,),)) = self.store.database.rows(
            "SELECT COUNT(*) FROM evaluations WHERE run = ? AND position = ? AND place = ? AND sample = ?",
            [self.run.number, position, place, sample],
        )
        judgment = Judgment(
            evaluation=evaluation, sample=sample, round=last, weight=(1.0, 0.3)[place], required=place == 0 and oddity == 2,
            cost=None if oddity == 3 else 0.1, key="k",
        )  # fmt: skip
        self.store.commit(Batch(evaluations=[evaluation_row(self.run.number, position, place, judgment)]))

    def answer(self, placed: tuple[int, int, int], error: str | None) -> None:
        position, _, sample = placed
        ((last,),) = self.store.database.rows(
            "SELECT COUNT(*) FROM answers WHERE run = ? AND position = ? AND sample = ?",
            [self.run.number, position, sample],
        )
        answer = MadeAnswer(text=None if error else "Yes.", error=error, sample=sample, round=last, cost=0.01)
        self.store.commit(Batch(answers=[answer_row(self.run.number, position, answer)]))

    def read(self) -> None:
        overview_of(self.store, self.run)

    def end(self) -> None:
        self.run = self.store.runs.mark(self.run, RunStatus.STOPPED, "for now")
        overview_of(self.store, self.run)

    def begin(self) -> None:
        self.run = self.store.runs.mark(self.run, RunStatus.RUNNING)

    def damage(self) -> None:
        self.store.database.execute("UPDATE summaries SET content = REPLACE(content, '1', '2')")

    def outdate(self) -> None:
        self.store.database.execute("UPDATE summaries SET format = '0'")

    def pin(self) -> None:
        self.store.runs.set_options(self.run, {"baseline": True})

    def copy(self) -> None:
        """Take the run to another store and back, and go on there."""
        imported = import_lines(self.store, list(export_lines(self.store, self.run)))
        self.run = self.store.runs.find(imported.id)


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(STEPS)
def test_after_anything_that_may_happen_to_a_run_its_numbers_are_those_of_its_rows(
    steps: list[tuple[Any, ...]],
) -> None:
    runs = Runs()

    for step in steps:
        runs.do(*step)
        shown, again = overview_of(runs.store, runs.run), overview_of(runs.store, runs.run)

        assert written(shown) == written(fresh(runs.store, runs.run)) == written(again)
        assert again == shown
        assert shown.summary == summarize(runs.store.results(runs.run))
    report = report_of(runs.store, runs.run)
    plain = Report(
        run=runs.run, summary=summarize(runs.store.results(runs.run)), gates=report.gates,
        results=lambda: runs.store.results(runs.run), db_option=report.db_option,
    )  # fmt: skip
    assert canonical(report) == canonical(plain)
    assert terminal(report) == terminal(plain)
    assert report.highlights() == Highlights.of(runs.store.results(runs.run))
    assert report.bins() == plain.bins()


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(STEPS)
def test_scores_from_columns_are_those_of_the_whole_results(steps: list[tuple[Any, ...]]) -> None:
    runs = Runs()

    for step in steps:
        runs.do(*step)

    planned = [one for page in runs.store.planned(runs.run) for one in page]
    expected = [
        (result.id, result.position, result.case.cluster, dict(findings_of(result)), judged_by(one))
        for one, result in zip(planned, runs.store.results(runs.run), strict=True)
    ]
    assert [
        (one.id, one.position, one.cluster, dict(one.found), one.judged_by.digest)  # type: ignore[attr-defined]
        for one in judged_cases(runs.store, runs.run)
    ] == expected


@pytest.fixture
def runs() -> Iterator[Runs]:
    made = Runs()
    for position in range(CASES):
        for place in range(PLACES):
            for sample in range(REPEAT):
                made.judge((position, place, sample), (0.2 * position) if position else "unparsable: no", position % 4)
    made.run = made.store.runs.mark(made.run, RunStatus.FINISHED)
    yield made
    made.store.close()


@pytest.fixture
def read(runs: Runs) -> list[str]:
    """The statements that are run from now on."""
    statements: list[str] = []
    runs.store.database._connection.set_trace_callback(statements.append)  # type: ignore[attr-defined]
    return statements


def records(statements: list[str]) -> list[str]:
    """Return the statements that read whole records of evaluations."""
    return [one for one in statements if "content" in one and "FROM evaluations" in one]


def test_a_run_is_listed_and_shown_without_reading_its_records(runs: Runs, read: list[str]) -> None:
    report_of(runs.store, runs.run)
    read.clear()

    listed, report = ListedRun.of(runs.store, runs.run), report_of(runs.store, runs.run)

    assert records(read) == []
    assert listed.tally == report.summary.cases == summarize(list(runs.store.results(runs.run))).cases


def test_a_report_on_a_terminal_reads_the_records_of_the_cases_that_it_shows(runs: Runs, read: list[str]) -> None:
    report = report_of(runs.store, runs.run)
    read.clear()

    terminal(report)

    shown = len(report.overview.worst) + len(report.overview.broken) if report.overview else 0
    positions = [
        place for one in records(read) for place in re.findall(r"position IN \(([\d, ]+)\)", one)[0].split(",")
    ]
    assert 0 < len(positions) == shown, read


def test_what_one_connection_counted_the_other_knows(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with contextlib.closing(open_store(str(path))) as store, contextlib.closing(open_store(str(path))) as reading:
        run = store.runs.mark(store.runs.create(name="any", source=None, definition={}, options={}), RunStatus.FINISHED)
        reading.summaries.share_counts(store.summaries)
        statements: list[str] = []
        for one in (store, reading):
            one.database._connection.set_trace_callback(statements.append)  # type: ignore[attr-defined]

        assert store.summaries.known_coverage(run) == reading.summaries.known_coverage(run)

    assert len([one for one in statements if "COUNT(*)" in one]) == len(("cases", "evaluations", "answers"))


def test_runs_are_compared_without_reading_their_records(runs: Runs, read: list[str]) -> None:
    overview_of(runs.store, runs.run)
    read.clear()

    cases = list(judged_cases(runs.store, runs.run))

    assert len(cases) == CASES
    # One record is read for a name that no column can hold.
    assert [one for one in records(read) if "place = " not in one] == []


def test_a_run_that_goes_on_is_counted_and_not_kept(runs: Runs) -> None:
    runs.begin()

    shown = overview_of(runs.store, runs.run)

    assert shown == fresh(runs.store, runs.run)
    assert kept_overview(runs.store, runs.run) is None


def test_a_large_run_that_goes_on_is_listed_without_being_read(
    runs: Runs, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.begin()
    counted = ListedRun.of(runs.store, runs.run)
    monkeypatch.setattr(overview, "MOST_COUNTED", CASES)
    read.clear()

    listed = ListedRun.of(runs.store, runs.run)

    assert counted.tally is not None
    assert (listed.tally, listed.evaluations) == (None, CASES * PLACES * REPEAT)
    assert listed.line().endswith("  5       –      –  20 evaluations so far")
    assert listed.as_dict()["summary"] is None
    assert [one for one in read if "content" in one and "FROM runs" not in one] == []


def test_a_large_run_that_was_killed_is_counted_once(
    runs: Runs, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "MOST_COUNTED", CASES)
    runs.begin()
    runs.store.database.execute("UPDATE runs SET owner = NULL")
    first = ListedRun.of(runs.store, runs.run)
    read.clear()

    again = ListedRun.of(runs.store, runs.run)

    assert first == again
    assert records(read) == []
    assert again.tally == fresh(runs.store, runs.run).summary.cases
    assert again.status is RunStatus.INTERRUPTED


def test_numbers_are_gone_with_their_run(runs: Runs) -> None:
    overview_of(runs.store, runs.run)

    runs.store.runs.delete(runs.run)

    assert runs.store.database.rows("SELECT * FROM summaries") == []


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", '{"summary": 1}', "{"])
def test_what_is_whole_and_no_overview_is_worked_out_again(runs: Runs, content: str) -> None:
    from evenhand.reports.overview import FORMAT
    from evenhand.store.summaries import Summaries

    kept = Summaries(runs.store.database)
    kept.keep(runs.run, kept.coverage(runs.run), content, format=FORMAT)

    assert overview_of(runs.store, runs.run) == fresh(runs.store, runs.run)


def test_numbers_of_another_run_are_not_taken_for_ones_own(runs: Runs) -> None:
    overview_of(runs.store, runs.run)
    first = runs.run
    runs.copy()
    runs.store.database.execute(
        "INSERT INTO summaries SELECT ?, format, covers, checksum, content FROM summaries WHERE run = ?",
        [runs.run.number, first.number],
    )

    assert kept_overview(runs.store, first) is not None
    assert kept_overview(runs.store, runs.run) is None


def test_a_case_that_is_no_longer_there_is_left_out_of_what_is_shown(runs: Runs) -> None:
    report = report_from(runs.store, runs.run, overview_of(runs.store, runs.run), ())

    assert [one.position for one in results_at(runs.store, runs.run, [3, 99, 1])] == [3, 1]
    assert report.at is not None


def test_the_way_in_which_numbers_are_kept_has_not_changed_unnoticed(runs: Runs) -> None:
    """Where this fails since numbers of the same name are worked out in another way, raise the version in FORMAT."""
    known = json.loads((Path(__file__).parent / "overview.json").read_text(encoding="utf-8"))

    overview = json.loads(written(overview_of(runs.store, runs.run)))

    assert {name: overview[name] for name in known} == known
