"""Suites: read from a file, checked, and ready to run (SPEC-S1)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import Gates
from evenhand.domain.run import PlannedCase
from evenhand.domain.seams import Evaluator
from evenhand.domain.verdict import Thresholds
from evenhand.engine.identity import digest_of
from evenhand.evaluators.showing import shown
from evenhand.store.rows import case_content
from evenhand.suites.cases import CaseMaker, id_problem
from evenhand.suites.checks import Checks
from evenhand.suites.definition import Definition
from evenhand.suites.document import Document, open_document
from evenhand.suites.header import check_header, definition_of
from evenhand.suites.seen import SeenIds
from evenhand.suites.values import Fault, Mapped, Piece, told

# To say where an id stood first, the cases are read again.
_MOST_LOOKED_UP: Final = 3


class Suite:
    """A suite whose header was read; its cases are read from disk, one by one, as often as asked for.

    ``definition`` is the header as written, in plain JSON values, with ``${NAME}`` unresolved; ``built`` makes
    evaluators and the target from it. ``source`` is the absolute path of the file, ``folder`` that of its
    folder.
    """

    def __init__(self, document: Document, definition: dict[str, Any], checks: Checks) -> None:
        self._document = document
        self._checks = checks
        self.definition = definition
        self.source = str(document.path.absolute())
        self.folder = str(document.path.absolute().parent)
        self.name = str(definition.get("name") or document.path.stem)
        self.built = Definition(definition, source=self.source)

    @property
    def notes(self) -> list[str]:
        """What the writer of the suite should know and need not mend; reading the cases may add something."""
        return list(self._checks.notes.values())

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds for the verdict on a whole case."""
        return self.built.thresholds

    @property
    def gates(self) -> Gates:
        """What a run must reach."""
        return self.built.gates

    def evaluators_for(self, planned: PlannedCase) -> tuple[Evaluator, ...]:
        """Give the evaluators of a case; here the keys of their judges must be there."""
        return self.built.evaluators_for(planned)

    def cases(self) -> Iterator[PlannedCase]:
        """Read the cases, one by one; raises ``ConfigError`` at the first mistake."""
        for one in self.examined():
            if not isinstance(one, PlannedCase):
                raise ConfigError(one[0])
            yield one

    def examined(self) -> Iterator[PlannedCase | list[str]]:
        """Read the cases, one by one; in place of one that has mistakes, give what they are."""
        seen = SeenIds()
        looked_up = 0
        position = 0
        maker = CaseMaker(_usual(self.definition), self._checks)
        file = self._checks.file = self._document.case_file or self._document.path
        for piece in self._document.cases():
            faults: list[Fault] = []
            planned = maker.planned(piece, position, faults)
            if planned is not None and planned.case.id is None:
                planned = _with_id(planned, seen)
            elif planned is not None and seen.add(planned.case.id or ""):
                looked_up += 1
                first = self._first(planned) if looked_up <= _MOST_LOOKED_UP else ""
                if first is not None:
                    faults.append(Fault(piece.line, f"the id stands twice{first}; ids must differ"))
            if faults:
                yield [told(file, fault, _label(piece, position)) for fault in sorted(set(faults))]
            elif planned is not None:
                yield planned
            position += 1
        if not position and self._document.case_file is not None:
            yield [f"{file}: there are no cases; list some"]

    def _first(self, planned: PlannedCase) -> str | None:
        """Say where an id stood first; None if it did not, and only the hashes are equal."""
        for piece in itertools.islice(self._document.cases(), planned.position):
            if isinstance(piece.value, Mapped) and piece.value.get("id") == planned.case.id:
                return f", first in line {piece.line}"
        return None


def read_suite(
    path: str | os.PathLike[str], *, judge: str | Mapping[str, Any] | None = None, target: Any = None
) -> Suite:
    """Read a suite and check all but its cases; raises ``ConfigError`` at the first mistake.

    ``judge`` and ``target`` replace those of the file. Nothing is made that needs a key; a key that is missing is one
    of the suite's ``notes``.
    """
    suite, mistakes = examine(path, judge=judge, target=target)
    if mistakes:
        raise ConfigError(mistakes[0])
    return suite


def examine(
    path: str | os.PathLike[str], *, judge: str | Mapping[str, Any] | None = None, target: Any = None
) -> tuple[Suite, list[str]]:
    """Read a suite, and find all mistakes beside its cases."""
    document = open_document(Path(path))
    checks = Checks(document.path, folder=document.path.absolute().parent)
    mistakes: list[str] = []
    header = document.header
    for key, given, check in (("judge", judge, checks.judge), ("target", target, checks.target)):
        if given is not None:
            mistakes += [fault.text for fault in check(given, 0)]
            header.pop(key, None)
    faults = {*document.faults, *check_header(header, checks)}
    mistakes += [told(document.path, fault) for fault in sorted(faults)]
    definition = definition_of(header)
    definition |= {key: given for key, given in (("judge", judge), ("target", target)) if given is not None}
    return Suite(document, definition, checks), mistakes


def _usual(definition: Mapping[str, Any]) -> Sequence[Mapping[str, Any]] | None:
    """Give the evaluators of a suite; None where it is not clear what they are."""
    given = definition.get("evaluators", [])
    return given if isinstance(given, list) and all(isinstance(one, Mapping) for one in given) else None


def _with_id(planned: PlannedCase, seen: SeenIds) -> PlannedCase:
    """Name a case by its content: the same wherever it stands (SPEC-S3). Equal cases are numbered."""
    name = first = f"case-{digest_of(case_content(planned))[:8]}"
    number = 1
    while seen.add(name):
        number += 1
        name = f"{first}-{number}"
    return replace(planned, case=replace(planned.case, id=name))


def _label(piece: Piece, position: int) -> str:
    """Name a case in messages: by its id, or by its number where that is missing or cannot be shown."""
    identity = piece.value.get("id") if isinstance(piece.value, Mapped) else None
    usable = isinstance(identity, str) and not id_problem(identity)
    return f", case {shown(identity) if usable else position + 1}"
