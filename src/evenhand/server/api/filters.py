"""Saved filters of the list of runs over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from evenhand.domain.run import MOST_LABEL, MOST_TAGS
from evenhand.server.api.bodies import Body, routes
from evenhand.server.api.schemas import Listed, Shape
from evenhand.server.dependencies import StoreDep
from evenhand.server.runs.run_query import LONGEST_TEXT, RunQuery
from evenhand.store.saved_filters import SavedFilter

router = routes("runs")


class FilterBody(Body):
    """A filter of the list of runs; omitted fields leave no run out."""

    text: Annotated[str, Field(max_length=LONGEST_TEXT, description="Words that names, tags or models contain.")] = ""
    prompt: Annotated[str, Field(max_length=LONGEST_TEXT, description="The id or name of a prompt.")] = ""
    tags: Annotated[tuple[str, ...], Field(max_length=MOST_TAGS, description="All of these tags.")] = ()
    sort: Annotated[str, Field(description="As on the page: newest, oldest, name, pass_rate, mean …")] = "newest"


class FilterShape(Shape):
    """A saved filter; ``address`` is the page that shows it."""

    name: str
    text: str
    prompt: str
    tags: list[str]
    sort: str
    address: str


_Name = Annotated[str, Path(min_length=1, max_length=MOST_LABEL, description="The filter's name.")]


@router.get("/run-filters", response_model=Listed[FilterShape])
def list_filters(store: StoreDep) -> Any:
    """List the saved filters of the list of runs, by name."""
    return {"items": [_shown(each) for each in store.saved_filters.all()]}


@router.put("/run-filters/{name:path}", response_model=FilterShape)
def save_filter(name: _Name, body: FilterBody, store: StoreDep) -> Any:
    """Save a filter of the list of runs, in place of any other of this name."""
    query = RunQuery.of(text=body.text, prompt=body.prompt, tags=body.tags, sort=body.sort)
    return _shown(store.saved_filters.save(name, str(query)))


@router.delete("/run-filters/{name:path}", status_code=204)
def delete_filter(name: _Name, store: StoreDep) -> None:
    """Delete a saved filter; the runs stay as they are."""
    store.saved_filters.delete(name)


def _shown(saved: SavedFilter) -> dict[str, Any]:
    query = RunQuery.from_text(saved.query)
    return {"name": saved.name, **query.as_dict(), "address": query.address()}
