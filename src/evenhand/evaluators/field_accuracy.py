"""Field accuracy: how many fields of a JSON answer are right, each by its own rule."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, Final, Literal, get_args

from evenhand import registry
from evenhand.domain.aggregate import weighted_mean
from evenhand.domain.ask import ModelClient, Steps
from evenhand.domain.case import Case, is_blank
from evenhand.domain.contract import Checks, FieldContract, storable
from evenhand.domain.errors import ConfigError, ContractError, about, require_flag
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.json_path import path_text
from evenhand.domain.message import Message
from evenhand.domain.rubric import Rubric
from evenhand.domain.verdict import Thresholds, Verdict
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS, Answered, GaveUp, check_attempts, inquire
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.checks.check import NO_ANSWER, NO_REFERENCE
from evenhand.evaluators.checks.field import FieldLike, JsonField, Path, json_fields, problem_with
from evenhand.evaluators.checks.fields import Compared, FieldComparison, ListMode, field_scores
from evenhand.evaluators.prompts import texts
from evenhand.evaluators.reading import KNOWN_IF_UNUSUAL, Ambiguous, check_ambiguous, first_value, parse_strict
from evenhand.evaluators.sampling import all_flags, judge_details, turned, with_other
from evenhand.evaluators.sections import context_sections, sections
from evenhand.evaluators.value_text import shortened

# As many fields of one answer are put to a judge, in one question.
MOST_JUDGED: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAccuracy(BaseEvaluator):
    """Scores how many fields of a JSON answer are right, each by its own rule.

    >>> from evenhand import Case
    >>> case = Case(
    ...     candidate_answer='{"name": "ada  LOVELACE", "born": 1816}',
    ...     reference_answer='{"name": "Ada Lovelace", "born": 1815}',
    ... )
    >>> fields = [{"path": "name", "match": "text"}, {"path": "born", "match": "number", "weight": 3}]
    >>> evaluation = FieldAccuracy(fields=fields).evaluate(case)
    >>> evaluation.score, evaluation.misses
    (0.25, ('$.born: expected 1815, found 1816',))

    ``fields`` are paths (``order.items[*].price``) or mappings with ``path`` and ``match``: ``exact``, ``number``
    (within ``tolerance``, or ``relative`` times the expected number), ``date`` (in one of ``formats``), ``text``
    (whatever its case and spaces), or ``judge``, which asks the ``judge`` whether the value meets the ``rubric``. A
    field has a ``weight``; a ``required`` one that is missed fails the answer, and an ``optional`` one may be absent. A
    field that stands for several values scores the share of them that is right.

    Without ``fields``, every value of the expected JSON must be there exactly, and nothing else; with them,
    ``others="exact"`` demands that of all other values too. ``ignore`` names keys that do not count, wherever they
    stand, and ``extra_keys`` allows further ones. ``list_mode`` is that of ``JsonMatch``: in any mode but ``ordered``
    the items are paired so that as much as possible is right, in whatever order they come. ``aggregator="all"`` scores
    1 if all fields are right, and else 0.

    ``value`` is the expected JSON, as text or as what such text means; without it, the reference answer is.
    """

    type: ClassVar[str] = "field_accuracy"

    fields: Sequence[FieldLike] = ()
    value: Any = None
    others: Literal["exact", "ignore"] | None = None
    list_mode: ListMode = "ordered"
    ignore: Sequence[str] = ()
    extra_keys: bool = False
    aggregator: Literal["weighted_average", "all"] = "weighted_average"
    parse: Literal["strict", "tolerant"] = "strict"
    judge: Any = field(default=None, repr=False)
    max_attempts: int | None = None
    max_retries: InitVar[int | None] = None
    ambiguous: Ambiguous = field(default="ask_again", metadata=KNOWN_IF_UNUSUAL)
    model: InitVar[str | None] = None

    def __post_init__(self, max_retries: int | None, model: str | None) -> None:
        BaseEvaluator.__post_init__(self)
        self._set("fields", json_fields(self.fields, where=self.where))
        self._set("others", self.others or ("ignore" if self.fields else "exact"))
        for name, allowed in (
            ("others", ("exact", "ignore")),
            ("list_mode", get_args(ListMode)),
            ("aggregator", ("weighted_average", "all")),
            ("parse", ("strict", "tolerant")),
        ):
            if getattr(self, name) not in allowed:
                raise ConfigError(
                    f"{self.where}: {name} is {getattr(self, name)!r:.80}; it must be {' or '.join(allowed)}", key=name
                )
        if self.others == "ignore" and not self.fields:
            raise ConfigError(f"{self.where}: with others ignore, fields must say what is compared", key="fields")
        if isinstance(self.ignore, str) or not all(isinstance(key, str) for key in self.ignore):
            raise ConfigError(f"{self.where}: ignore is {self.ignore!r:.80}; it must be a list of keys", key="ignore")
        require_flag(self.extra_keys, "extra_keys", where=self.where)
        self._check_places()
        if self.value is not None:
            self._set("value", self._json(self.value))
        self._set("max_attempts", check_attempts(self.max_attempts, max_retries, where=self.where))
        check_ambiguous(self.ambiguous, where=self.where)
        with about("judge"):
            asks = self.asks_judge({"fields": self.fields})
            self._set("judge", registry.judge(self.judge, model=model) if asks else None)

    @staticmethod
    def asks_judge(definition: Mapping[str, Any]) -> bool:
        """Return whether an evaluator that is defined so asks a judge: whether one of its fields does."""
        fields = definition.get("fields")
        return isinstance(fields, (list, tuple)) and any(
            (each.match if isinstance(each, JsonField) else isinstance(each, Mapping) and each.get("match")) == "judge"
            for each in fields
        )

    def _check_places(self) -> None:
        for each in self.settled_fields:
            if self.list_mode != "ordered" and any(isinstance(step, int) for step in each.steps):
                raise ConfigError(
                    f"{self.where}: {each.path!r:.80} names a place in a list, which list_mode {self.list_mode} has "
                    "not; write [*] for all items",
                    key="fields",
                )
            if ignored := [step for step in each.steps if step in self.ignore]:
                raise ConfigError(f"{self.where}: {ignored[0]!r:.80} is ignored and a field; drop one", key="ignore")

    def _json(self, value: object) -> str:
        """Keep the expected JSON as text, so that nobody can change it."""
        try:
            text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
            expected = parse_strict(text)
        except (ContractError, TypeError, ValueError, RecursionError) as error:
            raise ConfigError(
                f"{self.where}: value is not JSON: {error}; text needs its own quotes within the JSON", key="value"
            ) from None
        if problem := self._problem(expected):
            raise ConfigError(f"{self.where}: value: {problem}", key="value")
        return text

    @property
    def settled_fields(self) -> tuple[JsonField, ...]:
        """The fields, settled."""
        return self.fields  # type: ignore[return-value]  # since it was made

    @property
    def client(self) -> ModelClient:
        """The judge, settled."""
        client: ModelClient = self.judge
        return client

    def _problem(self, expected: object) -> str:
        """Say what there is in the expected JSON that no answer could be held against."""
        return next(filter(None, (problem_with(each, expected) for each in self.settled_fields)), "")

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Compare the fields of an answer; the judge is asked about all that it decides in one question."""
        compared = self._compare(case)
        if isinstance(compared, Evaluation):
            return compared
        judged = [each for each in compared if each.right is None]
        if not judged:
            return self._evaluation(compared)
        asked = yield from ask_about(
            judged, case, judge=self.client, max_attempts=self.max_attempts, ambiguous=self.ambiguous
        )
        if isinstance(asked, GaveUp):
            return self.failed(asked.error, details=judge_details(self.client), **asked.record.fields())
        evaluation = self._evaluation(compared, asked)
        if asked.other is None:
            return evaluation
        return with_other(evaluation, self._evaluation(compared, turned(asked)), counted=self.ambiguous)

    def _compare(self, case: Case) -> list[Compared] | Evaluation:
        """Hold the answer against what was expected, or say why that decides nothing, or all."""
        expected_text = case.reference_answer if self.value is None else self.value
        if case.candidate_answer is None:
            return self.not_evaluated(NO_ANSWER.sentence)
        if expected_text is None or is_blank(expected_text):
            return self.not_evaluated(NO_REFERENCE.sentence)
        try:
            expected = parse_strict(expected_text)
        except ContractError as error:
            return self.not_evaluated(f"The reference answer is not JSON: {error}.")
        if problem := self._problem(expected):
            return self.not_evaluated(f"The reference answer cannot be compared: {problem}.")
        try:
            answer = (first_value if self.parse == "tolerant" else parse_strict)(case.candidate_answer)
        except ContractError as error:
            return self.scored(0.0, verdict=Verdict.FAIL, misses=(f"The answer is not JSON: {error}.",))
        try:
            return with_few_judged(self._comparison().compare(expected, answer))
        except ContractError as error:
            return self.failed(error.failure)

    def _comparison(self) -> FieldComparison:
        return FieldComparison(
            self.settled_fields,
            list_mode=self.list_mode,
            ignore=frozenset(self.ignore),
            others=self.others == "exact",
            extra_keys=self.extra_keys,
        )

    def _evaluation(self, compared: Sequence[Compared], asked: Answered | None = None) -> Evaluation:
        """Return the evaluation that follows from what was compared, with what the judge said of some of it."""
        reasons: dict[Path, str] = {}
        if asked is not None:
            compared, reasons = decided(compared, asked)
        scores = field_scores(compared)
        weighed = [(score, each.weight) for each, score in scores.items()]
        weighed += [(float(bool(each.right)), float(each.size)) for each in compared if each.field is None]
        if not any(weight for _, weight in weighed):
            return self.not_evaluated("No field is expected that counts.")
        score = weighted_mean(weighed)
        if self.aggregator == "all":
            score = float(all(value == 1 for value, weight in weighed if weight))
        lines = [(bool(each.right), _line(each, reasons)) for each in compared]
        details: dict[str, Any] = {"fields": {storable(each.path): value for each, value in scores.items()}}
        record = {} if asked is None else {"flags": all_flags([asked]), **asked.record.fields()}
        if asked is not None:
            details |= judge_details(self.client, [asked])
        return self.scored(
            score,
            verdict=Verdict.FAIL if any(each.required and scores[each] < 1 for each in scores) else None,
            hits=tuple(line for right, line in lines if right),
            misses=tuple(line for right, line in lines if not right),
            reasoning=shortened(" ".join(line for right, line in lines if not right) or "All fields are right."),
            details=details,
            **record,
        )


