"""The cases to look at first, and what an evaluation is made of."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar

from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult, Judgment
from evenhand.domain.verdict import Verdict
from evenhand.reports.phrases import Standing
from evenhand.stats.agreement import Rating

PROGRAM: Final = "code_judge"
FUNCTION: Final = "function"


# A tuple: one is made for every evaluation, and a frozen dataclass takes three times as long.
class Part(NamedTuple):
    """An evaluation, or one within another: of which type it is, by which judge, and how often that was asked."""

    type: str
    judge: str | None
    attempts: int

    @property
    def programs(self) -> int:
        """How many programs were run for it."""
        return self.attempts if self.type == PROGRAM else 0

    @property
    def functions(self) -> int:
        """How many functions were called for it: they leave no attempt."""
        return int(self.type == FUNCTION)


def parts_of(evaluation: Evaluation) -> Sequence[Part]:
    """Return an evaluation and all within it."""
    return tuple(_parts(evaluation.type, len(evaluation.attempts), evaluation.details))


def judges_of(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the judges of an evaluation and of its members, each once."""
    return tuple(dict.fromkeys([part.judge for part in parts_of(evaluation) if part.judge is not None]))


def stated_models_of(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the models that the replies of an evaluation say they are of, each once."""
    return tuple(dict.fromkeys([attempt.model for attempt in evaluation.attempts if isinstance(attempt.model, str)]))


def ambiguities_of(evaluation: Evaluation) -> Iterator[tuple[str, bool]]:
    """Yield which verdict counted where a reply had several, and whether the other one would have changed ours.

    A composite has those of its members and its meta-judge.
    """
    verdict = None if evaluation.verdict is None else evaluation.verdict.value
    yield from _ambiguities(verdict, evaluation.details)


def _ambiguities(verdict: object, details: object) -> Iterator[tuple[str, bool]]:
    fields: Mapping[str, Any] = details if isinstance(details, Mapping) else {}
    other = fields.get("ambiguous")
    if isinstance(other, Mapping) and isinstance(other.get("counted"), str):
        yield other["counted"], other.get("verdict") != verdict
    for member in within(fields):
        yield from _ambiguities(member.get("verdict"), member.get("details"))


def juries_of(evaluation: Evaluation) -> Iterator[tuple[str, list[Rating], int]]:
    """Yield the juries of an evaluation: the name, what the jurors gave, and how many of them gave no score.

    A jury that is a member of another composite has the names of both.
    """
    if "members" in evaluation.details:  # as in few
        yield from _juries(evaluation.evaluator, evaluation.details)


def _juries(name: str, details: object) -> Iterator[tuple[str, list[Rating], int]]:
    members = list(within(details)) if isinstance(details, Mapping) else []
    if members and isinstance(details, Mapping) and details.get("jury") is True:
        jurors = [member for member in members if member is not details.get("meta_judge")]
        ratings = [rating for rating in map(_rating, jurors) if rating is not None]
        yield name, ratings, len(jurors) - len(ratings)
    for member in members:
        yield from _juries(f"{name}/{member.get('evaluator')}", member.get("details"))


def _rating(member: Mapping[str, Any]) -> Rating | None:
    score: Any = member.get("score")
    label = member.get("label")
    if member.get("status") != "scored" or type(score) not in (int, float) or not 0 <= score <= 1:
        return None
    return Rating(str(member.get("evaluator")), score, label if isinstance(label, str) else None)


def within(details: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the evaluations within another: members, stages, and a meta-judge."""
    members = details.get("members")
    for member in [*(members if isinstance(members, list) else []), details.get("meta_judge")]:
        if isinstance(member, Mapping):
            yield member


def _parts(kind: object, attempts: object, details: object) -> Iterator[Part]:
    # Details come from any evaluator, and may be anything.
    fields: Mapping[str, Any] = details if isinstance(details, Mapping) else {}
    judge = fields.get("judge")
    yield Part(str(kind), judge if isinstance(judge, str) else None, attempts if isinstance(attempts, int) else 0)
    if "members" not in fields and "meta_judge" not in fields:  # as in most, and there are many
        return
    for member in within(fields):
        yield from _parts(member.get("type"), member.get("attempts"), member.get("details"))


MOST = 10
_FALLS_SHORT: Final = (Standing.FAIL, Standing.BORDERLINE)

Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """A case to look at: its standing, its score, and the evaluator and the reason."""

    case_id: str
    standing: Standing
    score: float | None
    evaluator: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlights:
    """The worst answers, worst first, and the cases whose judge failed, in suite order; at most ten of each."""

    worst: tuple[Highlight, ...]
    broken: tuple[Highlight, ...]

    @classmethod
    def of(cls, results: Iterable[CaseResult]) -> Highlights:
        """Go through the results once, keeping only what is shown."""
        selection: Worst[CaseResult] = Worst()
        for result in results:
            outcome = None if result.pending else result.outcome
            if outcome is not None:
                selection.add(Standing.of(outcome), outcome.score or 0.0, result.position, result)
        return cls.shown(selection.worst, selection.broken)

    @classmethod
    def shown(cls, worst: Iterable[CaseResult], broken: Iterable[CaseResult]) -> Highlights:
        """Describe cases that were picked already."""
        return cls(
            worst=tuple(_highlight(result, Standing.of_case(result)) for result in worst),
            broken=tuple(_highlight(result, Standing.ERROR) for result in broken),
        )


def errors_once(broken: Iterable[Highlight], run_reason: str) -> tuple[Highlight, ...]:
    """Return the cases whose judge failed with each error told once: not again where it is why the run stopped."""
    first: dict[str, str] = {}
    told = []
    for highlight in broken:
        error = highlight.reason
        if error and error in run_reason:
            reason = "the error that stopped the run"
        elif error in first:
            reason = f"the same error as {first[error]}"
        else:
            first[error] = highlight.case_id
            reason = error
        told.append(replace(highlight, reason=reason))
    return tuple(told)


class Worst(Generic[Kept]):
    """Picks the cases to look at first, as they come in one by one in any order, and keeps something of each."""

    def __init__(self) -> None:
        self._worst: list[tuple[float, int, Kept]] = []
        self._broken: list[tuple[int, Kept]] = []

    def add(self, standing: Standing, score: float, position: int, kept: Kept) -> None:
        """Consider a case."""
        if standing is Standing.ERROR:
            if len(self._broken) < MOST or position < self._broken[-1][0]:
                insort(self._broken, (position, kept), key=itemgetter(0))
                del self._broken[MOST:]
        elif standing in _FALLS_SHORT and (len(self._worst) < MOST or (score, position) < self._worst[-1][:2]):
            insort(self._worst, (score, position, kept), key=itemgetter(0, 1))
            del self._worst[MOST:]

    @property
    def worst(self) -> tuple[Kept, ...]:
        """What was kept of the worst answers, worst first."""
        return tuple(kept for *_, kept in self._worst)

    @property
    def broken(self) -> tuple[Kept, ...]:
        """What was kept of the first cases whose judge failed."""
        return tuple(kept for _, kept in self._broken)


def _highlight(result: CaseResult, standing: Standing) -> Highlight:
    # In an imported run it may be that none counts.
    counting = [
        judgment for judgment in result.judgments if judgment.weight > 0 or judgment.required
    ] or result.judgments
    if standing is Standing.ERROR:
        evaluation = next(judgment.evaluation for judgment in counting if judgment.evaluation.status is Status.ERROR)
        score, reason = None, evaluation.error or ""
    else:
        evaluation = min(
            (judgment for judgment in counting if judgment.evaluation.status is Status.SCORED), key=_blame
        ).evaluation
        score, reason = result.outcome.score, "; ".join(evaluation.misses) or evaluation.reasoning
        reason = reason if evaluation.label is None else f"{evaluation.label}: {reason}".removesuffix(": ")
    return Highlight(case_id=result.id, standing=standing, score=score, evaluator=evaluation.evaluator, reason=reason)


def _blame(judgment: Judgment) -> tuple[bool, bool, float]:
    """Return a key that sorts the decisive judgment first: a required one that fails, then others that fail."""
    failed = judgment.evaluation.verdict is Verdict.FAIL
    return not (failed and judgment.required), not failed, judgment.evaluation.score or 0.0
