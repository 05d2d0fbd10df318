"""How far cascades went: which stage decided how much, and what that saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from evenhand.domain.evaluation import Attempt, Evaluation
from evenhand.domain.summary import CascadeTally, StageTally, Summary
from evenhand.reports.highlights import within
from evenhand.reports.phrases import cost_text, counted
from evenhand.stats.sample import ExactSum, Sample
from evenhand.stats.total_cost import total_cost

CASCADE: Final = "cascade"
_CAME_TO: Final = ("decided", "unsure", "error", "not_evaluated")


class Stage(NamedTuple):
    """What a stage came to for one evaluation, with its requests."""

    name: str
    came_to: str
    attempts: Sequence[Attempt]


class Passage(NamedTuple):
    """One evaluation's way through a cascade."""

    name: str
    is_left: bool
    stages: tuple[Stage, ...]


def cascades_of(evaluation: Evaluation) -> Iterator[Passage]:
    """Yield the way of an evaluation through its cascade; one that is a member of a composite has the names of both."""
    if "members" in evaluation.details:  # as in few
        yield from _passages(evaluation.evaluator, evaluation.details, evaluation.attempts)


def _passages(name: str, details: object, attempts: Sequence[Attempt]) -> Iterator[Passage]:
    # Details come from any evaluator, and may be anything.
    fields: Mapping[str, Any] = details if isinstance(details, Mapping) else {}
    members = []
    for member in within(fields):
        count = member.get("attempts")
        count = count if isinstance(count, int) and count >= 0 else 0
        members.append((member, attempts[:count]))
        attempts = attempts[count:]
    way = fields.get(CASCADE)
    rows = way.get("stages") if isinstance(way, Mapping) else None
    if isinstance(way, Mapping) and isinstance(rows, list) and rows:
        requests = [mine for _, mine in members] + [()] * len(rows)
        found = [(row if isinstance(row, Mapping) else {}, mine) for row, mine in zip(rows, requests, strict=False)]
        stages = tuple(Stage(str(row.get("name")), str(row.get("came_to")), mine) for row, mine in found)
        yield Passage(name, way.get("left_to") is not None, stages)
    for member, mine in members:
        yield from _passages(f"{name}/{member.get('evaluator')}", member.get("details"), mine)


class CascadeCounts:
    """The counts behind a ``CascadeTally``; the evaluations may come in any order."""

    def __init__(self) -> None:
        self._evaluations = 0
        self._left = 0
        self._stages: list[_StageCounts] = []

    def add(self, passage: Passage, *, has_prices: bool) -> None:
        """Take in an evaluation; ``has_prices`` says that the prices of all its requests are known."""
        self._evaluations += 1
        self._left += passage.is_left
        while len(self._stages) < len(passage.stages):
            self._stages.append(_StageCounts())
        for counts, stage in zip(self._stages, passage.stages, strict=False):
            counts.add(stage, has_prices=has_prices)

    def tally(self) -> CascadeTally:
        """Return the numbers of what was counted so far."""
        last = self._stages[-1]
        others = self._evaluations - last.paid.n
        whole = None if last.unpriced else total_cost(last.paid, others)
        return CascadeTally(
            evaluations=self._evaluations,
            left_to_people=self._left,
            stages=tuple(stage.tally() for stage in self._stages),
            last_for_all=None if whole is None else whole[0],
            interval=None if whole is None else whole[1],
        )


class _StageCounts:
    """The counts behind a ``StageTally``; ``paid`` has the costs of evaluations of which nothing was in the cache."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._came_to = dict.fromkeys(_CAME_TO, 0)
        self._calls = 0
        self._cost = ExactSum()
        self.unpriced = 0
        self.paid = Sample()

    def add(self, stage: Stage, *, has_prices: bool) -> None:
        """Take in what a stage came to."""
        self._names.add(stage.name)
        if stage.came_to not in self._came_to:  # it was not asked
            return
        self._came_to[stage.came_to] += 1
        asked = [attempt for attempt in stage.attempts if not attempt.cached]
        self._calls += len(asked)
        # A request that is free has no cost either, and one that brought no reply costs nothing.
        if not has_prices and any(attempt.cost is None and attempt.kind == "reply" for attempt in asked):
            self.unpriced += 1
            return
        cost = sum(attempt.cost or 0.0 for attempt in asked)
        self._cost.add(cost)
        if asked and len(asked) == len(stage.attempts):
            self.paid.add(cost)

    def tally(self) -> StageTally:
        """Return the numbers of what was counted so far."""
        return StageTally(
            # Cases may have evaluators of their own with the same name.
            name=", ".join(sorted(self._names)),
            asked=sum(self._came_to.values()),
            decided=self._came_to["decided"],
            unsure=self._came_to["unsure"],
            errors=self._came_to["error"],
            not_evaluated=self._came_to["not_evaluated"],
            calls=self._calls,
            known_cost=self._cost.value,
            unpriced=self.unpriced,
        )


def cascade_sentences(summary: Summary, written: Callable[[str, int], str]) -> Iterator[str]:
    """Say of each cascade how many evaluations went how far, and what that saved."""
    noun = "case" if summary.repeat == 1 else "evaluation"
    for name, tally in summary.cascades.items():
        yield f"cascade {written(name, 60)}: {_how_far(tally, noun, written)}"
        yield f"cascade {written(name, 60)}: {_saved(tally, noun)}"


def _how_far(tally: CascadeTally, noun: str, written: Callable[[str, int], str]) -> str:
    decided = [
        f"{stage.decided:,} by stage {number} ({written(stage.name, 60)})"
        for number, stage in enumerate(tally.stages, start=1)
    ]
    words = f"of {counted(tally.evaluations, noun)}, {decided[0].replace(' by', ' decided by', 1)}"
    words = ", ".join([words, *decided[1:]])
    if tally.left_to_people:
        words += f"; {tally.left_to_people:,} left to people"
    if undecided := tally.evaluations - tally.left_to_people - sum(stage.decided for stage in tally.stages):
        words += f"; {undecided:,} without a verdict"
    failed = [
        f"stage {number} failed in {stage.errors:,}"
        for number, stage in enumerate(tally.stages, start=1)
        if stage.errors
    ]
    return "; ".join([words, *failed])


def _saved(tally: CascadeTally, noun: str) -> str:
    last = tally.stages[-1]
    share = tally.spared / tally.evaluations
    words = f"the last stage was spared {tally.spared:,} of {counted(tally.evaluations, noun)} ({share:.0%})"
    if tally.last_for_all is None:
        if last.asked and not last.unpriced:  # it calls no model, or its replies were in the cache
            return words
        why = "its price is not known" if last.unpriced else "it was never asked"
        return f"{words}; what all of them would have cost there is unknown, since {why}"
    around = "" if tally.interval is None else f" [{cost_text(tally.interval.low)}, {cost_text(tally.interval.high)}]"
    cost = "an unknown amount" if tally.cost is None else cost_text(tally.cost)
    all_there = f"about {cost_text(tally.last_for_all)}{around} there"
    words += f"; all of them would have cost {all_there}, and the cascade cost {cost}"
    if tally.cost is not None and tally.last_for_all > 0:
        saved = tally.last_for_all - tally.cost
        words += f": {cost_text(abs(saved))} ({abs(saved) / tally.last_for_all:.0%}) {'less' if saved >= 0 else 'more'}"
    return words
