"""How the findings of several evaluators become one (SPEC-O3)."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from evenhand import registry
from evenhand.domain.aggregate import weighted_mean
from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.rubric import exact
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import Verdict, reaches
from evenhand.evaluators.code import CodeJudgeEvaluator
from evenhand.evaluators.freeform import freeform_steps
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.evaluators.prompt_settings import MATERIAL
from evenhand.evaluators.prompts import texts

# Of verdicts with equal weight behind them, the harsher one counts.
_HARSHEST_FIRST = (Verdict.FAIL, Verdict.BORDERLINE, Verdict.PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What one member found, with its name and weight in the team."""

    name: str
    evaluation: Evaluation
    weight: float
    required: bool

    @property
    def score(self) -> float:
        """The member's score; only scored members are combined."""
        return self.evaluation.score or 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """The score that members make together; ``verdict`` where it does not follow from the score.

    ``own`` is the evaluation by a meta-judge, model or program, which may have failed.
    """

    score: float = 0.0
    verdict: Verdict | None = None
    reasoning: str = ""
    own: Evaluation | None = None


class Aggregator(Protocol):
    """A way to combine members, all of which have a score."""

    def steps(self, case: Case, members: Sequence[Member]) -> Steps[Combined]:
        """Combine what the members found."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """Combines the members' scores by a formula."""

    combine: Callable[[Sequence[Member]], Combined]

    def steps(self, case: Case, members: Sequence[Member]) -> Steps[Combined]:  # noqa: ARG002 - the formula needs no case
        """Combine what the members found."""
        yield from ()
        return self.combine(members)


def weighted_average(members: Sequence[Member]) -> Combined:
    """Return the mean of the scores by weight."""
    score = weighted_mean([(member.score, member.weight) for member in members])
    return Combined(score=score, reasoning=f"Weighted average of {_format_member_count(members)}.")


def median(members: Sequence[Member]) -> Combined:
    """Return the median of the scores of members that have a weight."""
    scores = [member.score for member in members if member.weight > 0]
    return Combined(score=statistics.median(scores), reasoning=f"Median of {_format_member_count(scores)}.")


def lowest(members: Sequence[Member]) -> Combined:
    """Return the lowest score of members that have a weight."""
    counting = [member for member in members if member.weight > 0]
    worst = min(counting, key=lambda member: member.score)
    return Combined(score=worst.score, reasoning=f"Lowest of {_format_member_count(counting)}: {worst.name}.")


def _format_member_count(members: Sequence[object]) -> str:
    return "one member" if len(members) == 1 else f"{len(members)} members"


