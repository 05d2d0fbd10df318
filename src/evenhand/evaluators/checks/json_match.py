"""Comparing the answer's JSON with what was expected, key by key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from evenhand.domain.aggregate import weighted_mean
from evenhand.domain.ask import Steps
from evenhand.domain.case import Case, is_blank
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError, ContractError, require_flag
from evenhand.domain.rubric import is_weight
from evenhand.evaluators.checks.check import NO_ANSWER, NO_REFERENCE, Finding, Found, GradedCheck, Missing
from evenhand.evaluators.checks.json_comparison import Comparison, ListMode
from evenhand.evaluators.reading import first_value, parse_strict
from evenhand.evaluators.showing import path_text


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMatch(GradedCheck):
    """Scores how much of the expected JSON the answer has.

    >>> from evenhand import Case
    >>> case = Case(candidate_answer='{"name": "Ada", "born": 1816}', reference_answer='{"name": "Ada", "born": 1815}')
    >>> evaluation = JsonMatch().evaluate(case)
    >>> evaluation.score, evaluation.misses
    (0.5, ('$.born: expected 1815, found 1816',))

    An object scores the mean of its expected keys, weighed at the top by ``weights``; a list the mean of its items; any
    other value 1 or 0. Equal numbers are equal however they are written, and true is no number. Keys named in
    ``ignore`` do not count, wherever they stand; further keys do not count unless ``extra_keys`` is false.

    ``list_mode`` says how the answer's lists may differ from the expected ones: ``ordered``, not at all; ``unordered``,
    in order; ``subset``, by leaving items out, ``superset``, by having more, both in any order. Which items belong
    together is settled by taking equal ones first, then the most alike.

    ``value`` is the expected JSON, as text or as what such text means; without it, the reference answer is.
    """

    type: ClassVar[str] = "json_match"

    value: Any = None
    list_mode: ListMode = "ordered"
    ignore: Sequence[str] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    extra_keys: bool = True
    parse: Literal["strict", "tolerant"] = "strict"

    def __post_init__(self) -> None:
        GradedCheck.__post_init__(self)
        if self.list_mode not in get_args(ListMode):
            names = ", ".join(get_args(ListMode))
            raise ConfigError(f"{self.where}: list_mode is {self.list_mode!r}; it must be one of {names}")
        if isinstance(self.ignore, str) or not all(isinstance(key, str) for key in self.ignore):
            raise ConfigError(f"{self.where}: ignore is {self.ignore!r:.80}; it must be a list of keys")
        if not isinstance(self.weights, Mapping) or not all(map(is_weight, self.weights.values())):
            raise ConfigError(f"{self.where}: weights is {self.weights!r:.80}; it must give keys numbers of 0 or more")
        require_flag(self.extra_keys, f"{self.where}: extra_keys")
        if self.parse not in {"strict", "tolerant"}:
            raise ConfigError(f"{self.where}: parse is {self.parse!r}; it must be 'strict' or 'tolerant'")
        if self.value is not None:
            self._set("value", self._json(self.value))

    def _json(self, value: object) -> str:
        """Keep the expected JSON as text, so that nobody can change it."""
        try:
            text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
            parse_strict(text)
        except (ContractError, TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"{self.where}: value is not JSON: {error}; a text needs quotes of its own") from None
        return text

    def look(self, case: Case) -> Steps[Finding]:
        """Compare the answer with what was expected."""
        yield from ()
        expected_text = case.reference_answer if self.value is None else self.value
        if case.candidate_answer is None:
            return NO_ANSWER
        if expected_text is None or is_blank(expected_text):
            return NO_REFERENCE
        try:
            expected = parse_strict(expected_text)
        except ContractError as error:
            return Missing(f"The reference answer is not JSON: {error}.")
        try:
            answer = (first_value if self.parse == "tolerant" else parse_strict)(case.candidate_answer)
        except ContractError as error:
            return Found.that(False, f"The answer is not JSON: {error}.")
        return self._compared(expected, answer)

    def _compared(self, expected: object, answer: object) -> Finding:
        comparison = Comparison(list_mode=self.list_mode, ignore=frozenset(self.ignore), extra_keys=self.extra_keys)
        if not isinstance(expected, dict) or not isinstance(answer, dict):
            score = comparison.score(expected, answer)
            return Found(
                score=score, hits=("The answer matches.",) if score == 1 else (), misses=tuple(comparison.misses)
            )
        scores = comparison.keys(expected, answer)
        if not scores and not self.extra_keys:
            return Found.that(True, "The answer has no key that counts, as expected.")
        weighed = [(score, self.weights.get(key, 1.0)) for key, score in scores.items()]
        if not any(weight for _, weight in weighed):
            return Missing("No key is expected that counts.")
        return Found(
            score=weighted_mean(weighed),
            hits=tuple(f"{path_text([key])}: as expected" for key, score in scores.items() if score == 1),
            misses=tuple(comparison.misses),
            details={"keys": {storable(key): score for key, score in scores.items()}},
        )
