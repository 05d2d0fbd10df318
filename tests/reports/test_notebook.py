"""Values in a notebook: in the words of the reports, and whatever they say is only ever text."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from evenhand import Case, Contains, compare, evaluate
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.verdict import Verdict
from evenhand.reports.html.notebook import html_of

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</div></td>",
    "&lt;b&gt;",
    "a\x1b[2Jb",
    "{{ 7 * 7 }}",
]


class Elements(HTMLParser):
    """The elements and attributes of some HTML, and its text."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.skeleton: list[tuple[str, list[str]]] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.skeleton.append((tag, [name for name, _ in attrs]))

    def handle_data(self, data: str) -> None:
        self.text += data


def values_with(said: str) -> dict[str, Any]:
    """Return a value of each kind, full of a text."""
    runs = [
        evaluate(
            [
                Case(
                    id=f"{number} {said}", question=said, candidate_answer=answer, reference_answer=said, context=[said]
                )
                for number in range(8)
            ],
            Contains(name=said, value=said),
            store=None,
            name=said,
        )
        for answer in ("no", f"{said} {said}")
    ]
    result = next(iter(runs[0]))
    return {
        "an evaluation": result.judgments[0].evaluation,
        "a case": result,
        "a summary": runs[0].summary,
        "a comparison": compare(*runs),
        "an error": Evaluation(
            evaluator=said,
            type=said,
            status=Status.ERROR,
            score=0.0,
            verdict=Verdict.FAIL,
            error=said,
            reasoning=said,
            details={"note": said},
        ),
    }


KINDS = ["an evaluation", "an error", "a case", "a summary", "a comparison"]


@pytest.mark.parametrize("said", HOSTILE)
def test_no_text_becomes_markup(said: str) -> None:
    values, harmless = values_with(said), values_with("harmless")

    for kind in KINDS:
        hostile = Elements(values[kind]._repr_html_())
        assert hostile.skeleton == Elements(harmless[kind]._repr_html_()).skeleton, kind
        assert not {"script", "style", "link", "iframe"} & {tag for tag, _ in hostile.skeleton}


def test_the_words_are_those_of_the_reports() -> None:
    values = values_with("Paris")

    texts = {kind: Elements(values[kind]._repr_html_()).text for kind in KINDS}

    assert "✗ fail" in texts["an evaluation"]
    assert "The answer does not contain" in texts["an evaluation"]
    assert all(
        word in texts["a case"] for word in ("0 Paris", "Question", "Context, document 1", "Reference", "✗ fail")
    )
    assert "The judge failed: no score; left out of all means." in texts["an error"]
    assert "✗ fail 8" in texts["a summary"]
    assert "B is better than A: +1.000" in texts["a comparison"]


def test_nothing_else_is_shown() -> None:
    with pytest.raises(TypeError, match="a notebook shows no int"):
        html_of(7)
