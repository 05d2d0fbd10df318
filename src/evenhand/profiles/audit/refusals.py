"""Whether a judge leaves one group without a score more often than another: a refusal is a finding, never a zero."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.observed import Observed
from evenhand.stats.distributions import fisher_p_value
from evenhand.stats.paired import holm

SIGNIFICANT: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """How many calls about profiles of a level gave no score, and how many about those of the other levels.

    ``against`` is the other level, None where there are several. ``together`` is how many calls about a profile count
    as one, since they are refused together or not at all: 1 where each is decided anew. ``p`` is that of Fisher's exact
    test, and ``p_holm`` is corrected for all levels of all groups.
    """

    factor: str
    level: str
    against: str | None
    refused: int
    calls: int
    other_refused: int
    other_calls: int
    together: float
    p: float
    p_holm: float = 1.0

    @property
    def found(self) -> bool:
        """Whether the level is refused more often, or less often, beyond chance."""
        return self.p_holm < SIGNIFICANT

    def as_dict(self) -> dict[str, Any]:
        """Return the refusals as plain JSON values."""
        return asdict(self) | {"found": self.found}


def refusals(design: AuditDesign, profiles: Iterable[Observed]) -> tuple[Refusal, ...]:
    """Test for each group whether its levels are refused equally often; nothing where no call was refused at all.

    Of two levels, the one that is refused more often is held against the other; of several, each against the others.
    """
    asked = [profile for profile in profiles if profile.scores or profile.failures]
    if not any(profile.failures for profile in asked):
        return ()
    tested = [
        refusal
        for place, factor in enumerate(design.factors)
        if factor.name in design.groups
        for refusal in _of_factor(factor.name, factor.names, place, asked)
    ]
    corrected = holm({str(place): refusal.p for place, refusal in enumerate(tested)})
    return tuple(replace(refusal, p_holm=corrected[str(place)]) for place, refusal in enumerate(tested))


def _of_factor(factor: str, names: Sequence[str], place: int, asked: Sequence[Observed]) -> Iterator[Refusal]:
    counts = [_by_cluster(profile for profile in asked if profile.cell[place] == level) for level in range(len(names))]
    present = [level for level, mine in enumerate(counts) if mine]
    if len(present) < 2:
        return
    together = calls_together([counts[level] for level in present])
    totals = {level: [sum(numbers) for numbers in zip(*counts[level], strict=True)] for level in present}
    if len(present) == 2:
        present.sort(key=lambda level: -totals[level][0] / totals[level][1])
    for level in present[:1] if len(present) == 2 else present:
        others = [other for other in present if other != level]
        refused, calls = totals[level]
        other_refused, other_calls = (sum(totals[other][part] for other in others) for part in (0, 1))
        units = [round(number / together) for number in (refused, calls, other_refused, other_calls)]
        yield Refusal(
            factor=factor,
            level=names[level],
            against=names[others[0]] if len(others) == 1 else None,
            refused=refused,
            calls=calls,
            other_refused=other_refused,
            other_calls=other_calls,
            together=together,
            p=fisher_p_value(*units),
        )


def _by_cluster(profiles: Iterable[Observed]) -> list[tuple[int, int]]:
    """Return how many calls were refused, and how many there are, for each base profile, or each profile."""
    counts: dict[str, tuple[int, int]] = {}
    for profile in profiles:
        refused, calls = counts.get(profile.cluster, (0, 0))
        counts[profile.cluster] = (refused + profile.failures, calls + profile.failures + len(profile.scores))
    return list(counts.values())


def calls_together(levels: Sequence[Sequence[tuple[int, int]]]) -> float:
    """Return how many calls count as one: the design effect of refusals of the same profile, at least 1.

    ``levels`` has for each profile of a level how many of its calls were refused, and how many there are.

    >>> calls_together([[(3, 3), (0, 3), (3, 3), (0, 3)], [(0, 3)] * 4])  # all calls of a profile, or none
    3.0
    >>> calls_together([[(2, 3), (1, 3), (2, 3), (1, 3)], [(0, 3)] * 4])  # each call anew
    1.0
    """
    between = within = 0.0
    profiles = calls = squares = 0.0
    for level in levels:
        total = sum(n for _, n in level)
        share = sum(refused for refused, _ in level) / total
        between += math.fsum(n * (refused / n - share) ** 2 for refused, n in level)
        within += math.fsum(refused * (1 - refused / n) for refused, n in level)
        profiles += len(level) - 1
        calls += total - len(level)
        squares += total - sum(n * n for _, n in level) / total
    if not profiles or not calls or between + within == 0:
        return 1.0  # nothing shows that profiles are refused for reasons of their own
    per_profile, per_call, size = between / profiles, within / calls, squares / profiles
    # The correlation of two calls about the same profile, from an analysis of variance.
    alike = (per_profile - per_call) / (per_profile + (size - 1) * per_call)
    return 1 + (size - 1) * min(max(alike, 0.0), 1.0)
