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
from evenhand.suites.cases import doubles
from evenhand.suites.credentials import literal_credentials
from evenhand.suites.evaluators import build, evaluators_of, settled

# What users may write for an evaluator.
EvaluatorLike: TypeAlias = Evaluator | Mapping[str, Any] | Callable[[Case], Any]

# What stands in the definition of an evaluator that no file can define.
MADE_IN_PYTHON: Final = "python"

_NEEDED: Final = ("name", "type", "weight", "required", "steps")


class Panel:
    """Evaluators, each with what is stored of it in ``definitions``.

    ``judge`` is for definitions without one; objects have their own. Programs of definitions run in ``folder``.
    """

    def __init__(
        self,
        given: EvaluatorLike | Iterable[EvaluatorLike] | None,
        *,
        judge: object = None,
        folder: Path | None = None,
    ) -> None:
        self._judge = judge
        self._folder = folder
        # By object, which is kept, so that no other can come to have its number.
        self._clients: dict[int, tuple[object, ModelClient]] = {}
        several = _listed(given)
        self._usual = tuple(map(self._evaluator, several))
        self.definitions: list[Mapping[str, Any]] = [
            as_written(one) or _described(made) for one, made in zip(several, self._usual, strict=True)
        ]
        self._made = dict(zip(map(canonical, self.definitions), self._usual, strict=True))
        for name in doubles(evaluator.name for evaluator in self._usual):
            raise ConfigError(f"two evaluators have the name {name!r:.80}; give one another name")

    def evaluators_for(self, planned: PlannedCase) -> tuple[Evaluator, ...]:
        """Return the evaluators of a case: its own or these, and one for its rubrics if none reads them (SPEC-S1)."""
        if planned.evaluators is None and not planned.case.rubrics:
            return self._usual
        own = self.definitions if planned.evaluators is None else planned.evaluators
        return tuple(map(self._known, evaluators_of(own, has_rubrics=bool(planned.case.rubrics))))

    def _known(self, definition: Mapping[str, Any]) -> Evaluator:
        key = canonical(definition)
        if key not in self._made:
            self._made[key] = self._evaluator(definition)
        return self._made[key]

    def _evaluator(self, given: object) -> Evaluator:
        if isinstance(given, Mapping):
            return build(settled(given, self._judge), folder=self._folder, client=self._client)
        if isinstance(given, type):
            raise ConfigError(f"an evaluator is the class {given.__name__}; make one: {given.__name__}(…)")
        if hasattr(given, "steps"):
            missing = [name for name in _NEEDED if not hasattr(given, name)]
            if missing:
                kind = type(given).__name__
                raise ConfigError(f"evaluator {kind} has no {', '.join(missing)}; derive it from BaseEvaluator")
            return cast("Evaluator", given)
        if callable(given):
            return FunctionEvaluator(name=_name_of(given), function=given)
        raise ConfigError(
            f"an evaluator is an object such as PromptEvaluator(…), a definition such as {{'type': 'llm_judge'}}, "
            f"or a function of a case, not {given!r:.80}"
        )

    def _client(self, judge: object) -> ModelClient:
        """Make a judge, or give the one that was made from the same object: they share their connections."""
        known = self._clients.get(id(judge))
        if known is None:
            known = self._clients[id(judge)] = (judge, registry.judge(judge))
        return known[1]


def as_written(given: object) -> Any:
    """Return a definition as it may be stored, so that a run can be resumed from it; None where it is more than JSON.

    None also where a key is written out in it: what is stored then is a description, which has no secrets.
    """
    written = given if isinstance(given, (str, Mapping)) and _is_plain(given) else None
    return None if any(literal_credentials({"": written}, 0)) else written


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return all(map(_is_plain, value)) if isinstance(value, list) else isinstance(value, str | int | float | None)


def _described(evaluator: Evaluator) -> dict[str, Any]:
    """Say what an evaluator is, with the types of its members, which decide on who reads a case's rubrics."""
    known = {"name": evaluator.name, "type": evaluator.type, MADE_IN_PYTHON: describe(evaluator)}
    members = getattr(evaluator, "members", None)
    if isinstance(members, list | tuple):
        known["members"] = [_described(one) for one in members if hasattr(one, "steps")]
    return known


def _listed(given: object) -> list[object]:
    if given is None:
        return []
    one = isinstance(given, str | Mapping) or hasattr(given, "steps") or callable(given)
    return [given] if one or not isinstance(given, Iterable) else list(given)


def _name_of(function: Callable[..., Any]) -> str:
    name = str(getattr(function, "__name__", type(function).__name__))
    return "function" if name == "<lambda>" else name
