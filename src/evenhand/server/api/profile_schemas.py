"""What the API returns for rankings and audits."""

from __future__ import annotations

from typing import Any

from evenhand.server.api.schemas import IntervalShape, Shape


class RankedShape(Shape):
    """The rank of a profile: ``interval`` has the best and worst rank; those of a ``tier`` cannot be distinguished.

    ``rank`` is null if the profile was ranked in no group. Win rates are for rankings in pairs.
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
    """Position bias of the judge; ``places`` has the mean place of each position, from 0 (best) to 1 (worst)."""

    test: str
    n: int
    p: float | None
    places: list[float]
    found: bool
    advantage: float | None
    interval: tuple[float, float] | None


class LengthShape(Shape):
    """How much stronger a text of twice the length is."""

    doubling: float
    interval: tuple[float, float]
    found: bool


class RoundAgreementShape(Shape):
    """How often earlier rounds predict what the judge says later, and whether it can be told from one that shuffles."""

    share: float | None
    interval: IntervalShape | None
    groups: int
    p: float | None
    tested: int
    chance: float
    beats_chance: bool | None


class RankingNumbersShape(Shape):
    """The design of a ranking, and how reliable the judge is.

    ``has_order`` is false where the judge cannot be distinguished from one that shuffles, or called every pair a tie:
    then ranks are chance.
    """

    design: str
    group_size: int
    rounds: int | None
    top: int | None
    seed: int
    order: list[str]
    has_order: bool
    groups: int
    failed_groups: int
    pending_groups: int
    refused: list[str]
    partly_refused: list[str]
    apart: list[list[str]]
    total_retries: int
    invalid_replies: int
    tiers: int
    agreement: RoundAgreementShape
    position_bias: PositionShape
    length: LengthShape | None
    cycles: list[list[str]]
    in_cycles: int
    level: float
    draws: int


class RankingShape(Shape):
    """A ranking, best first."""

    run: str
    status: str
    ranking: RankingNumbersShape
    profiles: list[RankedShape]


class UncertaintyShape(Shape):
    """How sure an effect is by one of its two standard errors."""

    error: float
    df: int
    interval: IntervalShape
    p: float
    p_holm: float | None


class EffectShape(Shape):
    """The effect of an attribute on the score, in points from 0 to 10; ``found`` if it is significant.

    ``replicate`` is against the judge's own noise, for these profiles; ``clustered`` for others like them, too.
    ``decided_by`` is the one that decides, ``replicates`` or ``clusters``: ``error``, ``interval``, ``df`` and ``p``
    are its. ``generalises`` if the effect is significant by the clustered error, too.
    """

    name: str
    kind: str
    factors: list[str]
    levels: list[str]
    against: list[str]
    is_group: bool
    profiles: int
    estimate: float | None
    replicate: UncertaintyShape | None
    clustered: UncertaintyShape | None
    decided_by: str | None
    error: float | None
    interval: IntervalShape | None
    df: int
    p: float | None
    p_holm: float | None
    detectable: float | None
    found: bool
    generalises: bool
    lacking: str


class RefusalShape(Shape):
    """How many calls about a level gave no score, against the other levels, by Fisher's exact test.

    ``against`` is the other level, null if there are several.
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
    p_holm: float
    found: bool


class AuditNumbersShape(Shape):
    """The results of an audit; ``missing`` are the levels without any data."""

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
    refusals: list[RefusalShape]
    aliases: list[dict[str, Any]]
    gates: list[dict[str, Any]]
    spread: dict[str, Any]
    notice: str


class AuditShape(Shape):
    """An audit; ``gates`` are those that every run may have, and those of audits."""

    run: str
    status: str
    audit: AuditNumbersShape
    gates: list[dict[str, Any]]
