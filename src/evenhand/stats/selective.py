"""From which confidence on the judge may decide alone, so that it rarely errs on what it decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evenhand.domain.verdict import reaches
from evenhand.stats.distributions import incomplete_beta
from evenhand.stats.refusal import Refused


class Accepted(NamedTuple):
    """Of the labelled cases with at least such a confidence, how many there are, and how often the judge was wrong."""

    confidence: float
    cases: int
    errors: int


class Tested(NamedTuple):
    """The test of a confidence; ``p`` is the chance of so few errors if the judge erred as often as is not allowed."""

    confidence: float
    cases: int
    errors: int
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """From which confidence on the judge decides alone, and what was tested to find it."""

    confidence: float
    tested: tuple[Tested, ...]


def accepted(confidences: Sequence[float], is_wrong: Sequence[bool], steps: Iterable[float]) -> tuple[Accepted, ...]:
    """Count the labelled cases from each confidence on; ``steps`` were chosen before the labels were seen.

    >>> accepted([0.9, 0.8, 0.6], [False, True, False], (0.9, 0.5))
    (Accepted(confidence=0.9, cases=1, errors=0), Accepted(confidence=0.5, cases=3, errors=1))
    """
    if len(confidences) != len(is_wrong):
        raise ValueError(f"each case has a confidence and a label; got {len(confidences)} and {len(is_wrong)}")
    rows = []
    for step in sorted(steps, reverse=True):
        wrong = [bool(error) for sure, error in zip(confidences, is_wrong, strict=True) if reaches(sure, step)]
        rows.append(Accepted(step, len(wrong), sum(wrong)))
    return tuple(rows)


def alone_from(rows: Sequence[Accepted], *, errors: float, chance: float = 0.1) -> Alone | Refused:
    """Return the lowest confidence from which on the judge errs in at most a share ``errors`` of what it decides.

    The confidences are tested from the highest down, until a test is not passed (fixed-sequence testing), so that the
    answer is wrong with at most such a ``chance`` however many are tested.

    >>> found = alone_from([Accepted(0.9, 60, 1), Accepted(0.5, 90, 30)], errors=0.15)
    >>> found.confidence, len(found.tested)
    (0.9, 2)
    """
    if not 0 < errors < 1 or not 0 < chance < 1:
        raise ValueError(f"the share of errors and the chance lie between 0 and 1; got {errors!r} and {chance!r}")
    tested: list[Tested] = []
    found: float | None = None
    for row in sorted(rows, reverse=True):
        if not 0 <= row.errors <= row.cases:
            raise ValueError(f"the errors are among the cases; got {row!r}")
        p = _at_most(row.errors, row.cases, errors)
        tested.append(Tested(*row, p))
        if p > chance:
            break
        found = row.confidence
    if found is None:
        said = f"{tested[0].errors} errors in {tested[0].cases} cases" if tested else "no labelled case"
        return Refused(f"the judge never decides alone: at the highest confidence there were {said}")
    return Alone(confidence=found, tested=tuple(tested))


def _at_most(errors: int, cases: int, share: float) -> float:
    """Return the chance of at most so many errors, if each case is one with such a chance."""
    return 1.0 if errors == cases else incomplete_beta(cases - errors, errors + 1, 1 - share)
