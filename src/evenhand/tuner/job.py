"""Tuning as a run like any other: instructions are asked for, then candidates are judged over folds, then the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from evenhand import registry
from evenhand.domain.ask import Evaluator, ModelClient
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, MissingJudgeError
from evenhand.domain.evaluation import Status
from evenhand.domain.run import CaseResult, PlannedCase, RunRecord
from evenhand.domain.run_kind import TUNE
from evenhand.domain.verdict import Verdict
from evenhand.engine.identity import canonical
from evenhand.engine.job import EvaluatorsFor, Job
from evenhand.models.prices import PriceBook
from evenhand.store.store import Store
from evenhand.suites.definition import NO_JUDGE, with_paths
from evenhand.suites.evaluators import build, settled
from evenhand.tuner.candidates import Read, candidate, read_cases, rewrite_material
from evenhand.tuner.choice import CrossValidation, Judged
from evenhand.tuner.labelled import Labelled
from evenhand.tuner.rewrite import INSTRUCTIONS, MATERIAL, MOST_INSTRUCTIONS, RewriteEvaluator
from evenhand.tuner.settings import TuneSettings, settings_of

# The key of a case's metadata that says what is judged here.
PART: Final = "evenhand.tune"
REWRITE: Final = "rewrite"
OVER_FOLDS: Final = "folds"
FINAL: Final = "final"
_ASSUMED: Final = "x" * (MOST_INSTRUCTIONS // 2)


def part_of(case: Case) -> Mapping[str, Any]:
    """Return what a case of a tuning is there for."""
    part = case.metadata.get(PART)
    if not isinstance(part, Mapping) or not {"part", "without"} <= part.keys():
        raise ConfigError(f"case {case.id!r:.80} is not of a run that tunes a prompt")
    return part


class Parts:
    """The parts of a tuning, one after the other: each follows from what the store has of the one before."""

    def __init__(self, settings: TuneSettings) -> None:
        self.settings = settings

    def first(self, store: Store) -> Iterator[PlannedCase]:
        """Return the first part: questions for instructions, or, without a model for them, the folds."""
        read = self._read(store)
        return self._rewrites(read) if self.settings.rewrites else self._over_folds(read, {}, first=0)

    def every(self, store: Store) -> Iterator[PlannedCase]:
        """Yield cases in the number and about the size of all parts: good for an estimate, not for a run."""
        settings, read = self.settings, self._read(store)
        assumed = dict.fromkeys(((), *settings.left_out), _ASSUMED)
        yield from self._rewrites(read)
        yield from self._over_folds(read, assumed, first=settings.rewrites)
        yield from self._final(read, assumed, settings.ways[-1], settings.cases, first=0)

    def total(self, store: Store, run: RunRecord) -> int:  # noqa: ARG002 - the protocol's
        """Return how many evaluations there are at most."""
        return self.settings.rewrites + self.settings.judgments

    def cases(self, store: Store, run: RunRecord) -> Iterable[PlannedCase]:
        """Return the next part, none after the last."""
        settings = self.settings
        last = next(iter(store.results(run, first=run.cases - 1)))
        done = part_of(last.case)["part"]
        if done == FINAL:
            return ()
        written = instructions_in(store.results(run))
        read = self._read(store)
        if done == REWRITE:
            return self._over_folds(read, written, first=run.cases)
        found = CrossValidation(settings.cases, verdicts_in(store.results(run)), settings.ways, settings.folds)
        if found.best is None:
            return ()
        # The held-out part is left alone unless it can decide something.
        judged = (*settings.open_cases, *(settings.held_out_cases if found.helps else ()))
        return self._final(read, written, found.best, judged, first=run.cases)

    def _read(self, store: Store) -> dict[str, Read]:
        return read_cases(store, store.runs.find(self.settings.tuned), self.settings)

    def _rewrites(self, read: Mapping[str, Read]) -> Iterator[PlannedCase]:
        for position, without in enumerate(((), *self.settings.left_out) if self.settings.rewrites else ()):
            part = {"part": REWRITE, "without": list(without)}
            case = Case(
                id=f"instructions{_named(without)}",
                question=f"Instructions from the labels{_told(without)}",
                metadata={PART: part, MATERIAL: rewrite_material(self.settings, without, read)},
            )
            yield PlannedCase(position=position, case=case)

    def _over_folds(
        self, read: Mapping[str, Read], written: Mapping[tuple[int, ...], str], *, first: int
    ) -> Iterator[PlannedCase]:
        position = first
        for way in self.settings.ways:
            for without in self.settings.left_out:
                made = candidate(self.settings, way, without, read, written)
                for case in self.settings.open_cases if made is not None else ():
                    if case.fold in without:
                        yield _judged(position, OVER_FOLDS, Judged(way, without, case.id), read, made)
                        position += 1

    def _final(
        self,
        read: Mapping[str, Read],
        written: Mapping[tuple[int, ...], str],
        way: str,
        cases: Iterable[Labelled],
        *,
        first: int,
    ) -> Iterator[PlannedCase]:
        made = candidate(self.settings, way, (), read, written)
        for position, case in enumerate(cases if made is not None else (), first):
            yield _judged(position, FINAL, Judged(way, (), case.id), read, made)


def _judged(
    position: int, part: str, judged: Judged, read: Mapping[str, Read], made: Mapping[str, Any] | None
) -> PlannedCase:
    case = read[judged.case].case
    about: dict[str, Any] = {
        "part": part, "way": judged.way, "without": list(judged.without), "case": judged.case,
    }  # fmt: skip
    if part == FINAL:
        about["proposal"] = {key: value for key, value in (made or {}).items() if key in ("examples", INSTRUCTIONS)}
    return PlannedCase(
        position=position,
        case=replace(
            case,
            id=f"{judged.way}{_named(judged.without)}: {judged.case}",
            metadata={**case.metadata, PART: about},
        ),
        evaluators=(dict(made or {}),),
    )


def _named(without: tuple[int, ...]) -> str:
    return "".join(f"-{fold + 1}" for fold in without)


def _told(without: tuple[int, ...]) -> str:
    folds = " and ".join(str(fold + 1) for fold in without)
    return f" outside fold{'' if len(without) == 1 else 's'} {folds}" if without else ""


def instructions_in(results: Iterable[CaseResult]) -> dict[tuple[int, ...], str]:
    """Return the instructions that a model wrote, by the folds that it did not see."""
    written: dict[tuple[int, ...], str] = {}
    for result in results:
        part = part_of(result.case)
        if part["part"] == REWRITE:
            for judgment in result.judgments:
                if judgment.evaluation.status is Status.SCORED:
                    written[tuple(part["without"])] = judgment.evaluation.details[INSTRUCTIONS]
    return written


def verdicts_in(results: Iterable[CaseResult]) -> dict[Judged, bool]:
    """Return the verdicts of candidates; where the judge failed there is none."""
    found: dict[Judged, bool] = {}
    for result in results:
        part = part_of(result.case)
        if part["part"] != REWRITE:
            for judgment in result.judgments:
                if judgment.evaluation.status is Status.SCORED:
                    judged = Judged(part["way"], tuple(part["without"]), part["case"])
                    found[judged] = judgment.evaluation.verdict is Verdict.PASS
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneJob:
    """A tuning to be made: what the run keeps of it, and who judges and writes.

    ``judge`` is that of evaluators which name none, ``model`` writes instructions; ``kept`` is what the run keeps of
    the judge. ``make`` makes an evaluator from a definition where a program has the current one as an object.
    """

    settings: TuneSettings
    judge: Any = None
    kept: Any = None
    model: Any = None
    ambiguous: str | None = None
    prices: Mapping[str, Any] | None = None
    timeout: float | None = None
    make: Callable[[Mapping[str, Any]], Evaluator] | None = None
    _built: dict[bytes, Evaluator] = field(default_factory=dict, init=False, repr=False)
    _clients: dict[bytes, ModelClient] = field(default_factory=dict, init=False, repr=False)

    def job(self, store: Store) -> Job:
        """Make the job that the engine does."""
        parts = Parts(self.settings)
        definition: dict[str, Any] = {
            "name": self.name,
            TUNE: self.settings.as_dict(),
            "evaluators": [dict(self.settings.current)],
        }
        optional = {
            "judge": self.kept,
            "ambiguous": self.ambiguous,
            "prices": self.prices,
            "timeout": self.timeout,
        }
        return Job(
            name=self.name,
            definition=definition | {key: value for key, value in optional.items() if value is not None},
            cases=lambda: parts.first(store),
            evaluators_for=self.evaluators_for,
            prices=PriceBook(self.prices),
            timeout=self.timeout,
            following=parts,
            suite=self.settings.suite,
            rebuild=None if self.make is not None else evaluators_of_tuning,
        )

    @property
    def name(self) -> str:
        """The name of the run."""
        return f"tune {self.settings.evaluator}"

    def evaluators_for(self, planned: PlannedCase) -> tuple[Evaluator, ...]:
        """Return who works on a case: the model that writes, or the judge with the candidate's prompt."""
        definition: Mapping[str, Any] = planned.evaluators[0] if planned.evaluators else {}
        key = canonical(definition)
        if key not in self._built:
            self._built[key] = self._evaluator(definition) if definition else self._writer()
        return (self._built[key],)

    def _writer(self) -> Evaluator:
        return RewriteEvaluator(judge=with_paths(self.model, self._folder))

    def _evaluator(self, definition: Mapping[str, Any]) -> Evaluator:
        if self.make is not None:
            return self.make(definition)
        return build(settled(definition, self.judge, self.ambiguous), folder=self._folder, client=self._client)

    @property
    def _folder(self) -> Path | None:
        suite = self.settings.suite
        return None if suite is None else Path(suite).absolute().parent

    def _client(self, judge: object) -> ModelClient:
        key = canonical(judge)
        if key not in self._clients:
            try:
                self._clients[key] = registry.judge(with_paths(judge, self._folder))
            except MissingJudgeError:
                raise MissingJudgeError(NO_JUDGE) from None
        return self._clients[key]


def tuning_of(definition: Mapping[str, Any]) -> TuneJob:
    """Return the tuning that a definition keeps."""
    settings = settings_of(definition)
    return TuneJob(
        settings=settings,
        judge=definition.get("judge"),
        kept=definition.get("judge"),
        model=settings.model,
        ambiguous=definition.get("ambiguous"),
        prices=definition.get("prices"),
        timeout=definition.get("timeout"),
    )


def evaluators_of_tuning(definition: Mapping[str, Any], suite: str | None) -> EvaluatorsFor:
    """Return who writes and judges in another process, beside whose copy of the suite programs are found."""
    tuning = tuning_of(definition)
    return replace(tuning, settings=replace(tuning.settings, suite=suite)).evaluators_for


def all_parts(job: Job, store: Store) -> Job:
    """Return a tuning's job with all parts at once: good for an estimate of what they take, not for a run."""
    parts = job.following
    assert isinstance(parts, Parts)  # noqa: S101 - a tuning's job has no other
    return replace(job, cases=lambda: parts.every(store), following=None)
