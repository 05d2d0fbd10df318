"""What an examination found, worked out from the stored rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from evenhand.doctor.pairs import TASKS
from evenhand.doctor.plan import Plan
from evenhand.doctor.probe import BAD, GOOD, PLAIN, RIGHT, Counts, Kind, Observed, Plain, Probe
from evenhand.doctor.probes.catalogue import PROBES
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult
from evenhand.domain.summary import Interval, Rate
from evenhand.domain.verdict import Verdict
from evenhand.stats.correlation import auc
from evenhand.stats.intervals import Scores
from evenhand.stats.paired import holm
from evenhand.stats.refusal import Refused
from evenhand.stats.shares import share

# How often, of all examinations of honest judges, one or more probes may fail.
ALPHA: Final = 0.05


class Outcome(StrEnum):
    """What a probe says of the judge."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_ENOUGH_DATA = "not_enough_data"

    @property
    def word(self) -> str:
        """The outcome in words."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What came of a probe: harm was done ``harmed`` times among ``among``; ``interval`` is that of the share.

    ``excess`` is what is held against the ``limit``: the share, or how much more often harm was done than the
    opposite. ``p`` is corrected for the number of probes. ``why`` says why there is not enough data.
    """

    probe: Probe
    outcome: Outcome
    limit: float
    harmed: int = 0
    among: int = 0
    opposite: int | None = None
    unscored: int = 0
    excess: float | None = None
    interval: Interval | None = None
    p: float | None = None
    why: str = ""

    @property
    def name(self) -> str:
        """The name of the probe."""
        return self.probe.name

    @property
    def rate(self) -> float | None:
        """The share in which harm was done."""
        return self.harmed / self.among if self.among else None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {
            "probe": self.name,
            "kind": self.probe.kind.value,
            "about": self.probe.about,
            "counted": self.probe.harm,
            "outcome": self.outcome.value,
            "harmed": self.harmed,
            "among": self.among,
            "opposite": self.opposite,
            "unscored": self.unscored,
            "rate": self.rate,
            "interval": self.interval and asdict(self.interval),
            "excess": self.excess,
            "limit": self.limit,
            "p": self.p,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAccuracy:
    """How many plain answers of a kind of task were judged rightly."""

    task: str
    right: int
    among: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What an examination found.

    ``attack_success`` is the share of bad answers that pass with an attack, of all attacks and of those that do not
    pass without it; ``auc`` the chance that a good answer has a higher score than a bad one. Of ``cases``, ``unscored``
    have no score and ``pending`` are still to be judged.
    """

    plan: Plan
    probes: tuple[ProbeResult, ...]
    attack_success: Rate | None
    accuracy: tuple[TaskAccuracy, ...]
    auc: float | None
    cases: int
    unscored: int
    pending: int

    @property
    def failed(self) -> tuple[ProbeResult, ...]:
        """The probes that the judge failed."""
        return tuple(found for found in self.probes if found.outcome is Outcome.FAILED)

    @property
    def undecided(self) -> tuple[ProbeResult, ...]:
        """The probes for which there is not enough data."""
        return tuple(found for found in self.probes if found.outcome is Outcome.NOT_ENOUGH_DATA)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {
            "passed": not self.failed,
            "failed": [found.name for found in self.failed],
            "probes": [found.as_dict() for found in self.probes],
            "attack_success": self.attack_success and asdict(self.attack_success),
            "accuracy": [asdict(found) for found in self.accuracy],
            "auc": self.auc,
            "pairs": self.plan.size,
            "seed": self.plan.seed,
            "limits": self.plan.limits.as_dict(),
            "alpha": ALPHA,
            "cases": self.cases,
            "unscored": self.unscored,
            "pending": self.pending,
        }


def examination_of(definition: Mapping[str, Any], results: Iterable[CaseResult]) -> Examination:
    """Work out an examination from the definition of a run and its cases."""
    plan = Plan.of(definition)
    seen: list[Observed] = []
    pending = 0
    for result in results:
        found = observed(result)
        if found is None:
            pending += 1
        else:
            seen.append(found)
    return examined(plan, seen, pending=pending)


def examined(plan: Plan, seen: Sequence[Observed], *, pending: int = 0) -> Examination:
    """Work out what cases say, by a pure function of them."""
    plain, by_probe = _plain_of(seen), _by_probe(plan, seen)
    return Examination(
        plan=plan,
        probes=results_of(plan, seen),
        attack_success=_attack_success(by_probe, plain),
        accuracy=tuple(_by_task(plain.values())),
        auc=_auc(plain.values()),
        cases=len(seen) + pending,
        unscored=sum(case.score is None for case in seen),
        pending=pending,
    )


def results_of(plan: Plan, seen: Sequence[Observed]) -> tuple[ProbeResult, ...]:
    """Work out what comes of each probe."""
    plain, by_probe = _plain_of(seen), _by_probe(plan, seen)
    limits = plan.limits.as_dict()
    counts = {name: PROBES[name].read(cases, plain, limits[PROBES[name].limit]) for name, cases in by_probe.items()}
    enough = {name for name, found in counts.items() if found.least_p * len(counts) <= ALPHA}
    corrected = holm({name: found.p for name, found in counts.items()})
    probes = []
    for name in PROBES:
        if name in counts:
            probes.append(_result(PROBES[name], counts[name], corrected[name], limits, is_enough=name in enough))
        elif name in plan.left_out:
            limit = limits[PROBES[name].limit]
            probes.append(
                ProbeResult(probe=PROBES[name], outcome=Outcome.NOT_ENOUGH_DATA, limit=limit, why=plan.left_out[name])
            )
    return tuple(probes)


def _plain_of(seen: Sequence[Observed]) -> Plain:
    return {(case.pair, case.answer): case for case in seen if case.probe == PLAIN}


def _by_probe(plan: Plan, seen: Sequence[Observed]) -> dict[str, list[Observed]]:
    by_probe: dict[str, list[Observed]] = {name: [] for name in plan.probes}
    for case in seen:
        if case.probe in by_probe:
            by_probe[case.probe].append(case)
    return by_probe


def _result(probe: Probe, counts: Counts, p: float, limits: Mapping[str, float], *, is_enough: bool) -> ProbeResult:
    limit = limits[probe.limit]
    outcome = Outcome.NOT_ENOUGH_DATA
    if counts.excess > limit:  # beyond chance, or nobody knows
        outcome = Outcome.FAILED if p <= ALPHA else outcome
    elif is_enough:
        outcome = Outcome.PASSED
    rate = share(counts.harmed, counts.among, "cases")
    return ProbeResult(
        probe=probe,
        outcome=outcome,
        limit=limit,
        harmed=counts.harmed,
        among=counts.among,
        opposite=counts.opposite,
        unscored=counts.unscored,
        excess=counts.excess if counts.among else None,
        interval=None if isinstance(rate, Refused) else rate.interval,
        p=p if counts.among else None,
        why=_lacking(probe, counts, is_enough=is_enough) if outcome is Outcome.NOT_ENOUGH_DATA else "",
    )


def _lacking(probe: Probe, counts: Counts, *, is_enough: bool) -> str:
    if is_enough:
        seen = f"harm in {counts.harmed:,} of {counts.among:,}"
        return f"{seen} is above the limit, but that may be chance; more pairs would tell"
    one, several = ("case with a score", "cases with a score")
    if probe.kind is Kind.ATTACK:
        one, several = ("bad answer that fails as it is", "bad answers that fail as they are")
    are = f"is 1 {one}" if counts.among == 1 else f"are {counts.among:,} {several}"
    return f"there {are}: with so few, even harm in each of them may be chance"


def _attack_success(by_probe: Mapping[str, Sequence[Observed]], plain: Plain) -> Rate | None:
    scores = Scores()
    for name, cases in by_probe.items():
        if PROBES[name].kind is not Kind.ATTACK:
            continue
        for case in cases:
            before = plain.get((case.pair, BAD))
            if before is not None and before.score is not None and case.score is not None and not before.passed:
                scores.add(float(case.passed), case.pair)
    around = scores.interval()
    return None if scores.mean is None or around is None else Rate(value=scores.mean, interval=around)


def _by_task(plain: Iterable[Observed]) -> Iterator[TaskAccuracy]:
    scored = [case for case in plain if case.score is not None]
    if all(case.answer == BAD for case in scored):  # whoever fails everything would seem to be always right
        return
    for task in TASKS:
        right = [case.passed == (case.answer == GOOD) for case in scored if case.task == task]
        if right:
            yield TaskAccuracy(task=task, right=sum(right), among=len(right))


def _auc(plain: Iterable[Observed]) -> float | None:
    scored = [(case.score, case.answer == GOOD) for case in plain if case.score is not None]
    found = auc([score for score, _ in scored], [is_good for _, is_good in scored])
    return None if isinstance(found, Refused) else found


def observed(result: CaseResult) -> Observed | None:
    """Return what a case says; None while it is not judged. What is not as the doctor writes it says nothing."""
    if result.pending or not result.judgments:
        return None
    known = {key: str(value) for key, value in result.case.metadata.items()}
    evaluation = result.judgments[0].evaluation
    scored = evaluation.status is Status.SCORED and evaluation.score is not None
    score, passed = evaluation.score, evaluation.verdict is Verdict.PASS
    right = next((check for check in evaluation.checks if check.id == RIGHT), None)
    if right is not None and len(evaluation.checks) > 1:
        score, passed = float(right.satisfied), right.satisfied
    return Observed(
        probe=known.get("probe", ""),
        pair=known.get("pair", ""),
        task=known.get("task", ""),
        answer=known.get("answer", ""),
        variant=known.get("variant", ""),
        score=score if scored else None,
        passed=scored and passed,
        places=_places(evaluation),
    )


def _places(evaluation: Evaluation) -> tuple[str, str] | None:
    """Return who won with the candidate in the first place, and in the second."""
    orders = evaluation.details.get("orders")
    if not isinstance(orders, list):
        return None
    winners = {str(order.get("candidate")): str(order.get("winner")) for order in orders if isinstance(order, Mapping)}
    return (winners["A"], winners["B"]) if {"A", "B"} <= winners.keys() else None
