"""HTML and SVG that cannot forget to escape: only ``Markup`` goes in as it is, all else is text."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Final

from markupsafe import Markup, escape

from evenhand.domain.contract import storable

_VOID: Final = {"br", "col", "input", "meta"}
# Invisible, and some of them not even allowed in HTML: shown by the pictures that Unicode has for them.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_DELETE: Final = "\x7f"


def visible(value: str) -> str:
    r"""Return text in which control characters are replaced by their pictures.

    >>> visible("a\x1b[2J\r\nb")
    'a␛[2J\nb'
    """
    if value.isascii() and value.isprintable():  # as most are
        return value
    if _CONTROLS.search(value):
        value = _CONTROLS.sub(_picture, value.replace("\r\n", "\n"))
    return storable(value)


def text(value: str) -> Markup:
    """Turn any text into markup that shows it.

    >>> text("<b>&amp;")
    Markup('&lt;b&gt;&amp;amp;')
    """
    return escape(visible(value))


def join(*parts: str | None, between: str = "") -> Markup:
    """Put markup and texts side by side, without those that are None."""
    return Markup(_joined(parts, text(between) if between else ""))  # noqa: S704 - all parts are escaped


def tag(name: str, /, *children: str | None, **attributes: str | int | None) -> Markup:
    """Make an element; attributes that are None are left out.

    An underscore in an attribute's name stands for a hyphen, and one at its end for nothing.

    >>> tag("p", "a < b", class_="note", aria_label="less")
    Markup('<p class="note" aria-label="less">a &lt; b</p>')
    """
    written = "".join([_attribute(key, value) for key, value in attributes.items() if value is not None])
    if name in _VOID:
        return Markup(f"<{name}{written}>")  # noqa: S704 - the values are escaped
    return Markup(f"<{name}{written}>{_joined(children)}</{name}>")  # noqa: S704 - as above, and the children


# A table of thousands of rows has the same few in each of them.
@functools.lru_cache(maxsize=1024, typed=True)
def _attribute(name: str, value: str | int) -> str:
    return f' {name.rstrip("_").replace("_", "-")}="{text(str(value))}"'


def _joined(parts: Iterable[str | None], between: str = "") -> str:
    # As plain text that is escaped: the join of Markup would look at each part once more.
    return str.join(between, [part if isinstance(part, Markup) else text(part) for part in parts if part is not None])


def _picture(match: re.Match[str]) -> str:
    return "␡" if match[0] == _DELETE else chr(0x2400 + ord(match[0]))
