"""JSON Schema: compiled once, every error with its path, and nothing that hangs, crashes or fetches.

The validator is jsonschema-rs, for drafts 4, 6, 7, 2019-09 and 2020-12 (the default). ``format`` is an annotation in
every draft, as the latest one has it: what must be so is said with ``pattern``.

A schema is somebody's input, and some schemas make any validator run for ever or overflow its stack, which would kill
this process. So the work is counted first (``graph``). What is quick is done here; what may not be is done apart, in a
process that can be killed (``evaluator.find_errors``). docs/design/schema-validation.md has the measurements.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.json_path import path_text
from evenhand.evaluators.reading import parse_strict
from evenhand.evaluators.scanner import MAX_DEPTH
from evenhand.evaluators.schema.graph import TOO_MUCH, SchemaGraph
from evenhand.evaluators.schema.patterns import Kind, engine, kinds_of, refuse, undecided
from evenhand.evaluators.value_text import shortened

MAX_SCHEMA_TEXT: Final = 1_000_000
MAX_SCHEMA_VALUES: Final = 10_000

# Units of work (see graph) that are done here: under a second at the very worst.
_WORK_HERE = 20_000
# Nested looks that are safe on a stack of 1 MiB, which is what a thread has on Windows.
_NESTED_HERE = 400
# The same for the compilation of unevaluatedProperties, which nests deeper and doubles with references.
_UNEVALUATED_CHAIN_HERE = 20
_UNEVALUATED_WORK_HERE = 10_000

# Integers of thousands of digits take milliseconds.
_BITS_IN_A_UNIT = 200

_BRANCHES_SHOWN = 4
_BASE = "schema:/"
_DIALECTS: Final = frozenset(
    {*(f"http://json-schema.org/draft-0{number}/schema" for number in (4, 6, 7))}
    | {*(f"https://json-schema.org/draft/{date}/schema" for date in ("2019-09", "2020-12"))}
)
_HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledSchema:
    """A schema, ready to check values.

    >>> compile_schema({"properties": {"price": {"type": "number"}}}).errors({"price": "x"})
    [('$.price', '"x" is not of type "number"')]

    ``apart`` says why no value can safely be checked in this process; None if some can.
    """

    text: str
    apart: str | None
    _kinds: Mapping[str, Kind] = field(repr=False)
    _work: tuple[int, ...] = field(repr=False)
    _chain: int = field(repr=False)
    _validator: Any = field(repr=False)

    def errors(self, value: object) -> list[tuple[str, str]]:
        """Return every error in a value, as path and message; raises ``ContractError`` where that may take too long."""
        if hazard := self.hazard(value):
            raise ContractError(f"the value was not checked: {hazard}", kind="schema")
        return self.errors_at_any_price(value)

    def hazard(self, value: object) -> str | None:
        """Say why checking a value may take long or crash; None where it is quick."""
        if self.apart:
            return self.apart
        size, depth = measure(value)
        if depth > MAX_DEPTH:
            return f"it is nested more than {MAX_DEPTH} levels deep"
        if size * self._work[depth] > _WORK_HERE:
            return "it may take too many steps"
        return "it may nest too deep" if self._chain * (depth + 1) > _NESTED_HERE else None

    def errors_at_any_price(
        self, value: object, *, once_invalid: Callable[[], None] = lambda: None
    ) -> list[tuple[str, str]]:
        """Return every error in a value, however long that takes: for a process that can be killed.

        ``once_invalid`` is called as soon as it is known that there are any.
        """
        validator = self._validator or _validator(parse_strict(self.text), self._kinds)
        looking = [pattern for pattern, kind in self._kinds.items() if kind is Kind.LOOKING]
        try:
            errors = _list_errors(validator, looking, value, once_invalid)
        except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell and no text can hold
            errors = _list_errors(validator, looking, _storable(value), once_invalid)
        except ValueError as error:
            raise ContractError(f"the value cannot be checked: {error}", kind="schema") from None
        # The same error, found on several ways through the schema, is one.
        return list(
            dict.fromkeys((path_text(_steps(value, error.instance_path)), _error_message(error)) for error in errors)
        )


class InvalidSchemaError(ConfigError):
    """A schema that cannot be used: ``detail`` says why, at a ``path`` in it or a line and column of its text."""

    def __init__(self, detail: str, *, path: str | None = None, place: tuple[int, int] | None = None) -> None:
        super().__init__(detail if path is None else f"{path}: {detail}")
        self.detail = detail
        self.path = path
        self.place = place


def compile_schema(schema: str | Mapping[str, Any] | bool) -> CompiledSchema:
    """Compile a schema, given as JSON text or as what such text means, or say why it is none (``ConfigError``)."""
    try:
        return _compile(schema)
    except ConfigError as error:
        raise error.within("schema") from None


def _compile(schema: str | Mapping[str, Any] | bool) -> CompiledSchema:
    if isinstance(schema, str):
        return _compiled(schema)
    if not isinstance(schema, (bool, Mapping)):
        raise ConfigError(f"it must be an object, true or false, not {type(schema).__name__}: {schema!r:.80}")
    _check_size(schema)
    try:
        text = json.dumps(schema, allow_nan=False, default=_as_dict)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"it holds what JSON cannot: {error}") from None
    return _compiled(text)


def _as_dict(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} {value!r:.80}")


@functools.lru_cache(maxsize=128)
def _compiled(text: str) -> CompiledSchema:
    if len(text) > MAX_SCHEMA_TEXT:
        raise ConfigError(f"it has {len(text)} characters; at most {MAX_SCHEMA_TEXT} are allowed")
    try:
        schema = parse_strict(text)
    except ContractError as error:
        raise InvalidSchemaError(f"{error}; a schema is a JSON object, true or false", place=error.place) from None
    _check_size(schema)
    _check_form(schema)
    graph = SchemaGraph(schema if isinstance(schema, dict) else {})
    kinds = kinds_of(graph.patterns())
    work = graph.work(kinds)
    if work[0] >= TOO_MUCH:
        raise ConfigError(
            f"it may look at a single value more than {TOO_MUCH} times; "
            "subschemas that refer to the same place double the work at each step"
        )
    apart = _why_apart(graph, kinds)
    return CompiledSchema(
        text=text,
        apart=apart,
        _kinds=kinds,
        _work=work,
        _chain=graph.chain,
        _validator=None if apart else _validator(schema, kinds),
    )


def _check_size(schema: object) -> None:
    size = 0
    level: list[object] = [schema]
    for _ in range(MAX_DEPTH + 1):
        size += len(level)
        if size > MAX_SCHEMA_VALUES:
            raise ConfigError(f"it has more than {MAX_SCHEMA_VALUES} values; take the part that matters")
        for key in (key for value in level if isinstance(value, Mapping) for key in value if not isinstance(key, str)):
            raise ConfigError(f"the key {key!r:.80} is not text; put it in quotes")
        if not (level := [member for value in level for member in _members(value)]):
            return
    raise ConfigError(f"it is nested more than {MAX_DEPTH} levels deep")


def _check_form(schema: Any) -> None:
    """Hold a schema against its meta-schema, and make sure that it refers to nothing elsewhere."""
    import jsonschema_rs  # noqa: PLC0415 - only where schemas are used

    refused: list[str] = []

    def note(uri: str) -> NoReturn:
        refused.append(uri)
        refuse(uri)

    try:
        # In this order: on its own, the check of the form would fetch a meta-schema that it does not know.
        registry = jsonschema_rs.Registry([(_BASE, schema)], retriever=note)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise ConfigError(_why_not_registered(schema, refused) or str(error)) from None
    try:
        jsonschema_rs.meta.validate(schema, registry=registry)
    except jsonschema_rs.ValidationError as error:
        raise _config_error(error) from None
    except jsonschema_rs.ReferencingError as error:
        raise ConfigError(str(error)) from None


def _why_not_registered(schema: Any, refused: list[str]) -> str | None:
    """Return why a schema cannot be used, by what it refers to and what is in it."""
    dialect = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(dialect, str) and dialect.rstrip("#") not in _DIALECTS:
        return f"its meta-schema {dialect!r:.200} is unknown; known: drafts 4, 6, 7, 2019-09 and 2020-12"
    if refused:
        place = refused[0].removeprefix(_BASE)
        return f"it refers to {place!r:.200}, which is elsewhere; nothing is fetched, so put it under $defs"
    if any(_HALF_OF_A_PAIR.search(text) for text in texts_in(schema)):
        return "it holds half of a surrogate pair, which is not text"
    return None


def _why_apart(graph: SchemaGraph, kinds: Mapping[str, Kind]) -> str | None:
    if graph.beyond:
        return graph.beyond
    if Kind.HUGE in kinds.values():
        return "it has a huge pattern"
    if graph.unevaluated and (graph.chain > _UNEVALUATED_CHAIN_HERE or graph.heaviest(kinds) > _UNEVALUATED_WORK_HERE):
        return "it asks what is unevaluated across many subschemas"
    return None


def _validator(schema: Any, kinds: Mapping[str, Kind]) -> Any:
    import jsonschema_rs  # noqa: PLC0415 - only where schemas are used

    options = engine(set(kinds.values()))
    try:
        return jsonschema_rs.validator_for(schema, pattern_options=options, retriever=refuse, validate_formats=False)
    except jsonschema_rs.ValidationError as error:
        raise _config_error(error) from None


def _config_error(error: Any) -> ConfigError:
    return InvalidSchemaError(_error_message(error), path=path_text(error.instance_path))


def measure(value: object) -> tuple[int, int]:
    """Return the size of a value and how deep it is nested; a hundred characters count as much as a value."""
    size = characters = depth = 0
    level = [value]
    while depth <= MAX_DEPTH:
        size += len(level)
        below: list[object] = []
        for item in level:
            if isinstance(item, str):
                characters += len(item)
            elif isinstance(item, dict):
                characters += sum(map(len, item))
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, int):
                size += item.bit_length() // _BITS_IN_A_UNIT
        if not below:
            break
        level = below
        depth += 1
    return size + characters // 100, depth


def texts_in(value: object) -> Iterator[str]:
    """Yield all strings in a value, keys too."""
    level = [value]
    while level:
        yield from (item for item in level if isinstance(item, str))
        yield from (key for item in level if isinstance(item, dict) for key in item)
        level = [member for item in level for member in _members(item)]


def _members(value: object) -> Any:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _list_errors(validator: Any, looking: list[str], value: object, once_invalid: Callable[[], None]) -> list[Any]:
    for pattern in looking:
        if (text := undecided(pattern, texts_in(value))) is not None:
            raise ContractError(
                f"the pattern {pattern!r:.120} could not be decided on {text!r:.60}; "
                "look-around and references back make some texts too hard",
                kind="schema",
            )
    if validator.is_valid(value):
        return []
    once_invalid()
    return list(validator.iter_errors(value))


def _error_message(error: Any) -> str:
    """Return the message of an error; where several subschemas were tried, with the first thing each was missing."""
    message = shortened(error.message)
    tried = [branch[0] for branch in getattr(error.kind, "context", ()) if branch]
    if not tried:
        return message
    branches = [f"{path_text(first.instance_path)}: {shortened(first.message)}" for first in tried[:_BRANCHES_SHOWN]]
    return f"{message} ({'; '.join(branches)}{'; …' if len(tried) > _BRANCHES_SHOWN else ''})"


def _steps(value: object, path: Iterable[str | int]) -> Iterator[str | int]:
    """Yield a path as it is in the value: the validator takes keys such as "2024" for places in a list."""
    for step in path:
        inside = isinstance(value, dict) and isinstance(step, int)
        taken = str(step) if inside else step
        yield taken
        value = value.get(taken) if isinstance(value, dict) else _item_at(value, taken)


def _item_at(value: object, place: str | int) -> object:
    return value[place] if isinstance(value, list) and isinstance(place, int) and place < len(value) else None


def _storable(value: object) -> object:
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
