"""The pages of rankings and audits: what they say, what the other pages say of such runs, and with hostile texts."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from evenhand import Comparison, Profile, RunStoppedError, audit, compare, rank, score
from evenhand.domain.run import RunStatus
from evenhand.reports.comparison import comparison_text
from evenhand.server.pages import profiles
from evenhand.server.runs.profile_summaries import ProfileNumbers
from evenhand.server.runs.summaries import SummaryCache
from evenhand.store.store import Store

FILES = ("text", "c.json", "c.md", "c.html")
LABELS = re.compile(r'<profile_([A-Z]) id="\w+">\nworth (\d+)')
PROFILES = [Profile(id=f"p{number}", text=f"worth {number}") for number in range(12)]
DESIGN: dict[str, Any] = {
    "template": "{name} has been a nurse for {years} years.",
    "factors": {"name": ["Anna", "Ben", "Cleo"], "years": [2, 10]},
    "groups": ["name"],
    "criteria": "Experience",
    "repetitions": 2,
    "select_at": 6,
    "gates": {"max_group_effect": 0.3},
}


def ordered(messages: Any) -> str:
    shown = LABELS.findall(messages[-1]["content"])
    best = sorted(shown, key=lambda one: -int(one[1]))
    return json.dumps({"reasoning": "Years.", "order": [label for label, _ in best]})


def better(messages: Any) -> str:
    a, b = re.findall(r"worth (\d+)", messages[-1]["content"])
    return json.dumps({"reasoning": "Years.", "winner": "A" if int(a) > int(b) else "B"})


def scoring(messages: Any) -> str:
    said = messages[-1]["content"]
    if "Cleo" in said:
        return "no"
    return json.dumps({"score": 4 + 2 * ("10 years" in said) + ("Ben" in said) / 2, "justification": "Years."})


class Made(NamedTuple):
    """A database with a ranking, its id, and what servers have worked out about it."""

    db: str
    run: str
    numbers: ProfileNumbers
    summaries: SummaryCache


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Twelve profiles, ranked in groups of four."""
    db = str(tmp_path_factory.mktemp("ranked") / "evenhand.db")
    run = rank(PROFILES, criteria="Worth", judge=ordered, group_size=4, rounds=8, name="nurses", store=db).run.id
    return Made(db, run, ProfileNumbers(), SummaryCache())


@pytest.fixture
def db(request: pytest.FixtureRequest, db: str) -> str:
    """The database that the server begins with: a copy of the one with the ranking, if the test is about that."""
    if "ranked" in request.fixturenames:
        shutil.copy(request.getfixturevalue("made").db, db)
    return db


@pytest.fixture
def ranked(client: TestClient, made: Made) -> str:
    """The ranking's id. It is worked out once, since that takes longer than a test."""
    app: Any = client.app
    app.state.profile_numbers, app.state.summary_cache = made.numbers, made.summaries
    return made.run


@pytest.fixture
def audited(client: TestClient, db: str) -> str:
    """An audit of which a level is missing."""
    return audit(DESIGN, judge=scoring, store=db).run.id


# A ranking


def test_a_leaderboard_has_ranks_in_order_tier_by_tier(
    client: TestClient, ranked: str, parsed: Callable[[Any], Any]
) -> None:
    shown = parsed(client.get(f"/runs/{ranked}/ranking"))

    assert shown.one("h1").text == "Leaderboard"
    assert [one.text for one in shown.all("th", scope="row")][:12] == [f"p{n}" for n in range(11, -1, -1)]
    tiers = [one.text for one in shown.all("th", scope="rowgroup")]
    assert len(tiers) > 1
    assert re.fullmatch(r"Tier 1 \d+ profiles?", tiers[0])
    assert len(shown.all("tbody")) == len(tiers) + 1  # and the table of slots
    drawn = [one.text for one in shown.all("title")]
    assert any(re.fullmatch(r"p11: rank 1, 95%: 1–\d+", one) for one in drawn)
    assert "position 4: mean place" in " ".join(drawn)


