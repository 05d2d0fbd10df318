"""What a run would take can be told to those who have no key yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SUITE = """\
evaluators: [{type: llm_judge}]
judge: openai/gpt-5-mini
cases:
  - {id: a, question: Why?, candidate_answer: So., expected_outcome: Says why}
"""
DESIGN = """\
template: "{name}, a nurse."
factors: {name: [Anna, Jonas]}
groups: [name]
criteria: Experience
judge: openai/gpt-5-mini
"""
JUDGE = ("--criteria", "Experience", "--judge", "openai/gpt-5-mini")


@pytest.mark.parametrize(
    "argv",
    [
        ("run", "suite.yaml"),
        ("score", "people.jsonl", *JUDGE),
        ("rank", "people.jsonl", *JUDGE),
        ("audit", "design.yaml"),
    ],
    ids=lambda argv: argv[0],
)
def test_an_estimate_needs_no_key_and_the_run_does(
    argv: tuple[str, ...], folder: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "design.yaml").write_text(DESIGN)
    (folder / "people.jsonl").write_text('{"text": "A nurse."}\n{"text": "A baker."}\n')

    told = command(*argv, "--estimate")
    refused = command(*argv)

    assert (told.code, refused.code) == (0, 2)
    assert "gpt-5-mini" in told.out
    assert "openai/gpt-5-mini needs an API key" in refused.err
    assert not Path(".evenhand").exists() or command("runs", "list").out == "no runs yet\n"
