"""Gates: what a run's numbers must reach, and the exit code that reports it (SPEC-S8)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from evenhand.domain.errors import ConfigError, about, did_you_mean
from evenhand.domain.scale import is_finite_number
from evenhand.domain.summary import Interval, Summary, Tally
from evenhand.domain.verdict import reaches

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
_EVALUATORS: Final = "evaluators"
MAX_UNSCORED: Final = "max_unscored"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """Whether a gate let the run pass: what was wanted, and what was found.

    A ``found`` of None means that it could not be computed, which ``problem`` explains; such a gate has failed. Whole
    numbers count cases, others are scores or shares; ``share_of`` is, for a share of cases, how many of how many.
    ``kind`` is ``unscored`` for the gate that has its own exit code.
    """

    name: str
    wanted: float
    found: float | None
    ok: bool
    kind: Literal["score", "unscored"] = "score"
    problem: str = ""
    share_of: tuple[int, int] | None = None

    @property
    def words(self) -> str:
        """Say it in a sentence.

        >>> GateResult(name="min_mean", wanted=0.8, found=0.71, ok=False).words
        'min_mean: wanted at least 0.8, found 0.71'
        """
        limit = "at least" if self.name.rpartition(".")[2].startswith("min") else "at most"
        if self.share_of is not None and self.found is not None:
            count, among = self.share_of
            wanted, found = f"{100 * self.wanted:.4g} %", f"{100 * self.found:.4g} % ({count:,} of {among:,})"
        else:
            wanted, found = f"{self.wanted:.4g}", self.problem if self.found is None else f"{self.found:.4g}"
        return f"{self.name}: wanted {limit} {wanted}, found {found}"

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        row = {"name": self.name, "wanted": self.wanted, "found": self.found, "ok": self.ok, "kind": self.kind}
        return row | ({"problem": self.problem} if self.problem else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One demand: a rule such as ``min_mean``, its limit, and the evaluator that it is about, None for the cases."""

    rule: str
    limit: float
    evaluator: str | None = None

    @property
    def name(self) -> str:
        """The gate as it is written, with the evaluator before it."""
        return self.rule if self.evaluator is None else f"{self.evaluator}.{self.rule}"

    def check(self, summary: Summary) -> GateResult:
        """Check the gate against a run's numbers."""
        tally = summary.cases if self.evaluator is None else summary.evaluators.get(self.evaluator)
        if tally is None:
            hint = did_you_mean(self.evaluator or "", summary.evaluators)
            return self._result(None, f"no evaluation by an evaluator of that name{hint}")
        if self.rule in _LEAST:
            return self._result(_LEAST[self.rule](tally), _missing(tally))
        count, among = _MOST[self.rule](tally)
        if not among:
            return self._result(None, _missing(tally))
        if isinstance(self.limit, int):
            return self._result(count)
        return self._result(count / among, share_of=(count, among))

    def _result(self, value: float | None, problem: str = "", *, share_of: tuple[int, int] | None = None) -> GateResult:
        if value is None:
            ok = False
        elif self.rule in _LEAST:
            ok = reaches(value, self.limit)
        else:
            ok = reaches(self.limit, value)
        return GateResult(
            name=self.name,
            wanted=self.limit,
            found=value,
            ok=ok,
            kind="unscored" if self.rule == MAX_UNSCORED else "score",
            problem=problem if value is None else "",
            share_of=share_of,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """All that a suite demands of its runs.

    >>> Gates.of({"min_mean": 0.8, "max_unscored": "5%"}).gates[1]
    Gate(rule='max_unscored', limit=0.05, evaluator=None)
    """

    gates: tuple[Gate, ...] = ()

    @classmethod
    def of(cls, settings: Mapping[str, Any] | Gates | None, *, where: str = "gates") -> Gates:
        """Parse what a user may write: nothing, or a mapping of rules to limits, and ``evaluators`` by name.

        ``min_mean``, ``min_pass_rate`` and, for the lower ends of their intervals, ``min_mean_low`` and
        ``min_pass_rate_low`` are shares; ``max_unscored`` and ``max_failed`` are whole numbers of cases, or shares.
        """
        if isinstance(settings, Gates):
            return settings
        if settings is None:
            return cls()
        return cls(gates=tuple(_parse_gates(settings, where, evaluator=None)))

    def check(self, summary: Summary) -> tuple[GateResult, ...]:
        """Check all gates against a run's numbers."""
        return tuple(gate.check(summary) for gate in self.gates)

    @property
    def limits_unscored(self) -> bool:
        """Whether the suite says itself how many cases may go without a score."""
        return any(gate.rule == MAX_UNSCORED and gate.evaluator is None for gate in self.gates)


_Number: TypeAlias = Callable[[Tally], float | None]
_Count: TypeAlias = Callable[[Tally], tuple[int, int]]


def _low(interval: Interval | None) -> float | None:
    return None if interval is None else interval.low


_LEAST: dict[str, _Number] = {
    "min_mean": lambda tally: tally.mean,
    "min_mean_low": lambda tally: _low(tally.interval),
    "min_pass_rate": lambda tally: tally.pass_rate,
    "min_pass_rate_low": lambda tally: _low(tally.pass_rate_interval),
}
# How many, and of how many; what is pending is in neither.
_MOST: dict[str, _Count] = {
    MAX_UNSCORED: lambda tally: (tally.errors + tally.not_evaluated, tally.n - tally.pending),
    "max_failed": lambda tally: (tally.failed, tally.decided),
}
_RULES = (*_LEAST, *_MOST)


def _missing(tally: Tally) -> str:
    return "no scored case" if not tally.scored else f"no interval, with {tally.scored} scored"


def _parse_gates(settings: object, where: str, *, evaluator: str | None) -> Iterator[Gate]:
    if not isinstance(settings, Mapping):
        raise ConfigError(f"{where} must be a mapping such as {{'min_mean': 0.8}}, not {settings!r:.80}")
    for rule, limit in settings.items():
        if rule in _RULES:
            reader = _parse_share if rule in _LEAST else _parse_share_or_count
            with about(rule):
                share = reader(limit, f"{where}: {rule}")
            yield Gate(rule=rule, limit=share, evaluator=evaluator)
        elif rule == _EVALUATORS and evaluator is None:
            if not isinstance(limit, Mapping):
                raise ConfigError(
                    f"{where}: evaluators must be a mapping of names to gates, not {limit!r:.80}", key=_EVALUATORS
                )
            for name, demands in limit.items():
                yield from _parse_gates(demands, f"{where}: evaluators: {name}", evaluator=str(name))
        else:
            allowed = _RULES if evaluator is not None else (*_RULES, _EVALUATORS)
            raise ConfigError(f"{where}: no gate {rule!r}{did_you_mean(str(rule), allowed)}", key=str(rule))


def _parse_share(value: object, label: str) -> float:
    share = _parse_percent(value)
    if not is_finite_number(share) or not 0 <= share <= 1:
        raise ConfigError(f"{label} is {value!r:.80}; it must be a number from 0 to 1, or such as '80%'")
    return float(share)


def _parse_share_or_count(value: object, label: str) -> float:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    share = _parse_percent(value)
    if not isinstance(share, float) or not (0 <= share < 1 or (isinstance(value, str) and share == 1)):
        raise ConfigError(
            f"{label} is {value!r:.80}; it must be a whole number of cases, a fraction below 1, or such as '5%'"
        )
    return share


def _parse_percent(value: object) -> object:
    if isinstance(value, str) and (match := _PERCENT.fullmatch(value)):
        return float(match[1]) / 100
    return value
