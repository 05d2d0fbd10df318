"""Ranking from profiles to the order, by way of a run that is stored, stopped, gone on with, and read again."""

from __future__ import annotations

import asyncio
import csv
import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from evenhand import (
    Case,
    CaseResult,
    ConfigError,
    Contains,
    Profile,
    RankedProfiles,
    RunStoppedError,
    Scripted,
    compare,
    evaluate,
    evaluate_profiles,
    rank,
    registry,
)
from evenhand.engine.job import Job, Pace
from evenhand.engine.runner import Runner
from evenhand.engine.store_location import StoreLocation
from evenhand.profiles.modes import with_next_rounds
from evenhand.profiles.ranking import entrants, report
from evenhand.profiles.ranking.design import RankingDesign
from evenhand.profiles.ranking.fit import ranks_from
from evenhand.reports.json import canonical

# Each fits a hundred times, and together they take a while.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_draws")]

SHOWN = re.compile(r'<profile_([A-Z]) id="\w+">\nworth (\d+)\n')


def worth(count: int) -> list[Profile]:
    """Profiles that say in their text how good they are; their order is mixed, their ids say nothing."""
    mixed = sorted(range(count), key=lambda number: (number * 7919) % (count + 1))
    return [Profile(id=f"p{place}", text=f"worth {number}") for place, number in enumerate(mixed)]


def in_truth(profiles: list[Profile]) -> tuple[str, ...]:
    return tuple(one.id for one in sorted(profiles, key=lambda one: -int(one.text.split()[1])))


def honest(messages: Any) -> str:
    """Put a group in its true order."""
    shown = SHOWN.findall(messages[-1]["content"])
    return json.dumps({"reasoning": "", "order": [label for label, _ in sorted(shown, key=lambda one: -int(one[1]))]})


def fair(messages: Any) -> str:
    """Name the better of a pair."""
    a, b = re.findall(r"worth (\d+)", messages[-1]["content"])
    return json.dumps({"reasoning": "", "winner": "A" if int(a) > int(b) else "B"})


@pytest.mark.parametrize(
    ("count", "options"),
    [
        (30, {"group_size": 5, "rounds": 8}),
        pytest.param(50, {"group_size": 10, "rounds": 8}, marks=pytest.mark.long),
        (12, {"group_size": 4, "rounds": 8}),
        (8, {"group_size": 10, "rounds": 2}),
        (9, {"group_size": 2, "rounds": 9, "design": "random", "seed": 4}),  # by which all neighbours meet
        (2, {}),
    ],
)
def test_a_judge_without_noise_gives_the_exact_order(count: int, options: dict[str, Any]) -> None:
    profiles = worth(count)
    judge = fair if options.get("group_size") == 2 else honest

    ranked = rank(profiles, criteria="Worth", judge=judge, store=None, **options)

    assert ranked.order == in_truth(profiles)
    assert [one.rank for one in ranked] == list(range(1, count + 1))


def test_mode_ranking_presents_profiles_in_groups_and_the_judge_ranks_them() -> None:
    ranked = evaluate_profiles(worth(12), mode="ranking", criteria="Worth", judge=honest, group_size=4, store=None)

    assert isinstance(ranked, RankedProfiles)
    assert ranked.run.name == "profiles"
    # Three groups of four, but the third and the fifth round begin with half a group.
    assert len(ranked.run) == 3 + 3 + 4 + 3 + 4


def test_each_profile_has_its_rank_interval_tier_and_strength() -> None:
    ranked = rank(worth(10), criteria="Worth", judge=honest, rounds=5, store=None)

    best = next(iter(ranked))
    assert best == ranked[ranked.order[0]]
    assert (best.rank, best.tier, best.groups, best.failures) == (1, 1, 5, 0)
    assert best.interval is not None
    assert best.interval[0] == 1
    assert best.strength is not None
    assert best.strength > 0
    assert [one.strength for one in ranked] == sorted((one.strength or 0 for one in ranked), reverse=True)


