"""Assertions of promptfoo, and what AgentV took over of them, as evaluators."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from evenhand.convert.draft import Draft, named
from evenhand.convert.source import CannotCarryError, Part, Source, as_context, is_file, items
from evenhand.domain.scale import is_finite_number
from evenhand.domain.template import Template
from evenhand.suites.values import Listed, Mapped, plain

Definition = dict[str, Any]

_NO_CODE: Final = "Evenhand runs no {}; a code_judge runs a program of yours"
_NO_CHECK: Final = "Evenhand has no such check; a code_judge can run a program that does it"
_TRACES: Final = "Evenhand judges answers, not what an agent did on the way"
_ACROSS: Final = "it compares the outputs of several providers; Evenhand judges each answer by itself"
# What takes more than an entry in the table below to carry over.
NOT_CARRIED: Final[Mapping[str, str]] = {
    "javascript": _NO_CODE.format("JavaScript"), "python": "no program of another tool is run; a code_judge runs yours",
    "ruby": _NO_CODE.format("Ruby"), "webhook": "nothing is sent to other services; a code_judge can",
    "select-best": _ACROSS, "max-score": _ACROSS, "human": "people judge in the web pages of promptfoo only",
    "conversation-relevance": "it looks at each turn of a conversation; an llm_judge sees all of it",
    "agent-rubric": "its grader is an agent; an llm_judge is asked", "search-rubric": "no judge searches the web",
    "is-refusal": "it looks for phrases; an llm_judge with the rubric 'Refuses to answer' can tell",
    "moderation": "no moderation service is asked; an llm_judge can be",
    "guardrails": "what a provider's guardrails said is not recorded",
    "skill-used": _TRACES, "tool-call-f1": _TRACES, "finish-reason": _TRACES,
}  # fmt: skip
_FAMILIES: Final = (
    ("trajectory:", _TRACES),
    ("trace-", _TRACES),
    ("promptfoo:redteam:", "there is no red teaming here"),
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What the assertions of one test see: the values of its variables, and the templates of the file.

    ``question`` is the input of the case, and ``fields`` what the assertions need in further fields of it.
    """

    source: Source
    draft: Draft
    values: Mapping[str, Any]
    template: Callable[[str], Any]
    judge: Callable[[Any], Any]
    all_must_pass: bool = True
    question: Any = None
    fields: dict[str, Any] = field(default_factory=dict)


