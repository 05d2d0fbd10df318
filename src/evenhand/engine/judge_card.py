"""The judge card of a stored run, and the numbers that it corrects: worked out once, and kept beside the run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from evenhand.domain.errors import StoreError
from evenhand.domain.label import Label
from evenhand.domain.run import RunRecord
from evenhand.engine.anchors import labelled_anchors
from evenhand.engine.overview import is_at_work
from evenhand.store.rows import dumps, loads
from evenhand.store.store import Store
from evenhand.trust.calibration import judge_card
from evenhand.trust.card import JudgeCard
from evenhand.trust.kept_card import card_format, card_from


def card_of(
    store: Store, run: RunRecord, *, evaluator: str | None = None, labels: Iterable[Label] | None = None
) -> JudgeCard:
    """Return what labels by people say of a run's judge; without ``labels``, those that are stored with the run.

    The whole run is read for it once. The card is kept with what it covers, as the overview of a run is.
    """
    if labels is not None:
        return _made(store, run, evaluator, list(labels))
    if (kept := kept_card(store, run, evaluator)) is not None:
        return kept
    covers = _covers(store, run, store.summaries.coverage(run))
    card = _made(store, run, evaluator, store.labels.of(run))
    if not is_at_work(store, run) and _covers(store, run, store.summaries.coverage(run)) == covers:
        with contextlib.suppress(StoreError):  # a store that can only be read
            store.judge_cards.keep(run, evaluator, covers, dumps(card.as_dict()), format=card_format())
    return card


def kept_card(store: Store, run: RunRecord, evaluator: str | None = None) -> JudgeCard | None:
    """Return the card of a run where it is known without reading the run."""
    covers = _covers(store, run, store.summaries.known_coverage(run))
    content = store.judge_cards.find(run, evaluator, covers, format=card_format())
    if content is None:
        return None
    try:
        return replace(card_from(loads(content)), name=run.name)
    except (KeyError, TypeError, ValueError, AttributeError, StoreError):  # whole, and not what this version writes
        return None


def _covers(store: Store, run: RunRecord, coverage: str) -> str:
    state = store.labels.state(run)
    return coverage if state is None else f"{coverage} {state.key}"


def _made(store: Store, run: RunRecord, evaluator: str | None, labels: Sequence[Label]) -> JudgeCard:
    card = judge_card(store.results(run), run, labels, store.labels.draw(run, evaluator), evaluator=evaluator)
    return replace(card, anchors=labelled_anchors(store, run, evaluator=evaluator, labels=labels))
