"""Where the price of a model can be given is said by each command that needs it, before anybody is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SUITE = "evaluators: [{type: llm_judge}]\ncases: [{id: a, candidate_answer: b, expected_outcome: c}]\n"
DESIGN = {"template": "{name}", "factors": {"name": ["Anna", "Ben"]}, "groups": ["name"], "criteria": "x"}
JUDGE = ("--judge", "openai/brand-new", "--max-cost", "1")
PRICE = (
    "in dollars per million tokens, such as prices: {openai/brand-new: {input: 0.25, output: 2}}, or use --max-calls"
)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "suite.yaml"), f"give it in the suite, {PRICE}"),
        (("audit", "design.yaml"), f"give it in the design, {PRICE}"),
        (
            ("score", "people.jsonl", "--criteria", "x"),
            "use --max-calls instead, or give prices from Python: score(…, prices={…})",
        ),
        (
            ("rank", "people.jsonl", "--criteria", "x"),
            "use --max-calls instead, or give prices from Python: rank(…, prices={…})",
        ),
    ],
)
def test_an_unknown_price_is_told_with_the_place_to_give_it(
    command: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "design.yaml").write_text(json.dumps(DESIGN))
    (folder / "people.jsonl").write_text('{"text": "A"}\n{"text": "B"}\n')

    done = command(*words, *JUDGE)

    assert done.code == 2
    assert f"the price of openai/brand-new is unknown; {told}" in " ".join(done.err.split())
