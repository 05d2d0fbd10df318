"""Judge cards as files: HTML, Markdown or JSON, as the file's name says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evenhand.reports.judge_card import card_json, card_markdown
from evenhand.reports.report import write_whole, writer_for
from evenhand.trust.card import JudgeCard


def _html(card: JudgeCard) -> str:
    from evenhand.reports.html.judge_card import judge_card_html  # noqa: PLC0415 - page templates are slow to load

    return judge_card_html(card)


_WRITERS: Final[dict[str, Callable[[JudgeCard], str]]] = {
    ".html": _html,
    ".md": card_markdown,
    ".json": lambda card: card_json(card) + "\n",
}


def judge_card_writer(path: str) -> Callable[[JudgeCard], str]:
    """Return the writer that a file's name asks for; ask this first, so that the mistake costs nothing."""
    return writer_for(path, _WRITERS, "a judge card")


def write_judge_card(card: JudgeCard, path: str) -> None:
    """Write a judge card to a file, whole or not at all."""
    write_whole(path, judge_card_writer(path)(card))
