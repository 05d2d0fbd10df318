"""Checking judges, targets and evaluators as they are defined: all that can be known without a key or a network."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenhand import registry
from evenhand.domain.ask import Ask
from evenhand.domain.errors import ConfigError, MissingKeyError, MissingModelError
from evenhand.domain.reply import Unanswered
from evenhand.engine.identity import digest_of
from evenhand.engine.target import target_of
from evenhand.engine.targets.function import FUNCTION_KEYS, FUNCTION_TAKES
from evenhand.engine.targets.model import ModelTarget
from evenhand.engine.targets.several import NAME, own_name, single_targets, stands_for_several, twice
from evenhand.evaluators.cascade import CASCADE
from evenhand.models.resolve import normal_name
from evenhand.suites.credentials import literal_credentials, without_credentials
from evenhand.suites.definition import with_paths
from evenhand.suites.evaluators import OLD_AMBIGUOUS, OLD_NAMES, build, members_of, name_of, settled
from evenhand.suites.values import (
    MOST_GUESSED,
    Fault,
    Mapped,
    doubles,
    format_fault,
    kind,
    mistakes_in,
    name_hint,
    rubric_faults,
)

_MOST_KNOWN: Final = 10_000
_TARGETS: Final = ("model", "command", "python")
# Checks that find something or not.
_ZERO_OR_ONE: Final = ("equals", "contains", "icontains", "starts_with", "ends_with", "regex", "is_json")
_PYTHON_TARGET: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")


class _StandIn:
    """A judge that is never asked: with it, all else about an evaluator can be checked without a key."""

    name = "stand-in"

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Unanswered:  # noqa: ARG002
        raise AssertionError("the stand-in of a judge was asked")


_STAND_IN: Final = _StandIn()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a judge or a target comes from: a line of the file, or the flag or variable ``called``; and its notes."""

    line: int
    subject: str
    called: str | None
    notes: dict[str, str]

    def about(self, error: Exception) -> str:
        problem = error.problem if isinstance(error, ConfigError) and error.part == self.subject else error
        return f"{self.called or self.subject}: {problem}"


