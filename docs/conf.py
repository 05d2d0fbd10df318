"""How Sphinx makes a site of the pages: ``make docs``.

The pages are plain Markdown that reads well wherever the repository is shown, so nothing in them is there for Sphinx.
Its source folder is the repository's root, which makes a link to ``../README.md`` lead to the same place everywhere.
What Sphinx wants besides, it is told here: the site's contents are the lists of ``docs/index.md``, and the title of a
block is its caption.
"""

from __future__ import annotations

import re
from pathlib import Path

from pygments.lexers.data import JsonLexer  # type: ignore[import-untyped]  # it brings no types
from sphinx.application import Sphinx

from evenhand.version import __version__

project = "Evenhand"
author = "the Evenhand contributors"
version = release = __version__

extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "changelog.d/README.md", "examples/**.md"]
exclude_patterns = [".*", "build", "dist", "src", "tests"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"Evenhand {release}"
html_copy_source = False
html_use_index = False
html_show_copyright = False
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}

_LINK = re.compile(r"\]\(([^)#\s:]+)\.md\)")
_TITLED = re.compile(r'^(```+)(\w+) title="([^"\n]+)"\n', re.MULTILINE)
_HOME = '<!DOCTYPE html><title>Evenhand</title><meta http-equiv="refresh" content="0; url=docs/index.html">'


def prepare(_: Sphinx, page: str, source: list[str]) -> None:
    """Tell Sphinx what Markdown has no words for."""
    text = _TITLED.sub(r"\1{code-block} \2\n:caption: \3\n\n", source[0])
    if page == root_doc:
        text += contents(text)
    elif not page.startswith("docs/"):  # reached by links, and not part of the contents
        text = f"---\norphan: true\n---\n\n{text}"
    source[0] = text


def contents(index: str) -> str:
    """Make the site's contents of the sections of the index that list pages."""
    found = []
    for section in index.split("\n## ")[1:]:
        heading, _, rest = section.partition("\n")
        pages = [link for link in _LINK.findall(rest) if not link.startswith("../")]
        if pages:
            found.append("\n".join(["```{toctree}", ":hidden:", f":caption: {heading}", "", *pages, "```"]))
    return "\n\n" + "\n\n".join(found) + "\n"


def lead_home(app: Sphinx, error: Exception | None) -> None:
    """Let the site's first address lead to its first page."""
    if error is None and app.builder.format == "html":
        Path(app.outdir, "index.html").write_text(f"{_HOME}\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Put these into Sphinx's own order of events."""
    app.add_lexer("jsonl", JsonLexer)
    app.connect("source-read", prepare)
    app.connect("build-finished", lead_home)
