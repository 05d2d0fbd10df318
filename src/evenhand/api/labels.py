"""Labels by people from Python: draw cases of a run for them, and add what they said."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.api.last_run import opened_to_label
from evenhand.domain.label import Draw
from evenhand.engine.run import Run
from evenhand.engine.store_location import DEFAULT, PlaceLike
from evenhand.labels.draw import make_draw
from evenhand.labels.file import AddedLabels, add_label_rows, add_labels_file, write_labels
from evenhand.reports.report import written_whole


def draw_labels(
    run: Run | str = "last",
    *,
    sample: int = 100,
    uncertain: float | None = None,
    seed: int | None = None,
    evaluator: str | None = None,
    file: str | os.PathLike[str] | None = None,
    store: PlaceLike = DEFAULT,
) -> Draw:
    """Draw cases of a run at random for people to label, and store the draw with the run.

    >>> from evenhand import Case, Contains, evaluate
    >>> cases = [Case(id=f"case-{number}", candidate_answer="Paris") for number in range(10)]
    >>> run = evaluate(cases, Contains(value="Paris"), store=None)
    >>> draw = draw_labels(run, sample=4, seed=7)
    >>> draw.size, draw.cases[0].p
    (4, 0.4)

    ``uncertain`` is the share of the draw where the judge is unsure, ``evaluator`` the one whose question people answer
    instead of the case as a whole, and ``file`` a CSV file for them to fill in. Without a seed, it is that of the draw
    before, or a random one.
    """
    opened = opened_to_label(run, store)
    with opened.opened_store() as there:
        draw = make_draw(there, opened.record, sample=sample, uncertain=uncertain, seed=seed, evaluator=evaluator)
        if file is not None:
            text = io.StringIO(newline="")
            write_labels(there, opened.record, text, draw=draw, labels=[])
            with written_whole(Path(file)) as out:
                out.write(b"\xef\xbb\xbf" + text.getvalue().encode())
    return draw


def add_labels(
    run: Run | str,
    labels: str | os.PathLike[str] | Sequence[Mapping[str, Any]],
    *,
    rater: str | None = None,
    store: PlaceLike = DEFAULT,
) -> AddedLabels:
    """Add labels by people to a run, all of them or none: a CSV file, or mappings with its columns.

    >>> from evenhand import Case, Contains, evaluate
    >>> run = evaluate([Case(id="a", candidate_answer="Paris")], Contains(value="Paris"), store=None)
    >>> add_labels(run, [{"id": "a", "human": "pass"}], rater="Ann").new
    1
    >>> [(label.case, label.value, label.is_drawn) for label in run.labels]
    [('a', 'pass', False)]

    ``rater`` is whose labels those are that do not say it. Every mistake is named with its row.
    """
    opened = opened_to_label(run, store)
    with opened.opened_store() as there:
        there.require_writable()
        if isinstance(labels, (str, os.PathLike)):
            return add_labels_file(there, opened.record, Path(labels), rater=rater)
        return add_label_rows(there, opened.record, labels, rater=rater)
