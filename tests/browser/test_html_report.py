"""The HTML report in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.contrast import contrasts, faint

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Check, Evaluation
from evenhand.domain.gates import Gates
from evenhand.domain.run import CaseResult, Judgment, RunRecord, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.reports.html.page import write_html
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize

HOSTILE: list[str] = json.loads(
    (Path(__file__).resolve().parents[1] / "reports" / "hostile.json").read_text(encoding="utf-8")
)
Open = Callable[..., Page]

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: files"), pytest.mark.timeout(600)]


def evaluated(found: float | str | None, name: str = "quality", said: str = "because") -> Judgment:
    attempts = (Attempt(kind="reply", raw=said, error=said if isinstance(found, str) else None, latency=1.0),)
    known: dict[str, Any] = {"evaluator": name, "type": "llm_judge", "attempts": attempts, "details": {said: said}}
    known["evaluator_provider_request"] = {"systemPrompt": "the system prompt", "userPrompt": said}
    if isinstance(found, str):
        return Judgment(evaluation=Evaluation.with_error(error=found, **known), cost=0.0)
    if found is None:
        return Judgment(evaluation=Evaluation.without_score(reasoning=said, **known), cost=0.0)
    check = Check(id=said, satisfied=found > 0.5, reasoning=said, evidence=said)
    points: dict[str, Any] = {"hits": (said,), "misses": (said,), "checks": (check,), "flags": (said,)}
    verdict = Thresholds().verdict(found)
    return Judgment(
        evaluation=Evaluation.with_score(score=found, verdict=verdict, reasoning=said, **points, **known), cost=0.01
    )


def written(path: Path, *results: CaseResult, newline: str = "\n", **run: Any) -> Path:
    summary = summarize(results)
    known: dict[str, Any] = {"number": 1, "id": "a1", "name": "refunds", "status": RunStatus.FINISHED, "finished": 9.0}
    gates = Gates.of({"min_mean": 0.5, "min_pass_rate": 0.9}).check(summary)
    report = Report(run=RunRecord(**(known | run)), summary=summary, gates=gates, results=lambda: results)
    with path.open("w", encoding="utf-8", newline=newline) as out:
        write_html(report, out)
    return path


def result(position: int, *judgments: Judgment, awaited: int = 0, **case: Any) -> CaseResult:
    return CaseResult(position=position, case=Case(**case), judgments=judgments, awaited=awaited)


CASES = (
    result(
        0, evaluated(0.95), evaluated(1.0, "brief"), id="window", question="May I return it?", candidate_answer="Yes"
    ),
    result(
        1, evaluated(0.2), evaluated(0.5, "brief"), id="shipping", question="Who pays?", candidate_answer="The moon"
    ),
    result(
        2, evaluated(0.7), evaluated(0.7, "brief"), id="address", question="Where to?", candidate_answer="long " * 900
    ),
    result(3, evaluated("truncated: cut off"), evaluated(0.5, "brief"), id="angry", question="WHERE IS IT?"),
    result(4, evaluated(None), id="nothing", question="…"),
    result(5, evaluated(0.4), evaluated(0.0, "brief"), id="warranty", question="Is it covered?", candidate_answer="No"),
    result(6, awaited=2, id="later", question="Soon?"),
)
ALL = ["window", "shipping", "address", "angry", "nothing", "warranty", "later"]


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Write a report with a case of every standing."""
    return written(tmp_path / "report.html", *CASES, status=RunStatus.INTERRUPTED)


def shown(page: Page) -> Locator:
    """Return the ids of the cases that can be seen, in their order."""
    return page.locator("#cases > tbody > tr:visible > th .id")


def open_cases(page: Page) -> Locator:
    return page.locator("#cases > tbody > tr:has(> .more > details[open]) > th .id")


def focused(page: Page) -> Locator:
    return page.locator(":focus")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


# By keyboard


