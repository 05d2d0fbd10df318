"""Gates: what a run's numbers must reach, and the exit code that reports it (SPEC-S8)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from evenhand.domain.errors import ConfigError, about, did_you_mean
from evenhand.domain.scale import is_finite_number
from evenhand.domain.slices import FEW, MOST_VALUES, TOO_FEW, few_keys, slice_keys
from evenhand.domain.summary import Corrected, Interval, Summary, Tally
from evenhand.domain.verdict import reaches

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
EVALUATORS: Final = "evaluators"
SLICES: Final = "slices"
MAX_UNSCORED: Final = "max_unscored"


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyDecision:
    """After how many of a run's cases a gate was decided, and how likely that is wrong, at most.

    ``certain`` says that no result of the others could change it. ``alpha`` is for all gates of the run together.
    """

    after: int
    cases: int
    certain: bool
    alpha: float

    def as_dict(self) -> dict[str, Any]:
        """Return the decision as plain JSON values."""
        return {"after": self.after, "cases": self.cases, "certain": self.certain, "alpha": self.alpha}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """Whether a gate let the run pass: what was wanted, and what was found.

    A ``found`` of None means that it could not be computed, which ``problem`` explains; such a gate has failed. Whole
    numbers count cases, others are scores or shares; ``share_of`` is, for a share of cases, how many of how many.
    ``kind`` is ``unscored`` for the gate that has its own exit code, and for a slice in which nothing was scored;
    ``trust`` for what the suite demands of its judge. Of the gate of a slice, ``slice`` has its key and value, and
    ``n`` is how many cases the number is over. ``decided`` is there if the gate was decided before all cases were
    judged: what all would give was then not found.
    """

    name: str
    wanted: float
    found: float | None
    ok: bool
    kind: Literal["score", "unscored", "trust"] = "score"
    problem: str = ""
    share_of: tuple[int, int] | None = None
    slice: tuple[str, str] | None = None
    n: int | None = None
    decided: EarlyDecision | None = None

    @property
    def words(self) -> str:
        """Say it in a sentence.

        >>> GateResult(name="min_mean", wanted=0.8, found=0.71, ok=False).words
        'min_mean: wanted at least 0.8, found 0.71'
        """
        if self.decided is not None:
            return self._decision(self.decided)
        limit = "at least" if self.name.rpartition(".")[2].startswith("min") else "at most"
        if self.share_of is not None and self.found is not None:
            count, among = self.share_of
            wanted, found = f"{100 * self.wanted:.4g} %", f"{100 * self.found:.4g} % ({count:,} of {among:,})"
        else:
            wanted, found = f"{self.wanted:.4g}", self.problem if self.found is None else f"{self.found:.4g}"
        return f"{self.name}: wanted {limit} {wanted}, found {found}{self._over}"

    def _decision(self, decided: EarlyDecision) -> str:
        chance = "certain" if decided.certain else f"wrong with probability at most {decided.alpha:.4g}"
        outcome = "passes" if self.ok else "fails"
        return (
            f"decided after {decided.after:,} of {decided.cases:,}: {self.name} {self.wanted:.4g} {outcome} ({chance})"
        )

    @property
    def _over(self) -> str:
        """Over how many cases of a slice the number is."""
        if self.n is None or self.found is None:
            return ""
        over = "" if self.share_of is not None else f" over {self.n:,} {'case' if self.n == 1 else 'cases'}"
        return f"{over}, {TOO_FEW}" if self.n < FEW else over

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        row: dict[str, Any] = {
            "name": self.name,
            "wanted": self.wanted,
            "found": self.found,
            "ok": self.ok,
            "kind": self.kind,
        }
        row |= {"problem": self.problem} if self.problem else {}
        row |= {} if self.decided is None else {"decided": self.decided.as_dict()}
        return row | (
            {} if self.slice is None else {"slice": dict(zip(("key", "value"), self.slice, strict=True)), "n": self.n}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One demand: a rule such as ``min_mean``, its limit, and the evaluator that it is about, None for the cases.

    With ``slice``, a key of the cases' metadata, it is demanded of the cases with each of its values.
    """

    rule: str
    limit: float
    evaluator: str | None = None
    slice: str | None = None

    def check(self, summary: Summary) -> Iterator[GateResult]:
        """Check the gate against a run's numbers: once, or for each value of a slice's key."""
        if self.evaluator is not None and self.evaluator not in summary.evaluators:
            hint = did_you_mean(self.evaluator, summary.evaluators)
            yield self._result(None, f"no evaluation by an evaluator of that name{hint}")
        elif self.slice is None:
            yield self._check(summary.cases if self.evaluator is None else summary.evaluators[self.evaluator])
        elif values := summary.slices.get(self.slice):
            for value, part in values.items():
                tally = part.cases if self.evaluator is None else part.evaluators.get(self.evaluator, Tally())
                yield self._check(tally, value)
        else:
            is_known = self.slice in summary.unsliced
            yield self._result(None, f"more than {MOST_VALUES} different values" if is_known else "no case")

    def _check(self, tally: Tally, value: str | None = None) -> GateResult:
        if self.rule in _CORRECTED:
            number, problem = _CORRECTED[self.rule](tally), _uncorrected(tally)
            return self._result(number, problem, value=value, n=tally.decided)
        if self.rule in _LEAST:
            number, over = _LEAST[self.rule](tally), tally.decided if "pass_rate" in self.rule else tally.scored
            return self._result(number, _missing(tally), value=value, n=over)
        count, among = _MOST[self.rule](tally)
        if not among:
            return self._result(None, _missing(tally), value=value, n=among)
        if isinstance(self.limit, int):
            return self._result(count, value=value, n=among)
        return self._result(count / among, share_of=(count, among), value=value, n=among)

    def _result(
        self,
        number: float | None,
        problem: str = "",
        *,
        share_of: tuple[int, int] | None = None,
        value: str | None = None,
        n: int | None = None,
    ) -> GateResult:
        if number is None:
            ok = False
        elif self.rule in _LEAST or self.rule in _CORRECTED:
            ok = reaches(number, self.limit)
        else:
            ok = reaches(self.limit, number)
        is_unscored = self.rule == MAX_UNSCORED or (value is not None and n == 0)
        return GateResult(
            name=self._name(value),
            wanted=self.limit,
            found=number,
            ok=ok,
            kind="unscored" if is_unscored else "score",
            problem=problem if number is None else "",
            share_of=share_of,
            slice=None if self.slice is None or value is None else (self.slice, value),
            n=None if value is None else n,
        )

    def _name(self, value: str | None) -> str:
        """Name the gate as it is written, with the evaluator and the slice before it."""
        slice_name = self.slice if value is None else f"{self.slice}={value:.80}"
        return ".".join(part for part in (self.evaluator, slice_name, self.rule) if part is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """All that a suite demands of its runs.

    >>> Gates.of({"min_mean": 0.8, "max_unscored": "5%"}).gates[1]
    Gate(rule='max_unscored', limit=0.05, evaluator=None, slice=None)
    """

    gates: tuple[Gate, ...] = ()

    @classmethod
    def of(cls, settings: Mapping[str, Any] | Gates | None, *, where: str = "gates") -> Gates:
        """Parse what a user may write: nothing, or a mapping of rules to limits, and ``evaluators`` by name.

        For both, ``slices`` has rules by key of the cases' metadata.

        ``min_mean``, ``min_pass_rate`` and, for the lower ends of their intervals, ``min_mean_low`` and
        ``min_pass_rate_low`` are shares, as are ``min_pass_rate_corrected`` and ``min_pass_rate_corrected_low``, which
        need labels by people; ``max_failed`` is a whole number of cases or a share of them, and ``max_unscored`` one of
        answers, of which a case has several where it is repeated.
        """
        if isinstance(settings, Gates):
            return settings
        if settings is None:
            return cls()
        gates = cls(gates=tuple(_parse_gates(settings, where)))
        few_keys(gates.slice_keys, f"{where}: slices")
        return gates

    def check(self, summary: Summary) -> tuple[GateResult, ...]:
        """Check all gates against a run's numbers."""
        return tuple(result for gate in self.gates for result in gate.check(summary))

    @property
    def slice_keys(self) -> tuple[str, ...]:
        """The keys of metadata whose slices have gates."""
        return tuple(dict.fromkeys(gate.slice for gate in self.gates if gate.slice is not None))

    @property
    def limits_unscored(self) -> bool:
        """Whether the suite says itself how many cases may go without a score."""
        return any(gate.rule == MAX_UNSCORED and gate.evaluator is None and gate.slice is None for gate in self.gates)


def slices_of(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of metadata that a run slices by: those that it names, and those that have gates.

    >>> slices_of({"slices": ["topic"], "gates": {"slices": {"lang": {"min_mean": 0.9}}}})
    ('topic', 'lang')
    """
    gated = Gates.of(definition.get("gates")).slice_keys
    return tuple(dict.fromkeys((*slice_keys(definition.get(SLICES)), *gated)))


_Number: TypeAlias = Callable[[Tally], float | None]
_Count: TypeAlias = Callable[[Tally], tuple[int, int]]


def _by_people(tally: Tally) -> Corrected | None:
    return None if tally.corrected is None else tally.corrected.pass_rate


def _uncorrected(tally: Tally) -> str:
    """Say why there is no corrected pass rate, and what would help."""
    if tally.corrected is not None:
        return f"no corrected pass rate: {tally.corrected.pass_rate_problem}"
    return "no labels by people that count; draw cases with evenhand label RUN --sample 100, and label them"


def _low(interval: Interval | None) -> float | None:
    return None if interval is None else interval.low


_LEAST: dict[str, _Number] = {
    "min_mean": lambda tally: tally.mean,
    "min_mean_low": lambda tally: _low(tally.interval),
    "min_pass_rate": lambda tally: tally.pass_rate,
    "min_pass_rate_low": lambda tally: _low(tally.pass_rate_interval),
}
# Those that labels by people are needed for.
_CORRECTED: Final[dict[str, _Number]] = {
    "min_pass_rate_corrected": lambda tally: None if (found := _by_people(tally)) is None else found.value,
    "min_pass_rate_corrected_low": lambda tally: None if (found := _by_people(tally)) is None else found.interval.low,
}
# How many, and of how many; what is pending is in neither.
_MOST: dict[str, _Count] = {
    MAX_UNSCORED: lambda tally: (tally.by_answer.errors + tally.by_answer.not_evaluated, tally.by_answer.n),
    "max_failed": lambda tally: (tally.failed, tally.decided),
}
_RULES = (*_LEAST, *_CORRECTED, *_MOST)


def _missing(tally: Tally) -> str:
    return "no scored case" if not tally.scored else f"no interval, with {tally.scored} scored"


def _parse_gates(
    settings: object, where: str, *, evaluator: str | None = None, slice_key: str | None = None
) -> Iterator[Gate]:
    if not isinstance(settings, Mapping):
        raise ConfigError(f"{where} must be a mapping such as {{'min_mean': 0.8}}, not {settings!r:.80}")
    groups = () if slice_key is not None else (SLICES,) if evaluator is not None else (EVALUATORS, SLICES)
    for rule, limit in settings.items():
        if rule in _RULES:
            if slice_key is not None and rule in _CORRECTED:
                raise ConfigError(
                    f"{where}: {rule} is a gate of all cases: labels are drawn among them, and not in each slice",
                    key=str(rule),
                )
            reader = _parse_share_or_count if rule in _MOST else _parse_share
            with about(rule):
                share = reader(limit, f"{where}: {rule}")
            yield Gate(rule=rule, limit=share, evaluator=evaluator, slice=slice_key)
        elif rule in groups:
            if not isinstance(limit, Mapping):
                names = "names" if rule == EVALUATORS else "keys of metadata"
                raise ConfigError(
                    f"{where}: {rule} must be a mapping of {names} to gates, not {limit!r:.80}", key=str(rule)
                )
            for name, demands in limit.items():
                whose = (
                    {"evaluator": str(name)} if rule == EVALUATORS else {"evaluator": evaluator, "slice_key": str(name)}
                )
                yield from _parse_gates(demands, f"{where}: {rule}: {name}", **whose)
        else:
            raise ConfigError(f"{where}: no gate {rule!r}{did_you_mean(str(rule), (*_RULES, *groups))}", key=str(rule))


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
