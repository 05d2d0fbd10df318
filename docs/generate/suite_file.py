"""The page about every key of a suite, from its schema and from the classes that the keys become."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from importlib.resources import files
from typing import Any, Final

import jsonschema_rs
from docs.generate.markdown import code, first_line, made_by, page as page_of, prose, table, value
from docs.generate.suite_examples import EXAMPLES, MEANINGS

from evenhand import registry
from evenhand.domain.rubric import Rubric
from evenhand.domain.verdict import Thresholds
from evenhand.engine.job import DEFAULT_CONCURRENCY
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS
from evenhand.evaluators.checks.field import JsonField
from evenhand.models.settings import ModelSettings

SCHEMA: Final[dict[str, Any]] = json.loads(files("evenhand.suites").joinpath("suite.schema.json").read_text("utf-8"))
PARTS: Final[dict[str, Any]] = SCHEMA["definitions"]

INTRODUCTION: Final = """\
Every key that a suite may have. [Suites](../suites.md) introduces them, and shows whole suites. A key without a default
is left out where it is not needed; one that is **required** must be there. `null` is the same as leaving a key out,
unless its meaning says otherwise."""

# What the page calls the parts of the schema, and where it explains them.
KINDS: Final[Mapping[str, str]] = {
    "case": "[case](#a-case)",
    "context_document": "[document](#a-document)",
    "evaluator": "[evaluator](#evaluators)",
    "json_field": "[field](#a-field)",
    "message": "[message](#a-message)",
    "model": "text, or a [model](#a-model)",
    "rubric": "[item](#a-rubric-item)",
    "share": "number from 0 to 1, or a percentage",
    "share_or_count": "whole number, number below 1, or a percentage",
    "target": "text, a [target](#a-target), or a list of these",
    "thresholds": "[thresholds](#thresholds)",
    "type": "text",
}
# Parts that stand within others, by the part and the key.
WITHIN: Final[Mapping[tuple[str, str], str]] = {
    ("suite", "gates"): "[gates](#gates)",
    ("suite", "trust"): "[trust](#trust)",
    ("suite", "prices"): "mapping from models to [prices](#a-price)",
    ("gates", "evaluators"): "mapping from names to [gates](#gates)",
    ("gates", "slices"): "mapping from keys to [gates](#gates)",
    ("rubric", "score_ranges"): "list of [score bands](#a-score-band), or a mapping",
    ("composite", "aggregator"): "text or mapping",
    ("cascade", "confident"): "number from 0 to 1, mapping with `from`, or a list of these",
}
OLD_NAMES: Final = ("rubric", "code")
OF_EVERY_EVALUATOR: Final = ("name", "type", "weight", "required", "thresholds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A mapping in a suite: its heading and its schema; ``name`` is that of its examples."""

    heading: str
    name: str
    schema: Mapping[str, Any]
    words: str = ""
    defaults: Mapping[str, Any] | None = None
    without: tuple[str, ...] = ()

    def written(self) -> str:
        """Write the section."""
        keys = {key: one for key, one in self.schema["properties"].items() if key not in self.without}
        rows = [self._row(key, one) for key, one in keys.items()]
        return page_of(self.heading, self.words, table(("key", "type", "default", "meaning", "example"), rows))

    def _row(self, key: str, schema: Mapping[str, Any]) -> tuple[str, ...]:
        where = f"docs/generate/suite_examples.py: {self.name}.{key}"
        examples = EXAMPLES.get(self.name, {})
        if key not in examples:
            raise KeyError(f"{where} has no example")
        if wrong := _wrong_with(examples[key], schema):
            raise ValueError(f"{where} is no good example: {wrong}")
        meaning = MEANINGS.get(self.name, {}).get(key) or _meaning(schema)
        if not meaning:
            raise KeyError(f"{where} has no meaning, here or in the schema")
        kind = WITHIN.get((self.name, key)) or kind_of(schema)
        return code(key), kind, self._default(key), meaning, value(examples[key])

    def _default(self, key: str) -> str:
        if key in self.schema.get("required", ()):
            return "**required**"
        usual = (self.defaults or {}).get(key)
        return "" if usual is None or usual in ("", (), {}) else value(usual)


