"""The queue of a draw for one person: what is to be labelled next, how far they are, and how people agree."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from evenhand.domain.errors import ConfigError, NotFoundError
from evenhand.domain.label import Draw, DrawnCase, Label, LabelValue, answer_hash, answer_of
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.engine.store_location import run_command
from evenhand.labels.draw import require_answers
from evenhand.stats.agreement import Rating, Ratings
from evenhand.store.results import case_at
from evenhand.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The drawn cases in their order, and the labels that a person has given for them."""

    draw: Draw
    labels: tuple[Label, ...]

    @classmethod
    def of(cls, store: Store, run: RunRecord, *, rater: str, evaluator: str | None = None) -> Queue:
        """Return the queue of a person; raises ``NotFoundError`` if nothing was drawn yet."""
        require_answers(run)
        draw = store.labels.draw(run, evaluator)
        if draw is None:
            draw_first = f"{run_command('label', run.id, store.address)} --sample 100"
            raise NotFoundError(f"nothing was drawn from run {run.id} yet; draw cases first: {draw_first}")
        labels = store.labels.of(run, rater=rater, evaluator=evaluator)
        return cls(draw=draw, labels=tuple(label for label in labels if label.is_drawn))

    @property
    def done(self) -> int:
        """How many of the drawn cases the person has labelled."""
        return len(self.labels)

    @property
    def size(self) -> int:
        """How many cases were drawn."""
        return self.draw.size

    @property
    def last(self) -> Label | None:
        """The label that the person gave last, which undo takes back."""
        return self.labels[-1] if self.labels else None

    def label_of(self, position: int) -> Label | None:
        """Return the person's label of a case."""
        return next((label for label in self.labels if label.position == position), None)

    def next(self, skipped: Collection[int] = ()) -> DrawnCase | None:
        """Return the first case without a label; those that were skipped come after all others, in their order."""
        labelled = {label.position for label in self.labels}
        rest = [drawn for drawn in self.draw.cases if drawn.position not in labelled]
        fresh = [drawn for drawn in rest if drawn.position not in skipped]
        return next(iter(fresh or rest), None)

    def after(self, position: int) -> DrawnCase | None:
        """Return the next case without a label after another, from the beginning again at the end."""
        labelled = {label.position for label in self.labels}
        place = self.draw.place(position) or 0
        order = (*self.draw.cases[place:], *self.draw.cases[:place])
        return next((drawn for drawn in order if drawn.position not in labelled), None)


def give_label(
    store: Store,
    run: RunRecord,
    result: CaseResult,
    *,
    rater: str,
    value: LabelValue,
    note: str = "",
    evaluator: str | None = None,
    from_draw: bool,
    read: str | None = None,
) -> Label:
    """Store what a person said of a case.

    A label counts as drawn only if it was given ``from_draw``, before the judge's view was shown, and the case was
    drawn. ``read`` is the hash of the answer that the person has read, where that may be another by now.
    """
    answer = answer_of(result)
    if answer is None:
        raise ConfigError(f"case {result.id!r:.80} has no answer, so there is nothing to label")
    now = answer_hash(answer)
    if read is not None and read != now:
        raise ConfigError(
            f"the answer of case {result.id!r:.80} is not the one that was labelled: its hash is {now}, and not "
            f"{read!r:.40}; read it again",
            key="answer_hash",
        )
    draw = store.labels.draw(run, evaluator) if from_draw else None
    drawn = None if draw is None else draw.at(result.position)
    if from_draw and drawn is None:
        raise ConfigError(f"case {result.id!r:.80} was not drawn; label it as not drawn", key="drawn")
    label = Label(
        case=result.id,
        position=result.position,
        rater=rater,
        value=value,
        note=note,
        answer=now,
        p=None if drawn is None else drawn.p,
        evaluator=evaluator,
    )
    return store.labels.add(run, [label])[0]


def case_of(store: Store, run: RunRecord, drawn: DrawnCase) -> CaseResult:
    """Return a drawn case."""
    result = case_at(store, run, drawn.position)
    if result is None:
        raise NotFoundError(f"run {run.id} has no case {drawn.case!r:.80} any more")
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleAgreement:
    """How people agree on the cases that several of them have labelled.

    ``pairs`` counts two labels of the same case by two people, ``same`` those of them that are alike. ``alpha`` is
    Krippendorff's, None where it is not defined, such as when all labels are the same.
    """

    raters: tuple[str, ...]
    cases: int
    pairs: int
    same: int
    alpha: float | None

    @property
    def share(self) -> float | None:
        """The share of pairs that are alike; None without a pair."""
        return self.same / self.pairs if self.pairs else None


def people_agreement(labels: Sequence[Label]) -> PeopleAgreement:
    """Return how people agree, over labels of one evaluator or of whole cases.

    >>> said = [("a", "ann", "pass"), ("a", "bob", "pass"), ("b", "ann", "fail"), ("b", "bob", "pass")]
    >>> labels = [
    ...     Label(case=case, position=ord(case), rater=rater, value=value, answer="h0") for case, rater, value in said
    ... ]
    >>> found = people_agreement(labels)
    >>> found.cases, found.same, found.pairs
    (2, 1, 2)
    """
    by_case: dict[tuple[int, str], list[Label]] = {}
    for label in labels:
        by_case.setdefault((label.position, label.answer), []).append(label)
    several = [those for those in by_case.values() if len(those) > 1]
    ratings = Ratings()
    pairs = same = 0
    for those in several:
        ratings.add([([Rating(label.rater, label.score) for label in those], 0)])
        for one, other in combinations(those, 2):
            pairs += 1
            same += one.score == other.score
    found = ratings.agreement() if several else None
    return PeopleAgreement(
        raters=tuple(sorted({label.rater for label in labels})),
        cases=len(several),
        pairs=pairs,
        same=same,
        alpha=None if found is None else found.alpha,
    )
