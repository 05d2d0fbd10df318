"""A comparison as text for a terminal, as Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from evenhand.domain.comparison import Comparison
from evenhand.domain.errors import ConfigError
from evenhand.reports.blocks import as_markdown, as_text
from evenhand.reports.comparison import parts
from evenhand.reports.rows import SCHEMA_VERSION
from evenhand.reports.strict import strict_json
from evenhand.reports.whole import written_whole


def comparison_text(comparison: Comparison, *, width: int = 100) -> str:
    """Give a comparison as text that shows what it says and does nothing else, whatever ids and names have in them."""
    return as_text(parts(comparison), width=width)


def comparison_markdown(comparison: Comparison) -> str:
    """Give a comparison as Markdown, in which ids and names are escaped."""
    return f"# Run B against run A\n{as_markdown(parts(comparison))}"


def comparison_json(comparison: Comparison) -> str:
    """Give a comparison as one line of strict JSON."""
    return strict_json({"schema_version": SCHEMA_VERSION, **comparison.as_dict()})


_WRITERS: Final[dict[str, Callable[[Comparison], str]]] = {
    ".md": comparison_markdown,
    ".json": lambda comparison: comparison_json(comparison) + "\n",
}


def comparison_writer(path: str) -> Callable[[Comparison], str]:
    """Give the writer that a file's name asks for; ask this first, so that the mistake costs nothing."""
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        known = " or ".join(_WRITERS)
        raise ConfigError(f"{path}: no comparison is written to {ending or 'no ending'}; give a name in {known}")
    return _WRITERS[ending]


def write_comparison(comparison: Comparison, path: str) -> None:
    """Write a comparison to a file, whole or not at all."""
    text = comparison_writer(path)(comparison)
    with written_whole(path) as file:
        file.write(text.encode())