def page() -> str:
    """Write the page."""
    return page_of(
        made_by("src/evenhand/suites/suite.schema.json"),
        "# Every key of a suite",
        INTRODUCTION,
        *(part.written() for part in _parts()),
        _evaluators(),
    )


def _parts() -> Iterator[Part]:
    usual = {"concurrency": DEFAULT_CONCURRENCY, "repeat": 1, "thresholds": THRESHOLDS}
    yield Part(heading="## The suite", name="suite", schema=SCHEMA, defaults=usual)
    yield Part(heading="## A case", name="case", schema=PARTS["case"])
    yield Part(heading="## A document", name="context_document", schema=PARTS["context_document"])
    yield Part(heading="## A message", name="message", schema=PARTS["message"])
    rubric = PARTS["rubric"]
    words = "In place of a mapping with nothing but a description, the description alone will do."
    yield Part(heading="## A rubric item", name="rubric", schema=rubric, defaults=_of_class(Rubric), words=words)
    (bands, _) = rubric["properties"]["score_ranges"]["anyOf"]
    yield Part(heading="### A score band", name="score_range", schema=bands["items"], words="The bands cover 0 to 10.")
    words = "One of the `examples` of an [`llm_judge`](#llm_judge): an answer that people judged."
    yield Part(heading="## A judged example", name="judged_example", schema=PARTS["judged_example"], words=words)
    words = "Of a [`field_accuracy`](#field_accuracy). Where no other key is needed, the path alone will do."
    field = PARTS["json_field"]
    yield Part(heading="## A field", name="json_field", schema=field, defaults=_of_class(JsonField), words=words)
    yield Part(heading="## Thresholds", name="thresholds", schema=PARTS["thresholds"], defaults=THRESHOLDS)
    yield Part(heading="## Gates", name="gates", schema=SCHEMA["properties"]["gates"])
    words = "What the judge must reach by labels of people; see [the judge card](../judge-card.md#in-ci)."
    yield Part(heading="## Trust", name="trust", schema=SCHEMA["properties"]["trust"], words=words)
    price = SCHEMA["properties"]["prices"]["additionalProperties"]
    yield Part(heading="## A price", name="price", schema=price, words="In dollars.")
    settings = _of_class(ModelSettings)
    words = "Where no setting is needed, the name alone will do. [Models](../models.md) has the names."
    yield Part(heading="## A model", name="model", schema=PARTS["model_mapping"], defaults=settings, words=words)
    yield from _targets(settings)


def _targets(settings: Mapping[str, Any]) -> Iterator[Part]:
    model, models, program, function = (PARTS[f"target_{kind}"] for kind in ("model", "models", "program", "python"))
    words = "See [targets](../targets.md). The settings of a model are those [above](#a-model)."
    heading = "## A target\n\n### A model that answers"
    above = tuple(key for key in PARTS["model_mapping"]["properties"] if key != "model")
    yield Part(heading=heading, name="target_model", schema=model, defaults=settings, without=above, words=words)
    same = (*above, *(key for key in models["properties"] if key != "models"))
    words = "The other keys are those of one model, for each model that does not have them itself."
    yield Part(heading="### Several models that answer", name="target_models", schema=models, without=same, words=words)
    usual = {"timeout": _of_evaluator("code_judge")["timeout"], "output": "text"}
    yield Part(heading="### A program that answers", name="target_program", schema=program, defaults=usual)
    yield Part(heading="### A Python function that answers", name="target_python", schema=function)


def _evaluators() -> str:
    """Write what all types have, then each type with what is its own."""
    llm_judge = PARTS["evaluator_llm_judge"]
    common = {**llm_judge, "properties": {key: llm_judge["properties"][key] for key in OF_EVERY_EVALUATOR}}
    usual = {**_of_evaluator("llm_judge"), "thresholds": None}
    of_all = Part(
        heading="## Evaluators",
        name="evaluator",
        schema={**common, "required": ["type"]},
        defaults=usual,
        words="Every type of evaluator has these; what a type has besides follows.",
    )
    return page_of(of_all.written(), *map(_evaluator, PARTS["type"]["enum"]))


