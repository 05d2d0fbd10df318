"""A word of the glossary: what it means, as a button on a page and the explanation that it opens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from evenhand.reports.html.markup import tag

_SIGNS: Final = {"@": "-at-", "^": "-to-the-"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word, what else it is called on pages, what it means, and where the documentation says more."""

    label: str
    sentence: str
    link: str
    others: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of its explanation on a page."""
        letters = (letter if letter.isalnum() else _SIGNS.get(letter, "-") for letter in self.label.lower())
        return f"word-{''.join(letters)}"

    @property
    def explanation(self) -> Markup:
        """Its explanation, which is shown when its button is pressed."""
        return tag(
            "div",
            tag("p", self.label, class_="term"),
            tag("p", self.sentence),
            tag("p", tag("a", "More", href=self.link)),
            id=self.id,
            popover="",
        )

    def button(self, text: str, *, has_title: bool) -> Markup:
        """Return the button that opens its explanation; with a title, pointing at it shows the sentence."""
        title = self.sentence if has_title else None
        return tag("button", text, type="button", class_="word", popovertarget=self.id, title=title)
