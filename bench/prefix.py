"""How much of the prompts of a suite is a common beginning, which providers can keep in their prompt caches."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.measure import Row
from evenhand import PromptEvaluator, Scripted
from evenhand.domain.ask import Ask
from evenhand.domain.case import Case
from evenhand.engine.first_steps import first_wants
from evenhand.suites.suite import job_of, read_suite

SUITE = Path(__file__).resolve().parents[1] / "examples" / "quality-rubric" / "suite.yaml"
GOAL = "60 % or more"
# About what tokenizers make one token of: a short word with the space before it, up to three digits, or signs.
TOKEN = re.compile(r" ?[^\W\d_]{1,8}|\d{1,3}|\s+|[^\w\s]{1,3}|_")


def rows() -> Iterator[Row]:
    """Put the first questions of the rubric suite, and of the other ways to ask about its cases."""
    suite = job_of(read_suite(str(SUITE)))
    cases = [planned.case for planned in suite.cases()]
    rubrics = suite.definition["evaluators"][0]["rubrics"]
    yield "prompt tokens of the rubric suite in a common prefix", f"{share(cases, rubrics=rubrics):.0%}", GOAL
    ways = {
        "a question for each item": {"rubrics": rubrics, "rubric_mode": "separate"},
        "items in random order": {"rubrics": rubrics, "shuffle": 1},
        "no rubric": {},
    }
    for way, settings in ways.items():
        yield f"the same with {way}", f"{share(cases, **settings):.0%}", ""


def share(cases: Sequence[Case], **settings: Any) -> float:
    """Return which share of the tokens of all prompts but the first begins one of the ten prompts before."""
    evaluator = PromptEvaluator(judge=Scripted([]), **settings)
    prompts = [text_of(ask) for case in cases for ask in first_wants(evaluator.steps(case)) if isinstance(ask, Ask)]
    common = whole = 0
    for place, prompt in enumerate(prompts[1:], start=1):
        before = prompts[max(place - 10, 0) : place]
        common += tokens(max((common_prefix(prompt, other) for other in before), key=len))
        whole += tokens(prompt)
    return common / whole


def common_prefix(one: str, other: str) -> str:
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return one[: sum(1 for _ in alike)]


def text_of(ask: Ask) -> str:
    return "\n\n".join(f"{message.role}: {message.content}" for message in ask.messages)


def tokens(text: str) -> int:
    return len(TOKEN.findall(text))
