"""The golden figures, worked out anew by the formulas of README.md, without the library."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path
from statistics import NormalDist, fmean, variance
from typing import Any

import pytest


def cases(file: str, what: str) -> list[Any]:
    found = json.loads((Path(__file__).parent / file).read_text(encoding="utf-8"))["cases"]
    alike = [case for case in found if case["what"] == what]
    assert alike
    return alike


def close(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def number(value: float | str) -> float:
    return math.inf if value == "inf" else float(value)


def wilson(passed: int, n: int) -> tuple[float, float]:
    z, p = NormalDist().inv_cdf(0.975), passed / n
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    middle = p + z * z / (2 * n)
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def binomial(k: int, n: int, p: float) -> float:
    return comb(n, k) * p**k * (1 - p) ** (n - k)


def sign_test(one: int, other: int) -> float:
    n = one + other
    return float(min(Fraction(1), Fraction(2 * sum(comb(n, k) for k in range(min(one, other) + 1)), 2**n)))


def test_wilsons_intervals() -> None:
    for case in cases("intervals.json", "wilson"):
        assert wilson(case["passed"], case["n"]) == close((case["low"], case["high"]))


def test_means_with_missing_scores() -> None:
    for case in cases("intervals.json", "unscored_bounds"):
        for given, name in ((0, "if_zero"), (1, "if_one")):
            assert fmean([*case["scores"], *[given] * case["errors"]]) == close(case[name])


def test_agreement_of_two_raters_with_two_labels() -> None:
    for case in cases("agreement.json", "binary"):
        (a, b), (c, d) = case["table"]
        n = a + b + c + d
        same, passes = (a + d) / n, (2 * a + b + c) / (2 * n)
        by_rater = ((a + b) * (a + c) + (c + d) * (b + d)) / n**2
        pooled, other = passes**2 + (1 - passes) ** 2, 2 * passes * (1 - passes)
        sides = (a + b) * (c + d) * (a + c) * (b + d)

        assert (n, same, *wilson(a + d, n)) == close((case["n"], case["agreement"], *case["agreement_interval"]))
        assert (same - by_rater) / (1 - by_rater) == close(case["kappa"])
        assert (same - pooled) / (1 - pooled) == close(case["scott_pi"])
        assert (same - other) / (1 - other) == close(case["gwet_ac1"])
        assert 1 - (1 - same) / (2 * n * passes * (2 * n - 2 * n * passes) * 2 / (2 * n * (2 * n - 1))) == close(
            case["krippendorff_alpha"]
        )
        assert (a * d - b * c) / math.sqrt(sides) == close(case["mcc"])


def alpha(rows: Iterable[Sequence[int]], distance: Callable[[int, int], float]) -> float:
    rated = [row for row in rows if len(row) > 1]
    values = [value for row in rated for value in row]
    within = sum(sum(distance(a, b) for a, b in product(row, row)) / (len(row) - 1) for row in rated)
    return 1 - within * (len(values) - 1) / sum(distance(a, b) for a, b in product(values, values))


def test_krippendorffs_alpha() -> None:
    (case,) = cases("agreement.json", "alpha_with_missing")
    (two,) = cases("agreement.json", "ordinal")
    for given, columns in ((case, case["ratings"]), (two, [two["human"], two["judge"]])):
        rows = [[value for value in row if value is not None] for row in zip(*columns, strict=True)]
        found = Counter(value for row in rows if len(row) > 1 for value in row)

        def between(a: int, b: int, found: Counter[int] = found) -> float:
            low, high = sorted((a, b))
            return (sum(found[value] for value in range(low, high + 1)) - (found[low] + found[high]) / 2) ** 2

        assert alpha(rows, lambda a, b: a != b) == close(given["alpha_nominal"])
        assert alpha(rows, lambda a, b: (a - b) ** 2) == close(given["alpha_interval"])
        assert alpha(rows, between) == close(given["alpha_ordinal"])


def test_kappa_of_labels_in_an_order() -> None:
    (case,) = cases("agreement.json", "ordinal")
    pairs = list(zip(case["human"], case["judge"], strict=True))
    for power, name in ((0, "kappa"), (1, "kappa_linear"), (2, "kappa_quadratic")):
        seen = fmean((a != b) * abs(a - b) ** power for a, b in pairs)
        by_chance = fmean((a != b) * abs(a - b) ** power for a, b in product(case["human"], case["judge"]))
        assert 1 - seen / by_chance == close(case[name])
    assert fmean(b - a for a, b in pairs) == close(case["mean_difference"])
    assert fmean(abs(b - a) for a, b in pairs) == close(case["mean_absolute_error"])


def test_corrected_rates() -> None:
    for case in cases("corrected_rate.json", "post_stratified_mover"):
        tp, fp, fn, tn = (case["labelled"][name] for name in ("tp", "fp", "fn", "tn"))
        weight, passed, failed = case["judge_passes"] / case["judged"], tp / (tp + fp), fn / (fn + tn)
        ends = [wilson(case["judge_passes"], case["judged"]), wilson(tp, tp + fp), wilson(fn, fn + tn)]
        slopes, found = (passed - failed, weight, 1 - weight), (weight, passed, failed)
        value = weight * passed + (1 - weight) * failed
        low = value - math.hypot(*(s * (x - end[0]) for s, x, end in zip(slopes, found, ends, strict=True)))
        high = value + math.hypot(*(s * (end[1] - x) for s, x, end in zip(slopes, found, ends, strict=True)))

        assert (value, low, high) == close((case["estimate"], case["low"], case["high"]))
    (case,) = cases("corrected_rate.json", "rogan_gladen_point")
    true, false = case["sensitivity"], 1 - case["specificity"]
    assert (case["observed"] - false) / (true - false) == close(case["estimate"])


def test_ranks_and_verdicts_that_hold_for_new_cases() -> None:
    for case in cases("conformal.json", "rank_of_quantile"):
        rank = math.ceil((case["n"] + 1) * (1 - Fraction(str(case["alpha"]))))
        assert case["rank"] == (rank if rank <= case["n"] else None)
    for case in cases("conformal.json", "label_conditional"):
        labelled = list(zip(case["scores"], case["human"], strict=True))
        fails = sorted((score for score, passed in labelled if not passed), reverse=True)
        passes = sorted(score for score, passed in labelled if passed)
        k, m = (math.floor(Fraction(str(case["alpha"])) * (len(scores) + 1)) for scores in (fails, passes))
        assert (fails[k - 1], passes[m - 1]) == (case["pass_above"], case["fail_below"])


def test_from_which_confidence_on_the_judge_decides_alone() -> None:
    (case,) = cases("selective.json", "fixed_sequence")
    for row in case["tested"]:
        assert sum(binomial(k, row["accepted"], case["eps"]) for k in range(row["errors"] + 1)) == close(row["p"])


def test_drift() -> None:
    z = NormalDist().inv_cdf(0.95)
    for case in cases("drift.json", "agreement_drop"):
        n, right, wrong = case["anchors"] + 2, case["became_right"], case["became_wrong"]
        change = (right - wrong) / n  # with one more of each
        half = z * math.sqrt(((right + wrong + 2) / n - change**2) / n)
        assert (change - half, change + half) == close((case["low_90"], case["high_90"]))
        assert sign_test(right, wrong) == close(case["mcnemar_p"])
    for case in cases("drift.json", "flip_monitor"):
        n, flips, usual, steps = case["anchors"], case["flips"], case["usual_flip_rate"], 20_000
        rates = (usual + (1 - usual) * (step + 0.5) / steps for step in range(steps))
        e = fmean((rate / usual) ** flips * ((1 - rate) / (1 - usual)) ** (n - flips) for rate in rates)
        assert e == pytest.approx(case["e_value"], abs=1e-6)
        assert case["alarm"] == (e >= 20)


def test_e_values_of_pass_rates() -> None:
    for case in cases("sequential.json", "pass_rate_e_values"):
        n, needed, seen, passed = (case[name] for name in ("cases", "passes_needed", "judged", "passed"))
        p = [
            Fraction(comb(n - seen, k - passed), comb(n, k)) if passed <= k <= n - seen + passed else Fraction(0)
            for k in range(n + 1)
        ]
        enough, less = sum(p[needed:]) / (n - needed + 1), sum(p[:needed]) / needed
        for value, by, name in ((enough, p[needed - 1], "e_pass"), (less, p[needed], "e_fail")):
            assert (float(value / by) if by else math.inf) == close(number(case[name]))


@pytest.mark.parametrize("what", ["mean_score_e_values", "mean_score_with_unscored"])
def test_e_values_of_means(what: str) -> None:
    for case in cases("sequential.json", what):
        n, limit, grid = case["cases"], case["limit"], case["grid"]
        for row in case["at"]:
            total, up, down = 0.0, [1.0] * grid, [1.0] * grid
            for place, score in enumerate(case["scores"][: row["judged"]]):
                mean = (n * limit - total) / (n - place)
                x = limit if score is None else score  # what has no score counts as exactly the limit
                total += x
                bets = [(j + 1) / (grid + 1) for j in range(grid)]
                up = [won * (1 + bet * (x - mean) / mean) for won, bet in zip(up, bets, strict=True)]
                down = [won * (1 + bet * (mean - x) / (1 - mean)) for won, bet in zip(down, bets, strict=True)]
            assert (fmean(up), fmean(down)) == close((row["e_pass"], row["e_fail"]))


def mcnemar_power(n: int, wins: float, losses: float) -> float:
    changed = wins + losses
    found = 0.0
    for pairs in range(1, n + 1):
        fewest = next((k for k in range(pairs + 1) if 2 * k > pairs and sign_test(k, pairs - k) <= 0.05), pairs + 1)
        of_these = sum(binomial(k, pairs, wins / changed) for k in range(fewest, pairs + 1))
        found += binomial(pairs, n, changed) * of_these
    return found


def test_power_of_mcnemars_test() -> None:
    for case in cases("power.json", "mcnemar_power"):
        if case["n"] <= 100:
            assert mcnemar_power(case["n"], case["wins"], case["losses"]) == close(case["power"])
    for case in cases("power.json", "mcnemar_minimum_detectable"):
        smallest = case["minimum_detectable"]
        changed = max(case["discordant_share"], smallest)
        if case["n"] <= 100:
            power = mcnemar_power(case["n"], (changed + smallest) / 2, (changed - smallest) / 2)
            assert power == pytest.approx(0.8, abs=0.001)  # the figure has four digits


def test_repeats() -> None:
    for case in cases("repeats.json", "pass_k"):
        k, passes = case["k"], case["passes_of_3"]
        assert fmean(comb(of, k) / comb(3, k) for of in passes) == close(case["pass_hat_k"])
        assert 1 - fmean(comb(3 - of, k) / comb(3, k) for of in passes) == close(case["pass_at_k"])
    (case,) = cases("repeats.json", "self_consistency")
    assert fmean((comb(of, 2) + comb(3 - of, 2)) / 3 for of in case["passes_of_3"]) == close(case["same_verdict_twice"])
    for case in cases("repeats.json", "gate_flip"):
        more = range(case["passes_needed"] - case["sure"], case["unsure"] + 1)
        passes = sum(binomial(k, case["unsure"], case["chance_of_pass"]) for k in more)
        assert (passes, 2 * passes * (1 - passes)) == close((case["gate_passes"], case["two_runs_disagree"]))
    (case,) = cases("repeats.json", "judge_noise")
    within = fmean(map(variance, case["scores"]))
    between = 3 * variance(map(fmean, case["scores"]))
    assert math.sqrt(within) == close(case["within_sd"])
    assert (between - within) / (between + 2 * within) == close(case["icc1"])
    assert math.sqrt(within / 6) == close(case["sd_of_the_mean_on_a_rerun"])
    assert math.sqrt(within / 18) == close(case["sd_of_the_mean_on_a_rerun_of_3"])


def test_corrected_p_values() -> None:
    for case in cases("families_and_position.json", "corrected_p"):
        n, order = len(case["p"]), sorted(range(len(case["p"])), key=case["p"].__getitem__)
        for place, index in enumerate(order):
            holm = max((n - before) * case["p"][order[before]] for before in range(place + 1))
            found = min(n / (after + 1) * case["p"][order[after]] for after in range(place, n))
            assert (min(1, holm), found) == close((case["holm"][index], case["benjamini_hochberg"][index]))


def test_judges_that_favour_a_place() -> None:
    recorded = {
        (case["language"], case["judge"]): {tuple(said.split()): n for said, n in case["counts"].items()}
        for case in cases("recorded_verdicts.json", "mtbench_verdicts")
    }
    for case in cases("families_and_position.json", "position_inconsistency"):
        said = recorded[case["language"], case["judge"]]
        unreadable = sum(n for verdicts, n in said.items() if "-" in verdicts)
        valid = sum(said.values()) - unreadable
        wins, losses = said["A", "B"], said["B", "A"]
        inconsistent = valid - wins - losses - said.get(("C", "C"), 0)

        assert (valid, unreadable, inconsistent) == tuple(
            case[name] for name in ("valid", "unreadable", "inconsistent")
        )
        assert (case["to_first"], case["to_second"]) == (said["A", "A"], said["B", "B"])
        assert case["with_a_tie"] == inconsistent - said["A", "A"] - said["B", "B"]
        assert (inconsistent / valid, *wilson(inconsistent, valid)) == close((case["rate"], *case["interval"]))
        assert sign_test(said["A", "A"], said["B", "B"]) == pytest.approx(case["sign_test_p"], rel=1e-8)
        assert (wins + (valid - wins - losses) / 2) / valid == close(case["win_rate_of_first_model"])
    for case in cases("families_and_position.json", "scripted_position_judge"):
        first, second = (1 / (1 + math.exp(-case["strength"] - side * case["for_first"])) for side in (1, -1))
        assert (first, second) == close((case["first_when_first"], case["first_when_second"]))
        assert (first + second) / 2 == close(case["mean"])
        assert first * second + (1 - first) * (1 - second) == close(case["consistent"])
