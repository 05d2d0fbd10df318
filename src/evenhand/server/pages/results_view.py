"""A page of a list of results: which rows it has, and the addresses of the pages around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from evenhand.domain.run import RunRecord
from evenhand.server.pages.results_query import VERDICTS, VIEWS, ResultsQuery
from evenhand.server.pages.run_view import own
from evenhand.server.rendering import page
from evenhand.server.runs.profile_summaries import scale_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """Some rows of a list, and how many it has; of rows with several answers, how many of these match."""

    rows: Sequence[Any]
    total: int
    matching: int | None = None


def list_page(
    request: Request,
    template: str,
    run: RunRecord,
    query: ResultsQuery,
    read: Callable[[int], ListPage],
    *,
    on_a_page: int,
    **values: Any,
) -> Response:
    """Render the page that the address asks for; past the end of the list, the last one."""
    number = query.page
    found = read((number - 1) * on_a_page)
    last = max(-(-found.total // on_a_page), 1)
    if number > last:
        number, found = last, read((last - 1) * on_a_page)
    first = (number - 1) * on_a_page
    return page(
        request,
        template,
        run=run,
        own=own(run),
        query=query,
        scale=scale_of(run),
        found=found,
        first=first,
        shown=f"{first + 1:,} to {first + len(found.rows):,} of {found.total:,}" if found.rows else "",
        pages_around={
            "first": query.address(page="") if number > 1 else None,
            "prev": query.address(page=str(number - 1) if number > 2 else "") if number > 1 else None,
            "next": query.address(page=str(number + 1)) if number < last else None,
            "last": query.address(page=str(last)) if number < last else None,
        },
        views=VIEWS,
        verdicts=VERDICTS,
        labels=labels_in(run),
        **values,
    )


def labels_in(run: RunRecord) -> list[str]:
    """Return the labels that the judges of a run may give, as its definition has them."""
    evaluators = run.definition.get("evaluators")
    choices = [each.get("choices") for each in evaluators if isinstance(each, Mapping)] if evaluators else []
    return list(dict.fromkeys(label for labels in choices if isinstance(labels, Mapping) for label in labels))
