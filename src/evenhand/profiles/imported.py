"""What a run over profiles must be to be read, where it came from elsewhere: its design, and each of its cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult
from evenhand.domain.run_kind import AUDIT, PROFILES, RANKING, SCORING, mode_of
from evenhand.domain.scale import is_finite_number
from evenhand.evaluators.group_ranking import MEMBERS, MOST_MEMBERS, ORDER
from evenhand.evaluators.pairwise import PLACES
from evenhand.evaluators.profile_score import SCALE
from evenhand.store.transfer import CaseCheck

MOST_ROUNDS: Final = 10_000
_TIE: Final = "tie"
_OUTCOMES: Final = ("win", "loss", _TIE)
_ROUND: Final = "round"


def case_check(definition: Mapping[str, Any]) -> CaseCheck | None:
    """Check the definition of a run, and return what checks its cases; None where it is not about profiles."""
    if PROFILES not in definition:
        return None
    checks: dict[str, Callable[[Mapping[str, Any]], CaseCheck]] = {
        SCORING: _Scores, RANKING: _Groups, AUDIT: _Observations,
    }  # fmt: skip
    mode = mode_of(definition)
    if not isinstance(mode, str) or mode not in checks:
        shown = f"{mode!r:.80}" if isinstance(definition[PROFILES], Mapping) else f"not in {definition[PROFILES]!r:.80}"
        raise ConfigError(f"{PROFILES}: mode is {shown}; it must be one of {', '.join(checks)}")
    try:
        return checks[mode](definition)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        missing = isinstance(error, KeyError)
        problem = f"{error.args[0]!r} is missing" if missing else f"{error!s:.200}"
        raise ConfigError(f"{PROFILES}: this is not the design of a run in mode {mode!r}: {problem}") from None


class _Scores:
    """Each evaluation that scored has a score from 0 to 10, as the judge gave it."""

    def __init__(self, definition: Mapping[str, Any]) -> None:
        """Take any definition: scoring has no design."""

    def take(self, result: CaseResult) -> None:
        for evaluation in _scored(result):
            raw = evaluation.score_raw
            if not is_finite_number(raw) or not SCALE.low <= raw <= SCALE.high:
                raise ConfigError(f"score_raw is {raw!r:.80}; it must be a number from {SCALE.low:g} to {SCALE.high:g}")

    def end(self) -> None:
        """Want nothing more: profiles are scored one by one."""


class _Observations(_Scores):
    """Each profile has a level of every factor of the design."""

    def __init__(self, definition: Mapping[str, Any]) -> None:
        from evenhand.profiles.audit.result import design_of  # noqa: PLC0415 - brings a library for arithmetic along

        super().__init__(definition)
        self._design = design_of(definition)

    def take(self, result: CaseResult) -> None:
        from evenhand.profiles.audit.observed import observed  # noqa: PLC0415 - as above

        super().take(result)
        observed(self._design, [result])


class _Groups:
    """Each group has two or more profiles that all have a number and an id of their own, in rounds one after another.

    Whoever is in a later round was in the first, and the numbers there go up from 0 without a gap.
    """

    def __init__(self, definition: Mapping[str, Any]) -> None:
        from evenhand.profiles.ranking.job import design_of  # noqa: PLC0415 - brings a library for arithmetic along

        design = design_of(definition)
        if (design.rounds or 0) > MOST_ROUNDS:
            raise ConfigError(f"rounds is {design.rounds}; a ranking has {MOST_ROUNDS:,} at most")
        self._in_pairs = design.in_pairs
        self._round = 1
        self._names: dict[int, str] = {}

    def take(self, result: CaseResult) -> None:
        round_ = result.case.metadata.get(_ROUND)
        if type(round_) is not int or not self._round <= round_ <= self._round + 1:
            expected = f"{self._round} or {self._round + 1}"
            raise ConfigError(f"{_ROUND} is {round_!r:.80}; rounds go up one by one, so it must be {expected}")
        if round_ == self._round + 1 == 2:
            self._check_numbers()
        self._round = round_
        ids = self._members(result.case.metadata.get(MEMBERS), has_texts=not self._in_pairs)
        for evaluation in _scored(result):
            self._check_order(evaluation.details, ids)

    def end(self) -> None:
        if self._round == 1:
            self._check_numbers()

    def _members(self, members: object, *, has_texts: bool) -> list[str]:
        least, most = (2, 2) if self._in_pairs else (2, MOST_MEMBERS)
        if not isinstance(members, list) or not least <= len(members) <= most:
            how_many = "2" if self._in_pairs else f"{least} to {most}"
            raise ConfigError(f"{MEMBERS} is {members!r:.80}; it must be a list of the group's {how_many} profiles")
        for member in members:
            self._check_member(member, has_text=has_texts)
        ids = [str(member["id"]) for member in members]
        if len({*ids}) < len(ids) or len({member["number"] for member in members}) < len(ids):
            raise ConfigError(f"{MEMBERS}: a profile is in its group twice")
        return ids

    def _check_member(self, member: object, *, has_text: bool) -> None:
        fields = member if isinstance(member, Mapping) else {}
        number, identity = fields.get("number"), fields.get("id")
        if type(number) is not int or not isinstance(identity, str) or not identity:
            raise ConfigError(f"{MEMBERS}: {member!r:.80} must be an object with the number and the id of a profile")
        if has_text and not isinstance(fields.get("text"), str):
            raise ConfigError(f"{MEMBERS}: {identity!r:.80} has no text")
        if not isinstance(fields.get("attributes", {}), Mapping):
            raise ConfigError(f"{MEMBERS}: the attributes of {identity!r:.80} must be an object")
        if self._round == 1:
            self._names.setdefault(number, identity)
        if self._names.get(number) != identity:
            owner = self._names.get(number)
            whose = "nobody's in the first round" if owner is None else f"that of {owner!r:.80}"
            raise ConfigError(f"{MEMBERS}: {identity!r:.80} has the number {number}, which is {whose}")

    def _check_numbers(self) -> None:
        if {*self._names} != {*range(len(self._names))}:
            raise ConfigError("the numbers of the profiles in the first round must go up from 0 without a gap")

    def _check_order(self, details: Mapping[str, Any], ids: Sequence[str]) -> None:
        if ORDER in details and not self._in_pairs:
            order = details[ORDER]
            if not isinstance(order, list) or not all(isinstance(identity, str) for identity in order):
                raise ConfigError(f"details: {ORDER} is {order!r:.80}; it must be a list of ids")
            if sorted(order) != sorted(ids):
                raise ConfigError(f"details: {ORDER} is {order!r:.80}; it must have each id of the group once")
            return
        orders = details.get("orders")
        if details.get("outcome") not in _OUTCOMES or not _are_orders(orders):
            raise ConfigError(
                f"details: a group that was ranked has an {ORDER}, and a pair an outcome ({', '.join(_OUTCOMES)}) "
                "with orders, each with the candidate and the winner"
            )
        if not self._in_pairs:
            raise ConfigError(f"details: {ORDER} is missing; it must have each id of the group once")


def _are_orders(orders: object) -> bool:
    return isinstance(orders, list) and all(
        isinstance(order, Mapping) and order.get("candidate") in PLACES and order.get("winner") in (*PLACES, _TIE)
        for order in orders
    )


def _scored(result: CaseResult) -> list[Evaluation]:
    return [judgment.evaluation for judgment in result.judgments if judgment.evaluation.status is Status.SCORED]
