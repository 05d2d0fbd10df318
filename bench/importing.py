"""What it costs to have the package at hand, over a bare interpreter."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import ROUNDS, Row, cpu_of_a_fresh_python

GOAL = "0.15 s"
IMPORTS = ("import evenhand", "from evenhand import PromptEvaluator, Scripted, create_llm_as_judge")


def rows() -> Iterator[Row]:
    bare = least("")
    for code in IMPORTS:
        yield code, f"{least(code) - bare:.3f} s", GOAL


def least(code: str) -> float:
    cpu_of_a_fresh_python(code)  # compiles
    return min(cpu_of_a_fresh_python(code) for _ in range(ROUNDS))
