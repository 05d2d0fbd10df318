"""The tables of results and evaluations in a real browser: by keyboard, without JavaScript, and in the address."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect
from tests.browser.runs.site import Site, Visit, cases, focused, headings, press, wait_for_script

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: tables of runs"), pytest.mark.timeout(600)]


# The table


def test_results_are_filtered_and_opened_by_keyboard_alone(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    wait_for_script(page)

    press(page, "/")
    page.keyboard.type("capital 1")
    expect(page.get_by_role("status")).to_have_text("111 cases match")
    expect(page).to_have_url(f"{site.address}/runs/{site.many}/results?text=capital+1")
    press(page, "ArrowDown")
    expect(focused(page)).to_have_text("Capital 1?")
    press(page, "ArrowDown", "ArrowDown")
    expect(focused(page)).to_have_text("Capital 11?")
    press(page, "Enter")
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("heading", name="Capital 11?")).to_be_visible()
    press(page, "j")
    expect(drawer.get_by_role("heading", name="Capital 12?")).to_be_visible()
    press(page, "k")
    expect(drawer.get_by_role("heading", name="Capital 11?")).to_be_visible()
    press(page, "k")
    expect(drawer.get_by_role("heading", name="Capital 10?")).to_be_visible()
    press(page, "Escape")
    expect(drawer).to_be_hidden()
    expect(focused(page)).to_have_text("Capital 10?")
    press(page, "PageDown", "PageUp", "?")

    expect(page.locator("#shortcuts")).to_be_visible()


def test_keys_lead_from_page_to_page_and_end_is_the_end(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    wait_for_script(page)

    cases(page).nth(29).locator("xpath=ancestor::tr").focus()
    press(page, "j")
    expect(focused(page)).to_have_text("Capital 30?")
    expect(page.get_by_label("Pages")).to_contain_text("31 to 60 of 291")
    press(page, "k")
    expect(focused(page)).to_have_text("Capital 29?")
    press(page, "End")
    expect(focused(page)).to_have_text("Capital 290?")
    expect(page).to_have_url(re.compile(r"page=10$"))
    press(page, "Home")
    expect(focused(page)).to_have_text("Capital 0?")
    page.go_back()
    expect(cases(page).last).to_have_text("Capital 290?")


def test_a_link_to_a_case_far_down_opens_it_and_j_goes_on_from_there(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results?open=200")
    drawer = page.get_by_role("dialog")

    expect(drawer.get_by_role("heading", name="Capital 200?")).to_be_visible()
    press(page, "j")
    expect(drawer.get_by_role("heading", name="Capital 201?")).to_be_visible()
    expect(page).to_have_url(re.compile("open=201"))


def test_back_closes_what_enter_opened(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results?verdict=fail")
    wait_for_script(page)

    cases(page).nth(1).locator("xpath=ancestor::tr").focus()
    press(page, "Enter")
    drawer = page.get_by_role("dialog")
    expect(drawer).to_be_visible()
    press(page, "j")
    expect(drawer.get_by_role("heading", name="Capital 8?")).to_be_visible()
    page.go_back()

    expect(drawer).to_be_hidden()
    expect(page).to_have_url(f"{site.address}/runs/{site.many}/results?verdict=fail")
    page.go_forward()
    expect(drawer.get_by_role("heading", name="Capital 8?")).to_be_visible()


def test_the_view_is_kept_in_the_address(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    wait_for_script(page)

    page.get_by_label("Verdict").select_option("fail")
    expect(page.get_by_role("status")).to_have_text("96 cases match")
    page.get_by_role("link", name="Case", exact=True).click()
    expect(page.get_by_role("columnheader", name="Case")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("link", name="Case", exact=True).click()
    expect(cases(page).first).to_have_text("Capital 287?")
    cases(page).nth(1).click()
    expect(page.get_by_role("dialog").get_by_role("heading", name="Capital 284?")).to_be_visible()
    page.reload()

    expect(page.get_by_role("dialog").get_by_role("heading", name="Capital 284?")).to_be_visible()
    expect(cases(page).first).to_have_text("Capital 287?")
    expect(page).to_have_url(
        re.compile("verdict=fail&sort=case_id&descending=1&open=284|sort=case_id.*verdict=fail.*open=284")
    )
    expect(page.get_by_role("columnheader", name="Case")).to_have_attribute("aria-sort", "descending")


def test_what_is_chosen_before_the_script_is_there_counts(visit: Visit, site: Site) -> None:
    page = visit("/runs")

    def late(route: Route) -> None:
        page.get_by_label("Verdict").select_option("fail")
        route.continue_()

    page.route("**/static/results.js", late)
    page.goto(f"{site.address}/runs/{site.many}/results")

    expect(page.get_by_role("status")).to_have_text("96 cases match")
    expect(page).to_have_url(f"{site.address}/runs/{site.many}/results?verdict=fail")


def test_a_list_that_was_overtaken_is_not_shown(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    wait_for_script(page)
    held: list[Route] = []

    def late(route: Route) -> None:
        if "verdict=fail" in route.request.url:
            held.append(route)
            page.get_by_label("Verdict").select_option("pass")
        else:
            route.continue_()

    page.route("**/results?*", late)
    page.get_by_label("Verdict").select_option("fail")

    expect(page.get_by_role("status")).to_have_text("97 cases match")
    expect(page).to_have_url(re.compile("verdict=pass"))
    assert len(held) == 1


def test_a_server_that_is_away_is_told_and_what_is_shown_is_marked_as_stale(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results", may_be_refused=True)
    wait_for_script(page)

    page.route("**/results?*", lambda route: route.abort())
    page.get_by_label("Verdict").select_option("fail")

    expect(page.get_by_role("status")).to_contain_text("The server cannot be reached")
    expect(page.locator("#listing.stale")).to_be_visible()
    page.unroute("**/results?*")
    page.get_by_label("Verdict").select_option("pass")
    expect(page.get_by_role("status")).to_have_text("97 cases match")
    expect(page.locator("#listing.stale")).to_have_count(0)


def test_a_filter_that_finds_nothing_says_so(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    wait_for_script(page)

    page.get_by_label("Verdict").select_option("pass")
    page.get_by_label("Status").select_option("not_evaluated")

    expect(page.get_by_role("heading", name="No matches")).to_be_visible()
    expect(cases(page)).to_have_count(0)


def test_everything_can_be_done_without_javascript(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results", java_script_enabled=False)

    expect(cases(page)).to_have_count(30)
    page.get_by_role("link", name="Next").click()
    expect(cases(page).first).to_have_text("Capital 30?")
    page.get_by_label("Verdict").select_option("borderline")
    page.get_by_role("button", name="Filter").click()
    expect(cases(page).nth(0)).to_have_text("Capital 1?")
    expect(cases(page).nth(1)).to_have_text("Capital 4?")
    page.get_by_role("link", name="Capital 4?").click()
    expect(page.get_by_role("heading", name="Capital 4?")).to_be_visible()
    expect(page.get_by_text("≈ borderline").first).to_be_visible()
    expect(page.locator(".attempts")).to_be_hidden()
    page.get_by_text("1 attempt").click()
    expect(page.locator(".attempts")).to_contain_text('"score": 0.7')
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("heading", name="Capital 5?")).to_be_visible()
    page.goto(f"{site.address}/runs/{site.many}")

    expect(page.get_by_text("1 judge error")).to_be_visible()


def test_answers_of_targets_stand_side_by_side_and_open_one_by_one(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.targets}/results")
    wait_for_script(page)
    drawer = page.get_by_role("dialog")

    expect(cases(page)).to_have_text(["Paris", "Rome", re.compile("^x+…$")])
    page.locator("#listing tbody tr").nth(0).locator("a.opens").nth(1).click()
    expect(drawer.locator(".material")).to_contain_text("Paris, Paris, I think")
    expect(drawer.locator("[aria-current]")).to_have_text("long")
    press(page, "j")
    expect(drawer.get_by_role("heading", name="Rome")).to_be_visible()
    press(page, "Escape")
    page.get_by_label("Only where they differ").check()
    expect(page.get_by_role("status")).to_contain_text("match")
    expect(page).to_have_url(re.compile("differ=1"))


def test_the_number_of_lines_and_the_widths_of_columns_are_kept(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.targets}/results")
    wait_for_script(page)
    head = page.locator("#listing th[data-column=case]")

    def width() -> float:
        return float(head.evaluate("one => one.offsetWidth"))

    page.get_by_label("Lines").select_option("12")
    expect(page.locator("table.lines-12")).to_be_visible()
    before = width()
    head.get_by_role("separator").focus()
    press(page, "ArrowLeft", "ArrowLeft")
    narrower = width()
    page.reload()
    wait_for_script(page)

    assert narrower < before
    assert abs(width() - narrower) <= 1
    expect(page.locator("table.lines-12")).to_be_visible()
    box = head.get_by_role("separator").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + 104, box["y"] + 4)
    page.mouse.up()
    assert abs(width() - narrower - 100) <= 3


# The evaluations


def test_evaluations_are_sorted_filtered_and_opened(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    page.get_by_role("link", name="Evaluations").click()
    wait_for_script(page)

    expect(page.get_by_role("status")).to_have_text("291 evaluations")
    page.get_by_role("link", name="Score", exact=True).click()
    expect(page.get_by_role("columnheader", name="Score")).to_have_attribute("aria-sort", "ascending")
    expect(cases(page).first).to_have_text("case-002")
    cases(page).first.click()
    expect(page.get_by_role("dialog").get_by_role("heading", name="Capital 2?")).to_be_visible()


def test_columns_that_are_chosen_before_the_script_is_there_are_shown(visit: Visit, site: Site) -> None:
    page = visit("/runs")

    def late(route: Route) -> None:
        menu = page.get_by_text("Columns", exact=True).first
        menu.click()
        page.get_by_role("checkbox", name="Cost").check()
        menu.click()
        route.continue_()

    page.route("**/static/results_columns.js", late, times=1)
    page.goto(f"{site.address}/runs/{site.many}/evaluations", wait_until="commit")

    expect(headings(page).filter(has_text="Cost")).to_have_count(1)
    expect(page).to_have_url(re.compile("column=cost"))


def test_columns_are_chosen_and_kept_for_the_next_run(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/evaluations?verdict=fail")
    wait_for_script(page)
    always = ["Verdict", "Score", "Case"]
    before = [*always, "Asked", "Latency", "Hits", "Input", "Output", "Reasoning"]
    expect(headings(page)).to_have_text(before, use_inner_text=True)

    page.get_by_text("Columns", exact=True).first.click()
    for name in ("Asked", "Hits", "Input", "Output"):
        page.get_by_role("checkbox", name=name).uncheck()
    page.get_by_role("checkbox", name="Cost").check()
    press(page, "Escape")

    expect(page).to_have_url(re.compile(r"\?verdict=fail&column=seconds&column=cost&column=why$"))
    expect(headings(page)).to_have_text([*always, "Latency", "Cost", "Reasoning"], use_inner_text=True)
    wait_for_script(page)
    page.get_by_label("Verdict").select_option("pass")
    expect(page.get_by_role("status")).to_have_text("97 evaluations match")
    expect(page).to_have_url(re.compile(r"\?verdict=pass&column=seconds&column=cost&column=why$"))
    latency = page.locator("#listing tbody tr").nth(1).locator("td").nth(2)
    expect(latency).to_have_text(re.compile(" s$"), use_inner_text=True)
    page.goto(f"{site.address}/runs/{site.changed}/evaluations")
    expect(headings(page)).to_have_text([*always, "Latency", "Cost", "Reasoning"], use_inner_text=True)


def test_columns_are_chosen_without_javascript(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/evaluations", java_script_enabled=False)

    page.get_by_text("Columns", exact=True).first.click()
    for name in ("Asked", "Latency", "Hits", "Input", "Output"):
        page.get_by_role("checkbox", name=name).uncheck()
    page.get_by_role("button", name="Apply").click()

    expect(headings(page)).to_have_text(["Verdict", "Score", "Case", "Reasoning"], use_inner_text=True)


def test_the_file_has_what_the_filter_shows(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/evaluations")
    wait_for_script(page)

    page.get_by_label("Verdict").select_option("fail")
    page.get_by_label("Text").fill("capital 1")
    expect(page.get_by_role("status")).to_have_text("36 evaluations match")
    with page.expect_download() as loading:
        page.get_by_role("link", name="JSONL").click()
    lines = [json.loads(line) for line in Path(loading.value.path()).read_text(encoding="utf-8").splitlines()]

    assert len(lines) == 36
    assert {one["verdict"] for one in lines} == {"fail"}


def test_on_a_narrow_screen_verdict_score_and_case_stay_in_sight(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/evaluations", viewport={"width": 400, "height": 800})

    def ends() -> list[float]:
        cells = page.locator("#listing tbody tr").nth(0).locator(":scope > :is(td, th)")
        return [cells.nth(n).evaluate("one => one.getBoundingClientRect().right") for n in range(3)]

    expect(headings(page)).to_have_text(["Verdict", "Score", "Case"], use_inner_text=True)
    assert max(ends()) <= 400
    page.goto(f"{site.address}/runs/{site.many}/evaluations?column=question&column=answer&column=why")
    page.locator("#listing .scroll").evaluate("one => one.scrollTo(400, 0)")

    assert max(ends()) <= 320
    expect(cases(page).first).to_be_in_viewport()
