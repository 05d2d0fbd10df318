"""The canonical report: equal bytes for equal outcomes (SPEC-S3)."""

from __future__ import annotations

import json
from typing import Any

from evenhand.domain.evaluation import Attempt, Usage
from evenhand.domain.run import MadeAnswer
from evenhand.reports.json import canonical


def member(latency: float, requests: int) -> dict[str, Any]:
    usage = {"input_tokens": requests}
    return {"members": [{"score": 0.5, "attempts": requests, "usage": usage, "details": {"latency": latency, "n": 2}}]}


def test_runs_that_came_to_the_same_are_equal_byte_for_byte(made: Any) -> None:
    straight = made.report(
        made.case(
            made.judgment(
                0.8,
                attempts=(Attempt(kind="transport", error="timeout: late"), made.reply(latency=0.7, usage=Usage(input_tokens=9))),
                usage=Usage(input_tokens=9),
                details=member(0.1, 1),
                flags=("clamped",),
                cost=0.5,
                seconds=2.0,
            ),
            answers=(MadeAnswer(text="Paris", latency=1.5, cost=0.1, attempts=(made.reply(),)),),
        ),
        gates={"min_mean": 0.5},
    )  # fmt: skip
    resumed = made.report(
        made.case(
            made.judgment(
                0.8,
                attempts=(made.reply(latency=0.1, cached=True),),
                details=member(0.2, 3),
                flags=("clamped", "cached"),
                cost=None,
                seconds=1.0,
            ),
            answers=(MadeAnswer(text="Paris", latency=2.5, cost=None, round=1),),
        ),
        gates={"min_mean": 0.5},
        id="another",
        created=5.0,
        finished=9.0,
        source="elsewhere/suite.yaml",
        options={"max_cost": 3},
        version="0.2",
    )

    assert canonical(straight) == canonical(resumed)


def test_any_difference_in_what_was_found_shows(made: Any) -> None:
    usual = made.judgment(0.8, reasoning="good", attempts=(made.reply("said"),))
    others = [
        made.case(usual._replace(weight=2.0)),
        made.case(made.judgment(0.81, reasoning="good", attempts=(made.reply("said"),))),
        made.case(made.judgment(0.8, reasoning="fine", attempts=(made.reply("said"),))),
        made.case(made.judgment(0.8, reasoning="good", attempts=(made.reply("told"),))),
        made.case(usual, id="named"),
        made.case(usual, question="Capital?"),
        made.case(usual, candidate_answer="Paris"),
        made.case(usual, metadata={"latency": 1}),
        made.case(usual, answers=(MadeAnswer(text="Paris"),)),
        made.case(usual, awaited=1),
    ]

    texts = {canonical(made.report(case)) for case in [made.case(usual), *others]}

    assert len(texts) == len(others) + 1


def test_the_canonical_report_is_json_with_sorted_keys(made: Any) -> None:
    text = canonical(made.report(made.case(0.5, metadata={"b": 1, "a": 2}), made.case("empty: x")))

    document = json.loads(
        text, object_pairs_hook=lambda pairs: [name for name, _ in pairs] == sorted(dict(pairs)) and dict(pairs)
    )

    assert document
    assert document["cases"][0]["metadata"] == {"a": 2, "b": 1}
    assert document["run"].keys() == {"name", "status", "reason", "definition", "cases", "repeat"}
