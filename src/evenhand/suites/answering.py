"""Whether the cases of a suite can get their answers: from themselves, or from the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evenhand.domain.case import Case
from evenhand.domain.errors import did_you_mean
from evenhand.domain.run import PlannedCase
from evenhand.domain.template import Template
from evenhand.evaluators.showing import shown
from evenhand.suites.values import MOST_GUESSED, Fault

# What every case gives to the prompt of a target; its other names are keys of the case's metadata.
_GIVEN: Final = ("input", "question")
_PROMPTS: Final = {"prompt": "the prompt", "system": "the system text"}


class TargetPrompts:
    """The names that a target's ``prompt`` and ``system`` use, to be held against each case that it answers."""

    def __init__(self, target: Any) -> None:
        self._names: dict[str, list[str]] = {}
        for key, who in _PROMPTS.items() if isinstance(target, Mapping) and "model" in target else ():
            text = target.get(key)
            if isinstance(text, str):
                self._names[who] = sorted(Template.with_double_braces(text).names.difference(_GIVEN))

    def faults(self, planned: PlannedCase) -> Iterator[Fault]:
        """Find the names that a case does not give, if it has no answer yet."""
        if planned.case.candidate_answer is not None:
            return
        for who, names in self._names.items():
            for name in names:
                if name not in planned.case.metadata:
                    near = did_you_mean(name[:MOST_GUESSED], {*_GIVEN, *map(str, planned.case.metadata)})
                    yield Fault(
                        planned.line or 0, f"target: {who} uses {name!r:.80}, which the metadata does not have{near}"
                    )


class Unanswered:
    """Counts the cases that have nothing to judge; they are noted where no target makes answers."""

    def __init__(self, *, is_noted: bool) -> None:
        self._is_noted = is_noted
        self._count = 0
        self._first = ""

    def count(self, case: Case) -> None:
        """Count a case if it has no answer, and nothing else of one that could be judged."""
        if case.candidate_answer is None and not case.output_messages and case.latency is None and case.cost is None:
            self._first = self._first or str(case.id)
            self._count += 1

    def notes(self) -> Iterator[str]:
        """Say how many there were."""
        if self._count and self._is_noted:
            have, they, first = ("case has", "it", "it") if self._count == 1 else ("cases have", "they", "the first")
            yield (
                f"{self._count:,} {have} no answer, and there is no target to make one: {they} will not be evaluated; "
                f"{first} is {shown(self._first)}"
            )
