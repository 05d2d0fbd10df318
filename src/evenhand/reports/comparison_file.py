"""Comparisons as files: HTML, Markdown or JSON, as the file's name says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evenhand.reports.comparison import AnyComparison, comparison_json, comparison_markdown
from evenhand.reports.report import write_whole, writer_for


def _html(comparison: AnyComparison) -> str:
    from evenhand.reports.html.comparison import comparison_html  # noqa: PLC0415 - page templates are slow to load

    return comparison_html(comparison)


_WRITERS: Final[dict[str, Callable[[AnyComparison], str]]] = {
    ".html": _html,
    ".md": comparison_markdown,
    ".json": lambda comparison: comparison_json(comparison) + "\n",
}


def comparison_writer(path: str) -> Callable[[AnyComparison], str]:
    """Return the writer that a file's name asks for; ask this first, so that the mistake costs nothing."""
    return writer_for(path, _WRITERS, "a comparison")


def write_comparison(comparison: AnyComparison, path: str) -> None:
    """Write a comparison to a file, whole or not at all."""
    write_whole(path, comparison_writer(path)(comparison))
