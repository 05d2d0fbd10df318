"""Recorded replies: found again as they were, and never taken for new ones."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest

from evenhand import (
    Case,
    ConfigError,
    Message,
    PairwiseEvaluator,
    PromptEvaluator,
    Reply,
    Scripted,
    TokenChoice,
    resolve,
)
from evenhand.domain.ask import Ask
from evenhand.domain.reply import Unanswered
from evenhand.models.prices import PriceBook
from evenhand.models.replay import Recorded, question_key, recorded, written

ABOUT = {"model": "embedded/qwen2.5-coder-1.5b", "prefers_logprobs": True, "yes_from": 0.3}
CASE = Case(question="Capital?", candidate_answer="Paris", reference_answer="Paris, France", expected_outcome="Paris")


def question(text: str = "Capital?", **options: Any) -> Ask:
    return Ask(messages=(Message("user", text),), judge=Scripted([]), **options)


def file_of(folder: Path, *lines: Any) -> Path:
    """Write lines as they are, or as JSON."""
    path = folder / "replies.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def put(judge: Recorded, ask: Ask) -> Reply | Unanswered:
    return asyncio.run(judge.ask(ask))


# Found and not found


@pytest.mark.parametrize("text", ["Paris", "", "two\nlines", "next\u2028line\x85and\x0bmore\x1c", "\ud83d", "ü\x00"])
@pytest.mark.parametrize("finish", ["stop", "length", "refusal", "filtered"])
def test_a_reply_is_found_again_as_it_was(tmp_path: Path, text: str, finish: Any) -> None:
    choices = (TokenChoice(token=" A", logprob=-0.25), TokenChoice(token="B\u2028", logprob=-math.inf))
    said = Reply.said(text, finish=finish, first_token=choices)
    line = json.dumps(written(question(), said), ensure_ascii=text == "\ud83d")

    reply = put(recorded(str(file_of(tmp_path, ABOUT, line, ""))), question())

    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish, reply.first_token) == (text, finish, choices)


def test_a_reply_from_before_took_no_request(tmp_path: Path) -> None:
    path = file_of(tmp_path, ABOUT, written(question(), Reply.said("Paris")))

    reply = put(recorded(str(path)), question())

    (attempt,) = reply.attempts
    assert (attempt.kind, attempt.raw, attempt.cached, attempt.usage, attempt.latency) == (
        "reply",
        "Paris",
        True,
        None,
        0,
    )
    assert PriceBook().cost_of(recorded(str(path)).name, reply.attempts) == 0


def test_a_question_that_was_not_asked_then_has_no_reply(tmp_path: Path) -> None:
    judge = recorded(str(file_of(tmp_path, ABOUT, written(question(), Reply.said("Paris")))))

    answer = put(judge, question("Capital of Italy?"))

    assert isinstance(answer, Unanswered)
    assert answer.error == "not_recorded: replies.jsonl has no reply to this question; ask the model itself"
    assert [attempt.kind for attempt in answer.attempts] == ["transport"]


def test_what_decides_on_a_reply_decides_on_the_question() -> None:
    contract = PairwiseEvaluator(judge=Scripted([])).steps(CASE).send(None)[0].contract  # type: ignore[arg-type, union-attr]
    asks = [
        question(),
        question("capital?"),
        question(sample=1),
        question(max_tokens=1),
        question(top_logprobs=20),
        question(contract=contract),
        Ask(messages=(Message("system", "Capital?"),), judge=Scripted([])),
        Ask(messages=(Message("user", "Capital?", (("name", "x"),)),), judge=Scripted([])),
    ]

    keys = {question_key(ask) for ask in asks}

    assert len(keys) == len(asks)
    assert question_key(question()) == question_key(question(room=2))


# As a judge


def test_in_reports_it_is_called_recorded(tmp_path: Path) -> None:
    judge = resolve(f"recorded/{file_of(tmp_path, ABOUT)}")

    assert judge.name == "embedded/qwen2.5-coder-1.5b (recorded)"
    assert (judge.prefers_logprobs, judge.yes_from) == (True, 0.3)  # type: ignore[attr-defined]
    assert repr(judge) == "Recorded(replies.jsonl, 0 replies)"


def test_what_the_first_line_leaves_out_is_as_usual(tmp_path: Path) -> None:
    judge = recorded(str(file_of(tmp_path, {"model": "m"})))

    assert (judge.prefers_logprobs, judge.yes_from) == (False, 0.5)


def test_an_evaluation_can_be_said_again(tmp_path: Path) -> None:
    model = Scripted(['{"score": 0.9, "reasoning": "Right."}'])
    first = PromptEvaluator(judge=model).evaluate(CASE)
    (ask,) = model.asked
    path = file_of(tmp_path, {"model": "scripted"}, written(ask, Reply.said(first.attempts[0].raw or "")))

    again = PromptEvaluator(judge=f"recorded/{path}").evaluate(CASE)

    assert (again.score, again.reasoning) == (first.score, first.reasoning)
    assert again.details["judge"] == "scripted (recorded)"
    assert [attempt.cached for attempt in again.attempts] == [True]


def test_another_case_is_an_error_that_says_so(tmp_path: Path) -> None:
    evaluation = PromptEvaluator(judge=f"recorded/{file_of(tmp_path, ABOUT)}", score_from="text").evaluate(CASE)

    assert str(evaluation.error).startswith("not_recorded: replies.jsonl has no reply to this question")


def test_a_home_folder_and_spaces_may_be_in_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file_of(tmp_path, ABOUT).rename(tmp_path / "my replies.jsonl")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert resolve("recorded/~/my replies.jsonl").name.endswith("(recorded)")


# Broken files

SAID = {"question": "q", "text": "Paris", "finish": "stop", "first_token": []}


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((), "the first line must describe the model"),
        (("",), "the first line must describe the model"),
        (("{",), "is not a file of recorded replies: Expecting"),
        (("[" * 100_000,), "is not a file of recorded replies"),
        (("[]",), "the first line must describe the model"),
        (("5",), "the first line must describe the model"),
        (({},), "the first line must describe the model"),
        ((ABOUT | {"yes_from": "often"},), "could not convert"),
        ((ABOUT | {"yes_from": 7},), "yes_from is 7"),
        ((ABOUT | {"yes_from": math.nan},), "yes_from is nan"),
        ((ABOUT, []), "each other line must have a question with its text, finish and first_token"),
        ((ABOUT, {"text": "Paris"}), "KeyError('question')"),
        ((ABOUT, SAID | {"question": []}), "unhashable"),
        ((ABOUT, {"question": "q", "text": "Paris"}), "KeyError('finish')"),
        ((ABOUT, SAID | {"text": None}), "text is None and finish is 'stop'"),
        ((ABOUT, SAID | {"finish": "tired"}), "finish is 'tired'"),
        ((ABOUT, SAID | {"finish": []}), "finish is []"),
        ((ABOUT, SAID | {"first_token": [["A"]]}), "each other line must have"),
        ((ABOUT, SAID | {"first_token": [["A", "x"]]}), "each other line must have"),
        ((ABOUT, SAID | {"first_token": None}), "each other line must have"),
    ],
)
def test_a_broken_file_is_refused_before_anything_is_asked(tmp_path: Path, lines: tuple[Any, ...], told: str) -> None:
    path = file_of(tmp_path, *lines)

    with pytest.raises(ConfigError) as raised:
        resolve(f"recorded/{path}")

    assert str(raised.value).startswith(f"recorded/{path}")
    assert told in str(raised.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")

    with pytest.raises(ConfigError, match="none cannot be read: No such file or directory"):
        resolve(f"recorded/{tmp_path}/none")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        resolve(f"recorded/{tmp_path}")
    with pytest.raises(ConfigError, match="bytes is not a file of recorded replies: 'utf-8' codec"):
        resolve(f"recorded/{tmp_path}/bytes")
    with pytest.raises(ConfigError, match="~nobody-here/x is not a file of recorded replies"):
        resolve("recorded/~nobody-here/x")


def test_there_is_nothing_to_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="temperature"):
        resolve({"model": f"recorded/{file_of(tmp_path, ABOUT)}", "temperature": 1})
