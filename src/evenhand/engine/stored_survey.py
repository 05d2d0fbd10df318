"""The overview of a run from its rows: of most evaluations, nothing is read but what is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from evenhand.domain.evaluation import Status
from evenhand.domain.gates import slices_of
from evenhand.domain.json_codec import saved_from, usage_from
from evenhand.domain.run import RunRecord
from evenhand.domain.slices import slice_value
from evenhand.reports.overview import COUNTED_BY, NESTED, Overview, Survey
from evenhand.store.records import Row
from evenhand.store.rows import loads
from evenhand.store.store import Store

_SCORED: Final = Status.SCORED.value
# What a case is counted by beside its judgment. A case that has such a word anywhere is read as a whole.
_WORDS: Final = tuple(f'"{name}"' for name in ("cluster", *sorted(COUNTED_BY)))


def stored_survey(store: Store, run: RunRecord) -> Overview:
    """Go through the rows of a run once, and return what ``survey`` makes of its results.

    Most cases have one judgment, by one reply, and are like others before them in all but position, tokens and cost;
    of these no objects are made.
    """
    slices = slices_of(run.definition)
    collected = Survey(slices)
    thresholds, repeat = run.thresholds, run.repeat
    for page in store.pages(run, whole=False):
        for row in page.cases:
            position = row[0]
            judged = page.evaluations.get(position, ())
            likeness = None
            if len(judged) == 1 and row[3] * repeat <= 1 and position not in page.answers:
                fields = loads(judged[0][13])
                if (likeness := _likeness(row, judged[0], fields, slices)) is not None:
                    (attempt,) = fields["attempts"]
                    usage, saved = usage_from(attempt.get("usage")), saved_from(attempt.get("saved"))
                    if collected.add_known(likeness, position, usage, judged[0][11], saved=saved):
                        continue
            collected.add(page.case(run, row, thresholds).result, known_as=likeness)
    return collected.overview()


def _likeness(case: Row, row: Row, fields: Mapping[str, Any], slices: Sequence[str]) -> tuple[object, ...] | None:
    """Return what a case of one judgment is counted by, tokens and cost aside; None if there may be more to it.

    Rows without a checksum are from an older version or another tool, and may have anything in them.
    """
    content, attempts = case[4], fields.get("attempts")
    if (
        fields["status"] != _SCORED
        or type(attempts) is not list
        or len(attempts) != 1
        or fields.get("flags")
        or fields.get("retry_count")
        or fields.get("error") is not None
        or case[-1] is None
        or row[-1] is None
    ):
        return None
    attempt, details = attempts[0], fields.get("details", {})
    if attempt["kind"] != "reply" or attempt.get("error") is not None or attempt.get("cached"):
        return None
    if details and not NESTED.isdisjoint(details):
        return None
    for word in _WORDS:
        if word in content:
            return None
    judge = details.get("judge") if details else None
    counted = (
        fields["evaluator"],
        fields["type"],
        fields["score"],
        fields["verdict"],
        judge if isinstance(judge, str) else None,
        attempt.get("batch") is True,
        row[9],
        row[10],
        row[2],
    )
    if not slices:
        return counted
    metadata = loads(content)["case"].get("metadata", {})
    return counted + tuple(slice_value(metadata, name) for name in slices)
