"""The overview that is worked out while a run goes on is, byte for byte, the one that its rows give."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Evaluation, Usage
from evenhand.domain.gates import slices_of
from evenhand.domain.run import Judgment, MadeAnswer, PlannedCase, RunRecord, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.engine.budget import Limits
from evenhand.engine.overview import LiveOverview, kept_overview, overview_of, report_from
from evenhand.engine.targets.model import ModelTarget
from evenhand.reports.json import canonical
from evenhand.reports.overview import Overview, survey
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize
from evenhand.store.rows import Batch, answer_row, case_content, dumps, evaluation_row
from evenhand.store.store import Store, open_store

Judging = Callable[..., Any]

CASES, PLACES, REPEAT = 4, 2, 2
NAMES = ("quality", "kind\0ness")


class Flag(StrEnum):
    """A flag as somebody else's evaluator may give it."""

    ODD = "odd"


MEMBER = {"type": "function", "verdict": "pass", "details": {"judge": "inner", "ambiguous": {"counted": "last"}}}
DETAILS = st.sampled_from(
    [
        {},
        {"judge": "a/judge"},
        {"judge": Flag.ODD, "n": math.nan},
        {"members": (MEMBER, MEMBER), "judge": "outer"},
        {"members": [MEMBER], "meta_judge": {"type": "code_judge", "attempts": 2}},
        {"ambiguous": {"counted": "first", "verdict": "fail"}},
        {"lone": "\ud800"},
        {"huge": 2**70},
    ]
)
USAGES = st.sampled_from(
    [None, Usage(input_tokens=3, output_tokens=1), Usage(input_tokens=-3), Usage(output_tokens=True)]
)
ATTEMPTS = st.lists(
    st.builds(Attempt, kind=st.sampled_from(["reply", "transport"]), raw=st.none(), usage=USAGES, cached=st.booleans()),
    max_size=2,
).map(tuple)
REST = st.fixed_dictionaries(
    {
        "details": DETAILS,
        "attempts": ATTEMPTS,
        "usage": USAGES,
        "flags": st.lists(st.sampled_from(["cached", "ambiguous", Flag.ODD]), max_size=2, unique=True).map(tuple),
        "retry_count": st.integers(0, 2),
    }
)
RESULTS = st.one_of(
    st.sampled_from([0.1, 0.5, 0.7]),
    st.floats(0, 1),
    st.sampled_from(["unparsable: no", "no_answer: none", "odd\ud800: why"]),
    st.sampled_from([f"nothing {number}" for number in range(12)]).map(lambda reason: (reason,)),
)
EVALUATIONS = st.lists(st.tuples(RESULTS, REST), min_size=CASES * PLACES * REPEAT, max_size=CASES * PLACES * REPEAT)
ANSWERS = st.lists(
    st.none()
    | st.tuples(st.sampled_from([None, "timeout: slow"]), ATTEMPTS, st.sampled_from([None, 0.1, 1, math.nan])),
    min_size=CASES * REPEAT,
    max_size=CASES * REPEAT,
)
ORDER = st.permutations(
    [(n, place, sample) for n in range(CASES) for place in range(PLACES) for sample in range(REPEAT)]
)


def written(overview: Overview) -> str:
    """Write it with the order of everything in it."""
    return dumps(overview.as_dict())


def fresh(store: Store, run: RunRecord) -> Overview:
    return survey(store.results(run), slices_of(run.definition))


def evaluation_of(name: str, result: float | str | tuple[str], rest: dict[str, Any]) -> Evaluation:
    known: dict[str, Any] = {"evaluator": name, "type": "llm_judge", **rest}
    if isinstance(result, str):
        return Evaluation.with_error(error=result, **known)
    if isinstance(result, tuple):
        return Evaluation.without_score(reasoning=result[0], **known)
    return Evaluation.with_score(score=result, verdict=Thresholds().verdict(result), **known)


