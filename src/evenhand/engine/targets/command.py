"""A command as the target: it reads the case as JSON and writes the answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError, ContractError, did_you_mean
from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Exited
from evenhand.domain.run import MadeAnswer
from evenhand.domain.secret import HIDDEN, SECRET_NAMES
from evenhand.engine.targets.output import TargetOutput, read_output
from evenhand.evaluators.program import Program, quote_stderr, require_success, version_in
from evenhand.evaluators.reading import parse_strict
from evenhand.models.environment import program_env

KEYS: Final = ("command", "config", "cwd", "env", "memory_mb", "output", "timeout", "version")
_OUTPUTS: Final = ("text", "json")
_END_OF_LINE: Final = re.compile(r"\r?\n\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTarget:
    """Runs a program for each case; what it writes to standard output is the answer.

    With ``output`` ``json`` it writes an object instead, with the answer and what it took. ``written`` is the program
    as the user wrote it: its references to variables may be shown, their values in ``program`` may not. ``version``
    stands for its source where that is not to be looked at.
    """

    program: Program
    written: Program
    output: str = "text"
    version: str | None = None

    def __post_init__(self) -> None:
        if self.output not in _OUTPUTS:
            raise ConfigError(f"output is {self.output!r:.80}; it must be {' or '.join(_OUTPUTS)}", key="output")

    @classmethod
    def of(cls, settings: Mapping[str, Any], *, folder: str | None = None) -> CommandTarget:
        """Make a target from ``{"command": ["python", "app.py"], "timeout": 60, …}``."""
        for name in settings:
            if name not in KEYS:
                raise ConfigError(f"no key {name!r}{did_you_mean(str(name), KEYS)}", key=str(name))
        options = {name: value for name, value in settings.items() if name not in ("output", "version")}
        written = Program(**options)
        program = replace(written, env=program_env(written.env or {}), cwd=_working_folder(written.cwd, folder))
        output, version = settings.get("output", "text"), version_in(settings)
        return cls(program=program, written=written, output=output, version=version)

    @property
    def name(self) -> str:
        """How the target is called in reports."""
        return shlex.join(self.program.command)

    def client_for(self, _: Case) -> None:
        """No model is asked that we would know of."""
        return

    def description(self) -> dict[str, Any]:
        """Say what decides on the answers, in plain JSON values and without secrets."""
        return {
            "command": list(self.written.command),
            "config": self.written.config,
            "cwd": None if self.written.cwd is None else str(self.written.cwd),
            "env": {name: _redact(name, str(value)) for name, value in (self.written.env or {}).items()},
            "output": self.output,
        } | ({} if self.version is None else {"version": self.version})

    def steps(self, case: Case) -> Steps[MadeAnswer]:
        """Let the program answer a case."""
        try:
            exited = yield from self.program.run(case)
        except ContractError as wrong:
            return MadeAnswer(text=None, error=wrong.failure)
        try:
            require_success(exited)
            output = self._read_stdout(exited.stdout)
        except ContractError as wrong:
            error = Failure(wrong.kind, f"{wrong}{quote_stderr(exited.stderr)}")
            kind = "reply" if exited.problem is None else "transport"
            return MadeAnswer(text=None, error=error, attempts=(_attempt(exited, kind=kind, error=error),))
        return output.answer(exited.seconds, _attempt(exited))

    def _read_stdout(self, stdout: str) -> TargetOutput:
        if self.output == "json":
            return read_output(parse_strict(stdout))
        # Word for word, but for the end of the last line, which programs write and do not mean.
        return TargetOutput(text=storable(_END_OF_LINE.sub("", stdout)))


def _attempt(exited: Exited, **rest: Any) -> Attempt:
    return Attempt(**{"kind": "reply", "raw": exited.stdout, "latency": exited.seconds, **rest})


def _redact(name: str, written: str) -> str:
    return HIDDEN if SECRET_NAMES.search(name) and "${" not in written else written


def _working_folder(cwd: object, folder: str | None) -> str | None:
    """Return the folder in which the program runs: that of the suite, unless another is given."""
    if folder is None:
        return None if cwd is None else str(cwd)
    return str(Path(folder) if cwd is None else Path(folder, str(cwd)))
