"""The groups of a ranking as cases of a run, and what a run's results say of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult, PlannedCase
from evenhand.evaluators.group_ranking import MEMBERS, ORDER
from evenhand.evaluators.pairwise import PLACES
from evenhand.profiles.ranking.entrants import MOST_ENTRANTS, Entrant
from evenhand.stats.rankings import Ranking

ROUND: Final = "round"
# Of a part of a group that failed: the id of that group, and the number of the only member that is under suspicion.
PART_OF: Final = "part_of"
SUSPECT: Final = "suspect"
# Failures for which what was sent may be to blame, and not whoever it was sent to. So may be every reply of no use.
_OF_CONTENT: Final = frozenset({"bad_request", "error_body", "filtered", "function_error", "too_large"})


def group_case(position: int, number: int, place: int, members: Sequence[Entrant], *, in_pairs: bool) -> PlannedCase:
    """Make the case of a group: the ``place``-th of a round, both counted from 0. Its members are in shown order."""
    entries = [entrant.as_dict() for entrant in members]
    texts: dict[str, Any] = {}
    if in_pairs:  # two texts that are compared in both orders have places of their own in a case
        texts = {"candidate_answer": entries[0].pop("text"), "reference_answer": entries[1].pop("text")}
    case = Case(id=f"round-{number + 1}-group-{place + 1}", metadata={ROUND: number + 1, MEMBERS: entries}, **texts)
    return PlannedCase(position=position, case=case)


def part_case(position: int, part: Part, place: int, members: Sequence[Entrant], *, in_pairs: bool) -> PlannedCase:
    """Make the case of a part of a group that failed, the ``place``-th of it, from 0."""
    planned = group_case(position, part.round - 1, place, members, in_pairs=in_pairs)
    metadata = {**planned.case.metadata, PART_OF: part.of, SUSPECT: part.suspect}
    case = replace(planned.case, id=f"{part.of}-part-{place + 1}", metadata=metadata)
    return planned._replace(case=case)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some members of a group that failed, which are to be judged by themselves.

    ``of`` is the group's id. A ``suspect`` is shown with one that was ranked before: if that fails too, it is to blame.
    """

    of: str
    round: int
    members: tuple[int, ...]
    suspect: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group that was shown, and how it was ranked.

    ``members`` are numbers, in the order in which they were shown; ``rankings`` are what the judge said of them,
    empty where it failed or was not asked yet. Of pairs, ``outcome`` is ``win`` where the first one won, ``loss``
    where the second did, or ``tie``; ``winners`` are the slots, 0 or 1, that won in each order, None for a tie. An
    ``error`` may be that of a member (``is_of_content``) or of whoever was asked; ``part_of`` and ``suspect`` are those
    of a ``Part``.
    """

    id: str
    round: int
    unit: int
    members: tuple[int, ...]
    rankings: tuple[Ranking, ...] = ()
    outcome: str | None = None
    winners: tuple[int | None, ...] = ()
    retries: int = 0
    invalid_replies: int = 0
    error: str | None = None
    is_of_content: bool = False
    part_of: str | None = None
    suspect: int | None = None

    @property
    def places(self) -> list[int]:
        """The place, from 0, that whatever was shown first, second … was given."""
        (ranking,) = self.rankings
        return [ranking.members.index(member) for member in self.members]


def groups_of(results: Iterable[CaseResult]) -> Iterator[Group]:
    """Read the groups of a run, in the order in which they were planned."""
    for result in results:
        entries = result.case.metadata[MEMBERS]
        members = numbers_in(result.case)
        fields: dict[str, Any] = {}
        for judgment in result.judgments:
            evaluation = judgment.evaluation
            fields = {"retries": evaluation.retry_count, "error": evaluation.error}
            fields["invalid_replies"] = sum(attempt.reply_error is not None for attempt in evaluation.attempts)
            fields["is_of_content"] = evaluation.error is not None and _is_of_content(evaluation)
            if evaluation.status is not Status.SCORED:
                continue
            if ORDER in evaluation.details:
                numbers = {entry["id"]: entry["number"] for entry in entries}
                order = [numbers[identity] for identity in evaluation.details[ORDER]]
                fields["rankings"] = (_group_ranking(order, members, unit=result.position),)
            else:
                fields |= _pair_fields(members, evaluation.details, unit=result.position)
        metadata = result.case.metadata
        fields |= {"part_of": metadata.get(PART_OF), "suspect": metadata.get(SUSPECT)}
        yield Group(id=result.id, round=metadata[ROUND], unit=result.position, members=members, **fields)


def _is_of_content(evaluation: Evaluation) -> bool:
    if evaluation.attempts and evaluation.attempts[-1].kind == "reply":
        return True
    return (evaluation.error or "").partition(":")[0] in _OF_CONTENT


def _group_ranking(order: Sequence[int], shown: Sequence[int], *, unit: int) -> Ranking:
    last = len(shown) - 1
    slots = {member: 0.5 - place / last for place, member in enumerate(shown)}
    return Ranking(order, [slots[member] for member in order], 1.0, unit)


def _pair_fields(members: Sequence[int], details: Mapping[str, Any], *, unit: int) -> dict[str, Any]:
    """Read what a judge said of a pair in both orders."""
    first, second = members
    outcome = details["outcome"]
    winners = tuple(
        None if comparison["winner"] == "tie" else PLACES.index(comparison["winner"])
        for comparison in details["orders"]
    )
    if "pair_margin" in details:
        # What the judge adds for a place has been taken out already, by the probabilities of both orders.
        share = {"win": 1.0, "tie": 0.5, "loss": 0.0}[outcome]
        rankings = _pair_rankings(first, second, (0.0, 0.0), share, unit)
    else:
        rankings = []
        for order, winner in zip(details["orders"], winners, strict=True):
            shown = (first, second) if order["candidate"] == PLACES[0] else (second, first)
            share = 0.5 if winner is None else float(winner == 0)
            rankings += _pair_rankings(*shown, (0.5, -0.5), share, unit)
    return {"rankings": tuple(rankings), "outcome": outcome, "winners": winners}


def _pair_rankings(first: int, second: int, slots: tuple[float, float], share: float, unit: int) -> list[Ranking]:
    """Return a comparison as rankings: one for a win, two halves for a tie."""
    either = (Ranking((first, second), slots, share, unit), Ranking((second, first), slots[::-1], 1 - share, unit))
    return [ranking for ranking in either if ranking.weight]


def entrants_in(results: Iterable[CaseResult]) -> Iterator[Entrant]:
    """Read the profiles back from the first round of a run, in which all of them are."""
    for result in results:
        case = result.case
        if case.metadata[ROUND] > 1 or PART_OF in case.metadata:
            return
        for number, member, text in zip(numbers_in(case), case.metadata[MEMBERS], texts_of(case), strict=True):
            yield Entrant(number=number, id=member["id"], text=text, attributes=member.get("attributes", {}))


def numbers_in(case: Case) -> tuple[int, ...]:
    """Return the numbers of a group's members. Room is made for all up to the highest, so that has its bounds."""
    numbers = tuple(member["number"] for member in case.metadata[MEMBERS])
    for number in numbers:
        if type(number) is not int or not 0 <= number < MOST_ENTRANTS:
            problem = f"a profile has the number {number!r:.80}; it must be a whole number below {MOST_ENTRANTS:,}"
            raise ConfigError(f"group {case.id!r}: {problem}")
    return numbers


def texts_of(case: Case) -> list[str]:
    """Return the texts of a group's members, in the order in which they are shown."""
    members = case.metadata[MEMBERS]
    if "text" in members[0]:
        return [member["text"] for member in members]
    return [case.candidate_answer or "", case.reference_answer or ""]
