"""The way to the judges: the cache remembers what is sound, and nobody waits for somebody else's account."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.case import Case
from evenhand.domain.contract import FieldContract, Score, Text
from evenhand.domain.evaluation import Usage
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, TokenChoice, Unanswered
from evenhand.domain.scale import Range
from evenhand.drive.driver import Deadline
from evenhand.engine.budget import Budget, Limits
from evenhand.engine.cached_replies import cache_key, reply_from, reply_to
from evenhand.engine.compact_sets import BloomFilter
from evenhand.engine.concurrency_limit import LimitClosed
from evenhand.engine.gateway import Abandoned, Gateway
from evenhand.engine.identity import canonical
from evenhand.evaluators.composite import jury
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.prices import PriceBook
from evenhand.models.providers import OPENAI
from evenhand.models.rate_limit import RateLimit
from evenhand.reports.summary import summarize
from evenhand.store.store import Store

Judging = Callable[..., Any]


def through(store: Store, **options: Any) -> Gateway:
    known: dict[str, Any] = {"budget": Budget(Limits()), "prices": PriceBook(), "concurrency": 8, **options}
    return Gateway(store, **known)


def question(judge: Any, text: str = "?", **options: Any) -> Ask:
    return Ask(messages=(Message("user", text),), judge=judge, **options)


async def put(gateway: Gateway, judge: Any, text: str = "?", *, seconds: float = 20.0) -> Any:
    return await gateway.asking(0).ask(question(judge, text), Deadline(seconds))


# The key (REL-K1)

CONTRACT = FieldContract(name="judgment", fields=(Score(scale=Range()), Text(name="reasoning")))
OTHERS: dict[str, Any] = {
    "messages": (Message("user", "??"),),
    "contract": FieldContract(name="judgment", fields=(Score(scale=Range()), Text(name="why"))),
    "sample": 1,
    "top_logprobs": 5,
    "room": 2,
    "max_tokens": 9,
}
# What does not decide on the reply; the judge does by its identity.
WITHOUT_EFFECT = {"judge", "allowance", "sent_once"}


def key(identity: Any = "m", number: int = 0, **options: Any) -> str:
    usual: dict[str, Any] = {"messages": (Message("user", "?"),), "contract": CONTRACT, "judge": None}
    return cache_key(canonical(identity), Ask(**{**usual, **options}), number)


def test_everything_that_decides_on_a_reply_is_meant() -> None:
    assert {one.name for one in fields(Ask)} == OTHERS.keys() | WITHOUT_EFFECT


@pytest.mark.parametrize("name", OTHERS)
def test_a_question_that_differs_anywhere_is_another_question(name: str) -> None:
    assert key(**{name: OTHERS[name]}) != key()


def test_the_same_question_has_the_same_key() -> None:
    assert key() == key()
    assert key(allowance=Budget(Limits())) == key()


@pytest.mark.parametrize(
    "messages",
    [
        (Message("system", "?"),),
        (Message("user", "?"), Message("user", "")),
        (Message("user", ""), Message("user", "?")),
        (Message("user", "?", (("name", "Ann"),)),),
        (Message("user", "\ud800"),),
        (),
    ],
)
def test_messages_differ_by_role_order_and_further_keys(messages: tuple[Message, ...]) -> None:
    assert key(messages=messages) != key()


def test_what_python_takes_for_equal_may_differ_in_json() -> None:
    keys = {key(messages=(Message("system", "?", (("cached", one),)), Message("user", "?"))) for one in (True, 1, 1.0)}

    assert len(keys) == 3


def test_texts_do_not_run_into_each_other() -> None:
    pairs = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")]

    keys = {key(messages=(Message("system", one), Message("user", other))) for one, other in pairs}

    assert len(keys) == 4


def test_another_judge_or_repeat_is_another_question() -> None:
    assert len({key(), key("n"), key({"model": "m"}), key(number=1), key(number=2), key(sample=1)}) == 6
    assert key(number=1) != key(sample=1)  # a repeat of the run is no sample of the evaluator's


def test_the_order_in_which_a_judge_was_described_does_not_matter() -> None:
    assert key({"a": 1, "b": {"x": 1, "y": 2}}) == key({"b": {"y": 2, "x": 1}, "a": 1})


def test_a_contract_of_another_name_is_another_question() -> None:
    assert key(contract=replace(CONTRACT, name="other")) != key()
    assert key(contract=None) != key()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("temperature", 1.0),
        ("top_p", 0.5),
        ("seed", 1),
        ("max_tokens", 7),
        ("structured", "none"),
        ("headers", {"X-Tenant": "b"}),
        ("extra_body", {"a": 1}),
        ("base_url", "http://127.0.0.1:2"),
    ],
)
def test_a_judge_with_another_setting_is_asked_anew(setting: str, value: object) -> None:
    usual: dict[str, Any] = {"api_key": "k", "base_url": "http://127.0.0.1:1"}
    keys = [key(OPENAI("m", **settings).identity) for settings in (usual, {**usual, setting: value})]

    assert keys[0] != keys[1]


# What is kept, which REL-K2 settles

UNSOUND: dict[str, Any] = {
    "no JSON": "I like it.",
    "of another form": '{"verdict": 1}',
    "out of its mind": '{"score": NaN}',
    "cut off": Reply.said('{"score": 1.0}', finish="length"),
    "refused": Reply.said('{"score": 1.0}', finish="refusal"),
    "filtered": Reply.said('{"score": 1.0}', finish="filtered"),
    "no reply": ConnectionError("timeout: too late"),
    "empty": "",
}


@pytest.mark.parametrize("said", UNSOUND.values(), ids=UNSOUND.keys())
def test_only_replies_that_could_be_used_are_kept(store: Store, judging: Judging, made: Any, said: Any) -> None:
    judge = judging(lambda ask: said)
    job = made.job(made.cases(2), judge)
    made.run(store, job)
    assert list(store.reply_keys()) == []
    before = len(judge.asked)

    judge.answer = lambda ask: '{"score": 0.5}'
    run = made.run(store, job)

    assert len(judge.asked) == before + 2
    assert [result.outcome.score for result in store.results(run)] == [0.5, 0.5]


def test_of_several_replies_only_the_one_that_counts_is_kept(store: Store, judging: Judging, made: Any) -> None:
    said = itertools.cycle(["no", '{"score": 2', '{"score": 0.25}'])
    judge = judging(lambda ask: next(said))
    job = made.job(made.cases(1), judge)

    first = made.run(store, job)
    again = made.run(store, job)

    # The question as it was asked at last is known; as it is asked at first it is not.
    assert len(list(store.reply_keys())) == 1
    assert len(judge.asked) == 5
    assert [made.results(store, run)[0].outcome.score for run in (first, again)] == [0.25, 0.25]


def test_replies_are_kept_with_their_evaluation_and_not_before(store: Store, judging: Judging, made: Any) -> None:
    class Crashing(PromptEvaluator):
        def steps(self, case: Case) -> Any:
            yield from super().steps(case)
            raise RuntimeError("oh")

    judge = judging()
    made.run(store, made.job(made.cases(2), evaluators=[Crashing(judge=judge)]))

    assert len(judge.asked) == 2
    assert list(store.reply_keys()) == []


# What is found


def test_a_second_run_asks_nothing_and_says_so(store: Store, judging: Judging, made: Any) -> None:
    """Cached rows are marked, and cost nothing (REL-K4)."""
    judge = judging(lambda ask: '{"score": 0.5, "hits": ["a"], "reasoning": "so"}')
    prices = PriceBook({"judge": {"input": 1.0, "output": 1.0}})
    job = made.job(made.cases(3), judge, prices=prices)

    first, second = made.run(store, job), made.run(store, job)

    assert len(judge.asked) == 3
    for result, again in zip(store.results(first), store.results(second), strict=True):
        (one,), (other,) = result.judgments, again.judgments
        assert [attempt.cached for attempt in one.evaluation.attempts] == [False]
        assert [attempt.cached for attempt in other.evaluation.attempts] == [True]
        assert other.evaluation.attempts[0].latency == 0.0
        assert one.cost == pytest.approx(110 / 1e6)
        assert [attempt.cost for attempt in one.evaluation.attempts] == [one.cost]
        assert other.cost == 0.0
        assert [attempt.cost for attempt in other.evaluation.attempts] == [None]
        assert one.evaluation.score == other.evaluation.score
        assert one.key == other.key
    numbers = [summarize(store.results(run)) for run in (first, second)]
    assert [(one.calls, one.cached, one.input_tokens) for one in numbers] == [(3, 0, 300), (0, 3, 0)]


def test_each_repeat_is_a_question_of_its_own(store: Store, judging: Judging, made: Any) -> None:
    """Repeats must not collapse into one reply (REL-K3)."""
    scores = itertools.count()
    judge = judging(lambda ask: f'{{"score": 0.{next(scores)}}}')
    job = made.job(made.cases(1), judge)

    first = made.run(store, job, repeat=5)
    second = made.run(store, job, repeat=5)

    found = [[one.evaluation.score for one in made.results(store, run)[0].judgments] for run in (first, second)]
    assert sorted(found[0]) == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert found[1] == found[0]
    assert len(judge.asked) == len(list(store.reply_keys())) == 5
    assert made.run(store, job, repeat=7).status == "finished"
    assert len(judge.asked) == 7


def test_each_sample_of_an_evaluator_is_a_question_of_its_own(store: Store, judging: Judging, made: Any) -> None:
    scores = itertools.count()
    judge = judging(lambda ask: f'{{"score": 0.{next(scores)}}}')
    job = made.job(made.cases(1), evaluators=[PromptEvaluator(judge=judge, samples=5)])

    runs = [made.run(store, job) for _ in range(2)]

    found = [made.results(store, run)[0].judgments[0].evaluation for run in runs]
    assert sorted(found[0].details["samples"]) == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert found[1].details["samples"] == found[0].details["samples"]
    assert len(judge.asked) == 5


def test_a_reply_of_one_token_is_kept_though_it_was_cut_off_there(store: Store, judging: Judging, made: Any) -> None:
    choices = (TokenChoice(token="4", logprob=-0.25), TokenChoice(token="5", logprob=-1.5))
    judge = judging(lambda ask: Reply.said("4", finish="length", first_token=choices))
    job = made.job(made.cases(2), evaluators=[PromptEvaluator(judge=judge, score_from="logprobs")])

    runs = [made.run(store, job) for _ in range(2)]

    assert len(judge.asked) == 2
    scores = [[result.outcome.score for result in store.results(run)] for run in runs]
    assert scores[0] == scores[1]
    assert None not in scores[0]


def test_the_replies_of_a_jury_are_kept(store: Store, judging: Judging, made: Any) -> None:
    judges = [judging(name=name) for name in ("a", "b", "c")]
    job = made.job(made.cases(2), evaluators=[jury(judges)])

    made.run(store, job)
    made.run(store, job)

    assert [len(judge.asked) for judge in judges] == [2, 2, 2]


def test_a_judge_that_does_not_say_what_it_is_is_always_asked(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(identity=None)
    job = made.job(made.cases(2), judge)

    made.run(store, job)
    made.run(store, job)

    assert len(judge.asked) == 4
    assert list(store.reply_keys()) == []


def test_without_the_cache_everything_is_asked_and_nothing_kept(store: Store, judging: Judging, made: Any) -> None:
    judge = judging()
    job = made.job(made.cases(2), judge)

    made.run(store, job, use_cache=False)
    assert list(store.reply_keys()) == []
    made.run(store, job)
    made.run(store, job, use_cache=False)

    assert len(judge.asked) == 6


def test_what_another_process_forgot_is_asked_again(store: Store, judging: Judging) -> None:
    judge = judging()
    asyncio.run(put(through(store), judge))
    gateway = through(store)
    store.forget_replies()

    reply = asyncio.run(put(gateway, judge))

    assert not reply.attempts[0].cached
    assert len(judge.asked) == 2


def test_a_reply_comes_back_from_the_cache_as_it_was() -> None:
    choices = (TokenChoice(token="1", logprob=-0.5), TokenChoice(token="\ud83d", logprob=-math.inf))
    usage = Usage(input_tokens=1, output_tokens=2, cached_tokens=1)
    reply = Reply.said("text", usage=usage, latency=1.5, first_token=choices)

    back = reply_from(reply_to(reply))

    assert (back.text, back.finish, back.first_token) == ("text", "stop", choices)
    assert back.attempts == (replace(reply.attempts[0], latency=0.0, cached=True),)


# Accounts


def test_judges_with_accounts_of_their_own_do_not_wait_for_each_other(store: Store, judging: Judging) -> None:
    """One that stands still keeps nobody else waiting (REL-C3)."""

    async def both() -> tuple[int, int]:
        gate = asyncio.Event()
        stuck, quick = judging(lambda ask: wait(gate), name="stuck"), judging(name="quick")
        gateway = through(store)
        waiting = [asyncio.create_task(put(gateway, stuck, str(number))) for number in range(50)]
        await asyncio.gather(*(put(gateway, quick, str(number)) for number in range(200)))
        before = len(stuck.asked), len(quick.asked)
        gate.set()
        await asyncio.gather(*waiting)
        return before

    assert asyncio.run(both()) == (4, 200)


async def wait(gate: asyncio.Event) -> str:
    await gate.wait()
    return "{}"


def test_judges_of_one_account_share_its_turns(store: Store, judging: Judging) -> None:
    async def slowly(ask: Ask) -> str:
        await asyncio.sleep(0.001)
        return "{}"

    async def both() -> Gateway:
        judges = [judging(slowly, name=name, account="one") for name in ("a", "b")]
        gateway = through(store, concurrency=3)
        await asyncio.gather(*(put(gateway, judge, str(number)) for judge in judges for number in range(20)))
        return gateway

    gateway = asyncio.run(both())

    assert [lane.widest for lane in gateway.lanes.values()] == [3]


@pytest.mark.parametrize(("at_once", "most"), [(1, 1), (2, 2), (100, 8), (0, 1)])
def test_a_judge_may_say_how_many_questions_it_takes_at_once(
    store: Store, judging: Judging, at_once: int, most: int
) -> None:
    async def slowly(ask: Ask) -> str:
        await asyncio.sleep(0.001)
        return "so"

    judge = judging(slowly)
    judge.at_once = at_once

    async def ask_all() -> None:
        gateway = through(store)
        await asyncio.gather(*(put(gateway, judge, str(number)) for number in range(60)))

    asyncio.run(ask_all())

    assert len(judge.asked) == 60
    assert judge.most <= most
    assert judge.most == 1 or most > 1


def test_keys_tell_accounts_apart_and_are_not_told() -> None:
    judges = [OPENAI("m", api_key=f"sk-canary-{number}", base_url="http://127.0.0.1:1") for number in (1, 1, 2)]
    other = OPENAI("other", api_key="sk-canary-1", base_url="http://127.0.0.1:1")

    accounts = [judge.account for judge in (*judges, other)]

    assert accounts[0] == accounts[1] == accounts[3] != accounts[2]
    assert "canary" not in "".join(accounts)


@pytest.mark.slow
def test_the_time_spent_waiting_for_a_turn_is_not_the_cases(store: Store, judging: Judging) -> None:
    async def queue() -> float:
        judge = judging(lambda ask: asyncio.sleep(0.0 if ask.messages[-1].content == "last" else 0.3, "{}"))
        gateway = through(store, concurrency=1)
        before = [asyncio.create_task(put(gateway, judge, str(number))) for number in range(4)]
        await asyncio.sleep(0)
        deadline = Deadline(1.0)  # less than the four before take together
        reply = await gateway.asking(0).ask(question(judge, "last"), deadline)
        assert isinstance(reply, Reply)
        await asyncio.gather(*before)
        return deadline.at - time.monotonic()

    assert asyncio.run(queue()) > 0


def test_a_refused_account_stops_the_run_with_its_words(store: Store, judging: Judging) -> None:
    error = "unauthorized: HTTP 401: no such key"

    async def ask_on() -> tuple[Gateway, list[Any]]:
        judge = judging(lambda ask: asyncio.sleep(0, PermissionError(error)))
        gateway = through(store)
        several = [put(gateway, judge, str(number)) for number in range(30)]
        return gateway, await asyncio.gather(*several, return_exceptions=True)

    gateway, ended = asyncio.run(ask_on())

    assert gateway.stopped == f"judge: {error}"
    answered = [one for one in ended if isinstance(one, Unanswered)]
    assert len(answered) == 2
    assert all(isinstance(one, Abandoned) for one in ended if one not in answered)
    assert gateway.budget.calls == gateway.budget.faults == 5  # four that were under way, and the probe


def test_when_one_account_is_refused_the_others_are_not_asked_either(store: Store, judging: Judging) -> None:
    async def ask_on() -> Any:
        refused, good = judging(lambda ask: PermissionError("quota: x"), name="a"), judging(name="b")
        gateway = through(store)
        for number in range(3):
            await asyncio.gather(put(gateway, refused, str(number)), return_exceptions=True)
        return await asyncio.gather(put(gateway, good), return_exceptions=True), len(good.asked)

    (ended,), asked = asyncio.run(ask_on())

    assert isinstance(ended, Abandoned)
    assert asked == 0


def test_when_the_budget_is_used_up_nobody_waits_any_more(store: Store, judging: Judging) -> None:
    async def ask_on() -> list[Any]:
        judge = judging(lambda ask: asyncio.sleep(0.001, "{}"))
        gateway = through(store, concurrency=1, budget=Budget(Limits(max_calls=2)))
        several = [put(gateway, judge, str(number)) for number in range(20)]
        async with asyncio.timeout(60):
            return await asyncio.gather(*several, return_exceptions=True)

    ended = asyncio.run(ask_on())

    assert sum(isinstance(one, Reply) for one in ended) == 2
    assert sum(isinstance(one, Abandoned) for one in ended) == 18


def test_a_question_given_up_leaves_its_turn_to_others(store: Store, judging: Judging) -> None:
    async def cancel() -> Any:
        gate = asyncio.Event()
        judge = judging(lambda ask: wait(gate))
        gateway = through(store, concurrency=1)
        first, second = (asyncio.create_task(put(gateway, judge, name)) for name in ("a", "b"))
        await asyncio.sleep(0.01)
        first.cancel()
        gate.set()
        return await asyncio.wait_for(second, 60)

    assert isinstance(asyncio.run(cancel()), Reply)


# The filter before the cache


def test_a_key_that_was_noted_is_never_denied() -> None:
    noted = [key(messages=(Message("user", str(number)),)) for number in range(2000)]
    others = [key(messages=(Message("user", f"other {number}"),)) for number in range(2000)]

    remembered = BloomFilter(noted)

    assert all(one in remembered for one in noted)
    assert sum(one in remembered for one in others) <= 2
    assert not any(one in BloomFilter() for one in noted)


def test_what_an_unusable_reply_cost_is_known_by_its_kind(store: Store, judging: Judging, made: Any) -> None:
    replies = iter(["no verdict", '{"score": 0.5}'])
    prices = PriceBook({"judge": {"input": 1.0, "output": 1.0}})

    run = made.run(store, made.job(made.cases(1), judging(lambda ask: next(replies)), prices=prices))

    summary = summarize(store.results(run))
    (discarded,) = summary.discarded.values()
    assert (discarded.replies, discarded.input_tokens, discarded.output_tokens) == (1, 100, 10)
    assert discarded.known_cost == pytest.approx(110 / 1e6)
    assert summary.cost == pytest.approx(220 / 1e6)
    assert discarded.unpriced == 0


def test_without_a_price_the_cost_of_an_unusable_reply_is_unknown(store: Store, judging: Judging, made: Any) -> None:
    replies = iter(["no verdict", '{"score": 0.5}'])

    run = made.run(store, made.job(made.cases(1), judging(lambda ask: next(replies))))

    (discarded,) = summarize(store.results(run)).discarded.values()
    assert (discarded.known_cost, discarded.unpriced, discarded.uncounted) == (0.0, 1, 0)


# Limits per minute, and the end of a run


@pytest.mark.parametrize("end", [lambda gateway: gateway.stop("budget: max_calls: 3"), Gateway.drain])
def test_who_waits_for_a_limit_per_minute_is_told_that_the_run_ends(
    store: Store, end: Callable[[Gateway], None]
) -> None:
    gateway, rate = through(store), RateLimit(rpm=1e-6)

    async def waiting() -> None:
        await gateway.pass_rate(rate, 0)  # one may begin at once, and the next in years
        next_one = asyncio.create_task(gateway.pass_rate(rate, 0))
        await asyncio.sleep(0)
        end(gateway)
        await asyncio.wait_for(next_one, 30)

    with pytest.raises(LimitClosed) as told:
        asyncio.run(waiting())

    assert str(told.value) == gateway.ending


# Batches


class Batches:
    """Stands for the queue of batches: notes what is asked, and gives the same answer each time."""

    submits = True

    def __init__(self, answer: Reply | Unanswered) -> None:
        self.answer = answer
        self.items: list[str] = []

    def item_of(self, ask: Ask, sample: int, where: str) -> str:
        return f"{where}: {ask.messages[0].content}"

    def __contains__(self, item: str) -> bool:
        return item in self.items

    async def ask(self, ask: Ask, item: str, evaluation: str) -> Reply | Unanswered:
        self.items.append(item)
        return self.answer


def test_what_an_evaluation_asks_twice_is_two_questions_of_a_batch(store: Store, judging: Judging) -> None:
    gateway, judge = through(store, use_cache=False), judging(lambda ask: Reply.said("?"))
    gateway.batches = batches = Batches(Reply.said("42"))  # type: ignore[assignment]

    async def ask_twice() -> None:
        asking = gateway.asking(0, "case 7")
        for _ in range(2):
            assert await asking.ask(question(judge), Deadline(20)) == batches.answer

    asyncio.run(ask_twice())

    assert batches.items == ["case 7 0: ?", "case 7 1: ?"]


def test_what_a_batch_did_not_answer_is_passed_on(store: Store, judging: Judging) -> None:
    gateway, judge = through(store), judging(lambda ask: Reply.said("?"))
    gateway.batches = batches = Batches(Unanswered(error="expired: after a day", attempts=()))  # type: ignore[assignment]

    assert asyncio.run(gateway.asking(0, "case 7").ask(question(judge), Deadline(20))) == batches.answer
