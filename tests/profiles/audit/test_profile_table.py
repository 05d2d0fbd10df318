"""The profiles of an audit in its HTML report: levels and scores, and no verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

from evenhand import audit

DESIGN: dict[str, Any] = {
    "template": "{name} has been a nurse for {years} years.",
    "factors": {"name": ["Anna", "Ben"], "years": [2, 10]},
    "groups": ["name"],
    "criteria": "Experience",
    "repetitions": 2,
}


def judge(messages: Sequence[dict[str, str]]) -> str:
    said = messages[-1]["content"]
    if "Ben has been a nurse for 2" in said:
        return "<b>I will not.</b>"
    return json.dumps({"score": 7.5 if "10 years" in said else 4, "justification": "By the <i>years</i>."})


def test_a_profile_has_its_levels_its_scores_and_its_replies(tmp_path: Path) -> None:
    file = audit(DESIGN, judge=judge, store=None, max_attempts=1, concurrency=1).save(tmp_path / "audit.html")

    page = file.read_text(encoding="utf-8")
    table = page[page.index('id="cases-heading"') :]
    rows = re.findall(r'<tr id="case-\d+".*?</th><td role="cell">(.*?)</td><td .*?>(.*?)</td><td .*?>(.*?)</td>', table)
    assert sorted(rows) == [
        ("no score", "–", ""),
        ("scored", "4.00", "4 4"),
        ("scored", "7.50", "7.5 7.5"),
        ("scored", "7.50", "7.5 7.5"),
    ]
    assert "name Ben · years 10" in table
    assert "Repetition 2" in table
    assert "7.50 of 10" in table
    assert "No score, and in no mean." in table
    assert "<i>years</i>" not in table
    assert "By the <i>years</i>." in unescape(table)
