"""What the API gives about rankings and audits."""

from __future__ import annotations

from typing import Any

from evenhand.server.api.schemas import IntervalShape, Shape


class RankedShape(Shape):
    """The place of a profile: ``interval`` has the best and the worst rank, ``tier`` those that are not told apart.

    Where it was ranked in no group, ``rank`` is null. Win rates are those of pairs.
    """

    id: str
    rank: int | None
    interval: tuple[int, int] | None
    tier: int | None
    strength: float | None
    groups: int
    failures: int
    win_rate: float | None
    win_rate_interval: IntervalShape | None
    win_rate_without_length: float | None
    attributes: dict[str, Any]


class PositionShape(Shape):
    """Whether the judge favours a slot; ``places`` has the mean place of each, from 0 (best) to 1 (worst)."""

    test: str
    n: int
    p: float | None
    places: list[float]
    found: bool
    advantage: float | None
    interval: tuple[float, float] | None


class LengthShape(Shape):
    """What a text of twice the length is stronger by."""

    doubling: float
    interval: tuple[float, float]


class RankingNumbersShape(Shape):
    """How it was ranked, and how far the judge can be believed."""

    design: str
    group_size: int
    rounds: int | None
    top: int | None
    seed: int
    order: list[str]
    groups: int
    failed_groups: int
    pending_groups: int
    total_retries: int
    tiers: int
    agreement: float | None
    position_bias: PositionShape
    length: LengthShape | None
    cycles: list[list[str]]
    in_cycles: int
    level: float
    refits: int


class RankingShape(Shape):
    """A ranking, the best first."""

    run: str
    status: str
    ranking: RankingNumbersShape
    profiles: list[RankedShape]


class EffectShape(Shape):
    """What an attribute is worth to the judge, in points from 0 to 10; ``found`` where that is beyond chance."""

    name: str
    kind: str
    factors: list[str]
    levels: list[str]
    against: list[str]
    is_group: bool
    profiles: int
    estimate: float | None
    interval: IntervalShape | None
    p: float | None
    p_holm: float | None
    detectable: float | None
    found: bool
    lacking: str


class AuditNumbersShape(Shape):
    """What an audit found; ``missing`` are the levels of which nothing is known, which is no zero."""

    design: dict[str, Any]
    profiles: int
    scored: int
    pending: int
    calls: int
    failed: int
    cells: int
    taken: int
    clusters: int
    missing: list[dict[str, str]]
    levels: list[dict[str, Any]]
    effects: list[EffectShape]
    widest: list[EffectShape]
    offsets: list[dict[str, Any]]
    swaps: list[dict[str, Any]]
    impacts: list[dict[str, Any]]
    aliases: list[dict[str, Any]]
    gates: list[dict[str, Any]]
    spread: dict[str, Any]
    notice: str


class AuditShape(Shape):
    """An audit; ``gates`` are those of every run and its own."""

    run: str
    status: str
    audit: AuditNumbersShape
    gates: list[dict[str, Any]]
