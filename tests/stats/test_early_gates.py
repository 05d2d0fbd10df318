"""Gates that are decided early: golden figures, refusals, and that they say what the full run would."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st
from tests.by_chance import at_most, of_mean

from evenhand.domain.verdict import reaches
from evenhand.stats.early_gates import EarlyGate, EarlyGates, Judged, Rule
from evenhand.stats.mean_bets import MeanBets
from evenhand.stats.pass_count import PassCount, passes_needed, passes_needed_for_low
from evenhand.stats.refusal import Refused
from evenhand.stats.wilson import wilson

Golden: TypeAlias = Callable[[str, str], list[Any]]


def number(value: float | str) -> float:
    return math.inf if value == "inf" else float(value)


def verdicts(order: Sequence[int | None]) -> list[Judged]:
    return [Judged(passed=None if passed is None else bool(passed)) for passed in order]


def scores(order: Sequence[float | None]) -> list[Judged]:
    return [Judged(score=score) for score in order]


def ended(gate: EarlyGate, order: Sequence[Judged]) -> EarlyGate:
    """Add cases up to the decision."""
    for judged in order:
        if gate.decision is not None:
            break
        gate.add(judged)
    return gate


# Golden figures


def test_e_values_of_pass_counts_are_the_golden_ones(golden: Golden) -> None:
    for case in golden("sequential.json", "pass_rate_e_values"):
        count = PassCount(cases=case["cases"], needed=case["passes_needed"])
        for place in range(case["judged"]):
            count.add(passed=place < case["passed"])

        assert count.e_pass == pytest.approx(number(case["e_pass"]), rel=1e-9, abs=1e-9)
        assert count.e_fail == pytest.approx(number(case["e_fail"]), rel=1e-9, abs=1e-9)


def test_gates_on_pass_rates_are_decided_as_the_golden_ones(golden: Golden) -> None:
    for case in golden("sequential.json", "pass_rate"):
        gate = EarlyGate("min_pass_rate", case["limit"], cases=case["cases"], alpha=case["alpha"])
        path = {row["judged"]: row for row in case["path"]}

        for judged in verdicts(case["order"]):
            assert gate.decision is None
            gate.add(judged)
            if gate.judged in path:
                row = path[gate.judged]
                assert gate.e_values == pytest.approx((row["e_pass"], row["e_fail"]), abs=1e-6)

        assert passes_needed(case["cases"], case["limit"]) == case["passes_needed"]
        assert gate.decision is not None
        assert (gate.decision.outcome, gate.decision.after) == (case["decision"], case["after"])
        assert gate.e_values == pytest.approx((number(case["e_pass"]), number(case["e_fail"])), rel=1e-6, abs=1e-6)
        assert gate.decision.certain == (case["e_pass"] == "inf")


@pytest.mark.parametrize("what", ["mean_score_e_values", "mean_score_with_unscored"])
def test_e_values_of_means_are_the_golden_ones(golden: Golden, what: str) -> None:
    for case in golden("sequential.json", what):
        at = {row["judged"]: row for row in case["at"]}
        bets = MeanBets(cases=case["cases"], limit=case["limit"])

        for score in case["scores"]:
            bets.add(score)
            if bets.judged in at:
                row = at[bets.judged]
                assert (bets.e_pass, bets.e_fail) == pytest.approx((row["e_pass"], row["e_fail"]), abs=1e-6)


def test_a_mean_exactly_at_the_limit_passes_in_every_order(golden: Golden) -> None:
    (case,) = golden("sequential.json", "exactly_at_the_limit")
    chance = random.Random(1)

    for _ in range(300):
        order = chance.sample(case["scores"], k=len(case["scores"]))
        gate = ended(EarlyGate("min_mean", case["limit"], cases=case["cases"], alpha=1e-9), scores(order))

        assert gate.decision is not None
        assert (gate.decision.outcome, gate.decision.certain) == (case["decision"], True)


def test_the_lower_end_is_a_count_as_the_golden_ones_say(golden: Golden) -> None:
    for case in golden("sequential.json", "pass_rate_low_as_count"):
        assert passes_needed_for_low(case["cases"], case["limit"]) == case["passes_needed"]


# What is decided is what the full run would say


def in_full(rule: Rule, limit: float, order: Sequence[Judged]) -> str:
    """Return what a gate says when all cases are judged."""
    if rule == "min_mean":
        found = [judged.score for judged in order if judged.score is not None]
        return "pass" if found and reaches(math.fsum(found) / len(found), limit) else "fail"
    passed = [judged.passed for judged in order if judged.passed is not None]
    if not passed:
        return "fail"
    rate = sum(passed) / len(passed)
    return "pass" if reaches(rate if rule == "min_pass_rate" else wilson(rate, len(passed))[0], limit) else "fail"


RULES: tuple[Rule, ...] = ("min_mean", "min_pass_rate", "min_pass_rate_low")
TENTHS = st.one_of(st.none(), st.integers(0, 10))


@given(
    st.sampled_from(RULES), st.integers(0, 20), st.lists(TENTHS, min_size=1, max_size=30), st.integers(0, 30), st.data()
)
def test_what_is_certain_is_what_the_full_run_says(
    rule: Rule, limit: int, tenths: list[int | None], known: int, data: st.DataObject
) -> None:
    order = [Judged() if t is None else Judged(score=t / 10, passed=t >= 5) for t in tenths]
    known = min(known, len(order))

    gate = EarlyGate(rule, limit / 20, cases=len(order), alpha=1e-12, known=order[:known])
    ended(gate, order[known:])

    assert gate.decision is not None
    if gate.decision.certain:
        assert gate.decision.outcome == in_full(rule, limit / 20, order)


@given(st.lists(st.booleans(), min_size=1, max_size=25), st.integers(1, 25))
def test_whole_numbers_that_are_moved_are_those_that_are_summed(order: list[bool], needed: int) -> None:
    n = len(order)
    needed = min(needed, n)
    count = PassCount(cases=n, needed=needed)

    for t, passed in enumerate(order, start=1):
        count.add(passed=passed)
        s = count.passed

        def chance(k: int, t: int = t, s: int = s) -> Fraction:
            possible = s <= k <= n - t + s
            return Fraction(math.comb(n - t, k - s), math.comb(n, k)) if possible else Fraction(0)

        if count.certain is None:
            enough = sum(map(chance, range(needed, n + 1)), Fraction(0)) / (n - needed + 1)
            less = sum(map(chance, range(needed)), Fraction(0)) / needed
            assert count.e_pass == pytest.approx(float(enough / chance(needed - 1)), rel=1e-12)
            assert count.e_fail == pytest.approx(float(less / chance(needed)), rel=1e-12)


def orders(passes: int, fails: int, without: int) -> Iterator[tuple[Judged, ...]]:
    """Yield all orders of results that can be told apart; they are equally likely."""
    if not passes + fails + without:
        yield ()
    if passes:
        yield from ((Judged(1.0, True), *rest) for rest in orders(passes - 1, fails, without))
    if fails:
        yield from ((Judged(0.2, False), *rest) for rest in orders(passes, fails - 1, without))
    if without:
        yield from ((Judged(), *rest) for rest in orders(passes, fails, without - 1))


def wrong_among_all_orders(rule: Rule, limit: float, alpha: float, counts: tuple[int, int, int]) -> float:
    wrong = total = 0
    right = in_full(rule, limit, next(orders(*counts)))  # it does not depend on the order
    for order in orders(*counts):
        gate = ended(EarlyGate(rule, limit, cases=len(order), alpha=alpha), order)
        assert gate.decision is not None
        total += 1
        wrong += gate.decision.outcome != right
    return wrong / total


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("counts", [(4, 2, 1), (3, 2, 2), (5, 2, 0)])
def test_over_all_orders_a_gate_is_as_rarely_wrong_as_promised(rule: Rule, counts: tuple[int, int, int]) -> None:
    for limit in (0.3, 0.5, 0.7):
        assert wrong_among_all_orders(rule, limit, 0.3, counts) <= 0.3


@pytest.mark.sweep
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("alpha", [0.15, 0.4])
def test_over_all_orders_of_all_runs_a_gate_is_as_rarely_wrong_as_promised(rule: Rule, alpha: float) -> None:
    cases = 8
    for passes in range(cases + 1):
        for fails in range(cases + 1 - passes):
            for limit in (0.2, 0.3, 0.5, 0.6, 0.75, 0.9):
                counts = passes, fails, cases - passes - fails
                assert wrong_among_all_orders(rule, limit, alpha, counts) <= alpha, (limit, counts)


def test_known_results_are_taken_out_first() -> None:
    known = verdicts([1] * 70 + [0] * 10 + [None] * 5)
    gate = EarlyGate("min_pass_rate", 0.8, cases=205, known=known)

    moved = PassCount(cases=120, needed=160 - 70)

    assert gate.e_values == (moved.e_pass, moved.e_fail) == (1.0, 1.0)
    gate.add(Judged(passed=True))
    moved.add(passed=True)
    assert gate.e_values == (moved.e_pass, moved.e_fail)


def test_known_results_can_decide_alone() -> None:
    passing = EarlyGate("min_mean", 0.5, cases=100, known=scores([1.0] * 60))
    failing = EarlyGate("min_pass_rate", 0.5, cases=100, known=verdicts([0] * 60))

    assert passing.decision is not None
    assert failing.decision is not None
    assert (passing.decision.outcome, passing.decision.after) == ("pass", 60)
    assert (failing.decision.outcome, failing.decision.certain) == ("fail", True)


def test_from_the_same_order_a_gate_is_in_the_same_state() -> None:
    chance = random.Random(7)
    order = [Judged(passed=chance.random() < 0.85 if chance.random() < 0.95 else None) for _ in range(300)]
    whole, resumed = (EarlyGate("min_pass_rate", 0.8, cases=300) for _ in range(2))

    for judged in order[:200]:
        whole.add(judged)
    for judged in order[:90]:
        resumed.add(judged)
    for judged in order[90:200]:
        resumed.add(judged)

    assert (whole.decision, whole.e_values) == (resumed.decision, resumed.e_values)


def test_a_case_without_a_verdict_speaks_for_neither_side() -> None:
    gate = EarlyGate("min_pass_rate", 0.8, cases=200)
    for judged in verdicts([1, 1, 1, 0] * 5 + [None]):
        gate.add(judged)
    before = gate.e_values

    for _ in range(20):
        gate.add(Judged())

    # Bets on what is at the limit move little, by how far those to come are from it; twenty fails would decide.
    assert all(old / 1.5 < new < old * 1.5 for new, old in zip(gate.e_values, before, strict=True))
    assert gate.decision is None


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("limit", [0.0, 0.5])
def test_without_any_result_a_gate_fails(rule: Rule, limit: float) -> None:
    gate = EarlyGate(rule, limit, cases=50)
    for _ in range(49):
        gate.add(Judged())
        assert gate.decision is None or gate.decision.outcome == "fail"
    gate.add(Judged())

    assert gate.decision is not None
    assert gate.decision.outcome == "fail"


def test_what_comes_after_the_decision_does_not_change_it() -> None:
    gate = ended(EarlyGate("min_pass_rate", 0.8, cases=200), verdicts([1] * 200))
    decision = gate.decision

    for _ in range(200 - gate.judged):
        gate.add(Judged(passed=False))

    assert gate.decision == decision
    assert decision is not None
    assert decision.words == "decided after 19 of 200"
    with pytest.raises(ValueError, match="all 200 cases"):
        gate.add(Judged(passed=True))


def test_large_numbers_of_cases_have_no_limits_of_floats() -> None:
    count = PassCount(cases=20_000, needed=10_000)
    for _ in range(9_000):
        count.add(passed=True)

    assert count.certain is None
    assert count.e_pass > 1e300
    assert count.passes_at(Fraction(10**400))


def test_bets_that_win_more_than_a_float_can_hold_have_won_enough() -> None:
    winning, losing = MeanBets(cases=20_000, limit=0.1), MeanBets(cases=20_000, limit=0.9)
    for _ in range(400):
        winning.add(1.0)
        losing.add(0.0)

    assert (winning.certain, winning.e_pass) == (losing.certain, losing.e_fail) == (None, math.inf)
    assert winning.passes_at(Fraction(10**400))
    assert losing.fails_at(Fraction(10**400))
    assert not winning.fails_at(Fraction(1))


@pytest.mark.parametrize(
    "full", [MeanBets(cases=0, limit=0.5).add, lambda _: PassCount(cases=0, needed=1).add(passed=True)]
)
def test_no_more_than_all_cases_can_be_judged(full: Callable[[float], None]) -> None:
    with pytest.raises(ValueError, match="all 0 cases"):
        full(1.0)


# Several gates


def test_a_run_stops_when_one_gate_failed_or_all_are_decided() -> None:
    limits = {"rate": ("min_pass_rate", 0.8), "mean": ("min_mean", 0.2)}
    gates = EarlyGates.of(limits, cases=200, in_random_order=True)
    assert isinstance(gates, EarlyGates)

    steps = 0
    while not gates.is_over:
        steps += 1
        gates.add({"rate": Judged(passed=False), "mean": Judged(score=0.9)})
    failed = gates.decisions["rate"]

    assert failed is not None
    assert (failed.outcome, failed.after) == ("fail", steps)
    alone = ended(EarlyGate("min_pass_rate", 0.8, cases=200, alpha=0.025), verdicts([0] * 200))
    assert alone.decision == failed

    passing = EarlyGates.of(limits, cases=200, in_random_order=True)
    assert isinstance(passing, EarlyGates)
    while not passing.is_over:
        passing.add({"rate": Judged(passed=True), "mean": Judged(score=0.9)})
    assert {decision and decision.outcome for decision in passing.decisions.values()} == {"pass"}


@pytest.mark.parametrize("count", [1, 2, 5])
def test_of_all_orders_no_more_than_alpha_end_in_a_wrong_decision_of_any_gate(count: int) -> None:
    # One case passes by each gate, another one for each, and one is what the limit asks for. A gate fails, wrongly, in
    # the orders in which its case is among the last ones, so that they can be counted.
    cases, alpha = 400, 0.05
    limits = {f"gate-{number}": ("min_pass_rate", 1 / cases) for number in range(count)}

    def failed_after(passes_at: int | None) -> int | None:
        gates = EarlyGates.of(limits, cases=cases, in_random_order=True, alpha=alpha)
        assert isinstance(gates, EarlyGates)
        for place in range(cases):
            passed = place == passes_at
            gates.add({"gate-0": Judged(passed=passed)} | dict.fromkeys([*limits][1:], Judged(passed=False)))
            if (decision := gates.decisions["gate-0"]) is not None:
                return decision.after if decision.outcome == "fail" else None
        return None

    fails = failed_after(None)

    assert fails is not None
    assert failed_after(fails - 1) is None
    assert failed_after(fails) == fails
    wrong, one_more = (1 - Fraction(math.comb(among, count), math.comb(cases, count)) for among in (fails, fails - 1))
    assert wrong <= Fraction(alpha) < one_more  # and nothing of what may be shared is given away


def test_each_of_several_gates_decides_as_it_does_alone_with_its_share_of_alpha() -> None:
    chance = random.Random(41)
    limits = {"rate": ("min_pass_rate", 0.8), "low": ("min_pass_rate_low", 0.7), "mean": ("min_mean", 0.6)}
    later = 0

    for _ in range(20):
        good = chance.uniform(0.5, 1)
        order = [Judged(score=chance.random() * good, passed=chance.random() < good) for _ in range(200)]
        together = EarlyGates.of(limits, cases=200, in_random_order=True, alpha=0.06)
        assert isinstance(together, EarlyGates)
        for judged in order:
            together.add(dict.fromkeys(limits, judged))

        for name, (rule, limit) in limits.items():
            of_a_third, of_all = (
                ended(EarlyGate(rule, limit, cases=200, alpha=alpha), order).decision  # type: ignore[arg-type]
                for alpha in (Fraction(0.06) / 3, 0.06)
            )
            assert together.decisions[name] == of_a_third
            assert of_a_third is not None
            assert of_all is not None
            later += of_a_third.after > of_all.after

    assert later > 20


@pytest.mark.parametrize(
    ("limits", "options", "why"),
    [
        ({}, {}, "there is no gate"),
        ({"g": ("min_mean_low", 0.8)}, {}, "'min_mean_low' cannot be decided early"),
        ({"g": ("max_unscored", 3)}, {}, "'max_unscored' cannot be decided early"),
        ({"g": ("min_mean", 0.8)}, {"cases": 49}, "49 cases; gates are decided early from 50 on"),
        ({"g": ("min_mean", 0.8)}, {"in_random_order": False}, "not judged in a random order"),
        ({"g": ("min_pass_rate_low", 0.8)}, {"clustered": True}, "clustered"),
    ],
)
def test_what_cannot_be_decided_early_is_refused(limits: Any, options: dict[str, Any], why: str) -> None:
    refused = EarlyGates.of(limits, **({"cases": 200, "in_random_order": True} | options))

    assert isinstance(refused, Refused)
    assert why in refused.reason


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: EarlyGate("min_mean", 1.5, cases=50),
        lambda: EarlyGate("min_mean", 0.5, cases=50, alpha=0),
        lambda: EarlyGate("min_mean", 0.5, cases=1, known=[Judged(), Judged()]),
        lambda: EarlyGate("min_mean", 0.5, cases=50).add(Judged(score=1.5)),
        lambda: MeanBets(cases=3, limit=1.1),
        lambda: PassCount(cases=-1, needed=0),
    ],
)
def test_what_no_gate_can_be_is_an_error(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="got"):
        wrong()


# Simulations

# Of all random orders, or of a sample; a run of 1,000 cases has fewer.
ORDERS = pytest.mark.parametrize(
    "orders", [pytest.param(200, id="sample"), pytest.param(2000, id="all", marks=pytest.mark.sweep)]
)


def stopped(
    rule: Rule, limit: float, results: list[Judged], orders: int, alpha: float = 0.05
) -> tuple[list[float], int]:
    """Return the share of cases that were judged in each of some random orders, and how many decisions were wrong."""
    chance = random.Random(20261117)
    right = in_full(rule, limit, results)
    judged, wrong = [], 0
    for _ in range(orders):
        chance.shuffle(results)
        gate = ended(EarlyGate(rule, limit, cases=len(results), alpha=alpha), results)
        assert gate.decision is not None
        judged.append(gate.decision.after / len(results))
        wrong += gate.decision.outcome != right
    return judged, wrong


def allowed(orders: int, alpha: float = 0.05) -> int:
    """Return how many decisions may be wrong: of all orders, the share that was promised; of a sample, as it varies."""
    return round(orders * alpha) if orders >= 600 else at_most(orders, alpha)


SAVINGS = [
    (100, 0.9, 0.80, 0.05, 0.40), (100, 0.9, 0.90, 0.05, 0.95), (100, 0.9, 0.95, 0.05, 0.60),
    (100, 0.9, 0.80, 0.01, 0.47), (100, 0.9, 0.90, 0.01, 0.99), (100, 0.9, 0.95, 0.01, 0.74),
    (200, 0.9, 0.80, 0.05, 0.28), (200, 0.9, 0.88, 0.05, 0.79), (200, 0.9, 0.95, 0.05, 0.45),
    (200, 0.9, 1.00, 0.05, 0.18), (200, 0.9, 0.80, 0.01, 0.35), (200, 0.9, 0.88, 0.01, 0.83),
    (200, 0.9, 0.95, 0.01, 0.58), (200, 0.9, 1.00, 0.01, 0.25),
    (1000, 0.9, 0.85, 0.05, 0.27), (1000, 0.9, 0.92, 0.05, 0.51), (1000, 0.9, 0.95, 0.05, 0.16),
    (1000, 0.9, 0.85, 0.01, 0.33), (1000, 0.9, 0.92, 0.01, 0.65), (1000, 0.9, 0.95, 0.01, 0.23),
    (1000, 0.8, 0.90, 0.05, 0.08), (1000, 0.8, 0.90, 0.01, 0.12),
]  # fmt: skip


@pytest.mark.long
@ORDERS
@pytest.mark.parametrize(("cases", "limit", "rate", "alpha", "share"), SAVINGS)
def test_as_many_calls_are_saved_as_is_said(
    cases: int, limit: float, rate: float, alpha: float, share: float, orders: int
) -> None:
    passed = round(cases * rate)
    if cases == 1000:
        orders = 600 if orders == 2000 else 40

    judged, wrong = stopped("min_pass_rate", limit, verdicts([1] * passed + [0] * (cases - passed)), orders, alpha)

    vary = 0.0 if orders >= 600 else of_mean(judged)
    assert math.fsum(judged) / orders == pytest.approx(share, abs=0.05 + vary)
    assert wrong <= allowed(orders, alpha)


@pytest.mark.long
@ORDERS
@pytest.mark.parametrize("unscored", [0, 5])
@pytest.mark.parametrize("off", [0, -1])
@pytest.mark.parametrize(("cases", "limit"), [(60, 0.5), (100, 0.9)])
@pytest.mark.parametrize("rule", ["min_pass_rate", "min_pass_rate_low"])
def test_pass_rates_at_the_limit_are_decided_wrongly_as_rarely_as_promised(
    rule: Rule, cases: int, limit: float, off: int, unscored: int, orders: int
) -> None:
    decided = cases - unscored
    count = passes_needed if rule == "min_pass_rate" else passes_needed_for_low
    passed = count(decided, limit) + off
    if passed > decided:
        passed = decided

    results = verdicts([1] * passed + [0] * (decided - passed) + [None] * unscored)
    _, wrong = stopped(rule, limit, results, orders)

    assert wrong <= allowed(orders)


@pytest.mark.long
@ORDERS
@pytest.mark.parametrize("unscored", [0, 5])
@pytest.mark.parametrize("gap", [0.0, -0.002])
def test_means_at_the_limit_are_decided_wrongly_as_rarely_as_promised(gap: float, unscored: int, orders: int) -> None:
    chance = random.Random(5)
    given = [round(chance.betavariate(8, 2), 2) for _ in range(100)]
    limit = math.fsum(given) / 100 - gap

    _, wrong = stopped("min_mean", limit, scores([*given, *[None] * unscored]), orders)

    assert wrong <= allowed(orders)