class Live:
    """A run in memory of which each row is committed, and taken in as it is."""

    def __init__(self, cases: int = CASES, places: int = PLACES, repeat: int = REPEAT) -> None:
        self.store = open_store("sqlite://")
        self.run = self.store.runs.create(
            name="live", source=None, definition={"slices": ["model"]}, options={}, repeat=repeat
        )
        self.planned = [
            PlannedCase(
                position=n,
                case=Case(
                    id=f"case-{n}", cluster="shared" if n % 2 else None, metadata={"model": f"m/{n % 3}"} if n else {}
                ),
                hash="h",
                expected=places,
            )
            for n in range(cases)
        ]
        self.store.add_cases(
            [
                (self.run.number, n, f"case-{n}", "h", places, dumps(case_content(one)))
                for n, one in enumerate(self.planned)
            ]
        )
        self.run = self.store.runs.mark(self.run, RunStatus.RUNNING, cases=cases)
        self.overview = LiveOverview(self.run)

    def answer(self, position: int, sample: int, error: str | None, attempts: Any = (), cost: Any = 0.0) -> None:
        answer = MadeAnswer(text=None if error else "Yes.", error=error, sample=sample, attempts=attempts, cost=cost)
        row = answer_row(self.run.number, position, answer)
        self.store.commit(Batch(answers=[row]))
        self.overview.add_answer(self.planned[position], answer, row[-1])

    def judge(self, position: int, place: int, sample: int, evaluation: Evaluation) -> None:
        judgment = Judgment(
            evaluation=evaluation, sample=sample, weight=(1.0, 0.3)[place], required=place == 1, cost=0.1 * position, key="k"
        )  # fmt: skip
        row = evaluation_row(self.run.number, position, place, judgment)
        self.store.commit(Batch(evaluations=[row]))
        self.overview.add_evaluation(self.planned[position], place, judgment, row[-1])

    def finish(self) -> None:
        self.run = self.store.runs.mark(self.run, RunStatus.FINISHED)
        self.overview.keep(self.store, self.run)


@pytest.mark.slow
@pytest.mark.parametrize(
    "examples", [pytest.param(25, id="sample"), pytest.param(500, id="all", marks=pytest.mark.sweep)]
)
def test_whatever_comes_in_whichever_order_the_overview_is_that_of_a_full_pass(examples: int) -> None:
    @settings(deadline=None, max_examples=examples)
    @given(EVALUATIONS, ANSWERS, ORDER)
    def is_that_of_a_full_pass(evaluations: list[Any], answers: list[Any], order: list[tuple[int, int, int]]) -> None:
        live = Live()
        answered = set[tuple[int, int]]()

        for (result, rest), (position, place, sample) in zip(evaluations, order, strict=True):
            made = answers[position * REPEAT + sample]
            if made is not None and (position, sample) not in answered:
                answered.add((position, sample))
                live.answer(position, sample, *made)
            live.judge(position, place, sample, evaluation_of(NAMES[place], result, rest))
        live.finish()

        kept = kept_overview(live.store, live.run)
        assert kept is not None
        assert written(kept) == written(fresh(live.store, live.run))
        shown = report_from(live.store, live.run, kept, ())
        plain = Report(
            run=live.run,
            summary=summarize(live.store.results(live.run), ["model"]),
            results=lambda: live.store.results(live.run),
        )
        assert canonical(shown) == canonical(plain)

    is_that_of_a_full_pass()


@pytest.mark.parametrize("step", [1, -1])
def test_more_reasons_than_are_kept_are_counted_as_a_full_pass_counts_them(step: int) -> None:
    live = Live(cases=300, places=1, repeat=1)

    for position in range(300)[::step]:
        reason = f"nothing {position if position > 20 else position % 3}"
        live.judge(position, 0, 0, Evaluation.without_score(evaluator="quality", type="", reasoning=reason))
    live.finish()

    shown = overview_of(live.store, live.run)
    assert written(shown) == written(fresh(live.store, live.run))
    assert sum(shown.summary.reasons.values()) == 300


