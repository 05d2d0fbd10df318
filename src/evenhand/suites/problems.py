"""Finding everything that is wrong with a suite, at once and without a key or a network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase
from evenhand.suites.definition import NO_JUDGE
from evenhand.suites.suite import examine

MOST_PROBLEMS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of looking through a suite: mistakes, notes, and how many cases have no mistake."""

    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    cases: int = 0


def problems(path: str | os.PathLike[str]) -> list[str]:
    """Give every mistake in a suite, up to a hundred; none if it can be run."""
    return list(check(path).problems)


def check(path: str | os.PathLike[str]) -> Checked:
    """Look through a whole suite."""
    try:
        suite, found = examine(path)
    except ConfigError as error:
        return Checked(problems=(str(error),))
    cases = 0
    unjudged = False
    try:
        for one in suite.examined():
            if isinstance(one, PlannedCase):
                cases += 1
                unjudged = unjudged or (not found and suite.built.lacks_judge(one))
            else:
                found += one
            if len(found) > MOST_PROBLEMS:
                break
    except ConfigError as error:  # from here on the file cannot be read
        found.append(str(error))
    if len(found) > MOST_PROBLEMS:
        found[MOST_PROBLEMS:] = ["and more"]
    notes = [*suite.notes, *([f"{os.fspath(path)}: {NO_JUDGE}"] if unjudged else [])]
    return Checked(problems=tuple(found), notes=tuple(notes), cases=cases)
