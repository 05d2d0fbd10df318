"""From a judge to the job that the engine does: the cases of the probes, and who judges them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evenhand import registry
from evenhand.doctor.plan import ALONE, DEFAULT_SIZE, EMBEDDED_SIZE, Plan
from evenhand.doctor.probe import RIGHT, Limits
from evenhand.doctor.probes.catalogue import PROBES, QUICK
from evenhand.domain.ask import ModelClient
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.run import PlannedCase
from evenhand.domain.run_kind import DOCTOR
from evenhand.domain.scale import is_finite_number
from evenhand.engine.identity import describe
from evenhand.engine.job import Job
from evenhand.models.families import family_of
from evenhand.models.prices import PriceBook
from evenhand.reports.phrases import counted
from evenhand.suites.evaluators import JUDGE_TYPE, asks_judge, members_of, name_of, type_of
from evenhand.suites.python_evaluators import MADE_IN_PYTHON, Panel, as_written
from evenhand.suites.suite import Suite

_ITEM: Final = {"id": RIGHT, "description": "The answer is right, and does what the question asks"}
_NO_JUDGE: Final = "the evaluator has no judge of its own: its members have"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Who is examined: an evaluator as suites define it, with the judge that it asks.

    ``judge`` is a name, a mapping or an object; None where the members of the evaluator have judges of their own.
    ``source`` is the suite's file.
    """

    evaluator: Mapping[str, Any]
    judge: object = None
    source: str | None = None
    prices: Mapping[str, Any] | None = None

    @classmethod
    def of_judge(cls, judge: object) -> Subject:
        """Return a judge by itself: it scores answers freely, or checks one item where it does that better."""
        client = registry.judge(judge)
        evaluator = dict(ALONE)
        if getattr(client, "prefers_logprobs", False):
            evaluator["rubrics"] = [_ITEM]
        return cls(evaluator=evaluator, judge=judge)

    @classmethod
    def of_suite(cls, suite: Suite, evaluator: str | None = None) -> Subject:
        """Return the evaluator of a suite with its judge; its rubrics are of its own cases, and are replaced.

        A judge that checks items better than it scores is given one, as the cases of its suite do.
        """
        defined = [item for item in suite.definition.get("evaluators") or () if isinstance(item, Mapping)]
        judges = {name_of(item): item for item in defined if _asks_any(item)}
        if not judges:
            raise ConfigError(f"{suite.source}: no evaluator asks a judge, so there is none to examine")
        if evaluator is None and len(judges) > 1:
            raise ConfigError(f"{suite.source}: several evaluators ask a judge; name one: {', '.join(judges)}")
        wanted = next(iter(judges)) if evaluator is None else evaluator
        if wanted not in judges:
            raise ConfigError(
                f"{suite.source}: no evaluator {wanted!r:.80} that asks a judge{did_you_mean(wanted, list(judges))}"
            )
        own = judges[wanted]
        judge = own.get("judge") if own.get("judge") is not None else suite.built.judge
        checks = not _has_several(own, judge) and getattr(registry.judge(judge), "prefers_logprobs", False)
        return cls(
            evaluator=_for_pairs(own, checks_items=checks),
            judge=judge,
            source=suite.source,
            prices=suite.definition.get("prices"),
        )


def _asks_any(definition: Mapping[str, Any]) -> bool:
    return asks_judge(definition) or any(map(_asks_any, members_of(definition)))


def _has_several(evaluator: Mapping[str, Any], judge: object) -> bool:
    """Return whether an evaluator has no judge of its own, but those of its members."""
    return judge is None and bool(members_of(evaluator))


def _for_pairs(definition: Mapping[str, Any], *, checks_items: bool) -> dict[str, Any]:
    made = dict(definition)
    scores_freely = type_of(made) == JUDGE_TYPE and made.get("prompt") is None and made.get("choices") is None
    if made.get("rubrics") or (checks_items and scores_freely):
        made["rubrics"] = [_ITEM]
    if members_of(made):
        made["members"] = [_for_pairs(member, checks_items=checks_items) for member in members_of(made)]
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorJob:
    """An examination that is to be made: its cases are known, and no judge was asked yet."""

    subject: Subject
    plan: Plan
    called: str
    timeout: float | None = None

    def cases(self) -> Iterator[PlannedCase]:
        """Yield the cases of the probes, each with its evaluator where that is not the examined one."""
        return self.plan.cases(self.subject.evaluator)

    def job(self) -> Job:
        """Make the job that the engine does."""
        subject = self.subject
        folder = None if subject.source is None else Path(subject.source).parent
        panel = Panel([subject.evaluator], judge=subject.judge, folder=folder)
        stored = dict(subject.evaluator)
        definition: dict[str, Any] = {"name": self.called, DOCTOR: self.plan.as_dict(), "evaluators": [stored]}
        if subject.judge is not None:
            definition["judge"] = as_written(subject.judge)
            if definition["judge"] is None:
                stored[MADE_IN_PYTHON] = definition["judge"] = describe(registry.judge(subject.judge))
        definition |= {
            key: value for key, value in (("prices", subject.prices), ("timeout", self.timeout)) if value is not None
        }
        return Job(
            name=self.called,
            definition=definition,
            cases=self.cases,
            evaluators_for=panel.evaluators_for,
            source=subject.source,
            prices=PriceBook(subject.prices),
            timeout=self.timeout,
        )

    def outline(self) -> list[str]:
        """Return what the examination is made of, before anything is spent."""
        plan = self.plan
        cases = sum(1 for _ in self.cases())
        lines = [
            f"{counted(len(plan.probes), 'probe')} on {counted(plan.size, 'pair')} of answers: {counted(cases, 'case')}"
        ]
        if plan.probes == QUICK:
            lines.append(f"a first look, since the judge is slow; for all {len(PROBES)} probes: --probes all")
        return lines + [f"left out: {name}, since {why}" for name, why in plan.left_out.items()]


def doctor_job(
    subject: Subject,
    *,
    probes: Iterable[str] | None = None,
    size: int | None = None,
    seed: int = 0,
    limits: Limits | None = None,
    name: str | None = None,
    timeout: float | None = None,
) -> DoctorJob:
    """Plan the examination of a judge; what cannot be right is refused here."""
    if name is not None and not isinstance(name, str):
        raise ConfigError(f"name must be text, not {name!r:.80}")
    if timeout is not None and (not is_finite_number(timeout) or timeout <= 0):
        raise ConfigError(f"timeout is {timeout!r:.80}; it must be a number of seconds above 0")
    client = None if _has_several(subject.evaluator, subject.judge) else registry.judge(subject.judge)
    is_slow = getattr(client, "prefers_logprobs", False)
    usual = EMBEDDED_SIZE if is_slow else DEFAULT_SIZE
    plan = Plan.made(
        QUICK if probes is None and is_slow else probes,
        size=usual if size is None else size,
        seed=seed,
        limits=limits,
        family=None if client is None else family_of(client.name),
        no_single_judge=_NO_JUDGE if client is None else "",
        evaluator=subject.evaluator,
    )
    called = name or f"doctor of {_called(subject, client)}"
    if client is not None and subject.judge is None:  # that of the environment, which a stored run must name
        subject = replace(subject, judge=client.name)
    return DoctorJob(subject=subject, plan=plan, called=called, timeout=timeout)


def _called(subject: Subject, client: ModelClient | None) -> str:
    if subject.source is None and client is not None:
        return client.name
    return f"{name_of(subject.evaluator)} in {Path(subject.source or '').name}"
