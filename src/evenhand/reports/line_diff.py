"""What differs between two texts, line by line: between versions of a prompt, or what is here and what is imported."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

AROUND: Final = 3
# difflib's work grows with the square of the lines; longer texts are shown whole, one after the other.
MOST_LINES: Final = 4_000

Kind = Literal["added", "removed", "same", "gap"]


class Line(NamedTuple):
    """A line of a comparison; ``kind`` says in which of the texts it is."""

    kind: Kind
    text: str

    @property
    def sign(self) -> str:
        """The sign before the line."""
        return {"added": "+", "removed": "−", "same": "", "gap": "…"}[self.kind]

    @property
    def label(self) -> str:
        """What the sign means, for screen readers."""
        return {"added": "added: ", "removed": "removed: ", "same": "", "gap": ""}[self.kind]


def differences(old: str, new: str) -> list[Line]:
    r"""Return the lines of two texts, without those that are far from any difference.

    >>> [(line.kind, line.text) for line in differences("a\nb", "a\nc")]
    [('same', 'a'), ('removed', 'b'), ('added', 'c')]
    """
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > MOST_LINES:
        return [*(Line("removed", line) for line in before), *(Line("added", line) for line in after)]
    lines: list[Line] = []
    reached = 0
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(AROUND):
        lines += _skipped(group[0][1] - reached)
        for kind, low, high, new_low, new_high in group:
            if kind == "equal":
                lines += (Line("same", line) for line in before[low:high])
                continue
            lines += (Line("removed", line) for line in before[low:high])
            lines += (Line("added", line) for line in after[new_low:new_high])
        reached = group[-1][2]
    if not lines and old != new:
        return [Line("gap", "the lines are the same; only the line endings differ")]
    return lines + _skipped(len(before) - reached)


def changes(
    old: Mapping[str, str | None], new: Mapping[str, str | None], labels: Mapping[str, str]
) -> list[tuple[str, list[Line]]]:
    """Return the fields in which two forms differ, by their labels, with their lines; empty is the same as absent."""
    return [
        (label, differences(old[name] or "", new[name] or ""))
        for name, label in labels.items()
        if (old[name] or "") != (new[name] or "")
    ]


def _skipped(number: int) -> list[Line]:
    return [Line("gap", f"{number} line{'s' if number > 1 else ''} unchanged")] if number > 0 else []