def _evaluator(name: str) -> str:
    heading, part = f"### `{name}`", PARTS[f"evaluator_{name}"]
    other = part.get("$ref") or next((one["$ref"] for one in part.get("allOf", ())), None)
    if other:
        same = other.rpartition("evaluator_")[2]
        if name in OLD_NAMES:
            return page_of(heading, f"An old name of [`{same}`](#{same}), which loads with a note.")
        return page_of(heading, prose_of(name), f"Its keys are those of [`{same}`](#{same}).")
    defaults = _of_evaluator(name)
    return Part(
        heading=heading, name=name, schema=part, defaults=defaults, without=OF_EVERY_EVALUATOR, words=prose_of(name)
    ).written()


def _wrong_with(example: Any, schema: Mapping[str, Any]) -> list[str]:
    # Beside the keys of a suite, since a schema may refer to any part of the whole.
    whole = {"definitions": PARTS, "properties": {**SCHEMA["properties"], "example": schema}}
    return [error.message for error in jsonschema_rs.Draft7Validator(whole).iter_errors({"example": example})]


def prose_of(name: str) -> str:
    """Return the sentence with which an evaluator introduces itself."""
    return first_line(registry.find(registry.EVALUATORS, name, what="type").__doc__)


def kind_of(schema: Mapping[str, Any]) -> str:
    """Say in words what a value may be."""
    match schema:
        case {"$ref": str(to)}:
            return KINDS.get(to.removeprefix("#/definitions/")) or kind_of(_referred(to))
        case {"allOf": [one]}:
            return kind_of(one)
        case {"enum": list(choices)}:
            return " or ".join(value(choice) for choice in choices)
        case {"anyOf": list(choices)}:
            words = [kind_of(choice) for choice in choices if choice != {"type": "null"}]
            return " or ".join(dict.fromkeys(words))
        case {"type": list(kinds)}:
            return " or ".join(kind_of({**schema, "type": kind}) for kind in kinds if kind != "null")
        case {"type": "array"}:
            return _several(schema.get("items", {}))
        case {"type": str(kind)}:
            return _SIMPLE[kind](schema)
    return "any value"


def _several(item: Mapping[str, Any]) -> str:
    words = [kind_of(choice) for choice in item.get("anyOf", [item])]
    return f"list of {' or '.join(one.replace(']', 's]') if one.startswith('[') else f'{one}s' for one in words)}"


def _number(schema: Mapping[str, Any], word: str) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    above = schema.get("exclusiveMinimum")
    bounds = "" if low is None else f" from {low}"
    if above is not None:
        bounds = f" above {above}"
    return f"{word}{bounds}" + ("" if high is None else f"{' to' if low is not None else ', at most'} {high}")


_SIMPLE: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "string": lambda _: "text",
    "number": lambda schema: _number(schema, "number"),
    "integer": lambda schema: _number(schema, "whole number"),
    "boolean": lambda _: "true or false",
    "object": lambda _: "mapping",
}


def _meaning(schema: Mapping[str, Any]) -> str:
    """Find the description of a key, its own before that of the part to which it refers."""
    if "description" in schema:
        return prose(schema["description"])
    if "$ref" not in schema:
        return ""
    return _meaning(_referred(schema["$ref"]))


def _referred(to: str) -> Any:
    found: Any = SCHEMA
    for step in to.removeprefix("#/").split("/"):
        found = found[step]
    return found


def _of_class(kind: type) -> dict[str, Any]:
    return {one.name: one.default for one in fields(kind) if one.default is not MISSING}


def _of_evaluator(name: str) -> dict[str, Any]:
    options = inspect.signature(registry.find(registry.EVALUATORS, name, what="type")).parameters.values()
    found = {one.name: one.default for one in options if isinstance(one.default, (bool, int, float, str))}
    return {**found, **({"max_attempts": DEFAULT_ATTEMPTS} if "max_attempts" in {one.name for one in options} else {})}


THRESHOLDS: Final = {"pass": Thresholds().pass_at, "borderline": Thresholds().borderline_at}
