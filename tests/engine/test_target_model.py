"""A model as the target: what it is asked, and which of its replies are answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Usage
from evenhand.domain.message import Message
from evenhand.domain.reply import Finish, Reply
from evenhand.domain.run import MadeAnswer
from evenhand.drive import background
from evenhand.drive.driver import drive
from evenhand.engine.target import target_of
from evenhand.engine.targets.model import ModelTarget
from evenhand.models.prices import PriceBook
from evenhand.models.replay import Scripted

CASE = Case(question="Capital of France?", metadata={"country": "France", "facts": {"größe": 3}})


def asked(case: Case = CASE, **options: Any) -> list[tuple[str, str]]:
    """Return what a model is asked about a case."""
    model = Scripted(["Paris"])
    made = background.run(drive(ModelTarget(client=model, **options).steps(case)))
    assert made.error is None
    return [(message.role, message.content) for message in model.asked[0].messages]


def answer(reply: Reply | str | Exception, **options: Any) -> MadeAnswer:
    return background.run(drive(ModelTarget(client=Scripted([reply]), **options).steps(CASE)))


# What it is asked


def test_the_input_is_the_question() -> None:
    assert asked() == [("user", "Capital of France?")]


def test_input_messages_are_the_conversation() -> None:
    case = Case(input_messages=[("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello"), ("user", "Capital?")])

    assert asked(case) == [
        ("system", "Be brief."),
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "Capital?"),
    ]


def test_a_prompt_may_use_the_context_and_metadata_by_its_full_name() -> None:
    case = Case(context=["a", {"id": "b", "text": "{{ input }}"}], metadata={"city": "Graz", "context": "old"})
    prompt = "{{ context }} {{ metadata.city }} {{ metadata.context }}"

    assert asked(case, prompt=prompt) == [("user", '[1]\na\n\n[2] "b"\n{{ input }} Graz old')]
    assert asked(Case(metadata={"context": "old"}), prompt="{{ context }}") == [("user", "old")]


def test_a_system_text_comes_first() -> None:
    assert asked(system="Be brief.") == [("system", "Be brief."), ("user", "Capital of France?")]


def test_a_prompt_takes_in_the_input_and_the_metadata_by_name() -> None:
    messages = asked(
        prompt="{{country}}: {{ input }} {{ question }} {{ facts }} {json} {{ not a place }}",
        system="You know {{ country }}.",
    )

    assert messages == [
        ("system", "You know France."),
        ("user", 'France: Capital of France? Capital of France? {"größe": 3} {json} {{ not a place }}'),
    ]


def test_what_is_filled_in_is_never_filled_in_again() -> None:
    case = Case(question="{{ secret }} {{ input }}", metadata={"secret": "42", "input": "the metadata's"})

    assert asked(case, prompt="Q: {{ input }}") == [("user", "Q: {{ secret }} {{ input }}")]


def test_messages_in_a_prompt_are_told_as_text() -> None:
    case = Case(input_messages=[("system", "Be brief."), ("user", "Capital?")])

    assert asked(case, prompt="Q: {{ input }}") == [("user", "Q: system: Be brief.\n\nuser: Capital?")]


def test_the_model_does_not_see_what_its_answer_is_held_against() -> None:
    case = Case(question="Capital?", reference_answer="Paris", expected_outcome="Names Paris")
    target = ModelTarget(client=Scripted([]), prompt="{{ input }} {{ reference_answer }}")

    made = background.run(drive(target.steps(case)))

    assert made.error == "template: the prompt uses 'reference_answer', which has no value here; known: input, question"


def test_a_misspelt_place_is_an_error_of_the_case_and_nothing_is_asked() -> None:
    model = Scripted([])

    made = background.run(drive(ModelTarget(client=model, prompt="{{ input }} {{ contry }}").steps(CASE)))

    assert made.error == "template: the prompt uses 'contry', which has no value here; did you mean 'country'?"
    assert (made.text, made.attempts, model.asked) == (None, (), [])


@pytest.mark.parametrize("prompt", [None, "Q: {{ input }}"])
def test_a_case_without_input_is_not_asked(prompt: str | None) -> None:
    model = Scripted([])

    made = background.run(drive(ModelTarget(client=model, prompt=prompt).steps(Case(reference_answer="Paris"))))

    assert (made.text, made.error) == (None, "no_input: the case has no input to answer")
    assert model.asked == []


def test_a_prompt_of_metadata_alone_needs_no_input() -> None:
    case = Case(metadata={"topic": "rain"})

    assert asked(case, prompt="Write a poem about {{ topic }}.") == [("user", "Write a poem about rain.")]


def test_no_contract_and_no_sample_of_its_own_goes_with_the_question() -> None:
    model = Scripted(["Paris"])

    background.run(drive(ModelTarget(client=model).steps(CASE)))

    assert (model.asked[0].contract, model.asked[0].sample, model.asked[0].max_tokens) == (None, 0, None)


# Which replies are answers


@pytest.mark.parametrize("text", ["Paris", "", "  \n", "I cannot help with that."])
def test_whatever_a_model_says_is_its_answer_word_for_word(text: str) -> None:
    made = answer(text)

    assert (made.text, made.error) == (text, None)
    assert [attempt.raw for attempt in made.attempts] == [text]


def test_words_of_refusal_are_an_answer() -> None:
    made = answer(Reply.said("I won't.", finish="refusal"))

    assert (made.text, made.error) == ("I won't.", None)


@pytest.mark.parametrize(
    ("text", "finish", "limited", "error"),
    [
        (
            "Par",
            "length",
            False,
            "truncated: the answer was cut off at its token limit; set max_tokens, or a higher one",
        ),
        ("", "length", True, "truncated: the answer was cut off"),
        ("", "refusal", False, "refusal: the model refused, with an empty reply"),
        ("Pa", "filtered", False, "filtered: the provider's content filter cut the answer off"),
        ("", "filtered", True, "filtered: "),
    ],
)
def test_a_reply_that_did_not_come_to_its_end_is_an_error_and_stays_on_record(
    text: str, finish: Finish, limited: bool, error: str
) -> None:
    made = answer(Reply.said(text, finish=finish, usage=Usage(output_tokens=3)), limited=limited)

    assert made.text is None
    assert made.error is not None
    assert made.error.startswith(error)
    assert [(attempt.raw, attempt.error) for attempt in made.attempts] == [(text, made.error)]
    assert made.usage == Usage(output_tokens=3)


def test_an_answer_that_ends_at_the_limit_its_user_set_is_the_answer() -> None:
    made = answer(Reply.said("Paris is the", finish="length"), limited=True)

    assert (made.text, made.error) == ("Paris is the", None)


def test_a_model_that_cannot_be_reached_is_an_error() -> None:
    made = answer(ConnectionError("gone"))

    assert (made.text, made.error) == (None, "scripted: ConnectionError: gone")
    assert [attempt.kind for attempt in made.attempts] == ["transport"]


def test_the_latency_is_that_of_the_request_that_brought_the_answer() -> None:
    failed = Attempt(kind="transport", error="timeout: late", latency=30.0)

    made = answer(Reply.said("Paris", latency=0.5, before=(failed,)))

    assert made.latency == 0.5
    assert len(made.attempts) == 2


def test_an_answer_from_the_cache_has_no_latency() -> None:
    made = answer(Reply(text="Paris", attempts=(Attempt(kind="reply", raw="Paris", cached=True),)))

    assert (made.text, made.latency) == ("Paris", None)


# Who it is


def test_what_decides_on_the_answers_is_described_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret-indeed")
    given = {"model": "openai/gpt-5-mini", "api_key": "${MY_KEY}", "prompt": "Q: {{ input }}", "system": "Be brief."}

    described: list[Any] = [
        target.description()
        for options in ({}, {"temperature": 0}, {"prompt": "{{ input }}"}, {"timeout": 3})
        if (target := target_of(given | options)) is not None
    ]

    assert "secret" not in json.dumps(described)
    assert (described[0]["prompt"], described[0]["system"]) == ("Q: {{ input }}", "Be brief.")
    assert described[1] != described[0] != described[2]
    assert described[3] == described[0]


# Over HTTP


class Provider(BaseHTTPRequestHandler):
    bodies: list[dict[str, Any]]

    def do_POST(self) -> None:
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        choice = {"message": {"role": "assistant", "content": "Paris"}, "finish_reason": "length"}
        usage = {"prompt_tokens": 1000, "completion_tokens": 10}
        body = json.dumps({"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[HTTPServer]:
    Provider.bodies = []
    with HTTPServer(("127.0.0.1", 0), Provider) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_model_over_http_is_asked_with_its_settings_and_its_answer_has_a_price(provider: HTTPServer) -> None:
    base_url = f"http://127.0.0.1:{provider.server_port}/v1"
    target = target_of(
        {"model": "openai/gpt-5-mini", "base_url": base_url, "max_tokens": 10, "prompt": "Q: {{ input }}"}
    )

    assert target is not None
    made = background.run(drive(target.steps(CASE)))

    assert (made.text, made.error) == ("Paris", None)
    assert Provider.bodies[0]["messages"] == [Message("user", "Q: Capital of France?").as_dict()]
    assert 10 in Provider.bodies[0].values()
    assert PriceBook().cost_of(target.name, made.attempts) == pytest.approx(0.00027)
    background.close()
