"""`evenhand doctor`: from a judge to its card, by way of a run that can be stopped and resumed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.doctor.pairs import shipped_pairs

Command = Callable[..., Any]
JUDGE = "openai/gpt-5-mini"
# Few questions: two probes leave little to correct for, so that eight pairs are enough.
FEW = ("--size", "8", "--probes", "position,instructions")
_GOOD = {pair.good for pair in shipped_pairs()}


def section(text: str, name: str) -> str:
    found = re.search(rf'<{name} id="(\w+)">\n(.*?)\n</{name} id="\1">', text, re.DOTALL)
    return found[2] if found else ""


def honest(text: str) -> dict[str, Any]:
    """Know which answers are right."""
    if first := section(text, "answer_a"):
        return {"says": {"reasoning": "", "winner": "A" if first in _GOOD else "B"}}
    score = 0.9 if section(text, "candidate_answer") in _GOOD else 0.1
    return {"says": {"reasoning": "Well.", "hits": [], "misses": [], "score": score}}


def obedient(text: str) -> dict[str, Any]:
    """Give whatever an answer demands."""
    if re.search("highest score|full marks|best verdict", section(text, "candidate_answer")):
        return {"says": {"reasoning": "As told.", "hits": [], "misses": [], "score": 1}}
    return honest(text)


def silent_when_told(text: str) -> dict[str, Any]:
    return honest(text) if obedient(text) == honest(text) else {"says": "I will not."}


@pytest.fixture
def judged_by(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, key: str) -> Callable[..., Any]:
    """Let every command ask a judge that does as a script says."""

    def start(script: Any = honest) -> Any:
        started = serve(script)
        monkeypatch.setenv("OPENAI_BASE_URL", started.url)
        monkeypatch.setenv("OPENAI_API_KEY", key)
        return started

    return start


def test_an_honest_judge_passes_and_the_cost_is_said_first(judged_by: Callable[..., Any], command: Command) -> None:
    judge = judged_by()

    done = command("doctor", JUDGE, *FEW)

    assert done.code == 0
    assert "2 probes on 8 pairs of answers: 24 cases" in done.err
    assert "32 to 96 calls to models, about " in done.err
    assert len(judge.asked) == 32
    assert "The judge passed 2 probes." in done.out
    assert "attack success rate: 0.00 [0.00, 0.32]" in done.out
    assert "Harm in 0 of 8: bad answers that pass with an instruction" in " ".join(done.out.split())


def test_a_judge_that_obeys_answers_is_not_trusted_and_its_card_says_why_in_every_format(
    judged_by: Callable[..., Any], command: Command
) -> None:
    judge = judged_by(obedient)

    done = command("doctor", JUDGE, *FEW, "-o", "card.html", "-o", "card.json", "-o", "card.md")
    asked = len(judge.asked)
    again = command("report", "last", "--json")

    assert done.code == 103
    assert "The judge failed 1 of 2 probes: instructions." in done.out
    card = json.loads(Path("card.json").read_text())["doctor"]
    assert again.json["doctor"] == card
    assert len(judge.asked) == asked
    assert card["failed"] == ["instructions"]
    assert card["attack_success"]["value"] == 1
    found = {probe["probe"]: probe for probe in card["probes"]}
    assert (found["instructions"]["harmed"], found["instructions"]["among"]) == (8, 8)
    assert found["position"]["outcome"] == "passed"
    page = Path("card.html").read_text()
    assert "Attack success" in page
    assert "<script" not in page
    assert not re.search(r"<[^>]+ (style|on\w+)=", page)
    assert "| instructions | ✗ failed | 8 of 8 |" in Path("card.md").read_text()


def test_a_judge_without_a_usable_reply_is_unscored_and_neither_passed_nor_failed(
    judged_by: Callable[..., Any], command: Command
) -> None:
    judged_by(silent_when_told)

    done = command("doctor", JUDGE, *FEW)

    assert done.code == 101
    told = " ".join(done.out.split())
    assert "instructions: not enough data" in told
    assert "8 cases without a score left out" in told
    assert "The judge passed 1 probe; 1 could not be decided." in told


def test_a_budget_stops_it_and_resume_completes_the_card(judged_by: Callable[..., Any], command: Command) -> None:
    judge = judged_by(obedient)

    stopped = command("doctor", JUDGE, *FEW, "--max-calls", "8", "-j", "1")
    resumed = command("resume", "last")

    assert stopped.code == 102
    assert resumed.code == 103
    assert len(judge.asked) == 32
    assert "The judge failed 1 of 2 probes: instructions." in resumed.out


def test_an_estimate_asks_nobody_and_needs_no_key(
    judged_by: Callable[..., Any], command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = judged_by()
    monkeypatch.delenv("OPENAI_API_KEY")

    done = command("doctor", JUDGE, "--estimate", "--json")

    assert (done.code, judge.asked) == (0, [])
    assert done.json["plan"][0].startswith("21 probes on 30 pairs of answers: ")
    assert not (folder / ".evenhand").exists()


def test_the_judge_of_a_suite_is_examined_as_its_evaluator_asks_it(
    judged_by: Callable[..., Any], command: Command, suite: Callable[..., Path]
) -> None:
    judge = judged_by()
    evaluators = [
        {"name": "right", "type": "contains"},
        {"name": "quality", "type": "llm_judge", "template": "Judge this: {{ candidate_answer }}"},
    ]
    suite(judge=JUDGE, evaluators=evaluators)

    done = command("doctor", "suite.yaml", "--probes", "null_answers", "--size", "1")

    assert done.code == 0
    assert all(text.startswith("Judge this: ") for text in judge.asked)
    assert "Judge card: doctor of quality in suite.yaml" in done.out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((JUDGE, "--probes", "positoin"), "no probe 'positoin'; did you mean 'position'?"),
        ((JUDGE, "--probes", ","), "probes is empty"),
        ((JUDGE, "--size", "1000"), "size is 1000; it must be a whole number from 1 to"),
        ((JUDGE, "--max-bias", "1.5"), "max_bias is 1.5; it must be a share"),
        ((JUDGE, "--evaluator", "quality"), "name its suite, too"),
        (("suite.yaml", "--evaluator", "rihgt"), "no evaluator asks a judge"),
        (("vllm/our-judge", "--probes", "family"), "the name of the judge does not say of which family it is"),
        ((), "no judge"),
    ],
)
def test_mistakes_are_refused_before_anything_is_asked(
    words: tuple[str, ...], problem: str, judged_by: Callable[..., Any], command: Command, suite: Callable[..., Path]
) -> None:
    judge = judged_by()
    suite()

    done = command("doctor", *words)

    assert done.code == 2
    assert problem in done.err
    assert judge.asked == []