def test_the_order_in_which_a_group_was_shown_is_on_record() -> None:
    ranked = rank(worth(6), criteria="Worth", judge=honest, group_size=3, rounds=2, store=None)

    for group in ranked.run:
        shown = [one["text"] for one in group.case.metadata["profiles"]]
        request = group.judgments[0].evaluation.evaluator_provider_request or {}
        assert re.findall(r"worth \d+", request["userPrompt"]) == shown


def test_a_group_whose_judge_fails_counts_for_nobody_and_is_said() -> None:
    profiles = worth(6)

    def moody(messages: Any) -> str:
        return "no" if "worth 5" in messages[-1]["content"] else honest(messages)

    ranked = rank(profiles, criteria="Worth", judge=moody, group_size=3, rounds=2, max_attempts=2, store=None)

    lost = ranked[next(one.id for one in profiles if one.text == "worth 5")]
    assert ranked.ranks.refused == (lost.id,)
    assert (lost.rank, lost.strength, lost.interval, lost.failures) == (None, None, None, ranked.ranks.failed)
    assert sorted(ranked.order) == sorted(one.id for one in profiles if one.id != lost.id)
    assert list(ranked)[-1].rank is None
    assert ranked.run.summary.retries == ranked.ranks.failed
    assert f"the judge refused these profiles, even next to one it had already ranked: {lost.id}" in ranked.report()


def test_replies_that_could_not_be_used_are_counted_apart_from_retries() -> None:
    ranked = rank(worth(6), criteria="Worth", judge=lambda _: "no", group_size=3, max_attempts=3, store=None)

    assert ranked.ranks.invalid_replies == 3 * ranked.failed_groups
    assert ranked.ranks.total_retries == 2 * ranked.failed_groups
    assert ranked.run.summary.discarded["unparsable"].replies == ranked.ranks.invalid_replies
    told = f"{3 * ranked.failed_groups} replies could not be used; {2 * ranked.failed_groups} retries"
    assert told in ranked.report()
    assert "evenhand resume" not in ranked.report()  # no command finds a run in memory


def test_failures_of_pairs_name_a_profile_and_no_candidate() -> None:
    ranked = rank(worth(2), criteria="Worth", judge=lambda _: "no", group_size=2, max_attempts=1, store=None)

    (error, *_) = [error for _, error in ranked.errors]
    first, _ = next(iter(ranked.run)).case.metadata["profiles"]
    assert error == f"unparsable: the reply has no complete JSON object (with profile '{first['id']}' as A)"


def test_a_profile_that_was_ranked_keeps_its_rank_where_the_judge_refuses_it_later() -> None:
    profiles = worth(6)
    seen: list[str] = []

    def fickle(messages: Any) -> str:
        text = messages[-1]["content"]
        if "worth 5" in text:
            seen.append(text)
        return "no" if "worth 5" in text and len(seen) > 1 else honest(messages)

    ranked = rank(profiles, criteria="Worth", judge=fickle, group_size=6, max_attempts=1, concurrency=1, store=None)

    (best,) = (one.id for one in profiles if one.text == "worth 5")
    assert (ranked[best].rank, ranked[best].groups) == (1, 1)
    assert (ranked.ranks.refused, ranked.ranks.partly_refused) == ((), (best,))
    assert f"ranked in some groups, refused in another, and therefore in no further ones: {best}" in ranked.report()
    assert "the judge refused these" not in ranked.report()


