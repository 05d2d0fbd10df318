"""The figures of a judge are what they are called, and those that we publish are the ones that were measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bench.embedded.measure import Item, auc, best_cut, figures, pair_margin, share

from evenhand.models.embedded.catalogue import MODELS, QWEN, KnownModel

pytestmark = pytest.mark.slow  # many small ones, which together would take the fast tests beyond their minute

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench" / "embedded"
MEASURED = json.loads((FOLDER / "measured-qwen2.5-coder-1.5b.json").read_text(encoding="utf-8"))


def item(met: float, unmet: float, *odds: float) -> Item:
    return Item(id="x", kind="fact", met=met, unmet=unmet, odds=(odds[0], odds[1]) if odds else (1.0, 1.0))


def test_a_judge_that_knows_has_an_auc_of_one_and_a_cut_in_between() -> None:
    items = [item(0.9, 0.2), item(0.7, 0.4)]

    assert auc(items) == 1.0
    cut, right = best_cut(items)
    assert (round(cut, 9), right) == (0.55, 4)


def test_a_judge_that_leans_differently_for_each_item_can_be_right_on_every_pair_and_wrong_at_any_cut() -> None:
    items = [item(0.9, 0.8), item(0.3, 0.2)]

    found = figures(items)

    assert found["own_pair"][0] == 1.0
    assert found["auc"][0] == 0.75


def test_what_the_place_adds_cancels_out() -> None:
    """It prefers the first place by 2 whatever stands there, and the better answer by a half."""
    assert item(1, 0, 2.5, -1.5).mean_odds == 0.5


def test_beyond_the_margin_at_most_one_in_ten_is_wrong() -> None:
    items = [item(1, 0, one, one) for one in (0.1, -0.2, 0.3, 0.4, 0.5)]

    assert pair_margin(items) == 0.3


def test_a_share_comes_with_its_wilson_interval() -> None:
    assert share([True] * 15 + [False] * 5) == [0.75, 0.531, 0.888]


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_the_figures_we_publish_are_those_that_were_measured(model: KnownModel) -> None:
    quality = model.quality
    assert quality is not None
    measured = json.loads((FOLDER / f"measured-{model.name}.json").read_text(encoding="utf-8"))

    again = figures([Item(**{**one, "odds": tuple(one["odds"])}) for one in measured["items"]])

    for name in ("auc", "accuracy", "failed_good", "passed_bad", "pair_right", "pair_wrong"):
        assert getattr(quality, name) == again[name][0], name
    assert quality.pairs == again["pairs"]


def test_the_cuts_we_ship_are_those_that_were_measured() -> None:
    assert (QWEN.yes_from, QWEN.pair_margin) == (MEASURED["yes_from"], MEASURED["pair_margin"])


def test_the_page_has_the_figures() -> None:
    page = (ROOT / "docs" / "embedded.md").read_text(encoding="utf-8")

    shown = set(re.findall(r"\| (\d\.\d{3}) \| \[(\d\.\d{3}), (\d\.\d{3})\]", page))

    for name in (
        "auc",
        "own_pair",
        "accuracy",
        "failed_good",
        "passed_bad",
        "pair_right",
        "pair_wrong",
        "pair_flipped",
    ):
        assert tuple(f"{one:.3f}" for one in MEASURED[name]) in shown, name
