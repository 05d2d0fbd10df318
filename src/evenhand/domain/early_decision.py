"""Runs that stop when their gates are decided: what is stored of that, and what it means for gates and numbers."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, TypeGuard

from evenhand.domain.errors import ConfigError
from evenhand.domain.failure import Failure
from evenhand.domain.gates import EarlyDecision, GateResult, Gates
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.scale import is_finite_number
from evenhand.domain.summary import Slice, Summary, Tally

ALPHA: Final = 0.05
# The option of a run that has all this, and the kind of the reason for which such a run stops.
UNTIL_DECIDED: Final = "until_decided"
DECIDED: Final = "decided"
_SEED_BITS: Final = 32
_LARGEST: Final = 2**53

Outcome: TypeAlias = Literal["pass", "fail"]


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _is_share(value: object) -> TypeGuard[float]:
    return is_finite_number(value) and 0 <= value <= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """What was decided of a gate, None for nothing yet, and after how many cases."""

    name: str
    limit: float
    outcome: Outcome | None = None
    after: int = 0
    certain: bool = False

    @classmethod
    def parse(cls, stored: object) -> GateDecision:
        """Read what the options of a run have; anything else is refused."""
        match stored:
            case {"name": str(name), "limit": limit, "outcome": None} if _is_share(limit):
                return cls(name=name, limit=limit)
            case {
                "name": str(name),
                "limit": limit,
                "outcome": "pass" | "fail" as outcome,
                "after": after,
                "certain": bool(certain),
            } if _is_share(limit) and _is_whole(after):
                return cls(name=name, limit=limit, outcome=outcome, after=after, certain=certain)
        raise ConfigError(
            f"{UNTIL_DECIDED}: gates has {stored!r:.80}; each must have name, limit and outcome, and after and certain "
            "if it is decided"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the decision as plain JSON values."""
        row = {"name": self.name, "limit": self.limit, "outcome": self.outcome}
        return row | ({} if self.outcome is None else {"after": self.after, "certain": self.certain})


