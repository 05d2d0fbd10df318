"""The golden figures: inputs with what is to come out of them, each worked out in two ways."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@pytest.fixture
def golden() -> Callable[[str, str], list[Any]]:
    """Return a function that gives the cases of a golden file which are about the same."""

    def cases(file: str, what: str) -> list[Any]:
        found = json.loads((GOLDEN / file).read_text(encoding="utf-8"))["cases"]
        alike = [case for case in found if case["what"] == what]
        assert alike, f"{file} has no case of {what!r}"
        return alike

    return cases


@pytest.fixture
def judged_rows(golden: Callable[[str, str], list[Any]]) -> list[Any]:
    """Return the 400 judged cases, 100 of them labelled, that the golden judge card is about."""
    (card,) = golden("trust_expected.json", "judge_card")
    return [json.loads(line) for line in (GOLDEN / card["file"]).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def mtbench(golden: Callable[[str, str], list[Any]]) -> dict[tuple[str, str], list[tuple[str, ...]]]:
    """Return what each judge of MT-bench said of each pair in both orders, by language and judge."""
    return {
        (case["language"], case["judge"]): [tuple(said.split()) for said in Counter(case["counts"]).elements()]
        for case in golden("recorded_verdicts.json", "mtbench_verdicts")
    }


@pytest.fixture
def pandalm(golden: Callable[[str, str], list[Any]]) -> dict[str, list[str]]:
    """Return what the three people and two judges of PandaLM said of the same pairs."""
    (case,) = golden("recorded_verdicts.json", "pandalm_verdicts")
    rows = [said.split() for said in Counter(case["counts"]).elements()]
    return dict(zip(case["of"], map(list, zip(*rows, strict=True)), strict=True))
