"""How well does a judge tell answers that meet a check from those that do not?

    python -m bench.embedded.measure [MODEL] [--limit N] [--json FILE]

Each of the labelled items is judged twice, with the answer that meets its check and with the one that does not, by the
probability of yes; then the two are compared in both orders. The cut is set where most are right. What is reported at
that cut was found without the item in question, so that no item helps to judge itself.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evenhand import Case, PairwiseEvaluator, PromptEvaluator, Run, evaluate, resolve

LABELLED = Path(__file__).with_name("labelled.jsonl")
RESAMPLES = 2000
WRONG = 0.1


class Item(NamedTuple):
    """One labelled item with what the judge made of it."""

    id: str
    kind: str
    met: float
    unmet: float
    odds: tuple[float, float]

    @property
    def mean_odds(self) -> float:
        """The log-odds of the better answer, without what the place adds."""
        return statistics.fmean(self.odds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="embedded/qwen2.5-coder-1.5b")
    parser.add_argument("--limit", type=int, help="items of each kind")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    options = parser.parse_args()
    labelled = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    if options.limit:
        kinds = [item["kind"] for item in labelled]
        labelled = [item for n, item in enumerate(labelled) if kinds[:n].count(item["kind"]) < options.limit]
    items, seconds = judged(options.model, labelled)
    found = figures(items) | {"model": options.model, "seconds_per_verdict": round(seconds, 2)}
    for line in told(found):
        print(line)
    if options.json:
        items_found = [one._asdict() for one in items]
        options.json.write_text(json.dumps(found | {"items": items_found}, indent=1) + "\n", encoding="utf-8")


def judged(model: str, labelled: Sequence[dict[str, str]]) -> tuple[list[Item], float]:
    """Judge every item, and give the seconds that one verdict of yes or no took."""
    judge: Any = resolve(model)
    single = [
        Case(id=f"{item['id']} {side}", question=item["question"], candidate_answer=item[side], rubrics=[item["check"]])
        for item in labelled
        for side in ("met", "unmet")
    ]
    pairs = [
        Case(
            id=item["id"],
            question=item["question"],
            candidate_answer=item["met"],
            reference_answer=item["unmet"],
            expected_outcome=item["check"],
        )
        for item in labelled
    ]
    evaluate(single[:1], PromptEvaluator(judge=judge, score_from="logprobs"), store=None)  # loads the model
    began = time.perf_counter()
    run = evaluate(single, PromptEvaluator(judge=judge, score_from="logprobs"), store=None)
    seconds = (time.perf_counter() - began) / len(single)
    chances = {result.id: _probability(result) for result in run}
    odds = _odds(evaluate(pairs, PairwiseEvaluator(judge=judge, score_from="logprobs"), store=None))
    return [
        Item(
            id=item["id"],
            kind=item["kind"],
            met=chances[f"{item['id']} met"],
            unmet=chances[f"{item['id']} unmet"],
            odds=odds[item["id"]],
        )
        for item in labelled
    ], seconds


def _probability(result: Any) -> float:
    (judgment,) = result.judgments
    (check,) = judgment.evaluation.checks
    return float(check.probability)


def _odds(run: Run) -> dict[str, tuple[float, float]]:
    """Give, for each pair, the log-odds of the better answer in each order."""
    found: dict[str, tuple[float, float]] = {}
    for result in run:
        first, second = (order["probability"] for order in result.judgments[0].evaluation.details["orders"])
        found[result.id] = (_log_odds(first), _log_odds(second))
    return found


def _log_odds(chance: float) -> float:
    chance = min(max(chance, 1e-6), 1 - 1e-6)
    return math.log(chance / (1 - chance))


def figures(items: Sequence[Item]) -> dict[str, Any]:
    """Return the numbers, each with a 95 % interval over resampled items."""
    cut, _ = best_cut(items)
    right = [right_without(items, number) for number in range(len(items))]
    margin = pair_margin(items)
    return {
        "pairs": len(items),
        "auc": with_interval(items, auc),
        "own_pair": share([one.met > one.unmet for one in items]),
        "yes_from": round(cut, 3),
        "accuracy": share([side for pair in right for side in pair]),
        "failed_good": share([not met for met, _ in right]),
        "passed_bad": share([not unmet for _, unmet in right]),
        "accuracy_at_half": share([side for one in items for side in (one.met >= 0.5, one.unmet < 0.5)]),
        "pair_margin": None if math.isinf(margin) else round(margin, 3),
        "pair_right": share([one.mean_odds >= margin for one in items]),
        "pair_wrong": share([one.mean_odds <= -margin for one in items]),
        "pair_sign_right": share([one.mean_odds > 0 for one in items]),
        "pair_flipped": share([min(one.odds) < 0 < max(one.odds) for one in items]),
        "by_kind": {
            kind: {
                "auc": round(auc(of_kind), 3),
                "own_pair": f"{sum(one.met > one.unmet for one in of_kind)}/{len(of_kind)}",
                "right": f"{sum(sum(pair) for one, pair in zip(items, right, strict=True) if one.kind == kind)}"
                f"/{2 * len(of_kind)}",
                "pairwise": f"{sum(one.mean_odds >= margin for one in of_kind)}/{len(of_kind)}",
            }
            for kind in dict.fromkeys(one.kind for one in items)
            for of_kind in [[one for one in items if one.kind == kind]]
        },
    }


def auc(items: Sequence[Item]) -> float:
    """Return the chance that an answer that meets its check gets more than one that does not meet its own."""
    wins = [(good.met > bad.unmet) + 0.5 * (good.met == bad.unmet) for good in items for bad in items]
    return statistics.fmean(wins)


def best_cut(items: Sequence[Item]) -> tuple[float, int]:
    """Find the cut with the most on its right side; of several, the middle one."""
    chances = sorted({chance for one in items for chance in (one.met, one.unmet)})
    cuts = [(low + high) / 2 for low, high in itertools.pairwise(chances)]
    scored = [(sum((one.met >= cut) + (one.unmet < cut) for one in items), cut) for cut in cuts]
    most = max(score for score, _ in scored)
    best = [cut for score, cut in scored if score == most]
    return best[len(best) // 2], most


def pair_margin(items: Sequence[Item]) -> float:
    """Find the smallest margin beyond which at most one decided pair in ten is wrong."""
    for margin in sorted(abs(one.mean_odds) for one in items):
        decided = [one.mean_odds > 0 for one in items if abs(one.mean_odds) >= margin]
        if decided.count(False) <= WRONG * len(decided):
            return margin
    return math.inf


def right_without(items: Sequence[Item], number: int) -> tuple[bool, bool]:
    """Judge one item at the cut that the others give."""
    cut, _ = best_cut([*items[:number], *items[number + 1 :]])
    return items[number].met >= cut, items[number].unmet < cut


def with_interval(items: Sequence[Item], measure: Callable[[Sequence[Item]], float]) -> list[float]:
    """Return a number and its interval, by drawing items anew."""
    draw = random.Random(0)
    again = sorted(measure(draw.choices(items, k=len(items))) for _ in range(RESAMPLES))
    return [round(one, 3) for one in (measure(items), again[int(0.025 * RESAMPLES)], again[int(0.975 * RESAMPLES)])]


def share(right: Sequence[bool]) -> list[float]:
    """Return a share and its Wilson interval."""
    n, z = len(right), 1.959964
    p = sum(right) / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return [round(one, 3) for one in (p, (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n))]


def told(found: dict[str, Any]) -> list[str]:
    """Write the numbers for people."""
    lines = [f"{found['model']}: {found['pairs']} labelled pairs, {found['seconds_per_verdict']} s a verdict"]
    for key, words in (
        ("auc", "AUC of P(yes)"),
        ("own_pair", "met above its own unmet"),
        ("accuracy", f"right at the cut ({found['yes_from']})"),
        ("failed_good", "of the met, failed"),
        ("passed_bad", "of the unmet, passed"),
        ("accuracy_at_half", "right at 0.5"),
        ("pair_right", f"pairs: right beyond the margin ({found['pair_margin']})"),
        ("pair_wrong", "pairs: wrong beyond the margin"),
        ("pair_sign_right", "pairs: right without a margin"),
        ("pair_flipped", "pairs: the order alone decided each verdict"),
    ):
        value, low, high = found[key]
        lines.append(f"  {words:45} {value:.3f} [{low:.3f}, {high:.3f}]")
    lines.append(f"  {'kind':14} {'AUC':>6} {'own pair':>9} {'right':>7} {'pairwise':>9}")
    for kind, row in found["by_kind"].items():
        lines.append(f"  {kind:14} {row['auc']:6.2f} {row['own_pair']:>9} {row['right']:>7} {row['pairwise']:>9}")
    return lines


if __name__ == "__main__":
    main()
