"""What a suite demands of its judge: lower ends that the card must reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.gates import GateResult
from evenhand.domain.scale import is_finite_number
from evenhand.domain.summary import Interval, Rate
from evenhand.domain.verdict import reaches
from evenhand.stats.kappa import Kappa
from evenhand.stats.refusal import Refused

# What each rule is about, and the lowest limit that it may have.
RULES: Final[Mapping[str, tuple[str, float]]] = {
    "min_agreement_low": ("agreement", 0.0),
    "min_kappa_low": ("kappa", -1.0),
    "min_sensitivity_low": ("sensitivity", 0.0),
    "min_specificity_low": ("specificity", 0.0),
}
_TEXTS: Final = ("labels", "evaluator")
_MAX_DROP: Final = "max_drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustLimits:
    """The limits of a suite, by rule; ``labels`` is the file of labels, and ``evaluator`` whose card they are about.

    ``max_drop`` is by how much the agreement with people may fall before the judge has drifted.

    >>> TrustLimits.of({"min_kappa_low": 0.4}).limits
    {'min_kappa_low': 0.4}
    """

    labels: str | None = None
    evaluator: str | None = None
    max_drop: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, given: object) -> TrustLimits:
        """Parse what a user may write: nothing, or a mapping with ``labels``, ``evaluator`` and rules."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise ConfigError(f"trust must be a mapping such as {{min_kappa_low: 0.4}}, not {given!r:.80}")
        limits: dict[str, float] = {}
        for name, value in given.items():
            if name in _TEXTS:
                if not isinstance(value, str) or not value.strip():
                    raise ConfigError(f"trust: {name} is {value!r:.80}; it must be text", key=str(name))
            elif name == _MAX_DROP:
                if not is_finite_number(value) or not 0 < value < 1:
                    raise ConfigError(f"trust: {name} is {value!r:.80}; it must be above 0 and below 1", key=name)
            elif name not in RULES:
                names = (*_TEXTS, *RULES, _MAX_DROP)
                hint = did_you_mean(str(name)[:80], names)
                raise ConfigError(f"trust: no key {name!r:.80}{hint}; there are {', '.join(names)}", key=str(name))
            elif not is_finite_number(value) or not RULES[name][1] <= value <= 1:
                least = RULES[name][1]
                raise ConfigError(f"trust: {name} is {value!r:.80}; it must be a number from {least:g} to 1", key=name)
            else:
                limits[name] = value
        return cls(
            labels=given.get("labels"),
            evaluator=given.get("evaluator"),
            max_drop=given.get(_MAX_DROP),
            limits=limits,
        )

    def check(self, found: Mapping[str, Any]) -> tuple[GateResult, ...]:
        """Hold the numbers of a card, by their names, against the limits; a number that is refused has failed."""
        return tuple(_checked(rule, limit, found[RULES[rule][0]]) for rule, limit in self.limits.items())


def _checked(rule: str, limit: float, number: Rate | Kappa | Refused) -> GateResult:
    around = number if isinstance(number, Refused) else number.interval
    if isinstance(around, Interval):
        return GateResult(name=rule, wanted=limit, found=around.low, ok=reaches(around.low, limit))
    problem = around.reason if isinstance(around, Refused) else "no interval"
    return GateResult(name=rule, wanted=limit, found=None, ok=False, problem=problem)
