"""The driver, together, and the background loop (SPEC-F8; REL-C1)."""

import asyncio
import functools
import gc
import os
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evenhand import Ask, Call, Case, ConfigError, EvenhandError, Message, PromptEvaluator, Reply, Scripted, Steps
from evenhand.domain.reply import Raised, Returned
from evenhand.drive import background, driver
from evenhand.drive.driver import drive, together

CASE = Case(candidate_answer="Paris", expected_outcome="Names Paris")


class Agreeable:
    name = "agreeable"

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
        await asyncio.sleep(0)
        return Reply.said('{"score": 1}')


EVALUATOR = PromptEvaluator(judge=Agreeable())


def asks(*words: str) -> Steps[list[str]]:
    """Ask for each word in turn and return the replies."""
    said = []
    for word in words:
        (reply,) = yield (Ask(messages=(Message("user", word),), judge=Echo()),)
        assert isinstance(reply, Reply)
        said.append(reply.text)
    return said


class Echo:
    name = "echo"

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
        return Reply.said(ask.messages[-1].content.upper())


def test_answers_come_back_in_the_order_of_the_questions() -> None:
    def several() -> Steps[list[str]]:
        answers = yield tuple(Ask(messages=(Message("user", word),), judge=Echo()) for word in "abc")
        return [answer.text for answer in answers if isinstance(answer, Reply)]

    assert asyncio.run(drive(several())) == ["A", "B", "C"]


def test_together_asks_for_all_members_at_once_and_keeps_their_order() -> None:
    steps = together([asks("a", "b", "c"), asks(), asks("d")])

    first = next(steps)
    assert [want.messages[0].content for want in first if isinstance(want, Ask)] == ["a", "d"]
    second = steps.send((Reply.said("A"), Reply.said("D")))
    assert [want.messages[0].content for want in second if isinstance(want, Ask)] == ["b"]
    steps.close()

    assert asyncio.run(drive(together([asks("a", "b", "c"), asks(), asks("d")]))) == (["A", "B", "C"], [], ["D"])


def test_together_of_nothing_is_nothing() -> None:
    assert asyncio.run(drive(together([]))) == ()


def test_an_exception_in_one_member_reaches_the_caller_and_closes_the_others() -> None:
    closed = []

    def patient() -> Steps[str]:
        try:
            yield (Ask(messages=(Message("user", "x"),), judge=Echo()),)
        finally:
            closed.append(True)
        return "done"

    def broken() -> Steps[str]:
        yield (Ask(messages=(Message("user", "x"),), judge=Echo()),)
        raise KeyError("broken")

    with pytest.raises(KeyError):
        asyncio.run(drive(together([patient(), broken()])))
    assert closed == [True]


def calling(function: Any, *args: Any) -> Steps[Any]:
    (answer,) = yield (Call(function=function, args=args),)
    return answer


def test_functions_are_called_sync_and_async_and_their_exceptions_are_answers() -> None:
    async def later(x: int) -> int:
        return x + 1

    def broken() -> None:
        raise ValueError("oops")

    assert asyncio.run(drive(calling(lambda x: x + 1, 1))) == Returned(value=2)
    assert asyncio.run(drive(calling(later, 1))) == Returned(value=2)
    assert asyncio.run(drive(calling(functools.partial(later), 1))) == Returned(value=2)
    raised, ended = asyncio.run(drive(calling(broken))), asyncio.run(drive(calling(next, iter(()))))
    assert isinstance(raised, Raised)
    assert str(raised.exception) == "oops"
    assert isinstance(ended, Raised)
    assert str(ended.exception) == "coroutine raised StopIteration"


def test_a_sync_function_does_not_block_the_loop() -> None:
    gate = threading.Event()

    async def both() -> tuple[Any, Any]:
        return await asyncio.gather(drive(calling(gate.wait, 60)), drive(calling(gate.set)))

    waited, _ = asyncio.run(both())
    assert waited == Returned(value=True)


def test_sync_works_a_hundred_times_over() -> None:
    assert {EVALUATOR.evaluate(CASE).score for _ in range(100)} == {1.0}


