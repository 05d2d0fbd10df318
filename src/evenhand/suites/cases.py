"""From a case as it is written in a file to a case of a run, or to all that is wrong with it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evenhand.domain.case import Case, reference_in
from evenhand.domain.context import context_from
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.message import Message, message_from
from evenhand.domain.rubric import rubric_items
from evenhand.domain.run import PlannedCase
from evenhand.domain.scale import is_finite_number
from evenhand.evaluators.schema.compiled import compile_schema
from evenhand.evaluators.schema.evaluator import is_empty
from evenhand.suites.checks import Checks
from evenhand.suites.evaluators import RUBRIC_NAME, evaluators_of, name_of
from evenhand.suites.text_file import NamedFiles
from evenhand.suites.values import (
    MOST_GUESSED,
    Fault,
    Listed,
    Mapped,
    Piece,
    doubles,
    kind,
    name_hint,
    plain,
    rubric_faults,
)

ROLES: Final = ("system", "user", "assistant", "tool", "developer", "function", "human", "ai", "model")
_NEEDED: Final = ("role", "content")


def read_messages(key: str, listed: Listed, faults: list[Fault], *, folder: Path | None) -> tuple[Message, ...]:
    """Read the messages under a key, and add what is wrong with them to the faults.

    Files that they name are read from ``folder``; without one, none is.
    """
    read_file = None if folder is None else NamedFiles(folder).read
    messages: list[Message] = []
    for number, (message, line) in enumerate(zip(listed, listed.lines, strict=True), 1):
        try:
            messages.append(message_from(plain(message), number, read_file=read_file))
        except ConfigError as error:
            faults.append(Fault(line, f"{key}: {error}{_key_hint(message)}"))
        faults += _role_faults(key, message, line)
    return tuple(messages)


def _role_faults(key: str, message: object, line: int) -> Iterator[Fault]:
    """Yield what is wrong with a role; this is checked here only, for files."""
    if isinstance(message, Mapped):
        written = "role" if message.get("role") else "type"
        role = message.get(written)
        if isinstance(role, str) and role not in ROLES:
            near = did_you_mean(role[:MOST_GUESSED], ROLES)
            yield Fault(message.lines.get(written, line), f"{key}: no role {role!r:.80}{near}")


def _key_hint(message: object) -> str:
    """Name the key that was probably meant by another one."""
    missing = [name for name in _NEEDED if isinstance(message, dict) and name not in message]
    for key in message if isinstance(message, dict) else ():
        if key not in _NEEDED and (near := difflib.get_close_matches(str(key)[:MOST_GUESSED], missing, n=1)):
            return f"; for {key!r:.80}, did you mean {near[0]!r}?"
    return ""


ALIASES: Final = {
    "question": "input",
    "output": "candidate_answer",
    "expected_output": "reference_answer",
    "criteria": "expected_outcome",
}
_TEXTS: Final = frozenset({"id", "candidate_answer", "expected_outcome", "cluster"})
# What may be text, and what may be messages, with the names that a Case has for them.
_TEXT_OR_MESSAGES: Final = {"input": "question", "reference_answer": "reference_answer"}
_MESSAGES: Final = {
    "input": "input_messages",
    "reference_answer": "expected_messages",
    "output_messages": "output_messages",
}
_NUMBERS: Final = frozenset({"latency", "cost"})
KEYS: Final = (
    "id", "input", "candidate_answer", "reference_answer", "expected_outcome", "evaluation_schema", "rubrics",
    "evaluators", "metadata", "cluster", "latency", "cost", "output_messages", "context",
)  # fmt: skip
# What each key is called in the end; by these names, which are the program's own, a case is made in less time.
NAMES: Final = {key: ALIASES.get(key, key) for key in (*KEYS, *ALIASES)}

_MOST_ID: Final = 200
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class CaseMaker:
    """Makes the cases of a suite; ``usual`` are the evaluators of the suite, None where they are not known.

    ``names`` are those of all evaluators so far, of the suite and of cases. ``folder`` is that of the suite, in which
    the files are that messages name; without one, none is read.
    """

    def __init__(
        self, usual: Sequence[Mapping[str, Any]] | None, checks: Checks, *, folder: Path | None = None
    ) -> None:
        self._usual = usual
        self._folder = folder
        self._checks = checks
        self._named = {name_of(definition): definition for definition in usual or ()}
        self.names = set(self._named)

    def planned(self, piece: Piece, position: int, faults: list[Fault]) -> PlannedCase | None:
        """Make a case, or add what is wrong with it to the faults."""
        raw, line = piece.value, piece.line
        fault_count = len(faults)
        faults += piece.faults
        if not isinstance(raw, Mapped):
            if not piece.faults:
                faults.append(
                    Fault(line, f"a case is a mapping with keys such as input and candidate_answer, not {kind(raw)}")
                )
            return None
        fields = self._fields(raw, faults)
        own = self._own_evaluators(raw, faults)
        if own is not None or raw.get("rubrics"):
            definitions = evaluators_of(self._usual or () if own is None else own, has_rubrics=bool(raw.get("rubrics")))
            self.names.update(map(name_of, definitions))
        if len(faults) == fault_count and (own is not None or "rubrics" in fields or not self._usual):
            self._check_names(raw, own, faults, has_rubrics=bool(fields.get("rubrics")))
        if len(faults) > fault_count:
            return None
        try:
            return PlannedCase(position=position, case=Case(**fields), evaluators=own, line=line)
        except ConfigError as error:
            faults.append(Fault(line, str(error)))
            return None

    def _fields(self, raw: Mapped, faults: list[Fault]) -> dict[str, Any]:
        """Return the fields of a ``Case``."""
        fields: dict[str, Any] = {}
        for key, value in raw.items():
            name = NAMES.get(key)
            if name is None:
                faults.append(Fault(raw.lines[key], f"no key {key!r:.80}{name_hint(key, NAMES)}"))
            elif name != key and name in raw:
                faults.append(Fault(raw.lines[key], f"{name} and {key} are two names for the same thing; give one"))
            elif value is None or name == "evaluators":
                continue
            elif value.__class__ is str and name in _TEXTS:
                fields[name] = value
            elif value.__class__ is str and name in _TEXT_OR_MESSAGES:
                fields[_TEXT_OR_MESSAGES[name]] = value
            elif isinstance(value, Listed) and name in _MESSAGES:
                fields[_MESSAGES[name]] = self._messages(key, raw, faults)
            else:
                try:
                    field, fields[field] = _field(name, key, value)
                except ConfigError as error:
                    items = list(rubric_faults(value, raw.lines[key], key)) if name == "rubrics" else []
                    faults += items or [Fault(raw.lines[key], str(error))]
        if "id" in fields and (problem := id_problem(fields["id"])):
            faults.append(Fault(raw.lines["id"], problem))
        return fields

    def _messages(self, key: str, raw: Mapped, faults: list[Fault]) -> tuple[Message, ...]:
        """Read the messages under a key of a case."""
        before = len(faults)
        messages = read_messages(key, raw[key], faults, folder=self._folder)
        if len(faults) == before and NAMES[key] == "reference_answer":
            faults += _reference_faults(key, messages, raw.lines[key])
        return messages

    def _own_evaluators(self, raw: Mapped, faults: list[Fault]) -> tuple[Mapping[str, Any], ...] | None:
        evaluators = raw.get("evaluators")
        if evaluators is None:
            return None
        line = raw.lines["evaluators"]
        if not isinstance(evaluators, Listed) or not evaluators:
            problem = (
                "is empty; leave it out to use those of the suite"
                if isinstance(evaluators, Listed)
                else "must be a list"
            )
            faults.append(Fault(line, f"evaluators {problem}"))
            return None
        own: list[Mapping[str, Any]] = []
        for evaluator, where in zip(evaluators, evaluators.lines, strict=True):
            if not isinstance(evaluator, str):
                faults += self._checks.evaluator(evaluator, where)
                own += [plain(evaluator)] if isinstance(evaluator, Mapping) else []
            elif evaluator in self._named:
                own.append(self._named[evaluator])
            elif self._usual is not None:
                near = did_you_mean(evaluator[:MOST_GUESSED], self._named)
                faults.append(Fault(where, f"the suite has no evaluator named {evaluator!r:.80}{near}"))
        return tuple(own)

    def _check_names(
        self, raw: Mapped, own: tuple[Mapping[str, Any], ...] | None, faults: list[Fault], *, has_rubrics: bool
    ) -> None:
        if self._usual is None:
            return
        definitions = evaluators_of(self._usual if own is None else own, has_rubrics=has_rubrics)
        if not definitions:
            faults.append(Fault(raw.line, "nothing judges this case; list evaluators, in the suite or here"))
        for name in doubles(map(name_of, definitions)):
            note = " (its rubrics are checked by one of that name)" if name == RUBRIC_NAME and has_rubrics else ""
            line = raw.lines.get("evaluators", raw.lines.get("rubrics", raw.line))
            faults.append(Fault(line, f"two evaluators have the name {name!r:.80}{note}; rename one"))


def _field(name: str, key: str, value: Any) -> tuple[str, Any]:
    """Read a value that is not just text; return it with the field of a ``Case`` it belongs to."""
    if name in _TEXTS or name in _TEXT_OR_MESSAGES:
        or_messages = " or a list of messages" if name in _TEXT_OR_MESSAGES else ""
        if isinstance(value, (dict, list)):
            raise ConfigError(f"{key} must be text{or_messages}, not {kind(value)}")
        shown = str(value).lower() if isinstance(value, bool) else value
        raise ConfigError(f"{key} must be text{or_messages}, not {shown}; write it in quotes")
    if name in _NUMBERS:
        if not is_finite_number(value) or value < 0:
            raise ConfigError(f"{key} must be a number, 0 or more, not {value!r:.80}")
        return name, value
    if name == "metadata":
        if not isinstance(value, Mapped):
            raise ConfigError(f"{key} must be a mapping, not {kind(value)}")
        return name, plain(value)
    if name == "context":
        context_from(plain(value))  # here, so that the mistake has its line
        return name, plain(value)
    if name == "evaluation_schema":
        return name, _schema(key, plain(value))
    if name == "rubrics":
        return name, rubric_items(plain(value), where=key)
    raise ConfigError(f"{key} must be a list of messages, not {kind(value)}")


def _schema(key: str, value: Any) -> Any:
    if not isinstance(value, (str, dict)):
        raise ConfigError(f"{key} must be JSON text or a mapping, not {kind(value)}")
    if not is_empty(value):
        try:
            compile_schema(value)
        except ConfigError as error:
            raise ConfigError(f"{key}: {error.problem}") from None
    return value


def _reference_faults(key: str, messages: tuple[Message, ...], line: int) -> Iterator[Fault]:
    try:
        reference_in(messages)
    except ConfigError as error:
        yield Fault(line, f"{key}: {error}")


def id_problem(identity: str) -> str | None:
    """Return what is wrong with an id; None if nothing is."""
    if not identity.strip():
        return "id is empty; leave it out, or write some text"
    if len(identity) > _MOST_ID:
        return f"id has {len(identity)} characters; at most {_MOST_ID} are allowed"
    if match := _CONTROL.search(identity):
        return f"id contains the control character U+{ord(match[0]):04X}; remove it"
    return None