def majority(members: Sequence[Member]) -> Combined:
    """Return the verdict that has most weight behind it, with the mean score of the members who gave it."""
    behind = {
        verdict: sum((exact(m.weight) for m in members if m.evaluation.verdict is verdict), Fraction(0))
        for verdict in _HARSHEST_FIRST
    }
    verdict = max(_HARSHEST_FIRST, key=lambda candidate: behind[candidate])
    won = [member for member in members if member.evaluation.verdict is verdict]
    score = weighted_mean([(member.score, member.weight) for member in won])
    share = float(behind[verdict] / sum(behind.values()))
    return Combined(score=score, verdict=verdict, reasoning=f"{share:.0%} of the weight is behind {verdict}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Passes when enough of the members pass; the score is the share, by weight, of those that do."""

    threshold: float = 0.5

    def __post_init__(self) -> None:
        if not is_finite_number(self.threshold) or not 0 < self.threshold <= 1:
            raise ConfigError(
                f"aggregator threshold: threshold is {self.threshold!r}; it must be above 0 and at most 1"
            )

    def steps(self, case: Case, members: Sequence[Member]) -> Steps[Combined]:  # noqa: ARG002 - shares need no case
        """Combine what the members found."""
        yield from ()
        passing = [(float(member.evaluation.verdict is Verdict.PASS), member.weight) for member in members]
        share = weighted_mean(passing)
        verdict = Verdict.PASS if reaches(share, self.threshold) else Verdict.FAIL
        return Combined(
            score=share,
            verdict=verdict,
            reasoning=f"{share:.0%} of the weight passes; {self.threshold:.0%} is needed.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaJudge(PromptEvaluator):
    """A judge that reads what the members found before it gives its own judgment; options as ``PromptEvaluator``."""

    places: ClassVar[tuple[str, ...]] = (*MATERIAL[:-1], "member_results", MATERIAL[-1])
    needed: ClassVar[tuple[str, ...]] = ("candidate_answer", "member_results")
    material_text: ClassVar[str] = texts.META_MATERIAL
    freeform_task: ClassVar[str] = texts.META_JUDGE

    member_results: str = ""

    def material(self, case: Case) -> dict[str, str]:
        """Return what the case and the members bring into the prompt."""
        material = PromptEvaluator.material(self, case)
        candidate = material.pop("candidate_answer")
        return material | {"member_results": self.member_results, "candidate_answer": candidate}


@dataclass(frozen=True, slots=True, kw_only=True)
class ByModel:
    """Lets a model that reads the members' findings decide."""

    judge: MetaJudge

    def steps(self, case: Case, members: Sequence[Member]) -> Steps[Combined]:
        """Ask the meta-judge."""
        informed = replace(self.judge, member_results=json.dumps(_findings(members), ensure_ascii=False, indent=1))
        if missing := informed.missing_in(case):
            return _by_meta_judge(informed.not_evaluated(missing))
        return _by_meta_judge((yield from freeform_steps(informed, case)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ByProgram:
    """Lets a program that reads the members' findings, under ``config.members``, decide."""

    judge: CodeJudgeEvaluator

    def steps(self, case: Case, members: Sequence[Member]) -> Steps[Combined]:
        """Run the program."""
        informed = replace(self.judge, config={**(self.judge.config or {}), "members": _findings(members)})
        return _by_meta_judge((yield from informed.steps(case)))


def _by_meta_judge(own: Evaluation) -> Combined:
    return Combined(score=own.score or 0.0, verdict=own.verdict, reasoning=own.reasoning, own=own)


def _findings(members: Sequence[Member]) -> list[dict[str, Any]]:
    return [
        {
            "evaluator": member.name,
            "weight": member.weight,
            "score": member.score,
            "verdict": str(member.evaluation.verdict),
            "hits": list(member.evaluation.hits),
            "misses": list(member.evaluation.misses),
            "reasoning": member.evaluation.reasoning,
        }
        for member in members
    ]


# What a member of a team has and its meta-judge has no use for.
_NOT_FOR_META_JUDGES = {
    "weight", "required", "prompt", "choices", "rubrics", "rubric_mode", "shuffle", "evidence", "member_results",
}  # fmt: skip


def _meta_judge(kind: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    for name in sorted(_NOT_FOR_META_JUDGES & options.keys()):
        raise ConfigError(f"the meta-judge has no option {name!r}")
    return registry.make(kind, {"name": "meta_judge"} | dict(options), where="the meta-judge")


_AGGREGATORS: Mapping[str, Callable[..., Aggregator]] = {
    "weighted_average": lambda: Arithmetic(combine=weighted_average),
    "majority": lambda: Arithmetic(combine=majority),
    "median": lambda: Arithmetic(combine=median),
    "min": lambda: Arithmetic(combine=lowest),
    "threshold": Threshold,
    "llm_judge": lambda **options: ByModel(judge=_meta_judge(MetaJudge, options)),
    "code_judge": lambda **options: ByProgram(judge=_meta_judge(CodeJudgeEvaluator, options)),
}


def aggregator_of(aggregator: str | Mapping[str, Any] | Aggregator, *, where: str) -> Aggregator:
    """Return an aggregator, as a user may write it: a name, a mapping with ``type`` and options, or an object."""
    if not isinstance(aggregator, (str, Mapping)):
        if hasattr(aggregator, "steps"):
            return aggregator
        raise ConfigError(
            f"{where}: aggregator is {aggregator!r}; write a name such as 'median', or a mapping with a type",
            key="aggregator",
        )
    options = {"type": aggregator} if isinstance(aggregator, str) else dict(aggregator)
    kind = options.pop("type", None)
    if not isinstance(kind, str) or kind not in _AGGREGATORS:
        raise ConfigError(f"{where}: no aggregator {kind!r}{did_you_mean(str(kind), _AGGREGATORS)}", key="aggregator")
    made: Aggregator = registry.make(_AGGREGATORS[kind], options, where=f"{where}: aggregator {kind!r}")
    return made
