"""The rules that code and tests cite are those of the specification."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULE = re.compile(r"^\| ((?:SPEC|REL)-[A-Z]?\d[\d.]*) \|", re.MULTILINE)
# "SPEC-M1, M2", "REL-W1 to W7" and "SPEC-P1, P2, E6" cite several.
CITED = re.compile(r"\b(SPEC|REL)-([A-Z]?\d+(?:\.\d+)?(?:(?:, | to | and )[A-Z]\d+)*)")


def rules() -> list[str]:
    return RULE.findall((ROOT / "docs" / "specification.md").read_text(encoding="utf-8"))


def test_every_rule_that_is_cited_is_there() -> None:
    known = set(rules())
    files = [path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*.py")]

    unknown = {
        f"{path.relative_to(ROOT)}: {series}-{rule}"
        for path in files
        for series, cited in CITED.findall(path.read_text(encoding="utf-8"))
        for rule in re.split(r", | to | and ", cited)
        if f"{series}-{rule}" not in known
    }

    assert sorted(unknown) == []


def test_every_rule_has_its_id_once() -> None:
    assert len(rules()) > 80
    assert sorted(rules()) == sorted(set(rules()))
