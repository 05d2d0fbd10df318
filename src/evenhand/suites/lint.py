"""Warnings about a suite: judges that are never asked, cases without an answer, judges kin to the model they judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.message import plain_data
from evenhand.domain.run import PlannedCase
from evenhand.domain.template import Template
from evenhand.evaluators.value_text import shown
from evenhand.models.providers import same_family
from evenhand.suites.definition import Definition
from evenhand.suites.evaluators import lacks_judge, name_of, names_judge
from evenhand.suites.values import MOST_GUESSED, Fault

_MOST_NAMED = 5


class AskedJudge:
    """Looks at cases as they are read, until one asks the judge of those that name none."""

    def __init__(self, built: Definition) -> None:
        self._built = built
        self._own: dict[str, None] = {}
        self._seen = False
        self._usual_seen = False
        self._is_asked = False

    def look_at(self, planned: PlannedCase) -> None:
        """Look at the evaluators of a case; those of the suite are looked at once."""
        is_usual = planned.evaluators is None and not planned.case.rubrics
        if self._is_asked or (is_usual and self._usual_seen):
            return
        self._seen = True
        self._usual_seen = self._usual_seen or is_usual
        definitions = self._built.definitions_for(planned)
        self._is_asked = any(map(lacks_judge, definitions))
        if len(self._own) <= _MOST_NAMED:
            self._own |= dict.fromkeys(name_of(definition) for definition in definitions if names_judge(definition))

    @property
    def why_not(self) -> str:
        """Why the judge is not asked; "" where it is, or no case was looked at."""
        if self._is_asked or not self._seen:
            return ""
        if not self._own:
            return "nothing in the suite asks a judge"
        named = list(self._own)
        *most, last = named if len(named) <= _MOST_NAMED else [*named[:_MOST_NAMED], "others"]
        return f"{', '.join(most)} and {last} name their own judges" if most else f"{last} names its own judge"


# What every case gives to the prompt of a target; its other names are keys of the case's metadata.
_CASE_NAMES: Final = ("input", "question")
_PROMPTS: Final = {"prompt": "the prompt", "system": "the system text"}


class TargetPrompts:
    """The names that a target's ``prompt`` and ``system`` use, to be held against each case that it answers."""

    def __init__(self, target: Any) -> None:
        self._names: dict[str, list[str]] = {}
        for key, who in _PROMPTS.items() if isinstance(target, Mapping) and "model" in target else ():
            text = target.get(key)
            if isinstance(text, str):
                self._names[who] = sorted(Template.with_double_braces(text).names.difference(_CASE_NAMES))

    def faults(self, planned: PlannedCase) -> Iterator[Fault]:
        """Find the names for which a case gives nothing, or nothing that is text, if it has no answer yet."""
        if planned.case.candidate_answer is not None:
            return
        for who, names in self._names.items():
            for name in names:
                if name not in planned.case.metadata:
                    near = did_you_mean(name[:MOST_GUESSED], {*_CASE_NAMES, *map(str, planned.case.metadata)})
                    yield Fault(
                        planned.line or 0, f"target: {who} uses {name!r:.80}, which is not in the metadata{near}"
                    )
                elif (problem := _no_text(planned.case.metadata[name])) is not None:
                    yield Fault(planned.line or 0, f"target: {who} uses {name!r:.80} of the metadata: {problem}")


def _no_text(value: object) -> str | None:
    try:
        plain_data(value)
    except ConfigError as error:
        return str(error)
    return None


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
        """Yield a note on how many there were."""
        if self._count and self._is_noted:
            have, they, first = ("case has", "it", "it") if self._count == 1 else ("cases have", "they", "the first")
            yield (
                f"{self._count:,} {have} no answer, and there is no target to generate one: {they} will not be "
                f"evaluated; {first} is {shown(self._first)}"
            )


def kinship_notes(definition: Mapping[str, Any]) -> list[str]:
    """Return a warning for each judge of a suite that is of the family of a model that answers."""
    judges = dict.fromkeys(_judge_names(definition))
    answering = _model_names(definition.get("target"))
    return [note for judge in judges for target in answering if (note := same_family(judge, target)) is not None]


def _judge_names(part: Any) -> Iterator[str]:
    """Find every judge that a definition names, in evaluators, their members and their aggregators too."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key == "judge" and (name := _model_name(value)) is not None:
                yield name
            elif key in {"evaluators", "members", "aggregator"}:
                yield from _judge_names(value)
    elif isinstance(part, list):
        for item in part:
            yield from _judge_names(item)


def _model_names(target: Any) -> list[str]:
    """Name the models of a target, which may be one or several."""
    several = target.get("models") if isinstance(target, Mapping) else None
    targets = several if isinstance(several, list) else [target]
    return [name for item in targets if (name := _model_name(item)) is not None]


def _model_name(value: Any) -> str | None:
    name = value.get("model") if isinstance(value, Mapping) else value
    return name if isinstance(name, str) else None
