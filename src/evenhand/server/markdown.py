"""Pages of the documentation as HTML: headings with anchors, links within the server, nothing that runs."""

from __future__ import annotations

import functools
import itertools
import posixpath
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

ADDRESS: Final = "/help"
_ENDING: Final = ".md"
_KEPT: Final = ("<sub>", "</sub>", "<sup>", "</sup>")
_LIGHT: Final = "-light.png"
_DARK: Final = "-dark.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading of a page, and the anchor that leads to it."""

    text: str
    anchor: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """A page as HTML; its title is its first heading."""

    title: str
    headings: tuple[Heading, ...]
    html: Markup


def slug(text: str) -> str:
    """Return the anchor of a heading, as GitHub and the site have it.

    >>> slug("What a mean leaves out: `null`, and why")
    'what-a-mean-leaves-out-null-and-why'
    """
    kept = (letter for letter in text.lower() if letter.isalnum() or letter in " -_")
    return "".join(kept).replace(" ", "-")


def rendered(name: str, text: str, files: Collection[str]) -> RenderedPage:
    """Render a page; ``name`` is its path without the ending, ``files`` are those that its links may lead to."""
    tokens = _parser().parse(text)
    headings = tuple(_anchored(tokens))
    for token in tokens:
        if "style" in token.attrs:  # of a cell; pages have no styles of their own
            token.attrSet("class", str(token.attrs.pop("style")).replace("text-align:", "to-"))
        for child in token.children or ():
            if child.type == "link_open":
                _lead_link(child, name, files)
            elif child.type == "image":
                _lead_picture(child, name, files)
        _drop_dead_links(token)
    title = next((heading.text for heading in headings if heading.level == 1), name)
    parser = _parser()
    html = parser.renderer.render(tokens, parser.options, {})
    return RenderedPage(title=title, headings=headings, html=Markup(html))  # noqa: S704 - all texts were escaped


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    rules = {
        "fence": _fence, "html_block": _raw, "html_inline": _raw, "image": _image,
        "table_open": lambda *_: '<div class="scroll" tabindex="0" role="group"><table class="list">\n',
        "table_close": lambda *_: "</table></div>\n",
    }  # fmt: skip
    parser.renderer.rules.update(rules)  # type: ignore[attr-defined]  # of a renderer of HTML, which this is
    return parser


def _anchored(tokens: Sequence[Token]) -> list[Heading]:
    """Give each heading an anchor; of those with the same text, the later ones get a number."""
    found: list[Heading] = []
    seen: dict[str, int] = {}
    for token, inline in itertools.pairwise(tokens):
        if token.type != "heading_open":
            continue
        text = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
        anchor = slug(text)
        number = seen[anchor] = seen.get(anchor, -1) + 1
        anchor = f"{anchor}-{number}" if number else anchor
        token.attrSet("id", anchor)
        found.append(Heading(text=text, anchor=anchor, level=int(token.tag[1:])))
    return found


def _lead_link(token: Token, page: str, files: Collection[str]) -> None:
    """Make a link lead to the page of the server; one that leads to no page loses its address."""
    href = str(token.attrGet("href") or "")
    parts = urlsplit(href)
    if parts.scheme in ("http", "https"):
        token.attrSet("rel", "noreferrer")
    elif not parts.scheme and not parts.netloc:
        if not parts.path:
            return
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), parts.path))
        if path in files:
            token.attrSet("href", address_of(path) + (f"#{parts.fragment}" if parts.fragment else ""))
        else:
            token.attrs.pop("href")
    else:
        token.attrs.pop("href")


def address_of(file: str) -> str:
    """Return the address of a file of the documentation.

    >>> address_of("index.md"), address_of("design/pages.md"), address_of("pictures/run-light.png")
    ('/help', '/help/design/pages', '/help/pictures/run-light.png')
    """
    name = file.removesuffix(_ENDING)
    return ADDRESS if name == "index" else f"{ADDRESS}/{name}"


def _drop_dead_links(token: Token) -> None:
    """Leave the text of links that lead nowhere here, such as to files that only the repository has."""
    depth: list[bool] = []
    kept: list[Token] = []
    for child in token.children or ():
        if child.type == "link_open":
            depth.append("href" in child.attrs)
        is_dead = child.type in ("link_open", "link_close") and not depth[-1]
        if child.type == "link_close":
            depth.pop()
        if not is_dead:
            kept.append(child)
    if token.children is not None:
        token.children = kept


def _lead_picture(token: Token, page: str, files: Collection[str]) -> None:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), str(token.attrGet("src") or "")))
    token.attrSet("src", address_of(path))
    other = path.replace(_LIGHT, _DARK) if path.endswith(_LIGHT) else path.replace(_DARK, _LIGHT)
    if other != path and other in files:
        light, dark = sorted((path, other), reverse=True)
        token.meta = {"light": address_of(light), "dark": address_of(dark)}


def _image(tokens: Sequence[Token], index: int, *_: object) -> str:
    token = tokens[index]
    sources = token.meta or {"": str(token.attrGet("src") or "")}
    images = (
        f'<img src="{escape(source)}" alt="{escape(token.content)}" loading="lazy"'
        + (f' class="only-{theme}">' if theme else ">")
        for theme, source in sources.items()
    )
    return "".join(images)


def _fence(tokens: Sequence[Token], index: int, *_: object) -> str:
    """Write a block of code; its title is that of a file."""
    token = tokens[index]
    title = token.info.partition('title="')[2]
    caption = f"<figcaption>{escape(title.rstrip().removesuffix(chr(34)))}</figcaption>" if title else ""
    code = f'<pre tabindex="0"><code>{escape(token.content)}</code></pre>'
    return f'<figure class="file">{caption}{code}</figure>\n' if title else f"{code}\n"


def _raw(tokens: Sequence[Token], index: int, *_: object) -> str:
    """Leave comments out, keep indices and exponents, and show any other HTML as text."""
    content = tokens[index].content.strip()
    if content.startswith("<!--") and content.endswith("-->"):
        return ""
    return content if content in _KEPT else str(escape(content))
