"""Suites: read from a file, checked, and ready to run (SPEC-S1)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from evenhand.domain.ask import Evaluator
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.gates import Gates
from evenhand.domain.run import PlannedCase, RunRecord
from evenhand.domain.verdict import Thresholds
from evenhand.engine.compact_sets import IdSet
from evenhand.engine.identity import digest_of
from evenhand.engine.job import Job
from evenhand.engine.target import with_model
from evenhand.engine.targets.base import Target
from evenhand.engine.targets.several import SeveralTargets, assigned_keys, taken_names
from evenhand.evaluators.value_text import shown
from evenhand.models.resolve import carried_over
from evenhand.store.rows import case_content
from evenhand.store.store import Store
from evenhand.suites.cases import CaseMaker, id_problem
from evenhand.suites.checks import Checks
from evenhand.suites.definition import NO_JUDGE, Definition
from evenhand.suites.document import Document, open_document
from evenhand.suites.evaluators import with_read_cards
from evenhand.suites.header import SuiteSlices, check_header, definition_of, gate_names
from evenhand.suites.lint import AskedJudge, LackedTexts, TargetPrompts, Unanswered, Uncounted
from evenhand.suites.python_evaluators import MADE_IN_PYTHON
from evenhand.suites.rows import Rows, columns_of
from evenhand.suites.values import MOST_GUESSED, Fault, Mapped, Piece, format_fault, plain

# A file, and a line of it.
Place: TypeAlias = tuple[Path, int]

# To report where a duplicate id came first, the cases are read again.
_MOST_LOOKED_UP: Final = 3
_SOMEWHERE: Final = (Path(), 0)
_MOST_NUMBERED: Final = 10_000


def duplicate_faults(first: Place | None, file: Path, line: int) -> Iterator[Fault]:
    """Yield that an id is a duplicate, and where it came first; nothing if it did not."""
    if first is not None:
        path, at = first
        if first is _SOMEWHERE:
            yield Fault(line, "duplicate id; ids must differ")
        elif path == file:
            yield Fault(line, f"duplicate id, first in line {at}; ids must differ")
        else:
            yield Fault(line, f"duplicate id, first in {path}:{at}; ids must differ")


class Suite:
    """A suite whose header was read; its cases are read from disk, one by one, as often as asked for.

    ``definition`` is the header as written, in plain JSON values, with ``${NAME}`` unresolved; ``built`` makes
    evaluators and the target from it. ``source`` is the absolute path of the file, ``folder`` that of its
    folder.
    """

    def __init__(self, document: Document, definition: dict[str, Any], checks: Checks) -> None:
        self._unanswered = Unanswered(is_noted=False)
        self._document = document
        self._checks = checks
        self.definition = definition
        self.source = str(document.path.absolute())
        self.folder = str(document.path.absolute().parent)
        self.name = str(definition.get("name") or document.path.stem)
        self.built = Definition(definition, source=self.source)
        self._asked = AskedJudge(self.built)
        self._columns = _columns(definition)
        self._lacked = LackedTexts(self.built)
        self._uncounted = Uncounted(self.built)

    @property
    def notes(self) -> list[str]:
        """What the writer of the suite should know and need not mend; reading the cases may change that."""
        of_judge = {} if self.why_judge_is_idle else self._checks.judge_notes
        # An evaluator's own judge may lack the same key, which is reported once, where it comes first.
        return [
            *{**of_judge, **self._checks.notes, **of_judge}.values(),
            *self._unanswered.notes(),
            *self._lacked.notes(),
            *self._uncounted.notes(),
        ]

    @property
    def why_judge_is_idle(self) -> str:
        """Why nothing in the cases that were read asks the suite's judge; nothing where something does."""
        return self._asked.why_not

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds for the verdict on a whole case."""
        return self.built.thresholds

    @property
    def gates(self) -> Gates:
        """What a run must reach."""
        return self.built.gates

    def evaluators_for(self, planned: PlannedCase) -> tuple[Evaluator, ...]:
        """Return the evaluators of a case; here the keys of their judges must be there."""
        return self.built.evaluators_for(planned)

    def cases(
        self, *, own_gates: bool = True, own_slices: bool = True, own_answers: bool = True
    ) -> Iterator[PlannedCase]:
        """Read the cases, one by one; raises ``ConfigError`` at the first mistake.

        Without ``own_gates``, others than the suite's gates or evaluators count, without ``own_slices``, other keys to
        slice by; without ``own_answers``, answers come neither from the cases nor from the suite's target. What does
        not count is not checked.
        """
        for item in self.examined(own_gates=own_gates, own_slices=own_slices, own_answers=own_answers):
            if not isinstance(item, PlannedCase):
                raise ConfigError(item[0])
            yield item

    def examined(
        self, *, own_gates: bool = True, own_slices: bool = True, own_answers: bool = True
    ) -> Iterator[PlannedCase | list[str]]:
        """Read the cases, one by one; in place of one that has mistakes, yield these."""
        seen = IdSet()
        numbers: dict[str, int] = {}
        looked_up = 0
        position = 0
        target = self.definition.get("target")
        prompts = TargetPrompts(target if own_answers else None)
        usual = _usual_evaluators(self.definition)
        unanswered = self._unanswered = Unanswered(
            is_noted=target is None and own_answers, built=None if usual is None else self.built
        )
        asked = self._asked = AskedJudge(self.built)
        lacked = self._lacked = LackedTexts(self.built)
        uncounted = self._uncounted = Uncounted(self.built)
        # Which target another caller brings is not known here; it checks the keys once more.
        assigned = assigned_keys(target) if own_answers else taken_names(has_prompts=True)
        slicing = SuiteSlices(self._document.header, own_gates=own_gates, own_slices=own_slices, assigned=assigned)
        is_whole = True
        maker = CaseMaker(usual, self._checks, folder=Path(self.folder))
        for file, piece in self._rows(has_target=target is not None or not own_answers):
            self._checks.file = file
            faults: list[Fault] = []
            planned = maker.planned(piece, position, faults)
            is_whole = is_whole and not piece.faults
            identity = _identity(piece) if planned is None else planned.case.id
            if planned is not None and planned.case.id is None:
                planned = _with_id(planned, seen, numbers)
            elif identity is not None and seen.add(identity):
                looked_up += 1
                first = self._first_with(identity, position) if looked_up <= _MOST_LOOKED_UP else _SOMEWHERE
                faults += duplicate_faults(first, file, piece.line)
            if planned is not None:
                faults += prompts.faults(planned)
                faults += slicing.faults(planned.case.metadata, piece.line)
                unanswered.count(planned)
            if faults:
                yield [format_fault(file, fault, _label(piece, position)) for fault in sorted(set(faults))]
            elif planned is not None:
                if usual is not None:
                    asked.look_at(planned)
                    lacked.look_at(planned)
                    uncounted.look_at(planned)
                yield planned
            position += 1
        if not position and self._columns is not None and self._document.case_files:
            yield [f"{', '.join(map(str, self._document.case_files[:3]))}: there are no cases; list some"]
        # Only now is it known what the cases bring; what could not be read may bring more.
        if is_whole and position:
            unknown = self._unknown_gates(maker.names) if own_gates and usual is not None else ()
            faults = [*unknown, *slicing.mistakes()]
            yield from ([format_fault(self._document.path, fault)] for fault in faults)

    def _unknown_gates(self, names: set[str]) -> Iterator[Fault]:
        for name, line in gate_names(self._document.header):
            if name not in names:
                near = did_you_mean(name[:MOST_GUESSED], names)
                yield Fault(line, f"gates: evaluators: no evaluator has the name {name!r:.80}{near}")

    def _rows(self, *, has_target: bool) -> Iterator[tuple[Path, Piece]]:
        if self._columns is None:
            return iter(())
        rows = Rows(self._columns, has_target=has_target)
        return self._document.rows(rows, every=bool(self._columns) and not self._document.is_inline)

    def _first_with(self, identity: str, position: int) -> Place | None:
        """Return where an id came first; None if only the hashes are equal."""
        for file, piece in itertools.islice(self._rows(has_target=True), position):
            if _identity(piece) == identity:
                return file, piece.line
        return None


def read_suite(
    path: str | os.PathLike[str],
    *,
    judge: str | Mapping[str, Any] | None = None,
    target: Any = None,
    called: Mapping[str, str] | None = None,
) -> Suite:
    """Read a suite and check all but its cases; raises ``ConfigError`` at the first mistake.

    ``judge`` and ``target`` replace those of the file; ``called`` is how messages call them, such as ``--judge``.
    Nothing is made that needs a key; a key that is missing is one of the suite's ``notes``.
    """
    suite, mistakes = examine(path, judge=judge, target=target, called=called)
    if mistakes:
        raise ConfigError(mistakes[0])
    return suite


def examine(
    path: str | os.PathLike[str],
    *,
    judge: str | Mapping[str, Any] | None = None,
    target: Any = None,
    called: Mapping[str, str] | None = None,
) -> tuple[Suite, list[str]]:
    """Read a suite, and find all mistakes beside its cases."""
    document = open_document(Path(path))
    checks = Checks(document.path, folder=document.path.absolute().parent)
    mistakes: list[str] = []
    header = document.header
    replaced: dict[str, Any] = {}
    for key, value, check in (("judge", judge, checks.usual_judge), ("target", target, checks.target)):
        if value is None:
            continue
        name = (called or {}).get(key, key)
        replaced[key] = _in_place_of(plain(header.get(key)), value, key, name, checks)
        mistakes += [fault.text for fault in check(replaced[key], 0, called=name)]
        header.pop(key, None)
    faults = {*document.faults, *check_header(header, checks)}
    mistakes += [format_fault(document.path, fault) for fault in sorted(faults)]
    settings = definition_of(header) | replaced
    if not mistakes and isinstance(settings.get("evaluators"), list):
        try:
            settings["evaluators"] = [
                with_read_cards(each, settings.get("judge"), document.path.absolute().parent)
                for each in settings["evaluators"]
            ]
        except ConfigError as error:
            mistakes.append(format_fault(document.path, Fault(header.lines.get("evaluators", header.line), str(error))))
    return Suite(document, settings, checks), mistakes


def _in_place_of(own: object, model: object, key: str, name: str, checks: Checks) -> object:
    """Return a suite's judge or target with another model, if that is what was given in its place.

    A note says which of the settings the other model cannot have.
    """
    if isinstance(model, list):
        return [_in_place_of(own, each, key, name, checks) for each in model]
    if not isinstance(model, str):
        return model
    lost: list[str] = []
    replacement: object = model
    if key == "target":
        replacement, lost = with_model(own, model)
    elif isinstance(own, Mapping):
        settings, lost = carried_over(own, model)
        replacement = settings if len(settings) > 1 else model
    if lost:
        verb = "is" if len(lost) == 1 else "are"
        checks.notes[f"{name} {model}"] = (
            f"{name} {model}: {', '.join(lost)} of the suite's {key} {verb} not carried over to it"
        )
    return replacement


def _usual_evaluators(definition: Mapping[str, Any]) -> Sequence[Mapping[str, Any]] | None:
    """Return the evaluators of a suite; None where it is not clear what they are."""
    evaluators = definition.get("evaluators", [])
    return (
        evaluators
        if isinstance(evaluators, list) and all(isinstance(evaluator, Mapping) for evaluator in evaluators)
        else None
    )


def _columns(definition: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Return the columns of a suite; None where they are wrong, which is said of its header."""
    try:
        return columns_of(definition["columns"]) if "columns" in definition else {}
    except ConfigError:
        return None