def test_sync_works_from_ten_threads_a_hundred_times_each() -> None:
    with ThreadPoolExecutor(10) as pool:
        scores = list(pool.map(lambda _: EVALUATOR.evaluate(CASE).score, range(1000)))

    assert scores == [1.0] * 1000


def test_sync_works_inside_a_running_loop() -> None:
    async def notebook() -> float | None:
        return EVALUATOR.evaluate(CASE).score

    assert asyncio.run(notebook()) == 1.0


def test_async_works_in_one_loop_after_another() -> None:
    for _ in range(100):
        assert asyncio.run(EVALUATOR.aevaluate(CASE)).score == 1.0


def test_a_sync_form_on_the_background_loop_itself_is_refused_rather_than_dead_locked() -> None:
    async def inside() -> None:
        EVALUATOR.evaluate(CASE)

    with warnings.catch_warnings(), pytest.raises(EvenhandError, match="await its async form instead"):
        background.run(inside())
    gc.collect()


def test_a_closed_background_loop_is_made_anew() -> None:
    EVALUATOR.evaluate(CASE)
    background.close()

    assert EVALUATOR.evaluate(CASE).score == 1.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_sync_works_in_a_forked_child_of_a_process_that_used_it() -> None:
    code = (
        "import asyncio, logging, os, sys, warnings\n"
        "warnings.simplefilter('error')\n"
        "logging.getLogger('asyncio').setLevel('ERROR')\n"  # it tells of callbacks that a busy machine holds up
        "from evenhand import Case, PromptEvaluator, Reply\n"
        "class Agreeable:\n"
        "    name = 'agreeable'\n"
        "    async def ask(self, ask, *, deadline=None):\n"
        "        return Reply.said('{\"score\": 1}')\n"
        "evaluator, case = PromptEvaluator(judge=Agreeable()), Case(candidate_answer='x', expected_outcome='y')\n"
        "assert evaluator.evaluate(case).score == 1\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    ok = all(evaluator.evaluate(case).score == 1 for _ in range(100))\n"
        "    sys.exit(0 if ok else 7)\n"
        "_, status = os.waitpid(child, 0)\n"
        "assert evaluator.evaluate(case).score == 1\n"
        "sys.exit(os.waitstatus_to_exitcode(status))\n"
    )

    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_timeout_reaches_the_judge_as_its_deadline() -> None:
    seen: list[float] = []

    class Watching:
        name = "watching"

        async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
            assert deadline is not None
            seen.append(deadline)
            return Reply.said('{"score": 1}')

    import time

    PromptEvaluator(judge=Watching()).evaluate(CASE, timeout=5)
    PromptEvaluator(judge=Watching()).evaluate(CASE)

    left = [deadline - time.monotonic() for deadline in seen]
    assert 0 < left[0] <= 5
    assert 500 < left[1] <= 600


def test_scripted_records_what_it_was_asked() -> None:
    judge = Scripted(['{"score": 1}'])

    PromptEvaluator(judge=judge).evaluate(CASE)

    assert len(judge.asked) == 1
    assert judge.asked[0].judge is judge
    assert repr(judge) == "Scripted(0 of 1 replies left)"


def test_a_client_that_raises_or_hangs_is_a_failed_request_and_no_exception() -> None:
    class Broken:
        name = "broken"

        async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
            raise KeyError("choices")

    class Hanging:
        name = "hanging"

        async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
            await asyncio.sleep(3600)
            raise AssertionError

    broken = PromptEvaluator(judge=Broken()).evaluate(CASE)
    hanging = PromptEvaluator(judge=Hanging()).evaluate(CASE, timeout=0.01)

    assert broken.error == "crashed: KeyError: 'choices'"
    assert hanging.error == "timeout: the judge did not answer within the time limit of the case"
    assert [attempt.kind for attempt in (*broken.attempts, *hanging.attempts)] == ["transport", "transport"]


def test_a_client_that_keeps_deadlines_ends_by_itself_and_may_still_crash() -> None:
    class Punctual:
        name = "punctual"
        keeps_deadlines = True

        async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
            await asyncio.sleep(0.05)
            if ask.sample:
                raise KeyError("choices")
            return Reply.said('{"score": 1}')

    patient = PromptEvaluator(judge=Punctual()).evaluate(CASE, timeout=0.001)
    crashed = PromptEvaluator(judge=Punctual(), samples=2).evaluate(CASE)

    assert patient.score == 1.0
    assert crashed.details["samples_lost"] == 1
    assert crashed.attempts[-1].error == "crashed: KeyError: 'choices'"


