"""Rubric items: what a judge checks one by one, and how the checks make a score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from evenhand.domain.errors import ConfigError, did_you_mean, require_flag
from evenhand.domain.evaluation import Check
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import Thresholds, Verdict, reaches

TOP_BAND = 10
_KEYS = ("id", "description", "expected_outcome", "weight", "required", "score_ranges", "required_min_score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A stretch of the integers 0–10 and what an answer there looks like."""

    min: int
    max: int
    outcome: str

    @property
    def span(self) -> str:
        """The band in words: ``3 to 6``, or ``10``."""
        return _span(self.min, self.max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """One thing to check (SPEC-P3), yes or no, or in score bands from 0 to 10 (SPEC-P4).

    >>> Rubric(description="Names the city", weight=2).required
    True
    """

    description: str
    id: str = ""
    weight: float = 1.0
    required: bool = True
    score_ranges: tuple[Band, ...] = ()
    required_min_score: int | None = None

    def __post_init__(self) -> None:
        where = f"rubric {self.id!r}" if self.id else "rubric"
        if not isinstance(self.description, str):
            raise ConfigError(f"{where}: description must be text, not {type(self.description).__name__}")
        if not self.description.strip():
            raise ConfigError(f"{where}: description is empty; say in a sentence what the answer must do")
        if not isinstance(self.id, str):
            raise ConfigError(f"{where}: id must be text, not {self.id!r}")
        require_flag(self.required, "required", where=where)
        if not is_weight(self.weight):
            raise ConfigError(f"{where}: weight is {self.weight!r:.80}; it must be a finite number, 0 or more")
        if self.score_ranges != ():
            object.__setattr__(self, "score_ranges", bands(self.score_ranges, where=where))
        if self.required_min_score is not None:
            if not self.score_ranges:
                raise ConfigError(f"{where}: required_min_score needs score_ranges; a yes-or-no item uses required")
            if not _is_band_score(self.required_min_score):
                minimum = self.required_min_score
                raise ConfigError(
                    f"{where}: required_min_score is {minimum!r}; it must be an integer from 0 to {TOP_BAND}"
                )

    @property
    def banded(self) -> bool:
        """Whether the judge scores this item in bands instead of answering yes or no."""
        return bool(self.score_ranges)


# What users may write for an item.
RubricLike: TypeAlias = Rubric | str | Mapping[str, Any]


def rubric_items(rubrics: Iterable[RubricLike], *, where: str = "rubrics") -> tuple[Rubric, ...]:
    """Parse items in any form a user may write, give each an id, and check them together.

    >>> [item.id for item in rubric_items(["Names the city", {"id": "kind", "description": "Is kind"}])]
    ['rubric-1', 'kind']
    """
    if isinstance(rubrics, (str, Mapping)) or not isinstance(rubrics, Iterable):
        raise ConfigError(f"{where} must be a list of items, not {type(rubrics).__name__}")
    items = tuple(
        rubric_item(rubric, f"{where}: item {number}", number) for number, rubric in enumerate(rubrics, start=1)
    )
    seen: dict[str, int] = {}
    for number, item in enumerate(items, start=1):
        if item.id in seen:
            raise ConfigError(
                f"{where}: items {seen[item.id]} and {number} both have the id {item.id!r}; ids must differ"
            )
        seen[item.id] = number
    if items and sum(item.weight for item in items) <= 0:
        raise ConfigError(f"{where}: all weights are 0; at least one must be above 0")
    return items


def rubric_item(rubric: RubricLike, where: str, number: int) -> Rubric:
    """Parse one item; ``number`` makes its id if it has none."""
    if isinstance(rubric, Rubric):
        return rubric if rubric.id else replace(rubric, id=f"rubric-{number}")
    if isinstance(rubric, str):
        rubric = {"description": rubric}
    if not isinstance(rubric, Mapping):
        raise ConfigError(f"{where} must be text or a mapping with a description, not {type(rubric).__name__}")
    for key in rubric:
        if key not in _KEYS:
            raise ConfigError(f"{where}: no key {key!r}{did_you_mean(str(key), _KEYS)}")
    if "description" in rubric and "expected_outcome" in rubric:
        raise ConfigError(f"{where}: description and expected_outcome are two names for the same thing; give one")
    options = {key: value for key, value in rubric.items() if value is not None}
    description = options.pop("expected_outcome", options.pop("description", ""))
    options["id"] = options.get("id") or f"rubric-{number}"
    try:
        return Rubric(description=description, **options)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def bands(ranges: Sequence[Band | Mapping[str, Any]] | Mapping[Any, str], *, where: str) -> tuple[Band, ...]:
    """Parse score bands, a list or the shorthand, and make sure that they cover 0 to 10 once.

    >>> [(band.min, band.max) for band in bands({0: "bad", 3: "ok", 7: "good", 10: "perfect"}, where="x")]
    [(0, 2), (3, 6), (7, 9), (10, 10)]
    """
    if isinstance(ranges, str) or not isinstance(ranges, (Mapping, Sequence)) or not ranges:
        raise ConfigError(f"{where}: score_ranges is {ranges!r:.80}; write bands such as {{0: 'bad', 5: 'good'}}")
    if isinstance(ranges, Mapping):
        parsed = _parse_shorthand(ranges, where)
    else:
        parsed = tuple(
            _parse_band(entry, f"{where}: score_ranges: band {number}") for number, entry in enumerate(ranges, start=1)
        )
    parsed = tuple(sorted(parsed, key=lambda band: band.min))
    following = 0
    for band in parsed:
        if band.min > following:
            raise ConfigError(
                f"{where}: score_ranges leave out {_span(following, band.min - 1)}; they must cover 0 to {TOP_BAND}"
            )
        if band.min < following:
            raise ConfigError(f"{where}: score_ranges overlap at {band.min}; each score belongs to one band")
        following = band.max + 1
    if following <= TOP_BAND:
        raise ConfigError(
            f"{where}: score_ranges leave out {_span(following, TOP_BAND)}; they must cover 0 to {TOP_BAND}"
        )
    return parsed


def _parse_shorthand(ranges: Mapping[Any, str], where: str) -> tuple[Band, ...]:
    starts: dict[int, str] = {}
    for key, outcome in ranges.items():
        start = int(key) if isinstance(key, str) and key.isdecimal() and len(key) < 3 else key
        if start in starts:
            raise ConfigError(f"{where}: score_ranges has {start} twice")
        if not _is_band_score(start) or not isinstance(outcome, str) or not outcome.strip():
            raise ConfigError(
                f"{where}: score_ranges has {key!r}: {outcome!r}; write an integer from 0 to {TOP_BAND}: an outcome"
            )
        starts[start] = outcome
    if 0 not in starts:
        raise ConfigError(f"{where}: score_ranges must begin at 0; the first key is {min(starts, default=None)}")
    ordered = sorted(starts)
    ends = [start - 1 for start in ordered[1:]] + [TOP_BAND]
    return tuple(Band(min=start, max=end, outcome=starts[start]) for start, end in zip(ordered, ends, strict=True))


def _parse_band(band: Band | Mapping[str, Any], where: str) -> Band:
    if not isinstance(band, Band):
        if not isinstance(band, Mapping) or set(band) != {"min", "max", "outcome"}:
            raise ConfigError(f"{where} must have min, max and outcome; got {band!r:.80}")
        band = Band(min=band["min"], max=band["max"], outcome=band["outcome"])
    if not _is_band_score(band.min) or not _is_band_score(band.max) or band.min > band.max:
        raise ConfigError(
            f"{where}: min {band.min!r} and max {band.max!r} must be integers with 0 <= min <= max <= {TOP_BAND}"
        )
    if not isinstance(band.outcome, str) or not band.outcome.strip():
        raise ConfigError(f"{where}: outcome is empty; say what an answer in this band looks like")
    return band


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _is_band_score(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= TOP_BAND


def is_weight(value: object) -> bool:
    """Return whether a value can weigh something: a finite number, 0 or more."""
    return is_finite_number(value) and value >= 0


def exact(number: float) -> Fraction:
    """Return a decimal number as the fraction that its writer meant: 0.1 is one tenth."""
    # By way of float, since kinds of numbers from elsewhere may write themselves in their own way.
    return Fraction(repr(float(number)))


def rubric_score(items: Sequence[Rubric], checks: Sequence[Check]) -> float:
    """Weigh the checks exactly: satisfied weight over total weight, a band's tenth for banded items."""
    total = sum((exact(item.weight) for item in items), Fraction(0))
    earned = sum(
        (exact(item.weight) * _share(item, check) for item, check in zip(items, checks, strict=True)), Fraction(0)
    )
    return float(earned / total)


def _share(item: Rubric, check: Check) -> Fraction:
    if item.banded:
        return Fraction(check.score or 0, TOP_BAND)
    return Fraction(int(check.satisfied))


def rubric_verdict(items: Sequence[Rubric], checks: Sequence[Check], score: float, thresholds: Thresholds) -> Verdict:
    """Return the verdict: fail when a required item is not met, whatever the score; else by the score."""
    if any(_misses_requirement(item, check) for item, check in zip(items, checks, strict=True)):
        return Verdict.FAIL
    return thresholds.verdict(score)


def _misses_requirement(item: Rubric, check: Check) -> bool:
    if item.banded:
        return item.required_min_score is not None and (check.score or 0) < item.required_min_score
    return item.required and not check.satisfied


def band_satisfied(item: Rubric, score: int, thresholds: Thresholds) -> bool:
    """Return whether a band score makes its item a hit: it reaches the borderline threshold (SPEC-P4).

    What fails the verdict is no hit: it reaches the minimum that is required, too.
    """
    return reaches(score / TOP_BAND, thresholds.borderline_at) and score >= (item.required_min_score or 0)


def as_line(item: Rubric, check: Check) -> str:
    """Return a checked item as a line of hits or misses."""
    line = f"[{item.id}] {item.description}"
    return f"{line}: {check.reasoning}" if check.reasoning else line