def _new_seed() -> int:
    return secrets.randbits(_SEED_BITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class UntilDecided:
    """How a run is decided early: ``alpha`` bounds the chance of a wrong decision, ``seed`` draws the order of cases.

    ``known`` are the positions of cases whose results were there before, None while nobody has looked: they count
    first. ``gates`` is what was decided, and empty until the run stops for it.
    """

    alpha: float = ALPHA
    seed: int = field(default_factory=_new_seed)
    known: tuple[int, ...] | None = None
    gates: tuple[GateDecision, ...] = ()

    def __post_init__(self) -> None:
        if not is_finite_number(self.alpha) or not 0 < self.alpha < 1:
            raise ConfigError(f"alpha is {self.alpha!r:.80}; it must be a number between 0 and 1, such as {ALPHA}")

    def order(self, cases: int) -> list[int]:
        """Return the positions of all cases in the order in which they count: known ones, then the others as drawn.

        >>> UntilDecided(seed=1, known=(3,)).order(6)
        [3, 1, 5, 2, 0, 4]
        """
        known = set(self.known or ())
        drawn = sorted((self._number(position), position) for position in range(cases) if position not in known)
        return [*sorted(known), *(position for _, position in drawn)]

    def _number(self, position: int) -> bytes:
        # A hash, which is the same in every version of Python: a run may be resumed by another one.
        return hashlib.blake2b(f"{self.seed} {position}".encode(), digest_size=16).digest()

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values, for the options of a run."""
        row: dict[str, Any] = {"alpha": self.alpha, "seed": self.seed}
        row |= {} if self.known is None else {"known": list(self.known)}
        return row | ({"gates": [gate.as_dict() for gate in self.gates]} if self.gates else {})

    @classmethod
    def of(cls, run: RunRecord) -> UntilDecided | None:
        """Return how a run is decided early; None for a run that is not."""
        stored = run.options.get(UNTIL_DECIDED)
        return None if stored is None else cls.parse(stored)

    @classmethod
    def parse(cls, stored: object) -> UntilDecided:
        """Read what the options of a run have; anything else is refused."""
        if not isinstance(stored, Mapping):
            raise ConfigError(f"{UNTIL_DECIDED} is {stored!r:.80}; it must be an object")
        known, gates = stored.get("known"), stored.get("gates", [])
        if not _is_whole(stored.get("seed")):
            raise ConfigError(f"{UNTIL_DECIDED}: seed is {stored.get('seed')!r:.80}; it must be a whole number")
        if known is not None and not (isinstance(known, list) and all(map(_is_whole, known))):
            raise ConfigError(f"{UNTIL_DECIDED}: known is {known!r:.80}; it must be a list of positions")
        if not isinstance(gates, list):
            raise ConfigError(f"{UNTIL_DECIDED}: gates is {gates!r:.80}; it must be a list")
        return cls(
            alpha=stored.get("alpha"),  # type: ignore[arg-type]  # checked when it is made
            seed=stored["seed"],
            known=None if known is None else tuple(known),
            gates=tuple(map(GateDecision.parse, gates)),
        )

    def reason(self, cases: int) -> Failure:
        """Say why the run stopped."""
        after = max(gate.after for gate in self.gates)
        undecided = [f"{gate.name} {gate.limit:.4g}" for gate in self.gates if gate.outcome is None]
        words = [f"after {after:,} of {cases:,} cases in random order; the others need not be judged"]
        words += [f"not decided: {', '.join(undecided)}"] if undecided else []
        if any(gate.outcome is not None and not gate.certain for gate in self.gates):
            words.append("the probability of error assumes that the judge would score each case the same again")
        return Failure(DECIDED, "; ".join(words))


def until_decided_of(wanted: bool, alpha: float | None, *, name: str = UNTIL_DECIDED) -> UntilDecided | None:
    """Return how a new run is decided early, with an order of its own; None if that is not wanted."""
    if not wanted:
        if alpha is not None:
            raise ConfigError(f"alpha is for runs that are decided early; give {name} with it", key="alpha")
        return None
    return UntilDecided() if alpha is None else UntilDecided(alpha=alpha)


def early_decision(run: RunRecord) -> UntilDecided | None:
    """Return what was decided of a run before all its cases were judged; None once they are, or for another run."""
    if run.status is RunStatus.FINISHED:
        return None
    until = UntilDecided.of(run)
    return until if until is not None and any(gate.outcome is not None for gate in until.gates) else None


def stopped_decided(run: RunRecord) -> bool:
    """Return whether a run has stopped since its gates were decided."""
    return (
        run.status is RunStatus.STOPPED and Failure.of(run.reason).kind == DECIDED and early_decision(run) is not None
    )


def gate_results(run: RunRecord, summary: Summary) -> tuple[GateResult, ...]:
    """Return what the gates of a run say: what was decided early, or what its numbers give.

    A gate that was not decided before another one had failed is left out; the reason of the run names it.
    """
    decided = early_decision(run)
    if decided is None:
        return Gates.of(run.definition.get("gates")).check(summary)
    return tuple(
        GateResult(
            name=gate.name,
            wanted=gate.limit,
            found=None,
            ok=gate.outcome == "pass",
            decided=EarlyDecision(after=gate.after, cases=run.cases, certain=gate.certain, alpha=decided.alpha),
        )
        for gate in decided.gates
        if gate.outcome is not None
    )


def without_intervals(summary: Summary) -> Summary:
    """Return the numbers without intervals: when a run stops as its results want it, they would not hold."""
    return replace(
        summary,
        cases=_plain(summary.cases),
        evaluators={name: _plain(tally) for name, tally in summary.evaluators.items()},
        models={name: _plain(tally) for name, tally in summary.models.items()},
        slices={
            key: {
                value: Slice(
                    cases=_plain(part.cases),
                    evaluators={name: _plain(tally) for name, tally in part.evaluators.items()},
                )
                for value, part in values.items()
            }
            for key, values in summary.slices.items()
        },
        steadiness=None,
        agreement={name: replace(found, interval=None) for name, found in summary.agreement.items()},
        cascades={name: replace(found, interval=None) for name, found in summary.cascades.items()},
    )


def _plain(tally: Tally) -> Tally:
    return replace(tally, interval=None, pass_rate_interval=None)
