"""Several judges compared, as files: HTML, Markdown or JSON, as the file's name says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evenhand.reports.judges import judges_json, judges_markdown
from evenhand.reports.report import write_whole, writer_for
from evenhand.trust.judge_panel import JudgesComparison


def _html(found: JudgesComparison) -> str:
    from evenhand.reports.html.judges import judges_html  # noqa: PLC0415 - page templates are slow to load

    return judges_html(found)


_WRITERS: Final[dict[str, Callable[[JudgesComparison], str]]] = {
    ".html": _html,
    ".md": judges_markdown,
    ".json": lambda found: judges_json(found) + "\n",
}


def judges_writer(path: str) -> Callable[[JudgesComparison], str]:
    """Return the writer that a file's name asks for; ask this first, so that the mistake costs nothing."""
    return writer_for(path, _WRITERS, "a comparison of judges")


def write_judges(found: JudgesComparison, path: str) -> None:
    """Write a comparison of judges to a file, whole or not at all."""
    write_whole(path, judges_writer(path)(found))
