"""A judge that shuffles gets no leaderboard: no rank and no order in what people read, and a plain word for programs."""

from __future__ import annotations

import csv
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from evenhand import RankedProfiles, rank

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_draws")]  # it is a ranking of some rounds


def shuffling(messages: Any) -> str:
    """Put a group in an order that has nothing to do with what is in it."""
    text = messages[-1]["content"]
    letters = re.findall(r"<profile_([A-Z]) id=", text)
    random.Random(text).shuffle(letters)
    return json.dumps({"reasoning": "", "order": letters})


def called_ties(_: Any) -> str:
    return '{"reasoning": "", "winner": "tie"}'


PROFILES = [{"id": f"p{number:02}", "text": f"worth {number}"} for number in range(25)]


@pytest.fixture(scope="module")
def shuffled() -> RankedProfiles:
    return rank(PROFILES, criteria="Worth", judge=shuffling, group_size=5, store=None)


def test_people_see_profiles_by_their_ids_and_no_ranks(shuffled: RankedProfiles) -> None:
    assert not shuffled.ranks.has_order
    lines = shuffled.report().splitlines()

    heading = lines.index("Profiles")
    assert lines[heading + 1] == "in the order of their ids, which says nothing about how good they are"
    rows = [line.split() for line in lines[heading + 4 : heading + 29]]
    assert [row[3] for row in rows] == [one["id"] for one in PROFILES]
    assert {(row[0], row[2]) for row in rows} == {("–", "–")}
    assert all(re.fullmatch(r"\d+–\d+", row[1]) for row in rows)
    assert "25 profiles compared in 27 groups, no ranks and no tiers: no order was found" in shuffled.report()


@pytest.mark.parametrize("name", ["ranking.html", "ranking.md"])
def test_files_for_people_have_no_leaderboard(shuffled: RankedProfiles, name: str, tmp_path: Path) -> None:
    page = shuffled.save(tmp_path / name).read_text().replace("\\", "")

    assert "no order: " in page
    assert "Leaderboard" not in page
    assert not re.search(r"p\d\d: rank", page)
    places = [page.index(f"{one['id']}: no rank" if name.endswith("html") else one["id"]) for one in PROFILES]
    assert places == sorted(places)
    if name.endswith("html"):
        assert '<p class="unfinished">no order: ' in page
        assert "<h2>Profiles</h2>" in page
        assert 'class="outcome leaderboard unordered"' in page  # in which the first row is not in bold type


def test_files_for_programs_say_whether_there_is_an_order(shuffled: RankedProfiles, tmp_path: Path) -> None:
    told = json.loads(shuffled.save(tmp_path / "ranking.json").read_text())
    with shuffled.save(tmp_path / "ranking.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in shuffled.save(tmp_path / "ranking.jsonl").read_text().splitlines()]

    assert "in the order of their ids" not in shuffled.save(tmp_path / "ranking.xml").read_text()
    assert told["ranking"]["has_order"] is False
    assert [one["rank"] for one in told["profiles"]] == [one.rank for one in shuffled]
    assert told["ranking"]["order"] == list(shuffled.order)
    assert {(row["rank"], row["tier"]) for row in rows} == {("", "")}
    assert all(row["low"] and row["strength"] for row in rows)
    assert {line["rank"] for line in lines} == {None}


def test_a_top_is_none_where_there_is_no_order() -> None:
    made = rank(PROFILES, criteria="Worth", judge=shuffling, group_size=5, top=3, store=None)

    assert not re.search(r"and \d+ more profiles;", made.report())


def test_a_judge_that_calls_every_pair_a_tie_does_not_shuffle() -> None:
    made = rank(PROFILES[:6], criteria="Worth", judge=called_ties, group_size=2, store=None)
    two = rank(PROFILES[:2], criteria="Worth", judge=called_ties, group_size=2, rounds=1, store=None)

    for one in (made, two):
        assert "no order: the judge called every pair a tie\n" in one.report()
        assert not one.ranks.has_order
        assert one.tiers == 0
        assert "led by" not in repr(one)


@pytest.mark.parametrize(("count", "group_size"), [(4, 10), (5, 10), (6, 3), (12, 4)])
def test_a_judge_that_goes_by_the_position_alone_leaves_everybody_equal(count: int, group_size: int) -> None:
    def as_shown(messages: Any) -> str:
        shown = re.findall(r"<profile_([A-Z]) id=", messages[-1]["content"])
        return json.dumps({"reasoning": "", "order": shown})

    made = rank(PROFILES[:count], criteria="Worth", judge=as_shown, group_size=group_size, store=None)

    assert {one.rank for one in made} == {1}
    assert {one.strength for one in made} == {0}
    assert "-0.00" not in made.report()


def test_a_judge_with_an_order_has_one_in_json(tmp_path: Path) -> None:
    def by_worth(messages: Any) -> str:
        shown = re.findall(r'<profile_([A-Z]) id="\w+">\nworth (\d+)', messages[-1]["content"])
        return json.dumps({"reasoning": "", "order": [one for one, _ in sorted(shown, key=lambda one: -int(one[1]))]})

    made = rank(PROFILES, criteria="Worth", judge=by_worth, group_size=5, store=None)

    assert json.loads(made.save(tmp_path / "ranking.json").read_text())["ranking"]["has_order"] is True
    assert made.report().split("strength  groups\n")[1].split()[3] == "p24"