def ask_about(
    judged: Sequence[Compared],
    case: Case,
    *,
    judge: ModelClient,
    max_attempts: int | None = None,
    ambiguous: Ambiguous = "ask_again",
) -> Steps[Answered | GaveUp]:
    """Ask a judge, in one question, which of these values meet the rubrics of their fields."""
    material = {
        **context_sections(case),
        "question": case.question_text or "",
        **{f"expected_{number}": _text(each.expected) for number, each in enumerate(judged, start=1)},
        **{f"found_{number}": _text(each.found) for number, each in enumerate(judged, start=1)},
    }
    items = tuple(Rubric(id=path_text(each.path), description=_rubric(each)) for each in judged)
    contract = FieldContract(name="fields", fields=(Checks(items=items, thresholds=Thresholds()),))
    listed = [
        f"{number}. id {json.dumps(item.id, ensure_ascii=False)}: {item.description}"
        for number, item in enumerate(items, start=1)
    ]
    task = "\n".join([texts.FIELD_TASK, "", "The items:", *listed])
    about_material = texts.with_context(texts.FIELD_MATERIAL, case)
    system = "\n\n".join([texts.FIELDS, about_material, task, contract.instructions()])
    return (
        yield from inquire(
            (Message("system", system), Message("user", sections(material))),
            judge=judge,
            contract=contract,
            max_attempts=max_attempts or DEFAULT_ATTEMPTS,
            ambiguous=ambiguous,
        )
    )


def decided(compared: Sequence[Compared], asked: Answered) -> tuple[list[Compared], dict[Path, str]]:
    """Return what was compared with what the judge decided of it, and its reasons by their paths."""
    checks = {check.id: check for check in asked.accepted.values["checks"]}
    judged = {each.path: checks[path_text(each.path)] for each in compared if each.right is None}
    made = [each._replace(right=judged[each.path].satisfied) if each.right is None else each for each in compared]
    return made, {path: check.reasoning for path, check in judged.items() if check.reasoning}


def with_few_judged(compared: list[Compared]) -> list[Compared]:
    """Return what was compared, or refuse more than one question to a judge should be about."""
    judged = sum(each.right is None for each in compared)
    if judged > MOST_JUDGED:
        raise ContractError(
            f"a judge would have to decide {judged} values of this answer; at most {MOST_JUDGED} are put to it",
            kind="too_long",
        )
    return compared


def _rubric(compared: Compared) -> str:
    return compared.field.rubric if compared.field is not None else ""


def _line(compared: Compared, reasons: Mapping[Path, str]) -> str:
    return f"{compared.line}; {reasons[compared.path]}" if compared.path in reasons else compared.line


def _text(value: object) -> str:
    """Return a value for the judge: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
