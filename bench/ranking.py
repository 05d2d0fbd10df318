"""What ranking costs: the arithmetic of a thousand profiles, and a shortlist out of a hundred thousand."""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from bench import provider
from bench.measure import ROUNDS, Row, Used, cpu_seconds, used_by
from bench.noisy_judge import NoisyJudge
from evenhand import rank
from evenhand.engine.execution import Execution
from evenhand.engine.job import Pace, Scope
from evenhand.engine.store_location import StoreLocation
from evenhand.profiles.ranking.design import RankingDesign
from evenhand.profiles.ranking.job import RankingJob

ARITHMETIC_SECONDS = 5
PLANNING_SECONDS = 5
MEGABYTES = 100
SOME, MANY = 10_000, 100_000
DESIGN = RankingDesign(name="staged", group_size=20, top=10)
WORDS = "has led a team of nine, moved a warehouse, and speaks three languages, one of them well. " * 6


def rows() -> Iterator[Row]:
    taken = min(cpu_seconds(rank_a_thousand) for _ in range(ROUNDS))
    what = "ranking 1,000 profiles, groups of 20, 10 Swiss rounds, 200 draws"
    yield what, f"{taken:.1f} s", f"{ARITHMETIC_SECONDS} s"
    with tempfile.TemporaryDirectory() as folder, provider.running("ranking") as port:
        some, many = (written(Path(folder), count) for count in (SOME, MANY))
        planning = min(cpu_seconds(lambda: plan_shortlist(many)) for _ in range(ROUNDS))
        yield f"planning a shortlist out of {MANY:,}, from file to store", f"{planning:.1f} s", f"{PLANNING_SECONDS} s"
        used = shortlist(some, port)
        yield f"peak memory of a shortlist out of {SOME:,}", f"{used.megabytes:.0f} MB", ""
        used = shortlist(many, port)
    text = MANY * len(WORDS) // 2**20
    yield f"the same out of {MANY:,}, with {text} MB of text", f"{used.megabytes:.0f} MB", f"{MEGABYTES} MB"
    yield f"the whole command, with its {sum(DESIGN.group_counts(MANY)):,} judgments", f"{used.seconds:.0f} s", ""


def rank_a_thousand() -> None:
    chance = random.Random(1)
    profiles = [{"id": f"p{number}", "text": f"worth {chance.gauss(0, 1):.6f}"} for number in range(1000)]
    ranked = rank(profiles, criteria="Worth", judge=NoisyJudge(), design="swiss", group_size=20, rounds=10, store=None)
    assert len(ranked.order) == 1000


def written(folder: Path, count: int) -> Path:
    """Write so many profiles."""
    chance = random.Random(3)
    path = folder / f"{count}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            line = {"id": f"candidate-{number}", "text": f"worth {chance.gauss(0, 1):.6f}\n{WORDS}"}
            file.write(json.dumps(line) + "\n")
    return path


def plan_shortlist(profiles: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = RankingJob(profiles=str(profiles), criteria="Worth", judge=NoisyJudge(), design=DESIGN)
        Execution(work.job(), scope=Scope(), pace=Pace(), place=StoreLocation.of(f"{folder}/runs.db"))


def shortlist(profiles: Path, port: int) -> Used:
    """Make a shortlist by the command, in a process of its own, and tell what it took."""
    command = ["rank", str(profiles), "--criteria", "Worth", "--judge", "openai/bench", "--design", DESIGN.name]
    sizes = ["--group-size", str(DESIGN.group_size), "--top", str(DESIGN.top), "--db", f"{profiles}.db"]
    with mock.patch.dict(os.environ, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}):
        return used_by([sys.executable, "-m", "evenhand", *command, *sizes])