def test_csv_and_junit_files_name_who_has_no_rank_and_why(tmp_path: Path) -> None:
    def moody(messages: Any) -> str:
        return "no" if "worth 5" in messages[-1]["content"] else honest(messages)

    options: dict[str, Any] = {"criteria": "Worth", "judge": moody, "max_attempts": 1, "concurrency": 1, "store": None}
    refusing = rank(worth(6), group_size=3, rounds=2, **options)
    with pytest.raises(RunStoppedError) as stopped:
        rank(worth(5), group_size=2, rounds=2, max_calls=4, **(options | {"judge": fair}))
    apart = RankedProfiles(stopped.value.run)

    def noted(made: RankedProfiles) -> dict[str, tuple[str, str]]:
        with made.save(tmp_path / "ranking.csv").open(newline="") as file:
            return {row["id"]: (row["rank"], row["note"]) for row in csv.DictReader(file)}

    (lost,) = refusing.ranks.refused
    assert noted(refusing)[lost] == ("", "refused by the judge")
    notes = noted(apart)
    assert {notes[identity] for one in apart.ranks.apart for identity in one} == {("", "not compared with the others")}
    assert [note for rank, note in notes.values() if note != "not compared with the others"] == ["not ranked yet"]
    for made in (refusing, apart):
        xml = made.save(tmp_path / "ranking.xml").read_text()
        said = html.unescape(xml.partition("</testcase>\n<system-out>")[2])
        assert xml.count("<testcase") == len(made.run) + (made is apart)
        assert (
            f"the judge refused these profiles, even next to one it had already ranked: {lost}" in said or made is apart
        )
        assert "no ranks: the profiles are in 2 sets" in said or made is refusing
        assert '<property name="has_order" value="false"/>' in xml


@pytest.mark.parametrize("group_size", [2, 3])
@pytest.mark.parametrize("green", [3, *(pytest.param(green, marks=pytest.mark.long) for green in (2, 4))])
def test_nobody_is_in_two_of_those_who_are_ranked_refused_apart_or_in_no_group(green: int, group_size: int) -> None:
    """The judge refuses to compare green ones with others, and whoever is shown beside the wrong one is blamed."""

    def choosy(messages: Any) -> str:
        found = [int(one) < green for one in re.findall(r"worth (\d+)", messages[-1]["content"])]
        return "no" if any(found) and not all(found) else (fair if group_size == 2 else honest)(messages)

    ranked = rank(
        worth(8), criteria="Worth", judge=choosy, group_size=group_size, max_attempts=1, concurrency=1, store=None
    )

    ranks = ranked.ranks
    lists = [*ranks.order, *ranks.refused, *(identity for one in ranks.apart for identity in one)]
    assert len(set(lists)) == len(lists)
    assert set(ranks.profiles.without_rank).isdisjoint(ranks.partly_refused)
    assert set(ranks.refused) <= set(ranks.profiles.without_rank)
    assert all(ranked[identity].groups == 0 for identity in {one.id for one in ranked} - set(lists))


def test_where_every_group_failed_nobody_has_a_rank(tmp_path: Path) -> None:
    ranked = rank(worth(6), criteria="Worth", judge=lambda _: "no", group_size=3, max_attempts=1, store=None)

    page = ranked.save(tmp_path / "ranking.html").read_text()

    assert ranked.order == ()
    assert [one.rank for one in ranked] == [None] * 6
    assert (ranked.agreement.share, ranked.length, ranked.cycles) == (None, None, ())
    assert "unranked, because none of their groups was ranked" in page
    assert "nothing was ranked: every group failed" in page
    assert "nothing can be said: no group was ranked" in page
    assert "cycles: none" not in page
    assert "two rounds" not in page
    assert ">Score<" not in page


def test_a_report_begins_with_whether_the_judge_agrees_with_itself(tmp_path: Path) -> None:
    ranked = rank(worth(8), criteria="Worth", judge=honest, group_size=4, rounds=4, store=None)

    for name in ("ranking.html", "ranking.md"):
        text = ranked.save(tmp_path / name).read_text()
        assert 0 < text.index("earlier rounds predict") < text.index("strength")


def test_one_round_in_several_groups_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(
        ConfigError, match="rounds is 1, and 12 profiles are more than one group of 4: those of different"
    ):
        rank(worth(12), criteria="Worth", judge=Scripted([]), group_size=4, rounds=1, store=None)


