"""Text of models and users, made safe to show to people."""

from __future__ import annotations

import re
import unicodedata

# A control sequence, a string such as a window title up to its end, any other escape. Each runs up to where the next
# could begin, so that a text of nothing but beginnings takes linear time.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
# Controls, marks of direction and other invisible characters, halves of surrogate pairs.
_UNSHOWN = {"Cc", "Cf", "Cs"}
# These two join letters in Persian and Indic scripts, and emoji.
_JOINERS = "\u200c\u200d"


def plain(text: str, limit: int | None = 200) -> str:
    r"""Return a text as one line that shows what it says and does nothing else; a long one is cut (REL-S4).

    >>> plain("fine\x1b]0;owned\x07\x1b[2J\nall passed")
    'fine all passed'

    No escape sequence, control or mark of direction is left, so the text cannot move the cursor, retitle the window
    or pass for a line of ours.
    """
    line = _ESCAPES.sub("", text)
    if not (line.isascii() and line.isprintable()):
        line = "".join(filter(_shows, line))
    line = " ".join(line.split())
    if limit is not None and len(line) > limit:
        return line[: limit - 1] + "…"
    return line


def _shows(one: str) -> bool:
    return one.isspace() or one in _JOINERS or unicodedata.category(one) not in _UNSHOWN