def test_where_there_is_no_order_no_page_shows_one(client: TestClient, db: str, parsed: Callable[[Any], Any]) -> None:
    def as_shown(messages: Any) -> str:
        order = [label for label, _ in LABELS.findall(messages[-1]["content"])]
        return json.dumps({"reasoning": "", "order": order})

    run = rank(PROFILES[:6], criteria="Worth", judge=as_shown, group_size=3, rounds=2, store=db).run.id

    answer = client.get(f"/runs/{run}/ranking")
    shown = parsed(answer)

    assert "Leaderboard" not in answer.text
    assert shown.one("p", class_="notice warn").text.startswith("No order: ")
    assert [one.text for one in shown.all("th", scope="rowgroup")] == ["In no order 6 profiles"]
    ids = [one.text for one in shown.all("th", scope="row")][:6]
    assert ids == sorted(one.id for one in PROFILES[:6])
    assert sum(one.text.endswith(": rank 1") or ": rank" in one.text for one in shown.all("title")) == 0
    assert "In the order of their ids, which says nothing about how good they are." in answer.text
    for address in ("/", "/runs", f"/runs/{run}"):
        assert "6 profiles, no order found" in client.get(address).text
    told = client.get(f"/api/runs/{run}/ranking").json()["ranking"]
    assert (told["has_order"], len(told["order"])) == (False, 6)


def test_a_leaderboard_says_how_far_the_judge_can_be_believed(client: TestClient, ranked: str) -> None:
    told = client.get(f"/runs/{ranked}/ranking").text

    for said in (
        "12 profiles ranked in",
        "Earlier rounds predict ",
        "Position bias: ",
        "Length: cannot tell; that takes 10 or more profiles of clearly different lengths.",
        "Cycles: none beyond what noise explains.",
    ):
        assert said in told
    assert "may change" not in told


def test_pairs_have_their_win_rates(client: TestClient, db: str, parsed: Callable[[Any], Any]) -> None:
    run = rank(PROFILES[:4], criteria="Worth", judge=better, group_size=2, rounds=3, store=db).run.id

    shown = parsed(client.get(f"/runs/{run}/ranking"))

    assert [one.text for one in shown.all("th", scope="col")][5:9] == [
        "Wins",
        "95%",
        "Wins, length-adjusted",
        "Groups",
    ]
    assert "100%" in [one.text for one in shown.all("td")]


def test_a_ranking_that_was_stopped_says_that_the_order_may_change(client: TestClient, db: str) -> None:
    def moody(messages: Any) -> str:
        return "no" if "worth 3\n" in messages[-1]["content"] else ordered(messages)

    with pytest.raises(RunStoppedError) as stopped:
        rank(PROFILES, criteria="Worth", judge=moody, group_size=4, max_calls=5, concurrency=1, store=db)
    run = stopped.value.run.id

    told = client.get(f"/runs/{run}/ranking").text

    assert "Not finished (stopped):" in told
    assert "The order may change." in told
    assert f'<a href="/runs/{run}/results?status=error">Look at the failed group</a>' in told
    assert "Without a rank" in told
    assert "The order may change." in client.get(f"/runs/{run}").text


def test_a_ranking_that_is_under_way_shows_what_is_there(client: TestClient, ranked: str, store: Store) -> None:
    run = store.runs.find(ranked)
    store.runs.claim(run)
    store.runs.mark(run, RunStatus.RUNNING)

    told = client.get(f"/runs/{ranked}/ranking").text

    assert "The run is in progress. The order may change." in told
    assert "Tier 1" in told


def test_a_long_leaderboard_goes_on_on_further_pages(
    client: TestClient, ranked: str, parsed: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "ON_A_PAGE", 5)

    first, last = (parsed(client.get(f"/runs/{ranked}/ranking?after={n}")) for n in (0, 10))

    def names(shown: Any) -> list[str]:
        return [one.text for one in shown.all("th", scope="row") if "letter" not in one.text]

    assert (names(first), names(last)) == (["p11", "p10", "p9", "p8", "p7"], ["p1", "p0"])
    assert first.one("a", rel="next").attributes["href"] == f"/runs/{ranked}/ranking?after=5"
    assert last.one("a", rel="prev").attributes["href"] == f"/runs/{ranked}/ranking?after=5"


