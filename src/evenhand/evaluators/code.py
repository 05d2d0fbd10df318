"""A program as the judge: it reads the case as JSON and writes its score as JSON (SPEC-O2)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any, ClassVar, Final

from evenhand.domain.ask import Exec, MessageLike, Steps, messages_from
from evenhand.domain.case import Case
from evenhand.domain.contract import Accepted, FieldContract, Score, Text, Texts, storable
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.evaluation import Attempt, Evaluation
from evenhand.domain.reply import Exited
from evenhand.domain.scale import Range
from evenhand.drive.program import no_memory_limit
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.reading import parse_strict

STDERR_KEPT: Final = 2_000
_LINE_KEPT = 300

# A program that scores outside its scale has a bug, and would have it again: nothing is clamped.
_SCALE = Range(low=0.0, high=1.0, outside="reject")
_OUTPUT = FieldContract(
    name="code_judge",
    fields=(
        Score(scale=_SCALE),
        Texts(name="hits"),
        Texts(name="misses"),
        Text(name="reasoning"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeJudgeEvaluator(BaseEvaluator):
    """Runs a program that judges an answer.

    >>> import sys
    >>> from evenhand import Case
    >>> brevity = "import json, sys; print(json.dumps({'score': 1 / len(json.load(sys.stdin)['candidate_answer'])}))"
    >>> CodeJudgeEvaluator(command=[sys.executable, "-c", brevity]).evaluate(Case(candidate_answer="42")).score
    0.5

    ``command`` is the program and its arguments, as a list: no shell reads it. The program finds the case and
    ``config`` as one JSON object on its standard input, and writes one JSON object with ``score`` (0 to 1) and, if it
    likes, ``hits``, ``misses``, ``reasoning`` and ``details`` to its standard output. It runs in ``cwd``, for at most
    ``timeout`` seconds, with ``memory_mb`` of address space (None: unlimited), and sees harmless environment
    variables and those in ``env``, no others.
    """

    type: ClassVar[str] = "code_judge"

    command: Sequence[str]
    config: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 60.0
    memory_mb: float | None = 1024
    cwd: str | PurePath | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        # Slotted dataclasses are made anew by their decorator, which leaves the bare super() behind.
        BaseEvaluator.__post_init__(self)
        self._set("command", self._checked_command())
        self._set("config", self._checked_config())
        self._set("env", self._checked_env())
        if not _is_positive(self.timeout):
            raise ConfigError(f"{self.where}: timeout is {self.timeout!r}; it must be a number of seconds above 0")
        if self.memory_mb is not None and not _is_positive(self.memory_mb):
            raise ConfigError(
                f"{self.where}: memory_mb is {self.memory_mb!r}; it must be above 0, or null for no limit"
            )
        if self.cwd is not None and not isinstance(self.cwd, (str, PurePath)):
            raise ConfigError(f"{self.where}: cwd is {self.cwd!r}; it must be the path of a folder")

    def _checked_command(self) -> tuple[str, ...]:
        given = self.command
        is_list = isinstance(given, Sequence) and not isinstance(given, str) and all(_is_argument(one) for one in given)
        if not is_list or not given or not given[0].strip():
            raise ConfigError(
                f"{self.where}: command is {given!r:.120}; write the program and its arguments as a list of texts, "
                'such as ["python", "check.py"]'
            )
        return tuple(given)

    def _checked_config(self) -> Mapping[str, Any]:
        given = {} if self.config is None else self.config
        if not isinstance(given, Mapping):
            raise ConfigError(f"{self.where}: config must be a mapping, not {type(given).__name__}")
        try:
            json.dumps(dict(given), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"{self.where}: config cannot be written as JSON: {error}") from None
        return given

    def _checked_env(self) -> dict[str, str]:
        given = {} if self.env is None else self.env
        if not isinstance(given, Mapping):
            raise ConfigError(f"{self.where}: env must be a mapping of names to texts, not {type(given).__name__}")
        for name, value in given.items():
            if not _is_argument(name) or not name or "=" in name:
                raise ConfigError(f"{self.where}: env has {name!r}, which is no name of a variable")
            if not _is_argument(value):
                kind = type(value).__name__  # not the value, which may be a secret
                raise ConfigError(
                    f"{self.where}: env: {name} is of type {kind}; it must be text, in quotes and without NUL"
                )
        return dict(given)

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Let the program judge a case."""
        if case.candidate_answer is None:
            return self.not_evaluated("There is no candidate answer.")
        try:
            stdin = _as_json({**_material(case), "config": self.config})
        except (TypeError, ValueError, RecursionError) as error:
            return self.failed(f"unsendable: the case cannot be written as JSON: {error}")
        (answer,) = yield (
            Exec(
                argv=tuple(self.command),
                stdin=stdin,
                timeout=self.timeout,
                memory_bytes=None if self.memory_mb is None else int(self.memory_mb * 1024 * 1024),
                cwd=None if self.cwd is None else str(self.cwd),
                env=self.env,
            ),
        )
        if not isinstance(answer, Exited):
            raise TypeError(f"an Exec is answered by Exited, not {type(answer).__name__}")
        return self._evaluation(answer)

    def _evaluation(self, exited: Exited) -> Evaluation:
        notes: dict[str, Any] = {}
        if self.memory_mb is not None and (missing := no_memory_limit()):
            notes["memory_limit"] = missing
        if exited.stderr:
            notes["stderr"] = exited.stderr[-STDERR_KEPT:]
        try:
            accepted, details = _read(exited)
        except ContractError as wrong:
            error = f"{wrong.kind}: {wrong}{_last_words(exited.stderr)}"
            if exited.problem is None:
                attempt = Attempt(kind="reply", raw=exited.stdout, error=error, latency=exited.seconds)
            else:
                attempt = Attempt(kind="transport", raw=exited.stdout or None, error=error, latency=exited.seconds)
            return self.failed(error, details=notes, attempts=(attempt,))
        raw = accepted.values["score"]
        return self.scored(
            _SCALE.unit(raw),
            score_raw=raw,
            hits=accepted.values["hits"],
            misses=accepted.values["misses"],
            reasoning=accepted.values["reasoning"],
            details=notes | details,
            attempts=(Attempt(kind="reply", raw=exited.stdout, latency=exited.seconds),),
            flags=accepted.flags,
        )


