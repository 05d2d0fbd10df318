"""A comparison as one HTML file: whole without a script, honest about what it leaves out, deaf to what texts say."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Contains, Run, compare, evaluate
from evenhand.domain.comparison import Comparison
from evenhand.reports.html.comparison import MOST_TEXT, comparison_html

HOSTILE: list[str] = json.loads((Path(__file__).parent / "hostile.json").read_text(encoding="utf-8"))
PARIS = Contains(name="right", value="Paris")


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._is_style = False
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._is_style = tag == "style"

    def handle_data(self, data: str) -> None:
        self.text += "" if self._is_style else data


def judged(*answers: str | None, question: str = "Which city?", **rest: Any) -> Run:
    cases = [
        Case(id=f"case-{number}", question=question, candidate_answer=answer) for number, answer in enumerate(answers)
    ]
    return evaluate(cases, rest.pop("evaluators", PARIS), store=rest.pop("store", None), **rest)


def told(comparison: Comparison) -> str:
    return " ".join(Page(comparison_html(comparison)).text.split())


def test_it_says_what_a_and_b_are_who_is_better_and_what_changed() -> None:
    a = judged(*["It is Rome."] * 8, label="first try", name="capitals")
    b = judged(*["It is Paris."] * 8, label="second try", name="capitals")

    text = told(compare(a, b))

    for part in (
        f"capitals · {a.id}", "first try", "second try", "none; the cases have answers",
        "B is better than A: +1.000 [", "8 wins for B", "By evaluator", "From A to B", "All 8 cases: what got worse",
        "Which city?", "The answer contains", "Struck through: only in A. Underlined: only in B.",
    ):  # fmt: skip
        assert part in text, part


def test_the_words_that_differ_are_marked_in_both_answers() -> None:
    page = comparison_html(compare(judged("It is Rome, I think."), judged("It is Paris, I think.")))

    assert "It is <del>Rome</del>, I think." in page
    assert "It is <ins>Paris</ins>, I think." in page


def test_what_got_worse_comes_first_and_the_worst_at_the_top() -> None:
    evaluators = [PARIS, Contains(name="capital", value="capital"), Contains(name="France", value="France")]
    all_three, two, none = "Paris, the capital of France", "Paris, the capital", "Rome"

    page = told(
        compare(
            judged(none, all_three, two, all_three, evaluators=evaluators),
            judged(all_three, two, none, none, evaluators=evaluators),
        )
    )

    order = re.findall(r"(case-\d) [01]\.\d+ → [01]", page)
    assert order == ["case-3", "case-2", "case-1", "case-0"]


def test_it_loads_nothing_and_runs_nothing() -> None:
    page = Page(comparison_html(compare(judged("Rome"), judged("Paris"))))

    policy = next(attrs["content"] for _, attrs in page.elements if attrs.get("http-equiv"))
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'", policy or ""
    )
    assert not {"script", "link", "img", "iframe"} & {name for name, _ in page.elements}
    assert not [attrs for _, attrs in page.elements if {"src", "href", "style"} & attrs.keys()]


def test_a_long_answer_is_shown_from_shortly_before_the_difference_and_says_what_was_cut() -> None:
    same, rest = "same " * MOST_TEXT, "rest " * MOST_TEXT

    page = told(compare(judged(f"{same}Rome {rest}"), judged(f"{same}Paris {rest}")))

    assert page.count("characters left out, the same in all …") == 2
    assert len(re.findall(r"\d characters left out …", page)) == 2
    assert "same Rome rest" in page
    assert "same Paris rest" in page
    assert len(page) < 6 * MOST_TEXT


def test_a_long_question_is_cut_and_says_so() -> None:
    long = "x" * (MOST_TEXT + 12)

    page = told(compare(judged("Rome", question=long), judged("Paris", question=long)))

    assert "… (12 characters left out)" in page


def test_changes_beyond_the_limit_are_counted() -> None:
    page = told(compare(judged(*["Rome"] * 8), judged(*["Paris"] * 8), limit=3))

    assert "The 3 largest of 8 changes" in page


def test_nothing_that_changed_and_nothing_that_is_listed_are_not_the_same() -> None:
    none = told(compare(judged("Paris"), judged("Paris")))
    not_listed = told(compare(judged("Rome"), judged("Paris"), limit=0))

    assert "Cases that changed None." in none
    assert "1 case, of which none is listed." in not_listed


def test_a_missing_answer_is_not_an_empty_one() -> None:
    evaluators = [PARIS, Contains(name="other", value="P")]

    def half(answer: str) -> Run:
        return evaluate(
            [Case(id="case", question="?", candidate_answer=answer)], evaluators, store=None, thresholds={"pass": 0.9}
        )

    page = told(compare(half(""), half("Paris")))

    assert "Answer, A Answer, B Paris" in page


SPOKEN = [text for text in HOSTILE if "\ud800" not in text and "\0" not in text]


@pytest.fixture(scope="module")
def plain() -> Page:
    """A comparison in which nobody says anything hostile."""
    return Page(comparison_html(compare(judged(*["a b"] * 6), judged(*["a Paris b"] * 6))))


# Every fifth in quick tests: all come through the same places.
@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        pytest.param(text, marks=[] if place % 5 == 0 else [pytest.mark.long], id=f"{text!a:.30}")
        for place, text in enumerate(SPOKEN)
    ],
)
def test_hostile_texts_are_only_text(plain: Page, said: str) -> None:
    def made(answer: str) -> Run:
        cases = [
            Case(id=f"{n} {said}", question=said, candidate_answer=answer, reference_answer=said) for n in range(6)
        ]
        return evaluate(cases, Contains(name=said, value="Paris"), store=None, name=said)

    page = Page(comparison_html(compare(made(f"{said} b"), made(f"{said} Paris b"))))

    assert {name for name, _ in page.elements} <= {name for name, _ in plain.elements} | {"strong", "br"}
    assert not [attrs for _, attrs in page.elements if any(name.startswith("on") for name in attrs)]


def test_a_comparison_of_targets_is_a_file_too(tmp_path: Path) -> None:
    target = [{"name": name, "python": f"{__name__}:{name}"} for name in ("first", "second")]
    run = evaluate([Case(id=f"{n}", question="?") for n in range(8)], PARIS, target=target, store=None)

    compared = run.compare_targets()
    assert compared is not None
    page = Page(compared.save(tmp_path / "targets.html").read_text(encoding="utf-8"))

    assert "Compared with first, case by case" in page.text
    assert "second" in page.text


def first(case: Any) -> str:
    return "Paris"


def second(case: Any) -> str:
    return "Rome"


def test_a_comparison_saves_itself(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    comparison = compare(judged("Rome", store=store), judged("Paris", store=store))

    path = comparison.save(tmp_path / "found.html")

    assert path == tmp_path / "found.html"
    assert "<ins>Paris</ins>" in path.read_text(encoding="utf-8")
