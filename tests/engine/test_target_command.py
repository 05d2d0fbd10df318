"""A command as the target: what it is told, what it may say, and that no failure of its looks like an answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.message import Message
from evenhand.domain.run import MadeAnswer
from evenhand.drive import background
from evenhand.drive.driver import drive
from evenhand.engine.target import target_of

CASE = Case(id="capital", question="Capital of France?", reference_answer="Paris", metadata={"n": 3})


def run(code: str, *, case: Case = CASE, folder: str | None = None, **options: Any) -> MadeAnswer:
    """Let a program in Python answer a case."""
    target = target_of({"command": [sys.executable, "-c", code], **options}, folder=folder)
    assert target is not None
    return background.run(drive(target.steps(case)))


def says(stdout: str, **options: Any) -> MadeAnswer:
    return run(f"import sys; sys.stdout.buffer.write({stdout.encode()!r})", **options)


# What it is told


def test_a_program_finds_the_case_as_json_on_its_standard_input() -> None:
    made = run("import sys; sys.stdout.write(sys.stdin.read())", config={"top": 3})

    assert made.text is not None
    told = json.loads(made.text)
    assert (told["question"], told["case_id"], told["metadata"]) == ("Capital of France?", "capital", {"n": 3})
    assert (told["candidate_answer"], told["config"]) == (None, {"top": 3})


def test_a_program_runs_in_the_folder_of_the_suite_or_in_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    code = "import os; print(os.getcwd(), end='')"

    here, beside = run(code, folder=str(tmp_path)), run(code, folder=str(tmp_path), cwd="app")

    assert here.text == str(tmp_path.resolve())
    assert beside.text == str((tmp_path / "app").resolve())


def test_a_program_sees_the_variables_it_is_given_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_TOPIC", "capitals")
    monkeypatch.setenv("OTHER", "hidden")

    made = run("import os; print(os.environ.get('TOPIC'), os.environ.get('OTHER'))", env={"TOPIC": "${APP_TOPIC}!"})

    assert made.text == "capitals! None"


# What it may say


@pytest.mark.parametrize(
    ("stdout", "answer"),
    [
        ("Paris", "Paris"),
        ("Paris\n", "Paris"),
        ("Paris\r\n", "Paris"),
        ("Paris\n\n", "Paris\n"),
        ("  Päris 🗼 \n of course", "  Päris 🗼 \n of course"),
        ("", ""),
        ("\n", ""),
        ('{"answer": "Paris"}', '{"answer": "Paris"}'),
    ],
)
def test_standard_output_is_the_answer_word_for_word_without_the_last_line_end(stdout: str, answer: str) -> None:
    made = says(stdout)

    assert (made.text, made.error) == (answer, None)
    assert made.attempts[0].raw == stdout


@pytest.mark.parametrize("name", ["answer", "candidate_answer", "output"])
def test_with_json_it_tells_the_answer_and_what_it_took(name: str) -> None:
    said = {
        name: "Paris",
        "output_messages": [{"role": "assistant", "content": "Paris", "tool_calls": []}],
        "latency": 1.5,
        "cost": 0.01,
        "of_no_interest": True,
    }

    made = says(json.dumps(said), output="json")

    assert (made.text, made.latency, made.cost, made.error) == ("Paris", 1.5, 0.01, None)
    assert made.messages == (Message("assistant", "Paris", (("tool_calls", []),)),)


def test_what_it_does_not_tell_of_the_time_is_measured_and_of_the_cost_is_unknown() -> None:
    made = says('{"answer": ""}', output="json")

    assert made.text == ""
    assert made.latency is not None
    assert made.latency > 0
    assert made.cost is None


@pytest.mark.parametrize(
    ("answer", "text"), [('{"city": "Päris"}', '{"city": "Päris"}'), ("[1]", "[1]"), ("42", "42"), ("false", "false")]
)
def test_an_answer_that_is_no_text_is_taken_as_json(answer: str, text: str) -> None:
    assert says(f'{{"answer": {answer}}}', output="json").text == text


# When it fails


@pytest.mark.parametrize(
    ("stdout", "error"),
    [
        ("Paris", "unparsable: "),
        ("", "empty: there is no text"),
        ("[]", "contract: an answer is text, or an object with 'answer'; this is list"),
        ("null", "contract: an answer is text, or an object with 'answer'; this is NoneType"),
        ("{}", "contract: the object must have one of answer, candidate_answer, output; it has none of them"),
        ('{"answer": null}', "contract: the object must have one of"),
        ('{"answer": "a", "output": "b"}', "contract: the object must have one of answer, candidate_answer, output; it has answer and output"),
        ('{"answer": "a", "latency": -1}', "contract: latency is -1; it must be a number, 0 or more"),
        ('{"answer": "a", "cost": "1"}', "contract: cost is '1'; it must be a number, 0 or more"),
        ('{"answer": "a", "cost": true}', "contract: cost is True"),
        ('{"answer": "a", "output_messages": "hi"}', "contract: output_messages must be a list of messages, not str"),
        ('{"answer": [{"type": "image", "url": "x"}]}', "contract: the answer: block 1: image is a picture, and only text can be judged"),
        ('{"answer": "a", "output_messages": [{"role": "user", "content": [{"type": "image"}]}]}', "contract: output_messages: message 1, block 1: image is a picture"),
        ('{"answer": "a", "output_messages": [3]}', "contract: output_messages: a message needs a role and content"),
    ],
)  # fmt: skip
def test_json_that_tells_no_answer_is_an_error_and_stays_on_record(stdout: str, error: str) -> None:
    made = says(stdout, output="json")

    assert made.text is None
    assert made.error is not None
    assert made.error.startswith(error)
    assert [(attempt.raw, attempt.error) for attempt in made.attempts] == [(stdout, made.error)]


def test_a_program_that_fails_is_an_error_with_its_last_words_whatever_it_wrote() -> None:
    made = run("import sys; print('Paris'); sys.exit('no such city')")

    assert made.text is None
    assert made.error == "exit: the program ended with code 1; stderr: no such city"
    assert made.attempts[0].raw == "Paris\n"


def test_a_program_that_takes_too_long_is_an_error() -> None:
    made = run("import time; time.sleep(60)", timeout=0.2)

    assert (made.text, made.attempts[0].kind) == (None, "transport")
    assert made.error == "timeout: the program was still running after 0.2 s"


def test_a_program_that_is_not_there_is_an_error_of_the_case() -> None:
    target = target_of({"command": ["no-such-program-anywhere"]})

    assert target is not None
    made = background.run(drive(target.steps(CASE)))

    assert made.error is not None
    assert made.error.startswith("not_found: ")


# Secrets


def test_a_key_that_the_program_is_given_is_hidden_in_whatever_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_KEY", "sk-very-secret-indeed")
    code = "import os, sys; print(os.environ['KEY']); sys.exit('bad key ' + os.environ['KEY'])"

    from_a_variable = run(code, env={"KEY": "${APP_KEY}"})
    as_it_is = run(code, env={"KEY": "sk-very-secret-indeed"})

    for made in (from_a_variable, as_it_is):
        assert made.error == "exit: the program ended with code 1; stderr: bad key ***"
        assert made.attempts[0].raw == "***\n"


def test_what_decides_on_the_answers_is_described_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_KEY", "sk-very-secret-indeed")
    env = {"KEY": "${APP_KEY}", "OTHER_TOKEN": "sk-literally-secret", "MODE": "fast"}

    target = target_of({"command": ["app", "-v"], "env": env, "cwd": "sub", "timeout": 3}, folder="somewhere")

    assert target is not None
    assert target.description() == {
        "command": ["app", "-v"],
        "config": {},
        "cwd": "sub",
        "env": {"KEY": "${APP_KEY}", "OTHER_TOKEN": "***", "MODE": "fast"},
        "output": "text",
    }
    assert "secret" not in repr(target)
