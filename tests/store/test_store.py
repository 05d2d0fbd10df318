"""What goes into a store comes out of it again, from both databases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Attempt, Check, Usage
from evenhand.domain.message import Message
from evenhand.domain.run import MadeAnswer, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.store.page_size import PAGE
from evenhand.store.rows import Batch, reply_row
from evenhand.store.store import Store, open_store

# Each with what may come back: lone surrogates cannot be written down at all (REL-J7).
NASTY: dict[str, tuple[str, str]] = {
    name: (text, back[0] if back else text)
    for name, text, *back in (
        ("nul", "a\0b\0"),
        ("high surrogate", "a\ud800b", "a?b"),
        ("low surrogate", "\udfff", "?"),
        ("reversed pair", "\ude00\ud83d", "??"),
        ("beyond the first plane", "\U0001f469\u200d\U0001f680 \U0010ffff"),
        ("controls", "".join(map(chr, range(1, 32))) + "\x7f\x85\x9b31m"),
        ("line ends", "a\r\nb\rc\nd\u2028e\u2029f"),
        ("direction and width", "\u202egnp.exe\u2066\u200b\ufeff"),
        ("not normal", "e\u0301 \u00e9 \u212b"),
        ("of a statement", "'); DROP TABLE runs; -- \" ? %s %(a)s :a $1 \\ \\0 \\u0000"),
        ("noncharacters", "\uffff\ufffe\ufdd0"),
        ("long", "x{" * 524288),
    )
}
nasty = pytest.mark.parametrize(("given", "back"), NASTY.values(), ids=NASTY.keys())


# Cases


def test_a_case_comes_back_whole(store: Store, made: Any) -> None:
    case = Case(
        id="refund-3",
        question="May I?",
        input_messages=[{"role": "user", "content": "May I?", "name": "Ann"}],
        candidate_answer="",
        output_messages=[("assistant", "You may.")],
        reference_answer="Yes",
        expected_messages=[{"role": "assistant", "content": "Yes"}],
        expected_outcome="Agrees",
        evaluation_schema={"type": "object", "maximum": 2**80 + 1},
        rubrics=["Polite", {"id": "b", "description": "Short", "score_ranges": {0: "bad", 10: "good"}}],
        metadata={"n": 1, "big": -(2**70) - 1, "deep": [{"a": [None, True, 1.5]}]},
        cluster="refunds",
        latency=0.5,
        cost=0.25,
    )
    evaluators = ({"name": "own", "type": "contains", "config": {"value": "x"}},)
    planned = made.planned(0, case, evaluators=evaluators, hash="h", expected=2)

    run = made.run(store)
    store.add_cases([made.row(run, planned)])

    ((found,),) = store.planned(run)
    assert found == planned
    assert [result.case for result in store.results(run)] == [case]


@nasty
def test_any_text_of_a_case_comes_back(store: Store, made: Any, given: str, back: str) -> None:
    run = made.run(store, cases=[Case(id="a", question=given, candidate_answer=given, metadata={given[:80]: given})])

    (result,) = store.results(run)

    assert (result.case.question, result.case.candidate_answer) == (back, back)
    assert result.case.metadata == {back[:80]: back}


def test_cases_come_in_their_order_however_many_pages_they_fill(store: Store, made: Any) -> None:
    count = 2 * PAGE + 1
    run = made.run(store, cases=count)
    for position in reversed(range(count)):
        made.judge(store, run, position, made.judgment(1.0, key=str(position)))

    results = list(store.results(run))

    assert [result.position for result in results] == list(range(count))
    assert [one.key for result in results for one in result.judgments] == [str(place) for place in range(count)]
    assert [identity for identity, _ in store.hashes(run)] == [f"case-{place}" for place in range(count)]
    assert [len(page) for page in store.planned(run)] == [PAGE, PAGE, 1]


def test_a_page_may_end_with_the_last_case(store: Store, made: Any) -> None:
    run = made.run(store, cases=PAGE)

    assert len(list(store.results(run))) == PAGE


def test_runs_do_not_see_each_others_cases(store: Store, made: Any) -> None:
    one, other = made.run(store, cases=2), made.run(store, cases=3)
    made.judge(store, one, 1, made.judgment())

    assert [len(list(store.results(run))) for run in (one, other)] == [2, 3]
    assert [store.extent(run) for run in (one, other)] == [(2, 1), (3, 0)]


def test_cases_can_be_taken_out_again(store: Store, made: Any) -> None:
    run, other = made.run(store, cases=2), made.run(store, cases=2)

    store.forget_cases(run)

    assert list(store.results(run)) == []
    assert len(list(store.results(other))) == 2


# Judgments and answers


def test_a_judgment_comes_back_whole(store: Store, made: Any) -> None:
    fields = {
        "score_raw": [3, 4.5, "5"],
        "hits": ("a", "b"),
        "misses": ("c",),
        "reasoning": "so",
        "checks": (Check(id="x", satisfied=True, reasoning="r", score=7, probability=0.25, evidence="quote"),),
        "details": {"judge": "m", "nested": [{"a": None}], "big": 2**90 + 1},
        "attempts": (
            Attempt(kind="transport", error="timeout: too late", latency=0.25),
            Attempt(kind="reply", raw="{}", error="contract: no", latency=1.5, usage=Usage(input_tokens=7)),
            Attempt(
                kind="reply", raw="{1}", cached=True, usage=Usage(input_tokens=1, output_tokens=2, cached_tokens=1)
            ),
        ),
        "retry_count": 1,
        "evaluator_provider_request": {"userPrompt": "u", "systemPrompt": "s"},
        "usage": Usage(input_tokens=8, output_tokens=2, cached_tokens=1),
        "flags": ("clamped", "within_text"),
    }
    judgment = made.judgment(0.1 + 0.7, weight=0.1, required=True, key="k", cost=1e-9, seconds=0.1, evaluation=fields)
    run = made.run(store, cases=1)

    made.judge(store, run, 0, judgment)

    ((found,),) = (result.judgments for result in store.results(run))
    assert found == judgment


@pytest.mark.parametrize("cost", [None, 0.0])
def test_an_unknown_cost_is_not_nothing(store: Store, made: Any, cost: float | None) -> None:
    run = made.run(store, cases=1)

    made.judge(store, run, 0, made.judgment(cost=cost))

    ((found,),) = (result.judgments for result in store.results(run))
    assert found.cost is cost or found.cost == cost == 0.0


@nasty
def test_any_text_of_a_judgment_comes_back(store: Store, made: Any, given: str, back: str) -> None:
    attempt = Attempt(kind="reply", raw=given, error=given)
    fields = {"evaluator": given, "reasoning": given, "details": {given[:80]: [given]}, "attempts": (attempt,)}
    run = made.run(store, cases=1)

    made.judge(store, run, 0, made.judgment(given, evaluation=fields))

    ((found,),) = (result.judgments for result in store.results(run))
    evaluation = found.evaluation
    assert (evaluation.evaluator, evaluation.reasoning, evaluation.error) == (back, back, back)
    assert evaluation.details == {back[:80]: [back]}
    assert evaluation.attempts == (replace(attempt, raw=back, error=back),)


def test_a_number_that_is_none_is_kept_as_nothing(store: Store, made: Any) -> None:
    run = made.run(store, cases=1)

    made.judge(store, run, 0, made.judgment(evaluation={"details": {"x": [float("nan"), float("-inf"), 2**70 + 1]}}))

    ((found,),) = (result.judgments for result in store.results(run))
    assert found.evaluation.details == {"x": [None, None, 2**70 + 1]}


def test_an_answer_comes_back_whole(store: Store, made: Any) -> None:
    answer = MadeAnswer(
        text="Yes",
        attempts=(Attempt(kind="reply", raw="Yes", latency=0.25, usage=Usage(output_tokens=1)),),
        latency=0.25,
        usage=Usage(output_tokens=1),
        cost=0.5,
        messages=(Message("assistant", "Yes", (("tool_calls", [1]),)),),
        sample=1,
    )
    failed = MadeAnswer(text=None, error="timeout: no", sample=0)
    run = made.run(store, cases=1, repeat=2)

    made.answer(store, run, 0, answer, failed)

    (result,) = store.results(run)
    assert result.answers == (failed, answer)


@nasty
def test_any_text_of_an_answer_comes_back(store: Store, made: Any, given: str, back: str) -> None:
    run = made.run(store, cases=1)

    made.answer(store, run, 0, MadeAnswer(text=given, messages=(Message("assistant", given),)))

    (result,) = store.results(run)
    assert result.answers == (MadeAnswer(text=back, messages=(Message("assistant", back),)),)


def test_the_last_round_counts_and_earlier_ones_are_kept(store: Store, made: Any) -> None:
    run = made.run(store, cases=1)
    made.judge(store, run, 0, made.judgment("timeout: a", round=0), made.judgment("timeout: b", round=1))
    made.answer(store, run, 0, MadeAnswer(text=None, error="e"), MadeAnswer(text="Yes", round=1))

    made.judge(store, run, 0, made.judgment(0.5, round=2))

    (result,) = store.results(run)
    assert [one.round for one in result.judgments] == [2]
    assert [one.text for one in result.answers] == ["Yes"]
    assert store.judged(run, 0, 0) == {(0, 0, 0): (2, "scored", "")}
    assert store.extent(run) == (1, 1)
    assert store.database.rows("SELECT COUNT(*) FROM evaluations") == [(3,)]


def test_rounds_are_told_by_number_and_not_by_when_they_came(store: Store, made: Any) -> None:
    run = made.run(store, cases=1)

    made.judge(store, run, 0, *(made.judgment(f"e: {number}", round=number) for number in (10, 9, 2)))

    assert store.judged(run, 0, 0) == {(0, 0, 0): (10, "error", "e: 10")}
    assert [one.round for result in store.results(run) for one in result.judgments] == [10]


def test_judgments_stand_by_sample_and_then_by_evaluator(store: Store, made: Any) -> None:
    run = made.run(store, cases=1, repeat=2)

    for place, sample in ((1, 1), (0, 1), (1, 0), (0, 0)):
        named = {"evaluator": f"e{place}"}
        made.judge(store, run, 0, made.judgment(sample=sample, evaluation=named), place=place)

    (result,) = store.results(run)
    found = [(one.sample, one.evaluation.evaluator) for one in result.judgments]
    assert found == [(0, "e0"), (0, "e1"), (1, "e0"), (1, "e1")]


def test_what_is_still_to_be_judged_is_awaited(store: Store, made: Any) -> None:
    run = made.run(store, cases=2, repeat=3)

    made.judge(store, run, 1, made.judgment(sample=2))

    assert [result.awaited for result in store.results(run)] == [3, 2]
    assert store.extent(run) == (6, 1)


def test_a_second_judgment_of_the_same_is_none(store: Store, made: Any) -> None:
    run = made.run(store, cases=1)

    made.judge(store, run, 0, made.judgment(1.0))
    made.judge(store, run, 0, made.judgment(0.0))

    (result,) = store.results(run)
    assert [one.evaluation.score for one in result.judgments] == [1.0]


def test_all_rows_of_a_batch_are_committed_or_none(store: Store, made: Any) -> None:
    run = made.run(store, cases=1)
    whole = (run.number, 0, 0, 0, "{}")
    lacking = (run.number, 1, 0, 0, None)

    with pytest.raises(Exception, match=r"(?i)null"):
        store.commit(Batch(answers=[whole, lacking]))

    assert store.answered(run, 0, 1) == {}


def test_the_thresholds_of_the_run_decide_on_its_cases(store: Store, made: Any) -> None:
    run = made.run(store, cases=1, definition={"thresholds": {"pass": 0.5, "borderline": 0.25}})

    made.judge(store, run, 0, made.judgment(0.5))

    (result,) = store.results(run)
    assert result.thresholds == Thresholds(pass_at=0.5, borderline_at=0.25)
    assert result.outcome.verdict == "pass"


# Copying


def test_what_holds_is_copied_to_where_it_stands_now(store: Store, made: Any) -> None:
    before, run = made.run(store, cases=3, repeat=2), made.run(store, cases=3, repeat=2)
    made.judge(store, before, 0, made.judgment("timeout: a", key="k0"), made.judgment(0.5, key="k0", round=1))
    made.judge(store, before, 1, made.judgment(0.25, key="k1", sample=1), place=1)
    made.judge(store, before, 2, made.judgment(0.75, key="changed"))
    made.answer(store, before, 0, MadeAnswer(text=None, error="e"), MadeAnswer(text="Yes", round=1))

    wanted = {"k0": [(2, 1)], "k1": [(0, 0)], "k2": [(1, 0)]}
    copied = store.copy(before, run, positions={2: 0, 0: 1, 1: 2}, places=wanted, answers=True)

    assert copied == 2
    found = {
        (result.position, one.key): (one.evaluation.score, one.sample, one.round)
        for result in store.results(run)
        for one in result.judgments
    }
    assert found == {(2, "k0"): (0.5, 0, 0), (0, "k1"): (0.25, 1, 0)}
    assert store.judged(run, 0, 2).keys() == {(2, 1, 0), (0, 0, 1)}
    assert [[one.text for one in result.answers] for result in store.results(run)] == [[], [], ["Yes"]]


def test_cases_are_found_again_by_id_and_content(store: Store, made: Any) -> None:
    run = made.run(store, cases=3)
    now = [
        made.planned(0, Case(id="case-2")),
        made.planned(1, Case(id="case-0"), hash="another"),
        made.planned(2, Case(id="new")),
        made.planned(3, Case(id="case-1")),
    ]

    assert store.positions(run, now) == {0: 2, 3: 1}


def test_a_case_is_found_with_the_answer_made_for_it(store: Store, made: Any) -> None:
    run = made.run(store, cases=2)
    made.answer(store, run, 1, MadeAnswer(text="Yes"), MadeAnswer(text="No", sample=1))

    assert store.case_and_answer(run, "case-1") == (Case(id="case-1"), MadeAnswer(text="Yes"))
    assert store.case_and_answer(run, "case-0") == (Case(id="case-0"), None)
    assert store.case_and_answer(run, "case-9") is None


# The cache


@nasty
def test_any_reply_comes_back_from_the_cache(store: Store, given: str, back: str) -> None:
    store.commit(Batch(replies=[reply_row("k", "m", {"text": given, "usage": None})]))

    assert store.reply("k") == {"text": back, "usage": None}
    assert store.reply("another") is None


def test_the_first_reply_to_a_question_stays(store: Store) -> None:
    for text in ("first", "second"):
        store.commit(Batch(replies=[reply_row("k", "m", {"text": text})]))

    assert store.reply("k") == {"text": "first"}


def test_the_cache_tells_what_it_holds_and_forgets_it(store: Store) -> None:
    rows = [reply_row(f"{number:032x}", f"m{number % 2}", {"text": "x"}) for number in range(5000)]
    store.commit(Batch(replies=rows))

    assert sorted(store.reply_keys()) == sorted(row[0] for row in rows)
    assert [told[:3] for told in store.replies_by_model()] == [("m0", 2500, 2500 * 12), ("m1", 2500, 2500 * 12)]
    assert store.forget_replies("m1") == 2500
    assert [told[0] for told in store.replies_by_model()] == ["m0"]
    assert store.forget_replies() == 2500
    assert list(store.reply_keys()) == []
    assert store.replies_by_model() == []


# The whole


def test_everything_is_still_there_after_closing(url: str, made: Any) -> None:
    store = open_store(url)
    run = made.run(store, cases=2)
    made.judge(store, run, 0, made.judgment(0.5))
    before = list(store.results(run))
    store.close()

    again = open_store(url)

    assert again.runs.find(run.id) == run
    assert list(again.results(run)) == before
    again.database.check()
    again.close()


def test_deleting_a_run_deletes_what_is_in_it_and_nothing_else(store: Store, made: Any) -> None:
    run, other = made.run(store, cases=2), made.run(store, cases=2)
    for one in (run, other):
        made.judge(store, one, 0, made.judgment())
        made.answer(store, one, 0, MadeAnswer(text="Yes"))
        store.runs.mark(one, RunStatus.FINISHED)
    store.commit(Batch(replies=[reply_row("k", "m", {})]))

    store.runs.delete(run)

    counts = [
        store.database.rows(f"SELECT COUNT(*), MIN(run) FROM {table}")[0]
        for table in ("cases", "evaluations", "answers")
    ]
    assert counts == [(2, other.number), (1, other.number), (1, other.number)]
    assert store.reply("k") == {}


@pytest.mark.parametrize("url", ["mysql://x", "sqlit:///x", "http://x/y"])
def test_a_store_that_nobody_knows_is_refused_with_those_that_are(url: str) -> None:
    with pytest.raises(
        ConfigError, match=r"unsupported database '\w+'; .*(did you mean 'sqlite'|postgresql).*path of a file"
    ):
        open_store(url)


def test_a_store_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="empty"):
        open_store("")


def test_a_store_in_memory_is_nowhere_else(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, made: Any) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = open_store("sqlite://"), open_store(":memory:")

    made.run(one, cases=1)

    assert other.runs.newest() == []
    assert list(tmp_path.iterdir()) == []
    one.close()
    other.close()
