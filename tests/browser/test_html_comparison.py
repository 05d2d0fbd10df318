"""The HTML file of a comparison in a real browser: in both themes, on a narrow screen, on paper, with hostile texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.axe import complaints

from evenhand import Case, Contains, Run, compare, evaluate

HOSTILE: list[str] = json.loads(
    (Path(__file__).resolve().parents[1] / "reports" / "hostile.json").read_text(encoding="utf-8")
)
EVERYTHING = "\n".join(HOSTILE).replace("\0", "")
Open = Callable[..., Page]
LONG = "x" * 300
LINES = "\n".join(f"line {n}" for n in range(200))
OPEN_ALL = "all => all.forEach((one) => { one.open = true; })"

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: files"), pytest.mark.timeout(600)]


def answered(answers: Mapping[str, str], *, name: str = "capitals", label: str | None = None) -> Run:
    """Let answers stand that contain Paris; the name of the case is asked for."""
    cases = [
        Case(id=about.replace("\0", ""), question=about, reference_answer=about, candidate_answer=answer)
        for about, answer in answers.items()
    ]
    return evaluate(cases, Contains(name=name, value="Paris"), name=name, label=label)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write a comparison of two runs, and one of several."""
    folder = tmp_path_factory.mktemp("comparisons")
    a = answered({"France": "Rome", "Italy": "Paris", LONG: f"Rome {LONG}", "lines": LINES, "same": "Paris"})
    b = answered(
        {"France": "Paris", "Italy": "Rome", LONG: f"Paris {LONG}", "lines": f"{LINES}\nParis", "same": "Paris"}
    )
    two, several = folder / "two.html", folder / "several.html"
    compare(a, b).save(str(two))
    compare(a, b, answered({"France": "Paris", "Italy": "Oslo"}, label="third")).save(str(several))
    return {"two": two, "several": several}


@pytest.mark.parametrize("has_all", [False, pytest.param(True, marks=pytest.mark.long)], ids=["most", "all"])
@pytest.mark.parametrize("which", ["two", "several"])
def test_nothing_stands_in_anybodys_way(files: dict[str, Path], open_page: Open, which: str, has_all: bool) -> None:
    page = open_page(files[which], color_scheme="light")
    page.locator("details").evaluate_all(OPEN_ALL)

    found = complaints(page, has_all=has_all)

    assert found == []


@pytest.mark.parametrize("which", ["two", "several"])
def test_nothing_is_wider_than_the_page(files: dict[str, Path], open_page: Open, which: str) -> None:
    page = open_page(files[which])
    page.locator("details").evaluate_all(OPEN_ALL)

    for width in (360, 700, 701, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_cases_are_open_from_the_start_and_closed_by_keyboard(files: dict[str, Path], open_page: Open) -> None:
    page = open_page(files["two"])
    change = page.locator("details.change").first
    expect(change.locator(".change-body")).to_be_visible()

    change.locator("summary").focus()
    page.keyboard.press("Enter")

    expect(change.locator(".change-body")).to_be_hidden()


def test_what_is_open_is_printed_whole_on_white_and_what_is_closed_stays_closed(
    files: dict[str, Path], open_page: Open
) -> None:
    page = open_page(files["two"], color_scheme="dark")
    changes = page.locator("details.change")
    changes.filter(has_text="Italy").locator("summary").click()

    page.emulate_media(media="print")

    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(changes.locator(".change-body:visible")).to_have_count(3)
    expect(changes.filter(has_text="Italy").locator(".change-body")).to_be_hidden()
    long = changes.filter(has_text="lines").locator(".answers pre")
    expect(long).to_have_count(2)
    assert long.evaluate_all("all => all.map((one) => one.scrollHeight - one.clientHeight)") == [0, 0]
    expect(page.locator("ins").first).to_have_css("text-decoration-line", "underline")
    expect(page.locator("ins").first).to_have_css("print-color-adjust", "exact")


def test_hostile_texts_run_nothing_and_ask_for_nothing(tmp_path: Path, open_page: Open) -> None:
    right = {f"{n} {said}": f"{said} Paris" for n, said in enumerate(HOSTILE) if "\ud800" not in said}
    wrong = {about: answer.replace("Paris", EVERYTHING) for about, answer in right.items()}
    name, label = EVERYTHING.replace("\ud800", ""), HOSTILE[0]
    a, b, c = (answered(each, name=name, label=label) for each in (right, wrong, right))
    two, several = tmp_path / "two.html", tmp_path / "several.html"
    compare(a, b).save(str(two))
    compare(a, b, c).save(str(several))

    for path in (two, several):
        page = open_page(path)
        page.locator("details").evaluate_all(OPEN_ALL)
        page.mouse.move(600, 500)

        assert page.evaluate("window.ran") is None
        assert (
            page.evaluate("document.scripts.length + document.images.length + document.forms.length + frames.length")
            == 0
        )
        expect(page).to_have_url(path.as_uri())
