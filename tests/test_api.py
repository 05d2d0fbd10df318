"""Runs from Python: what `evaluate` and `aevaluate` take, store and give."""

from __future__ import annotations

import asyncio
import inspect
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import evenhand
from evenhand import (
    Ask,
    Attempt,
    Case,
    ConfigError,
    Contains,
    Equals,
    MissingKeyError,
    PromptEvaluator,
    Reply,
    Run,
    RunStoppedError,
    Scripted,
    Unanswered,
    aevaluate,
    evaluate,
    jury,
)
from evenhand.engine.run import Progress
from evenhand.store.store import open_store

FRANCE = Case(id="france", question="Capital of France?", candidate_answer="Paris", expected_outcome="Names Paris")
ITALY = Case(id="italy", question="Capital of Italy?", candidate_answer="Milan", expected_outcome="Names Rome")
GOOD = '{"score": 0.9, "reasoning": "Right."}'


class Always:
    """A judge that gives the same reply however often it is asked, and counts."""

    def __init__(
        self, answer: Reply | Unanswered | str = GOOD, *, seconds: float = 0.0, when_asked: Callable[[], object] = bool
    ) -> None:
        self.name = "always"
        self.identity = "always"
        self.asked = 0
        self._answer = Reply.said(answer) if isinstance(answer, str) else answer
        self._seconds = seconds
        self._when_asked = when_asked

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:
        self.asked += 1
        self._when_asked()
        await asyncio.sleep(self._seconds)
        return self._answer


def refused() -> Always:
    error = "unauthorized: the key is refused"
    return Always(Unanswered(error=error, attempts=(Attempt(kind="transport", error=error),)))


def scores(run: Run) -> dict[str, float | None]:
    return {result.id: result.outcome.score for result in run}


# Cases and evaluators


def test_cases_are_judged_and_come_back_in_order_with_their_numbers() -> None:
    run = evaluate([FRANCE, ITALY], Contains(value="Paris"), store=None)

    assert scores(run) == {"france": 1.0, "italy": 0.0}
    assert (run.status, len(run)) == ("finished", 2)
    assert (run.summary.cases.mean, run.summary.cases.scored) == (0.5, 2)


def test_the_awaited_form_finds_the_same() -> None:
    async def main() -> Run:
        return await aevaluate([FRANCE, ITALY], [Contains(value="Paris")], store=None)

    assert scores(asyncio.run(main())) == {"france": 1.0, "italy": 0.0}


def test_both_forms_say_which_options_they_take() -> None:
    sync, awaited = inspect.signature(evaluate), inspect.signature(aevaluate)

    assert sync == awaited
    assert list(sync.parameters)[:4] == ["cases", "evaluators", "target", "judge"]
    assert inspect.iscoroutinefunction(aevaluate)


def test_a_case_may_be_a_mapping_with_the_keys_of_a_suite() -> None:
    given = {
        "input": [{"role": "user", "content": "Capital of France?"}],
        "output": "Paris",
        "expected_output": "Paris",
        "metadata": {"level": 1},
    }

    (result,) = evaluate(given, Equals(), store=None)

    assert result.outcome.score == 1.0
    assert result.case.question_text == "Capital of France?"
    assert result.case.metadata == {"level": 1}


def test_cases_without_an_id_are_named_by_their_content() -> None:
    cases: list[Any] = [{"output": "Paris"}, {"output": "Paris"}, Case(candidate_answer="Rome")]

    first, second = (list(scores(evaluate(cases, Contains(value="a"), store=None))) for _ in range(2))

    assert first == second
    assert first[1] == f"{first[0]}-2"
    assert len(set(first)) == 3


def test_a_generator_of_cases_is_read_once_and_where_it_was_made() -> None:
    threads = []

    def cases() -> Iterator[Case]:
        for number in range(3):
            threads.append(threading.get_ident())
            yield Case(id=str(number), candidate_answer="Paris")

    run = evaluate(cases(), Contains(value="Paris"), store=None)

    assert len(run) == 3
    assert threads == [threading.get_ident()] * 3


