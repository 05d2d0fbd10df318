"""The cases that a Python program gives: objects, mappings, the rows of a data frame, and files of cases.

A mapping may have more keys than a case in a suite, as a row of a table has; they become metadata.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase
from evenhand.evaluators.value_text import shown
from evenhand.suites.cases import NAMES, CaseMaker
from evenhand.suites.document import Document
from evenhand.suites.values import MOST_GUESSED, Fault, Listed, Mapped, Piece, format_fault

# What users may write for cases.
CaseLike: TypeAlias = Case | Mapping[str, Any]

# Names of pandas' classes for a value that is missing.
_MISSING: Final = frozenset({"NAType", "NaTType"})


def rows_of(cases: object) -> Iterable[CaseLike]:
    """Return cases one by one, a data frame's row by row."""
    if isinstance(cases, Case | Mapping):
        return [cases]
    rows: object = cases
    if hasattr(cases, "columns") and callable(to_dict := getattr(cases, "to_dict", None)):
        rows = to_dict("records")
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise ConfigError(
            "cases must be a list of Case or of mappings, a data frame, or the path of a suite or of a file of cases, "
            f"not {rows!r:.80}"
        )
    return rows


class CaseReader:
    """Makes the cases of a run; the answers of those that have none are made by a target, where there is one."""

    def __init__(self, maker: CaseMaker, *, has_target: bool) -> None:
        self._maker = maker
        self._has_target = has_target

    def cases(self, cases: Iterable[CaseLike]) -> Iterator[PlannedCase]:
        """Make cases from objects and mappings; raises ``ConfigError`` at the first mistake."""
        for position, case in enumerate(cases):
            yield self._case(case, position)

    def cases_in(self, file: Document) -> Iterator[PlannedCase]:
        """Make cases from a file of them."""
        for position, piece in enumerate(file.cases()):
            faults: list[Fault] = []
            planned = self._planned(piece, position, faults)
            if planned is None:
                identity = piece.value.get("id") if isinstance(piece.value, Mapped) else None
                label = f", case {position + 1 if identity is None else shown(identity)}"
                raise ConfigError(format_fault(file.case_file, faults[0], label))
            yield planned

    def _case(self, case: object, position: int) -> PlannedCase:
        if isinstance(case, Case):
            return PlannedCase(position=position, case=case)
        number = f"case {position + 1}"
        if not isinstance(case, Mapping):
            records = "; for a data frame, pass the frame itself" if isinstance(case, str) else ""
            raise ConfigError(f"{number} must be a Case or a mapping, not {case!r:.80}{records}")
        faults: list[Fault] = []
        planned = self._planned(Piece(position + 1, _mapped(case, position + 1)), position, faults)
        if planned is None:
            identity = case.get("id")
            where = f"case {identity!r}" if isinstance(identity, str) else number
            raise ConfigError(f"{where}: {faults[0].text}")
        return planned

    def _planned(self, piece: Piece, position: int, faults: list[Fault]) -> PlannedCase | None:
        if isinstance(piece.value, Mapped) and not piece.faults:
            piece = piece._replace(value=self._row(piece.value, faults))
        planned = self._maker.planned(piece, position, faults)
        return None if faults else planned

    def _row(self, written: Mapped, faults: list[Fault]) -> Mapped:
        """Return a case with the keys of one in a suite: missing values left out, and further keys in the metadata."""
        row, more = Mapped(written.line), Mapped(written.line)
        for key, value in written.items():
            line = written.lines[key]
            if _is_missing(value):
                if NAMES.get(key) == "candidate_answer" and not self._has_target:
                    text = f"{key} is missing (NaN); give text, leave out the row, or give a target that makes answers"
                    faults.append(Fault(line, text))
                continue
            part = more if _is_further(key) else row
            part[key] = str(value) if key == "id" and type(value) is int else value
            part.lines[key] = line
        return _with_metadata(row, more, faults) if more else row


def _with_metadata(row: Mapped, more: Mapped, faults: list[Fault]) -> Mapped:
    own = row.get("metadata")
    if own is None:
        row.lines["metadata"] = more.line
        return row.with_value("metadata", more)
    if not isinstance(own, Mapped):  # which is refused
        return row
    faults += [
        Fault(more.lines[key], f"{key!r:.80} is a key of the metadata too; give it once") for key in more if key in own
    ]
    whole = Mapped(own.line)
    whole.update({**own, **more})
    whole.lines.update({**own.lines, **more.lines})
    return row.with_value("metadata", whole)


def _is_further(key: str) -> bool:
    """Return whether a key is the user's own, and not one of a case or a misspelt one."""
    if key in NAMES:
        return False
    near = difflib.get_close_matches(key[:MOST_GUESSED], NAMES, n=1, cutoff=0.75)
    return not near or key.startswith(f"{near[0]}_")  # such as question_id


def _is_missing(value: object) -> bool:
    """Return whether a value is what tables have where there is none."""
    return (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in _MISSING


def _mapped(case: Mapping[Any, Any], line: int) -> Mapped:
    """Return a case as one from a file, where the same rules hold; its line is its number."""
    made = Mapped(line)
    for key, value in case.items():
        made[str(key)] = _from_file(value, line)
        made.lines[str(key)] = line
    return made


def _from_file(value: object, line: int) -> object:
    # numpy has texts, numbers and lists of its own.
    if isinstance(value, str):
        return str(value)
    if type(value).__module__ == "numpy" and callable(to_list := getattr(value, "tolist", None)):
        value = to_list()
    if isinstance(value, Mapping):
        return _mapped(value, line)
    if isinstance(value, list | tuple):
        listed = Listed(line)
        listed.extend(value)
        listed.lines = [line] * len(value)
        return listed
    return value
