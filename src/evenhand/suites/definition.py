"""What a suite defines beside its cases, ready to judge: from a file that was read, or from a run that was stored."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evenhand import registry
from evenhand.domain.ask import Evaluator, ModelClient
from evenhand.domain.errors import MissingJudgeError
from evenhand.domain.gates import Gates
from evenhand.domain.run import PlannedCase
from evenhand.domain.verdict import Thresholds
from evenhand.engine.identity import canonical
from evenhand.engine.target import target_of
from evenhand.engine.targets.base import Target
from evenhand.models.prices import PriceBook
from evenhand.models.resolve import JUDGE_VARIABLE
from evenhand.suites.evaluators import build, evaluators_of, lacks_judge, settled

_MOST_BUILT: Final = 512
NO_JUDGE: Final = (
    "no judge: write one into the suite, such as judge: openai/gpt-5-mini, or give --judge, or set EVENHAND_JUDGE"
)


class Definition:
    """Evaluators, target, prices and gates of a suite, from its plain definition.

    ``source`` is the suite's file: paths in the suite, and programs, are seen from its folder. The file itself is not
    read, and need not be there any more. Evaluators and judges are made when they are first needed, and once.
    """

    def __init__(self, settings: Mapping[str, Any], *, source: str | None = None) -> None:
        self.settings = settings
        self.folder = None if source is None else Path(source).absolute().parent
        self._built: OrderedDict[bytes, Evaluator] = OrderedDict()
        self._clients: dict[bytes, ModelClient] = {}
        self._usual: tuple[Evaluator, ...] | None = None

    @property
    def judge(self) -> Any:
        """The judge of all evaluators that have none of their own, as it was given."""
        return self.settings.get("judge")

    @property
    def ambiguous(self) -> str | None:
        """Which of several verdicts in one reply counts, for all evaluators that do not say it themselves."""
        return self.settings.get("ambiguous")

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds for the verdict on a whole case."""
        return Thresholds.of(self.settings.get("thresholds"))

    @property
    def gates(self) -> Gates:
        """What a run must reach."""
        return Gates.of(self.settings.get("gates"))

    @property
    def prices(self) -> PriceBook:
        """What models cost: the suite's own prices before the usual ones."""
        return PriceBook(self.settings.get("prices"))

    @property
    def timeout(self) -> float | None:
        """How many seconds one evaluation may take; None for the usual time."""
        return self.settings.get("timeout")

    @property
    def concurrency(self) -> int | None:
        """How many cases are judged at once; None for the usual number."""
        return self.settings.get("concurrency")

    @property
    def repeat(self) -> int:
        """How often each case is judged."""
        return self.settings.get("repeat") or 1

    def target(self, *, trusted: bool = True) -> Target | None:
        """Make the target, None where answers are given; one that is a Python function is imported here."""
        definition = with_paths(self.settings.get("target"), self.folder)
        return target_of(definition, folder=None if self.folder is None else str(self.folder), trusted=trusted)

    def evaluators_for(self, planned: PlannedCase) -> tuple[Evaluator, ...]:
        """Return the evaluators of a case: its own or the suite's, and one for its rubrics where none reads them."""
        if planned.evaluators is None and not planned.case.rubrics:
            if self._usual is None:
                self._usual = tuple(map(self._evaluator, self.definitions_for(planned)))
            return self._usual
        return tuple(map(self._evaluator, self.definitions_for(planned)))

    @property
    def clients(self) -> tuple[ModelClient, ...]:
        """The judges of all evaluators that were made so far."""
        return tuple(self._clients.values())

    def lacks_judge(self, planned: PlannedCase) -> bool:
        """Return whether a case needs a judge and none is named: not in the case, the suite or the environment."""
        if self.judge is not None or os.environ.get(JUDGE_VARIABLE, "").strip():
            return False
        return any(map(lacks_judge, self.definitions_for(planned)))

    def definitions_for(self, planned: PlannedCase) -> tuple[Mapping[str, Any], ...]:
        """Return the definitions of the evaluators of a case."""
        usual: Sequence[Mapping[str, Any]] = self.settings.get("evaluators") or ()
        own = usual if planned.evaluators is None else planned.evaluators
        return evaluators_of(own, has_rubrics=bool(planned.case.rubrics))

    def _evaluator(self, definition: Mapping[str, Any]) -> Evaluator:
        key = canonical(definition)
        evaluator = self._built.get(key)
        if evaluator is None:
            evaluator = build(settled(definition, self.judge, self.ambiguous), folder=self.folder, client=self._client)
            self._built[key] = evaluator
            if len(self._built) > _MOST_BUILT:
                self._built.popitem(last=False)
        else:
            self._built.move_to_end(key)
        return evaluator

    def _client(self, judge: object) -> ModelClient:
        """Return the judge of a definition; equal definitions share one, and with it its connections."""
        key = canonical(judge)
        if key not in self._clients:
            try:
                self._clients[key] = registry.judge(with_paths(judge, self.folder))
            except MissingJudgeError:
                raise MissingJudgeError(NO_JUDGE) from None
        return self._clients[key]


def with_paths(model: Any, folder: Path | None) -> Any:
    """Return a model's definition, or that of several, with every ``ca_file`` seen from a folder."""
    if isinstance(model, list):
        return [with_paths(member, folder) for member in model]
    if isinstance(model, Mapping) and isinstance(model.get("models"), list):
        model = {**model, "models": with_paths(model["models"], folder)}
    if folder is None or not isinstance(model, Mapping) or not isinstance(model.get("ca_file"), str):
        return model
    return {**model, "ca_file": str(folder / model["ca_file"])}
