"""The prompt evaluator: a judge model scores an answer, as a whole or item by item (SPEC-P)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

from evenhand import registry
from evenhand.domain.ask import Steps
from evenhand.domain.case import Case, is_blank
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation
from evenhand.evaluators.freeform import freeform_steps
from evenhand.evaluators.prompt_settings import PromptSettings
from evenhand.evaluators.rubric import rubric_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEvaluator(PromptSettings):
    """Asks a judge model about an answer; with ``rubrics`` it checks item by item, without it grades freely.

    >>> from evenhand import Case, PromptEvaluator, Scripted
    >>> judge = Scripted(['{"score": 0.9, "hits": ["names the city"], "misses": [], "reasoning": "Right."}'])
    >>> case = Case(question="Capital of France?", candidate_answer="Paris", expected_outcome="Names Paris")
    >>> evaluation = PromptEvaluator(judge=judge).evaluate(case)
    >>> evaluation.score, str(evaluation.verdict), evaluation.hits
    (0.9, 'pass', ('names the city',))

    ``judge`` is a model's name (``openai/gpt-5-mini``), a client, another library's model, or a function; ``model``
    names the model that an OpenAI client shall ask.
    ``template`` replaces the user prompt; its places are ``{{ candidate_answer }}``, ``{{ question }}``,
    ``{{ reference_answer }}``, ``{{ expected_outcome }}``, ``{{ context }}`` and, for a key of the case's metadata,
    ``{{ metadata.key }}``; a case that lacks one of the last two is not evaluated. ``prompt`` is the name of a ready
    prompt, such as ``faithfulness``, which says what is judged and needs some fields of the case. ``choices`` maps
    labels to numbers: the judge gives one of the labels, which the evaluation has as its ``label``.
    ``instructions`` tell the judge what to heed beside that, and ``examples`` are answers that people judged: mappings
    with ``question``, ``candidate_answer``, ``verdict`` (pass or fail) and, if there is one, the ``reasoning``. An
    example of the very answer that is judged is not shown.
    ``score_from`` is ``text``, ``samples`` (the mean of several replies, with their spread) or ``logprobs`` (the
    probabilities of the first token). ``rubric_mode`` asks for all items in one request (``joint``) or for each in its
    own (``separate``); ``shuffle`` is the seed of a recorded item order; ``evidence`` demands quotes, which are looked
    up in the answer; ``ambiguous`` says which of several different verdicts in one reply counts: the ``first`` or the
    ``last``, flagged, or none, to ``ask_again``.
    """

    type: ClassVar[str] = "llm_judge"

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Judge a case: item by item when it or the evaluator has rubrics, freely otherwise (SPEC-P1)."""
        if case.candidate_answer is None and (self.prompt is None or "outputs" in self.ready.needs):
            return self.not_evaluated("There is no candidate answer.")
        if missing := self.missing_in(case):
            return self.not_evaluated(missing)
        if self.prompt is not None:
            return (yield from freeform_steps(self, case))
        items = () if self.choices is not None else case.items or self.items
        if items:
            return (yield from rubric_steps(self, case, items))
        if self.template is None and is_blank(case.expected_outcome) and is_blank(case.reference_answer):
            return self.not_evaluated("There is neither an expected outcome nor a reference answer to judge by.")
        return (yield from freeform_steps(self, case))


def rubric_evaluator(**options: Any) -> PromptEvaluator:
    """Make a prompt evaluator from a definition of the old type ``rubric`` (SPEC-P7)."""
    where = f"evaluator {options.get('name', 'rubric')!r} (rubric)"
    warnings.warn(f"{where}: 'rubric' is the old name; write 'llm_judge'", DeprecationWarning, stacklevel=3)
    if not options.get("rubrics"):
        raise ConfigError(f"{where}: rubrics is empty; list what to check", key="rubrics")
    made: PromptEvaluator = registry.make(PromptEvaluator, options, where=where)
    return made
