"""The documentation that comes with the package: which pages and pictures there are, and what they say."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from evenhand.server.markdown import RenderedPage, address_of, rendered

PICTURES: Final = {".png": "image/png", ".svg": "image/svg+xml"}
_FOLDERS: Final = ("", "design", "reference", "pictures")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A heading that has what was searched for, or the title of a page."""

    page: str
    heading: str
    address: str


class Documentation:
    """The pages by their names, such as ``numbers`` and ``design/pages``, and the pictures by their paths."""

    def __init__(self, folder: Traversable) -> None:
        self._files = dict(_files(folder))

    @functools.cached_property
    def pages(self) -> tuple[str, ...]:
        """The names of all pages."""
        return tuple(path.removesuffix(".md") for path in self._files if path.endswith(".md"))

    def page(self, name: str) -> RenderedPage | None:
        """Return a page by its name; None if there is no such page."""
        file = self._files.get(f"{name}.md")
        if file is None:
            return None
        return _rendered(name, file.read_text(encoding="utf-8"), frozenset(self._files))

    def picture(self, path: str) -> tuple[bytes, str] | None:
        """Return a picture and its media type; None if there is no such picture."""
        media = next((media for ending, media in PICTURES.items() if path.endswith(ending)), None)
        file = self._files.get(path)
        return None if media is None or file is None else (file.read_bytes(), media)

    def search(self, words: str) -> list[Found]:
        """Return the titles and headings that have all of some words, those of titles first."""
        wanted = words.casefold().split()
        titles, headings = list[Found](), list[Found]()
        for name in self.pages if wanted else ():
            page = self.page(name)
            for heading in page.headings if page is not None else ():
                is_title = heading.level == 1
                said = heading.text if is_title else f"{heading.text} {page.title if page else ''}"
                own = heading.text.casefold()
                if all(word in said.casefold() for word in wanted) and any(word in own for word in wanted):
                    address = address_of(f"{name}.md") + ("" if is_title else f"#{heading.anchor}")
                    found = Found(page=page.title if page else name, heading=heading.text, address=address)
                    (titles if is_title else headings).append(found)
        return titles + headings


@functools.cache
def documentation() -> Documentation:
    """Return the documentation of this package: within it or, in an editable installation, of the repository."""
    own = resources.files("evenhand") / "documentation"
    return Documentation(own if own.is_dir() else Path(__file__).parents[3] / "docs")


def _files(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    """Yield the pages and pictures of a folder by their paths; where there is none, nothing."""
    for name in _FOLDERS:
        place = folder / name if name else folder
        for file in sorted(place.iterdir(), key=lambda file: file.name) if place.is_dir() else ():
            if file.name.endswith((".md", *PICTURES)) and file.is_file():
                yield (f"{name}/{file.name}" if name else file.name), file


# Some have many pages of text, which take a tenth of a second.
_rendered = functools.lru_cache(maxsize=128)(rendered)
