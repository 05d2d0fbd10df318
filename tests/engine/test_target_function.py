"""A Python function as the target: how it is found, what it is given, and what it may return."""

from __future__ import annotations

import asyncio
import functools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.message import Message
from evenhand.domain.run import MadeAnswer
from evenhand.drive import background
from evenhand.drive.driver import drive
from evenhand.engine.target import target_of

CASE = Case(id="capital", question="Capital of France?", metadata={"n": 3})


def call(function: Any, *, case: Case = CASE, folder: Path | None = None, timeout: float | None = None) -> MadeAnswer:
    target = target_of(
        {"python": function} if isinstance(function, str) else function, folder=None if folder is None else str(folder)
    )
    assert target is not None
    return background.run(drive(target.steps(case), timeout=timeout))


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Callable[[str, str], Path]]:
    """Write modules into a folder; what was imported from there is forgotten with the test."""
    before = set(sys.modules)

    def written(name: str, source: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
        return tmp_path

    yield written
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


# How it is found


def test_a_function_is_imported_from_the_folder_of_the_suite(write: Callable[[str, str], Path]) -> None:
    write("helping_app.py", "ANSWER = 'Paris'")
    folder = write("answering_app.py", "from helping_app import ANSWER\ndef answer(text): return ANSWER + ' ' + text")
    path = list(sys.path)

    made = call("answering_app:answer", folder=folder)

    assert made.text == "Paris Capital of France?"
    assert sys.path == path


def test_a_function_may_lie_in_a_package_or_on_an_object(write: Callable[[str, str], Path]) -> None:
    write("shop_app/__init__.py", "")
    folder = write("shop_app/bot.py", "class Bot:\n    def answer(self, text): return text[:7]\nbot = Bot()")

    assert call("shop_app.bot:bot.answer", folder=folder).text == "Capital"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_thing", "broken_app cannot be imported: ModuleNotFoundError: No module named 'no_such_thing'"),
        ("def answer(:", "broken_app cannot be imported: SyntaxError: "),
        ("raise SystemExit('stop')", "broken_app cannot be imported: SystemExit: stop"),
        ("def reply(text): return text", "target: broken_app has no 'answer'; known: reply"),
        ("answer = 3", "target: broken_app:answer is not a function, but of type int"),
        (
            "def answer(): return ''",
            "broken_app:answer takes no argument; it is given the input, or the case as 'case'",
        ),
        ("def answer(**options): return ''", "broken_app:answer takes no argument"),
        ("def answer(text, key): return ''", "broken_app:answer needs text, key; it is given the input, or the case"),
    ],
)
def test_what_keeps_a_function_from_being_called_is_said_when_the_target_is_made(
    source: str, message: str, write: Callable[[str, str], Path]
) -> None:
    folder = write("broken_app.py", source)

    with pytest.raises(ConfigError) as refusal:
        target_of({"python": "broken_app:answer"}, folder=str(folder))

    assert message in str(refusal.value)
    assert str(folder) not in sys.path


def test_a_module_of_the_same_name_from_elsewhere_is_not_taken_for_the_suites_own(
    write: Callable[[str, str], Path],
) -> None:
    first = write("one/same_app.py", "def answer(text): return 'one'")
    write("two/same_app.py", "def answer(text): return 'two'")

    assert call("same_app:answer", folder=first / "one").text == "one"
    with pytest.raises(
        ConfigError, match=r"target: same_app should be .*two.*, but .*one.* was loaded under that name"
    ):
        target_of({"python": "same_app:answer"}, folder=str(first / "two"))


# What it is given


class Bot:
    def __call__(self, text: str) -> str:
        return f"bot: {text}"

    def answer(self, text: str) -> str:
        return f"method: {text}"


class AsyncBot:
    async def __call__(self, case: Case) -> str:
        return f"async: {case.id}"


async def wait_and_answer(text: str) -> str:
    await asyncio.sleep(0)
    return f"async: {text}"


def with_case(case: Case) -> str:
    return f"case: {case.id}"


def with_case_first(case: Any, /) -> str:
    return f"case: {case.id}"


def with_annotation(one: Case) -> str:
    return f"case: {one.id}"


def with_text_annotation(one: domain.Case) -> str:  # type: ignore[name-defined]  # noqa: F821 - never evaluated
    return f"case: {one.id}"


def with_both(case: Case, text: str) -> str:
    return f"{case.id}: {text}"


def with_both_by_name(*, text: str, case: Case | None = None) -> str:
    return f"{case.id if case else None}: {text}"