def test_what_takes_long_is_worked_out_while_the_page_says_so(
    client: TestClient, ranked: str, audited: str, wait_seconds: Callable[[float], None], may_end: threading.Event
) -> None:
    app: Any = client.app
    app.state.profile_numbers = ProfileNumbers()
    wait_seconds(0.0)

    assert "The ranking is being computed" in client.get(f"/runs/{ranked}/ranking").text
    assert "is being computed" in client.get(f"/runs/{audited}/audit").text
    may_end.set()
    for _ in range(1200):
        found = client.get(f"/runs/{ranked}/ranking").text
        if "being computed" not in found:
            break
        time.sleep(0.05)

    assert "Tier 1" in found


def test_a_profile_leads_to_exactly_the_groups_it_was_in(
    client: TestClient, ranked: str, store: Store, parsed: Callable[[Any], Any]
) -> None:
    shown = parsed(client.get(f"/runs/{ranked}/ranking"))
    (address,) = [one.attributes["href"] for one in shown.all("a", title="p1")]

    table = parsed(client.get(address))

    groups = [one.case for one in store.results(store.runs.find(ranked))]
    wanted = [case.id for case in groups if any(one["id"] == "p1" for one in case.metadata["profiles"])]
    assert [one.text for one in table.all("span", class_="id")] == wanted
    assert table.one("input", name="profile").attributes["value"] == "p1"
    assert client.get(f"/runs/{ranked}/results?profile={'x' * 201}").status_code == 422


@pytest.mark.parametrize("text", ["worth 7", "P7", "WORTH 11"])
def test_groups_are_found_by_the_words_in_their_profiles(client: TestClient, ranked: str, text: str) -> None:
    found = client.get(f"/api/runs/{ranked}/evaluations", params={"text": text}).json()

    assert 0 < found["total"] < len(client.get(f"/api/runs/{ranked}/evaluations").json()["items"])


def test_no_page_shows_scores_of_groups(client: TestClient, ranked: str, parsed: Callable[[Any], Any]) -> None:
    pages = [client.get(address).text for address in ("/", "/runs", f"/runs/{ranked}", f"/runs/{ranked}/results")]

    for told in pages:
        main = told.partition("<main")[2]
        assert not re.search(r"1\.00|[Mm]ean 1|100%|✓</span> pass<.*</td>", main)
    assert all("12 profiles ranked in" in told for told in pages[:3])
    assert "✓</span> ranked" in pages[3]
    results = parsed(client.get(f"/runs/{ranked}/results"))
    assert results.all("select", name="verdict") == results.all("input", name="min_score") == []
    assert re.search(r">p\d+ &gt; p\d+ &gt; p\d+ &gt; p\d+<", pages[3])


def test_a_group_shows_its_texts_under_letters_and_the_order_that_was_given(
    client: TestClient, ranked: str, store: Store, parsed: Callable[[Any], Any]
) -> None:
    group = next(iter(store.results(store.runs.find(ranked))))
    members = [one["id"] for one in group.case.metadata["profiles"]]
    order = group.judgments[0].evaluation.details["order"]

    shown = parsed(client.get(f"/runs/{ranked}/results/0"))

    assert shown.one("p", class_="order").text == " > ".join(order)
    titles = [one.text for one in shown.all("h2") if "·" in one.text]
    assert titles == [f"{'ABCD'[n]} · {one} · place {order.index(one) + 1} of 4" for n, one in enumerate(members)]
    texts = [one.text.strip() for one in shown.all("pre")]
    assert [one for one in texts if re.fullmatch(r"worth \d+", one)] == [f"worth {one[1:]}" for one in members]
    assert "1.000" not in client.get(f"/runs/{ranked}/results/0").text


def test_a_pair_shows_what_was_said_in_each_order(client: TestClient, db: str) -> None:
    def first(messages: Any) -> str:
        return json.dumps({"reasoning": "", "winner": "A"})

    run = rank(PROFILES[:2], criteria="Worth", judge=first, group_size=2, rounds=1, store=db).run.id

    told = client.get(f"/runs/{run}/results/0").text

    assert re.search(r"p\d = p\d", told)
    assert "p0 shown first, p1 second: p0 is better" in told
    assert "p1 shown first, p0 second: p1 is better" in told