def test_those_that_were_never_compared_are_named_and_have_no_joint_ranks() -> None:
    options: dict[str, Any] = {"criteria": "Worth", "judge": honest, "rounds": 2, "concurrency": 1, "store": None}
    with pytest.raises(RunStoppedError) as stopped:
        rank(worth(9), group_size=3, max_calls=3, **options)
    with pytest.raises(RunStoppedError) as later:
        rank(worth(7), group_size=4, max_calls=2, **options)

    none, most = (RankedProfiles(error.value.run) for error in (stopped, later))

    assert none.order == ()
    assert sorted(map(len, none.ranks.apart)) == [3, 3, 3]
    assert (
        "no ranks: the profiles are in 3 sets, and no profile was compared with one from another set" in none.report()
    )
    assert [one.rank for one in most] == [1, 2, 3, 4, None, None, None]  # the set with more than half has ranks
    assert [len(one) for one in most.ranks.apart] == [3]
    assert "3 profiles without a rank, because they were compared with none of the others: " in most.report()
    assert rank(worth(7), group_size=4, **options).ranks.apart == ()


def test_predictions_that_are_all_ties_have_no_interval_of_no_width() -> None:
    """It was 50% [50%, 50%]."""

    def same(_: Any) -> str:
        return '{"reasoning": "", "winner": "A"}'

    ranked = rank(worth(4), criteria="Worth", judge=same, group_size=2, rounds=2, store=None)

    assert ranked.agreement.share == 0.5
    assert ranked.agreement.interval is None
    assert "50% of the judge's later choices" in ranked.report()


def test_a_profile_in_one_group_only_has_no_interval() -> None:
    ranked = rank(worth(4), criteria="Worth", judge=honest, rounds=1, store=None)

    assert [one.interval for one in ranked] == [None] * 4
    assert [one.tier for one in ranked] == [None] * 4


def test_a_judge_that_likes_whatever_comes_first_is_found_out() -> None:
    def first(messages: Any) -> str:
        return json.dumps({"reasoning": "", "order": [label for label, _ in SHOWN.findall(messages[-1]["content"])]})

    ranked = rank(worth(40), criteria="Worth", judge=first, group_size=5, rounds=4, store=None)

    bias = ranked.position_bias
    assert bias.found
    assert bias.test.places == pytest.approx((0, 0.25, 0.5, 0.75, 1))
    assert (bias.advantage or 0) > 5
    assert max(abs(one.strength or 0) for one in ranked) < 1


def test_pairs_that_flip_are_ties_and_the_place_is_blamed() -> None:
    ranked = rank(
        worth(6), criteria="Worth", judge=lambda _: '{"reasoning": "", "winner": "A"}', group_size=2, store=None
    )

    assert {one.win_rate for one in ranked} == {0.5}
    assert {one.rank for one in ranked} == {1}
    assert {one.interval for one in ranked} == {(1, 6)}
    assert ranked.position_bias.found
    assert ranked.position_bias.test.places == (0.0, 1.0)


def test_pairs_have_win_rates_with_intervals() -> None:
    profiles = worth(6)

    ranked = rank(profiles, criteria="Worth", judge=fair, group_size=2, rounds=5, store=None)

    rates = [one.win_rate or 0 for one in ranked]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 1
    best = next(iter(ranked)).win_rate_interval
    assert best is not None
    assert best.low < 0.7
    assert best.high == 1


