"""What the routes of the API and of the pages get from the application: its store, its settings, its caches.

    def show_settings(request: Request, store: StoreDep, settings: SettingsDep) -> Response: ...

``make_app`` puts each of them into the state of the application, and nobody else reads it there.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from evenhand.server.import_jobs import ImportJobs
from evenhand.server.readiness import Readiness
from evenhand.server.runs.live_runs import LiveRuns
from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.playground import Playground
from evenhand.server.runs.profile_summaries import ProfileNumbers
from evenhand.server.runs.results import Results
from evenhand.server.runs.summaries import SummaryCache
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store


def _state(name: str) -> Any:
    async def read(request: Request) -> Any:  # async, since FastAPI runs others in a thread
        return getattr(request.app.state, name)

    return Depends(read)


StoreDep = Annotated[Store, _state("store")]
ReadinessDep = Annotated[Readiness, _state("readiness")]
SettingsDep = Annotated[ServerSettings, _state("settings")]
RunManagerDep = Annotated[RunManager, _state("run_manager")]
LiveRunsDep = Annotated[LiveRuns, _state("live_runs")]
ResultsDep = Annotated[Results, _state("results")]
SummaryCacheDep = Annotated[SummaryCache, _state("summary_cache")]
ProfileNumbersDep = Annotated[ProfileNumbers, _state("profile_numbers")]
ImportJobsDep = Annotated[ImportJobs, _state("import_jobs")]
PlaygroundDep = Annotated[Playground, _state("playground")]