def test_a_definition_without_a_judge_gets_the_one_that_is_given() -> None:
    first, second = Scripted([GOOD]), Scripted(['{"score": 0.1}'])
    definitions: list[dict[str, Any]] = [
        {"type": "llm_judge", "name": "a"},
        {"type": "llm_judge", "name": "b", "judge": second},
    ]

    run = evaluate(FRANCE, definitions, judge=first, store=None)

    assert {name: tally.mean for name, tally in run.summary.evaluators.items()} == {"a": 0.9, "b": 0.1}
    assert (len(first.asked), len(second.asked)) == (1, 1)


def test_a_case_may_name_an_evaluator_that_is_an_object() -> None:
    case = {"id": "own", "output": "Paris", "evaluators": ["city"]}

    run = evaluate([case], [Contains(name="city", value="Paris"), Equals(value="Rome")], store=None)

    assert list(run.summary.evaluators) == ["city"]


def test_the_rubrics_of_a_case_are_checked_by_a_judge_even_where_no_evaluator_reads_them() -> None:
    case = Case(id="r", candidate_answer="Paris", rubrics=["Names Paris"])
    judge = Always('{"checks": [{"id": "rubric-1", "satisfied": true}], "overall_reasoning": ""}')

    run = evaluate([case], Contains(value="Paris"), judge=judge, store=None)

    assert list(run.summary.evaluators) == ["contains", "rubric"]


def test_a_jury_reads_the_rubrics_of_a_case_itself() -> None:
    case = Case(id="r", candidate_answer="Paris", rubrics=["Names Paris"])
    judge = Always('{"checks": [{"id": "rubric-1", "satisfied": true}], "overall_reasoning": ""}')

    run = evaluate([case], jury([judge, judge], name="jury"), store=None)

    assert list(run.summary.evaluators) == ["jury"]


def test_a_function_makes_the_answers_of_cases_that_have_none() -> None:
    def answer(question: str) -> str:
        return question.removeprefix("Say ")

    run = evaluate([Case(id="a", question="Say Paris"), FRANCE], Contains(value="Paris"), target=answer, store=None)

    assert scores(run) == {"a": 1.0, "france": 1.0}
    assert [result.answers[0].text for result in run if result.answers] == ["Paris"]


SUITE = """
judge: ollama/none
repeat: 2
evaluators: [{type: llm_judge, name: quality}]
gates: {min_mean: 0.95}
cases:
  - {id: france, input: "Capital of France?", output: Paris, criteria: Names Paris}
"""


def test_a_suite_file_brings_everything_and_what_is_given_beside_it_counts_instead(tmp_path: Path) -> None:
    path = tmp_path / "capitals.yaml"
    path.write_text(SUITE)
    judge = Always()

    by_judge = evaluate(path, judge=judge, store=None)
    by_evaluators = evaluate(str(path), Contains(value="Paris"), gates={"min_mean": 0.5}, repeat=1, store=None)

    assert (by_judge.name, by_judge.record.repeat, judge.asked) == ("capitals", 2, 2)
    assert (by_judge.summary.evaluators["quality"].mean, by_judge.passed) == (0.9, False)
    assert by_judge.record.source == str(path)
    assert (list(by_evaluators.summary.evaluators), by_evaluators.passed) == (["contains"], True)


def test_what_the_writer_of_a_suite_should_know_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "old.yaml"
    path.write_text("evaluators: [{type: code, command: [echo, '{\"score\": 1}']}]\ncases: [{id: a, output: x}]\n")

    run = evaluate(path, store=None)

    assert run.summary.cases.mean == 1.0
    assert "write 'code_judge'" in caplog.text


