"""Several targets in one run: every case is answered by each of them, and the answers are judged side by side.

``target`` is then a list, or a mapping with ``models`` or ``prompts``, of which every model is asked with every prompt.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, cast

from evenhand.domain.ask import ModelClient, Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.failure import Failure
from evenhand.domain.run import MadeAnswer, PlannedCase, RunRecord
from evenhand.engine.targets.base import Target
from evenhand.models.resolve import normal_name

# The keys of a case's metadata that name its target, the prompt of that, and the case that several targets answer.
MODEL: Final = "model"
PROMPT: Final = "prompt"
TEST_CASE: Final = "test_case"

MODELS: Final = "models"
PROMPTS: Final = "prompts"
NAME: Final = "name"
_TEXTS: Final = ("prompt", "system")
_MOST_CHARACTERS: Final = 80


class SingleTarget(NamedTuple):
    """One target of several: its definition, the ``name`` that it was given, if any, and that of its prompt."""

    definition: object
    name: str | None = None
    prompt: str | None = None

    def label(self, own_name: str) -> str:
        """Return how it is called in the run; ``own_name`` is that of a target without a given name."""
        name = self.name or own_name
        return name if self.prompt is None else f"{name} + {self.prompt}"


def stands_for_several(target: object) -> bool:
    """Return whether the definition of a target is of the kind that may stand for several."""
    return isinstance(target, (list, tuple)) or (
        isinstance(target, Mapping) and any(target.get(key) is not None for key in (MODELS, PROMPTS))
    )


def single_targets(target: object) -> Iterator[SingleTarget]:
    """Yield each target that a definition stands for, in its order: the prompts of a model one after the other.

    >>> several = {"models": ["ollama/a", "ollama/b"], "prompts": {"terse": "In a word: {{ input }}"}}
    >>> [single.definition["model"] for single in single_targets(several)]
    ['ollama/a', 'ollama/b']
    """
    if not isinstance(target, (list, tuple)):
        yield from _named_targets(target)
        return
    if not target:
        raise ConfigError("the list is empty; name at least one target, such as openai/gpt-5-mini")
    for member in target:
        if isinstance(member, (list, tuple)):
            raise ConfigError("a list of targets has a list in it; write its targets one after the other")
        yield from _named_targets(member)


def _named_targets(target: object) -> Iterator[SingleTarget]:
    """Yield the targets of a definition that may have a name."""
    if not isinstance(target, Mapping):
        yield SingleTarget(target)
        return
    name = None if target.get(NAME) is None else _checked_name(target[NAME], NAME)
    if not stands_for_several(target):
        yield SingleTarget(target, name)
        return
    options = {str(key): value for key, value in target.items() if value is not None and key != NAME}
    if name is not None and MODELS in options:
        raise ConfigError("name is for one target, and models are several; give each model its own name", key=NAME)
    for single in _combinations(options):
        yield single if name is None else single._replace(name=name)


def _combinations(options: dict[str, Any]) -> Iterator[SingleTarget]:
    models, prompts = options.pop(MODELS, None), options.pop(PROMPTS, None)
    if models is not None and "model" in options:
        raise ConfigError("it has model and models; list all of them under models", key="model")
    if models is None and "model" not in options:
        raise ConfigError("prompts are for a model: it needs model or models", key=PROMPTS)
    if models is not None and (not isinstance(models, (list, tuple)) or not models):
        raise ConfigError("models must be a list of names, such as [openai/gpt-5-mini, ollama/qwen2.5:7b]", key=MODELS)
    if prompts is not None and "prompt" in options:
        raise ConfigError("it has prompt and prompts; put all of them under prompts", key="prompt")
    texts: list[tuple[str | None, dict[str, Any]]] = [(None, {})] if prompts is None else list(_prompts(prompts))
    for model in [options.pop("model")] if models is None else models:
        settings = dict(model) if isinstance(model, Mapping) else {"model": model}
        given = settings.pop(NAME, None)
        if prompts is not None and settings.get("prompt") is not None:
            raise ConfigError("a model has a prompt of its own next to prompts; put it under prompts", key=MODELS)
        name = None if given is None else _checked_name(given, MODELS)
        for prompt, text in texts:
            yield SingleTarget({**options, **settings, **text}, name, prompt)


def _prompts(prompts: object) -> Iterator[tuple[str | None, dict[str, Any]]]:
    if not isinstance(prompts, Mapping) or not prompts:
        raise ConfigError(
            'prompts must be a mapping from names to texts, such as {terse: "In a word: {{ input }}"}', key=PROMPTS
        )
    for name, text in prompts.items():
        checked = _checked_name(name, PROMPTS)
        if isinstance(text, str):
            yield checked, {"prompt": text}
            continue
        if not isinstance(text, Mapping) or not any(text.get(key) is not None for key in _TEXTS):
            raise ConfigError(
                f"prompts: {checked!r} must be text, or a mapping with prompt or system, or both", key=PROMPTS
            )
        for key in text:
            if key not in _TEXTS:
                hint = did_you_mean(str(key), _TEXTS)
                raise ConfigError(f"prompts: {checked!r} has no key {key!r:.80}{hint}", key=PROMPTS)
        yield checked, {key: value for key, value in text.items() if value is not None}


def _checked_name(name: object, key: str) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > _MOST_CHARACTERS:
        raise ConfigError(
            f"{key}: a name must be text of one line, 1 to {_MOST_CHARACTERS} characters, not {name!r:.100}", key=key
        )
    return name.strip()


def has_prompts(target: object) -> bool:
    """Return whether a definition names prompts, by which its targets are told apart."""
    members = target if isinstance(target, (list, tuple)) else (target,)
    return any(isinstance(member, Mapping) and member.get(PROMPTS) is not None for member in members)


def target_names(target: object) -> list[str]:
    """Name the targets of a stored definition, as the cases of its run do; none where it cannot be read.

    >>> target_names({"model": "openai:gpt-5-mini", "prompts": {"terse": "{{ input }}", "kind": "{{ input }}"}})
    ['openai/gpt-5-mini + terse', 'openai/gpt-5-mini + kind']
    """
    return list(targets_by_name(target))


def targets_by_name(target: object) -> dict[str, Any]:
    """Return the definitions of the single targets of a stored definition, by the names of ``target_names``."""
    try:
        named = [(single.label(own_name(single.definition)), single.definition) for single in single_targets(target)]
    except ConfigError:
        return {}
    return {name: definition for name, definition in named if name}


def targets_of(run: RunRecord) -> dict[str, Any]:
    """Return the targets of a run of several, by the names that its cases have; none where there is one target."""
    target = run.definition.get("target")
    if not stands_for_several(target):
        return {}
    if run.origin and isinstance(target, Mapping):  # which has the names that another tool gave them
        return {str(name): name for name in target.get(MODELS) or ()}
    return targets_by_name(target)


def own_name(definition: object) -> str:
    """Return how a single target is called that was given no name; nothing where its definition does not say it."""
    match definition:
        case (str() as model) | {"model": str() as model}:
            return normal_name(model)
        case {"command": [*command]}:
            return shlex.join(map(str, command))
        case {"python": str() as path}:
            return path
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralTargets:
    """Lets each case be answered by the target that it names; ``assigned`` gives every case to each of them."""

    by_name: Mapping[str, Target]
    # The prompts of those targets that have one of several.
    prompts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, made: Sequence[tuple[SingleTarget, Target]]) -> SeveralTargets:
        """Put targets side by side; their names must differ."""
        by_name: dict[str, Target] = {}
        prompts: dict[str, str] = {}
        for single, target in made:
            label = single.label(target.name)
            if label in by_name:
                raise ConfigError(twice(label), key=MODELS)
            by_name[label] = target
            if single.prompt is not None:
                prompts[label] = single.prompt
        return cls(by_name=by_name, prompts=prompts)

    @property
    def name(self) -> str:
        """How the targets are called in reports."""
        return ", ".join(self.by_name)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of metadata that cases get from here."""
        return taken_names(has_prompts=bool(self.prompts))

    def client_for(self, case: Case) -> ModelClient | None:
        """Return the model that is asked for the answer to a case."""
        target = self._target_of(case)
        return None if target is None else target.client_for(case)

    def description(self) -> list[dict[str, Any]]:
        """Say what decides on the answers, in plain JSON values and without secrets."""
        return [
            {NAME: name, **cast("Mapping[str, Any]", target.description())} for name, target in self.by_name.items()
        ]

    def assigned(self, planned: PlannedCase) -> Iterator[PlannedCase]:
        """Yield a case once for each target; the same case for several of them is no independent evidence."""
        case = planned.case
        for key in self.keys:
            if key in case.metadata:
                raise ConfigError(f"case {case.id!r}: {taken_name(key)}")
        several = len(self.by_name) > 1
        for name in self.by_name:
            own = {MODEL: name, TEST_CASE: case.id, **({PROMPT: self.prompts[name]} if name in self.prompts else {})}
            yield planned._replace(
                case=replace(
                    case,
                    id=f"{case.id} {name}" if several else case.id,
                    metadata={**case.metadata, **own},
                    cluster=case.cluster or case.id if several else case.cluster,
                )
            )

    def steps(self, case: Case) -> Steps[MadeAnswer]:
        """Let the case's target answer it."""
        target = self._target_of(case)
        if target is None:
            names = ", ".join(self.by_name)
            return MadeAnswer(
                text=None, error=Failure("no_model", f"the case's metadata must name its model, one of {names}")
            )
        return (yield from target.steps(case))

    def _target_of(self, case: Case) -> Target | None:
        return self.by_name.get(str(case.metadata.get(MODEL)))


def twice(label: str) -> str:
    """Say that two targets have the same name."""
    return f"two targets are named {label!r:.200}; give each a name of its own"


def assigned_keys(target: object) -> tuple[str, ...]:
    """Return the keys of metadata that cases get from the targets of a definition; none where there is one target."""
    return taken_names(has_prompts=has_prompts(target)) if stands_for_several(target) else ()


def taken_names(*, has_prompts: bool) -> tuple[str, ...]:
    """Return the keys of metadata that name the target of each answer where there are several."""
    return (MODEL, TEST_CASE, *((PROMPT,) if has_prompts else ()))


def taken_name(key: str) -> str:
    """Say that metadata would be replaced by the name of a target."""
    return f"its metadata has the key {key!r}, which names the target if there are several; rename it"
