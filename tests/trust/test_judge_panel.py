"""Several judges: who agrees, who is right, which is the cheapest that will do, and what a jury gains."""

from __future__ import annotations

import random

import pytest
from tests.by_chance import at_least

from evenhand import ConfigError
from evenhand.domain.summary import Rate
from evenhand.stats.refusal import Refused
from evenhand.trust.judge_panel import JudgesComparison, JuryGain, Votes, compare_judges

CASES = 400
PEOPLE = {f"c{number}": number % 2 == 0 for number in range(CASES)}


def votes(name: str, *, wrong: range = range(0), cost: float | None = None, unscored: range = range(0)) -> Votes:
    """Make a judge that errs on some cases."""
    verdicts = {
        f"c{number}": (number % 2 == 0) != (number in wrong) for number in range(CASES) if number not in unscored
    }
    return Votes(name=name, run="r", evaluator=name, verdicts=verdicts, unscored=len(unscored), cost=cost)


def by_name(found: JudgesComparison, name: str) -> tuple[float | None, bool | None]:
    one = next(each for each in found.judges if each.name == name)
    assert isinstance(one.accuracy, Rate)
    return one.accuracy.value, one.within


def test_the_cheapest_judge_within_the_margin_of_the_best_is_named() -> None:
    panel = [
        votes("dear", wrong=range(4), cost=0.01),
        votes("near", wrong=range(2, 8), cost=0.002),
        votes("bad", wrong=range(100), cost=0.0001),
    ]

    found = compare_judges(panel, PEOPLE)

    assert (found.best, found.cheapest, found.labelled) == ("dear", "near", CASES)
    assert [by_name(found, name) for name in ("dear", "near", "bad")] == [(0.99, True), (0.985, True), (0.75, False)]
    assert found.judges[2].cost_per_correct == pytest.approx(0.0001 / 0.75)
    pair = found.pairs[0]
    assert (pair.a, pair.b, pair.cases) == ("dear", "near", CASES)
    assert isinstance(pair.agreement, Rate)
    assert pair.agreement.value == 0.985  # they differ on 0, 1, and 4 to 7
    assert any("2 times, so each interval is at the level 95.0%" in note for note in found.notes)


def test_with_few_labels_no_cheaper_judge_is_shown_to_be_as_good() -> None:
    few = {case: PEOPLE[case] for case in list(PEOPLE)[:20]}

    found = compare_judges([votes("dear", cost=1.0), votes("cheap", cost=0.1)], few)

    assert found.judges[1].within is False  # nothing differs, and 20 cases are too few to say so
    assert found.cheapest == "dear"


def test_an_unknown_cost_and_missing_labels_are_said() -> None:
    panel = [votes("a", cost=1.0), votes("b", wrong=range(3))]

    unknown, unlabelled = compare_judges(panel, PEOPLE), compare_judges(panel, {})

    assert unknown.cheapest == Refused("what a judgment of b costs is unknown")
    assert isinstance(unlabelled.best, Refused)
    assert isinstance(unlabelled.cheapest, Refused)
    assert isinstance(unlabelled.judges[0].accuracy, Refused)
    assert isinstance(unlabelled.judges[0].with_majority, Refused)  # of two judges, the other is no majority
    assert isinstance(unlabelled.pairs[0].agreement, Rate)


def test_without_labels_judges_are_held_against_the_majority_of_the_others() -> None:
    panel = [votes("a"), votes("b"), votes("odd", wrong=range(40)), votes("c", unscored=range(10))]

    found = compare_judges(panel, {})

    shares = [each.with_majority.value for each in found.judges if isinstance(each.with_majority, Rate)]
    assert shares == [1.0, 1.0, 0.9, 1.0]
    assert (found.cases, found.judges[3].unscored) == (CASES - 10, 10)


def test_a_jury_of_judges_that_err_on_different_cases_gains_and_of_one_good_judge_loses() -> None:
    apart = [votes("a", wrong=range(40)), votes("b", wrong=range(100, 140)), votes("c", wrong=range(200, 240))]
    one_good = [votes("good"), votes("bad", wrong=range(80)), votes("same", wrong=range(80))]

    gains, loses = (compare_judges(panel, PEOPLE).jury for panel in (apart, one_good))

    assert isinstance(gains, JuryGain)
    assert isinstance(loses, JuryGain)
    assert (gains.accuracy.value, loses.accuracy.value, loses.best.value) == (1.0, 0.8, 1.0)
    assert gains.interval.low > 0 > loses.interval.high
    assert gains.apparent == pytest.approx(0.1)
    assert gains.gain >= gains.apparent  # the member chosen on other labels is no better than the best on all
    assert loses.members == ("good",)


def test_a_jury_that_sat_is_measured_by_its_own_verdicts() -> None:
    panel = [votes("a"), votes("b"), votes("c")]

    found = compare_judges(panel, PEOPLE, jury=votes("panel", wrong=range(10))).jury

    assert isinstance(found, JuryGain)
    assert (found.jury, found.gain) == ("panel", -0.025)


@pytest.mark.long
@pytest.mark.parametrize("draws", [pytest.param(60, id="sample"), pytest.param(400, id="all", marks=pytest.mark.sweep)])
@pytest.mark.parametrize(("rates", "true_gain"), [((0.8, 0.8, 0.8), 0.096), ((0.9, 0.85, 0.85), 0.052)])
def test_the_interval_of_a_jurys_gain_covers_it_and_no_worse_judge_is_called_as_good(
    rates: tuple[float, ...], true_gain: float, draws: int
) -> None:
    chance, covered, called, gains = random.Random(7), 0, 0, 0.0
    for draw in range(draws):
        people = {f"{draw} {number}": True for number in range(200)}
        panel = [
            Votes(name=str(place), run="r", evaluator=None, verdicts={case: chance.random() < rate for case in people})
            for place, rate in enumerate(rates)
        ]

        found = compare_judges(panel, people, margin=0.05)

        assert isinstance(found.jury, JuryGain)
        covered += found.jury.interval.low <= true_gain <= found.jury.interval.high
        gains += found.jury.gain / draws
        called += rates[0] > rates[1] and any(each.within for each in found.judges[1:] if each.name != found.best)
    assert covered >= (0.94 * draws if draws == 400 else at_least(draws, 0.95))
    assert called / draws <= 0.05 + 3 * (0.05 * 0.95 / draws) ** 0.5
    assert gains == pytest.approx(true_gain, abs=0.01)


@pytest.mark.parametrize("margin", [0, 1, float("nan")])
def test_a_margin_that_means_nothing_and_a_single_judge_are_refused(margin: float) -> None:
    with pytest.raises(ConfigError, match="margin is"):
        compare_judges([votes("a"), votes("b")], PEOPLE, margin=margin)
    with pytest.raises(ConfigError, match="there is one judge"):
        compare_judges([votes("a")], PEOPLE)
