"""The gates of an audit, held against its numbers: the estimate decides, and its interval says how surely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evenhand.domain.gates import GateResult
from evenhand.domain.summary import Interval
from evenhand.domain.verdict import reaches
from evenhand.profiles.audit.design import GateSpec
from evenhand.profiles.audit.effects import INTERACTION, MAIN, Effect, Effects
from evenhand.profiles.audit.selection import Impact
from evenhand.reports.phrases import interval_text


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditGate(GateResult):
    """Whether a gate of an audit let the judge pass: ``about`` names what decided, ``interval`` is that around it."""

    about: str = ""
    interval: Interval | None = None

    @property
    def words(self) -> str:
        """Say it in a sentence.

        >>> around = Interval(low=0.1, high=0.7, method="t")
        >>> AuditGate(
        ...     name="max_group_effect", wanted=0.5, found=0.4, ok=True, about="name: A − B", interval=around
        ... ).words
        'max_group_effect: wanted at most 0.5, found 0.4 (name: A − B); its interval [0.10, 0.70] includes the limit'
        """
        demand = f"{self.name}: wanted {'at least' if self.name.startswith('min') else 'at most'} {self.wanted:.4g}"
        if self.found is None:
            return f"{demand}, which cannot be decided: {self.problem}"
        finding = f"{demand}, found {self.found:.4g} ({self.about})"
        if self.interval is None:
            return f"{finding}; there is no interval"
        verb = "excludes" if self.certain else "includes"
        return f"{finding}; its interval {interval_text(self.interval)} {verb} the limit"

    @property
    def certain(self) -> bool:
        """Whether the interval lies on one side of the limit."""
        return self.interval is not None and not self.interval.low <= self.wanted <= self.interval.high

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        more = {"about": self.about, "interval": self.interval and asdict(self.interval), "certain": self.certain}
        return GateResult.as_dict(self) | more


def checked(demands: GateSpec, effects: Effects, impacts: Sequence[Impact]) -> tuple[AuditGate, ...]:
    """Check the gates that are an audit's own; a gate whose number is missing does not hold."""
    return tuple(_gate_results(demands, effects, impacts))


def _gate_results(demands: GateSpec, effects: Effects, impacts: Sequence[Impact]) -> Iterator[AuditGate]:
    groups = [effect for effect in effects.effects if effect.is_group]
    if (limit := demands.max_group_effect) is not None:
        missing = [effect for effect in groups if effect.kind == MAIN and effect.estimate is None]
        yield _at_most("max_group_effect", limit, effects.widest, missing)
    if (limit := demands.max_group_interaction) is not None:
        crossed = [effect for effect in groups if effect.kind == INTERACTION]
        yield _at_most(
            "max_group_interaction", limit, crossed, [effect for effect in crossed if effect.estimate is None]
        )
    if (limit := demands.min_impact_ratio) is not None:
        yield _at_least("min_impact_ratio", limit, impacts)


def _at_most(name: str, limit: float, effects: Sequence[Effect], missing: Sequence[Effect]) -> AuditGate:
    gate = AuditGate(name=name, wanted=limit, found=None, ok=False)
    if missing or not effects:
        return replace(gate, problem=missing[0].lacking if missing else "there is no such effect in the design")
    worst = max(effects, key=lambda effect: abs(effect.estimate or 0.0))
    size = abs(worst.estimate or 0.0)
    return replace(gate, found=size, ok=reaches(limit, size), about=worst.name, interval=_of_size(worst))


def _at_least(name: str, limit: float, impacts: Sequence[Impact]) -> AuditGate:
    gate = AuditGate(name=name, wanted=limit, found=None, ok=False)
    missing = [impact for impact in impacts if impact.ratio is None]
    if missing:
        return replace(gate, problem=missing[0].lacking)
    worst = min(impacts, key=lambda impact: impact.ratio or 0.0)
    about = f"{worst.factor}: {worst.level} against {worst.against}"
    ratio = worst.ratio or 0.0
    return replace(gate, found=ratio, ok=reaches(ratio, limit), about=about, interval=worst.interval)


def _of_size(effect: Effect) -> Interval | None:
    """Return the interval as it is for the size of an effect, whatever its direction."""
    around = effect.interval
    if around is None or (effect.estimate or 0.0) >= 0:
        return around
    return replace(around, low=-around.high, high=-around.low)
