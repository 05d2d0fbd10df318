"""The door to targets: what users may give, and what is refused before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, MissingKeyError, UnknownNameError
from evenhand.domain.evaluation import Usage
from evenhand.domain.reply import Reply
from evenhand.drive import background
from evenhand.drive.driver import drive
from evenhand.engine.target import target_of
from evenhand.engine.targets.command import CommandTarget
from evenhand.engine.targets.function import FunctionTarget
from evenhand.engine.targets.model import ModelTarget
from evenhand.models.replay import Scripted


def shout(text: str) -> str:
    return text.upper()


def test_without_a_target_there_is_none() -> None:
    assert target_of(None) is None


@pytest.mark.parametrize(
    ("given", "kind", "name"),
    [
        ("ollama/qwen2.5:7b", ModelTarget, "ollama/qwen2.5:7b"),
        ({"model": "ollama:qwen2.5:7b", "temperature": 0}, ModelTarget, "ollama/qwen2.5:7b"),
        ({"model": "ollama/qwen2.5:7b", "command": None}, ModelTarget, "ollama/qwen2.5:7b"),
        (Scripted([], name="model"), ModelTarget, "model"),
        ({"model": Scripted([], name="model"), "system": "Be brief."}, ModelTarget, "model"),
        ({"command": ["python", "app.py", "--loud as can be"]}, CommandTarget, "python app.py '--loud as can be'"),
        ({"python": "json:dumps"}, FunctionTarget, "json:dumps"),
        ({"python": shout}, FunctionTarget, f"{__name__}:shout"),
        (shout, FunctionTarget, f"{__name__}:shout"),
    ],
)
def test_a_target_is_made_from_what_users_write(given: Any, kind: type, name: str) -> None:
    target = target_of(given)

    assert target is not None
    assert isinstance(target, kind)
    assert target.name == name


def test_only_a_model_has_a_client_to_compare_with_the_judge() -> None:
    model, command, function = (
        target_of(given) for given in ("ollama/qwen2.5:7b", {"command": ["app"]}, {"python": shout})
    )

    case = Case(question="?")
    assert model is not None
    client = model.client_for(case)
    assert client is not None
    assert client.name == "ollama/qwen2.5:7b"
    assert command is not None
    assert command.client_for(case) is None
    assert function is not None
    assert function.client_for(case) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "target: it needs one of model, models, command, python"),
        ({"modle": "openai/gpt-5-mini"}, "it has modle; did you mean 'model'?"),
        ({"model": "ollama/x", "command": ["app"]}, "target: it has model and command; it must be one of them"),
        ({"model": 3}, "target: judge is an object of type int"),
        (
            {"model": {"model": "ollama/x"}},
            "target: model must be text, not dict; put settings next to it, under target",
        ),
        (
            {"model": Scripted([]), "temperature": 0},
            "target: model must be text, not Scripted; put settings next to it",
        ),
        ({"model": "ollama/x", "promt": "{{ input }}"}, "target: no key 'promt'; did you mean 'prompt'?"),
        (
            {"model": "ollama/x", "temprature": 0},
            "target: ollama/x: no setting 'temprature'; did you mean 'temperature'?",
        ),
        ({"model": "gpt-5-mini"}, "target: model 'gpt-5-mini' names no provider; write 'openai/gpt-5-mini'"),
        ({"model": "ollama/x", "prompt": 3}, "target: prompt must be text, not int"),
        ({"model": "ollama/x", "system": ["Be brief."]}, "target: system must be text, not list"),
        (
            {"model": "ollama/x", "prompt": "Answer {input}"},
            "the prompt must use {{ input }}, in double braces, or a key of the metadata; as it is, every case would send",
        ),
        (
            {"model": "ollama/x", "prompt": "Answer {{ input }} by {{ context[documents] }}"},
            "target: the prompt has {{ context[documents] }}; only {{ context }} is filled in",
        ),
        (
            {"model": "ollama/x", "system": "About {input!r}"},
            "target: the system has {input!r}; only {{ input }} is filled in",
        ),
        ({"model": "ollama/x", "prompt": "Hello"}, "the prompt must use {{ input }}, or a key of the metadata"),
        (
            {"command": "python app.py"},
            "target: command is 'python app.py'; write the program and its arguments as a list",
        ),
        ({"command": ["app"], "time_out": 3}, "target: no key 'time_out'; did you mean 'timeout'?"),
        ({"command": ["app"], "timeout": 0}, "target: timeout is 0"),
        ({"command": ["app"], "output": "yaml"}, "target: output is 'yaml'; it must be text or json"),
        ({"command": ["app"], "env": {"KEY": "${NOBODY_SET_THIS}"}}, "target: env: KEY refers to NOBODY_SET_THIS"),
        ({"python": "app"}, "target: python is 'app'; write 'package.module:function'"),
        ({"python": "app.py:answer()"}, "write 'package.module:function'"),
        ({"python": 3}, "target: python is 3; write 'package.module:function'"),
        (
            {"python": "json:dumps", "timeout": 3},
            "target: no key 'timeout'; a Python function takes only 'python', and 'version'",
        ),
        ({"python": "json:dmups"}, "target: json has no 'dmups'; did you mean 'dumps'?"),
        ({"python": "json:__name__"}, "target: json:__name__ is not a function, but of type str"),
        ({"python": "json:JSONEncoder"}, "target: json:JSONEncoder is not a function, but of type type"),
        (
            {"python": "no_such_module_here:answer"},
            "no_such_module_here cannot be imported: ModuleNotFoundError: No module",
        ),
        (Scripted, "target: it is the class Scripted"),
        (3, "target: judge is an object of type int"),
    ],
)
def test_a_target_that_cannot_be_right_is_refused_when_it_is_made(given: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        target_of(given)

    assert message in str(refusal.value)


def test_a_refusal_stays_of_its_kind() -> None:
    with pytest.raises(MissingKeyError, match=r"^target: openai/gpt-5-mini needs an API key: set OPENAI_API_KEY"):
        target_of("openai/gpt-5-mini")
    with pytest.raises(UnknownNameError, match=r"^target: no model provider 'opnai'; did you mean 'openai'"):
        target_of("opnai/gpt-5-mini")


@pytest.mark.parametrize("given", [{"command": ["app"]}, {"python": "marker:answer"}])
def test_a_suite_that_is_not_trusted_runs_and_imports_nothing(given: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "marker.py").write_text("open('trace', 'w')", encoding="utf-8")

    with pytest.raises(ConfigError, match=r"target: this suite is not trusted yet, and its .* would run code"):
        target_of(given, folder=str(tmp_path), trusted=False)

    assert [path.name for path in tmp_path.iterdir()] == ["marker.py"]


def test_a_suite_that_is_not_trusted_may_ask_a_model() -> None:
    assert target_of("ollama/qwen2.5:7b", trusted=False) is not None


def test_a_made_answer_goes_into_the_case_with_what_it_took() -> None:
    target = target_of(Scripted([Reply.said("Paris", latency=0.5, usage=Usage(input_tokens=9, output_tokens=1))]))
    case = Case(id="capital", question="Capital of France?")

    assert target is not None
    made = background.run(drive(target.steps(case)))
    answered = made.put_into(case)

    assert (answered.id, answered.candidate_answer, answered.latency) == ("capital", "Paris", 0.5)
    assert made.usage == Usage(input_tokens=9, output_tokens=1)
