"""A trial of a prompt: its test cases put to models, and what they answer judged, as a run like any other (SPEC-M3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenhand import registry
from evenhand.domain.case import Case, is_blank
from evenhand.domain.errors import ConfigError
from evenhand.domain.message import Message
from evenhand.domain.prompt import EvaluationMode, FieldError, Prompt, PromptText, TestCase
from evenhand.domain.run import PlannedCase
from evenhand.engine.job import Job, Scope
from evenhand.engine.target import target_of
from evenhand.engine.targets.several import SeveralTargets
from evenhand.evaluators.schema.evaluator import is_empty
from evenhand.models.resolve import unasked
from evenhand.store.store import Store

# The key of a run's definition that says whose it is.
PROMPT: Final = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is to be tried: a version of a prompt, on which models, on which of its test cases, how often.

    ``models`` and ``judge`` are names, or mappings with settings. Without ``test_cases`` all are taken; ``given`` are
    test cases that need not be stored, and are taken instead. ``max_attempts`` is how often a judge is asked for a
    reply that can be used; None leaves that to the evaluator.
    """

    prompt: Prompt
    models: Sequence[Any]
    judge: Any = None
    test_cases: Sequence[str] | None = None
    repeat: int = 1
    given: Sequence[TestCase] | None = None
    max_attempts: int | None = None

    def __post_init__(self) -> None:
        if not self.models:
            raise FieldError("models", "there is none; name at least one, such as openai/gpt-5-mini")

    @property
    def asks_judge(self) -> bool:
        """Whether a model judges the answers."""
        return asks_judge(self.prompt.text)

    @property
    def definition(self) -> dict[str, Any]:
        """What decides on the run, in plain JSON values: enough to go on with it later."""
        text = self.prompt.text
        definition: dict[str, Any] = {
            "name": f"{self.prompt.name} v{self.prompt.version}",
            PROMPT: {
                "id": self.prompt.id,
                "name": self.prompt.name,
                "version": self.prompt.version,
                "evaluation_mode": text.evaluation_mode.value,
            },
            "target": {"models": list(self.models)},
            "evaluators": [evaluator_of(text)],
        }
        if not is_empty(text.expected_schema):
            definition["target"]["response_schema"] = text.expected_schema
        if self.judge is not None and self.asks_judge:
            definition["judge"] = self.judge
        if self.max_attempts is not None and self.asks_judge:
            definition["evaluators"][0]["max_attempts"] = self.max_attempts
        return definition

    def job(self, store: Store, *, to_ask: bool = True) -> Job:
        """Make the job that the engine does; what cannot be right is refused here.

        A job that is not ``to_ask``, but only to be estimated, needs no keys.
        """
        definition = self.definition
        own = definition["evaluators"][0]
        with unasked(not to_ask):
            target = target_of(definition["target"] | {"models": self.models})
            assert isinstance(target, SeveralTargets)  # noqa: S101 - as models are
            if self.asks_judge:
                own = {**own, "judge": registry.judge(self.judge)}
        evaluators = (registry.evaluator(own),)
        chosen = self._selected_cases(store)
        return Job(
            name=definition["name"],
            definition=definition,
            cases=lambda: self._cases(chosen),
            evaluators_for=lambda _: evaluators,
            target=target,
            assign=target.assigned,
        )

    @property
    def scope(self) -> Scope:
        """How often each case is judged."""
        return Scope(repeat=self.repeat)

    def _selected_cases(self, store: Store) -> list[TestCase]:
        if self.given is not None:
            return list(self.given)
        cases = list(store.prompts.cases(self.prompt.id))
        if self.test_cases is not None:
            ids = set(self.test_cases)
            if not ids:
                raise FieldError("test_cases", "the list is empty; leave it out to take all of them")
            if missing := ids - {case.id for case in cases}:
                raise FieldError("test_cases", f"prompt {self.prompt.name!r} has no test case {min(missing)!r:.80}")
            cases = [case for case in cases if case.id in ids]
        if not cases:
            raise ConfigError(f"prompt {self.prompt.name!r} has no test cases yet; add one to try it on")
        return cases

    def _cases(self, chosen: Sequence[TestCase]) -> Iterator[PlannedCase]:
        for position, test_case in enumerate(chosen):
            yield PlannedCase(position=position, case=case_of(self.prompt.text, test_case))


def asks_judge(text: PromptText) -> bool:
    """Return whether a model judges the answers to a prompt: that takes the mode, and criteria to judge by."""
    return text.evaluation_mode is EvaluationMode.LLM and text.criteria is not None


def evaluator_of(text: PromptText) -> dict[str, Any]:
    """Return the definition of the evaluator of a prompt's answers, by its mode."""
    if text.evaluation_mode is EvaluationMode.SCHEMA:
        return {"name": "schema", "type": "schema"}
    if asks_judge(text):
        return {"name": "criteria", "type": "llm_judge"}
    return {"name": "criteria", "type": "unjudged", "why": "The prompt has no evaluation criteria."}


def case_of(text: PromptText, test_case: TestCase) -> Case:
    """Make the case to judge: the content as the system message, where there is any, and the input as the user's."""
    by_judge = asks_judge(text)
    system = () if is_blank(text.content) else (Message("system", text.content),)
    return Case(
        id=test_case.id,
        input_messages=(*system, Message("user", test_case.text.input)),
        expected_outcome=text.criteria if by_judge else None,
        reference_answer=test_case.text.reference if by_judge else None,
        evaluation_schema=test_case.text.evaluation_schema,
    )


def is_trial(definition: Any) -> bool:
    """Return whether a run's definition is that of a trial."""
    return PROMPT in definition
