"""What keeps somebody from using a page: what axe complains of, and words that do not stand out from their ground."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import Page
from tests.browser.contrast import faint

# The rules that look at colours; what others look at is the same in light and dark.
CONTRAST, LINKS = "color-contrast", "link-in-text-block"
RUN = "async (options) => (await axe.run(document, options)).violations.map((one) => [one.id, one.nodes[0].html])"
# Make a page dark that has its theme in the document; tell whether it has, and whether something is for the dark alone.
DARK = """() => {
  const isThemed = Boolean(document.documentElement.dataset.theme &&= "dark");
  return [isThemed, Boolean(document.querySelector(".only-dark"))];
}"""


def violations(page: Page, **options: Any) -> list[tuple[str, str]]:
    """Return the rules of axe that a page breaks, each with the first place where it does."""
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(RUN, {"resultTypes": ["violations"], **options})
    return [(rule, place) for rule, place in found]


def faults(page: Page) -> list[tuple[str, str]]:
    """Return what a page breaks as it is shown: rule and place. Contrasts are measured without axe."""
    return [*violations(page, rules={CONTRAST: {"enabled": False}}), *((CONTRAST, said) for said in faint(page))]


def complaints(page: Page, *, has_all: bool = False) -> list[tuple[str, str, str]]:
    """Return what a page that is light breaks, and then in its dark colours: scheme, rule and place.

    Where a page has something that only those see who have it dark, all rules hold in the dark too. Contrasts are
    measured without axe, for which they are four fifths of its work; ``has_all`` has it look at them as well. A page that
    has its theme in the document stays dark.
    """
    most: dict[str, Any] = {"rules": {CONTRAST: {"enabled": has_all}}}
    light = [*violations(page, **most), *((CONTRAST, said) for said in faint(page))]
    is_themed, has_only_dark = page.evaluate(DARK)
    if not is_themed:
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    if not has_only_dark:
        most = {"runOnly": {"type": "rule", "values": [LINKS, *([CONTRAST] if has_all else [])]}}
    dark = [*violations(page, **most), *((CONTRAST, said) for said in faint(page))]
    if not is_themed:
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return [(scheme, *one) for scheme, found in (("light", light), ("dark", dark)) for one in found]
