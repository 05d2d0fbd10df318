"""Leaderboards and audits in a real browser: by keyboard, without JavaScript, on a narrow screen, with hostile texts."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Dialog, Page, expect
from tests.browser.axe import complaints

from evenhand import Profile, RunStoppedError, audit, rank, score
from evenhand.domain.secret import Secret
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: profiles"), pytest.mark.timeout(600)]

HOSTILE: list[str] = [
    said
    for said in json.loads(
        (Path(__file__).resolve().parents[1] / "reports" / "hostile.json").read_text(encoding="utf-8")
    )
    if "\ud800" not in said
]
NURSES = [
    Profile(id=f"nurse-{number:02}", text=f"worth {number}\n{'A kind word. ' * (number % 4)}") for number in range(12)
]
LABELS = re.compile(r'<profile_([A-Z]) id="\w+">\n(?:worth (\d+))?')
DESIGN: dict[str, Any] = {
    "name": "Nurses",
    "template": "{name} has been a nurse for {years} years, {night}.",
    "factors": {"name": ["Anna", "Ben", "Cleo"], "years": [2, 10], "night": ["by day", "at night"]},
    "groups": ["name"],
    "criteria": "Experience",
    "repetitions": 2,
    "select_at": 6,
    "gates": {"max_group_effect": 0.3},
}
Visit = Callable[..., Page]


@dataclass(frozen=True, slots=True)
class Site:
    """The server, and the runs in its store."""

    address: str
    groups: str
    pairs: str
    stopped: str
    audit: str
    scored: str
    hostile: str
    hostile_pairs: str
    hostile_audit: str


def clean(said: str) -> str:
    """Return what may stand in an id or the name of a level."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", said)[:150].strip()


def ordered(messages: Any) -> str:
    """Put a group in its true order; who cannot be ranked is asked for in vain."""
    shown = LABELS.findall(messages[-1]["content"])
    if "worth 11" in messages[-1]["content"] and "worth 3\n" in messages[-1]["content"]:
        return "I would rather not."
    best = sorted(shown, key=lambda one: -int(one[1] or 0))
    return json.dumps({"reasoning": "More years.", "order": [label for label, _ in best]})


def better(messages: Any) -> str:
    """Name the better of two, but the first of two that are close."""
    a, b = (int(one) for one in re.findall(r"worth (\d+)", messages[-1]["content"]))
    return json.dumps({"reasoning": "More years.", "winner": "A" if a > b or b - a < 2 else "B"})


def scoring(messages: Any) -> str:
    """Score by years, with something against Ben; of Cleo, nothing can be had."""
    profile = messages[-1]["content"]
    if "Cleo" in profile:
        return "I would rather not."
    points = 5 + 2 * ("10 years" in profile) - ("Ben has" in profile) * (1.5 if "at night" in profile else 0.5)
    return json.dumps({"score": points, "justification": "By years."})


def hostile_order(messages: Any) -> str:
    labels = [label for label, _ in LABELS.findall(messages[-1]["content"])]
    return json.dumps({"reasoning": "\n".join(HOSTILE), "order": labels[::-1]})


def hostile_winner(messages: Any) -> str:
    return json.dumps({"reasoning": "\n".join(HOSTILE), "winner": "AB"[len(messages[-1]["content"]) % 2]})


def hostile_score(messages: Any) -> str:
    return json.dumps({"score": len(messages[-1]["content"]) % 10, "justification": "\n".join(HOSTILE)})


