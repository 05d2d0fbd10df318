"""Functions of the library on real Ray find what they find without it: scores, rankings, audits, doctors."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.loopback import LoopbackJudge

from evenhand import audit, examine_judge, rank, score

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.group("ray"),
    pytest.mark.usefixtures("own_ray"),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]

PROFILES = [f"A nurse with {number} years of experience." for number in range(24)]
DESIGN = {
    "factors": {"years": [1, 5, 9], "name": ["Anna", "Ben"]},
    "groups": ["name"],
    "template": "{name} has been a nurse for {years} years.",
    "criteria": "Experience in care",
}


def scored(**how: Any) -> Any:
    return score(PROFILES, criteria="Experience", **how).to_dicts()


def ranked(**how: Any) -> Any:
    found = rank(PROFILES, criteria="Experience", group_size=4, rounds=3, **how)
    return found.ranks.numbers(), found.to_dicts()


def audited(**how: Any) -> Any:
    return audit(DESIGN, repetitions=2, **how).numbers.as_dict()


def examined(**how: Any) -> Any:
    return examine_judge(probes=["accuracy", "attack"], size=4, **how).probes


@pytest.mark.parametrize("found", [scored, ranked, audited, examined])
def test_on_ray_the_same_is_found(
    found: Callable[..., Any], provider: LoopbackJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    judge = {"model": "openai/judge", "base_url": provider.url}

    here = found(judge=judge, store=tmp_path / "here.db")
    asked = len(provider.calls)
    there = found(judge=judge, store=tmp_path / "there.db", on="ray", workers=2)

    assert asked > 0
    assert len(provider.calls) == 2 * asked
    assert there == here