class Checks:
    """Checks the parts of one suite. ``notes`` are what its writer should know and need not mend.

    ``judge_notes`` are notes that matter only where the suite's judge is asked. ``file`` is the one that is being read;
    paths in the suite are seen from ``folder``.
    """

    def __init__(self, file: Path, *, folder: Path) -> None:
        self.file = file
        self.notes: dict[str, str] = {}
        self.judge_notes: dict[str, str] = {}
        self._folder = folder
        # Many cases define the same evaluator, which is checked once.
        self._correct: set[str] = set()

    def judge(
        self, judge: Any, line: int, *, called: str | None = None, notes: dict[str, str] | None = None
    ) -> Iterator[Fault]:
        """Check a judge: that there is such a provider, and that it has such settings.

        ``called`` is what brought it in place of the file: the name of a flag, or of a variable.
        """
        yield from literal_credentials({"judge": judge}, line)
        if isinstance(judge, (str, Mapping)):
            place = _Place(line=line, subject="judge", called=called, notes=self.notes if notes is None else notes)
            yield from self._trial_faults(
                lambda settings: registry.judge(with_paths(settings, self._folder)), judge, place
            )
        else:
            ways = "a name such as openai/gpt-5-mini, or a mapping with model"
            yield Fault(line, f"judge must be {ways}, not {kind(judge)}")

    def usual_judge(self, judge: Any, line: int, *, called: str | None = None) -> Iterator[Fault]:
        """Check the judge of all evaluators that name none."""
        yield from self.judge(judge, line, called=called, notes=self.judge_notes)

    def target(self, target: Any, line: int, *, called: str | None = None) -> Iterator[Fault]:
        """Check a target; a Python function is not imported, so that reading a suite runs nothing (REL-X4)."""
        yield from literal_credentials({"target": target}, line)
        if stands_for_several(target):
            yield from self._several_targets(target, line, called)
            return
        kinds = _target_kinds(target)
        if isinstance(target, Mapping) and kinds == ["python"]:
            yield from _python_target(target, line)
        elif isinstance(target, (str, Mapping)):

            def make(settings: Any) -> None:
                if _target_kinds(settings) != kinds:  # it became another one, perhaps a function, as keys were left out
                    return
                made = with_paths(settings, self._folder)
                if kinds == ["model"]:
                    # Before the model, which may lack its key.
                    ModelTarget(client=_STAND_IN, prompt=made.get("prompt"), system=made.get("system"))
                target_of(made, folder=str(self._folder))

            yield from self._trial_faults(
                make, target, _Place(line=line, subject="target", called=called, notes=self.notes)
            )
        else:
            ways = "the name of a model, a mapping with model, command or python, or a list of these"
            yield Fault(line, f"target must be {ways}, not {kind(target)}")

    def _several_targets(self, target: Any, line: int, called: str | None) -> Iterator[Fault]:
        """Check each of several targets by itself, and that their names differ."""
        place = _Place(line=line, subject="target", called=called, notes=self.notes)
        faults = list(mistakes_in(target, line, lambda value: list(single_targets(value)), message_of=place.about))
        singles = [] if faults else list(single_targets(target))
        for single in singles:
            faults += self.target(single.definition, getattr(single.definition, "line", line), called=called)
        names = doubles(single.label(own_name(single.definition)) for single in singles)
        if names and not faults:
            faults.append(Fault(line, f"target: {twice(names[0])}"))
        yield from dict.fromkeys(faults)

    def evaluator(self, definition: Any, line: int) -> Iterator[Fault]:
        """Check the definition of an evaluator, with its members."""
        if not isinstance(definition, Mapping):
            yield Fault(
                line, f"an evaluator is a mapping with a type, such as {{type: llm_judge}}, not {kind(definition)}"
            )
            return
        key = digest_of(definition)
        if key in self._correct:
            return
        faults = [*literal_credentials(definition, line), *self._definition_faults(definition, line)]
        yield from faults
        if not faults and len(self._correct) < _MOST_KNOWN:
            self._correct.add(key)

    def _definition_faults(self, definition: Mapping[str, Any], line: int) -> Iterator[Fault]:
        faults = list(self._type_faults(definition, line))
        for member in members_of(definition):
            faults += self._definition_faults(member, getattr(member, "line", line))
        own = [
            part
            for part in (definition, definition.get("aggregator"))
            if isinstance(part, Mapping) and part.get("judge") is not None
        ]
        self._note_old_options(definition, line)
        if not faults:
            who = f"evaluator {name_of(definition)!r} ({definition['type']})"
            wrong = list(rubric_faults(definition.get("rubrics"), line, f"{who}: rubrics"))
            faults += wrong
            faults += mistakes_in(
                # The items that are wrong are told of above, each by itself.
                definition.with_value("rubrics", ["-"]) if wrong and isinstance(definition, Mapped) else definition,
                line,
                lambda settings: build(settled(settings, None), folder=self._folder, client=lambda _: _STAND_IN),
                message_of=lambda error: str(error) if isinstance(error, ConfigError) else f"{who}: {error}",
            )
        if not faults and definition.get("type") == CASCADE:
            self._note_sure_stages(definition, line)
        for part in own:
            faults += self.judge(part["judge"], _line_of(part, "judge", line))
        yield from faults

    def _type_faults(self, definition: Mapping[str, Any], line: int) -> Iterator[Fault]:
        written = definition.get("type")
        where = _line_of(definition, "type", line)
        types = registry.points(registry.EVALUATORS)
        if not isinstance(written, str):
            yield Fault(
                where,
                f"an evaluator needs a type, such as llm_judge; this one has only {', '.join(definition) or 'nothing'}",
            )
        elif written == "jury" and written not in types:
            yield Fault(where, "no evaluator type 'jury'; a jury is a composite whose members are llm_judge evaluators")
        elif written not in types:
            yield Fault(where, f"no evaluator type {written!r:.80}{name_hint(written, types)}")
        elif written in OLD_NAMES:
            self.note(
                written,
                where,
                f"evaluator {name_of(definition)!r}: {written!r} is an old name; write {OLD_NAMES[written]!r}",
            )

    def _note_old_options(self, definition: Mapping[str, Any], line: int) -> None:
        for part in (definition, definition.get("aggregator")):
            if isinstance(part, Mapping) and isinstance(strict := part.get(OLD_AMBIGUOUS), bool):
                way = "ask_again" if strict else "first"
                text = f"evaluator {name_of(definition)!r}: 'strict' is an old name; write ambiguous: {way}"
                self.note(f"{OLD_AMBIGUOUS} {strict}", _line_of(part, OLD_AMBIGUOUS, line), text)

    def _note_sure_stages(self, definition: Mapping[str, Any], line: int) -> None:
        """Note stages that hand no case on: their scores are 0 or 1, as far from any pass mark as can be."""
        stages = members_of(definition)
        for number, stage in enumerate(stages if definition.get("then") else stages[:-1], start=1):
            if _is_zero_or_one(stage):
                self.note(
                    f"sure {name_of(definition)} {number}",
                    getattr(stage, "line", line),
                    f"evaluator {name_of(definition)!r}: the scores of stage {number} are 0 or 1, so its confidence is "
                    "always 1, and it hands on only what it fails to judge",
                )

    def _trial_faults(self, make: Callable[[Any], object], settings: Any, place: _Place) -> Iterator[Fault]:
        tried = without_credentials(settings)

        def take(value: Any) -> None:
            try:
                make(value)
            except (MissingKeyError, MissingModelError) as error:
                if tried is settings:  # else the key that is written out is the mistake
                    text = place.about(error)
                    note = text if place.called is not None else format_fault(self.file, Fault(place.line, text))
                    place.notes.setdefault(str(error), note)

        yield from mistakes_in(tried, place.line, take, message_of=place.about)
        if isinstance(tried, Mapped) and (near := _nearest_provider(tried.get("model"))):
            # What the settings are is for the provider to say, so the one that was probably meant is asked.
            yield from mistakes_in(tried.with_value("model", near), place.line, take, message_of=place.about)

    def note(self, about: str, line: int, text: str) -> None:
        """Note something once, however often it comes up."""
        self.notes.setdefault(about, format_fault(self.file, Fault(line, text)))


