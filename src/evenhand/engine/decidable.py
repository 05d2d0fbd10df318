"""Which gates can be decided before all cases are judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import Gates
from evenhand.engine.job import Job
from evenhand.stats.early_gates import FEWEST, EarlyGates
from evenhand.stats.refusal import Refused


def limits_of(definition: Mapping[str, Any]) -> dict[str, tuple[str, float]]:
    """Return the gates of a run as a rule and a limit each; refuse those that are not on all cases."""
    gates = Gates.of(definition.get("gates")).gates
    for gate in gates:
        if gate.evaluator is not None or gate.slice is not None:
            of = f"evaluator {gate.evaluator!r:.80}" if gate.slice is None else f"slices by {gate.slice!r:.80}"
            raise ConfigError(
                f"until_decided: {gate.rule} is a gate of {of}; only gates of all cases can be decided early, so "
                "remove it or leave out until_decided"
            )
    return {gate.rule: (gate.rule, gate.limit) for gate in gates}


def require_decidable(job: Job, *, cases: int = FEWEST, clustered: bool = False) -> None:
    """Refuse a job whose gates cannot be decided early."""
    if job.assign is not None or job.following is not None:
        what = "several targets answer the cases" if job.following is None else "later cases depend on earlier ones"
        raise ConfigError(f"until_decided: {what}, so gates cannot be decided early; leave it out")
    gates = EarlyGates.of(limits_of(job.definition), cases=cases, in_random_order=True, clustered=clustered)
    if isinstance(gates, Refused):
        raise ConfigError(f"until_decided: {gates.reason}; leave it out to judge all cases")