def with_an_option(text: str, temperature: float = 0.5) -> str:
    return f"{temperature}: {text}"


def with_a_default(text: str = "nothing") -> str:
    return text


def with_anything(*texts: str) -> str:
    return " ".join(texts)


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (str.upper, "CAPITAL OF FRANCE?"),
        (lambda text: text[::-1], "?ecnarF fo latipaC"),
        (functools.partial(with_an_option, temperature=1.0), "1.0: Capital of France?"),
        (Bot(), "bot: Capital of France?"),
        (Bot().answer, "method: Capital of France?"),
        (AsyncBot(), "async: capital"),
        (wait_and_answer, "async: Capital of France?"),
        (with_case, "case: capital"),
        (with_case_first, "case: capital"),
        (with_annotation, "case: capital"),
        (with_text_annotation, "case: capital"),
        (with_both, "capital: Capital of France?"),
        (with_both_by_name, "capital: Capital of France?"),
        (with_an_option, "0.5: Capital of France?"),
        (with_a_default, "Capital of France?"),
        (with_anything, "Capital of France?"),
    ],
)
def test_a_function_gets_the_input_or_the_case(function: Any, answer: str) -> None:
    made = call(function)

    assert (made.text, made.error) == (answer, None)


def test_messages_are_told_as_text() -> None:
    case = Case(input_messages=[("user", "Hi"), ("assistant", "Hello"), ("user", "Capital?")])

    assert call(lambda text: text, case=case).text == "user: Hi\n\nassistant: Hello\n\nuser: Capital?"


def test_a_case_without_input_reaches_only_functions_that_take_the_case() -> None:
    case = Case(id="capital")

    assert call(with_case, case=case).text == "case: capital"
    assert call(str.upper, case=case).error == "no_input: the case has no input to answer"


# What it may return


def test_a_mapping_tells_the_answer_and_what_it_took() -> None:
    made = call(lambda text: {"answer": "Paris", "cost": 0, "output_messages": [("assistant", "Paris")], "latency": 2})

    assert (made.text, made.cost, made.latency) == ("Paris", 0.0, 2.0)
    assert made.messages == (Message("assistant", "Paris"),)


def sleeping(text: str) -> str:
    time.sleep(0.01)
    return "Paris"


def test_the_time_is_measured_and_the_cost_is_unknown_unless_told() -> None:
    made = call(sleeping)

    assert made.latency is not None
    assert made.latency >= 0.01
    assert made.cost is None
    assert made.attempts[0].raw == "Paris"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "an answer is text, or an object with 'answer'; this is NoneType"),
        (42, "an answer is text, or an object with 'answer'; this is int"),
        ({}, "the object must have one of answer, candidate_answer, output; it has none of them"),
        ({"answer": object()}, "the answer is neither text nor JSON: Object of type object"),
        ({"answer": float("nan")}, "the answer is neither text nor JSON: Out of range float"),
    ],
)
def test_what_is_no_answer_is_an_error_that_names_the_function(value: Any, error: str) -> None:
    made = call(lambda text: value)

    assert made.text is None
    assert made.error is not None
    assert made.error.startswith("contract: ")
    assert "<lambda>" in made.error
    assert error in made.error


def raising(text: str) -> str:
    raise ValueError("no\nsuch city")


def stopping(text: str) -> str:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (raising, "function_error: ValueError: no such city"),
        (stopping, "function_error: RuntimeError: the function raised SystemExit (3)"),
    ],
)
def test_a_function_that_raises_is_an_error_of_the_case(function: Any, error: str) -> None:
    made = call(function)

    assert made.text is None
    assert str(made.error).startswith(f"{error} (at {function.__name__} in ")
    assert made.attempts[0].error == made.error


def test_a_key_of_the_environment_is_hidden_in_what_a_function_raises_or_returns_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("APP_API_KEY", "sk-very-secret-indeed")

    def refused(text: str) -> str:
        raise ValueError("bad key sk%2Dvery-secret-indeed")

    raised, returned = call(refused), call(lambda text: {"sk-very-secret-indeed": object()})

    assert str(raised.error).startswith("function_error: ValueError: bad key *** (at refused in ")
    assert returned.error is not None
    assert "secret" not in repr(raised) + repr(returned)


def test_a_function_that_takes_too_long_is_an_error() -> None:
    made = call(lambda text: time.sleep(5), timeout=0.05)

    assert made.error == "timeout: the function did not answer within the time limit of the case"


def test_a_function_is_described_by_its_name() -> None:
    target = target_of(with_case)

    assert target is not None
    assert target.description() == {"python": f"{__name__}:with_case"}