def test_criteria_are_on_top_and_a_row_leads_to_text_attributes_and_reasons(
    client: TestClient, db: str, parsed: Callable[[Any], Any]
) -> None:
    people = [Profile(id=f"p {n}&", text=f"worth {n}\nand <b>bold</b>", attributes={"city": "Graz"}) for n in range(4)]
    run = rank(people, criteria="Worth in euros", judge=ordered, group_size=2 + 2, rounds=3, store=db).run.id

    board = client.get(f"/runs/{run}/ranking")
    shown = parsed(board)
    told = shown_in(board.text)
    assert told.index("Criteria Worth in euros") < told.index("4 profiles ranked")
    assert told.count("city: Graz") == 4
    addresses = [one.attributes["data-from"] for one in shown.all("details") if "data-from" in one.attributes]
    assert len(addresses) == 4
    assert addresses == [one.attributes["href"] for one in shown.all("a") if one.text == "Open the profile"]

    about = client.get(addresses[0])

    assert "worth 3 and &lt;b&gt;bold&lt;/b&gt;" in shown_in(about.text)
    assert "city Graz" in shown_in(about.text)
    assert shown_in(about.text).count("place 1 of 4 Years.") == 3
    assert f"/runs/{run}/results/0" in about.text


def test_a_pair_of_a_profile_has_the_outcome_for_its_place(client: TestClient, db: str) -> None:
    run = rank(PROFILES[:2], criteria="Worth", judge=better, group_size=2, rounds=1, store=db).run.id

    told = shown_in(client.get(f"/runs/{run}/ranking/profile?id=p1").text)

    assert "worth 1" in told
    assert "p1 &gt; p0" in told


def test_a_profile_that_is_not_there_is_not_found(client: TestClient, ranked: str, audited: str) -> None:
    assert client.get(f"/runs/{ranked}/ranking/profile?id=nobody").status_code == 404
    assert client.get(f"/runs/{ranked}/ranking/profile?id={'x' * 201}").status_code == 422
    assert client.get(f"/runs/{audited}/ranking/profile?id=p1").status_code == 409


def test_rankings_are_not_compared_nor_pinned(
    client: TestClient, ranked: str, db: str, post: Callable[..., Any], parsed: Callable[[Any], Any]
) -> None:
    again = rank(PROFILES[:4], criteria="Worth", judge=ordered, group_size=4, rounds=1, name="nurses", store=db).run.id

    refused = client.get(f"/compare?a={ranked}&b={again}").text

    assert "ranks profiles, and a rank is not a score" in refused
    assert parsed(client.get("/runs")).all("input", type="radio") == []
    assert "Pin as baseline" not in client.get(f"/runs/{ranked}").text
    assert post(f"/runs/{ranked}/pin").status_code == 409


def test_rankings_are_not_offered_to_compare(
    client: TestClient, ranked: str, scored: str, db: str, parsed: Callable[[Any], Any]
) -> None:
    again = score(PROFILES, criteria="Worth in euros", judge=by_worth, store=db, max_attempts=1).run.id

    offered = {one.attributes["value"] for one in parsed(client.get("/compare")).all("option")}

    assert {scored, again} <= offered
    assert ranked not in offered


def test_the_files_of_a_ranking_have_a_row_for_each_profile(client: TestClient, db: str) -> None:
    ranked = rank(PROFILES[:4], criteria="Worth", judge=ordered, group_size=4, rounds=1, store=db).run.id
    client.event_hooks = {"request": [], "response": []}  # a report that stands alone has a style of its own

    rows = list(csv.DictReader(io.StringIO(client.get(f"/runs/{ranked}/download.csv").text)))
    told = client.get(f"/runs/{ranked}/download.json").json()
    page = client.get(f"/runs/{ranked}/download.html")

    assert [row["id"] for row in rows] == told["ranking"]["order"] == [f"p{n}" for n in range(3, -1, -1)]
    assert page.headers["content-disposition"] == f'attachment; filename="{ranked}.html"'
    assert "Leaderboard" in page.text
    assert client.get(f"/runs/{ranked}/download.xml").text.startswith("<?xml")