def text_of(value: Any) -> str:
    """Return a value as JavaScript puts it into a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def rendered(text: str, values: Mapping[str, Any]) -> str:
    """Fill plain variables into a text; what else Nunjucks can do cannot be carried over.

    >>> rendered("Hello, {{name}}!", {"name": "Ada"})
    'Hello, Ada!'
    """
    template = Template.with_double_braces(text)
    for part in template.parts:
        if isinstance(part, str) and any(mark in part for mark in ("{{", "{%", "{#")):
            raise CannotCarryError("it uses Nunjucks; only plain variables, {{ name }}, are filled in")
    missing = sorted(template.names - set(values))
    if missing:
        raise CannotCarryError(f"it uses the variable {missing[0]!r:.80}, which has no value")
    return template.render({name: text_of(values[name]) for name in template.names})


def filled(value: Any, values: Mapping[str, Any]) -> Any:
    """Fill variables into every text in a value."""
    if isinstance(value, str):
        return rendered(value, values) if "{" in value else value
    if isinstance(value, dict):
        return {key: filled(item, values) for key, item in value.items()}
    return [filled(item, values) for item in value] if isinstance(value, list) else value


def evaluators_of(asserts: Listed, file: str, scope: Scope) -> list[Definition]:
    """Carry assertions over; those that cannot be are listed."""
    made = []
    for item, line in items(asserts):
        if isinstance(item, str):  # AgentV has criteria in this place
            made += _checked({"type": "llm_judge", "rubrics": [item]}, scope, file, line, "a criterion")
            continue
        if not isinstance(item, Mapped):
            scope.draft.left.add(file, line, "an assert", "it must be a mapping with a type")
            continue
        definition = _evaluator(_dereferenced(item, scope), file, scope)
        made += [] if definition is None else [definition]
    return made


def _checked(definition: Definition, scope: Scope, file: str, line: int, name: str) -> list[Definition]:
    problem = scope.draft.evaluator_problem(definition)
    if problem is not None:
        scope.draft.left.add(file, line, name, problem)
    return [] if problem else [definition]


def _dereferenced(item: Mapped, scope: Scope) -> Mapped:
    reference = item.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/assertionTemplates/"):
        found = scope.template(reference.removeprefix("#/assertionTemplates/"))
        if isinstance(found, Mapped):
            return found
    return item


def _evaluator(item: Mapped, file: str, scope: Scope) -> Definition | None:
    kind = item.get("type")
    part = scope.draft.part(item, f"assert {str(kind)!r:.80}", file)
    if not isinstance(kind, str):
        part.leave_whole("it has no type")
        return None
    part.take("type")
    base = kind.removeprefix("not-")
    reason = NOT_CARRIED.get(base) or next((why for start, why in _FAMILIES if base.startswith(start)), None)
    if reason is None and base not in _CARRIED:
        reason = _NO_CHECK
    if reason is None and part.has("transform"):
        reason = "it judges what a transform makes of the output; Evenhand judges the output itself"
    if reason is not None:
        part.leave_whole(reason)
        return None
    try:
        definition = _CARRIED[base](part, scope)
        if kind != base:
            definition = _negated(definition)
        definition |= _common(part, scope)
    except CannotCarryError as error:
        part.leave_whole(str(error))
        return None
    part.leave("config", "it is for assertions in code")
    problem = scope.draft.evaluator_problem(definition)
    if problem is not None:
        part.leave_whole(problem)
        return None
    part.leave_rest("Evenhand has nothing for it")
    return definition


def _common(part: Part, scope: Scope) -> Definition:
    """Carry over what every assertion may have."""
    options: Definition = {}
    weight = part.take("weight")
    if weight is not None:
        options["weight"] = weight
    if scope.all_must_pass and weight != 0:
        options["required"] = True
    metric = part.take("metric")
    if isinstance(metric, str):
        options["name"] = rendered(metric, scope.values)
    return options


def _negated(definition: Definition) -> Definition:
    if definition["type"] == "llm_judge" and len(definition.get("rubrics", ())) == 1:
        (item,) = definition["rubrics"]
        if isinstance(item, str):
            return {**definition, "rubrics": [f"This is not the case: {item}"]}
    if definition["type"] in {"llm_judge", "schema", "composite"}:
        raise CannotCarryError("its opposite cannot be judged")
    return {**definition, "negate": True}


def _value(part: Part, scope: Scope) -> Any:
    value = part.take("value")
    if is_file(value):
        if value.endswith((".yaml", ".yml", ".json")):
            return filled(plain(scope.source.value(value).value), scope.values)
        return filled(scope.source.text(value).strip(), scope.values)
    return filled(plain(value), scope.values)


def _text(part: Part, scope: Scope) -> str:
    value = _value(part, scope)
    if value is None:
        raise CannotCarryError("it has no value")
    return text_of(value)


def _number(part: Part, key: str, default: float | None = None) -> float:
    value = part.take(key)
    if value is None and default is not None:
        return default
    if not is_finite_number(value):
        raise CannotCarryError(f"it needs a {key}, which must be a number")
    return float(value)


def _equals(part: Part, scope: Scope) -> Definition:
    value = _value(part, scope)
    if isinstance(value, (dict, list)):
        return {"type": "json_match", "value": value, "extra_keys": False, "min": 1}
    return {"type": "equals", "value": "" if value is None else text_of(value)}


def _with_text(kind: str) -> Callable[[Part, Scope], Definition]:
    return lambda part, scope: {"type": kind, "value": _text(part, scope)}


def _with_texts(kind: str, mode: str) -> Callable[[Part, Scope], Definition]:
    def make(part: Part, scope: Scope) -> Definition:
        value = _value(part, scope)
        if isinstance(value, str):
            (value,) = [*csv.reader([value.replace("\n", " ")], skipinitialspace=True)] or [[]]
            value = [text.strip() for text in value if text.strip()]
        if not isinstance(value, list):
            raise CannotCarryError("it needs a list of texts")
        return {"type": kind, "value": [text_of(text) for text in value], "mode": mode}

    return make


def _is_json(part: Part, scope: Scope) -> Definition:
    value = _value(part, scope)
    return {"type": "is_json"} if value is None else {"type": "is_json", "schema": value}


def _contains_json(part: Part, scope: Scope) -> Definition:
    if str(part.mapping["type"]).startswith("not-"):
        raise CannotCarryError("its opposite cannot be judged")
    part.note("of several JSON values in an answer, the first counts, not any", "type")
    value = _value(part, scope)
    return {"type": "schema", "schema": {} if value is None else value, "parse": "tolerant"}


_USUAL_EDITS: Final = 5


def _levenshtein(part: Part, scope: Scope) -> Definition:
    value = _text(part, scope)
    edits = _number(part, "threshold", _USUAL_EDITS)
    if edits >= len(value):
        raise CannotCarryError("it allows as many edits as the value has characters, which any answer may pass")
    least = math.floor((1 - edits / len(value)) * 10_000) / 10_000
    part.note(
        f"{edits:g} edits become a likeness of {least:g}, which allows more of them in a longer answer", "threshold"
    )
    return {"type": "levenshtein", "value": value, "min": least}


def _overlap(definition: Definition, usual: float) -> Callable[[Part, Scope], Definition]:
    def make(part: Part, scope: Scope) -> Definition:
        part.note("Evenhand splits texts into words differently, so its scores differ slightly", "type")
        return {**definition, "value": _value(part, scope), "min": _number(part, "threshold", usual)}

    return make


def _latency(part: Part, _: Scope) -> Definition:
    return {"type": "latency", "max": _number(part, "threshold") / 1000}


def _cost(part: Part, _: Scope) -> Definition:
    return {"type": "cost", "max": _number(part, "threshold")}


def graded(criteria: list[str], threshold: float) -> Definition:
    """Make an evaluator that scores criteria from 0 to 10 and passes from a threshold on."""
    bands = {"0": "Not met", "1": "Met in part", "10": "Fully met"}
    rubrics = [{"description": text, "score_ranges": bands} for text in criteria]
    marks = {"pass": threshold, "borderline": threshold}
    return {"type": "llm_judge", "rubrics": rubrics, "thresholds": marks}


def _judged(wording: str = "{}") -> Callable[[Part, Scope], Definition]:
    """Let a judge check one criterion: met or not, or, where a threshold is set, from 0 to 10."""

    def make(part: Part, scope: Scope) -> Definition:
        value = _value(part, scope)
        if value is None:
            raise CannotCarryError("it has no value")
        criterion = wording.format(text_of(value))
        threshold = part.take("threshold")
        if threshold is None:
            return {"type": "llm_judge", "rubrics": [criterion], **_grader(part, scope)}
        return {**graded([criterion], threshold), **_grader(part, scope)}

    return make


def _g_eval(part: Part, scope: Scope) -> Definition:
    value = _value(part, scope)
    criteria = [text_of(item) for item in (value if isinstance(value, list) else [value]) if item is not None]
    if not criteria:
        raise CannotCarryError("it has no value")
    return {**graded(criteria, _number(part, "threshold", 0.7)), **_grader(part, scope)}


def _by_prompt(prompt: str, *, of_context: bool = True) -> Callable[[Part, Scope], Definition]:
    """Let a judge score by a ready prompt, from 0 to 1; without a threshold, promptfoo lets every score pass."""

    def make(part: Part, scope: Scope) -> Definition:
        if part.has("contextTransform"):
            raise CannotCarryError("its context is what a program takes out of the output; give cases a context")
        if of_context and as_context(scope.values.get("context")) is None:
            raise CannotCarryError("it needs the variable context: a text, or a list of texts")
        query = scope.values.get("query")
        if query is not None and text_of(query) != scope.question:
            part.note("the judge reads the whole input of the case as the question, not the variable query", "type")
        threshold = _number(part, "threshold", 0)
        marks = {"pass": threshold, "borderline": threshold}
        return {"name": prompt, "type": "llm_judge", "prompt": prompt, "thresholds": marks, **_grader(part, scope)}

    return make


def _context_recall(part: Part, scope: Scope) -> Definition:
    expected = _text(part, scope)
    definition = _by_prompt("context_recall")(part, scope)
    if scope.fields.setdefault("reference_answer", expected) != expected:
        raise CannotCarryError("a case has one reference answer, and that is the value of another context-recall")
    part.note("its value is the reference answer of the case, which all judges of the case read", "value")
    return definition


def _context_relevance(part: Part, scope: Scope) -> Definition:
    definition = _by_prompt("retrieval_relevance")(part, scope)
    part.note(
        "the judge scores whether the context helps to answer, not which share of its sentences is needed", "type"
    )
    return definition


def _grader(part: Part, scope: Scope) -> Definition:
    part.leave("rubricPrompt", "it asks for another format of reply; a template can replace the prompt")
    provider = part.take("provider")
    if provider is None:
        return {}
    try:
        return {"judge": scope.judge(provider)}
    except CannotCarryError as error:
        part.leave("provider", str(error))
        return {}


def _assert_set(part: Part, scope: Scope) -> Definition:
    threshold = part.take("threshold")
    inner = replace(scope, all_must_pass=threshold is None)
    asserts = part.listed("assert")
    members = named(evaluators_of(asserts, part.file, inner))
    if not members:
        raise CannotCarryError("none of its asserts is carried over")
    if len(members) < len(asserts):
        part.note("the set is judged without those of its asserts that are not carried over", "assert")
    marks = {} if threshold is None else {"thresholds": {"pass": threshold, "borderline": threshold}}
    return {"type": "composite", "members": members, **marks}


_FACTS: Final = "Agrees with this, or says less or more without contradicting it: {}"

_CARRIED: Final[Mapping[str, Callable[[Part, Scope], Definition]]] = {
    "equals": _equals,
    "contains": _with_text("contains"),
    "icontains": _with_text("icontains"),
    "contains-all": _with_texts("contains", "all"),
    "contains-any": _with_texts("contains", "any"),
    "icontains-all": _with_texts("icontains", "all"),
    "icontains-any": _with_texts("icontains", "any"),
    "starts-with": _with_text("starts_with"),
    "ends-with": _with_text("ends_with"),
    "regex": _with_text("regex"),
    "is-json": _is_json,
    "contains-json": _contains_json,
    "levenshtein": _levenshtein,
    "rouge-n": _overlap({"type": "rouge", "variant": "rouge1"}, 0.75),
    "bleu": _overlap({"type": "bleu", "lowercase": True}, 0.5),
    "latency": _latency,
    "cost": _cost,
    "llm-rubric": _judged(),
    "model-graded-closedqa": _judged(),
    "g-eval": _g_eval,
    "factuality": _judged(_FACTS),
    "model-graded-factuality": _judged(_FACTS),
    "answer-relevance": _by_prompt("answer_relevance", of_context=False),
    "context-faithfulness": _by_prompt("faithfulness"),
    "context-recall": _context_recall,
    "context-relevance": _context_relevance,
    "assert-set": _assert_set,
}
