"""What the last imports did, for the pages that they lead to: loading such a page again imports nothing."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import Final

from evenhand.workspace.documents import Imported

_MOST: Final = 32


class ImportReports:
    """Keeps the last few reports, each under a word that nobody guesses."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Imported] = OrderedDict()

    def keep(self, report: Imported) -> str:
        """Keep a report, and give the word for it."""
        word = secrets.token_urlsafe(6)
        self._kept[word] = report
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return word

    def of(self, word: str) -> Imported | None:
        """Return a report; None where it is forgotten."""
        return self._kept.get(word)
