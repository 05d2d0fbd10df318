"""Comparisons as files: HTML, Markdown or JSON, as the file's name says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from evenhand.domain.errors import ConfigError
from evenhand.reports.comparison import AnyComparison, comparison_json, comparison_markdown
from evenhand.reports.report import written_whole


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
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        endings = ", ".join(_WRITERS)
        raise ConfigError(f"{path}: unknown extension {ending or '(none)'}; a comparison can be {endings}")
    return _WRITERS[ending]


def write_comparison(comparison: AnyComparison, path: str) -> None:
    """Write a comparison to a file, whole or not at all."""
    text = comparison_writer(path)(comparison)
    with written_whole(path) as file:
        file.write(text.encode())
