"""Programs as judges: what they are given, what they may say, and that no failure of theirs looks like a score."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import re
import sys
import types
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.message import Message
from evenhand.domain.reply import Exited
from evenhand.domain.secret import Secret
from evenhand.domain.verdict import Verdict
from evenhand.evaluators.code import STDERR_KEPT, CodeJudgeEvaluator

CASE = Case(question="Capital of France?", candidate_answer="Paris")
ECHO = "import json, sys; print(json.dumps({'score': 1, 'details': json.load(sys.stdin)}))"


def judge(code: str, **options: Any) -> CodeJudgeEvaluator:
    return CodeJudgeEvaluator(command=[sys.executable, "-c", code], **options)


def saying(stdout: str, **options: Any) -> CodeJudgeEvaluator:
    return judge(f"import sys; sys.stdout.write({stdout!r})", **options)


def judged(exited: Exited, **options: Any) -> Evaluation:
    """Answer the evaluator's one question by hand, without a process."""
    steps = CodeJudgeEvaluator(command=["judge"], **options).steps(CASE)
    next(steps)
    with pytest.raises(StopIteration) as stop:
        steps.send((exited,))
    evaluation: Evaluation = stop.value.value
    return evaluation


def ended(stdout: str = "", *, code: int | None = 0, stderr: str = "", problem: str | None = None) -> Exited:
    return Exited(code=code, stdout=stdout, stderr=stderr, seconds=0.25, problem=problem)


# What the program is given

OF_AGENTV = {
    "criteria", "input", "output", "messages", "expected_output", "input_files", "guideline_files", "duration_ms",
    "cost_usd", "trace", "trace_summary", "token_usage", "start_time", "end_time", "file_changes", "workspace_path",
}  # fmt: skip