def test_a_run_with_other_rows_than_were_taken_in_is_read_from_the_store() -> None:
    live = Live(cases=2, places=1, repeat=1)
    scored = Evaluation.with_score(evaluator="q", type="", score=0.5, verdict=Thresholds().verdict(0.5))
    live.judge(0, 0, 0, scored)
    other = evaluation_row(live.run.number, 1, 0, Judgment(evaluation=scored))
    live.store.commit(Batch(evaluations=[other]))

    live.finish()

    assert kept_overview(live.store, live.run) is None
    assert overview_of(live.store, live.run) == fresh(live.store, live.run)


def test_what_cannot_be_read_back_does_not_stop_the_run(store: Store) -> None:
    live = Live(cases=1, places=1, repeat=1)
    planned = live.planned[0]
    scored = Evaluation.with_score(evaluator="q", type="", score=0.5, verdict=Thresholds().verdict(0.5))

    live.overview.add_answer(planned, MadeAnswer(text="Yes.", cost=math.nan), "no JSON")
    live.overview.add_evaluation(planned, 0, Judgment(evaluation=scored, cost=math.nan), "{}")
    live.finish()

    assert kept_overview(live.store, live.run) is None


# Whole runs


def half(ask: Any) -> str:
    """Judge an answer by its letters; some replies are no verdicts, however often they are asked for."""
    seed = int(re.findall(r"\d+", re.search(r"(answer|Yes,).*", ask.messages[-1].content)[0])[0])  # type: ignore[index]
    return "no verdict" if seed % 5 == 0 else f'{{"score": 0.{seed % 10}}}'


def exact(store: Store, run: RunRecord) -> bool:
    return written(overview_of(store, run)) == written(fresh(store, run))


def test_a_run_that_finished_in_one_go_is_not_read_again(store: Store, judging: Judging, made: Any) -> None:
    job = made.job(made.cases(20), [judging(half, name="a"), judging(half, name="b")], definition={})

    run = made.run(store, job, repeat=2)

    kept = kept_overview(store, run)
    assert kept is not None
    assert written(kept) == written(fresh(store, run))


def test_a_run_whose_target_answers_is_not_read_again(store: Store, judging: Judging, made: Any) -> None:
    def answer(ask: Any) -> Any:
        return TimeoutError("timeout: slow") if "3" in ask.messages[-1].content else f"Yes, {ask.messages[-1].content}"

    cases = [Case(id=f"case-{n}", question=f"{n}?") for n in range(12)]
    target = ModelTarget(client=judging(answer, name="target"))

    run = made.run(store, made.job(cases, judging(half), target=target), repeat=2)

    kept = kept_overview(store, run)
    assert kept is not None
    assert kept.summary.cases.target_errors == 1
    assert written(kept) == written(fresh(store, run))


def test_a_run_that_stopped_and_was_resumed_has_the_numbers_of_its_rows(
    store: Store, judging: Judging, made: Any
) -> None:
    job = made.job(made.cases(20), judging(half))

    stopped = made.run(store, job, use_cache=False, limits=Limits(max_calls=7))
    assert kept_overview(store, stopped) is None
    assert exact(store, stopped)
    ended = made.resume(store, stopped, job, use_cache=False)

    assert ended.status is RunStatus.FINISHED
    assert exact(store, ended)


def test_a_run_with_errors_done_again_has_the_numbers_of_its_rows(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(half)
    job = made.job(made.cases(20), judge)
    first = made.run(store, job, use_cache=False)
    assert overview_of(store, first).summary.cases.errors > 0

    judge.answer = lambda ask: '{"score": 1.0}'
    again = made.resume(store, first, job, use_cache=False, retry_errors=True)

    assert overview_of(store, again).summary.cases.errors == 0
    assert exact(store, again)


def test_a_run_that_lost_a_row_to_somebody_is_read_and_refused(store: Store, judging: Judging, made: Any) -> None:
    run = made.run(store, made.job(made.cases(3), judging()))

    store.database.execute("DELETE FROM evaluations WHERE position = 1")

    assert kept_overview(store, run) is None
    with pytest.raises(Exception, match="of its 3 evaluations, there are 2"):
        overview_of(store, run)
