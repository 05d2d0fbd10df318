"""Warnings about a suite: judges never asked, cases without an answer or a text, judges kin to the model they judge."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.message import plain_data
from evenhand.domain.run import PlannedCase
from evenhand.domain.template import METADATA, Template
from evenhand.engine.plan import HAS_ANSWER
from evenhand.engine.targets.several import has_prompts, stands_for_several, taken_name, taken_names, targets_by_name
from evenhand.evaluators.prompt_settings import has_text, names_needed
from evenhand.evaluators.prompts.ready import IN_A_CASE, READY, value_in
from evenhand.evaluators.value_text import shown
from evenhand.models.families import same_family
from evenhand.suites.definition import Definition
from evenhand.suites.evaluators import JUDGE_TYPE, NESTED, lacks_judge, members_of, name_of, names_judge, type_of
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
_CONTEXT: Final = "context"
_PROMPTS: Final = {"prompt": "the prompt", "system": "the system text"}


class TargetPrompts:
    """The names that the prompts of targets use, to be held against each case that they answer.

    Where there are several targets, a case must not have an answer, nor metadata by which they are told apart.
    """

    def __init__(self, target: Any) -> None:
        self._names: dict[str, list[str]] = {}
        singles = targets_by_name(target)
        self._taken: tuple[str, ...] = ()
        if stands_for_several(target):
            self._taken = taken_names(has_prompts=has_prompts(target))
        for name, single in singles.items():
            of_which = f" of {name!r:.80}" if len(singles) > 1 else ""
            for key, who in _PROMPTS.items() if isinstance(single, Mapping) and "model" in single else ():
                text = single.get(key)
                if isinstance(text, str):
                    names = sorted(Template.with_double_braces(text).names.difference(_CASE_NAMES))
                    self._names[f"{who}{of_which}"] = names

    def faults(self, planned: PlannedCase) -> Iterator[Fault]:
        """Find the names for which a case gives nothing, or nothing that is text, if it has no answer yet."""
        metadata, line = planned.case.metadata, planned.line or 0
        if self._taken:
            yield from (Fault(line, taken_name(key)) for key in self._taken if key in metadata)
            if planned.case.candidate_answer is not None:
                yield Fault(line, HAS_ANSWER)
        if planned.case.candidate_answer is not None:
            return
        for who, names in self._names.items():
            for name in names:
                key = name.removeprefix(METADATA)
                if name == _CONTEXT and planned.case.context is not None:
                    continue
                if key not in metadata or (key != name and metadata[key] is None):
                    near = did_you_mean(key[:MOST_GUESSED], {*_CASE_NAMES, *map(str, metadata)})
                    other = "which the case does not have" if name == _CONTEXT else "which is not in the metadata"
                    yield Fault(planned.line or 0, f"target: {who} uses {name!r:.80}, {other}{near}")
                elif (problem := _no_text(metadata[key])) is not None:
                    yield Fault(planned.line or 0, f"target: {who} uses {name!r:.80} of the metadata: {problem}")


def _no_text(value: object) -> str | None:
    try:
        plain_data(value)
    except ConfigError as error:
        return str(error)
    return None


class LackedTexts:
    """Counts the cases that lack what a template of their evaluators uses and does not leave empty."""

    def __init__(self, built: Definition) -> None:
        self._built = built
        # What the evaluators of the suite need, for all cases that have none of their own.
        self._usual: list[_Needed] | None = None
        self._counts: dict[tuple[str, str], int] = {}
        self._first: dict[tuple[str, str], str] = {}

    def look_at(self, planned: PlannedCase) -> None:
        """Hold the evaluators of a case against it."""
        if planned.evaluators is not None or planned.case.rubrics:
            needed = _all_needed(self._built.definitions_for(planned))
        else:
            if self._usual is None:
                self._usual = _all_needed(self._built.definitions_for(planned))
            needed = self._usual
        for evaluator, texts, values in needed:
            for name in _lacked(planned.case, texts, values):
                pair = (evaluator, name)
                self._counts[pair] = self._counts.get(pair, 0) + 1
                self._first.setdefault(pair, str(planned.case.id))

    def notes(self) -> Iterator[str]:
        """Yield a note for each evaluator and each text that cases lack."""
        for (evaluator, name), count in itertools.islice(self._counts.items(), _MOST_NAMED):
            have, they, first = ("case has", "it", "it") if count == 1 else ("cases have", "them", "the first")
            unless = " unless the target returns one" if name == _CONTEXT and self._target_may_return_it else ""
            yield (
                f"{count:,} {have} no {name}, which evaluator {evaluator!r:.80} uses: "
                f"it will not evaluate {they}{unless}; {first} is {shown(self._first[evaluator, name])}"
            )

    @property
    def _target_may_return_it(self) -> bool:
        """Whether a function, or a program that writes JSON, answers: with the answer may come its context."""
        singles = targets_by_name(self._built.settings.get("target")).values()
        return any(
            isinstance(single, Mapping) and ("python" in single or single.get("output") == "json") for single in singles
        )


class Uncounted:
    """Counts the cases of which no evaluator counts: all have weight 0, and none is required."""

    def __init__(self, built: Definition) -> None:
        self._built = built
        # Whether one of the suite counts, for all cases that have none of their own.
        self._usual: bool | None = None
        self._count = 0
        self._first: str | None = None

    def look_at(self, planned: PlannedCase) -> None:
        """Look at the evaluators of a case."""
        if planned.evaluators is not None or planned.case.rubrics:
            counts = self._counts(planned)
        else:
            self._usual = counts = self._counts(planned) if self._usual is None else self._usual
        if not counts:
            self._count += 1
            self._first = self._first or str(planned.case.id)

    def _counts(self, planned: PlannedCase) -> bool:
        definitions = self._built.definitions_for(planned)
        return any(each.get("required") or each.get("weight", 1) for each in definitions)

    def notes(self) -> Iterator[str]:
        """Yield a note if there are such cases."""
        if self._count:
            alone, several = ("case has", "it has", "it"), ("cases have", "they have", "the first")
            have, they, first = alone if self._count == 1 else several
            yield (
                f"{self._count:,} {have} no evaluator that counts, since all have weight 0: {they} no score; "
                f"{first} is {shown(self._first)}"
            )


class _Needed(NamedTuple):
    """What an evaluator needs of a case: the names in its templates, and the values of its ready prompts."""

    evaluator: str
    texts: set[str]
    values: set[str]


def _all_needed(definitions: Sequence[Mapping[str, Any]]) -> list[_Needed]:
    """Return what each definition with its members needs; those that need nothing are left out."""
    needed = [_Needed(name_of(definition), set(), set()) for definition in definitions]
    waiting = [*zip(needed, definitions, strict=True)]
    for each, definition in waiting:  # which grows
        each.texts.update(_names_used(definition))
        each.values.update(name for name in _needs(definition) if name != "outputs")  # a target may still answer
        waiting += ((each, member) for member in members_of(definition))
    return [each for each in needed if each.texts or each.values]


def _lacked(case: Case, texts: set[str], values: set[str]) -> list[str]:
    """Return what a case lacks, by its name in a case."""
    lacked = {name for name in texts if not has_text(case, name)}
    return sorted(lacked | {IN_A_CASE[name] for name in values if not _has_value(case, name)})


def _has_value(case: Case, name: str) -> bool:
    try:
        return value_in(case, name) is not None
    except ConfigError:
        return False


def _names_used(definition: Mapping[str, Any]) -> set[str]:
    """Return the names in the templates of a definition and its meta-judge that are not left empty."""
    aggregator = definition.get("aggregator")
    parts = [definition, *([aggregator] if isinstance(aggregator, Mapping) else [])]
    return {name for part in parts if isinstance(text := part.get("template"), str) for name in _names_in(text)}


def _needs(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values that the ready prompt of a definition needs."""
    ready = READY.get(str(definition.get("prompt"))) if type_of(definition) == JUDGE_TYPE else None
    return () if ready is None else ready.needs


