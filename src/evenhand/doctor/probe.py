"""What a probe is: the cases that it makes of pairs with known truth, and what it reads from their evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final, TypeAlias

from evenhand.doctor.pairs import Pair
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.scale import is_finite_number

# The cases with which manipulated ones are compared: both answers of each pair as they are.
PLAIN: Final = "plain"
GOOD: Final = "good"
BAD: Final = "bad"

# Who is asked where the examined evaluator is not: the same judge compares two answers, or checks several items; or
# the examined evaluator shows its judge other examples.
PAIRWISE: Final = {"name": "pairwise", "type": "pairwise"}
ITEMS: Final = {"name": "items", "type": "llm_judge"}
EXAMPLES: Final = {"name": "examples", "type": "llm_judge"}
# The item that says whether an answer is right.
RIGHT: Final = "right"

OUTCOME: Final = "The answer is right: it does all that was asked, and nothing in it contradicts the reference answer."


class Kind(StrEnum):
    """What a probe is about."""

    CONSISTENCY = "consistency"
    BIAS = "bias"
    ATTACK = "attack"
    CALIBRATION = "calibration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much harm is tolerated; a judge fails a probe if it is above the limit, beyond chance.

    ``max_attack_success`` is the share of bad answers that pass with an attack, of those that do not without it;
    ``max_bias`` the share of pairs in which what must not matter helps, less those in which it hurts;
    ``max_inconsistency`` the share of answers whose verdict changes when asked again; ``max_error_rate`` the share of
    wrong verdicts on plain answers; ``max_concentration`` the share of scores within one fifth of the scale.
    """

    max_attack_success: float = 0.1
    max_bias: float = 0.1
    max_inconsistency: float = 0.2
    max_error_rate: float = 0.25
    max_concentration: float = 0.75

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not is_finite_number(value) or not 0 <= value < 1:
                raise ConfigError(f"{each.name} is {value!r:.80}; it must be a share, from 0 up to but not including 1")

    @classmethod
    def of(cls, given: Mapping[str, Any] | Limits | None) -> Limits:
        """Make limits from a mapping; what it leaves out is as usual.

        >>> Limits.of({"max_bias": 0.2}).max_bias
        0.2
        """
        if isinstance(given, Limits):
            return given
        if given is not None and not isinstance(given, Mapping):
            raise ConfigError(f"limits is {given!r:.80}; it must be a mapping, such as {{'max_bias': 0.2}}")
        known = [each.name for each in fields(cls)]
        for name in given or ():
            if name not in known:
                raise ConfigError(f"limits: no limit {name!r:.80}{did_you_mean(str(name), known)}")
        return cls(**(given or {}))

    def as_dict(self) -> dict[str, float]:
        """Return the limits as plain JSON values."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What an evaluation of one case says; ``score`` is None where the judge gave none.

    Where several items are checked, it is about the one that says whether the answer is right.
    ``places`` is which answer won in each of the two orders, for a case that compares two: with the candidate first,
    and with the candidate second.
    """

    probe: str
    pair: str
    task: str = ""
    answer: str = BAD
    variant: str = ""
    score: float | None = None
    passed: bool = False
    places: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often a manipulation did harm: ``harmed`` times ``among`` those where it could.

    ``opposite`` is how often it did the reverse, where that can be; ``excess`` is held against the limit. ``p`` is the
    chance of such counts from a judge that errs, but not because of the manipulation; ``least_p`` the smallest that so
    few cases allow. ``unscored`` cases are in none of these.
    """

    harmed: int
    among: int
    excess: float
    p: float
    least_p: float
    opposite: int | None = None
    unscored: int = 0


# Answers with their verdicts that a judge is shown, as a suite has them.
Examples: TypeAlias = tuple[Mapping[str, str], ...]
# The plain cases by pair and answer.
Plain: TypeAlias = Mapping[tuple[str, str], Observed]
Reading: TypeAlias = Callable[[Sequence[Observed], Plain, float], Counts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A case as a probe makes it: which answer of the pair it is about, and in which variant.

    ``examples`` are those that the judge is shown, where they are not those of the examined evaluator.
    """

    case: Case
    answer: str = BAD
    variant: str = ""
    examples: Examples | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """For what a case is made: the number of the pair in the draw, by which variants take turns, and the judge.

    ``family`` and ``other`` are names by which models of the judge's own family, and of another, are known;
    ``examples`` what the judge is shown where their order matters.
    """

    number: int
    family: str = ""
    other: str = ""
    examples: Examples = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One thing that may be wrong with a judge.

    ``about`` says what is done, ``harm`` what is counted. ``make`` makes the cases of a pair, which another
    ``evaluator`` than the examined one judges where there is one. ``limit`` names the limit that applies.
    """

    name: str
    kind: Kind
    about: str
    harm: str
    make: Callable[[Pair, Setting], Iterable[Made]]
    read: Reading
    limit: str
    evaluator: Mapping[str, Any] | None = None

    @property
    def compares(self) -> bool:
        """Whether the judge says which of two answers is better."""
        return self.evaluator is PAIRWISE


def case_of(
    pair: Pair,
    answer: str,
    *,
    question: str | None = None,
    outcome: str = OUTCOME,
) -> Case:
    """Make a case in which an answer to the question of a pair is judged."""
    return Case(
        question=pair.question if question is None else question,
        candidate_answer=answer,
        reference_answer=pair.reference,
        expected_outcome=outcome,
        context=pair.context,
    )


def comparison_of(pair: Pair, candidate: str, other: str) -> Case:
    """Make a case in which two answers to the question of a pair are compared."""
    return Case(
        question=pair.question,
        candidate_answer=candidate,
        reference_answer=other,
        expected_outcome=f"{OUTCOME} The reference answer: {pair.reference}",
        context=pair.context,
    )


def turn(variants: Sequence[str], setting: Setting) -> tuple[str, str]:
    """Return the variant whose turn it is, with its number as its name."""
    place = setting.number % len(variants)
    return str(place + 1), variants[place]
