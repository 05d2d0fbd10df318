"""The columns of the table of results: which there are, and which of them somebody wants to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request

from evenhand.domain.run import RunRecord
from evenhand.profiles.undertaken import is_scoring, mode_of
from evenhand.reports.numbers import NONE, cost_text, duration_text
from evenhand.reports.plain import plain
from evenhand.server.problems import Problem

# What results_columns.js keeps, with dots between the names: the address tells others, this is for the next run.
COOKIE: Final = "evenhand-columns"
PARAMETER: Final = "column"
# How a group stands that a judge put in order; results_row.js has it too.
RANKED: Final = "ranked"
_GIST: Final = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column beside verdict, score and case; ``sort`` is what the list is then sorted by."""

    key: str
    heading: str
    about: str = ""
    sort: str | None = None
    is_number: bool = False


# Those with numbers first: runs.css knows them by their places.
COLUMNS: Final = (
    Column(key="asked", heading="Asked", about="How often the judge was asked", is_number=True),
    Column(key="seconds", heading="Latency", about="How long the judgment took", sort="seconds", is_number=True),
    Column(key="hits", heading="Hits", about="Hits and misses", is_number=True),
    Column(key="cost", heading="Cost", about="What the judgment cost", sort="cost", is_number=True),
    Column(key="sample", heading="Sample", is_number=True),
    Column(key="evaluator", heading="Evaluator", sort="evaluator"),
    Column(key="model", heading="Model", about="Which model answered", sort="model"),
    Column(key="question", heading="Input"),
    Column(key="answer", heading="Output"),
    Column(key="why", heading="Why", about="What the judge says, or which error there was"),
)
_KEYS: Final = tuple(column.key for column in COLUMNS)


def asked_for(request: Request) -> tuple[str, ...] | None:
    """Read from the address which columns are wanted; None where it does not say."""
    if PARAMETER not in request.query_params:
        return None
    wanted = [name for name in request.query_params.getlist(PARAMETER) if name]
    if unknown := [name for name in wanted if name not in _KEYS]:
        told = f"there is no column {unknown[0]!r:.40}; known are {', '.join(_KEYS)}"
        raise Problem(422, "Not valid", told, field=PARAMETER)
    return tuple(dict.fromkeys(wanted))


def kept(request: Request) -> tuple[str, ...] | None:
    """Give the columns that this browser was told to show; None where it was told nothing that we know."""
    said = request.cookies.get(COOKIE)
    if said is None:
        return None
    wanted = tuple(name for name in said.split(".") if name in _KEYS)
    return wanted if wanted or not said else None


def usual(run: RunRecord, evaluators: Sequence[str], models: Sequence[str]) -> tuple[str, ...]:
    """Give the columns that tell something about a run; the judge of profiles finds no hits and misses."""
    told = {"cost": False, "sample": run.repeat > 1, "evaluator": len(evaluators) > 1, "model": len(models) > 1}
    told |= {"hits": mode_of(run.definition) is None, "question": not is_scoring(run.definition)}
    return tuple(key for key in _KEYS if told.get(key, True))


def shown(keys: Sequence[str]) -> list[Column]:
    """Give the columns in the order in which they stand in the table."""
    return [column for column in COLUMNS if column.key in keys]


def row_of(item: Mapping[str, Any], scale: int | None) -> dict[str, Any]:
    """Give a row, its score up to ``scale``; where that is None, it was ranked, and has no score.

    Texts are short here, so that the page is, and the table asks for longer ones as it is scrolled.
    """
    is_scored = item["status"] == "scored"
    standing = item["status"] if not is_scored else item["verdict"] if scale else RANKED
    why = item["error"] if item["status"] == "error" else item["reasoning"]
    return {
        "standing": standing,
        "score": f"{item['score'] * scale:.2f}" if is_scored and scale else NONE,
        "case": item["case_id"],
        "position": item["position"],
        "asked": item["retry_count"] + 1,
        "seconds": duration_text(item["seconds"]),
        "hits": f"{item['hits']} / {item['misses']}",
        "cost": cost_text(item["cost"]),
        "sample": item["sample"] + 1,
        "evaluator": item["evaluator"],
        "model": item["model"] or "",
        "question": plain(item["question"], _GIST),
        "answer": plain(item["answer"] or "", _GIST),
        "why": plain(why or "", _GIST),
    }
