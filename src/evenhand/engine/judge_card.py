"""The judge card of a stored run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from evenhand.domain.label import Label
from evenhand.domain.run import RunRecord
from evenhand.engine.anchors import labelled_anchors
from evenhand.store.store import Store
from evenhand.trust.calibration import judge_card
from evenhand.trust.card import JudgeCard


def card_of(
    store: Store, run: RunRecord, *, evaluator: str | None = None, labels: Iterable[Label] | None = None
) -> JudgeCard:
    """Return what labels by people say of a run's judge; without ``labels``, those that are stored with the run."""
    given = list(store.labels.of(run) if labels is None else labels)
    card = judge_card(store.results(run), run, given, store.labels.draw(run, evaluator), evaluator=evaluator)
    return replace(card, anchors=labelled_anchors(store, run, evaluator=evaluator, labels=given))