def by_own_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is there for programs of AgentV, which has tests of its own."""
    return {name: value for name, value in given.items() if name not in OF_AGENTV}


def test_a_program_gets_the_whole_case_and_its_config() -> None:
    case = Case(
        id="capital",
        question="Capital of France?",
        input_messages=(Message("system", "Be brief."), Message("user", "Capital of France?")),
        candidate_answer='Päris 🗼\n"quoted" $(id)',
        output_messages=(Message("assistant", "Paris"),),
        reference_answer="Paris",
        expected_messages=(Message("assistant", "Paris."),),
        expected_outcome="Names Paris",
        evaluation_schema={"type": "string"},
        rubrics=("Is kind",),
        metadata={"source": "quiz", "n": 3},
        context=["Atlas", {"id": "map", "text": "Paris"}],
        cluster="europe",
        latency=1.5,
        cost=0.01,
    )

    evaluation = judge(ECHO, config={"strict": True, "words": ["a", "ß"]}).evaluate(case)

    assert by_own_names(evaluation.details) == {
        "question": "Capital of France?",
        "expected_outcome": "Names Paris",
        "reference_answer": "Paris",
        "candidate_answer": 'Päris 🗼\n"quoted" $(id)',
        "input_messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Capital of France?"},
        ],
        "expected_messages": [{"role": "assistant", "content": "Paris."}],
        "output_messages": [{"role": "assistant", "content": "Paris"}],
        "rubrics": [
            {
                "id": "rubric-1",
                "description": "Is kind",
                "weight": 1.0,
                "required": True,
                "score_ranges": [],
                "required_min_score": None,
            }
        ],
        "evaluation_schema": {"type": "string"},
        "context": ["Atlas", {"id": "map", "text": "Paris"}],
        "metadata": {"source": "quiz", "n": 3},
        "case_id": "capital",
        "cluster": "europe",
        "latency": 1.5,
        "cost": 0.01,
        "config": {"strict": True, "words": ["a", "ß"]},
    }


def test_what_a_case_does_not_have_is_null_or_empty() -> None:
    evaluation = judge(ECHO).evaluate(Case(candidate_answer=""))

    given = by_own_names(evaluation.details)
    assert given.pop("candidate_answer") == ""
    assert {name for name, value in given.items() if value is None} == {
        *("question", "expected_outcome", "reference_answer", "evaluation_schema"),
        *("case_id", "cluster", "latency", "cost", "context"),
    }
    assert {name: value for name, value in given.items() if value is not None} == {
        "input_messages": [],
        "expected_messages": [],
        "output_messages": [],
        "rubrics": [],
        "metadata": {},
        "config": {},
    }


def test_a_case_of_messages_has_a_question_too() -> None:
    case = Case(input_messages=(Message("user", "Capital of France?"),), candidate_answer="Paris")

    evaluation = judge(ECHO).evaluate(case)

    assert evaluation.details["question"] == "Capital of France?"


def test_the_input_is_ascii_and_strict_json_whatever_the_case_holds() -> None:
    metadata: Any = {
        "nan": float("nan"),
        "day": dt.date(2024, 2, 29),
        "frozen": types.MappingProxyType({"a": 1}),
        7: "é",
    }
    steps = judge(ECHO).steps(Case(candidate_answer="a\ud800b", metadata=metadata))

    (want,) = next(steps)

    stdin = getattr(want, "stdin")  # noqa: B009 - an Exec among the things that can be wanted
    assert stdin.isascii()
    given = json.loads(stdin, parse_constant=pytest.fail)
    assert given["candidate_answer"] == "a?b"
    assert given["metadata"] == {"nan": None, "day": "2024-02-29", "frozen": {"a": 1}, "7": "é"}


@pytest.mark.parametrize("key", [("a", "b"), dt.date(2024, 2, 29)])
def test_a_case_that_cannot_be_written_as_json_is_an_error_of_that_case(key: Any) -> None:
    evaluation = judge(ECHO).evaluate(Case(candidate_answer="Paris", metadata={key: 1}))

    assert evaluation.status is Status.ERROR
    assert str(evaluation.error).startswith("unsendable: the case cannot be written as JSON: keys must be str")


def test_secrets_stay_out_of_the_environment_and_given_variables_get_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-1234")
    code = "import json, os; print(json.dumps({'score': 1, 'details': dict(os.environ)}))"
    evaluator = judge(code, env={"MODE": "strict"})

    evaluation = evaluator.evaluate(CASE)

    assert evaluation.details["MODE"] == "strict"
    assert "canary-1234" not in json.dumps(evaluation.as_dict())
    assert "strict" not in repr(evaluator)


@pytest.mark.parametrize(
    "spelt", ["key", "key.replace('-', '%2D')", "''.join(f'\\\\u{ord(c):04x}' for c in key)", "key[:20]"]
)
def test_a_secret_that_a_program_was_given_is_hidden_however_it_spells_it(spelt: str) -> None:
    code = (
        f"import os, sys; key = os.environ['TOKEN']; told = {spelt}; print(told, file=sys.stderr, end='')\n"
        'print(\'{"score": 1, "reasoning": "\' + told + \'…", "details": {"told": ["\' + told + \'..."]}}\')'
    )

    evaluation = judge(code, env={"TOKEN": Secret("canary-0123456789-abcdefgh")}).evaluate(CASE)

    assert (evaluation.score, evaluation.reasoning, evaluation.details["told"]) == (1.0, "***…", ["***..."])
    assert evaluation.details["stderr"] == "***"
    assert "canary" not in json.dumps(evaluation.as_dict())


def test_a_relative_program_is_relative_to_cwd(tmp_path: Path) -> None:
    program = tmp_path / "check"
    program.write_text("#!/bin/sh\ntest -f check && echo '{\"score\": 0.5}'\n")
    program.chmod(0o755)

    evaluation = CodeJudgeEvaluator(command=["./check"], cwd=tmp_path).evaluate(CASE)

    assert evaluation.score == 0.5


# What it may say


def test_everything_a_program_says_is_in_the_evaluation() -> None:
    said = {
        "score": 0.7,
        "hits": [f" hit {number} " for number in range(10)],
        "misses": ["a miss"],
        "reasoning": " Because. ",
        "details": {"table": [1, {"x": None}], "ok": True},
        "verdict": "pass",
        "other": "ignored",
    }

    evaluation = judge(f"print({json.dumps(said)!r})", name="checker", weight=2).evaluate(CASE)

    assert (evaluation.evaluator, evaluation.type, evaluation.status) == ("checker", "code_judge", Status.SCORED)
    assert (evaluation.score, evaluation.score_raw, evaluation.verdict) == (0.7, 0.7, Verdict.BORDERLINE)
    assert evaluation.hits == tuple(f"hit {number}" for number in range(10))
    assert evaluation.misses == ("a miss",)
    assert evaluation.reasoning == "Because."
    assert evaluation.details == {"table": [1, {"x": None}], "ok": True}
    assert (evaluation.error, evaluation.retry_count, evaluation.flags) == (None, 0, ())
    (attempt,) = evaluation.attempts
    assert (attempt.kind, attempt.error) == ("reply", None)
    assert json.loads(str(attempt.raw)) == said
    assert attempt.latency > 0


def test_the_score_alone_is_enough() -> None:
    evaluation = saying('\n {"score": 1}\n').evaluate(CASE)

    assert (evaluation.score, evaluation.verdict) == (1.0, Verdict.PASS)
    assert (evaluation.hits, evaluation.misses, evaluation.reasoning, evaluation.details) == ((), (), "", {})


@pytest.mark.parametrize(("score", "verdict"), [(0.95, "pass"), (0.9, "pass"), (0.7, "borderline"), (0.4, "fail")])
def test_the_verdict_is_by_the_thresholds(score: float, verdict: str) -> None:
    evaluation = judged(ended(f'{{"score": {score}}}'), thresholds={"pass": 0.9, "borderline": 0.5})

    assert evaluation.verdict == verdict


def test_null_in_an_optional_field_counts_as_absent() -> None:
    evaluation = judged(ended('{"score": 0, "hits": null, "misses": null, "reasoning": null, "details": null}'))

    assert (evaluation.status, evaluation.score, evaluation.details) == (Status.SCORED, 0.0, {})


def test_a_quoted_score_is_taken_and_flagged() -> None:
    evaluation = judged(ended('{"score": "0.8"}'))

    assert (evaluation.score, evaluation.flags) == (0.8, ("coerced",))


def test_logs_on_stderr_are_kept_beside_the_details() -> None:
    evaluation = judged(ended('{"score": 1, "details": {"a": 1}}', stderr="loading\ndone\n"))

    assert evaluation.details == {"a": 1, "stderr": "loading\ndone\n"}


def test_details_of_the_program_win_over_ours() -> None:
    evaluation = judged(ended('{"score": 1, "details": {"stderr": "mine"}}', stderr="a log"))

    assert evaluation.details == {"stderr": "mine"}


def test_an_evaluation_can_be_stored_whatever_escapes_the_program_wrote() -> None:
    evaluation = judged(ended('{"score": 1, "hits": ["\\ud800"], "details": {"\\udfff": ["\\ud800é"]}}'))

    assert evaluation.details == {"?": ["?é"]}
    assert evaluation.hits == ("?",)
    json.dumps(evaluation.as_dict(), ensure_ascii=False).encode()


def test_two_runs_differ_in_nothing_but_their_latency() -> None:
    evaluator = judge(ECHO)

    first, second = (evaluator.evaluate(CASE).as_dict() for _ in range(2))

    for evaluation in (first, second):
        del evaluation["attempts"][0]["latency"]
    assert first == second


# What is an error


@pytest.mark.parametrize(
    ("stdout", "error"),
    [
        ("", "empty: standard output must be one JSON object and nothing else (logs belong on standard error): "),
        ("  \n", "empty: "),
        ("0.8", "contract: the reply must be a JSON object"),
        ("[1]", "contract: the reply must be a JSON object"),
        ("null", "contract: the reply must be a JSON object"),
        ("{}", "contract: the reply lacks 'score'"),
        ('{"score": null}', "contract: score must be a number"),
        ('{"score": true}', "contract: score must be a number"),
        ('{"score": "high"}', "contract: score must be a number"),
        ('{"score": "NaN"}', "contract: score must be a number"),
        ('{"score": NaN}', "unparsable: "),
        ('{"score": Infinity}', "unparsable: "),
        ('{"score": 1e999}', "unparsable: "),
        ('{"score": 1.01}', "contract: score must be a number from 0 to 1, not 1.01"),
        ('{"score": -0.01}', "contract: score must be a number from 0 to 1, not -0.01"),
        ('{"score": "7"}', "contract: score must be a number from 0 to 1, not 7"),
        ('{"score": 1, "score": 0}', "unparsable: "),
        ('{"score": 1', "unparsable: "),
        ("{'score': 1}", "unparsable: "),
        ('loading\n{"score": 1}', "unparsable: standard output must be one JSON object and nothing else (logs belong"),
        ('{"score": 1}\n{"score": 0}', "unparsable: "),
        ('```json\n{"score": 1}\n```', "unparsable: "),
        ('{"score": 1, "hits": "one"}', "contract: hits must be a list of strings"),
        ('{"score": 1, "misses": {}}', "contract: misses must be a list of strings"),
        ('{"score": 1, "reasoning": ["x"]}', "contract: reasoning must be a string"),
        ('{"score": 1, "details": [1]}', "contract: details must be an object, not list"),
        ('{"score": 1, "details": ' + "[" * 5000 + "]" * 5000 + "}", "unparsable: "),
    ],
)
def test_output_that_is_no_judgment_is_an_error_and_is_kept(stdout: str, error: str) -> None:
    evaluation = judged(ended(stdout))

    assert (evaluation.status, evaluation.score, evaluation.verdict) == (Status.ERROR, 0.0, Verdict.FAIL)
    assert str(evaluation.error).startswith(error)
    (attempt,) = evaluation.attempts
    assert (attempt.kind, attempt.raw, attempt.error, attempt.latency) == ("reply", stdout, evaluation.error, 0.25)
    assert evaluation.retry_count == 0


@given(st.text() | st.builds(lambda score: json.dumps({"score": score}), st.floats() | st.integers() | st.text()))
def test_no_output_makes_a_score_outside_the_scale(stdout: str) -> None:
    evaluation = judged(ended(stdout))

    if evaluation.status is Status.SCORED:
        assert evaluation.score is not None
        assert 0 <= evaluation.score <= 1
        assert isinstance(json.loads(stdout), Mapping)
    else:
        assert evaluation.error


@pytest.mark.parametrize(
    ("code", "error"), [(1, "exit: the program ended with code 1"), (-9, "exit: the program was ended by signal 9")]
)
def test_a_program_that_fails_is_an_error_even_if_it_gave_a_score(code: int, error: str) -> None:
    stderr = "Traceback (most recent call last):\n  File \"check.py\", line 3, in grade\nKeyError: 'x'\n\n"

    evaluation = judged(ended('{"score": 1}', code=code, stderr=stderr))

    assert (evaluation.status, evaluation.score, evaluation.hits) == (Status.ERROR, 0.0, ())
    assert evaluation.error == f"{error}; stderr: KeyError: 'x' (File \"check.py\", line 3, in grade)"
    assert evaluation.details == {"stderr": stderr}
    assert evaluation.attempts[0].raw == '{"score": 1}'


@pytest.mark.parametrize(
    ("stderr", "shown"),
    [
        ("error: no such city\nretrying\ngiving up\n", "error: no such city"),
        ("loading 3 errors' worth of rules\nfatal: not a repository\nbye\n", "fatal: not a repository"),
        ("2026-01-01 [ERROR] no rules\nshutting down\n", "2026-01-01 [ERROR] no rules"),
        (
            "thread 'main' panicked at src/main.rs:2:5\nnote: run with RUST_BACKTRACE=1\n",
            "thread 'main' panicked at src/main.rs:2:5",
        ),
        ("loading\nno rules\n", "no rules"),
        (
            (
                "start\nTraceback (most recent call last):\n"
                '  File "check.py", line 9, in <module>\n    main()\n  File "check.py", line 3, in main\n    x["a"]\n'
                "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n"
                'Traceback (most recent call last):\n  File "check.py", line 11, in <module>\nRuntimeError: later\n'
            ),
            "KeyError: 'a' (File \"check.py\", line 3, in main)",
        ),
    ],
)
def test_of_what_a_failing_program_wrote_the_first_error_is_shown(stderr: str, shown: str) -> None:
    evaluation = judged(ended(code=1, stderr=stderr))

    assert evaluation.error == f"exit: the program ended with code 1; stderr: {shown}"


def test_of_a_long_stderr_the_first_error_is_kept() -> None:
    stderr = "line\n" * 1_000 + "error: no such city\n" + "line\n" * 1_000

    evaluation = judged(ended(code=1, stderr=stderr))

    assert evaluation.details["stderr"] == stderr[5_000:][:STDERR_KEPT]


def test_of_a_long_stderr_without_an_error_the_end_is_kept() -> None:
    stderr = "".join(f"line {number}\n" for number in range(10_000)) + "x" * 1_000

    evaluation = judged(ended(code=1, stderr=stderr))

    assert evaluation.details["stderr"] == stderr[-STDERR_KEPT:]
    assert len(str(evaluation.error)) < 400


def test_a_problem_with_running_is_an_error_with_its_class() -> None:
    evaluation = judged(ended("half a", code=None, stderr="slow", problem="timeout: the program was too slow"))

    assert evaluation.error == "timeout: the program was too slow; stderr: slow"
    (attempt,) = evaluation.attempts
    assert (attempt.kind, attempt.raw, attempt.error) == ("transport", "half a", evaluation.error)


@pytest.mark.parametrize(
    ("code", "seconds", "error"),
    [
        ("import time; time.sleep(1000)", 0.5, "timeout: the program was still running after 0.5 s"),
        (
            "print(len(bytearray(10 << 30)))",
            60,
            'exit: the program ended with code 1; stderr: MemoryError (File "<string>", line 1, in <module>)',
        ),
        ("while True: print('x' * 1000)", 60, "output_too_large: the program wrote more than 10 MiB to stdout"),
        (
            "raise ValueError('no')",
            60,
            'exit: the program ended with code 1; stderr: ValueError: no (File "<string>", line 1, in <module>)',
        ),
        ("import os; os.abort()", 60, "exit: the program was ended by signal 6"),
    ],
    ids=["sleeps", "wants 10 GB", "talks on", "raises", "aborts"],
)
def test_misbehaviour_is_contained_and_recorded(code: str, seconds: float, error: str) -> None:
    evaluation = judge(code, timeout=seconds, memory_mb=256).evaluate(CASE)

    assert (evaluation.status, evaluation.score, evaluation.verdict) == (Status.ERROR, 0.0, Verdict.FAIL)
    assert evaluation.error == error
    assert len(evaluation.attempts) == 1


def test_a_missing_program_is_an_error() -> None:
    evaluation = CodeJudgeEvaluator(command=["no-such-program"]).evaluate(CASE)

    assert evaluation.error == "not_found: there is no program 'no-such-program' on the PATH"
    assert (evaluation.attempts[0].kind, evaluation.attempts[0].raw) == ("transport", None)


@pytest.mark.slow
def test_the_time_of_the_whole_case_bounds_the_program() -> None:
    evaluation = judge("import time; time.sleep(1000)").evaluate(CASE, timeout=0.5)

    # What was left of it when the program began: on a busy machine less than the whole.
    assert re.fullmatch(r"timeout: the program was still running after 0\.[0-5] s", str(evaluation.error))


def test_a_system_without_memory_limits_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    limited = judged(ended('{"score": 1, "details": {"a": 1}}'))
    failed = judged(ended("", code=1))
    unlimited = judged(ended('{"score": 1}'), memory_mb=None)

    note = "none: darwin has no memory limit that a program can be given"
    assert limited.details == {"memory_limit": note, "a": 1}
    assert failed.details == {"memory_limit": note}
    assert unlimited.details == {}


# What is not evaluated


def test_without_an_answer_nothing_runs(tmp_path: Path) -> None:
    evaluator = CodeJudgeEvaluator(command=["touch", "trace"], cwd=str(tmp_path))

    evaluation = evaluator.evaluate(Case(question="Capital of France?"))

    assert (evaluation.status, evaluation.score, evaluation.verdict) == (Status.NOT_EVALUATED, None, None)
    assert evaluation.reasoning == "There is no candidate answer."
    assert list(tmp_path.iterdir()) == []


# What is refused when it is written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"command": "python check.py"},
            "code_judge: command is 'python check.py'; write the program and its arguments as a list of texts, such as [",
        ),
        ({"command": []}, "command is []"),
        ({"command": [" "]}, "command is [' ']"),
        ({"command": ["python", 3]}, "command is ['python', 3]"),
        ({"command": ["python", "a\0b"]}, "command is ['python', 'a\\x00b']"),
        ({"command": None}, "command is None"),
        ({"command": b"python"}, "command is b'python'"),
        ({"config": ["a"]}, "config must be a mapping, not list"),
        ({"config": {"a": float("nan")}}, "config cannot be written as JSON: Out of range float"),
        ({"config": {"a": object()}}, "config cannot be written as JSON: Object of type object"),
        ({"env": "A=1"}, "env must be a mapping of names to texts, not str"),
        ({"env": {"A": 1}}, "env: A is of type int; it must be text, in quotes and without NUL"),
        ({"env": {"A": "a\0b"}}, "env: A is of type str; it must be text, in quotes and without NUL"),
        ({"env": {"": "a"}}, "env has '', which is not a variable name"),
        ({"env": {"A=B": "a"}}, "env has 'A=B', which is not a variable name"),
        ({"env": {1: "a"}}, "env has 1, which is not a variable name"),
        ({"timeout": 0}, "timeout is 0; it must be a number of seconds above 0"),
        ({"timeout": True}, "timeout is True"),
        ({"timeout": float("inf")}, "timeout is inf"),
        ({"timeout": "60"}, "timeout is '60'"),
        ({"memory_mb": 0}, "memory_mb is 0; it must be above 0, or null for no limit"),
        ({"memory_mb": "1g"}, "memory_mb is '1g'"),
        ({"cwd": 3}, "cwd is 3; it must be the path of a folder"),
        ({"thresholds": {"pass": 2}}, "thresholds: "),
    ],
)
def test_options_that_cannot_be_right_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        CodeJudgeEvaluator(**{"command": ["judge"]} | options)

    assert message in str(refusal.value)


def test_empty_options_in_a_file_are_no_options() -> None:
    evaluation = judge(ECHO, config=None, env=None).evaluate(CASE)

    assert evaluation.details["config"] == {}


# From everywhere


@pytest.mark.slow
@pytest.mark.starts(13, "starts programs from many threads")
def test_a_program_judges_from_threads_and_inside_a_running_loop() -> None:
    evaluator = judge(ECHO)
    cases = [Case(id=str(number), candidate_answer="x") for number in range(10)]

    async def inside() -> list[Evaluation]:
        return [evaluator.evaluate(case) for case in cases[:2]] + [await evaluator.aevaluate(cases[2])]

    with ThreadPoolExecutor(10) as threads:
        from_threads = list(threads.map(evaluator.evaluate, cases))
    from_loop = asyncio.run(inside())

    assert [one.details["case_id"] for one in from_threads] == [str(number) for number in range(10)]
    assert [one.details["case_id"] for one in from_loop] == ["0", "1", "2"]


@pytest.mark.slow
@pytest.mark.starts(20, "twenty at once are the point")
def test_twenty_cases_are_judged_at_once() -> None:
    evaluator = judge(ECHO)

    async def all_of_them() -> list[Evaluation]:
        cases = [Case(id=str(number), candidate_answer="x") for number in range(20)]
        return await asyncio.gather(*(evaluator.aevaluate(case) for case in cases))

    evaluations = asyncio.run(all_of_them())

    assert [one.details["case_id"] for one in evaluations] == [str(number) for number in range(20)]
