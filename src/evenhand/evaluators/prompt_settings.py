"""The settings of a prompt evaluator, checked, and the prompts that they make of a case."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, Final, Literal

from evenhand import registry
from evenhand.domain.ask import ModelClient, Steps
from evenhand.domain.case import Case, is_blank
from evenhand.domain.contract import Contract
from evenhand.domain.errors import ConfigError, TemplateError, about, require_flag
from evenhand.domain.message import Message
from evenhand.domain.rubric import Rubric, RubricLike, rubric_items
from evenhand.domain.scale import UNIT, Choices, Labels, Range, Scale, scale_of
from evenhand.domain.template import METADATA, Template, value_text
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS, Answered, GaveUp, check_attempts, inquire
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.judged_examples import ExampleLike, judged_examples, shown_examples
from evenhand.evaluators.prompts import texts
from evenhand.evaluators.prompts.ready import READY, ReadyPrompt, named_prompt
from evenhand.evaluators.reading import AMBIGUOUS, Ambiguous, check_ambiguous
from evenhand.evaluators.sections import CONTEXT, context_sections, sections, short_sections

# The order of the sections: what changes least comes first, the candidate last, so that providers' caches hit.
MATERIAL: Final = ("expected_outcome", "context", "question", "reference_answer", "candidate_answer")
DEFAULT_SAMPLES: Final = 5
# One token must be one whole number, and tokenizers agree on single digits only.
DEFAULT_TOKEN_SCALE: Final = Range(low=1, high=5, whole=True)

ScoreFrom = Literal["auto", "text", "samples", "logprobs"]


def _identity_of(ambiguous: str) -> dict[str, Any]:
    """Say by what the setting is known in the identity of an evaluator: that of stored runs must stay what it was."""
    identity: dict[str, Any] = {"strict": ambiguous == "ask_again"}
    return identity | ({AMBIGUOUS: ambiguous} if ambiguous == "last" else {})


def _identity_of_prompt(name: str | None) -> dict[str, Any]:
    """Say by what a ready prompt is known: by its text, which another version may change."""
    return {} if name is None else {"prompt": READY[name].text}


def _identity_of_instructions(instructions: str | None) -> dict[str, Any]:
    return {} if instructions is None else {"instructions": instructions}


def _identity_of_examples(examples: Sequence[Any]) -> dict[str, Any]:
    return {"examples": [example.as_dict() for example in examples]} if examples else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings(BaseEvaluator):
    """The settings of a ``PromptEvaluator``, in both of its modes."""

    places: ClassVar[tuple[str, ...]] = MATERIAL
    needed: ClassVar[tuple[str, ...]] = ("candidate_answer",)
    material_text: ClassVar[str] = texts.MATERIAL
    freeform_task: ClassVar[str] = texts.FREEFORM

    judge: Any = field(default=None, repr=False)  # whatever the registry can turn into a ModelClient; one afterwards
    template: str | None = None
    prompt: str | None = field(default=None, metadata={"identity": _identity_of_prompt})
    rubrics: Sequence[RubricLike] = ()
    max_attempts: int | None = None
    max_retries: InitVar[int | None] = None
    scale: Scale | str | Sequence[float] | None = None
    # Known by the scale that it becomes.
    choices: Mapping[str, float] | None = field(default=None, metadata={"identity": lambda _: {}})
    score_from: ScoreFrom = "auto"
    samples: int | None = None
    rubric_mode: Literal["joint", "separate"] = "joint"
    shuffle: int | None = None
    evidence: bool = False
    ambiguous: Ambiguous = field(default="first", metadata={"identity": _identity_of})
    strict: InitVar[bool | None] = None
    model: InitVar[str | None] = None
    instructions: str | None = field(default=None, metadata={"identity": _identity_of_instructions})
    examples: Sequence[ExampleLike] = field(default=(), metadata={"identity": _identity_of_examples})

    def __post_init__(self, max_retries: int | None, strict: bool | None, model: str | None) -> None:
        # Slotted dataclasses are made anew by their decorator, which leaves the bare super() behind.
        BaseEvaluator.__post_init__(self)
        self._set("max_attempts", check_attempts(self.max_attempts, max_retries, where=self.where))
        with about("rubrics"):
            self._set("rubrics", rubric_items(self.rubrics or (), where=f"{self.where}: rubrics"))
        with about("scale"):
            self._set("scale", scale_of(self.scale))
        self._settle_choices()
        self._settle_ambiguous(strict)
        self._check_template()
        self._check_prompt()
        self._check_options()
        self._settle_guidance()
        with about("judge"):
            self._set("judge", registry.judge(self.judge, model=model))

    def _settle_choices(self) -> None:
        if self.choices is None:
            return
        try:
            labels = Labels.of(self.choices)
        except ConfigError as error:
            raise error.within(self.where, key="choices") from None
        if self.scale not in (UNIT, labels):
            raise ConfigError(f"{self.where}: choices and scale are two ways to score; drop one", key="scale")
        if self.rubrics:
            raise ConfigError(
                f"{self.where}: choices are for the answer as a whole; drop them, or rubrics", key="choices"
            )
        self._set("scale", labels)

    def _check_template(self) -> None:
        if self.template is None:
            return
        if not isinstance(self.template, str):
            raise ConfigError(
                f"{self.where}: template must be text, not {type(self.template).__name__}", key="template"
            )
        parsed = Template.with_double_braces(self.template)
        with about("template"):
            parsed.require_plain(self.places, where=f"{self.where}: the template")
            known = (*self.places, *(name for name in parsed.names if name.startswith(METADATA)))
            parsed.require_known(known, where=f"{self.where}: the template")
        for name in self.needed:
            if name not in parsed.names:
                single = ", in double braces" if f"{{{name}}}" in self.template else ""
                raise TemplateError(
                    f"{self.where}: the template must use {{{{ {name} }}}}{single}: it is what is judged",
                    key="template",
                )

    def _check_prompt(self) -> None:
        if self.prompt is None:
            return
        named_prompt(self.prompt, where=self.where)
        for name in ("template", "rubrics", "evidence"):
            if getattr(self, name):
                raise ConfigError(
                    f"{self.where}: prompt and {name} are two ways to say what is judged; drop one", key=name
                )
        if self.score_from == "logprobs":
            raise ConfigError(f"{self.where}: score_from 'logprobs' does not go with a ready prompt", key="score_from")

    def _check_options(self) -> None:
        for name, allowed in (
            ("score_from", ("auto", "text", "samples", "logprobs")),
            ("rubric_mode", ("joint", "separate")),
        ):
            if getattr(self, name) not in allowed:
                raise ConfigError(
                    f"{self.where}: {name} is {getattr(self, name)!r}; it must be {' or '.join(allowed)}", key=name
                )
        require_flag(self.evidence, "evidence", where=self.where)
        self._settle_samples()
        if self.shuffle is not None and (isinstance(self.shuffle, bool) or not isinstance(self.shuffle, int)):
            raise ConfigError(
                f"{self.where}: shuffle is {self.shuffle!r}; it must be an integer, the seed", key="shuffle"
            )
        if self.score_from == "logprobs":
            if any(item.banded for item in self.items):
                raise ConfigError(
                    f"{self.where}: score_from 'logprobs' checks yes-or-no items, without score_ranges",
                    key="score_from",
                )
            if self.evidence:
                raise ConfigError(
                    f"{self.where}: score_from 'logprobs' reads one token, which can quote no evidence",
                    key="score_from",
                )
            self.token_scale()  # refuses one that does not fit

    def _settle_guidance(self) -> None:
        if self.instructions is not None and (not isinstance(self.instructions, str) or is_blank(self.instructions)):
            raise ConfigError(
                f"{self.where}: instructions is {self.instructions!r:.80}; write what the judge is to heed",
                key="instructions",
            )
        with about("examples"):
            self._set("examples", judged_examples(self.examples, where=f"{self.where}: examples"))

    def _settle_ambiguous(self, strict: bool | None) -> None:
        """Take ``strict`` too, the old name: true was to ask again."""
        check_ambiguous(self.ambiguous, where=self.where)
        if strict is None:
            return
        require_flag(strict, "strict", where=self.where)
        means: Ambiguous = "ask_again" if strict else "first"
        if self.ambiguous not in ("first", means):
            raise ConfigError(
                f"{self.where}: ambiguous {self.ambiguous} and strict {strict} disagree; drop strict", key="strict"
            )
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
            raise ConfigError(
                f"{self.where}: samples is {self.samples!r}; it must be an integer, 2 or more", key="samples"
            )
        if self.score_from not in {"auto", "samples"}:
            raise ConfigError(
                f"{self.where}: samples {self.samples} and score_from {self.score_from!r} disagree; drop one",
                key="samples",
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

    @property
    def ready(self) -> ReadyPrompt:
        """The ready prompt, where one was named."""
        return READY[self.prompt or ""]

    def user_prompt(self, case: Case) -> str:
        """Write the user prompt: a ready one, the template filled in, or the sections."""
        if self.prompt is not None:
            return self.ready.render_case(case)
        if self.template is None:
            return sections(self.material(case))
        template = Template.with_double_braces(self.template)
        return template.render(self.material(case) | case_texts(case, template.names))

    def short_prompt(self, case: Case) -> str:
        """Write the user prompt in few tokens, for a question that is answered by one."""
        if self.template is not None:
            return self.user_prompt(case)
        material = self.material(case)
        material["candidate_answer"] = material["candidate_answer"] or texts.EMPTY
        return short_sections({texts.short_name(name): text for name, text in material.items()})

    def material(self, case: Case) -> dict[str, str]:
        """Return what the case brings into the prompt."""
        return {
            "expected_outcome": case.expected_outcome or "",
            **context_sections(case),
            "question": case.question_text or "",
            "reference_answer": case.reference_text or "",
            "candidate_answer": case.candidate_answer or "",
        }

    def missing_in(self, case: Case) -> str:
        """Say what a case lacks that the ready prompt needs or the template uses; "" where nothing is."""
        if self.prompt is not None:
            return self.ready.missing_in(case)
        if self.template is None:
            return ""
        names = Template.with_double_braces(self.template).names
        try:
            missing = sorted(names_needed(names) - case_texts(case, names).keys())
        except ConfigError as error:
            return f"The template uses {error}"
        return f"The template uses {', '.join(missing)}, which the case does not have." if missing else ""

    def system_message(self, case: Case, *parts: str) -> Message:
        """Write the system message: who judges, what the material is, then the task and the format of the reply."""
        guidance = self.guidance(case)
        if self.prompt is not None:
            return _system_message(texts.READY_JUDGE, *guidance, *parts)
        material = (
            texts.TEMPLATE_MATERIAL if self.template is not None else texts.with_context(self.material_text, case)
        )
        return _system_message(texts.JUDGE, material, *guidance, *parts)

    def guidance(self, case: Case) -> tuple[str, ...]:
        """Return what the judge is told beyond the usual: the instructions, and the examples but the case's own."""
        if self.instructions is None and not self.examples:
            return ()
        shown = shown_examples(self.examples, case)  # type: ignore[arg-type]  # since it was made
        return tuple(part for part in (self.instructions, shown) if part)

    def inquire(self, case: Case, contract: Contract, task: str, *, sample: int = 0) -> Steps[Answered | GaveUp]:
        """Put a question about a case to the judge."""
        return inquire(
            (self.system_message(case, task, contract.instructions()), Message("user", self.user_prompt(case))),
            judge=self.judge,
            contract=contract,
            max_attempts=self.max_attempts or DEFAULT_ATTEMPTS,
            sample=sample,
            ambiguous=self.ambiguous,
        )

    def by_probability(self, *, binary: bool) -> bool:
        """Return whether to read token probabilities; ``auto`` does for binary checks of judges that prefer it."""
        if self.score_from == "auto":
            return binary and not self.evidence and getattr(self.client, "prefers_logprobs", False)
        return self.score_from == "logprobs"

    def token_scale(self) -> Range:
        """Return the scale for a score that is read from one token, or refuse this one's."""
        scale = self.settled_scale
        match scale:
            case Range() if scale == UNIT:
                return DEFAULT_TOKEN_SCALE
            case Range() if (
                scale.low == int(scale.low) and scale.high == int(scale.high) and 0 <= scale.low < scale.high <= 9
            ):
                return Range(low=scale.low, high=scale.high, whole=True)
            case _:
                label = list(scale.values) if isinstance(scale, Choices) else scale.words
                raise ConfigError(
                    f"{self.where}: score_from 'logprobs' reads one digit; the scale {label} does not fit, '1-5' would",
                    key="score_from",
                )

    @property
    def sample_numbers(self) -> range:
        """The numbers of the replies to ask for: one, unless samples are wanted."""
        return range(self.samples or 1)


def names_needed(names: Iterable[str]) -> set[str]:
    """Return those of a template's names that a case must have: the others are left empty."""
    return {name for name in names if name == CONTEXT or name.startswith(METADATA)}


def has_text(case: Case, name: str) -> bool:
    """Return whether a case has what stands at a place of a template."""
    try:
        return name in case_texts(case, [name])
    except ConfigError:
        return False


def case_texts(case: Case, names: Iterable[str]) -> dict[str, str]:
    """Return the context and the metadata of a case as texts, of those names that it has."""
    texts_by_name: dict[str, str] = {}
    for name in names_needed(names):
        value = case.context_text if name == CONTEXT else case.metadata.get(name.removeprefix(METADATA))
        if value is not None:
            try:
                texts_by_name[name] = value_text(value)
            except ConfigError as error:
                raise ConfigError(f"{name}: {error}") from None
    return texts_by_name


@functools.lru_cache(maxsize=64)  # it is one and the same for all cases of an evaluator, as a rule
def _system_message(*parts: str) -> Message:
    return Message("system", "\n\n".join(parts))
