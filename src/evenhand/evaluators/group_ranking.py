"""Ranking a group of profiles: a judge puts them in order, from the best to the worst (SPEC-K2)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, ClassVar, Final

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.contract import FieldContract, Text
from evenhand.domain.errors import ContractError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.failure import Failure
from evenhand.domain.message import Message
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS, Answered, GaveUp, inquire
from evenhand.evaluators.profile_score import CriteriaEvaluator
from evenhand.evaluators.prompts import texts
from evenhand.evaluators.sampling import judge_details, turned, with_other
from evenhand.evaluators.sections import sections

GROUP_RANKING: Final = "group_ranking"
# The key of a case's metadata under which its profiles stand, in the order in which they are shown.
MEMBERS: Final = "profiles"
# The key of an evaluation's details under which the ids stand, the best first.
ORDER: Final = "order"
# Letters are labels that say nothing; beyond them a group is too large to be ranked in one reply anyway.
MOST_MEMBERS: Final = len(ascii_uppercase)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderField:
    """The key of a reply that has the labels of a group, each exactly once."""

    labels: str
    name: str = "order"
    required: bool = True

    def words(self) -> str:
        """Describe the value to a judge."""
        shown = ", ".join(f'"{label}"' for label in self.labels)
        return f"a list of the letters {shown}, each exactly once, the best profile first and the worst last"

    def schema(self) -> dict[str, Any]:
        """Describe the value to a decoder."""
        return {"type": "array", "items": {"type": "string", "enum": list(self.labels)}}

    def absent(self) -> None:
        """Return nothing: the order is required."""

    def read(self, value: object) -> tuple[str, tuple[str, ...]]:
        """Read the labels, as one text; one that is missing, there twice, or not of this group breaks the contract."""
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise ContractError(f"{self.name} must be a list of letters, the best profile first")
        times = dict.fromkeys(self.labels, 0)  # by label, not by text: "AB" is no part of the labels "ABC"
        for entry in value:
            label = _label(entry)
            if label not in times:
                raise ContractError(f"{self.name} names {label or str(entry)[:40]!r:.40}, which no profile is called")
            times[label] += 1
            if times[label] > 1:
                raise ContractError(f"{self.name} names {label} more than once")
        if dropped := [label for label, count in times.items() if not count]:
            raise ContractError(f"{self.name} leaves out {', '.join(dropped)}")
        return "".join(map(_label, value)), ()


def _label(entry: object) -> str:
    """Read a label; ``profile_C`` is what its section is called. What is no label stays none."""
    if not isinstance(entry, str) or not entry.isascii():  # other letters may have an A as their capital
        return ""
    return entry.strip().removeprefix("profile_").upper()


@functools.cache
def _contract(size: int) -> FieldContract:
    reasons = Text(name="reasoning", about="what decides the order, in a few sentences")
    return FieldContract(name=GROUP_RANKING, fields=(reasons, OrderField(labels=ascii_uppercase[:size])))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRankingEvaluator(CriteriaEvaluator):
    """Asks a judge to put the profiles of a group in order, by criteria.

    >>> from evenhand import Case, Scripted
    >>> judge = Scripted(['{"reasoning": "Years.", "order": ["B", "A"]}'])
    >>> group = [{"id": "anna", "text": "A year a nurse."}, {"id": "ben", "text": "Ten years a nurse."}]
    >>> evaluator = GroupRankingEvaluator(judge=judge, criteria="Experience")
    >>> evaluator.evaluate(Case(metadata={"profiles": group})).details["order"]
    ['ben', 'anna']

    The judge sees the criteria and the texts, under letters and in the order in which the case has them. A reply that
    leaves one out, names one twice or invents one is asked for again, up to ``max_attempts`` replies in all. A place
    in a group is no score: the score of an evaluation is 1 when the group was ranked.
    """

    type: ClassVar[str] = GROUP_RANKING
    told_to: ClassVar[str] = "say what profiles are ranked by"

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Rank the profiles of a case."""
        members: Sequence[Mapping[str, str]] = case.metadata.get(MEMBERS) or ()
        if len(members) < 2:
            return self.not_evaluated("A group needs at least two profiles.")
        if len(members) > MOST_MEMBERS:
            return self.failed(
                Failure("too_many", f"{len(members)} profiles in one group; at most {MOST_MEMBERS} are allowed")
            )
        labels = ascii_uppercase[: len(members)]
        material = {"criteria": self.criteria}
        material |= {f"profile_{label}": member["text"] for label, member in zip(labels, members, strict=True)}
        contract = _contract(len(members))
        system = f"{texts.RANK_PROFILES}\n\n{texts.GROUP_MATERIAL}\n\n{contract.instructions()}"
        asked = yield from inquire(
            (Message("system", system), Message("user", sections(material))),
            judge=self.client,
            contract=contract,
            max_attempts=self.max_attempts or DEFAULT_ATTEMPTS,
            ambiguous=self.ambiguous,
        )
        if isinstance(asked, GaveUp):
            return self.failed(asked.error, details=judge_details(self.client), **asked.record.fields())
        evaluation = self._evaluation(asked, members)
        if asked.other is None:
            return evaluation
        other = self._evaluation(turned(asked), members)
        return with_other(evaluation, other, counted=self.ambiguous, order=other.details[ORDER])

    def _evaluation(self, asked: Answered, members: Sequence[Mapping[str, str]]) -> Evaluation:
        values = asked.accepted.values
        order = [members[ascii_uppercase.index(label)]["id"] for label in values["order"]]
        return self.scored(
            1.0,
            score_raw=" > ".join(values["order"]),
            reasoning=values["reasoning"],
            details={**judge_details(self.client, (asked,)), ORDER: order},
            flags=asked.flags,
            **asked.record.fields(),
        )
