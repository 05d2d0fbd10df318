"""What an examination is made of: its probes, its pairs, and the cases that follow from them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from evenhand.doctor.pairs import TASKS, Pair, shipped_pairs
from evenhand.doctor.probe import BAD, EXAMPLES, GOOD, PLAIN, Kind, Limits, Made, Probe, Setting, case_of
from evenhand.doctor.probes.attribution import FAMILY, FAMILY_NAMES, other_family
from evenhand.doctor.probes.catalogue import PROBES, chosen
from evenhand.doctor.probes.examples import ORDER, examples_for, lacks_order
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase
from evenhand.domain.run_kind import DOCTOR
from evenhand.suites.evaluators import JUDGE_TYPE, type_of

DEFAULT_SIZE: Final = 30
# A model on this machine takes seconds for a question.
EMBEDDED_SIZE: Final = 12
# How a judge is asked that is examined by itself.
ALONE: Final[Mapping[str, Any]] = {"name": "judge", "type": JUDGE_TYPE}
_PAIRWISE: Final = "pairwise"
_NO_FAMILY: Final = "the name of the judge does not say of which family it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which probes, on how many pairs, drawn by which seed, and what they tolerate.

    ``family`` is that of the judge, empty where it is unknown. ``left_out`` has the probes that cannot be made, each
    with the reason.
    """

    probes: tuple[str, ...] = tuple(PROBES)
    size: int = DEFAULT_SIZE
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    family: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def made(
        cls,
        probes: Iterable[str] | None = None,
        *,
        size: int = DEFAULT_SIZE,
        seed: int = 0,
        limits: Limits | None = None,
        family: str | None = None,
        no_single_judge: str = "",
        evaluator: Mapping[str, Any] = ALONE,
    ) -> Plan:
        """Make a plan to examine an evaluator, or refuse what cannot be one.

        ``no_single_judge`` says why nothing but the evaluator can be asked.
        """
        wanted = chosen(probes)
        most = len(shipped_pairs())
        for name, value, low, high in (("size", size, 1, most), ("seed", seed, 0, 2**63)):
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                span = f"a whole number from {low} to {high}" if name == "size" else f"a whole number, {low} or more"
                raise ConfigError(f"{name} is {value!r:.80}; it must be {span}", key=name)
        left_out: dict[str, str] = {}
        if not family or family not in FAMILY_NAMES:
            left_out |= {probe.name: _NO_FAMILY for probe in wanted if probe.name == FAMILY}
        if why := lacks_order(evaluator, drawn(shipped_pairs(), most, seed)[size:]):
            left_out |= {probe.name: why for probe in wanted if probe.name == ORDER}
        if no_single_judge:
            left_out |= {probe.name: no_single_judge for probe in wanted if probe.evaluator is not None}
        if type_of(evaluator) == _PAIRWISE:
            left_out |= {
                probe.name: "the evaluator compares answers, and scores none" for probe in wanted if not probe.compares
            }
        taken = tuple(probe.name for probe in wanted if probe.name not in left_out)
        if not taken:
            raise ConfigError("; ".join(f"probe {name}: {why}" for name, why in left_out.items()), key="probes")
        return cls(
            probes=taken,
            size=size,
            seed=seed,
            limits=limits or Limits(),
            family=family or "",
            left_out=left_out,
        )

    @classmethod
    def of(cls, definition: Mapping[str, Any]) -> Plan:
        """Read the plan from the definition of a run, which may come from elsewhere."""
        stored = definition.get(DOCTOR)
        if not isinstance(stored, Mapping):
            raise ConfigError(f"{DOCTOR} is {stored!r:.80}; it must be a mapping, with probes and limits")
        probes, left_out = stored.get("probes"), stored.get("left_out")
        names = probes if isinstance(probes, list) else []
        reasons = left_out if isinstance(left_out, Mapping) else {}
        size, seed, family = stored.get("size"), stored.get("seed"), stored.get("family")
        return cls(
            probes=tuple(name for name in PROBES if name in names),
            size=size if isinstance(size, int) else 0,
            seed=seed if isinstance(seed, int) else 0,
            limits=Limits.of(stored.get("limits")),
            family=family if isinstance(family, str) else "",
            left_out={name: str(reasons[name]) for name in PROBES if name in reasons},
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        return {
            "probes": list(self.probes),
            "size": self.size,
            "seed": self.seed,
            "limits": self.limits.as_dict(),
            "family": self.family,
            "left_out": dict(self.left_out),
        }

    def cases(self, evaluator: Mapping[str, Any] = ALONE) -> Iterator[PlannedCase]:
        """Yield the cases, pair by pair, so that an examination that stops early has a bit of everything."""
        probes = [PROBES[name] for name in self.probes]
        family, other = FAMILY_NAMES.get(self.family, ""), other_family(self.family)
        pairs = drawn(shipped_pairs(), len(shipped_pairs()), self.seed)
        examples = examples_for(evaluator, pairs[self.size :])
        position = 0
        for number, pair in enumerate(pairs[: self.size]):
            setting = Setting(number=number, family=family, other=other, examples=examples)
            for probe, made in _made(pair, setting, probes):
                own = None if probe is None or probe.evaluator is None else (_asked(probe.evaluator, made, evaluator),)
                name = PLAIN if probe is None else probe.name
                yield PlannedCase(position=position, case=_known(made, pair, name), evaluators=own)
                position += 1


def drawn(pairs: Sequence[Pair], size: int, seed: int) -> list[Pair]:
    """Draw pairs at random, as many of each task as of any other, or one more."""
    random_order = random.Random(seed)  # noqa: S311 - a draw, not a secret
    by_task = {task: [pair for pair in pairs if pair.task == task] for task in TASKS}
    for of_task in by_task.values():
        random_order.shuffle(of_task)
    tasks = list(TASKS)
    random_order.shuffle(tasks)
    taken: list[Pair] = []
    while len(taken) < size and any(by_task.values()):
        taken += [by_task[task].pop() for task in tasks if by_task[task]]
    return taken[:size]


def _made(pair: Pair, setting: Setting, probes: Sequence[Probe]) -> Iterator[tuple[Probe | None, Made]]:
    alone = [probe for probe in probes if probe.evaluator is None]
    # Biases and attacks are about bad answers.
    if any(probe.kind in (Kind.CALIBRATION, Kind.CONSISTENCY) for probe in alone):
        yield None, Made(case=case_of(pair, pair.good), answer=GOOD)
    if alone:
        yield None, Made(case=case_of(pair, pair.bad), answer=BAD)
    for probe in probes:
        for made in probe.make(pair, setting):
            yield probe, made


def _asked(own: Mapping[str, Any], made: Made, examined: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the evaluator of a case that has one of its own; its judge is that of all."""
    if own is not EXAMPLES:
        return own
    kept = {key: value for key, value in examined.items() if key != "judge"}
    return {**kept, **own, "examples": [dict(example) for example in made.examples or ()]}


def _known(made: Made, pair: Pair, probe: str) -> Case:
    """Return a case with its id, and what is known of it and not shown to the judge."""
    parts = (pair.id, probe, made.answer, *((made.variant,) if made.variant else ()))
    metadata = {"probe": probe, "pair": pair.id, "task": pair.task, "answer": made.answer, "variant": made.variant}
    return replace(made.case, id="/".join(parts), metadata=metadata, cluster=pair.id)
