"""What a run will take: counted without asking anybody, and honest about what nobody can know."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from evenhand.domain.ask import Ask, Call, Evaluator, Steps
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.message import Message
from evenhand.domain.run import PlannedCase
from evenhand.engine.estimate import ANSWER_TOKENS, Estimate, ModelEstimate, estimate
from evenhand.engine.target import target_of
from evenhand.engine.targets.base import Target
from evenhand.engine.token_estimate import ITEM_TOKENS, JUDGMENT_TOKENS, tokens_in
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.cascade import Cascade
from evenhand.evaluators.checks.text import Contains
from evenhand.evaluators.code import CodeJudgeEvaluator
from evenhand.evaluators.composite import CompositeEvaluator
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.prices import PRICES_AS_OF, PriceBook
from evenhand.models.replay import Scripted

CASE = Case(question="Capital of France?", candidate_answer="Paris", expected_outcome="Names Paris")
UNANSWERED = Case(question="Capital of France?", expected_outcome="Names Paris")
# A dollar for each million tokens in, ten for each million out.
BOOK = PriceBook({"judge": {"input": 1, "output": 10}, "target": {"input": 2, "output": 20}})


def judge(name: str = "judge", **options: Any) -> PromptEvaluator:
    """A judge that must not be asked: it has nothing to say."""
    return PromptEvaluator(judge=Scripted([], name=name), **options)


def estimated(
    *evaluators: Evaluator,
    cases: Sequence[Case] = (CASE,),
    target: Target | None = None,
    repeat: int = 1,
    prices: PriceBook = BOOK,
    cached: Callable[[Ask, int], bool] = lambda ask, sample: False,
) -> Estimate:
    planned = [PlannedCase(position=number, case=case) for number, case in enumerate(cases)]
    return estimate(planned, lambda _: evaluators, target=target, repeat=repeat, prices=prices, cached=cached)


def prompt_of(evaluator: PromptEvaluator, case: Case = CASE) -> tuple[Message, ...]:
    steps = evaluator.steps(case)
    (want,) = next(steps)
    steps.close()
    assert isinstance(want, Ask)
    return want.messages


# Counting


def test_nothing_is_sent_and_every_question_is_counted() -> None:
    evaluator = judge()

    found = estimated(evaluator, cases=[CASE, CASE, Case(question="Nothing to judge")])

    assert (found.cases, found.calls, found.most_calls, found.cached) == (3, 2, 6, 0)
    assert isinstance(evaluator.client, Scripted)
    assert evaluator.client.asked == []


def test_tokens_are_guessed_from_the_characters_of_the_messages() -> None:
    evaluator = judge()

    (model,) = estimated(evaluator, cases=[CASE, CASE]).models

    assert model.input_tokens == 2 * sum(tokens_in(message.content) for message in prompt_of(evaluator))
    assert model.output_tokens == 2 * JUDGMENT_TOKENS


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本語", 2), ("日本語 ok", 3), ("é" * 30, 20), ("a" * 4000, 1000)],
)
def test_four_characters_make_a_token_and_elsewhere_one_and_a_half(text: str, tokens: int) -> None:
    assert tokens_in(text) == tokens


def test_rubric_items_make_a_judgment_longer() -> None:
    joint = estimated(judge(rubrics=["Is kind", "Is short"])).models[0]
    separate = estimated(judge(rubrics=["Is kind", "Is short"], rubric_mode="separate")).models[0]

    assert (joint.calls, joint.output_tokens) == (1, JUDGMENT_TOKENS + 2 * ITEM_TOKENS)
    assert (separate.calls, separate.output_tokens) == (2, 2 * (JUDGMENT_TOKENS + ITEM_TOKENS))


def test_a_question_for_one_token_is_asked_once_and_answered_with_one() -> None:
    (model,) = estimated(judge(score_from="logprobs")).models

    assert (model.calls, model.most_calls, model.output_tokens) == (1, 1, 1)


def test_samples_and_repeats_multiply() -> None:
    found = estimated(judge(samples=3, max_attempts=2), repeat=5)

    assert (found.calls, found.most_calls) == (15, 30)


def test_programs_and_functions_are_counted_too() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Calling(BaseEvaluator):
        type: ClassVar[str] = "calling"

        def steps(self, case: Case) -> Steps[Evaluation]:
            yield (Call(function=print), Call(function=print))
            raise AssertionError("nothing goes on after the first step")

    found = estimated(CodeJudgeEvaluator(command=["judge"]), Calling(), Contains(value="Paris"), repeat=2)

    assert (found.calls, found.programs, found.functions) == (0, 2, 4)
    assert (found.low, found.high) == (0.0, 0.0)


def test_the_members_of_a_composite_are_counted_one_by_one() -> None:
    inner = CompositeEvaluator(members=[judge("b", max_attempts=1), Contains(value="Paris")])

    found = estimated(CompositeEvaluator(members=[judge("a", max_attempts=4), inner]))

    assert [(one.model, one.calls, one.most_calls) for one in found.models] == [("a", 1, 4), ("b", 1, 1)]


def test_later_stages_of_a_cascade_are_in_the_upper_end_only() -> None:
    cascade = Cascade(stages=[judge("cheap"), judge("strong", max_attempts=1)], confident=0.5)

    found = estimated(cascade, CompositeEvaluator(members=[cascade]), cases=[CASE, CASE])
    calls = {model.model: (model.calls, model.most_calls) for model in found.models}

    assert calls == {"cheap": (4, 12), "strong": (0, 4)}
    assert "first stage of a cascade always decides" in found.text()
    assert found.as_dict()["rules"][-1].startswith("The lower end assumes")


def test_a_meta_judge_is_counted_although_it_asks_later() -> None:
    def team(**aggregator: Any) -> CompositeEvaluator:
        return CompositeEvaluator(members=[judge("member")], aggregator=aggregator)

    by_model = estimated(team(type="llm_judge", judge=Scripted([], name="meta"), max_attempts=2))
    by_program = estimated(team(type="code_judge", command=["judge"]))
    without_answer = estimated(team(type="llm_judge", judge=Scripted([], name="meta")), cases=[UNANSWERED])

    assert [(one.model, one.calls, one.most_calls) for one in by_model.models] == [("member", 1, 3), ("meta", 1, 2)]
    assert by_model.models[1].input_tokens > by_model.models[0].input_tokens + JUDGMENT_TOKENS
    assert (by_program.calls, by_program.programs) == (1, 1)
    assert without_answer.calls == 0


# The target


def test_a_target_answers_the_cases_that_have_no_answer() -> None:
    target = target_of({"model": Scripted([], name="target"), "prompt": "Question: {{ input }}"})

    found = estimated(judge(), cases=[UNANSWERED, CASE, UNANSWERED], target=target)

    by_name = {one.model: one for one in found.models}
    assert (by_name["target"].calls, by_name["target"].most_calls, by_name["judge"].calls) == (2, 2, 3)
    assert by_name["target"].input_tokens == 2 * tokens_in("Question: Capital of France?")
    assert by_name["target"].output_tokens == 2 * ANSWER_TOKENS


def test_an_answer_still_to_be_made_is_taken_to_be_as_long_as_the_reference_answer() -> None:
    target = target_of(Scripted([], name="target"))
    long = Case(question="Why?", reference_answer="b" * 8000)

    judging, answering = estimated(judge(), cases=[long], target=target).models

    assert answering.output_tokens == 2000
    given = Case(question="Why?", reference_answer="b" * 8000, candidate_answer="c" * 8000)
    assert judging.input_tokens == estimated(judge(), cases=[given]).models[0].input_tokens


@pytest.mark.parametrize(
    ("given", "programs", "functions"), [({"command": ["app"]}, 2, 0), ({"python": str.upper}, 0, 2)]
)
def test_a_target_may_be_a_program_or_a_function(given: dict[str, Any], programs: int, functions: int) -> None:
    found = estimated(judge(), cases=[UNANSWERED], target=target_of(given), repeat=2)

    assert (found.calls, found.programs, found.functions) == (2, programs, functions)


# The cache


def test_replies_in_the_cache_are_free() -> None:
    evaluator = judge()

    found = estimated(evaluator, repeat=3, cached=lambda ask, sample: sample != 1)

    (model,) = found.models
    assert (model.calls, model.most_calls, model.cached, found.cached) == (1, 3, 2, 2)
    assert model.low == pytest.approx((model.input_tokens + 10 * JUDGMENT_TOKENS) / 1e6)


def test_with_everything_in_the_cache_an_unknown_price_does_not_matter() -> None:
    found = estimated(judge("nobody/knows"), cached=lambda ask, sample: True)

    assert (found.calls, found.low, found.high) == (0, 0.0, 0.0)


def test_the_judgment_of_an_answer_that_is_not_made_yet_is_in_no_cache() -> None:
    looked_for: list[str] = []

    def cached(ask: Ask, sample: int) -> bool:
        looked_for.append(ask.judge.name)
        return True

    found = estimated(judge(), cases=[UNANSWERED], target=target_of(Scripted([], name="target")), cached=cached)

    assert looked_for == ["target"]
    assert [(one.model, one.calls, one.cached) for one in found.models] == [("judge", 1, 0), ("target", 0, 1)]


# The cost


def test_the_cost_is_a_range_from_one_reply_each_to_as_many_as_allowed() -> None:
    found = estimated(judge(max_attempts=4), cases=[CASE] * 10)

    (model,) = found.models
    assert model.low == pytest.approx((model.input_tokens + 10 * model.output_tokens) / 1e6)
    assert found.low == model.low
    assert found.high == pytest.approx(4 * (found.low or 0))


def test_one_unknown_price_makes_the_sum_unknown_and_no_other() -> None:
    found = estimated(judge(), judge("nobody/knows"))

    known, unknown = found.models
    assert known.low is not None
    assert (unknown.low, unknown.high, found.low, found.high) == (None, None, None, None)


def test_a_prompt_beyond_what_the_price_is_for_has_an_unknown_cost() -> None:
    long = Case(question="Why?", candidate_answer="a" * 900_000, expected_outcome="Short")

    found = estimated(judge("gemini/gemini-2.5-pro"), cases=[long])

    assert found.low is None


# Telling


def test_people_are_told_in_a_table_with_the_rules() -> None:
    target = target_of({"command": ["app"]})
    book = PriceBook({"judge": {"input": 1000, "output": 1000}})

    text = estimated(judge(), judge("nobody/knows"), cases=[UNANSWERED], target=target, prices=book).text()

    lines = text.splitlines()
    assert lines[0] == "1 case, 2 to 6 calls to models, 1 program run"
    assert [line.split()[0] for line in lines[2:6]] == ["model", "judge", "nobody/knows", "total"]
    assert lines[4].endswith("unknown")
    assert lines[5].endswith("unknown")
    assert len({len(line) for line in lines[2:6]}) == 1
    assert "4 characters per token in ASCII, 1.5 otherwise" in text
    assert f"Prices are as of {PRICES_AS_OF}" in text


def test_a_run_of_checks_alone_costs_nothing() -> None:
    text = estimated(Contains(value="Paris"), cases=[CASE, CASE], repeat=3).text()

    assert text.startswith("2 cases, 3 times each, 0 calls to models\n")
    assert text.splitlines()[3].split() == ["total", "0", "0.00"]


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.0, 0.0, "0.00"),
        (0.0000042, 0.0000084, "<0.0001"),
        (0.00042, 0.00126, "0.00042 to 0.0013"),
        (0.042, 0.126, "0.042 to 0.13"),
        (4.154, 4.1541, "4.15"),
        (1234.5, 2469.0, "1,234.50 to 2,469.00"),
        (None, None, "unknown"),
    ],
)
def test_amounts_are_told_in_cents_and_small_ones_to_two_digits(
    low: float | None, high: float | None, told: str
) -> None:
    model = ModelEstimate(model="judge", calls=1, most_calls=1, low=low, high=high)

    row = Estimate(cases=1, repeat=1, models=(model,)).text().splitlines()[3]

    assert row.split("  ")[-1].strip() == told


def test_machines_are_told_the_same_with_null_for_what_is_unknown() -> None:
    found = json.loads(json.dumps(estimated(judge(), judge("nobody/knows")).as_dict()))

    assert (found["cases"], found["repeat"], found["calls"]) == (1, 1, {"low": 2, "high": 6})
    assert [one["model"] for one in found["models"]] == ["judge", "nobody/knows"]
    assert found["models"][0]["cost"].keys() == {"low", "high"}
    assert found["models"][1]["cost"] is None
    assert found["cost"] is None
    assert found["prices_as_of"] == PRICES_AS_OF


# Many cases


def test_cases_stream_through() -> None:
    evaluators = (judge(),)

    def cases() -> Iterator[PlannedCase]:
        for number in range(300):
            case = Case(question="Why?", candidate_answer=str(number) + "a" * 20_000, expected_outcome="Short")
            yield PlannedCase(position=number, case=case)

    tracemalloc.start()
    found = estimate(
        cases(), lambda _: evaluators, target=None, repeat=1, prices=BOOK, cached=lambda ask, sample: False
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found.calls == 300
    assert peak < 2_000_000
