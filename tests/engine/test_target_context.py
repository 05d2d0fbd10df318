"""What a target tells of its answer: the context that it retrieved is what the answer is held against."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.harness.warm import WarmEvenhand

from evenhand import Case, Run, evaluate
from evenhand.domain.errors import ContractError
from evenhand.domain.evaluation import Usage
from evenhand.domain.json_codec import answer_from, answer_to
from evenhand.domain.run import MadeAnswer
from evenhand.engine.targets.output import MISSPELT, read_output

BOXES = "Shoes come in boxes."
THIRTY_DAYS = "Shoes can be returned within 30 days."
ANSWER = "You can return shoes within 30 days."
# Grounded means that the documents support the answer.
JUDGE = """
import json, sys
case = json.load(sys.stdin)
shown = json.dumps(case.get("context"))
print(json.dumps({"score": 1.0 if "30 days" in shown else 0.0, "reasoning": "shown context: " + shown}))
"""
SUITE: dict[str, Any] = {
    "name": "rag",
    "target": {"python": "app:answer"},
    "concurrency": 1,
    "evaluators": [{"name": "grounded", "type": "code_judge", "command": ["python3", "judge.py"]}],
    "gates": {"min_pass_rate": 0.9, "max_unscored": 0},
    "cases": [
        {"id": "a", "input": "Can I return shoes?", "context": [THIRTY_DAYS]},
        {"id": "b", "input": "Can I return boots?", "context": ["Boots can be returned within 30 days."]},
    ],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("judge.py").write_text(JUDGE)
    return tmp_path


def write(returned: Mapping[str, Any], **settings: Any) -> None:
    Path("app.py").write_text(
        "asked = 0\ndef answer(text):\n    global asked\n    asked += 1\n    open('asked', 'w').write(str(asked))\n"
        f"    return {dict(returned)!r}\n"
    )
    Path("suite.yaml").write_text(json.dumps(SUITE | settings))


@pytest.mark.slow
@pytest.mark.parametrize("context", [[BOXES], []])
def test_an_answer_is_held_against_what_was_retrieved_and_not_against_what_should_have_been(
    warm: WarmEvenhand, context: list[str]
) -> None:
    write({"answer": ANSWER, "context": context, "cost": 0.01})

    done = warm.run("run", "suite.yaml", "-o", "report.html", "-o", "report.json")
    shown = warm.run("show", "a").stdout

    assert done.returncode == 100
    assert "fail 2" in done.stdout
    assert "Context of the answer" in shown
    assert (BOXES if context else "None was found.") in shown
    assert "Context of the answer" in Path("report.html").read_text()
    first, *_ = json.loads(Path("report.json").read_text())["cases"]
    assert (first["context"], first["answers"][0]["context"]) == ([THIRTY_DAYS], context or "")


@pytest.mark.slow
def test_a_program_hands_over_what_it_retrieved_too(warm: WarmEvenhand) -> None:
    write({}, target={"command": ["python3", "app.py"], "output": "json"})
    Path("app.py").write_text(f"import json\nprint(json.dumps({{'answer': {ANSWER!r}, 'context': [{BOXES!r}]}}))\n")

    assert warm.run("run", "suite.yaml").returncode == 100


@pytest.mark.slow
@pytest.mark.parametrize("key", ["contexts", "conext_typo", "latncy", "metdata"])
def test_a_slip_ends_the_run_at_the_first_answer(warm: WarmEvenhand, key: str) -> None:
    write(
        {"answer": ANSWER, key: [BOXES]},
        cases=[{"id": f"q{number}", "input": f"Question {number}?"} for number in range(9)],
    )

    done = warm.run("run", "suite.yaml")

    assert done.returncode == 2
    assert "the target's answer to case q" in done.stderr
    assert f"the object has the key '{key}'; did you mean" in done.stderr
    assert int(Path("asked").read_text()) == 1


@pytest.mark.slow
def test_other_keys_are_kept_and_named_once(warm: WarmEvenhand) -> None:
    write({"answer": ANSWER, "trace_id": "t-1", "question": "as asked", "metadata": {"index": 7}})

    done = warm.run("run", "suite.yaml")
    answer = next(iter(Run.open("last"))).answers[0]

    assert done.returncode == 0
    assert done.stderr.count("note: the target's answers have 'question', 'trace_id'") == 1
    assert (answer.more, answer.metadata) == ({"trace_id": "t-1", "question": "as asked"}, {"index": 7})
    assert "t-1" in warm.run("show", "a").stdout


def test_a_judge_sees_the_context_of_an_answer_and_none_of_its_metadata() -> None:
    seen: list[Case] = []

    def judge(case: Case) -> bool:
        seen.append(case)
        return True

    def answer(text: str) -> dict[str, Any]:
        return {"answer": text, "context": [{"id": "faq", "text": BOXES}], "metadata": {"lang": "de"}}

    evaluate([Case(question="Shoes?", metadata={"lang": "en"})], judge, target=answer, store=None)

    (case,) = seen
    assert case.context_text == f'[1] "faq"\n{BOXES}'
    assert case.metadata == {"lang": "en"}


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ({"answer": "a", "context": 7}, "context must be text or a list of documents, not"),
        (
            {"answer": "a", "usage": {"tokens": 3}},
            "usage is {'tokens': 3}; it must have counts of tokens: input_tokens",
        ),
        ({"answer": "a", "usage": 3}, "usage is 3; it must have counts of tokens"),
        ({"answer": "a", "metadata": ["x"]}, "metadata must be a mapping, not list"),
        ({"answer": "a", "trace": {1, 2}}, "the object cannot be written as JSON"),
    ],
)
def test_what_is_wrong_is_said(returned: dict[str, Any], told: str) -> None:
    with pytest.raises(ContractError) as raised:
        read_output(returned)

    assert told in str(raised.value)


@pytest.mark.parametrize("key", ["outputs", "answers", "Context", "costs", "usages", "latency_ms", "output_message"])
def test_a_slip_is_told_apart(key: str) -> None:
    with pytest.raises(ContractError) as raised:
        read_output({"answer": "a", key: "b"})

    assert raised.value.kind == MISSPELT


@pytest.mark.parametrize("key", ["trace_id", "answer_id", "model", "input_messages", "text", "raw", "sources", "score"])
def test_names_of_ones_own_are_no_slips(key: str) -> None:
    assert read_output({"answer": "a", key: "b"}).more == {key: "b"}


def test_an_answer_is_stored_with_all_that_it_tells() -> None:
    told = {
        "answer": "a", "context": [{"id": "1", "text": BOXES}, THIRTY_DAYS], "metadata": {"index": 7}, "trace": "t",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }  # fmt: skip
    output = read_output(told)
    made = MadeAnswer(text="a", context=output.context, metadata=output.metadata, more=output.more, usage=output.usage)

    assert made.usage == Usage(input_tokens=3, output_tokens=2)
    assert answer_from(json.loads(json.dumps(answer_to(made)))) == made
    assert answer_from(answer_to(MadeAnswer(text="a", context=()))).context == ()
    assert answer_to(MadeAnswer(text="a")).keys().isdisjoint({"context", "metadata", "more"})
