"""A program as the judge: it reads the case as JSON and writes its score as JSON (SPEC-O2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, ClassVar, Final

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.contract import Accepted, FieldContract, Score, Text, Texts, storable
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.evaluation import Attempt, Evaluation
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Exited
from evenhand.domain.scale import Range
from evenhand.domain.secret import Secret
from evenhand.drive.run_program import no_memory_limit
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.program import Program, from_first_error, quote_stderr, require_success, version_in
from evenhand.evaluators.reading import parse_strict

STDERR_KEPT: Final = 2_000

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


def _identity_of_version(version: str | None) -> dict[str, Any]:
    """Say by what a program without a version is known: as before there were versions."""
    return {} if version is None else {"version": version}


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
    variables and those in ``env``, no others. A ``Secret`` there is hidden in what the
    program writes. ``version`` stands for its source: once it is another, what the program has judged is judged again.
    """

    type: ClassVar[str] = "code_judge"

    command: Sequence[str]
    config: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 60.0
    memory_mb: float | None = 1024
    cwd: str | PurePath | None = None
    env: Mapping[str, str | Secret] = field(default_factory=dict, repr=False)
    version: str | None = field(default=None, metadata={"identity": _identity_of_version})

    def __post_init__(self) -> None:
        # Slotted dataclasses are made anew by their decorator, which leaves the bare super() behind.
        BaseEvaluator.__post_init__(self)
        try:
            program = self._program()
            version = version_in({"version": self.version})
        except ConfigError as error:
            raise error.within(self.where) from None
        self._set("version", version)
        self._set("command", program.command)
        self._set("config", program.config)
        self._set("env", program.env)

    def _program(self) -> Program:
        return Program(
            command=self.command,
            config=self.config,
            timeout=self.timeout,
            memory_mb=self.memory_mb,
            cwd=self.cwd,
            env=self.env,
        )

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Let the program judge a case."""
        if case.candidate_answer is None:
            return self.not_evaluated("There is no candidate answer.")
        try:
            exited = yield from self._program().run(case)
        except ContractError as error:
            return self.failed(error.failure)
        return self._evaluation(exited)

    def _evaluation(self, exited: Exited) -> Evaluation:
        notes: dict[str, Any] = {}
        if self.memory_mb is not None and (missing := no_memory_limit()):
            notes["memory_limit"] = missing
        if exited.stderr:
            notes["stderr"] = _shortened(exited.stderr)
        try:
            accepted, details = _read(exited)
        except ContractError as wrong:
            error = Failure(wrong.kind, f"{wrong}{quote_stderr(exited.stderr)}")
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


def _shortened(stderr: str) -> str:
    """Return a part of a long text that has the first error in it; where there is none, the end."""
    if len(stderr) <= STDERR_KEPT:
        return stderr
    rest = from_first_error(stderr)
    return rest[:STDERR_KEPT] if STDERR_KEPT < len(rest) < len(stderr) else stderr[-STDERR_KEPT:]


def _read(exited: Exited) -> tuple[Accepted, dict[str, Any]]:
    """Read what the program wrote, or raise ``ContractError`` for whatever keeps it from being a judgment."""
    require_success(exited)
    try:
        output = parse_strict(exited.stdout)
    except ContractError as wrong:
        rule = "standard output must be one JSON object and nothing else (logs belong on standard error)"
        raise ContractError(f"{rule}: {wrong}", kind=wrong.kind) from None
    return _OUTPUT.accept(_by_our_names(output)), _details(output)


# Programs written with AgentV's SDK list their findings under these names, each with whether it passed.
_FINDINGS: Final = {"checks": "pass", "assertions": "passed"}


def _by_our_names(output: Any) -> Any:
    """Return what a program wrote with findings as hits and misses, and a reason as reasoning."""
    if not isinstance(output, dict) or "hits" in output or "misses" in output:
        return output
    renamed = {"reasoning": output["reason"], **output} if isinstance(output.get("reason"), str) else output
    for name, passed in _FINDINGS.items():
        findings = output.get(name)
        if isinstance(findings, list) and all(_is_finding(finding, passed) for finding in findings):
            hits = [finding["text"] for finding in findings if finding[passed]]
            misses = [finding["text"] for finding in findings if not finding[passed]]
            return {**renamed, "hits": hits, "misses": misses}
    return renamed


def _is_finding(finding: object, passed: str) -> bool:
    return isinstance(finding, dict) and isinstance(finding.get("text"), str) and isinstance(finding.get(passed), bool)


def _details(output: object) -> dict[str, Any]:
    details = output.get("details") if isinstance(output, dict) else None
    if details is None:
        return {}
    if not isinstance(details, dict):
        raise ContractError(f"details must be an object, not {type(details).__name__}")
    kept: dict[str, Any] = json.loads(storable(json.dumps(details, ensure_ascii=False)))
    return kept
