"""What the routes of the API and of the pages get from the application: its store, its settings, its caches.

    def show_settings(request: Request, store: StoreDep, settings: SettingsDep) -> Response: ...

``make_app`` puts each of them into the state of the application, and nobody else reads it there.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import Annotated, Any, Final

from fastapi import Depends, Request

from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.profile_summaries import ProfileNumbers
from evenhand.server.runs.results import Results
from evenhand.server.runs.summaries import SummaryCache
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store
from evenhand.workspace.documents import Imported

# So many reports of imports are kept, for the pages that show them.
_MOST: Final = 32


class ImportReports:
    """The last few reports, each under a random key."""

    def __init__(self) -> None:
        self._reports: OrderedDict[str, Imported] = OrderedDict()

    def keep(self, report: Imported) -> str:
        """Keep a report, and return its key."""
        word = secrets.token_urlsafe(6)
        self._reports[word] = report
        while len(self._reports) > _MOST:
            self._reports.popitem(last=False)
        return word

    def of(self, word: str) -> Imported | None:
        """Return a report, or None if it is gone."""
        return self._reports.get(word)


def _state(name: str) -> Any:
    async def read(request: Request) -> Any:  # async, since FastAPI runs others in a thread
        return getattr(request.app.state, name)

    return Depends(read)


StoreDep = Annotated[Store, _state("store")]
SettingsDep = Annotated[ServerSettings, _state("settings")]
RunManagerDep = Annotated[RunManager, _state("run_manager")]
ResultsDep = Annotated[Results, _state("results")]
SummaryCacheDep = Annotated[SummaryCache, _state("summary_cache")]
ProfileNumbersDep = Annotated[ProfileNumbers, _state("profile_numbers")]
ImportReportsDep = Annotated[ImportReports, _state("import_reports")]
