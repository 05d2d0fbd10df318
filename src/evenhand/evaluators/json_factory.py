"""The factory for evaluators of JSON, key by key, as openevals has it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from evenhand import registry
from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ContractError, require_flag
from evenhand.domain.evaluation import JudgeError, usage_dict
from evenhand.evaluators.asking import Answered, GaveUp
from evenhand.evaluators.checks.field import JsonField, Path
from evenhand.evaluators.checks.fields import Compared, FieldComparison, ListMode
from evenhand.evaluators.factory import EvaluatorResult, as_text
from evenhand.evaluators.field_accuracy import ask_about, decided, with_few_judged
from evenhand.evaluators.reading import parse_strict

Aggregator: TypeAlias = Literal["average", "all"]
ListMatchMode: TypeAlias = Literal["superset", "subset", "same_elements", "ordered"]

KEY: Final = "json_match"
_MODES: Final[Mapping[str, ListMode]] = {
    "superset": "superset",
    "subset": "subset",
    "same_elements": "unordered",
    "ordered": "ordered",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMatcher:
    """What ``create_json_match_evaluator`` makes: compares the keys of an object, or of a list of objects."""

    aggregator: Aggregator | None = None
    list_aggregator: Aggregator = "all"
    rubric: Mapping[str, str] = field(default_factory=dict)
    exclude_keys: Sequence[str] = ()
    judge: Any = field(default=None, repr=False)
    model: str | None = None
    use_reasoning: bool = True
    list_match_mode: ListMatchMode = "same_elements"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("aggregator", (None, "average", "all")),
            ("list_aggregator", ("average", "all")),
            ("list_match_mode", tuple(_MODES)),
        ):
            if getattr(self, name) not in allowed:
                names = " or ".join(str(each) for each in allowed)
                raise ConfigError(f"{name} is {getattr(self, name)!r:.80}; it must be {names}")
        require_flag(self.use_reasoning, "use_reasoning")
        rubric = self.rubric
        if not isinstance(rubric, Mapping) or not all(
            isinstance(text, str) and text.strip() for text in rubric.values()
        ):
            raise ConfigError("rubric must be a mapping from keys to what their values are judged by")
        if isinstance(self.exclude_keys, str) or not all(isinstance(key, str) for key in self.exclude_keys):
            raise ConfigError(f"exclude_keys is {self.exclude_keys!r:.80}; it must be a list of keys")
        if not rubric and (self.judge is not None or self.model is not None):
            raise ConfigError("a judge is asked about the keys in rubric alone; give a rubric, or leave out the judge")
        if rubric:
            object.__setattr__(self, "judge", registry.judge(self.judge, model=self.model))

    def steps(self, values: Mapping[str, Any]) -> Steps[list[EvaluatorResult]]:
        """Compare ``outputs`` with ``reference_outputs``, and return a result for each key, or one for all."""
        answer, expected = (_json(values.get(name), name) for name in ("outputs", "reference_outputs"))
        if isinstance(answer, list) is not isinstance(expected, list):
            raise ConfigError("outputs and reference_outputs must both be lists of objects, or both objects")
        fields = self._fields(expected, answer)
        try:
            compared = with_few_judged(self._comparison(list(fields.values())).compare(expected, answer))
        except ContractError as error:
            raise ConfigError(f"outputs: {error}") from None
        judged = [each for each in compared if each.right is None]
        reasons: dict[Path, str] = {}
        metadata: dict[str, Any] = {}
        if judged:
            inputs = values.get("inputs")
            case = Case(question=None if inputs is None else as_text(inputs, "inputs"))
            asked = yield from ask_about(judged, case, judge=self.judge)
            if isinstance(asked, GaveUp):
                why = f"{self.judge.name} gave no usable reply: {asked.error}"
                raise JudgeError(why, attempts=asked.record.attempts)
            compared, reasons = decided(compared, asked)
            metadata = self._metadata(asked)
        if not self.use_reasoning:
            reasons = {}
        return self._results(fields, compared, reasons, metadata, listed=isinstance(expected, list))

    def _fields(self, expected: Any, answer: Any) -> dict[str, JsonField]:
        """Make a field for each key that one of the two sides has, the expected ones first."""
        listed = isinstance(expected, list)
        objects = [*expected, *answer] if listed else [expected, answer]
        keys = dict.fromkeys(key for each in objects for key in each if key not in self.exclude_keys)
        start = "[*]" if listed else ""
        return {key: self._field(key, f"{start}[{json.dumps(key)}]") for key in keys}

    def _field(self, key: str, path: str) -> JsonField:
        if key in self.rubric:
            return JsonField(path=path, match="judge", rubric=self.rubric[key])
        return JsonField(path=path)

    def _comparison(self, fields: Sequence[JsonField]) -> FieldComparison:
        whole = FieldComparison((), list_mode="ordered", others=True, extra_keys=False)
        mode = _MODES[self.list_match_mode]
        return FieldComparison(fields, list_mode=mode, others=False, extra_keys=False, whole=whole)

    def _results(
        self,
        fields: Mapping[str, JsonField],
        compared: Sequence[Compared],
        reasons: Mapping[Path, str],
        metadata: dict[str, Any],
        *,
        listed: bool,
    ) -> list[EvaluatorResult]:
        if self.aggregator is not None:
            items: defaultdict[object, list[float]] = defaultdict(list)
            for each in compared:
                items[each.path[0] if listed else None].append(float(bool(each.right)))
            scores = [_combined(rights, self.aggregator) for rights in items.values()]
            score = _combined(scores, self.list_aggregator if listed else self.aggregator)
            comment = "\n".join(each.line for each in compared if not each.right) or None
            key = f"{KEY}:{self.aggregator}"
            return [EvaluatorResult(key=key, score=score, comment=comment, metadata=metadata)]
        results = []
        for key, rule in sorted(fields.items()):
            own = [each for each in compared if each.field is rule]
            if own:
                score = _combined([float(bool(each.right)) for each in own], self.list_aggregator)
                comment = "\n".join(reasons[each.path] for each in own if each.path in reasons) or None
                about = metadata if rule.match == "judge" else {}
                results.append(EvaluatorResult(key=f"{KEY}:{key}", score=score, comment=comment, metadata=about))
        return results

    def _metadata(self, asked: Answered) -> dict[str, Any]:
        return {
            "attempts": [attempt.as_dict() for attempt in asked.record.attempts],
            "retry_count": asked.record.retry_count,
            "evaluator_provider_request": asked.record.request,
            "usage": usage_dict(asked.record.fields()["usage"]),
            "flags": list(asked.flags),
            "judge": self.judge.name,
        }


def _combined(scores: Sequence[float], aggregator: Aggregator) -> float:
    """Return the mean, or 1 if all are 1; where there is nothing to compare, openevals says 0."""
    if aggregator == "all":
        return float(bool(scores) and all(score == 1 for score in scores))
    return sum(scores) / len(scores) if scores else 0.0


def _json(value: object, name: str) -> Any:
    """Return an object, or a list of objects, given as such or as the text of its JSON."""
    try:
        data = parse_strict(as_text(value, name))
    except ContractError as error:
        raise ConfigError(f"{name} is not JSON: {error}") from None
    objects = data if isinstance(data, list) else [data]
    if not all(isinstance(each, dict) for each in objects):
        raise ConfigError(f"{name} must be an object, or a list of objects, and not {value!r:.80}")
    return data