def test_verdicts_are_filtered_by_keyboard(report: Path, open_page: Open) -> None:
    page = open_page(report)
    page.get_by_role("searchbox", name="Search").focus()

    press(page, "Tab", "Tab", "Tab", "Space")
    expect(shown(page)).to_have_text(["shipping", "warranty"])
    press(page, "Tab", "Enter")

    expect(shown(page)).to_have_text(["shipping", "angry", "warranty"])
    expect(page.get_by_role("button", name="✗ fail 2", pressed=True)).to_be_visible()
    expect(page.get_by_role("button", name="! error 1", pressed=True)).to_be_focused()
    expect(page.get_by_role("status")).to_have_text("3 of 7 shown")


def test_texts_are_searched_by_keyboard(report: Path, open_page: Open) -> None:
    page = open_page(report)

    press(page, "/")
    page.keyboard.type("THE MOON")
    expect(page.get_by_role("status")).to_have_text("1 of 7 shown")
    expect(shown(page)).to_have_text(["shipping"])
    press(page, "Escape")

    expect(shown(page)).to_have_text(ALL)


def test_prompts_are_not_searched(report: Path, open_page: Open) -> None:
    page = open_page(report)

    page.get_by_role("searchbox").fill("the system prompt")

    expect(page.get_by_role("status")).to_have_text("none of 7 matches")
    expect(shown(page)).to_have_count(0)


def test_columns_are_sorted_by_keyboard(report: Path, open_page: Open) -> None:
    page = open_page(report)
    for column, up, down in [
        (
            "Case",
            ["address", "angry", "later", "nothing", "shipping", "warranty", "window"],
            ["window", "warranty", "shipping", "nothing", "later", "angry", "address"],
        ),
        (
            "Verdict",
            ["angry", "shipping", "warranty", "address", "window", "nothing", "later"],
            ["later", "nothing", "window", "address", "shipping", "warranty", "angry"],
        ),
        (
            "Score",
            ["warranty", "shipping", "address", "window", "angry", "nothing", "later"],
            ["window", "address", "shipping", "warranty", "angry", "nothing", "later"],
        ),
        (
            "brief",
            ["warranty", "shipping", "angry", "address", "window", "nothing", "later"],
            ["window", "address", "shipping", "angry", "warranty", "nothing", "later"],
        ),
    ]:
        head = page.locator("#cases").get_by_role("columnheader", name=column)
        head.get_by_role("button").focus()

        press(page, "Enter")
        expect(shown(page)).to_have_text(up)
        expect(head).to_have_attribute("aria-sort", "ascending")
        press(page, "Enter")
        expect(shown(page)).to_have_text(down)
        expect(head).to_have_attribute("aria-sort", "descending")
        press(page, "Enter")

        expect(shown(page)).to_have_text(ALL)
        expect(head).not_to_have_attribute("aria-sort", re.compile(""))


def test_cases_are_opened_and_walked_by_keyboard(report: Path, open_page: Open) -> None:
    page = open_page(report)
    page.get_by_role("button", name="Open all").focus()

    press(page, *["Tab"] * 5, "Tab", "Enter")
    expect(open_cases(page)).to_have_text(["window"])
    press(page, "j", "j", "k", "Enter")
    expect(focused(page)).to_have_text("Details of shipping")
    expect(open_cases(page)).to_have_text(["window", "shipping"])
    press(page, "Tab", "Escape")

    expect(focused(page)).to_have_text("Details of shipping")
    expect(open_cases(page)).to_have_text(["window"])


def test_all_that_are_shown_are_opened_at_once(report: Path, open_page: Open) -> None:
    page = open_page(report, "#only=fail")

    page.get_by_role("button", name="Open all").click()
    expect(open_cases(page)).to_have_text(["shipping", "warranty"])
    page.get_by_role("button", name="Close all").click()

    expect(open_cases(page)).to_have_count(0)


# In the address


