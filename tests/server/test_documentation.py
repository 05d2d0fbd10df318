"""The documentation as the server shows it: all pages are whole, all links lead somewhere, and nothing runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from evenhand.server.documentation import documentation
from evenhand.server.markdown import rendered

ELEMENTS = {
    "a", "blockquote", "code", "div", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "img", "li", "ol", "p", "pre",
    "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul", "br", "hr",
}  # fmt: skip


class Parts(HTMLParser):
    """What a page is made of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(str(html))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.attributes if key == name]


@pytest.mark.parametrize("name", documentation().pages)
def test_every_link_and_picture_of_a_page_leads_somewhere_on_the_server(name: str) -> None:
    found = documentation()
    page = found.page(name)
    assert page is not None

    parts = Parts(page.html)

    assert parts.names <= ELEMENTS
    assert {key for key, _ in parts.attributes} <= {
        "alt", "class", "href", "id", "loading", "rel", "role", "src", "start", "tabindex",
    }  # fmt: skip
    assert len(parts.all("id")) == len(set(parts.all("id")))
    assert not {"main", "shortcuts", "shortcuts-title", "q", "on-page-title"} & set(
        parts.all("id")
    )  # those of the page around it
    assert [one for one in parts.all("src") if found.picture(one.removeprefix("/help/")) is None] == []
    for href in parts.all("href"):
        if href.startswith("https://"):
            continue
        path, _, anchor = href.partition("#")
        target = page if not path else found.page(path.removeprefix("/help").lstrip("/") or "index")
        assert target is not None, href
        assert not anchor or anchor in {heading.anchor for heading in target.headings}, href
    assert not re.search(r"\]\(|^#+ |^\|", re.sub(r"<pre.*?</pre>", "", page.html, flags=re.DOTALL), re.MULTILINE)


def test_markup_becomes_elements_and_html_stays_text() -> None:
    text = "\n".join(
        [
            "<!-- a note -->", "# One", "", "<script>alert(1)</script>", "", "x<sub>2</sub> [bad](javascript:alert(1)) <b>", "",
            "| n |", "|---:|", "| 1 |", "",
            "## Same", "", "## Same", "", '```yaml title="a.yaml"', "x: <y>", "```", "", "[out](../README.md) [in](two.md#b)",
            "![both](pictures/p-light.png)", "", "[other](//evil.example/x) [site](https://example.org)",
        ]
    )  # fmt: skip

    page = rendered("one", text, {"one.md", "two.md", "pictures/p-light.png", "pictures/p-dark.png"})
    parts = Parts(page.html)

    assert page.title == "One"
    assert [heading.anchor for heading in page.headings] == ["one", "same", "same-1"]
    assert not parts.names & {"script", "b"}
    assert "alert(1)</script>" in parts.text
    assert "a note" not in parts.text
    assert "sub" in parts.names
    assert parts.all("href") == ["/help/two#b", "https://example.org"]
    assert parts.all("src") == ["/help/pictures/p-light.png", "/help/pictures/p-dark.png"]
    assert parts.all("class") == ["scroll", "list", "to-right", "to-right", "file", "only-light", "only-dark"]
    assert not parts.all("style")
    assert "a.yaml" in parts.text
    assert "x: <y>" in parts.text


def test_headings_are_found_by_their_words_titles_first() -> None:
    found = documentation().search("NUMBERS mean")

    assert (found[0].page, found[0].address) == ("What the numbers mean", "/help/numbers")
    assert documentation().search("interval")
    assert documentation().search("") == documentation().search("no-such-word") == []