def _needs_answer(definition: Mapping[str, Any]) -> bool:
    """Return whether an evaluator judges answers: some ready prompts judge only what was retrieved."""
    if members := members_of(definition):
        return any(map(_needs_answer, members))
    needs = _needs(definition)
    return not needs or "outputs" in needs


@functools.lru_cache(maxsize=256)
def _names_in(template: str) -> frozenset[str]:
    return frozenset(names_needed(Template.with_double_braces(template).names))


class Unanswered:
    """Counts the cases that have nothing to judge; they are noted where no target makes answers.

    ``built`` says what judges them, where that is known.
    """

    def __init__(self, *, is_noted: bool, built: Definition | None = None) -> None:
        self._is_noted = is_noted
        self._built = built
        self._count = 0
        self._first = ""

    def count(self, planned: PlannedCase) -> None:
        """Count a case if it has no answer, and nothing else of one that could be judged, or was retrieved for it."""
        case = planned.case
        if case.candidate_answer is not None or case.output_messages or (case.latency, case.cost) != (None, None):
            return
        judged_by = () if self._built is None else self._built.definitions_for(planned)
        if not judged_by or any(map(_needs_answer, judged_by)):
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
    answering = dict.fromkeys(filter(None, map(_model_name, targets_by_name(definition.get("target")).values())))
    return [note for judge in judges for target in answering if (note := same_family(judge, target)) is not None]


def _judge_names(part: Any) -> Iterator[str]:
    """Find every judge that a definition names, in evaluators, their members and their aggregators too."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key == "judge" and (name := _model_name(value)) is not None:
                yield name
            elif key in {"evaluators", "aggregator", *NESTED}:
                yield from _judge_names(value)
    elif isinstance(part, list):
        for item in part:
            yield from _judge_names(item)


def _model_name(value: Any) -> str | None:
    name = value.get("model") if isinstance(value, Mapping) else value
    return name if isinstance(name, str) else None
