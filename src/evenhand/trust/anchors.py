"""Anchors: cases with the same answers that a judge is asked about again, to see whether it has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.errors import ConfigError

# What of a definition has a part in what a judge says.
JUDGING: Final = ("judge", "evaluators", "ambiguous", "thresholds")
_KEY: Final = "anchors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A case with what was said of its answer: ``judge`` and ``people`` are whether they pass it, None if unknown.

    ``answer`` is the hash of the answer, ``terms`` that of everything else by which it is judged.
    """

    case: str
    answer: str
    terms: str
    judge: bool | None
    people: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorSet:
    """The anchors of a run, and who judged them how.

    ``evaluator`` is whose verdicts these are, None for the cases as a whole. ``judges`` are the models that were asked,
    ``models`` those that the replies say they are of, and ``definition`` is how they were to judge. ``judged`` is when
    the run began, in seconds since 1970. ``cached`` anchors have replies from the cache. ``own_answers`` says that each
    sample of a case has an answer of its own, so that one of them was judged once, however many there are.
    """

    run: str
    name: str
    evaluator: str | None
    definition: Mapping[str, Any]
    judges: tuple[str, ...]
    models: tuple[str, ...]
    judged: float
    cases: tuple[Anchor, ...]
    cached: int = 0
    own_answers: bool = False

    @property
    def labelled(self) -> bool:
        """Whether people said what they think of the answers."""
        return any(anchor.people is not None for anchor in self.cases)

    @classmethod
    def of_card(cls, card: object, *, name: str) -> AnchorSet:
        """Return the anchors in the JSON of a judge card; ``name`` is that of its file."""
        anchors = card.get(_KEY) if isinstance(card, Mapping) else None
        if not isinstance(anchors, Mapping):
            raise ConfigError(
                f"{name}: this is no judge card with anchors; write one with: evenhand calibrate RUN -o card.json"
            )
        try:
            return cls(
                run=_text(anchors["run"]),
                name=_text(anchors["name"]),
                evaluator=None if anchors["evaluator"] is None else _text(anchors["evaluator"]),
                definition=_mapping(anchors["definition"]),
                judges=tuple(map(_text, anchors["judges"])),
                models=tuple(map(_text, anchors["models"])),
                judged=float(anchors["judged"]),
                cases=tuple(map(_anchor, anchors["cases"])),
                own_answers=anchors.get("own_answers") is True,
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ConfigError(f"{name}: the anchors of this judge card are damaged: {error!r:.200}") from None


def _anchor(row: Any) -> Anchor:
    return Anchor(
        case=_text(row["case"]),
        answer=_text(row["answer"]),
        terms=_text(row["terms"]),
        judge=_verdict(row["judge"]),
        people=_verdict(row["people"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no text")
    return value


def _verdict(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{value!r:.80} is neither true, false nor null")
    return value


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r:.80} is no mapping")
    return value
