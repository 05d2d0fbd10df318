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
from evenhand.domain.errors import ConfigError, MissingKeyError, MissingModelError, did_you_mean
from evenhand.domain.reply import Unanswered
from evenhand.engine.identity import digest_of
from evenhand.engine.target import target_of
from evenhand.engine.targets.model import ModelTarget
from evenhand.suites.credentials import literal_credentials, without_credentials
from evenhand.suites.definition import with_paths
from evenhand.suites.evaluators import OLD_AMBIGUOUS, OLD_NAMES, build, members_of, name_of, settled
from evenhand.suites.values import MOST_GUESSED, Fault, Mapped, kind, mistakes_in, told

_MOST_KNOWN: Final = 10_000
_TARGETS: Final = ("model", "command", "python")
_PYTHON_TARGET: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")


class _StandIn:
    """A judge that is never asked: with it, all else about an evaluator can be checked without a key."""

    name = "stand-in"

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Unanswered:  # noqa: ARG002
        raise AssertionError("the stand-in of a judge was asked")


_STAND_IN: Final = _StandIn()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a judge or a target was given: in a line of the file, or by what is ``called`` so; and who is told."""

    line: int
    what: str
    called: str | None
    notes: dict[str, str]

    def about(self, error: Exception) -> str:
        return f"{self.called or self.what}: {str(error).removeprefix(f'{self.what}:').lstrip()}"


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
        # Many cases define the same; what was right once is right again.
        self._right: set[str] = set()

    def judge(
        self, given: Any, line: int, *, called: str | None = None, notes: dict[str, str] | None = None
    ) -> Iterator[Fault]:
        """Check a judge: that there is such a provider, and that it has such settings.

        ``called`` is what brought it in place of the file: the name of a flag, or of a variable.
        """
        yield from literal_credentials({"judge": given}, line)
        if isinstance(given, (str, Mapping)):
            place = _Place(line=line, what="judge", called=called, notes=self.notes if notes is None else notes)
            yield from self._tried(lambda one: registry.judge(with_paths(one, self._folder)), given, place)
        else:
            ways = "a name such as openai/gpt-5-mini, or a mapping with model"
            yield Fault(line, f"judge must be {ways}, not {kind(given)}")

    def usual_judge(self, given: Any, line: int, *, called: str | None = None) -> Iterator[Fault]:
        """Check the judge of all evaluators that name none."""
        yield from self.judge(given, line, called=called, notes=self.judge_notes)

    def target(self, given: Any, line: int, *, called: str | None = None) -> Iterator[Fault]:
        """Check a target; a Python function is not imported, so that reading a suite runs nothing (REL-X4)."""
        yield from literal_credentials({"target": given}, line)
        kinds = _target_kinds(given)
        if isinstance(given, Mapping) and kinds == ["python"]:
            yield from _python_target(given, line)
        elif isinstance(given, (str, Mapping)):

            def make(one: Any) -> None:
                if _target_kinds(one) != kinds:  # it became another one, perhaps a function, as keys were left out
                    return
                made = with_paths(one, self._folder)
                if kinds == ["model"]:
                    # Before the model, which may lack its key.
                    ModelTarget(client=_STAND_IN, prompt=made.get("prompt"), system=made.get("system"))
                target_of(made, folder=str(self._folder))

            yield from self._tried(make, given, _Place(line=line, what="target", called=called, notes=self.notes))
        else:
            ways = "the name of a model, or a mapping with model, command or python"
            yield Fault(line, f"target must be {ways}, not {kind(given)}")

    def evaluator(self, given: Any, line: int) -> Iterator[Fault]:
        """Check the definition of an evaluator, with its members."""
        if not isinstance(given, Mapping):
            yield Fault(line, f"an evaluator is a mapping with a type, such as {{type: llm_judge}}, not {kind(given)}")
            return
        key = digest_of(given)
        if key in self._right:
            return
        faults = [*literal_credentials(given, line), *self._parts(given, line)]
        yield from faults
        if not faults and len(self._right) < _MOST_KNOWN:
            self._right.add(key)

    def _parts(self, given: Mapping[str, Any], line: int) -> Iterator[Fault]:
        faults = list(self._type(given, line))
        for member in members_of(given):
            faults += self._parts(member, getattr(member, "line", line))
        own = [
            part
            for part in (given, given.get("aggregator"))
            if isinstance(part, Mapping) and part.get("judge") is not None
        ]
        self._note_old_options(given, line)
        if not faults:
            who = f"evaluator {name_of(given)!r} ({given['type']})"
            faults += mistakes_in(
                given,
                line,
                lambda one: build(settled(one, None), folder=self._folder, client=lambda _: _STAND_IN),
                told=lambda error: str(error) if isinstance(error, ConfigError) else f"{who}: {error}",
            )
        for part in own:
            faults += self.judge(part["judge"], _line_of(part, "judge", line))
        yield from faults

    def _type(self, given: Mapping[str, Any], line: int) -> Iterator[Fault]:
        written = given.get("type")
        where = _line_of(given, "type", line)
        known = registry.points(registry.EVALUATORS)
        if not isinstance(written, str):
            yield Fault(
                where,
                f"an evaluator needs a type, such as llm_judge; this one has only {', '.join(given) or 'nothing'}",
            )
        elif written == "jury" and written not in known:
            yield Fault(where, "no evaluator type 'jury'; a jury is a composite whose members are llm_judge evaluators")
        elif written not in known:
            yield Fault(where, f"no evaluator type {written!r:.80}{did_you_mean(written[:MOST_GUESSED], known)}")
        elif written in OLD_NAMES:
            self.note(
                written,
                where,
                f"evaluator {name_of(given)!r}: {written!r} is an old name; write {OLD_NAMES[written]!r}",
            )

    def _note_old_options(self, given: Mapping[str, Any], line: int) -> None:
        for part in (given, given.get("aggregator")):
            if isinstance(part, Mapping) and isinstance(strict := part.get(OLD_AMBIGUOUS), bool):
                way = "ask_again" if strict else "first"
                text = f"evaluator {name_of(given)!r}: 'strict' is an old name; write ambiguous: {way}"
                self.note(f"{OLD_AMBIGUOUS} {strict}", _line_of(part, OLD_AMBIGUOUS, line), text)

    def _tried(self, make: Callable[[Any], object], given: Any, place: _Place) -> Iterator[Fault]:
        tried = without_credentials(given)

        def take(one: Any) -> None:
            try:
                make(one)
            except (MissingKeyError, MissingModelError) as error:
                if tried is given:  # else the key that is written out is the mistake
                    text = place.about(error)
                    note = text if place.called is not None else told(self.file, Fault(place.line, text))
                    place.notes.setdefault(str(error), note)

        yield from mistakes_in(tried, place.line, take, told=place.about)
        if isinstance(tried, Mapped) and (near := _nearest_provider(tried.get("model"))):
            # What the settings are is for the provider to say, so the one that was probably meant is asked.
            yield from mistakes_in(tried.with_value("model", near), place.line, take, told=place.about)

    def note(self, about: str, line: int, text: str) -> None:
        """Note something once, however often it comes up."""
        self.notes.setdefault(about, told(self.file, Fault(line, text)))


def _nearest_provider(model: object) -> str | None:
    """Return a model's name with the provider that was probably meant; None if it is right, or nobody can tell."""
    provider, slash, name = model.partition("/") if isinstance(model, str) else ("", "", "")
    known = registry.points(registry.MODELS)
    near = difflib.get_close_matches(provider[:MOST_GUESSED], known, n=1)
    return f"{near[0]}{slash}{name}" if slash and near and provider not in known else None


def _target_kinds(given: Any) -> list[str]:
    return [name for name in _TARGETS if isinstance(given, Mapping) and given.get(name) is not None]


def _python_target(given: Mapping[str, Any], line: int) -> Iterator[Fault]:
    path = given["python"]
    if not isinstance(path, str) or not _PYTHON_TARGET.fullmatch(path):
        yield Fault(
            _line_of(given, "python", line), f"target: python is {path!r:.120}; write 'package.module:function'"
        )
    for key in given:
        if key != "python":
            yield Fault(_line_of(given, key, line), f"target: no key {key!r:.80}; a Python function has 'python' only")


def _line_of(given: Any, key: str, line: int) -> int:
    return given.lines.get(key, line) if isinstance(given, Mapped) else line