def test_a_function_that_hangs_is_left_behind_at_the_deadline() -> None:
    async def forever() -> None:
        await asyncio.sleep(3600)

    raised = asyncio.run(drive(calling(forever), timeout=0.01))

    assert isinstance(raised, Raised)
    assert isinstance(raised.exception, TimeoutError)


def leave(*_: Any) -> Any:
    sys.exit(3)


async def leave_later(*_: Any) -> Any:
    sys.exit(3)


@pytest.mark.parametrize("judge", [leave, leave_later])
def test_a_judge_that_would_end_the_program_is_a_failed_judge_and_the_loop_lives_on(judge: Any) -> None:
    evaluation = PromptEvaluator(judge=judge).evaluate(CASE, timeout=60)

    assert evaluation.status == "error"
    assert "SystemExit" in str(evaluation.error)
    assert EVALUATOR.evaluate(CASE, timeout=60).score == 1.0


def test_an_evaluator_that_would_end_the_program_ends_its_caller_and_the_loop_lives_on() -> None:
    def ends() -> Steps[None]:
        yield from ()
        sys.exit(3)

    with pytest.raises(SystemExit):
        background.run(drive(ends()))
    assert EVALUATOR.evaluate(CASE, timeout=60).score == 1.0


def test_a_function_that_never_returns_does_not_keep_the_program_from_ending() -> None:
    code = (
        "import time\n"
        "from evenhand import Case, PromptEvaluator\n"
        "judge = PromptEvaluator(judge=lambda messages: time.sleep(3600))\n"
        "print(judge.evaluate(Case(candidate_answer='x', expected_outcome='y'), timeout=0.05).error)\n"
    )

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert ended.stdout.startswith("timeout: ")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("answer", [None, "text", Reply(text=None, attempts=())])  # type: ignore[arg-type]
def test_a_client_that_gives_nonsense_is_a_failed_request(answer: Any) -> None:
    class Odd:
        name = "odd"

        async def ask(self, ask: Ask, *, deadline: float | None = None) -> Any:
            return answer

    assert "must return a Reply with text" in str(PromptEvaluator(judge=Odd()).evaluate(CASE).error)


def test_steps_that_yield_nonsense_are_told_so() -> None:
    def bare() -> Any:
        yield Call(function=print)

    def words() -> Any:
        yield ("abc",)

    nonsense: list[tuple[Any, str]] = [(bare(), "a tuple"), (words(), "got str"), (None, "must be a generator")]
    for steps, message in nonsense:
        with pytest.raises(TypeError, match=message):
            asyncio.run(drive(steps))


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "5", True])
def test_a_timeout_must_be_a_time(timeout: Any) -> None:
    with pytest.raises(ConfigError, match="it must be a number of seconds above 0"):
        EVALUATOR.evaluate(CASE, timeout=timeout)


def test_a_function_whose_thread_ends_before_it_begins_is_called_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it may under coverage: Python 3.11 does not always manage to trace a thread, and then ends it."""
    started: list[threading.Thread] = []

    class Fragile(threading.Thread):
        def run(self) -> None:
            started.append(self)
            if len(started) > 2:
                super().run()

    calls: list[int] = []
    monkeypatch.setattr(driver, "_TO_BEGIN_SECONDS", 0.01)
    monkeypatch.setattr(threading, "Thread", Fragile)

    asyncio.run(driver.call_function(calls.append, 7))

    assert (len(started), calls) == (3, [7])


def test_a_function_that_takes_its_time_is_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_TO_BEGIN_SECONDS", 0.001)
    calls: list[int] = []
    go_on = threading.Event()

    def slow() -> int:
        calls.append(1)
        go_on.wait(60)
        return 5

    async def work() -> Any:
        asyncio.get_running_loop().call_later(0.05, go_on.set)
        return await driver.call_function(slow)

    assert (asyncio.run(work()), calls) == (5, [1])
