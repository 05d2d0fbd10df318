"""What ranking costs: the arithmetic of a thousand profiles, and a shortlist out of a hundred thousand."""

from __future__ import annotations

import json
import math
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measure import ROUNDS, Row, cpu_seconds, used_by
from evenhand import RankedProfiles, rank
from evenhand.engine.execution import Execution
from evenhand.engine.job import Pace, Scope
from evenhand.engine.store_location import StoreLocation
from evenhand.profiles.ranking.design import RankingDesign
from evenhand.profiles.ranking.job import RankingJob

ARITHMETIC_SECONDS = 5
PLANNING_SECONDS = 5
MORE_MEGABYTES = 40
SOME, MANY = 10_000, 100_000
DESIGN = RankingDesign(name="staged", group_size=20, top=10)
WORDS = "has led a team of nine, moved a warehouse, and speaks three languages, one of them well. " * 6


def rows() -> Iterator[Row]:
    taken = min(cpu_seconds(rank_a_thousand) for _ in range(ROUNDS))
    what = "ranking 1,000 profiles, groups of 20, 10 Swiss rounds, 200 draws"
    yield what, f"{taken:.1f} s", f"{ARITHMETIC_SECONDS} s"
    with tempfile.TemporaryDirectory() as folder:
        some, many = (shortlist(Path(folder), count) for count in (SOME, MANY))
    planning = many["planning"]
    yield f"planning a shortlist out of {MANY:,}, from file to store", f"{planning:.1f} s", f"{PLANNING_SECONDS} s"
    yield f"the whole of it, {sum(DESIGN.group_counts(MANY)):,} judgments by a script", f"{many['all']:.0f} s", ""
    text = MANY * len(WORDS) // 2**20
    more = many["megabytes"] - some["megabytes"]
    yield f"peak memory of a shortlist out of {SOME:,}", f"{some['megabytes']:.0f} MB", ""
    yield f"more than that out of {MANY:,}, with {text} MB of text", f"{more:+.0f} MB", f"{MORE_MEGABYTES} MB"


def rank_a_thousand() -> None:
    chance = random.Random(1)
    profiles = [{"id": f"p{number}", "text": f"worth {chance.gauss(0, 1):.6f}"} for number in range(1000)]
    ranked = rank(profiles, criteria="Worth", judge=Noisy(), design="swiss", group_size=20, rounds=10, store=None)
    assert len(ranked.order) == 1000


class Noisy:
    """A judge that is right more often the further two lie apart."""

    def __init__(self) -> None:
        self._chance = random.Random(2)

    def __call__(self, messages: Any) -> str:
        shown = re.findall(r'<profile_([A-Z]) id="\w+">\nworth (\S+)', messages[-1]["content"])
        order = sorted(shown, key=lambda one: -(2 * float(one[1]) - math.log(-math.log(self._chance.random()))))
        return json.dumps({"reasoning": "", "order": [label for label, _ in order]})


def shortlist(folder: Path, count: int) -> dict[str, float]:
    """Make a shortlist in a process of its own, and tell how long planning took and the peak memory."""
    chance = random.Random(3)
    path = folder / f"{count}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            line = {"id": f"candidate-{number}", "text": f"worth {chance.gauss(0, 1):.6f}\n{WORDS}"}
            file.write(json.dumps(line) + "\n")
    told = folder / f"{count}.json"
    used = used_by([sys.executable, "-m", "bench.ranking", str(path), str(told)])
    return {**json.loads(told.read_text()), "megabytes": used.megabytes}


def make_shortlist(profiles: str, told: str) -> None:
    began = time.process_time()
    work = RankingJob(profiles=profiles, criteria="Worth", judge=Noisy(), design=DESIGN)
    undertaking = Execution(work.job(), scope=Scope(), pace=Pace(), place=StoreLocation.of(told + ".db"))
    planning = time.process_time() - began
    run = undertaking.run_and_wait()
    del work, undertaking
    ranked = RankedProfiles(run)
    assert len(ranked.order) >= SOME
    Path(told).write_text(json.dumps({"planning": planning, "all": time.process_time() - began}))


if __name__ == "__main__":
    make_shortlist(*sys.argv[1:])
