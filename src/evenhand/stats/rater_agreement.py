"""Two raters of the same items, with any labels: how often they agree, beyond chance too, and label by label."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from evenhand.domain.summary import Rate
from evenhand.stats.kappa import Kappa, Weights, kappa, table_of
from evenhand.stats.refusal import Refused
from evenhand.stats.shares import share
from evenhand.stats.wilson import LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelAgreement:
    """How the second rater uses a label, if the first is right; what nobody gave counts 0."""

    label: Hashable
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far two raters agree on ``n`` items; on ``missing`` ones at least one of them said nothing.

    ``share`` is how often they say the same, ``kappa`` how far that is beyond chance, each with its interval. ``table``
    counts items by the label of the first rater (row) and of the second (column), in the order of ``labels``.
    ``by_label`` and ``macro``, the mean over labels, take the first rater for the truth.
    """

    n: int
    missing: int
    labels: tuple[Hashable, ...]
    table: tuple[tuple[int, ...], ...]
    share: Rate | Refused
    kappa: Kappa | Refused
    by_label: tuple[LabelAgreement, ...]
    macro: LabelAgreement


def agreement(
    first: Sequence[Hashable | None],
    second: Sequence[Hashable | None],
    *,
    labels: Sequence[Hashable] | None = None,
    weights: Weights = "none",
    level: float = LEVEL,
) -> Agreement:
    """Return how far two raters agree, such as people and a judge, item by item.

    >>> found = agreement(["pass", "pass", "fail", "fail"], ["pass", "fail", "fail", None])
    >>> found.n, found.missing, round(found.share.value, 3), round(found.kappa.value, 3)
    (3, 1, 0.667, 0.4)

    None is an item that a rater gave no label, such as a reply that could not be read: it is counted as ``missing`` and
    is in no rate. ``labels`` are all that there are, in their order, which matters for ``weights``; by default those
    that were given.
    """
    if len(first) != len(second):
        raise ValueError(f"two raters rate the same items; got {len(first)} and {len(second)}")
    both = [(one, other) for one, other in zip(first, second, strict=True) if one is not None and other is not None]
    known = tuple(labels) if labels is not None else tuple(sorted({each for pair in both for each in pair}, key=repr))
    named = known if len(known) > 1 else (*known, *(f"no label {number}" for number in range(2 - len(known))))
    table = table_of([one for one, _ in both], [other for _, other in both], named)
    by_label = tuple(_of_label(label, place, table) for place, label in enumerate(named) if label in known)
    return Agreement(
        n=len(both),
        missing=len(first) - len(both),
        labels=named,
        table=tuple(map(tuple, table)),
        share=share(sum(row[place] for place, row in enumerate(table)), len(both), "items with two labels", level),
        kappa=kappa(table, weights, level),
        by_label=by_label,
        macro=_mean(by_label),
    )


def _of_label(label: Hashable, place: int, table: Sequence[Sequence[int]]) -> LabelAgreement:
    right = table[place][place]
    given, true = sum(row[place] for row in table), sum(table[place])
    return LabelAgreement(
        label=label,
        precision=right / given if given else 0.0,
        recall=right / true if true else 0.0,
        f1=2 * right / (given + true) if given + true else 0.0,
    )


def _mean(by_label: Sequence[LabelAgreement]) -> LabelAgreement:
    count = max(len(by_label), 1)
    means = (math.fsum(getattr(each, name) for each in by_label) / count for name in ("precision", "recall", "f1"))
    precision, recall, f1 = means
    return LabelAgreement(label="mean", precision=precision, recall=recall, f1=f1)