def _material(case: Case) -> dict[str, Any]:
    """Give a case as programs get it; what it does not have is null, or an empty list or object."""
    return {
        "question": case.question_text,
        "expected_outcome": case.expected_outcome,
        "reference_answer": case.reference_answer,
        "candidate_answer": case.candidate_answer,
        "input_messages": _dicts(case.input_messages),
        "expected_messages": _dicts(case.expected_messages),
        "output_messages": _dicts(case.output_messages),
        "rubrics": [asdict(item) for item in case.items],
        "evaluation_schema": case.evaluation_schema,
        "metadata": case.metadata,
        "case_id": case.id,
        "cluster": case.cluster,
        "latency": case.latency,
        "cost": case.cost,
    }


def _dicts(messages: Sequence[MessageLike]) -> list[dict[str, Any]]:
    return [message.as_dict() for message in messages_from(messages)]


def _as_json(value: Mapping[str, Any]) -> str:
    """Write JSON that every parser takes, in ASCII, which every locale reads: NaN is null, lone surrogates are gone."""
    text = storable(json.dumps(value, ensure_ascii=False, default=_plain))
    return json.dumps(json.loads(text, parse_constant=lambda _: None))


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _read(exited: Exited) -> tuple[Accepted, dict[str, Any]]:
    """Read what the program wrote, or raise ``ContractError`` for whatever keeps it from being a judgment."""
    if exited.problem is not None:
        kind, _, sentence = exited.problem.partition(": ")
        raise ContractError(sentence, kind=kind)
    if exited.code:
        ending = f"ended with code {exited.code}" if exited.code > 0 else f"was ended by signal {-exited.code}"
        raise ContractError(f"the program {ending}", kind="exit")
    try:
        said = parse_strict(exited.stdout)
    except ContractError as wrong:
        rule = "standard output must be one JSON object and nothing else (logs belong on standard error)"
        raise ContractError(f"{rule}: {wrong}", kind=wrong.kind) from None
    return _OUTPUT.accept(said), _details(said)


def _details(said: object) -> dict[str, Any]:
    details = said.get("details") if isinstance(said, dict) else None
    if details is None:
        return {}
    if not isinstance(details, dict):
        raise ContractError(f"details must be an object, not {type(details).__name__}")
    kept: dict[str, Any] = json.loads(storable(json.dumps(details, ensure_ascii=False)))
    return kept


def _last_words(stderr: str) -> str:
    """End an error message with the last line of stderr, which is where most languages say what went wrong."""
    last = stderr.strip().rpartition("\n")[2]
    return f"; stderr ends: {last[:_LINE_KEPT]}" if last else ""


def _is_argument(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0
