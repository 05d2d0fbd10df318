"""What all reports of a run begin with: found in one pass over its cases, and small enough to be kept beside them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from evenhand.domain.run import CaseResult
from evenhand.domain.summary import Interval, Summary, Tally
from evenhand.reports.highlights import Worst
from evenhand.reports.html.charts import BINS, bin_of
from evenhand.reports.phrases import Standing
from evenhand.reports.summary import Summarizer

# The key of a case's metadata that has the profiles of a group, each with its id.
_MEMBERS: Final = "profiles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The numbers of a run, how its scores spread, who judged, and which cases to look at first, by their positions.

    ``judges`` names the judges of each evaluator; ``ranked`` is how many profiles stand in groups that were ranked.
    """

    summary: Summary
    bins: tuple[Mapping[Standing, int], ...]
    worst: tuple[int, ...] = ()
    broken: tuple[int, ...] = ()
    judges: Mapping[str, tuple[str, ...]]
    ranked: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Overview:
        """Make it from what ``as_dict`` returned; anything else raises KeyError, TypeError or ValueError."""
        known = given["summary"]
        tallies = {
            name: {each: _tally(tally) for each, tally in known[name].items()} for name in ("evaluators", "models")
        }
        summary = Summary(**{**known, **tallies, "cases": _tally(known["cases"]), "judges": tuple(known["judges"])})
        return cls(
            summary=summary,
            bins=tuple({Standing(name): count for name, count in one.items()} for one in given["bins"]),
            worst=tuple(given["worst"]),
            broken=tuple(given["broken"]),
            judges={name: tuple(judges) for name, judges in given["judges"].items()},
            ranked=given["ranked"],
        )


def _tally(given: Mapping[str, Any]) -> Tally:
    around = {
        name: None if given[name] is None else Interval(**given[name]) for name in ("interval", "pass_rate_interval")
    }
    return Tally(**{**given, **around})


def _format() -> str:
    """Name the way in which overviews are written: an older one is not read for a newer one that counts more."""
    # To be raised when numbers of the same name are worked out in another way.
    version = 1
    names = [[each.name for each in fields(part)] for part in (Overview, Summary, Tally, Interval)]
    return f"{version}:{hashlib.sha256(repr(names).encode()).hexdigest()[:16]}"


FORMAT: Final = _format()


class Survey:
    """Takes in the results of a run one by one, and gives the overview; memory grows with clusters, not with cases."""

    def __init__(self) -> None:
        self._summarizer = Summarizer()
        self._bins: Sequence[Counter[Standing]] = [Counter() for _ in range(BINS)]
        self._worst: Worst[int] = Worst()
        self._ranked: set[str] = set()

    def add(self, result: CaseResult) -> None:
        """Take in the result of a case."""
        outcome = None if result.pending else result.outcome
        self._summarizer.add(result, outcome)
        if outcome is None:
            return
        standing = Standing.of(outcome)
        self._worst.add(standing, outcome.score or 0.0, result.position, result.position)
        if standing.scored:
            self._bins[bin_of(outcome.score or 0.0)][standing] += 1
            if _MEMBERS in result.case.metadata:
                self._ranked.update(_ids(result.case.metadata[_MEMBERS]))

    def overview(self) -> Overview:
        """Return what was found so far."""
        return Overview(
            summary=self._summarizer.summary(),
            bins=tuple(dict(one) for one in self._bins),
            worst=self._worst.worst,
            broken=self._worst.broken,
            judges=self._summarizer.judges,
            ranked=len(self._ranked),
        )


def survey(results: Iterable[CaseResult]) -> Overview:
    """Go through the results of a run once."""
    found = Survey()
    for result in results:
        found.add(result)
    return found.overview()


def _ids(members: object) -> list[str]:
    """Name the profiles of a group; an imported run may have anything there."""
    told = members if isinstance(members, list | tuple) else ()
    return [one["id"] for one in told if isinstance(one, Mapping) and isinstance(one.get("id"), str)]
