"""The leaderboard of an HTML file: each rank with the profile's text, its attributes, and what the judge said."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from evenhand import Profile, RankedProfiles, rank
from evenhand.profiles.ranking import leaderboard, profile_view

pytestmark = pytest.mark.usefixtures("few_draws")

SHOWN = re.compile(r'<profile_([A-Z]) id="\w+">\nworth (\d+)')
BELOW = re.compile(r'<tr class="below">.*?</tr>', re.DOTALL)


def by_worth(messages: Any) -> str:
    """Put a group in its true order, and say who is first."""
    shown = sorted(SHOWN.findall(messages[-1]["content"]), key=lambda one: -int(one[1]))
    order = [letter for letter, _ in shown]
    return json.dumps({"reasoning": f"{order[0]} is worth <most> & last.", "order": order})


def ranked(count: int, text: str = "", **options: Any) -> RankedProfiles:
    profiles = [
        Profile(id=f"p{number}", text=f"worth {number} {text}", attributes={"city": f"<Graz {number}>"})
        for number in range(count)
    ]
    return rank(profiles, criteria="Worth", judge=by_worth, store=None, **({"rounds": 4, "group_size": 4} | options))


def below(made: RankedProfiles, path: Path) -> list[str]:
    """Return what the file has below each rank."""
    return BELOW.findall(made.save(path / "ranking.html").read_text())


def words(markup: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", markup)).split())


def test_below_a_rank_are_the_text_the_attributes_and_the_reasons(tmp_path: Path) -> None:
    made = ranked(6)

    first, *others = below(made, tmp_path)

    assert len(others) == 5
    assert words(first).startswith("worth 5 city: <Graz 5> Text and reasons of p5 worth 5")
    assert re.search(r"round-1-group-\d shown as ([A-Z]), place 1 of \d \1 is worth <most> & last\.", words(first))
    assert words(first).count("is worth <most> & last.") == made["p5"].groups


def test_the_whole_text_is_in_a_fold_and_its_beginning_before_it(tmp_path: Path) -> None:
    long = "a nurse on a ward, " * 60

    first = below(ranked(4, long, rounds=1), tmp_path)[0]

    gist, fold = first.split("<details", 1)
    assert len(words(gist)) < 200
    assert "…" in gist
    assert f"worth 3 {long}".strip() in html.unescape(fold)


def test_a_reason_leads_to_its_group_in_the_same_file(tmp_path: Path) -> None:
    made = ranked(6)
    page = made.save(tmp_path / "ranking.html").read_text()

    targets = set(re.findall(r'href="#(case-\d+)"', "".join(BELOW.findall(page))))

    assert len(targets) == len(made.run)
    assert all(f'id="{target}"' in page for target in targets)


def test_where_the_table_has_not_all_groups_reasons_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard, "MOST_ROWS", 3)

    shown = below(ranked(6), tmp_path)

    assert "round-1-group-1" in "".join(shown)
    assert "href=" not in "".join(shown)


def test_only_the_first_have_their_text_and_the_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard, "MOST_WITH_TEXT", 2)

    made = ranked(6)

    assert [re.findall("of (p.)", words(one))[0] for one in below(made, tmp_path)] == ["p5", "p4"]
    assert "The first 2 of 6 profiles have their text and the judge&#39;s reasons here." in (
        (tmp_path / "ranking.html").read_text()
    )


def test_of_many_groups_and_of_a_long_reason_a_part_is_shown_and_the_rest_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_view, "MOST_GROUPS", 1)
    made = rank(
        ["One.", "Another."],
        criteria="Worth",
        judge=lambda _: json.dumps({"reasoning": "why " * 1000 + "the end", "order": ["A", "B"]}),
        rounds=3,
        store=None,
    )

    first = words(below(made, tmp_path)[0])

    assert "… 2,007 characters left out of this page …" in first
    assert first.endswith("the end And 2 more groups.")


def test_a_pair_has_its_outcome_and_a_failed_one_its_error(tmp_path: Path) -> None:
    def one_winner(messages: Any) -> str:
        first, second = re.findall(r"worth (\d)", messages[-1]["content"])
        return json.dumps({"reasoning": "Worth.", "winner": "A" if first > second else "B"})

    options: dict[str, Any] = {"criteria": "Worth", "group_size": 2, "rounds": 1, "max_attempts": 1, "store": None}
    won = rank(["worth 1", "worth 2"], judge=one_winner, **options)
    failed = rank(["worth 1", "worth 2"], judge=lambda _: "no", **options)

    assert "round-1-group-1 profile-2 > profile-1 Worth." in words(below(won, tmp_path)[0])
    assert "round-1-group-1 2 profiles unparsable: " in words(below(failed, tmp_path)[0])
