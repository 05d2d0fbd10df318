"""What each attribute does to the score: main effects, and where a group is treated differently by another attribute.

Every profile counts once, with the mean of its repetitions. A main effect is the difference that a level makes to the
score against the first level of its factor, on the average over everything else; an interaction is how much that
difference differs between two levels of a group.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from evenhand.domain.summary import Interval

MAIN: Final[Literal["main"]] = "main"
INTERACTION: Final[Literal["interaction"]] = "interaction"
SIGNIFICANT: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A difference between scores: of ``levels`` against others, one pair for each factor.

    ``estimate`` is in points from 0 to 10, and None where ``lacking`` says why there is none: never a zero instead.
    ``p_holm`` is corrected for the number of effects in the audit. ``detectable`` is the smallest true effect that
    would be found four times in five. ``profiles`` is how many scored profiles have one of the levels.
    """

    kind: Literal["main", "interaction"]
    factors: tuple[str, ...]
    levels: tuple[str, ...]
    against: tuple[str, ...]
    is_group: bool
    profiles: int = 0
    estimate: float | None = None
    error: float | None = None
    interval: Interval | None = None
    df: int = 0
    p: float | None = None
    p_holm: float | None = None
    detectable: float | None = None
    lacking: str = ""

    @property
    def name(self) -> str:
        """The effect in a few words.

        >>> Effect(kind="main", factors=("name",), levels=("Anna",), against=("Ben",), is_group=True).name
        'name: Anna − Ben'
        """
        if self.kind == MAIN:
            return f"{self.factors[0]}: {self.levels[0]} − {self.against[0]}"
        pairs = zip(self.levels, self.against, strict=True)
        return f"{' × '.join(self.factors)}: {' × '.join(f'({one} − {other})' for one, other in pairs)}"

    @property
    def found(self) -> bool:
        """Whether it is there beyond chance, also after the correction for how many were looked at."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT

    def as_dict(self) -> dict[str, Any]:
        """Give the effect as plain JSON values."""
        lists = {"factors": list(self.factors), "levels": list(self.levels), "against": list(self.against)}
        return {"name": self.name, **asdict(self), **lists, "found": self.found}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """How much of a merit makes up for belonging to a group: ``share`` of the merit's own effect."""

    group: str
    merit: str
    share: float
    interval: Interval | None

    def as_dict(self) -> dict[str, Any]:
        """Give the offset as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """All effects of an audit, and the largest difference between two levels of each group (``widest``)."""

    effects: tuple[Effect, ...]
    widest: tuple[Effect, ...]
    offsets: tuple[Offset, ...]
    clusters: int