def _with_id(planned: PlannedCase, seen: IdSet, numbers: dict[str, int]) -> PlannedCase:
    """Name a case by its content: the same wherever it is in the file (SPEC-S3). Equal cases are numbered.

    ``numbers`` are the last ones, so that thousands of equal cases are not counted anew for each.
    """
    first = f"case-{digest_of(case_content(planned))[:8]}"
    number = numbers.get(first, 0) + 1
    while seen.add(name := first if number == 1 else f"{first}-{number}"):
        number += 1
    if number > 1 and (first in numbers or len(numbers) < _MOST_NUMBERED):
        numbers[first] = number
    return planned._replace(case=replace(planned.case, id=name))


def _label(piece: Piece, position: int) -> str:
    """Name a case in messages: by its id, or by its number where that is missing or cannot be shown."""
    identity = _identity(piece)
    return f", case {position + 1 if identity is None else shown(identity)}"


def _identity(piece: Piece) -> str | None:
    """Return the id that is written in a case; None where it is missing or cannot be one."""
    identity = piece.value.get("id") if isinstance(piece.value, Mapped) else None
    return identity if isinstance(identity, str) and not id_problem(identity) else None


MOST_PROBLEMS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of looking through a suite: mistakes, notes, and how many cases have no mistake."""

    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    cases: int = 0


def problems(path: str | os.PathLike[str]) -> list[str]:
    """Return every mistake in a suite, up to a hundred; none if it can be run."""
    return list(check(path).problems)


def check(path: str | os.PathLike[str]) -> Checked:
    """Look through a whole suite."""
    try:
        suite, mistakes = examine(path)
    except ConfigError as error:
        return Checked(problems=(str(error),))
    cases = 0
    unjudged = False
    try:
        for item in suite.examined():
            if isinstance(item, PlannedCase):
                cases += 1
                unjudged = unjudged or (not mistakes and suite.built.lacks_judge(item))
            else:
                mistakes += item
            if len(mistakes) > MOST_PROBLEMS:
                break
    except ConfigError as error:  # from here on the file cannot be read
        mistakes.append(str(error))
    if len(mistakes) > MOST_PROBLEMS:
        mistakes[MOST_PROBLEMS:] = ["and more"]
    notes = [*suite.notes, *([f"{os.fspath(path)}: {NO_JUDGE}"] if unjudged else [])]
    return Checked(problems=tuple(mistakes), notes=tuple(notes), cases=cases)


def job_of(suite: Suite, *, target: Target | None = None) -> Job:
    """Make the job of judging a suite; ``target`` replaces its own, which then need not be there."""
    made = target or suite.built.target()
    return Job(
        name=suite.name,
        source=suite.source,
        definition=suite.definition,
        cases=suite.cases,
        evaluators_for=suite.evaluators_for,
        target=made,
        assign=made.assigned if isinstance(made, SeveralTargets) else None,
        prices=suite.built.prices,
        timeout=suite.built.timeout,
    )


def job_of_run(store: Store, run: RunRecord, *, trusted: bool = True, with_target: bool = True) -> Job:
    """Make the job of a stored run, whose suite need not be there any more."""
    if any(
        MADE_IN_PYTHON in evaluator
        for evaluator in run.definition.get("evaluators") or ()
        if isinstance(evaluator, Mapping)
    ):
        raise ConfigError(f"run {run.id} has evaluators that were made in Python; run that program again")
    built = Definition(run.definition, source=run.source)
    return Job(
        name=run.name,
        source=run.source,
        definition=run.definition,
        cases=lambda: itertools.chain.from_iterable(store.planned(run)),
        evaluators_for=built.evaluators_for,
        target=built.target(trusted=trusted) if with_target else None,
        prices=built.prices,
        timeout=built.timeout,
    )
