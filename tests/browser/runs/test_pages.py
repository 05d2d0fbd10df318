"""Pages of runs in a real browser: a case, labels, comparisons; and what holds for all, with hostile texts too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, expect
from tests.browser.axe import complaints, faults
from tests.browser.runs.site import HOSTILE, LONG, Site, Visit, arrive, press, wait_for_keys, wait_for_script

from evenhand.server.pages import compare, evaluations, results, run_list

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: pages of runs"), pytest.mark.timeout(600)]


# A case


@pytest.mark.long
def test_moments_are_in_the_zone_and_language_of_who_reads(visit: Visit, site: Site) -> None:
    moment = "2026-01-02T23:30:00.000Z"
    page = visit("/runs", timezone_id="Asia/Tokyo", locale="de-DE")
    plain = visit("/runs", java_script_enabled=False)

    expect(page.locator("time[title$=UTC]")).to_have_count(page.locator("time").count())
    page.evaluate(
        "moment => { document.querySelector('time').outerHTML = `<time datetime=${moment}>x UTC</time>`; }", moment
    )

    expect(page.locator(f"time[datetime='{moment}']")).to_have_text("03.01.2026, 08:30")
    expect(page.locator(f"time[datetime='{moment}']")).to_have_attribute("title", "x UTC")
    expect(plain.locator("time").first).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d UTC$"))


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no-script"])
def test_a_word_is_explained_by_keyboard_and_by_touch(visit: Visit, site: Site, has_script: bool) -> None:
    page = visit(
        f"/runs/{site.many}", java_script_enabled=has_script, has_touch=True, viewport={"width": 390, "height": 800}
    )
    button = page.locator("button.word", has_text="borderline").first
    explanation = page.locator("#word-borderline")

    button.press("Enter")
    expect(explanation).to_be_visible()
    expect(explanation).to_contain_text("reaches the borderline threshold")
    page.keyboard.press("Tab")
    expect(explanation.get_by_role("link")).to_be_focused()
    box = explanation.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.keyboard.press("Escape")
    expect(explanation).to_be_hidden()
    button.tap()
    explanation.get_by_role("link").tap()
    expect(page).to_have_url(f"{site.address}/help/results#verdicts")


def test_a_case_is_copied_as_json(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results/3", permissions=["clipboard-read", "clipboard-write"])

    page.clock.install(time=0)
    page.clock.pause_at(3_600)  # what the button says stays, however long it takes to look at it
    page.get_by_role("button", name="Copy as JSON").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()

    assert json.loads(page.evaluate("navigator.clipboard.readText()"))["case_id"] == "case-003"


def test_a_button_that_copied_twice_says_again_what_it_does(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results/3", permissions=["clipboard-read", "clipboard-write"])
    page.clock.install(time=0)
    page.clock.pause_at(3_600)

    button = page.locator("[data-copy-from]")
    button.click()
    expect(button).to_have_text("Copied")
    button.evaluate("one => { one.textContent = 'Copied once'; }")  # else nobody could tell when it has been twice
    button.click()
    expect(button).to_have_text("Copied")
    page.clock.run_for(5_000)

    expect(button).to_have_text("Copy as JSON")


def test_answers_are_labelled_by_keys_and_the_page_stands_in_nobodys_way(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/label", viewport={"width": 360, "height": 800})
    page.get_by_label("Your name").fill("Ann")
    page.get_by_label("Show what the judge said after each label").check()
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("Cases", exact=True).fill("3")
    page.get_by_role("button", name="Draw cases").click()
    title = page.locator("#case-title")
    first = title.inner_text()

    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert faults(page) == []
    page.get_by_label("Note").fill("12 u")  # keys that are typed into a field are text
    page.locator("h1").click()
    wait_for_keys(page)
    press(page, "3")
    expect(title).not_to_have_text(first)
    wait_for_keys(page)
    press(page, "2")
    expect(page.get_by_role("status")).to_contain_text("You said fail")
    expect(page.get_by_role("status")).to_contain_text("The judge:")
    wait_for_keys(page)
    press(page, "u")
    expect(page.locator(".page-head")).to_contain_text("0 of 3")
    wait_for_keys(page)
    press(page, "1")

    expect(page.get_by_role("status")).to_contain_text("You said pass")
    expect(page.locator(".page-head")).to_contain_text("1 of 3")


def test_two_people_label_one_after_the_other_and_the_card_says_how_they_agree(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.targets}/label")
    said = {"Carla": ("1", "1", "2", "1"), "Dan": ("1", "1", "2", "2")}
    for rater, keys in said.items():
        page.get_by_label("Your name").fill(rater)
        page.get_by_role("button", name="Begin" if rater == "Carla" else "Change").click()
        if rater == "Carla":
            page.get_by_label("Cases", exact=True).fill("4")
            page.get_by_role("button", name="Draw cases").click()
        expect(page.locator(".page-head")).to_contain_text("0 of 4")
        for number, key in enumerate(keys, start=1):
            wait_for_keys(page)
            press(page, key)
            expect(page.locator(".page-head")).to_contain_text(f"{number} of 4")
        expect(page.get_by_role("heading", name="All 4 cases of the draw are labelled")).to_be_visible()

    expect(page.get_by_role("row", name="Dan 4 2 0")).to_be_visible()
    expect(page.locator("main")).to_contain_text("On 4 cases that several people labelled, 3 of 4 pairs of labels")
    page.get_by_role("link", name="Judge card").click()
    main = page.locator("main")
    expect(main).to_contain_text("4 cases labelled by Carla, Dan, drawn at random")
    expect(main).to_contain_text("On 4 cases that several people labelled, Krippendorff's alpha is 0.")
    expect(main.get_by_role("row", name="Carla 4 3")).to_be_visible()
    expect(main.get_by_role("row", name="Dan 4 2")).to_be_visible()
    page.goto(f"{site.address}/runs/{site.targets}")
    expect(page.locator(".rate.corrected")).to_contain_text("corrected pass rate")


# Comparisons


def test_changes_are_walked_and_opened_by_keyboard(visit: Visit, site: Site) -> None:
    page = visit(f"/compare?a={site.many}&b={site.changed}")
    changes = page.locator(".rows > details.change")
    ids = changes.locator("summary .id").all_inner_texts()

    def here() -> Locator:
        return page.locator(".rows > details:focus-within summary .id")

    press(page, "j")
    expect(here()).to_have_text(ids[0])
    press(page, "Enter")
    expect(changes.first.locator(".change-body")).to_be_visible()
    press(page, "Tab")
    expect(changes.first.get_by_role("link", name="Whole case")).to_be_focused()
    press(page, "j", "j", "Enter")
    expect(here()).to_have_text(ids[2])
    expect(changes.nth(2).locator(".change-body")).to_be_visible()
    expect(changes.nth(1).locator(".change-body")).to_be_hidden()
    press(page, "k", "k", "k")
    expect(here()).to_have_text(ids[0])
    press(page, "Enter")

    expect(changes.first.locator(".change-body")).to_be_hidden()
    expect(changes.nth(2).locator(".change-body")).to_be_visible()


def test_the_answers_of_all_targets_stand_next_to_each_other(visit: Visit, site: Site) -> None:
    page = visit(f"/compare?a={site.targets}")

    page.get_by_role("link", name="Paris").click()

    answers = page.locator(".answers .passage")
    expect(answers).to_have_count(3)
    tops = answers.evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert len(set(tops)) == 1
    expect(page.locator("ins")).to_have_text([", Paris, I think"])
    page.get_by_role("link", name="Compare", exact=True).last.click()
    expect(page).to_have_url(f"{site.address}/compare?a={site.targets}")


def test_runs_are_chosen_on_two_pages_of_the_list_and_compared(
    visit: Visit, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "ON_A_PAGE", 1)
    page = visit("/runs?text=capitals&sort=oldest")

    page.get_by_label(f"Compare as A: {site.many}").check()
    page.get_by_role("button", name="Next").click()
    page.get_by_label(f"Compare as B: {site.changed}").check()
    expect(page.get_by_role("group", name="Chosen on another page")).to_contain_text(site.many)
    page.get_by_role("button", name="Compare B with A").click()

    expect(page.get_by_role("region", name="Run A")).to_contain_text(site.many)
    expect(page.get_by_role("region", name="Run B")).to_contain_text(site.changed)


# All pages


def telling(site: Site) -> list[str]:
    """Return the pages with most on them: lists, a form, charts, a case in the drawer, a comparison."""
    return [
        f"/runs/new?prompt={site.prompt}",
        f"/runs/{site.many}",
        f"/runs/{site.many}/results?open=290",
        f"/runs/{site.targets}/results",
        f"/runs/{site.changed}/card",
        f"/compare?a={site.many}&b={site.changed}",
        f"/trend?run={site.many}",
    ]


def others(site: Site) -> list[str]:
    return [
        "/runs",
        f"/runs/{site.many}/results",
        f"/runs/{site.many}/results?open=200",
        f"/runs/{site.many}/results?verdict=pass&status=error",
        f"/runs/{site.targets}/results/1",
        f"/runs/{site.many}/evaluations",
        f"/runs/{site.changed}",
        f"/runs/{site.many}/card",
        f"/runs/{site.many}/results/1",
        f"/runs/{site.many}/label",
        f"/runs/{site.many}/delete",
        f"/compare?a={site.many}&b={site.hostile[0]}",
        f"/compare?a={site.many}&b={site.changed}&b={site.hostile[0]}",
        f"/compare?a={site.targets}",
        f"/compare?a={site.targets}&b={site.targets}&model_a=short&model_b=long",
        f"/compare/case?a={site.many}&b={site.changed}&case=case-000",
        f"/compare/case?a={site.targets}&case=France",
        f"/compare/case?a={site.targets}&case={LONG}",
        f"/trend?run={site.targets}&metric=mean",
        f"/drift?then={site.changed}&now={site.many}",
        f"/drift?then={site.changed}&now={site.many}&anyway=yes",
        "/judges/compare",
        f"/judges/compare?run={site.changed}&run={site.many}&anyway=yes",
    ]


Addresses = Callable[[Site], list[str]]
some_and_others = pytest.mark.parametrize("addresses", [telling, pytest.param(others, marks=pytest.mark.long)])


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show fewer rows: one is like the next."""
    monkeypatch.setattr(evaluations, "ON_A_PAGE", 9)
    monkeypatch.setattr(results, "ON_A_PAGE", 9)
    monkeypatch.setattr(compare, "MOST_CHANGES", 9)