def test_a_leaderboard_explains_its_words(
    client: TestClient, ranked: str, audited: str, parsed: Callable[[Any], Any]
) -> None:
    pages = [parsed(client.get(f"/runs/{run}/{kind}")) for run, kind in ((ranked, "ranking"), (audited, "audit"))]

    headings = [
        {cell.text for cell in page.all("th", scope="col")}
        - {button.text for button in page.all("button", class_="word")}
        for page in pages
    ]
    for page in pages:
        buttons = {one.attributes["popovertarget"] for one in page.elements if "popovertarget" in one.attributes}
        assert buttons == {one.attributes["id"] for one in page.elements if "popover" in one.attributes}
    # What remains says itself what it is.
    assert headings[0] <= {"Profile", "Ranks from 1 to 12", "Position", "best to worst", "Mean place"}
    assert {one for one in headings[1] if " to " not in one} == {
        "effect",
        "note",
        "pairs",
        "largest",
        "calls without a score",
    }
    assert [one.text for one in pages[0].all("h3")] == ["Mean place by position shown"]


# An audit


def test_an_audit_shows_gates_effects_and_what_is_missing(
    client: TestClient, audited: str, parsed: Callable[[Any], Any]
) -> None:
    answer = client.get(f"/runs/{audited}/audit")

    shown = parsed(answer)
    assert shown.one("h1").text == "Audit"
    titles = [one.text for one in shown.all("h2")]
    assert [one for one in titles if one in ("Main effects", "Interactions with groups", "Levels")] == [
        "Main effects",
        "Interactions with groups",
        "Levels",
    ]
    assert "Selected at 6 or more, and the four-fifths rule" in titles
    assert "The same profile with a different group" in titles
    for said in ("max_group_effect: limit 0.3", "is missing", "it is not a legal certificate"):
        assert said in answer.text
    assert "name: Ben − Anna: +0.50" in " ".join(one.text for one in shown.all("title"))
    assert f'<a href="/runs/{audited}/evaluations?status=error">Show the 4 calls without a score</a>' in answer.text


def test_an_audit_has_its_criteria_on_top_and_no_verdicts(
    client: TestClient, audited: str, parsed: Callable[[Any], Any]
) -> None:
    answer = client.get(f"/runs/{audited}/audit")
    shown = parsed(answer)
    client.event_hooks = {"request": [], "response": []}  # a report that stands alone has a style of its own
    file = client.get(f"/runs/{audited}/download.html").text

    said = answer.text
    assert said.index("Criteria") < said.index("Experience") < said.index("gate missed") < said.index("Main effects")
    assert [one.text for one in shown.all("span", class_="badge fail")] == ["✗ gate missed"] * 2
    words = re.sub(r"<[^>]*>", " ", re.sub(r"<(style|script).*?</\1>", "", file, flags=re.DOTALL))
    assert words.index("Criteria") < words.index("gate missed") < words.index("Main effects")
    assert not re.findall(r"\b(pass|passes|passed|borderline|fail|fails)\b", words)


def test_an_audit_tells_of_refusals_and_of_the_error_that_decides(client: TestClient, audited: str) -> None:
    told = client.get(f"/runs/{audited}/audit").text

    assert "The judge gave no score in 4 of 4 calls if name is Cleo, and in 0 of 8 otherwise" in told
    assert "The judge gave the same score every time, so repetitions show no noise" in told


def test_the_page_of_an_audit_leads_there_and_has_scores_from_0_to_10(client: TestClient, audited: str) -> None:
    told = client.get(f"/runs/{audited}").text

    assert f'href="/runs/{audited}/audit">Audit</a>' in told
    assert "Scores from 0 to 10: mean <strong>5.25</strong>" in told
    assert "(0–10)" in client.get("/runs").text
    best = client.get(f"/api/runs/{audited}/evaluations?sort=score&descending=true").json()["items"][0]
    assert "6.50 of 10" in client.get(f"/runs/{audited}/results/{best['position']}").text
    assert "max_group_effect" in client.get(f"/runs/{audited}/download.json").text


# Scores


def by_worth(messages: Any) -> str:
    worth = int(re.findall(r"worth (\d+)", messages[-1]["content"])[-1])
    return "no" if worth == 5 else json.dumps({"score": min(worth, 9), "justification": f"It is worth {worth}."})


@pytest.fixture
def scored(client: TestClient, db: str) -> str:
    """Twelve profiles with scores of which three are the highest, and one without."""
    return score(PROFILES, criteria="Worth in euros", judge=by_worth, store=db, max_attempts=1).run.id


VERDICTS = re.compile(r"\b(pass|passed|passes|borderline|fail|fails|verdicts?)\b", re.IGNORECASE)


