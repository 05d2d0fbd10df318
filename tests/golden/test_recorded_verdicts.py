"""The counts of recorded verdicts are those of the data that they were counted in."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

CASES = json.loads(Path(__file__).with_name("recorded_verdicts.json").read_text(encoding="utf-8"))["cases"]


def test_the_verdicts_of_mt_bench_are_counted_as_they_were_recorded(third_party: Callable[[str], Path]) -> None:
    counted = {(case["language"], case["judge"]): case["counts"] for case in CASES if "judge" in case}

    recorded: dict[tuple[str, str], Counter[str]] = {}
    with (third_party("mtbench_judges") / "pairwise_verdicts.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            judge = recorded.setdefault((row["language"], row["judge"]), Counter())
            judge[f"{row['last_tag_ab']} {row['last_tag_ba']}"] += 1

    assert len(recorded) == 12
    assert counted == recorded


def test_the_verdicts_of_pandalm_are_counted_as_they_were_recorded(third_party: Callable[[str], Path]) -> None:
    folder = third_party("pandalm")
    pairs, pandalm, gpt = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("testset-v1", "pandalm-7b-testset-v1", "gpt-3.5-turbo-testset-v1")
    )

    recorded = Counter(
        " ".join(map(str, [*(pair[f"annotator{n}"] for n in (1, 2, 3)), one["pandalm_result"], other["gpt_result"]]))
        for pair, one, other in zip(pairs, pandalm, gpt, strict=True)
    )

    assert {row["idx"] for row in pairs} == {row["idx"] for row in pandalm} == {row["idx"] for row in gpt}
    assert [case["counts"] for case in CASES if case["what"] == "pandalm_verdicts"] == [recorded]
