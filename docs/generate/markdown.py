"""What the generated pages are made of: tables, values, and the words of docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import yaml

_SPEC_IDS: Final = re.compile(r"\s*\(SPEC-[^)]*\)")
_EXAMPLE: Final = re.compile(r"^(?:>>> .*\n(?:(?!\n).+\n?)*)+", re.MULTILINE)


def made_by(source: str) -> str:
    """Tell who edits the page where to do that; readers do not see it."""
    return f"<!-- Made by `python -m docs.generate` from {source}. Edit that, not this page. -->"


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; a column without any content is left out."""
    written = [list(row) for row in rows]
    kept = [number for number, _ in enumerate(heading) if any(row[number] for row in written)]
    lines = [list(heading), ["---"] * len(heading), *written]
    return "\n".join("| " + " | ".join(_cell(line[number]) for number in kept) + " |" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text).replace("\n", " ")


def code(text: str) -> str:
    """Write code within a line."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def value(given: Any) -> str:
    """Write a value as it stands in a suite, on one line."""
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    written = yaml.safe_dump(
        given, default_flow_style=True, width=float("inf"), sort_keys=False, allow_unicode=True
    ).strip()
    return code(written.removesuffix("...").strip())


def prose(docstring: str | None) -> str:
    """Write a docstring as Markdown, its examples as blocks of their own."""
    text = _SPEC_IDS.sub("", inspect.cleandoc(docstring or "")).replace("``", "`")
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text + "\n").strip()


def first_line(docstring: str | None) -> str:
    """Return the sentence with which a docstring begins."""
    return prose(docstring).partition("\n")[0]


def page(*parts: str) -> str:
    """Put parts together, with a blank line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