def test_thresholds_decide_on_the_verdict_of_a_case() -> None:
    judge = Always('{"score": 0.7}')

    (result,) = evaluate(FRANCE, PromptEvaluator(judge=judge), thresholds={"pass": 0.7}, store=None)

    assert result.outcome.verdict == "pass"


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no cases": ({"cases": []}, "evaluation: there are no cases; give at least one"),
    "a number for a case": ({"cases": [1]}, "case 1 must be a Case or a mapping, not 1"),
    "columns for cases": ({"cases": ["id", "input"]}, "pass the frame itself"),
    "a number for cases": ({"cases": 3}, "cases must be a list"),
    "a misspelt key": ({"cases": [{"inptu": "x"}]}, "case 1: no key 'inptu'; did you mean 'input'"),
    "a misspelt key of a named case": ({"cases": [{"id": "a", "inptu": "x"}]}, "case 'a': no key 'inptu'"),
    "the same id twice": ({"cases": [FRANCE, FRANCE]}, "two cases have the id 'france'"),
    "a class": ({"evaluators": Contains}, "create an instance: Contains"),
    "a text": ({"evaluators": "llm_judge"}, "'type': 'llm_judge'"),
    "no such type": ({"evaluators": {"type": "llm-jugde"}}, "did you mean 'llm_judge'"),
    "no evaluators": ({"evaluators": None}, "case 'france': nothing judges it"),
    "half an evaluator": ({"evaluators": Case.__new__(type("Half", (), {"steps": 1}))}, "derive it from BaseEvaluator"),
    "the same evaluator twice": (
        {"evaluators": [Equals(value="a"), Equals(value="a")]},
        "two evaluators have the name",
    ),
    "no such file": ({"cases": "nowhere.yaml"}, "nowhere.yaml"),
    "a time below zero": ({"timeout": -1}, "timeout is -1"),
    "no such gate": ({"gates": {"min_maen": 1}}, "did you mean 'min_mean'"),
    "no such threshold": ({"thresholds": {"passs": 1}}, "did you mean 'pass'"),
    "a store of another kind": ({"store": 3}, "store must be a path"),
    "no concurrency": ({"concurrency": 0}, "concurrency is 0"),
    "no repeat": ({"repeat": 0}, "repeat is 0"),
    "a name that is no text": ({"name": 3}, "name must be text"),
}


def test_an_argument_that_there_is_not_is_refused_in_the_name_of_the_function() -> None:
    with pytest.raises(TypeError, match=r"^evaluate\(\) got an unexpected keyword argument 'limit'$"):
        evaluate([FRANCE], Contains(value="x"), limit=3, store=None)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^aevaluate\(\) missing a required argument: 'cases'$"):
        asyncio.run(aevaluate(store=None))  # type: ignore[call-arg]


