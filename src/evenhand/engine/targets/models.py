"""Several models as the target: each case says in its metadata which of them answers it (SPEC-M4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import MadeAnswer
from evenhand.domain.seams import ModelClient
from evenhand.engine.targets.model import ModelTarget

# The key of a case's metadata that names its model.
MODEL: Final = "model"
_SHARED: Final = ("response_schema",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralModels:
    """Asks, for each case, the model that it names."""

    by_name: Mapping[str, ModelTarget]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> SeveralModels:
        """Make a target from ``{"models": ["openai/gpt-5-mini", …], "response_schema": …}``."""
        models = given["models"]
        if not isinstance(models, Sequence) or isinstance(models, str) or not models:
            raise ConfigError("target: models must be a list of names, such as [openai/gpt-5-mini, ollama/qwen2.5:7b]")
        for name in given:
            if name not in ("models", *_SHARED):
                raise ConfigError(f"target: beside models there may be {', '.join(_SHARED)}, not {name!r:.80}")
        shared = {name: given[name] for name in _SHARED if name in given}
        made: dict[str, ModelTarget] = {}
        for one in models:
            settings = one if isinstance(one, Mapping) else {"model": one}
            target = ModelTarget.of({**settings, **shared})
            if target.name in made:
                raise ConfigError(f"target: models has {target.name} twice")
            made[target.name] = target
        return cls(by_name=made)

    @property
    def name(self) -> str:
        """How the target is called in reports."""
        return ", ".join(self.by_name)

    @property
    def client(self) -> ModelClient:
        """One of the models that are asked."""
        return next(iter(self.by_name.values())).client

    def description(self) -> dict[str, Any]:
        """Say what decides on the answers, in plain JSON values and without secrets."""
        return {"models": [target.description() for target in self.by_name.values()]}

    def steps(self, case: Case) -> Steps[MadeAnswer]:
        """Let the case's model answer it."""
        target = self.by_name.get(str(case.metadata.get(MODEL)))
        if target is None:
            known = ", ".join(self.by_name)
            return MadeAnswer(text=None, error=f"no_model: the case's metadata must name its model, one of {known}")
        return (yield from target.steps(case))