@some_and_others
@pytest.mark.usefixtures("few_rows")
def test_nothing_stands_in_anybodys_way(visit: Visit, site: Site, addresses: Addresses) -> None:
    page = visit("/runs", color_scheme="light", reduced_motion="reduce")
    found = {}

    for address in addresses(site):
        arrive(page, site.address + address)
        page.locator("details.menu").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        found[address] = complaints(page, has_all="open=200" in address)  # one thing lies over another

    assert found == {address: [] for address in addresses(site)}


@some_and_others
@pytest.mark.usefixtures("few_rows")
def test_nothing_is_wider_than_the_page(visit: Visit, site: Site, addresses: Addresses) -> None:
    page = visit("/runs")

    for address in addresses(site):
        arrive(page, site.address + address)
        for width in (360, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address


# Enough for the page of a case; at the end, every text goes through the drawer, which shows the same.
SOME_HOSTILE = [0, 4, len(HOSTILE) // 2, len(HOSTILE) - 1]
AT_WORK = """async () => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));  // by then, they know that they are open
  return [window.ran ?? null, document.images.length + frames.length + document.embeds.length];
}"""


def compared(site: Site, number: int) -> str:
    first, second = site.hostile
    return f"/compare/case?a={first}&b={second}&case={quote(f'{number} {HOSTILE[number]}'.replace(chr(0), ''))}"


def telling_hostile(site: Site) -> list[str]:
    """Return a page of each kind on which texts of others stand."""
    first, second = site.hostile
    return [
        f"/runs/new?prompt={site.hostile_prompt}", f"/runs/{first}", f"/runs/{first}/card",
        f"/compare?a={first}&b={second}&way=worse", f"/compare?a={site.hostile_targets}", compared(site, SOME_HOSTILE[0]),
        f"/runs/{first}/evaluations?text=%3Cscript%3E", f"/runs/{site.hostile_targets}/results", f"/runs/{first}/results/0",
    ]  # fmt: skip


def other_hostile(site: Site) -> list[str]:
    first, second = site.hostile
    return [
        "/runs", "/runs/new", f"/runs/{first}/delete", f"/runs/{second}", f"/runs?prompt={site.hostile_prompt}", f"/compare?a={first}&b={site.many}",
        f"/compare?a={first}&b={second}&b={site.many}", f"/trend?run={first}", f"/trend?prompt={site.hostile_prompt}",
        *(compared(site, number) for number in SOME_HOSTILE[1:]),
        f"/compare/case?a={site.hostile_targets}&case={quote(HOSTILE[0])}",
        f"/drift?then={first}&now={second}&anyway=yes", f"/judges/compare?run={first}&run={second}&anyway=yes",
        f"/runs/{first}/results?text=%3Cscript%3E", *(f"/runs/{first}/results/{n}" for n in SOME_HOSTILE[1:]),
    ]  # fmt: skip


@pytest.mark.parametrize("addresses", [telling_hostile, pytest.param(other_hostile, marks=pytest.mark.long)])
def test_hostile_texts_run_nothing_on_any_page(visit: Visit, site: Site, addresses: Addresses) -> None:
    page = visit("/runs")

    for address in addresses(site):
        page.goto(site.address + address)
        assert page.evaluate(AT_WORK) == [None, 0], address


@pytest.mark.parametrize("texts", [8, pytest.param(len(HOSTILE), marks=pytest.mark.long)], ids=["some", "all"])
def test_hostile_texts_run_nothing_in_the_drawer(visit: Visit, site: Site, texts: int) -> None:
    page = visit(f"/runs/{site.hostile[0]}/results")
    wait_for_script(page)

    page.locator("#listing tbody tr").nth(0).focus()
    press(page, "Enter")
    for number in range(texts):
        expect(page.locator("#drawer .case-facts .id")).to_contain_text(f"{number} ")
        assert page.evaluate("window.ran") is None
        press(page, "j")
    assert page.evaluate("document.images.length + frames.length") == 0