@pytest.mark.parametrize(("options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_before_anything_is_asked(options: dict[str, Any], message: str) -> None:
    judge = Always()
    usual = {"cases": [FRANCE], "evaluators": PromptEvaluator(judge=judge), "store": None}

    with pytest.raises(ConfigError) as raised:
        evaluate(**{**usual, **options})

    assert message in str(raised.value)
    assert judge.asked == 0


def test_a_missing_key_is_named_before_anything_is_asked() -> None:
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        evaluate(FRANCE, {"type": "llm_judge"}, judge="openai/gpt-5-mini", store=None)


# What fails


def test_a_judge_that_fails_on_a_case_raises_nothing() -> None:
    judge = Scripted([GOOD, ConnectionError("gone")])

    run = evaluate([FRANCE, ITALY], PromptEvaluator(judge=judge), concurrency=1, store=None)

    assert (run.summary.cases.scored, run.summary.cases.errors) == (1, 1)
    assert run.summary.cases.mean == 0.9
    assert not run.passed


def test_a_run_that_reaches_its_limit_raises_and_brings_what_was_done() -> None:
    with pytest.raises(RunStoppedError, match="max_calls: 1 call was allowed") as raised:
        evaluate([FRANCE, ITALY], PromptEvaluator(judge=Scripted([GOOD])), max_calls=1, store=None)

    assert raised.value.run.status == "stopped"
    assert (raised.value.run.summary.cases.scored, raised.value.run.summary.cases.pending) == (1, 1)


def test_a_refused_key_stops_the_run() -> None:
    judge = refused()
    cases = [Case(id=str(number), candidate_answer="x", expected_outcome="y") for number in range(50)]

    with pytest.raises(RunStoppedError, match="unauthorized: the key is refused"):
        evaluate(cases, PromptEvaluator(judge=judge), store=None)

    assert judge.asked < 10


def test_a_cancelled_run_lets_questions_under_way_end_and_is_stored_as_interrupted(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    cases = [Case(id=str(number), candidate_answer="x", expected_outcome="y") for number in range(50)]

    async def main() -> int:
        asked = asyncio.Event()
        judge = Always(seconds=0.1, when_asked=asked.set)
        running = asyncio.create_task(aevaluate(cases, PromptEvaluator(judge=judge), concurrency=1, store=store))
        await asked.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return judge.asked

    asked = asyncio.run(main())
    run = Run.open(store=store)

    assert run.status == "interrupted"
    assert run.summary.cases.scored == asked < 50


INTERRUPTED = """
import asyncio, signal, sys
from evenhand import Case, PromptEvaluator, Reply, evaluate

class Slow:
    name = "slow"
    async def ask(self, ask, *, deadline=None):
        print("asked", flush=True)
        await asyncio.sleep(0.2)
        return Reply.said('{"score": 0.9}')

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts in the background ignore it
cases = [Case(id=str(number), candidate_answer="x", expected_outcome="y") for number in range(1000)]
try:
    evaluate(cases, PromptEvaluator(judge=Slow()), concurrency=1, store=sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGINT to send")
def test_ctrl_c_stores_the_run_as_interrupted_and_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    command = [sys.executable, "-c", INTERRUPTED, str(store)]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    run = Run.open(store=store)

    assert said.splitlines()[-1] == "interrupted"
    assert (run.status, run.summary.cases.scored >= 1) == ("interrupted", True)


# Where it runs


def test_it_works_inside_a_running_loop() -> None:
    async def notebook() -> Run:
        return evaluate(FRANCE, PromptEvaluator(judge=Always()), store=None)

    assert scores(asyncio.run(notebook())) == {"france": 0.9}


def test_it_works_from_many_threads_into_one_database(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"

    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: evaluate([FRANCE, ITALY], Contains(value="Paris"), store=store), range(8)))

    assert len({run.id for run in runs}) == 8
    assert [scores(run) for run in runs] == [{"france": 1.0, "italy": 0.0}] * 8


def judged_by_a_child() -> None:
    assert scores(evaluate(FRANCE, PromptEvaluator(judge=Always()), store=None)) == {"france": 0.9}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_it_works_after_a_fork() -> None:
    judged_by_a_child()

    child = multiprocessing.get_context("fork").Process(target=judged_by_a_child)
    child.start()
    child.join(60)

    assert child.exitcode == 0


# The store


def test_runs_are_kept_in_the_working_directory_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    run = evaluate(FRANCE, Contains(value="Paris"))

    assert (tmp_path / ".evenhand" / "evenhand.db").exists()
    assert Run.open().id == run.id


def test_a_variable_says_where_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENHAND_DB", "elsewhere.db")

    run = evaluate(FRANCE, Contains(value="Paris"))

    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere.db"]
    assert Run.open(store="elsewhere.db").id == run.id


def test_nothing_is_written_without_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    run = evaluate(FRANCE, Contains(value="Paris"), store=None)

    assert list(tmp_path.iterdir()) == []
    assert scores(run) == {"france": 1.0}


def test_a_store_that_is_open_is_used_and_left_open() -> None:
    store = open_store("sqlite://")

    run = evaluate(FRANCE, Contains(value="Paris"), store=store)

    assert [record.id for record in store.runs.newest()] == [run.id]
    store.close()


def test_an_equal_question_is_asked_once_unless_the_cache_is_off(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    judge = Always()
    evaluator = PromptEvaluator(judge=judge)

    first = evaluate(FRANCE, evaluator, store=store)
    again = evaluate(FRANCE, evaluator, store=store)
    anew = evaluate(FRANCE, evaluator, store=store, cache=False)

    assert judge.asked == 2
    assert [run.summary.cached for run in (first, again, anew)] == [0, 1, 0]


def test_no_key_that_is_written_out_gets_into_the_store(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    secret = "sk-this-must-not-be-stored"
    judge = {"model": "vllm/none", "base_url": "http://127.0.0.1:9/v1", "api_key": secret}
    quick = {"name": "own", "type": "llm_judge", "judge": {**judge, "max_transport_attempts": 1}}

    run = evaluate(
        Case(id="a", candidate_answer=None),
        [quick, {"type": "llm_judge"}],
        judge=judge,
        target={**judge, "model": "vllm/target", "max_transport_attempts": 1},
        store=store,
    )

    assert run.record.definition["judge"]["model"] == "vllm/none"
    assert secret not in json.dumps(run.record.definition)
    assert all(secret.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_plain_definitions_are_stored_as_they_were_written() -> None:
    written = {"type": "contains", "value": "Paris"}

    run = evaluate(FRANCE, [written, Equals(value="Paris")], store=None)

    plain, described = run.record.definition["evaluators"]
    assert plain == written
    assert (described["name"], described["type"], described["python"]["value"]) == ("equals", "equals", "Paris")


# Progress


def test_somebody_can_watch_a_run() -> None:
    seen: list[Progress] = []

    evaluate([FRANCE, ITALY], Contains(value="Paris"), store=None, progress=seen.append)

    assert (seen[-1].done, seen[-1].total) == (2, 2)


def test_a_run_can_show_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate([FRANCE, ITALY], Contains(value="Paris"), store=None, progress=True)

    assert capsys.readouterr().err.endswith("2 of 2 evaluations \n")


def test_a_run_says_nothing_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate([FRANCE, ITALY], Contains(value="Paris"), store=None)

    assert capsys.readouterr() == ("", "")
    assert evenhand.evaluate is evaluate


@pytest.mark.slow
def test_a_provider_that_is_gone_for_a_while_is_waited_for_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Vanishing(Always):
        async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:
            reply = await super().ask(ask, deadline=deadline)
            if self.asked == 1 or "does not answer" in caplog.text:
                return reply
            failed = Attempt(kind="transport", error="connection: refused")
            return Unanswered(error="connection: refused", attempts=(failed,))

    run = evaluate([FRANCE, ITALY], PromptEvaluator(judge=Vanishing()), store=None, concurrency=1, outage_timeout=90)

    assert (run.summary.cases.scored, run.summary.cases.errors) == (2, 0)
    assert "always does not answer (connection: refused); pausing, and retrying for up to 1 min 30 s" in caplog.text
    assert "always is back after " in caplog.text


@pytest.mark.parametrize("wrong", [-1, float("inf"), float("nan"), "long", True])
def test_what_is_no_time_to_wait_for_a_provider_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="outage_timeout"):
        evaluate([FRANCE], Contains(value="Paris"), store=None, outage_timeout=wrong)


def test_a_target_that_replaces_the_one_of_a_suite_needs_no_key_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "target: openai/gpt-5-mini\nevaluators: [{type: contains, value: Paris}]\ncases: [{id: a, input: Capital?}]\n"
    )

    run = evaluate(suite, target=lambda case: "Paris", store=None)

    assert run.summary.cases.mean == 1.0