def test_the_view_is_kept_in_the_address(report: Path, open_page: Open) -> None:
    page = open_page(report)
    page.get_by_role("button", name="✗ fail").click()
    page.get_by_role("searchbox").fill("i")
    page.get_by_role("button", name="Score").click()
    expect(page).to_have_url(f"{report.as_uri()}#only=fail&find=i&sort=2")

    page.reload()

    expect(shown(page)).to_have_text(["warranty", "shipping"])
    expect(page.get_by_role("searchbox")).to_have_value("i")
    expect(page.get_by_role("button", name="✗ fail", pressed=True)).to_be_visible()


def test_a_link_to_a_case_opens_it(report: Path, open_page: Open) -> None:
    page = open_page(report, "#case-2", viewport={"width": 1280, "height": 300})

    expect(open_cases(page)).to_have_text(["shipping"])
    page.wait_for_function(
        """() => {
            const [head, row] = ["#cases > thead", "#case-2"].map((one) => document.querySelector(one).getBoundingClientRect());
            return 0 <= head.top && head.top < head.bottom && head.bottom <= row.top && row.top < 60;
        }"""
    )  # at the top, below the head of the table


def test_a_link_to_a_case_leaves_the_filter_that_shows_it(report: Path, open_page: Open) -> None:
    page = open_page(report, "#only=fail")

    page.evaluate("location.hash = 'case-2'")
    expect(page.locator("#case-2 details").first).to_have_attribute("open", "")
    expect(shown(page)).to_have_text(["shipping", "warranty"])
    page.evaluate("location.hash = 'case-1'")
    expect(page.locator("#case-1 details").first).to_have_attribute("open", "")

    expect(shown(page)).to_have_text(ALL)


def test_an_address_that_makes_no_sense_does_no_harm(report: Path, open_page: Open) -> None:
    page = open_page(report)

    for hash_ in ("#sort=99", "#sort=x&only=<b>,nonsense", "#case-99", "#%", "#find=%00", "#__proto__=1"):
        page.evaluate("hash => { history.replaceState(null, '', hash); }", hash_)
        page.reload()
        page.get_by_role("button", name="✓ pass").click()

        expect(page.get_by_role("button", name="✓ pass", pressed=True)).to_be_visible()
        expect(shown(page).filter(has_not_text=re.compile("^window$"))).to_have_count(0)


# Without JavaScript


def test_everything_can_be_read_without_javascript(report: Path, open_page: Open) -> None:
    page = open_page(report, java_script_enabled=False)

    expect(shown(page)).to_have_text(ALL)
    expect(page.get_by_role("searchbox")).to_be_hidden()
    page.locator("#case-2 summary").first.click()
    expect(page.locator("#case-2 .about")).to_contain_text("The moon")
    page.locator("#case-2").get_by_text("Prompts as sent").first.click()

    expect(page.locator("#case-2").get_by_text("the system prompt").first).to_be_visible()


# Hostile texts


def test_hostile_texts_run_nothing_and_ask_for_nothing(tmp_path: Path, open_page: Open) -> None:
    results = [
        result(
            place, evaluated(0.7, f"quality{said}" if place < 8 else "quality", said), evaluated(f"{said}: {said}", "second"),
            id=f"{place} {said}", question=said, candidate_answer=said, reference_answer=said, expected_outcome=said,
            metadata={said: said}, cluster=said, input_messages=[("user", said)],
        )
        for place, said in enumerate(HOSTILE)
    ]  # fmt: skip
    everything = "\n".join(HOSTILE)
    path = written(
        tmp_path / "report.html", *results, id=everything, name=everything, source=everything, reason=everything,
        status=RunStatus.STOPPED, definition={"target": everything, "judge": everything},
    )  # fmt: skip

    page = open_page(path)
    page.get_by_role("button", name="Open all").click()
    page.get_by_role("searchbox").fill("<img src=x")
    page.locator("details:visible").evaluate_all("all => all.forEach(one => { one.open = true })")
    page.mouse.move(600, 500)
    expect(page.get_by_role("status")).to_have_text(re.compile(r"^\d+ of \d+ shown$"))
    page.wait_for_timeout(200)  # for what should not happen, and might a little later

    assert page.evaluate("window.ran") is None
    assert (
        page.evaluate("document.scripts.length + document.images.length + document.forms.length + frames.length") == 1
    )
    expect(page).to_have_url(re.compile(f"^{re.escape(path.as_uri())}"))


