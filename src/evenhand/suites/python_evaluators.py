"""The evaluators that a Python program gives: objects, functions, and definitions as a suite has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from evenhand import registry
from evenhand.domain.ask import Evaluator, ModelClient
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase
from evenhand.engine.identity import canonical, describe
from evenhand.evaluators.function import FunctionEvaluator
from evenhand.suites.credentials import literal_credentials
from evenhand.suites.evaluators import JUDGE_TYPE, NESTED, build, evaluators_of, settled
from evenhand.suites.values import doubles

# What users may write for an evaluator.
EvaluatorLike: TypeAlias = Evaluator | Mapping[str, Any] | Callable[[Case], Any]

# The key in the definition of an evaluator that no file can define.
MADE_IN_PYTHON: Final = "python"

_NEEDED: Final = ("name", "type", "weight", "required", "steps")


class Panel:
    """Evaluators, each with what is stored of it in ``definitions``.

    ``judge`` is for definitions without one; objects have their own. Programs of definitions run in ``folder``.
    """

    def __init__(
        self,
        evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None,
        *,
        judge: object = None,
        folder: Path | None = None,
    ) -> None:
        self._judge = judge
        self._folder = folder
        # By object, which is kept, so that no other can come to have its number.
        self._clients: dict[int, tuple[object, ModelClient]] = {}
        several = _listed(evaluators)
        self._usual = tuple(map(self._evaluator, several))
        self.definitions: list[Mapping[str, Any]] = [
            as_written(evaluator) or _description(made) for evaluator, made in zip(several, self._usual, strict=True)
        ]
        self._made = dict(zip(map(canonical, self.definitions), self._usual, strict=True))
        for name in doubles(evaluator.name for evaluator in self._usual):
            raise ConfigError(f"two evaluators have the name {name!r:.80}; rename one")

    def evaluators_for(self, planned: PlannedCase) -> tuple[Evaluator, ...]:
        """Return the evaluators of a case: its own or these, and one for its rubrics if none reads them (SPEC-S1)."""
        if planned.evaluators is None and not planned.case.rubrics:
            return self._usual
        own = self.definitions if planned.evaluators is None else planned.evaluators
        return tuple(map(self._evaluator_for, evaluators_of(own, has_rubrics=bool(planned.case.rubrics))))

    def _evaluator_for(self, definition: Mapping[str, Any]) -> Evaluator:
        key = canonical(definition)
        if key not in self._made:
            self._made[key] = self._evaluator(definition)
        return self._made[key]

    def _evaluator(self, evaluator: object) -> Evaluator:
        if isinstance(evaluator, Mapping):
            return build(settled(evaluator, self._judge), folder=self._folder, client=self._client)
        if isinstance(evaluator, type):
            raise ConfigError(
                f"an evaluator is the class {evaluator.__name__}; create an instance: {evaluator.__name__}(…)"
            )
        if hasattr(evaluator, "steps"):
            missing = [name for name in _NEEDED if not hasattr(evaluator, name)]
            if missing:
                kind = type(evaluator).__name__
                raise ConfigError(f"evaluator {kind} has no {', '.join(missing)}; derive it from BaseEvaluator")
            return cast("Evaluator", evaluator)
        if callable(evaluator):
            return FunctionEvaluator(name=_name_of(evaluator), function=evaluator)
        raise ConfigError(
            f"an evaluator is an object such as PromptEvaluator(…), a definition such as {{'type': 'llm_judge'}}, "
            f"or a function of a case, not {evaluator!r:.80}"
        )

    def _client(self, judge: object) -> ModelClient:
        """Return the judge of an object; the same object gets the same one, and with it its connections."""
        entry = self._clients.get(id(judge))
        if entry is None:
            entry = self._clients[id(judge)] = (judge, registry.judge(judge))
        return entry[1]


def as_written(value: object) -> Any:
    """Return a definition as it may be stored, so that a run can be resumed from it; None where it is more than JSON.

    None also where a key is written out in it: what is stored then is a description, which has no secrets.
    """
    written = value if isinstance(value, (str, Mapping)) and _is_plain(value) else None
    return None if any(literal_credentials({"": written}, 0)) else written


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return all(map(_is_plain, value)) if isinstance(value, list) else isinstance(value, str | int | float | None)


def _description(evaluator: Evaluator) -> dict[str, Any]:
    """Return what an evaluator is, with the types of its members, which decide which one reads a case's rubrics."""
    fields = {"name": evaluator.name, "type": evaluator.type, MADE_IN_PYTHON: describe(evaluator)}
    if evaluator.type == JUDGE_TYPE:  # by these, it judges the answer as a whole, whatever the rubrics of a case
        options = {name: getattr(evaluator, name, None) for name in ("prompt", "choices")}
        fields |= {name: describe(value) for name, value in options.items() if value is not None}
    for key in NESTED:
        members = getattr(evaluator, key, None)
        if isinstance(members, list | tuple):
            fields[key] = [_description(member) for member in members if hasattr(member, "steps")]
    return fields


def _listed(evaluators: object) -> list[object]:
    if evaluators is None:
        return []
    is_single = isinstance(evaluators, str | Mapping) or hasattr(evaluators, "steps") or callable(evaluators)
    return [evaluators] if is_single or not isinstance(evaluators, Iterable) else list(evaluators)


def _name_of(function: Callable[..., Any]) -> str:
    name = str(getattr(function, "__name__", type(function).__name__))
    return "function" if name == "<lambda>" else name