def test_a_love_of_length_is_taken_out_of_win_rates() -> None:
    """Quality and length are independent; the judge goes by quality plus a known bonus for each doubling."""
    quality = {f"p{number}": number % 5 for number in range(25)}
    profiles = [
        Profile(id=name, text=f"quality {points} " + "x" * (20 * 2 ** (int(name[1:]) // 5)))
        for name, points in quality.items()
    ]

    def judge(messages: Any) -> str:
        texts = re.findall(r'<answer_[ab] id="\w+">\n(quality (\d) x+)', messages[-1]["content"])
        a, b = (int(points) + 1.5 * (len(text)).bit_length() for text, points in texts)
        return json.dumps({"reasoning": "", "winner": "tie" if a == b else "A" if a > b else "B"})

    ranked = rank(profiles, criteria="Quality", judge=judge, group_size=2, rounds=16, design="random", store=None)

    assert ranked.length is not None
    assert ranked.length.interval[0] > 0
    plain = [sum(one.win_rate or 0 for one in ranked if quality[one.id] == points) / 5 for points in range(5)]
    controlled = [
        sum(one.win_rate_without_length or 0 for one in ranked if quality[one.id] == points) / 5 for points in range(5)
    ]
    assert controlled == sorted(controlled)
    assert controlled[4] - controlled[0] > plain[4] - plain[0]
    by_length = [
        sum(one.win_rate_without_length or 0 for one in ranked if int(one.id[1:]) // 5 == step) / 5 for step in range(5)
    ]
    assert max(by_length) - min(by_length) < 0.12


def test_cycles_are_told() -> None:
    beats = {"rock": "scissors", "scissors": "paper", "paper": "rock"}

    def judge(messages: Any) -> str:
        a, b = re.findall(r"\n(rock|paper|scissors)\n", messages[-1]["content"])
        return json.dumps({"reasoning": "", "winner": "A" if beats[a] == b else "B"})

    profiles = [Profile(id=name, text=name) for name in beats]
    ranked = rank(profiles, criteria="Strength", judge=judge, group_size=2, rounds=8, store=None)

    (cycle,) = ranked.cycles
    assert sorted(cycle) == ["paper", "rock", "scissors"]
    assert {one.rank for one in ranked} == {1}


def of_different_lengths(count: int) -> list[Profile]:
    return [Profile(id=one.id, text=f"{one.text}\n{'x' * 2**place}") for place, one in enumerate(worth(count))]


def test_one_group_shows_neither_cycles_nor_what_length_does() -> None:
    ranked = rank(of_different_lengths(12), criteria="Worth", judge=honest, group_size=12, rounds=1, store=None)

    assert (len(ranked.order), ranked.length, ranked.cycles) == (12, None, ())
    assert "length: cannot tell; too few judged groups\n" in ranked.report()
    assert "cycles: cannot tell; that takes 3 or more judged groups\n" in ranked.report()


def test_profiles_that_are_equally_strong_do_not_show_what_length_does() -> None:
    """It was +0.00 [+0.00, +0.00]; no effect found."""

    def by_place(messages: Any) -> str:
        return json.dumps({"reasoning": "", "order": [label for label, _ in SHOWN.findall(messages[-1]["content"])]})

    ranked = rank(of_different_lengths(12), criteria="Worth", judge=by_place, group_size=12, rounds=4, store=None)

    assert {one.rank for one in ranked} == {1}
    assert ranked.length is None
    assert "length: cannot tell; all profiles are equally strong\n" in ranked.report()


@pytest.mark.parametrize("group_size", [4, 2])
def test_a_ranking_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path: Path, group_size: int) -> None:
    profiles, judge = worth(16), fair if group_size == 2 else honest
    options: dict[str, Any] = {"criteria": "Worth", "judge": judge, "group_size": group_size, "rounds": 4}
    whole = rank(profiles, store=None, **options)
    database = str(tmp_path / "runs.db")
    with pytest.raises(RunStoppedError) as stopped:
        rank(profiles, store=database, max_calls=11, **options)
    run = stopped.value.run
    assert run is not None
    assert len(run) < len(whole.run)

    finished = resumed(run.id, database, judge)

    assert finished.order == whole.order
    assert [group.case.metadata for group in finished.run] == [group.case.metadata for group in whole.run]
    assert finished.to_dicts() == whole.to_dicts()


@pytest.mark.parametrize(
    "design", ["swiss", *(pytest.param(design, marks=pytest.mark.long) for design in ("random", "staged"))]
)
@pytest.mark.parametrize(
    "count", [3, pytest.param(5, marks=pytest.mark.long), pytest.param(7, marks=pytest.mark.sweep)]
)
def test_pairs_of_an_odd_number_go_on_from_wherever_they_were_stopped(tmp_path: Path, design: str, count: int) -> None:
    options: dict[str, Any] = {"criteria": "Worth", "judge": fair, "group_size": 2, "rounds": 2, "design": design}
    database = str(tmp_path / "runs.db")
    profiles = worth(count)
    whole = rank(profiles, store=None, concurrency=1, **options)
    assert sorted(whole.order) == sorted(one.id for one in profiles)

    for calls in range(1, 2 * len(whole.run)):
        with pytest.raises(RunStoppedError) as stopped:
            rank(profiles, store=database, max_calls=calls, concurrency=1, cache=False, **options)
        run = stopped.value.run
        assert run is not None
        assert sorted(RankedProfiles(run).ranks.profiles.ids) == sorted(whole.order)

        finished = resumed(run.id, database, fair)

        assert canonical(finished.run.whole_report) == canonical(whole.run.whole_report)
        assert finished.to_dicts() == whole.to_dicts()


def resumed(identity: str, database: str, judge: Callable[[Any], str]) -> RankedProfiles:
    """Go on with a run from what the store has, with the judge that only a program has."""
    with StoreLocation.of(database).opened() as store:
        run = store.runs.find(identity)
        (own,) = run.definition["evaluators"]
        known = {key: value for key, value in own.items() if key != "python"}
        evaluators = (registry.evaluator({**known, "judge": registry.judge(judge)}),)
        job = Job(name=run.name, definition=run.definition, cases=lambda: (), evaluators_for=lambda _: evaluators)
        asyncio.run(Runner(store, run, with_next_rounds(job), Pace()).run())
    return RankedProfiles.open(identity, store=database)


def test_a_ranking_is_read_again_from_the_store_and_written_to_files(tmp_path: Path) -> None:
    database = str(tmp_path / "runs.db")
    profiles = [{"id": "anna", "text": "worth 3", "city": "Graz"}, {"id": "=1+1", "text": "worth 1"}]
    ranked = rank(profiles, criteria="Worth", judge=honest, rounds=8, store=database)

    again = RankedProfiles.open(store=database)
    for ending in ("csv", "json", "jsonl", "md", "html", "xml"):
        again.save(tmp_path / f"ranking.{ending}")

    assert again.to_dicts() == ranked.to_dicts()
    assert again["anna"].attributes == {"city": "Graz"}
    with (tmp_path / "ranking.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["rank"] for row in rows] == ["1", "2"]
    assert rows[1]["id"].startswith("'=")  # a spreadsheet must not work it out
    told = json.loads((tmp_path / "ranking.json").read_text())
    assert told["ranking"]["order"] == ["anna", "=1+1"]
    assert told["ranking"]["design"] == "swiss"
    assert [json.loads(line)["id"] for line in (tmp_path / "ranking.jsonl").read_text().splitlines()] == [
        "anna",
        "=1+1",
    ]
    assert "| 1 |" in (tmp_path / "ranking.md").read_text()
    page = (tmp_path / "ranking.html").read_text()
    assert "Leaderboard" in page
    assert "anna: rank 1" in page


def test_markup_in_a_profile_stays_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    ranked = rank(
        [{"id": hostile, "text": f"worth 1\n{hostile}"}, {"id": "b", "text": "worth 2"}],
        criteria="Worth",
        judge=lambda _: '{"reasoning": "<img src=x onerror=alert(1)>", "order": ["A", "B"]}',
        store=None,
    )

    page = ranked.save(tmp_path / "ranking.html").read_text()

    assert hostile not in page
    assert "<img src=x" not in page


@pytest.mark.parametrize(
    ("profiles", "why"),
    [
        ([], "profiles: there are no profiles"),
        (["Alone."], "there is only one profile; a ranking needs two or more"),
        (
            [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}],
            "profile 2: duplicate id 'a', first in profile 1",
        ),
        ([{"id": "a", "text": "x"}, {"id": "b", "text": " "}], "profile 2: profile 'b': its text is empty"),
    ],
)
def test_what_cannot_be_ranked_is_refused_before_anybody_is_asked(profiles: list[Any], why: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(why)):
        rank(profiles, criteria="Worth", judge=Scripted([]), store=None)


def test_profiles_may_come_from_anything_that_gives_them_once() -> None:
    def once() -> Iterator[Profile]:
        yield from worth(7)

    assert rank(once(), criteria="Worth", judge=honest, store=None).order == in_truth(worth(7))


def test_a_profile_is_looked_up_by_its_id() -> None:
    ranked = rank(worth(7), criteria="Worth", judge=honest, store=None)

    assert [ranked[identity].rank for identity in ranked.order] == [1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(KeyError, match="nobody"):
        ranked["nobody"]


def test_a_mode_that_does_not_exist_is_named() -> None:
    with pytest.raises(ConfigError, match="mode is 'rating'; it must be 'scoring' or 'ranking'"):
        evaluate_profiles(["a"], mode="rating")


@pytest.mark.parametrize("metadata", [{}, {"round": 1}, {"round": 1, "profiles": [{"id": "a"}]}, {"profiles": 3}])
def test_groups_that_are_none_are_told_and_not_guessed(metadata: dict[str, Any]) -> None:
    result = CaseResult(position=0, case=Case(id="g", metadata=metadata))

    with pytest.raises(ConfigError, match="these are not the groups of a ranking"):
        ranks_from([result], RankingDesign())


@pytest.mark.parametrize("number", [10**9, -1, 1.5, True, "7"])
def test_a_number_that_no_profile_has_makes_no_room_for_a_billion(number: Any) -> None:
    members = [{"id": "a", "number": 0, "text": "A"}, {"id": "b", "number": number, "text": "B"}]
    result = CaseResult(position=0, case=Case(id="g", metadata={"round": 1, "profiles": members}))

    with pytest.raises(ConfigError, match="a profile has the number"):
        ranks_from([result], RankingDesign())


def test_more_profiles_than_a_ranking_takes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entrants, "MOST_ENTRANTS", 3)

    with pytest.raises(ConfigError, match="there are 4 profiles; a ranking takes 3 at most"):
        rank(worth(4), criteria="Worth", judge=Scripted([]), store=None)


def test_rankings_are_not_compared_by_scores() -> None:
    first, second = (rank(worth(4), criteria="Worth", judge=honest, seed=seed, store=None).run for seed in (1, 2))

    with pytest.raises(ConfigError, match="it cannot be compared; view the reports of both rankings side by side"):
        compare(first, second)


def test_other_runs_are_no_rankings() -> None:
    run = evaluate([{"candidate_answer": "a"}], Contains(value="a"), store=None)

    with pytest.raises(ConfigError, match="does not rank profiles"):
        RankedProfiles(run)


def test_a_ranking_is_fitted_once_for_its_numbers_its_report_and_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = Mock(wraps=ranks_from)
    monkeypatch.setattr(report, "ranks_from", fit)
    ranked = rank(worth(8), criteria="Worth", judge=honest, group_size=4, rounds=4, store=None)

    assert ranked.report()
    for name in ("a.csv", "a.html", "a.json"):
        assert ranked.save(tmp_path / name).exists()

    assert (len(ranked.order), ranked.tiers > 0) == (8, True)
    assert fit.call_count == 1