def test_the_policy_holds_against_what_would_slip_in(report: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())

    blocked = page.evaluate("""() => new Promise((resolve) => {
        addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
        const script = document.createElement("script");
        script.textContent = "window.ran = 1";
        document.body.append(script);
    })""")

    assert blocked == "script-src-elem"
    assert page.evaluate("window.ran") is None
    page.close()


def test_line_ends_of_another_system_are_no_violation(tmp_path: Path, open_page: Open) -> None:
    page = open_page(written(tmp_path / "report.html", *CASES, newline="\r\n"))

    page.get_by_role("button", name="✓ pass").click()

    expect(shown(page)).to_have_text(["window"])


# How it looks


def test_light_and_dark_follow_the_reader_and_every_word_stands_out_from_its_ground(
    report: Path, open_page: Open
) -> None:
    page = open_page(report)
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")

    for scheme, ground in {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}.items():
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]  # it is one of two

        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
        assert len(contrasts(page)) > 200
        assert faint(page) == []


def test_nothing_is_wider_than_the_page(tmp_path: Path, open_page: Open) -> None:
    long = "x" * 300
    judged = [evaluated(0.5, f"{number}{long[:60]}", long) for number in range(11)]
    broken = result(1, evaluated(f"{long}: {long}"), id=long, question=long, candidate_answer=long, cluster=long)
    path = written(
        tmp_path / "report.html", result(0, *judged, id=long), broken, id=long, name=long, source=long, reason=long,
        status=RunStatus.STOPPED, definition={"target": long},
    )  # fmt: skip

    page = open_page(path)
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")

    for width in (360, 960, 961, 1280):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# How high a row is, and how high it would be with nothing to open: how high a line of text is depends on the fonts.
HEIGHTS = """(row) => {
  const text = row.cloneNode(true);
  text.querySelector(".more").remove();
  row.after(text);
  const heights = [row, text].map((one) => one.getBoundingClientRect().height);
  text.remove();
  return heights;
}"""


def test_a_row_is_as_high_as_its_text_until_it_is_opened(report: Path, open_page: Open) -> None:
    page = open_page(report)
    row = page.locator("#case-1")

    closed, text = row.evaluate(HEIGHTS)
    row.locator("summary").first.click()
    expect(open_cases(page)).to_have_text(["window"])
    opened, _ = row.evaluate(HEIGHTS)

    assert closed == pytest.approx(text, abs=1)
    assert 20 <= text <= 40
    assert opened > text + 170


TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def test_the_table_stays_a_table_for_those_who_listen(report: Path, open_page: Open) -> None:
    page = open_page(report)
    page.evaluate(TWO_FRAMES)  # rows that are left out until they come into view are there with the first
    told = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    roles = [one["role"]["value"] for one in told if not one["ignored"]]

    # And the means of the cases and of two evaluators, and the attempts that did not count, of one kind.
    assert roles.count("rowheader") == len(CASES) + 3 + 1
    assert roles.count("columnheader") == 6 + 5 + page.locator(".steadiness th[scope=col]").count()
    assert "figure" in roles


def test_a_printed_report_is_light_and_has_no_tools(report: Path, open_page: Open) -> None:
    page = open_page(report, color_scheme="dark")

    page.emulate_media(media="print")

    expect(page.get_by_role("searchbox")).to_be_hidden()
    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(shown(page)).to_have_text(ALL)