def _is_zero_or_one(definition: Mapping[str, Any]) -> bool:
    """Return whether an evaluator can only give 0 or 1, as far as its definition says so."""
    if definition.get("type") in _ZERO_OR_ONE:
        return True
    choices = definition.get("choices")
    if isinstance(choices, Mapping) and set(choices.values()) <= {0, 1}:
        return definition.get("samples") is None and definition.get("score_from") != "samples"
    return definition.get("scale") == "binary" and definition.get("samples") is None


def _nearest_provider(model: object) -> str | None:
    """Return a model's name with the provider that was probably meant; None if it is right, or nothing is near."""
    provider, slash, name = normal_name(model).partition("/") if isinstance(model, str) else ("", "", "")
    providers = registry.points(registry.MODELS)
    near = difflib.get_close_matches(provider[:MOST_GUESSED], providers, n=1)
    return f"{near[0]}{slash}{name}" if slash and near and provider not in providers else None


def _target_kinds(target: Any) -> list[str]:
    return [name for name in _TARGETS if isinstance(target, Mapping) and target.get(name) is not None]


def _python_target(target: Mapping[str, Any], line: int) -> Iterator[Fault]:
    path = target["python"]
    if not isinstance(path, str) or not _PYTHON_TARGET.fullmatch(path):
        yield Fault(
            _line_of(target, "python", line), f"target: python is {path!r:.120}; write 'package.module:function'"
        )
    for key in target:
        if key not in (*FUNCTION_KEYS, NAME):
            yield Fault(_line_of(target, key, line), f"target: no key {key!r:.80}; {FUNCTION_TAKES}")


def _line_of(value: Any, key: str, line: int) -> int:
    return value.lines.get(key, line) if isinstance(value, Mapped) else line