def filled(db: str) -> Site:
    kept: dict[str, Any] = {"store": db, "concurrency": 1}
    groups = rank(NURSES, criteria="Worth", judge=ordered, group_size=4, rounds=6, name="Nurses", **kept).run.id
    pairs = rank(NURSES[:6], criteria="Worth", judge=better, group_size=2, rounds=5, name="Pairs", **kept).run.id
    with pytest.raises(RunStoppedError) as stopped:
        rank(NURSES, criteria="Worth", judge=ordered, group_size=4, max_calls=5, cache=False, **kept)
    bad = [Profile(id=clean(f"{n} {said}"), text=f"{said} worth {n}") for n, said in enumerate(HOSTILE)]
    everything = "\n".join(HOSTILE)
    levels = list(dict.fromkeys(filter(None, map(clean, HOSTILE))))
    design = DESIGN | {"factors": {"name": levels[:40], "ünïcode_of_10": ["2", *levels[:1]]}, "groups": ["name"]}
    design |= {"template": "{name} {ünïcode_of_10}", "criteria": everything, "name": everything, "repetitions": 1}
    return Site(
        address="",
        groups=groups,
        pairs=pairs,
        stopped=stopped.value.run.id,
        audit=audit(DESIGN, judge=scoring, **kept).run.id,
        scored=score(NURSES, criteria="Worth", judge=hostile_score, name="Scores", **kept).run.id,
        hostile=rank(bad, criteria=everything, judge=hostile_order, rounds=2, name=everything, **kept).run.id,
        hostile_pairs=rank(bad, criteria=everything, judge=hostile_winner, group_size=2, rounds=2, **kept).run.id,
        hostile_audit=audit(design, judge=hostile_score, **kept).run.id,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Start a server over a store with rankings and audits."""
    db = str(tmp_path_factory.mktemp("site") / "evenhand.db")
    runs = filled(db)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    # Pages that reload until their numbers are there would do so in the midst of a test.
    settings = ServerSettings(db=db, token=Secret("a-token-of-the-tests"), port=port, page_wait_seconds=60)
    server = uvicorn.Server(uvicorn.Config(make_app(settings), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield replace(runs, address=f"http://127.0.0.1:{port}")
    server.should_exit = True
    thread.join(20)
    listening.close()


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Visit]:
    """Open pages; anything on the console, any dialog, and any request to another host is a failure."""
    trouble: list[str] = []
    contexts = []

    def told_of_dialog(dialog: Dialog) -> None:
        trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def opened(address: str, **options: Any) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: trouble.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", told_of_dialog)
        page.on("request", lambda sent: None if sent.url.startswith(site.address) else trouble.append(sent.url))
        page.goto(site.address + address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


def telling(site: Site) -> list[str]:
    """Return a page of each kind that rankings and audits have."""
    return [
        f"/runs/{site.audit}",
        f"/runs/{site.groups}/ranking/profile?id=nurse-03",
        f"/runs/{site.groups}/ranking",
        f"/runs/{site.audit}/audit",
        f"/runs/{site.groups}/results?profile=nurse-03",
        f"/runs/{site.groups}/results/0",
    ]


def others(site: Site) -> list[str]:
    return [
        "/",
        "/runs",
        *(f"/runs/{run}" for run in (site.groups, site.stopped, site.scored)),
        *(f"/runs/{run}/ranking" for run in (site.pairs, site.stopped, site.hostile)),
        f"/runs/{site.hostile_audit}/audit",
        *(f"/runs/{run}/results" for run in (site.groups, site.scored)),
        *(f"/runs/{run}/results/0" for run in (site.pairs, site.scored)),
    ]


def telling_hostile(site: Site) -> list[str]:
    return [
        f"/runs/{site.hostile}",
        f"/runs/{site.hostile_pairs}/results",
        f"/runs/{site.hostile}/results/0",
        f"/runs/{site.hostile_audit}/results/5",
        f"/runs/{site.hostile_pairs}/ranking",
        f"/runs/{site.hostile_audit}/audit",
    ]


def other_hostile(site: Site) -> list[str]:
    runs = (site.hostile, site.hostile_pairs, site.hostile_audit)
    pages = [f"/runs/{run}{page}" for run in runs for page in ("", "/results", "/results/0", "/results/5")]
    here = telling_hostile(site)
    return ["/", "/runs", f"/runs/{site.hostile}/ranking", *(page for page in pages if page not in here)]


Addresses = Callable[[Site], list[str]]
some_and_others = pytest.mark.parametrize("addresses", [telling, pytest.param(others, marks=pytest.mark.long)])


@pytest.mark.long
def test_a_leaderboard_shows_tiers_apart_and_leads_to_the_groups_of_a_profile(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.groups}")

    page.get_by_role("link", name="Ranking", exact=True).click()
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
    tiers = page.get_by_role("rowheader", name=re.compile(r"^Tier \d"))
    expect(tiers.nth(1)).to_be_visible()
    expect(page.locator("table.leaderboard tbody").nth(1)).to_have_css("border-top-width", "2px")
    page.get_by_role("link", name="nurse-03").click()

    expect(page.get_by_role("checkbox", name="With nurse-03")).to_be_checked()
    expect(page.get_by_role("status")).to_have_text(re.compile(r"^\d groups match$"))
    expect(page.locator("#listing tbody tr[tabindex='0']")).to_have_count(1)  # the script is there
    expect(page.get_by_text("✓ ranked").first).to_be_visible()
    expect(page.locator("#listing")).not_to_contain_text("1.00", use_inner_text=True)
    page.get_by_role("checkbox", name="With nurse-03").uncheck()
    expect(page.get_by_role("status")).to_have_text(re.compile(r"^2\d groups$"))


def test_a_row_opens_to_show_text_attributes_and_reasons(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.groups}/ranking")
    row = page.locator("details", has_text="of nurse-03")

    row.locator("summary").click()

    expect(row.get_by_text("worth 3")).to_be_visible()
    expect(row.get_by_role("heading", name="What the judge said")).to_be_visible()
    expect(row.locator("li")).to_have_count(8)
    expect(row.get_by_text("More years.").first).to_be_visible()


def test_without_javascript_a_row_leads_to_text_and_reasons(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.groups}/ranking", java_script_enabled=False)
    row = page.locator("details", has_text="of nurse-03")

    row.locator("summary").click()
    row.get_by_role("link", name="Open the profile").click()

    expect(page.get_by_role("heading", name="nurse-03")).to_be_visible()
    expect(page.get_by_text("worth 3")).to_be_visible()


def test_the_page_of_a_scoring_leads_to_its_best_profiles(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.scored}")

    expect(page.get_by_role("heading", name="The best profiles")).to_be_visible()
    expect(page.get_by_role("img", name="Histogram of profile scores")).to_be_visible()
    page.get_by_role("link", name="All 12 profiles, the best first").click()

    scores = page.locator("#listing .score")
    expect(scores).to_have_count(12)
    given = [float(text) for text in scores.all_inner_texts()]
    assert given == sorted(given, reverse=True)


def test_a_leaderboard_is_gone_through_by_keyboard_alone(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.groups}/ranking")
    here = "document.activeElement.textContent || document.activeElement.getAttribute('aria-label')"

    passed: list[str] = []
    while "nurse-11" not in passed:
        page.keyboard.press("Tab")
        passed.append(str(page.evaluate(here)).strip())
    page.keyboard.press("Enter")

    links = [one for one in passed if one in ("CSV", "JSON", "HTML", "Groups")]
    assert links == ["CSV", "JSON", "HTML", "Groups", "Groups"]  # the second one explains the column
    expect(page.get_by_role("checkbox", name="With nurse-11")).to_be_checked()


def test_everything_is_there_without_javascript(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.pairs}/ranking", java_script_enabled=False)

    expect(page.get_by_role("columnheader", name="Wins, length-adjusted")).to_be_visible()
    expect(page.get_by_text("Mean place by position shown")).to_be_visible()
    page.get_by_role("link", name="nurse-05").click()
    expect(page.locator("#listing tbody tr")).to_have_count(5)
    page.locator("#listing a.title").first.click()
    expect(page.get_by_role("heading", name="The judge’s order, best first")).to_be_visible()
    page.goto(f"{site.address}/runs/{site.audit}/audit")
    expect(page.get_by_role("heading", name="Main effects")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^name: Ben − Anna: -1.00")).first).to_be_visible()
    page.get_by_role("link", name="Show the 8 calls without a score").click()

    expect(page.locator("#listing tbody tr")).to_have_count(8)


def test_scores_of_profiles_are_filtered_and_shown_from_0_to_10(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.audit}/results?status=scored&sort=score&descending=1")
    score = page.locator("#listing tbody tr").first.locator(".score").first
    expect(score).to_have_text("7.00")
    expect(page.locator("#listing tbody tr[tabindex='0']")).to_have_count(1)  # the script is there

    page.get_by_label("Score", exact=True).fill("5.5")
    page.get_by_label("to", exact=True).fill("6.5")
    expect(page.get_by_role("status")).to_have_text("2 profiles match")

    expect(score).to_have_text("6.50")
    page.reload()
    expect(page.get_by_role("status")).to_have_text("2 profiles match")


def test_on_a_narrow_screen_an_audit_can_be_read(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.audit}/audit", viewport={"width": 420, "height": 900})
    names = page.locator(".audit .forest tbody th")
    widths = [names.nth(place).evaluate("cell => cell.getBoundingClientRect().width") for place in range(names.count())]

    file = page.request.get(f"{site.address}/runs/{site.audit}/download.html").text()
    page.goto("about:blank")
    page.set_content(file)
    before = "cell => getComputedStyle(cell, '::before').content"
    swaps, levels = (
        page.locator(".audit > div", has=page.get_by_role("heading", name=title, exact=True))
        for title in ("The same profile with a different group", "Levels")
    )

    assert min(widths) > 120
    assert "pairs" in swaps.locator("td").first.evaluate(before)
    assert "mean" in levels.locator("td").first.evaluate(before)


@pytest.mark.long
def test_no_note_of_an_audit_is_wider_than_the_page_of_its_report(visit: Visit, site: Site) -> None:
    page = visit("/runs")

    file = page.request.get(f"{site.address}/runs/{site.audit}/download.html").text()
    page.goto("about:blank")
    page.set_content(file)

    expect(page.get_by_text("name 'Cleo' is missing: none of its profiles is scored").first).to_be_visible()
    for width in (360, 400, 1000, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_narrow_screen_rank_and_name_stay_in_sight(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.pairs}/ranking", viewport={"width": 400, "height": 800})

    page.locator(".scroll").evaluate("one => one.scrollTo(500, 0)")
    row = page.locator("table.leaderboard tbody tr:not(.tier)").first.locator(":scope > *")
    places = [row.nth(n).evaluate("one => one.getBoundingClientRect().toJSON()") for n in range(2)]

    assert [place["left"] >= 0 and place["right"] <= 260 for place in places] == [True, True]
    expect(page.get_by_role("link", name="nurse-05")).to_be_in_viewport()


@some_and_others
def test_nothing_stands_in_anybodys_way(visit: Visit, site: Site, addresses: Addresses) -> None:
    page = visit("/runs", color_scheme="light", reduced_motion="reduce")
    found = {}

    for address in addresses(site):
        page.goto(site.address + address)
        found[address] = complaints(page, has_all=address == f"/runs/{site.pairs}/ranking")

    assert found == {address: [] for address in addresses(site)}


@some_and_others
def test_nothing_is_wider_than_the_page(visit: Visit, site: Site, addresses: Addresses) -> None:
    page = visit("/runs")

    for address in addresses(site):
        page.goto(site.address + address)
        for width in (360, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address


@pytest.mark.parametrize("addresses", [telling_hostile, pytest.param(other_hostile, marks=pytest.mark.long)])
def test_hostile_texts_run_nothing_on_any_page(visit: Visit, site: Site, addresses: Addresses) -> None:
    page = visit("/runs")

    for address in addresses(site):
        page.goto(site.address + address)
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
        assert page.evaluate("window.ran") is None, address
        assert page.evaluate("document.images.length + frames.length + document.embeds.length") == 0, address


@pytest.mark.long
def test_links_with_hostile_ids_lead_to_their_groups_and_run_nothing(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.hostile}/ranking")

    for number in (0, 20, 40):
        page.locator("table.leaderboard th a").nth(number).click()
        expect(page.get_by_role("status")).to_have_text("2 groups match")
        assert page.evaluate("window.ran") is None
        page.go_back()
