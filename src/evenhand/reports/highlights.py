"""The cases to look at first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evenhand.domain.evaluation import Status
from evenhand.domain.run import CaseResult, Judgment
from evenhand.domain.verdict import Verdict
from evenhand.reports.standing import Standing

MOST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """A case to look at: where it stands, its score, and the evaluator and the words that say why."""

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
        worst: list[tuple[float, int, Highlight]] = []
        broken: list[Highlight] = []
        for result in results:
            standing = Standing.of_case(result)
            if standing is Standing.ERROR:
                if len(broken) < MOST:
                    broken.append(_highlight(result, standing))
            elif standing in (Standing.FAIL, Standing.BORDERLINE):
                score = result.outcome.score or 0.0
                if len(worst) < MOST or score < worst[-1][0]:
                    worst.append((score, result.position, _highlight(result, standing)))
                    worst = sorted(worst, key=lambda one: one[:2])[:MOST]
        return cls(worst=tuple(one for *_, one in worst), broken=tuple(broken))


def _highlight(result: CaseResult, standing: Standing) -> Highlight:
    counting = [one for one in result.judgments if one.weight > 0 or one.required]
    if standing is Standing.ERROR:
        said = next(one.evaluation for one in counting if one.evaluation.status is Status.ERROR)
        score, reason = None, said.error or ""
    else:
        said = min((one for one in counting if one.evaluation.status is Status.SCORED), key=_blame).evaluation
        score, reason = result.outcome.score, "; ".join(said.misses) or said.reasoning
    return Highlight(case_id=result.id, standing=standing, score=score, evaluator=said.evaluator, reason=reason)


def _blame(judgment: Judgment) -> tuple[bool, bool, float]:
    """Sort first whoever decided: a required one that fails, which fails the case; then others that fail."""
    failed = judgment.evaluation.verdict is Verdict.FAIL
    return not (failed and judgment.required), not failed, judgment.evaluation.score or 0.0
