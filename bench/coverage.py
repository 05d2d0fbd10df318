"""How often the intervals that are printed hold the true value: the table in docs/numbers.md.

``python -m bench.coverage`` prints it as Markdown.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from evenhand.domain.summary import Interval
from evenhand.stats.intervals import Scores
from evenhand.stats.paired import PairedScores

# A score, or a difference of two, with the cluster that it belongs to.
Drawn: TypeAlias = Iterator[tuple[float, str | None]]

SIZES: Final = (8, 20, 100)
DRAWS: Final = 2000
SEED: Final = 20261117
FIVE_LEVELS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
# How much of the variance lies between clusters.
SHARED: Final = 0.3


class Scenario(NamedTuple):
    """Scores of a known distribution: what they are, how ``n`` cases or clusters are drawn, and their true mean."""

    name: str
    draw: Callable[[random.Random, int], Drawn]
    truth: float
    paired: bool = False


def passes(rate: float) -> Scenario:
    return Scenario(
        f"pass rate {rate:g}", lambda chance, n: ((float(chance.random() < rate), None) for _ in range(n)), rate
    )


def beta(a: float, b: float) -> Scenario:
    return Scenario(
        f"scores, beta({a:g}, {b:g})",
        lambda chance, n: ((chance.betavariate(a, b), None) for _ in range(n)),
        a / (a + b),
    )


def levels(name: str, scores: Sequence[float], chances: Sequence[float], *, paired: bool = False) -> Scenario:
    truth = sum(score * share for score, share in zip(scores, chances, strict=True))
    return Scenario(
        name, lambda chance, n: ((score, None) for score in chance.choices(scores, chances, k=n)), truth, paired
    )


def clustered(name: str, rate: float, *, of: Callable[[random.Random, float], float]) -> Scenario:
    """Draw clusters of 1 to 12 cases that share a rate of their own."""
    spread = 1 / SHARED - 1

    def draw(chance: random.Random, n: int) -> Drawn:
        for cluster in range(n):
            own = chance.betavariate(rate * spread, (1 - rate) * spread)
            for _ in range(chance.randint(1, 12)):
                yield of(chance, own), str(cluster)

    return Scenario(name, draw, rate)


def passed(chance: random.Random, rate: float) -> float:
    return float(chance.random() < rate)


def scored(chance: random.Random, rate: float) -> float:
    return chance.betavariate(9 * rate + 1e-9, 9 * (1 - rate) + 1e-9)


def symmetric(chance: random.Random, n: int) -> Drawn:
    return ((min(1.0, max(-1.0, chance.gauss(0, 0.3))), None) for _ in range(n))


def rare_losses(chance: random.Random, n: int) -> Drawn:
    return ((chance.gauss(-0.95 if chance.random() < 0.05 else 0.05, 0.005), None) for _ in range(n))


SCENARIOS: Final = (
    *(passes(rate) for rate in (0.5, 0.9, 0.99)),
    beta(2, 2),
    beta(9, 0.5),
    levels("scores, five levels, 70 % at 1", FIVE_LEVELS, (0.075, 0.075, 0.075, 0.075, 0.7)),
    levels("scores, 97 % at 0.9 and 3 % at 0", (0.9, 0.0), (0.97, 0.03)),
    clustered("pass rate 0.9, clusters of 1 to 12", 0.9, of=passed),
    clustered("pass rate 0.99, clusters of 1 to 12", 0.99, of=passed),
    clustered("scores, mean 0.9, clusters of 1 to 12", 0.9, of=scored),
    Scenario("paired differences, symmetric", symmetric, 0.0, paired=True),
    Scenario("paired differences, 95 % at +0.05 and 5 % at -0.95", rare_losses, 0.0, paired=True),
)


def interval_of(scenario: Scenario, chance: random.Random, n: int) -> Interval | None:
    """Return the interval that is printed for a sample."""
    if scenario.paired:
        pairs = PairedScores()
        for difference, cluster in scenario.draw(chance, n):
            pairs.add(0.0, difference, cluster)
        return pairs.compared().interval
    scores = Scores()
    for score, cluster in scenario.draw(chance, n):
        scores.add(score, cluster)
    return scores.interval()


def coverage(scenario: Scenario, n: int, draws: int = DRAWS) -> float:
    """Return how often the interval of ``n`` cases, or clusters, holds the true mean; without one it holds all."""
    chance = random.Random(f"{SEED} {scenario.name} {n}")
    held = 0
    for _ in range(draws):
        interval = interval_of(scenario, chance, n)
        held += interval is None or interval.low - 1e-12 <= scenario.truth <= interval.high + 1e-12
    return held / draws


def table() -> Iterator[str]:
    """Yield the lines of the table in Markdown."""
    yield f"| 95 % interval of | {' | '.join(f'n = {n}' for n in SIZES)} |"
    yield f"|---|{'---|' * len(SIZES)}"
    for scenario in SCENARIOS:
        yield f"| {scenario.name} | {' | '.join(f'{coverage(scenario, n):.3f}' for n in SIZES)} |"


if __name__ == "__main__":
    for line in table():
        print(line, flush=True)
