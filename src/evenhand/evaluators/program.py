"""A program of the user's: how it is called, what it is told of a case, and how it may end."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath
from typing import Any, Final

from evenhand.domain.ask import Exec, Steps
from evenhand.domain.case import Case
from evenhand.domain.context import context_to
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.failure import Failure
from evenhand.domain.message import MessageLike, messages_from
from evenhand.domain.reply import Exited
from evenhand.domain.scale import is_finite_number
from evenhand.domain.secret import Secret, scrubber_of

_LINE_KEPT: Final = 300
_TRACEBACK: Final = "Traceback (most recent call last)"
# How programs begin to tell of an error: "error: …", "ValueError: …", "[ERROR] …", "fatal: …", "panicked at …".
_ERROR: Final = re.compile(
    r"Traceback \(most recent call last\)|(?:error|exception|fatal|panic):|\[(?:error|fatal)\]|panicked at",
    re.IGNORECASE,
)
_MOST_WORDS: Final = 64


def version_in(settings: Mapping[str, Any]) -> str | None:
    """Return the ``version`` of a program or a function, which stands for its source; numbers are taken as written."""
    version = settings.get("version")
    if version is None or (isinstance(version, str) and version.strip()):
        return version
    if isinstance(version, (int, float)) and not isinstance(version, bool):
        return str(version)
    raise ConfigError(f"version is {version!r:.80}; it must be a text or a number, such as 2", key="version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that reads a case and ``config`` as one JSON object.

    It runs in ``cwd``, for at most ``timeout`` seconds, with ``memory_mb`` of address space (None: unlimited), and
    sees harmless environment variables and those in ``env``, no others. A ``Secret`` there is hidden in what it writes.
    """

    command: Sequence[str]
    config: Mapping[str, Any] | None = None
    timeout: float = 60.0
    memory_mb: float | None = None
    cwd: str | PurePath | None = None
    env: Mapping[str, str | Secret] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "command", self._checked_command())
        object.__setattr__(self, "config", self._checked_config())
        object.__setattr__(self, "env", self._checked_env())
        if not _is_positive(self.timeout):
            raise ConfigError(f"timeout is {self.timeout!r}; it must be a number of seconds above 0", key="timeout")
        if self.memory_mb is not None and not _is_positive(self.memory_mb):
            raise ConfigError(
                f"memory_mb is {self.memory_mb!r}; it must be above 0, or null for no limit",
                key="memory_mb",
            )
        if self.cwd is not None and not isinstance(self.cwd, (str, PurePath)):
            raise ConfigError(f"cwd is {self.cwd!r}; it must be the path of a folder", key="cwd")

    def _checked_command(self) -> tuple[str, ...]:
        command = self.command
        is_list = (
            isinstance(command, Sequence)
            and not isinstance(command, str)
            and all(_is_argument(argument) for argument in command)
        )
        if not is_list or not command or not command[0].strip():
            raise ConfigError(
                f"command is {command!r:.120}; write the program and its arguments as a list of texts, "
                'such as ["python", "check.py"]',
                key="command",
            )
        return tuple(command)

    def _checked_config(self) -> Mapping[str, Any]:
        config = {} if self.config is None else self.config
        if not isinstance(config, Mapping):
            raise ConfigError(f"config must be a mapping, not {type(config).__name__}", key="config")
        try:
            json.dumps(dict(config), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"config cannot be written as JSON: {error}", key="config") from None
        return config

    def _checked_env(self) -> dict[str, str | Secret]:
        env = {} if self.env is None else self.env
        if not isinstance(env, Mapping):
            raise ConfigError(f"env must be a mapping of names to texts, not {type(env).__name__}", key="env")
        for name, value in env.items():
            if not _is_argument(name) or not name or "=" in name:
                raise ConfigError(f"env has {name!r}, which is not a variable name", key="env")
            if not _is_argument(value.reveal() if isinstance(value, Secret) else value):
                kind = type(value).__name__  # not the value, which may be a secret
                raise ConfigError(
                    f"env: {name} is of type {kind}; it must be text, in quotes and without NUL",
                    key="env",
                )
        return dict(env)

    def run(self, case: Case) -> Steps[Exited]:
        """Run the program on a case; raises ``ContractError`` when the case cannot be written as JSON."""
        try:
            stdin = case_as_json(case, config=self.config or {})
        except (TypeError, ValueError, RecursionError) as error:
            raise ContractError(f"the case cannot be written as JSON: {error}", kind="unsendable") from None
        (answer,) = yield (
            Exec(
                argv=tuple(self.command),
                stdin=stdin,
                timeout=self.timeout,
                memory_bytes=None if self.memory_mb is None else int(self.memory_mb * 1024 * 1024),
                cwd=None if self.cwd is None else str(self.cwd),
                env={
                    name: value.reveal() if isinstance(value, Secret) else value
                    for name, value in (self.env or {}).items()
                },
            ),
        )
        if not isinstance(answer, Exited):
            raise TypeError(f"an Exec is answered by Exited, not {type(answer).__name__}")
        return self._scrubbed(answer)

    def _scrubbed(self, exited: Exited) -> Exited:
        values = [value for value in (self.env or {}).values() if isinstance(value, Secret)]
        # A secret may stand among other words, as in "Bearer …", and be shown without them.
        secrets = {
            Secret(word, is_credential=value.is_credential)
            for value in values
            for word in (value.reveal(), *value.reveal().split(None, _MOST_WORDS))
        }
        if not secrets:
            return exited
        answer, words = scrubber_of(secrets, in_replies=True), scrubber_of(secrets)
        problem = None if exited.problem is None else Failure.of(words.scrub(exited.problem))
        return replace(exited, stdout=answer.scrub(exited.stdout), stderr=words.scrub(exited.stderr), problem=problem)


