"""What an evaluation is made of: itself, or a composite's members and its meta-judge, each with who judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.evaluation import Evaluation

_PROGRAM: Final = "code_judge"
_FUNCTION: Final = "function"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An evaluation, or one within another: of which type it is, by which judge, and how often that was asked."""

    type: str
    judge: str | None
    attempts: int

    @property
    def programs(self) -> int:
        """How many programs were run for it."""
        return self.attempts if self.type == _PROGRAM else 0

    @property
    def functions(self) -> int:
        """How many functions were called for it: they leave no attempt."""
        return int(self.type == _FUNCTION)


def parts_of(evaluation: Evaluation) -> Iterator[Part]:
    """Give an evaluation and all within it."""
    yield from _parts(evaluation.type, len(evaluation.attempts), evaluation.details)


def judges_of(evaluation: Evaluation) -> tuple[str, ...]:
    """Name the judges of an evaluation, its members' too, each once."""
    return tuple(dict.fromkeys(part.judge for part in parts_of(evaluation) if part.judge is not None))


def ambiguities_of(evaluation: Evaluation) -> Iterator[tuple[str, bool]]:
    """Yield which verdict counted where a reply had several, and whether the other one would have changed ours.

    That of a composite stands with its members and its meta-judge.
    """
    verdict = None if evaluation.verdict is None else evaluation.verdict.value
    yield from _ambiguities(verdict, evaluation.details)


def _ambiguities(verdict: object, details: object) -> Iterator[tuple[str, bool]]:
    known: Mapping[str, Any] = details if isinstance(details, Mapping) else {}
    other = known.get("ambiguous")
    if isinstance(other, Mapping) and isinstance(other.get("counted"), str):
        yield other["counted"], other.get("verdict") != verdict
    for member in _within(known):
        yield from _ambiguities(member.get("verdict"), member.get("details"))


def _within(details: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    members = details.get("members")
    for member in [*(members if isinstance(members, list) else []), details.get("meta_judge")]:
        if isinstance(member, Mapping):
            yield member


def _parts(kind: object, attempts: object, details: object) -> Iterator[Part]:
    # Details are anybody's, and may be anything.
    known: Mapping[str, Any] = details if isinstance(details, Mapping) else {}
    judge = known.get("judge")
    yield Part(
        type=str(kind),
        judge=judge if isinstance(judge, str) else None,
        attempts=attempts if isinstance(attempts, int) else 0,
    )
    for member in _within(known):
        yield from _parts(member.get("type"), member.get("attempts"), member.get("details"))
