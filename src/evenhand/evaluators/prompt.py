"""The unified prompt evaluator: a judge model scores an answer, freely or item by item (SPEC-P)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, Final, Literal

from evenhand import registry
from evenhand.domain.ask import Message, Steps
from evenhand.domain.case import Case, is_blank
from evenhand.domain.contract import Contract
from evenhand.domain.errors import ConfigError, TemplateError, require_flag
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.rubric import Rubric, RubricLike, rubric_items
from evenhand.domain.scale import Scale, scale_of
from evenhand.domain.seams import ModelClient
from evenhand.domain.template import Template
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS, Answered, GaveUp, check_attempts, inquire
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.freeform import freeform_steps, token_scale
from evenhand.evaluators.prompts import texts
from evenhand.evaluators.reading import AMBIGUOUS, Ambiguous, check_ambiguous
from evenhand.evaluators.rubric import rubric_steps
from evenhand.evaluators.sections import sections, short_sections

# The order of the sections: what changes least comes first, the candidate last, so that providers' caches hit.
MATERIAL: Final = ("expected_outcome", "question", "reference_answer", "candidate_answer")
DEFAULT_SAMPLES: Final = 5

ScoreFrom = Literal["auto", "text", "samples", "logprobs"]


def _known_as(ambiguous: str) -> dict[str, Any]:
    """Say by what the setting is known in the identity of an evaluator: that of stored runs must stay what it was."""
    known: dict[str, Any] = {"strict": ambiguous == "ask_again"}
    return known | ({AMBIGUOUS: ambiguous} if ambiguous == "last" else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEvaluator(BaseEvaluator):
    """Asks a judge model about an answer; with ``rubrics`` it checks item by item, without it grades freely.

    >>> from evenhand import Case, PromptEvaluator, Scripted
    >>> judge = Scripted(['{"score": 0.9, "hits": ["names the city"], "misses": [], "reasoning": "Right."}'])
    >>> case = Case(question="Capital of France?", candidate_answer="Paris", expected_outcome="Names Paris")
    >>> evaluation = PromptEvaluator(judge=judge).evaluate(case)
    >>> evaluation.score, str(evaluation.verdict), evaluation.hits
    (0.9, 'pass', ('names the city',))

    ``judge`` is a model's name (``openai/gpt-5-mini``), a client, another library's model, or a function.
    ``template`` replaces the user prompt; its places are ``{{ candidate_answer }}``, ``{{ question }}``,
    ``{{ reference_answer }}`` and ``{{ expected_outcome }}``. ``score_from`` is ``text``, ``samples`` (the mean of
    several replies, with their spread) or ``logprobs`` (the probabilities of the first token). ``rubric_mode`` asks
    for all items in one request (``joint``) or for each in its own (``separate``); ``shuffle`` is the seed of a
    recorded item order; ``evidence`` demands quotes, which are looked up in the answer; ``ambiguous`` says which of
    several different verdicts in one reply counts: the ``first`` or the ``last``, flagged, or none, to ``ask_again``.
    """

    type: ClassVar[str] = "llm_judge"
    places: ClassVar[tuple[str, ...]] = MATERIAL
    needed: ClassVar[tuple[str, ...]] = ("candidate_answer",)
    material_text: ClassVar[str] = texts.MATERIAL
    freeform_task: ClassVar[str] = texts.FREEFORM

    judge: Any = field(default=None, repr=False)  # whatever the registry can turn into a ModelClient; one afterwards
    template: str | None = None
    rubrics: Sequence[RubricLike] = ()
    max_attempts: int | None = None
    max_retries: InitVar[int | None] = None
    scale: Scale | str | Sequence[float] | None = None
    score_from: ScoreFrom = "auto"
    samples: int | None = None
    rubric_mode: Literal["joint", "separate"] = "joint"
    shuffle: int | None = None
    evidence: bool = False
    ambiguous: Ambiguous = field(default="first", metadata={"identity": _known_as})
    strict: InitVar[bool | None] = None

    def __post_init__(self, max_retries: int | None, strict: bool | None) -> None:
        # Slotted dataclasses are made anew by their decorator, which leaves the bare super() behind.
        BaseEvaluator.__post_init__(self)
        self._set("max_attempts", check_attempts(self.max_attempts, max_retries, where=self.where))
        self._set("rubrics", rubric_items(self.rubrics or (), where=f"{self.where}: rubrics"))
        self._set("scale", scale_of(self.scale))
        self._settle_ambiguous(strict)
        self._check_template()
        self._check_options()
        self._set("judge", registry.judge(self.judge))

    def _check_template(self) -> None:
        if self.template is None:
            return
        if not isinstance(self.template, str):
            raise ConfigError(f"{self.where}: template must be text, not {type(self.template).__name__}")
        parsed = Template.with_double_braces(self.template)
        parsed.require_known(self.places, where=f"{self.where}: the template")
        for name in self.needed:
            if name not in parsed.names:
                single = ", in double braces" if f"{{{name}}}" in self.template else ""
                raise TemplateError(
                    f"{self.where}: the template must use {{{{ {name} }}}}{single}: it is what is judged"
                )

    def _check_options(self) -> None:
        for name, allowed in (
            ("score_from", ("auto", "text", "samples", "logprobs")),
            ("rubric_mode", ("joint", "separate")),
        ):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{self.where}: {name} is {getattr(self, name)!r}; it must be {' or '.join(allowed)}")
        require_flag(self.evidence, f"{self.where}: evidence")
        self._settle_samples()
        if self.shuffle is not None and (isinstance(self.shuffle, bool) or not isinstance(self.shuffle, int)):
            raise ConfigError(f"{self.where}: shuffle is {self.shuffle!r}; it must be an integer, the seed")
        if self.score_from == "logprobs":
            if any(item.banded for item in self.items):
                raise ConfigError(f"{self.where}: score_from 'logprobs' checks yes-or-no items, without score_ranges")
            if self.evidence:
                raise ConfigError(f"{self.where}: score_from 'logprobs' reads one token, which can quote no evidence")
            token_scale(self)

    def _settle_ambiguous(self, strict: bool | None) -> None:
        """Take ``strict`` too, the old name: true was to ask again."""
        check_ambiguous(self.ambiguous, where=self.where)
        if strict is None:
            return
        require_flag(strict, f"{self.where}: strict")
        means: Ambiguous = "ask_again" if strict else "first"
        if self.ambiguous not in ("first", means):
            raise ConfigError(f"{self.where}: ambiguous {self.ambiguous} and strict {strict} disagree; drop strict")
        warnings.warn(
            f"{self.where}: 'strict' is the old name; write ambiguous={means!r}", DeprecationWarning, stacklevel=5
        )
        self._set("ambiguous", means)

    def _settle_samples(self) -> None:
        if self.samples is None:
            if self.score_from == "samples":
                self._set("samples", DEFAULT_SAMPLES)
            return
        if isinstance(self.samples, bool) or not isinstance(self.samples, int) or self.samples < 2:
            raise ConfigError(f"{self.where}: samples is {self.samples!r}; it must be an integer, 2 or more")
        if self.score_from not in {"auto", "samples"}:
            raise ConfigError(
                f"{self.where}: samples {self.samples} and score_from {self.score_from!r} disagree; drop one"
            )
        self._set("score_from", "samples")

    @property
    def client(self) -> ModelClient:
        """The judge, settled."""
        client: ModelClient = self.judge
        return client

    @property
    def items(self) -> tuple[Rubric, ...]:
        """The rubric items, settled."""
        return self.rubrics  # type: ignore[return-value]  # since it was made

    @property
    def settled_scale(self) -> Scale:
        """The scale, settled."""
        return self.scale  # type: ignore[return-value]  # since it was made

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Judge a case: item by item when it or the evaluator has rubrics, freely otherwise (SPEC-P1)."""
        if case.candidate_answer is None:
            return self.not_evaluated("There is no candidate answer.")
        if items := case.items or self.items:
            return (yield from rubric_steps(self, case, items))
        if self.template is None and is_blank(case.expected_outcome) and is_blank(case.reference_answer):
            return self.not_evaluated("There is neither an expected outcome nor a reference answer to judge by.")
        return (yield from freeform_steps(self, case))

    def user_prompt(self, case: Case) -> str:
        """Write the user prompt: the template filled in, or the sections."""
        material = self.material(case)
        if self.template is None:
            return sections(material)
        return Template.with_double_braces(self.template).render(material)

    def short_prompt(self, case: Case) -> str:
        """Write the user prompt in few tokens, for a question that is answered by one."""
        if self.template is not None:
            return self.user_prompt(case)
        material = self.material(case)
        material["candidate_answer"] = material["candidate_answer"] or texts.EMPTY
        return short_sections({texts.SHORT_NAMES.get(name, name): text for name, text in material.items()})

    def material(self, case: Case) -> dict[str, str]:
        """Return what the case brings into the prompt."""
        return {
            "expected_outcome": case.expected_outcome or "",
            "question": case.question_text or "",
            "reference_answer": case.reference_answer or "",
            "candidate_answer": case.candidate_answer or "",
        }

    def system_message(self, *parts: str) -> Message:
        """Write the system message: who judges, what the material is, then the task and the format of the reply."""
        material = self.material_text if self.template is None else texts.TEMPLATE_MATERIAL
        return _system_message(texts.JUDGE, material, *parts)

    def inquire(self, case: Case, contract: Contract, task: str, *, sample: int = 0) -> Steps[Answered | GaveUp]:
        """Put a question about a case to the judge."""
        return inquire(
            (self.system_message(task, contract.instructions()), Message("user", self.user_prompt(case))),
            judge=self.judge,
            contract=contract,
            max_attempts=self.max_attempts or DEFAULT_ATTEMPTS,
            sample=sample,
            ambiguous=self.ambiguous,
        )

    def by_probability(self, *, binary: bool) -> bool:
        """Tell whether to read first-token probabilities; ``auto`` does for binary checks of judges that prefer it."""
        if self.score_from == "auto":
            return binary and not self.evidence and getattr(self.client, "prefers_logprobs", False)
        return self.score_from == "logprobs"

    @property
    def sample_numbers(self) -> range:
        """The numbers of the replies to ask for: one, unless samples are wanted."""
        return range(self.samples or 1)


@functools.lru_cache(maxsize=64)  # it is one and the same for all cases of an evaluator, as a rule
def _system_message(*parts: str) -> Message:
    return Message("system", "\n\n".join(parts))


def rubric_evaluator(**options: Any) -> PromptEvaluator:
    """Make a prompt evaluator from a definition of the old type ``rubric`` (SPEC-P7)."""
    where = f"evaluator {options.get('name', 'rubric')!r} (rubric)"
    warnings.warn(f"{where}: 'rubric' is the old name; write 'llm_judge'", DeprecationWarning, stacklevel=3)
    if not options.get("rubrics"):
        raise ConfigError(f"{where}: rubrics is empty; list what to check")
    made: PromptEvaluator = registry.make(PromptEvaluator, options, where=where)
    return made