def require_success(exited: Exited) -> None:
    """Refuse a program that did not come to its own good end: raises ``ContractError``."""
    if exited.problem is not None:
        problem = Failure.of(exited.problem)
        raise ContractError(problem.message, kind=problem.kind)
    if exited.code:
        ending = f"ended with code {exited.code}" if exited.code > 0 else f"was ended by signal {-exited.code}"
        raise ContractError(f"the program {ending}", kind="exit")


def quote_stderr(stderr: str) -> str:
    """End an error message with the first error that a program wrote; if there is none, with its last line."""
    lines = from_first_error(stderr).strip().splitlines()
    if not lines:
        return ""
    if lines[0].startswith(_TRACEBACK):
        problem = _python_error(lines[1:])
    else:
        problem = lines[0] if _ERROR.search(lines[0]) else lines[-1]
    return f"; stderr: {problem.strip()[:_LINE_KEPT]}"


def from_first_error(stderr: str) -> str:
    """Return what a program wrote from the line of its first error on; all of it if there is none."""
    match = _ERROR.search(stderr)
    return stderr[stderr.rfind("\n", 0, match.start()) + 1 :] if match else stderr


def _python_error(lines: Sequence[str]) -> str:
    """Return the error at the end of a traceback of Python, with the place where it was raised."""
    place = ""
    for line in lines:
        if line.startswith("  File "):
            place = line.strip()
        elif not line.startswith(" "):
            return f"{line} ({place})" if place else line
    return lines[-1] if lines else _TRACEBACK


def case_as_json(case: Case, *, config: Mapping[str, Any]) -> str:
    """Write a case as programs get it, in JSON that every parser and every locale reads; NaN is null.

    What the case does not have is null, or an empty list or object.
    """
    material = {
        "question": case.question_text,
        "expected_outcome": case.expected_outcome,
        "reference_answer": case.reference_answer,
        "candidate_answer": case.candidate_answer,
        "input_messages": _dicts(case.input_messages),
        "expected_messages": _dicts(case.expected_messages),
        "output_messages": _dicts(case.output_messages),
        "rubrics": [asdict(item) for item in case.items],
        "evaluation_schema": case.evaluation_schema,
        "context": None if case.context is None else context_to(case.context),
        "metadata": case.metadata,
        "case_id": case.id,
        "cluster": case.cluster,
        "latency": case.latency,
        "cost": case.cost,
        "config": config,
        **_for_agentv(case),
    }
    text = storable(json.dumps(material, ensure_ascii=False, default=_plain))
    return json.dumps(json.loads(text, parse_constant=lambda _: None))


# What AgentV's programs may ask for, and nobody knows of an answer here.
_UNKNOWN: Final = (
    "trace", "trace_summary", "token_usage", "start_time", "end_time", "file_changes", "workspace_path",
)  # fmt: skip


def _for_agentv(case: Case) -> dict[str, Any]:
    """Return a case by the names that AgentV's SDK validates, so that programs written with it run unchanged."""
    return {
        "criteria": case.expected_outcome or "",
        "input": _dicts(case.input_messages) or _said("user", case.question_text),
        "output": case.candidate_answer,
        "messages": _dicts(case.output_messages) or _said("assistant", case.candidate_answer),
        "expected_output": _dicts(case.expected_messages) or _said("assistant", case.reference_answer),
        "input_files": [],
        "guideline_files": [],
        "duration_ms": None if case.latency is None else case.latency * 1000,
        "cost_usd": case.cost,
        **dict.fromkeys(_UNKNOWN),
    }


def _said(role: str, text: str | None) -> list[dict[str, Any]]:
    return [] if text is None else [{"role": role, "content": text}]


def _dicts(messages: Sequence[MessageLike]) -> list[dict[str, Any]]:
    return [message.as_dict() for message in messages_from(messages)]


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _is_argument(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_positive(value: object) -> bool:
    return is_finite_number(value) and value > 0