def shown_in(page: str) -> str:
    """Return the words of a page, without its frame, the explanations of words, and the definition of the run."""
    main = page.partition("<main")[2].partition("</main>")[0]
    main = re.sub(r'<details class="fold"><summary>Definition.*?</details>', "", main, flags=re.DOTALL)
    main = re.sub(r"<div[^>]* popover.*?</div>", "", main, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", main))


def without_texts(page: str) -> str:
    """Leave out what models were asked and said, word for word."""
    return re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)


def test_a_scoring_shows_its_best_profiles_with_their_reasons_and_how_scores_spread(
    client: TestClient, scored: str, parsed: Callable[[Any], Any]
) -> None:
    answer = client.get(f"/runs/{scored}")
    told, shown = shown_in(answer.text), parsed(answer)

    assert "Criteria Worth in euros" in told
    assert "Scores from 0 to 10: mean 5.27" in told
    assert "Median 6.00, standard deviation 3.41, from 0.00 to 9.00." in told
    assert "3 profiles share the top score of 9.00: p10, p11 and p9." in told
    assert "Histogram of profile scores" in [one.text for one in shown.all("title")]
    places = [told.index(f"It is worth {worth}.") for worth in (10, 11, 9, 8, 7)]
    assert places == sorted(places)
    assert "All 12 profiles, the best first" in told


@pytest.mark.parametrize("address", ["", "/results", "/evaluations", "/results/3", "/results/5"])
def test_no_page_of_a_scoring_shows_a_verdict(client: TestClient, scored: str, address: str) -> None:
    assert not VERDICTS.search(shown_in(without_texts(client.get(f"/runs/{scored}{address}").text)))


@pytest.mark.parametrize("address", ["", "/ranking", "/results", "/evaluations", "/results/0"])
def test_no_page_of_a_ranking_shows_a_verdict(client: TestClient, ranked: str, address: str) -> None:
    assert not VERDICTS.search(shown_in(without_texts(client.get(f"/runs/{ranked}{address}").text)))


@pytest.mark.parametrize("address", ["", "/results", "/evaluations", "/results/0"])
def test_no_page_of_an_audit_shows_a_verdict(client: TestClient, audited: str, address: str) -> None:
    assert not VERDICTS.search(shown_in(without_texts(client.get(f"/runs/{audited}{address}").text)))


def test_lists_of_a_scoring_begin_with_the_best(client: TestClient, scored: str, parsed: Callable[[Any], Any]) -> None:
    first, other = (parsed(client.get(f"/runs/{scored}/results{query}")) for query in ("", "?sort=position"))

    assert [one.text for one in first.all("a", class_="title")][:5] == ["p9", "p10", "p11", "p8", "p7"]
    assert [one.text for one in first.all("a", class_="title")][-1] == "p5"
    assert [one.text for one in other.all("a", class_="title")][:3] == ["p0", "p1", "p2"]
    assert first.all("select", name="verdict") == []


def test_a_list_of_runs_has_the_mean_from_0_to_10_and_no_pass_rate(client: TestClient, scored: str) -> None:
    for address in ("/", "/runs"):
        told = shown_in(client.get(address).text)
        (row,) = re.findall(r"profiles (?:finished )?.*?\(0–10\)", told)
        assert "5.27" in row, address
        assert "%" not in row, address
        assert " of 11 " not in row, address


def test_a_pass_mark_brings_verdicts_to_the_pages(client: TestClient, db: str, parsed: Callable[[Any], Any]) -> None:
    run = score(PROFILES[:5], criteria="Worth", judge=by_worth, store=db, pass_mark=3).run.id

    told = shown_in(client.get(f"/runs/{run}").text)

    assert "A profile passes with 3 points or more." in told
    assert "pass rate 0.40" in told
    assert "borderline 0" not in told
    assert parsed(client.get(f"/runs/{run}/results")).all("select", name="verdict") != []


def test_the_trend_of_scorings_is_that_of_their_means(client: TestClient, scored: str) -> None:
    told = shown_in(client.get(f"/trend?run={scored}").text)

    assert "Mean score" in told
    assert "Pass rate" not in told
    assert "5.27" in told


def test_scores_that_take_long_to_count_come_later(
    client: TestClient, scored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: Any) -> Any:
        raise TimeoutError

    monkeypatch.setattr(ProfileNumbers, "scored", late)

    told = shown_in(client.get(f"/runs/{scored}").text)

    assert "mean 5.27" in told
    assert "Median" not in told
    assert "How the scores of 12 profiles spread is being computed." in told


