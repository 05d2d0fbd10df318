"""Reports of the last imports, for the pages shown after them: reloading such a page imports nothing."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import Final

from evenhand.workspace.documents import Imported

_MOST: Final = 32


class ImportReports:
    """The last few reports, each under a random key."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Imported] = OrderedDict()

    def keep(self, report: Imported) -> str:
        """Keep a report, and return its key."""
        word = secrets.token_urlsafe(6)
        self._kept[word] = report
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return word

    def of(self, word: str) -> Imported | None:
        """Return a report, or None if it is gone."""
        return self._kept.get(word)
