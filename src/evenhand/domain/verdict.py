"""From a score to pass, borderline or fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.scale import is_finite_number

# Sums of decimal weights miss their mark by float noise: 0.1 + 0.7 must reach 0.8.
FLOAT_NOISE = 1e-9


def reaches(score: float, mark: float) -> bool:
    """Return whether a score is at or above a mark, past float noise.

    >>> reaches(0.1 + 0.7, 0.8)
    True
    """
    return score >= mark - FLOAT_NOISE


class Verdict(StrEnum):
    """What a score means."""

    PASS = "pass"  # noqa: S105 - the word of the specification, not a password
    BORDERLINE = "borderline"
    FAIL = "fail"


_FROM_WORST: Final = (Verdict.FAIL, Verdict.BORDERLINE, Verdict.PASS)


def median_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict in the middle, and of two that share the middle the worse one.

    >>> median_verdict([Verdict.PASS, Verdict.FAIL, Verdict.PASS])
    <Verdict.PASS: 'pass'>
    """
    places = sorted(map(_FROM_WORST.index, verdicts))
    return _FROM_WORST[places[(len(places) - 1) // 2]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The scores from which on an answer passes or is borderline.

    >>> Thresholds(pass_at=0.9).verdict(0.85)
    <Verdict.BORDERLINE: 'borderline'>
    """

    pass_at: float = 0.8
    borderline_at: float = 0.6

    def __post_init__(self) -> None:
        for name, value in (("pass", self.pass_at), ("borderline", self.borderline_at)):
            if not is_finite_number(value):
                raise ConfigError(f"thresholds: {name} is {value!r:.80}; it must be a number from 0 to 1", key=name)
        if not 0 <= self.borderline_at <= self.pass_at <= 1:
            raise ConfigError(
                f"thresholds: borderline {self.borderline_at} and pass {self.pass_at} "
                "must keep to 0 <= borderline <= pass <= 1",
                key="borderline",
            )

    @classmethod
    def of(cls, given: Thresholds | Mapping[str, float] | None) -> Thresholds:
        """Parse what a user may write: nothing, ``Thresholds``, or a mapping with ``pass`` and ``borderline``."""
        if given is None:
            return cls()
        if isinstance(given, Thresholds):
            return given
        if not isinstance(given, Mapping):
            raise ConfigError(f"thresholds must be a mapping such as {{'pass': 0.8, 'borderline': 0.6}}, not {given!r}")
        for name in given:
            if name not in {"pass", "borderline"}:
                raise ConfigError(
                    f"thresholds: no threshold {name!r}{did_you_mean(str(name), ['pass', 'borderline'])}", key=str(name)
                )
        usual = cls()
        if "borderline" in given:
            return cls(pass_at=given.get("pass", usual.pass_at), borderline_at=given["borderline"])
        # A pass mark below the usual borderline moves that one down with it, rather than contradict it.
        checked = cls(pass_at=given["pass"], borderline_at=0.0) if "pass" in given else usual
        return cls(pass_at=checked.pass_at, borderline_at=min(usual.borderline_at, checked.pass_at))

    def verdict(self, score: float) -> Verdict:
        """Return the verdict for a score (SPEC-E3)."""
        if reaches(score, self.pass_at):
            return Verdict.PASS
        return Verdict.BORDERLINE if reaches(score, self.borderline_at) else Verdict.FAIL