def test_scores_of_profiles_are_asked_for_from_0_to_10(client: TestClient, db: str) -> None:
    run = score(
        PROFILES[:3],
        criteria="Worth",
        judge=lambda messages: json.dumps({"score": len(messages[-1]["content"]) % 10, "justification": "So."}),
        store=db,
    ).run.id

    assert client.get(f"/runs/{run}/results?min_score=11").status_code == 422
    assert client.get(f"/runs/{run}/results?min_score=0&max_score=10").status_code == 200


# Other runs


def test_a_run_of_another_kind_is_told_what_it_is(client: TestClient, ranked: str, audited: str) -> None:
    no_audit, no_ranking = client.get(f"/runs/{ranked}/audit"), client.get(f"/runs/{audited}/ranking")

    assert (no_audit.status_code, no_ranking.status_code) == (409, 409)
    assert f"is not an audit: it is a ranking, available at {ranked}/ranking" in no_audit.text
    assert f"is not a ranking: it is an audit, available at {audited}/audit" in no_ranking.text
    assert client.get("/runs/nobody/ranking").status_code == 404


# Hostile texts


def test_hostile_texts_stay_text(
    client: TestClient, db: str, hostile: list[str], parsed: Callable[[Any], Any], elements: Callable[[str], set[str]]
) -> None:
    usable = [one for one in hostile if "\ud800" not in one]
    texts = usable[::3]
    ids = [re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", f"{n} {one}")[:150] for n, one in enumerate(texts)]
    profiles = [Profile(id=identity, text=f"{one}.") for identity, one in zip(ids, texts, strict=True)]
    everything = "\n".join(usable)

    def judge(messages: Any) -> str:
        labels = re.findall(r'<profile_([A-Z]) id="\w+">', messages[-1]["content"])
        return json.dumps({"reasoning": everything, "order": labels})

    run = rank(profiles, criteria=everything, judge=judge, rounds=2, name=everything, store=db).run.id
    own = "abbr article circle code details dialog fieldset figcaption figure h3 legend line option pre section select small strong summary svg table tbody td th thead time title tr"

    for address in ("ranking", "results", "results/0"):
        shown = parsed(client.get(f"/runs/{run}/{address}"))
        assert {one.name for one in shown.elements} <= elements(own), address
    board = parsed(client.get(f"/runs/{run}/ranking"))
    assert sorted(one.attributes["title"] for one in board.all("a") if "title" in one.attributes) == sorted(ids)


def test_two_scorings_are_compared_on_their_own_scale_and_without_verdicts(
    client: TestClient, db: str, parsed: Callable[[Any], Any], tmp_path: Path
) -> None:
    def by(more: int) -> Callable[[Any], str]:
        def judge(messages: Any) -> str:
            worth = int(re.findall(r"worth (\d+)", messages[-1]["content"])[-1])
            return json.dumps({"score": worth % 8 + more * (1 + worth % 2 / 2), "justification": "Years."})

        return judge

    a, b = (score(PROFILES, criteria="Worth", judge=by(more), store=db).run.id for more in (0, 2))
    found = compare(a, b, store=db)
    assert isinstance(found, Comparison)
    shown = {
        name: comparison_text(found) if name == "text" else found.save(tmp_path / name).read_text() for name in FILES
    }
    page = parsed(client.get(f"/compare?a={a}&b={b}"))
    case = client.get(f"/compare/case?a={a}&b={b}&case=p4").text

    assert "mean 2.833 in A, 5.333 in B" in shown["text"]
    assert "B is better than A: +2.500 [+0.025, +4.975]" in shown["text"]
    assert json.loads(shown["c.json"])["cases"]["scores"]["mean_a"] == pytest.approx(34 / 12)
    assert client.get("/api/compare", params={"a": a, "b": b}).json()["cases"]["scores"]["mean_b"] == pytest.approx(
        64 / 12
    )
    assert "5.333" in page.one("main").text
    assert "4.000" in case
    assert "6.000" in case
    for told in (shown["text"], shown["c.md"], page.one("main").text):
        assert not re.search(r"\b(pass|fail|borderline|regression)", told)
