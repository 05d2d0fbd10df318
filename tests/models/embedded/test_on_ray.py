"""A real model on real Ray, which two workers share: it judges as it does in one process."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evenhand.cli.main import app

pytestmark = [
    pytest.mark.long,
    pytest.mark.group("smollm"),
    pytest.mark.timeout(1200),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]

ANSWERS = ("Paris.", "Rome, sadly.")


@pytest.mark.starts(6, "starts Ray, and commands on it")
def test_the_report_is_that_of_one_process_to_the_byte(
    smollm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator = {"name": "brief", "type": "llm_judge", "rubrics": ["Names Paris", "Is polite"]}
    cases = [{"id": f"c{number}", "input": "Capital?", "candidate_answer": each} for number, each in enumerate(ANSWERS)]
    (tmp_path / "suite.json").write_text(json.dumps({"judge": smollm, "evaluators": [evaluator], "cases": cases}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    reports = []
    for db, on in {"alone.db": (), "ray.db": ("--on", "ray", "--workers", "2")}.items():
        CliRunner().invoke(app, ["run", "suite.json", "--concurrency", "2", "--quiet", "--db", db, *on])
        reports.append(CliRunner().invoke(app, ["report", "last", "--canonical", "--db", db]).stdout)

    assert reports[0] == reports[1]
    assert "probability" in reports[0]
