"""The format of an exported run: its lines may come from anybody, so they are validated."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import orjson

from evenhand.domain.early_decision import UNTIL_DECIDED, UntilDecided
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import slices_of
from evenhand.domain.label import MOST_SEED, Draw, is_rater
from evenhand.domain.run import IMPORTED_FROM, RunStatus
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import Thresholds
from evenhand.store.labels import WITHDRAWN, draw_of, label_of
from evenhand.store.rows import answer_of, evaluation_row, judgment_of, planned_from

# The columns of an answer or an evaluation after those that say whose it is.
Row: TypeAlias = tuple[Any, ...]

_LARGEST: Final = 2**53
_MOST_SAMPLES: Final = 100_000
# The first second of the year 10000, beyond which no calendar here goes.
_LAST_MOMENT: Final = 253_402_300_800
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MISSING: Final = object()


def parse_line(line: bytes, where: str) -> dict[str, Any]:
    """Read a line as one JSON object: no key twice, no NaN, no half of a character, and whole numbers as they are."""
    value: dict[str, Any] = parse_object(line, where, what="a line")
    return value


def parse_object(
    content: bytes, where: str, *, what: str = "the file", allows_nan: bool = False, allows_list: bool = False
) -> Any:
    """Read strict JSON that must be one object.

    With ``allows_nan``, NaN and infinities are read as they are, and halves of characters too; with ``allows_list``, a
    list may be there in place of the object.
    """
    decoder = _DECODER_WITH_NAN if allows_nan else _DECODER
    try:
        if not allows_nan:
            orjson.loads(content)  # refuses bytes that are no UTF-8, lone surrogates, and what is nested too deeply
        value = decoder.decode(content.decode())
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: this is not strict JSON: {error!s:.200}") from None
    if not isinstance(value, dict) and not (allows_list and isinstance(value, list)):
        raise ConfigError(f"{where}: {what} must be one JSON object")
    return value


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"duplicate key {double!r:.80}")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not is_finite_number(number):
        raise ValueError(f"{text:.40} is too large a number")
    return number


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_constant=_refuse_constant, parse_float=_finite
)
_DECODER_WITH_NAN: Final = json.JSONDecoder(object_pairs_hook=_unique_members)


class Kind(NamedTuple):
    """What a value must be, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]


def _whole(least: int = 0, most: int = _LARGEST) -> Kind:
    return Kind(
        f"a whole number from {least} to {most}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most,
    )


def _number(most: float = float("inf")) -> Kind:
    # Whole numbers in columns for others would have to fit into 64 bits.
    below = "" if most == float("inf") else f", and below {most:g}"
    return Kind(
        f"a number, 0 or more{below}",
        lambda value: is_finite_number(value) and 0 <= value < (most if isinstance(value, float) else min(most, 2**63)),
    )


def _or_null(kind: Kind) -> Kind:
    return Kind(f"{kind.words}, or null", lambda value: value is None or kind.holds(value))


def _or_absent(kind: Kind) -> Kind:
    return Kind(kind.words, lambda value: value is _MISSING or kind.holds(value))


def _either(*kinds: Kind) -> Kind:
    return Kind(" or ".join(kind.words for kind in kinds), lambda value: any(kind.holds(value) for kind in kinds))


def _list_of(kind: Kind) -> Kind:
    return Kind(f"a list, each {kind.words}", lambda value: isinstance(value, list) and all(map(kind.holds, value)))


def _object_of(kind: Kind) -> Kind:
    return Kind(
        f"an object, each value {kind.words}",
        lambda value: isinstance(value, dict) and all(map(kind.holds, value.values())),
    )


# No database here keeps a zero character in a column of its own.
_TEXT: Final = Kind("text", lambda value: isinstance(value, str) and "\0" not in value)
_ANY_TEXT: Final = Kind("text", lambda value: isinstance(value, str))
_FLAG: Final = Kind("true or false", lambda value: isinstance(value, bool))
_OBJECT: Final = Kind("an object", lambda value: isinstance(value, dict))
_MOMENT: Final = _number(_LAST_MOMENT)
# Dollars or seconds: added up over all cases, they stay numbers.
_AMOUNT: Final = _number(1e15)
_TEXTS: Final = _or_absent(_list_of(_ANY_TEXT))
_TEXT_OR_NOT: Final = _or_absent(_or_null(_ANY_TEXT))
_COUNTS: Final = _or_absent(_or_null(_object_of(_whole())))

_PLANNED: Final = {status.value for status in RunStatus} - {RunStatus.PLANNING.value}
_RUN: Final = {
    "id": Kind("letters, digits, dots and dashes", lambda value: isinstance(value, str) and bool(_ID.fullmatch(value))),
    "name": _TEXT,
    "status": Kind(
        "the status of a run that was planned",
        lambda value: isinstance(value, str) and value in _PLANNED,
    ),
    "reason": _TEXT,
    "definition": _OBJECT,
    "options": _OBJECT,
    "cases": _whole(),
    "repeat": _whole(1, _MOST_SAMPLES),
    "forked_from": _or_null(_TEXT),
    "version": _TEXT,
    "created": _MOMENT,
    "finished": _or_null(_MOMENT),
    "abandoned_calls": _or_absent(_whole()),
    "abandoned_cost": _or_absent(_or_null(_AMOUNT)),
}  # fmt: skip
_OPTIONS: Final = {
    "only": _or_absent(_list_of(_TEXT)),
    "limit": _or_absent(_or_null(_whole(1))),
    "answers_from": _or_absent(_or_null(_TEXT)),
    "judge": _or_absent(_TEXT),
    "target": _or_absent(_either(_TEXT, _list_of(_TEXT))),
    "label": _or_absent(_TEXT),
    "tags": _or_absent(_list_of(_TEXT)),
}
# A model by its name, by its settings, or several of these.
_MODEL: Final = _or_absent(_or_null(_either(_ANY_TEXT, _OBJECT, _list_of(_either(_ANY_TEXT, _OBJECT)))))
_DEFINITION: Final = {
    "name": _or_absent(_ANY_TEXT),
    "evaluators": _or_absent(_list_of(_OBJECT)),
    "judge": _MODEL,
    "target": _MODEL,
    "prompt": _or_absent(_OBJECT),
    IMPORTED_FROM: _or_absent(_OBJECT),
    "profiles": _or_absent(_OBJECT),
    "prices": _or_absent(_or_null(_OBJECT)),
    "timeout": _or_absent(_or_null(_AMOUNT)),
    "concurrency": _or_absent(_or_null(_whole(1))),
    "repeat": _or_absent(_or_null(_whole(1, _MOST_SAMPLES))),
}
_EVALUATOR: Final = {"name": _or_absent(_ANY_TEXT), "type": _or_absent(_ANY_TEXT)}
_PROMPT: Final = {
    "id": _ANY_TEXT,
    "name": _ANY_TEXT,
    "version": _whole(1),
    "evaluation_mode": _or_absent(_ANY_TEXT),
}
_CASE: Final = {
    "case": _OBJECT,
    "evaluators": _or_absent(_list_of(_OBJECT)),
    "hash": _TEXT,
    "expected": _whole(),
    "answers": _list_of(_OBJECT),
    "evaluations": _list_of(_OBJECT),
}
_MADE: Final = {"attempts": _or_absent(_list_of(_OBJECT)), "error": _TEXT_OR_NOT, "usage": _COUNTS}
_ANSWER: Final = _MADE | {
    "text": _or_null(_ANY_TEXT),
    "round": _whole(),
    "latency": _or_absent(_or_null(_AMOUNT)),
    "cost": _or_absent(_or_null(_AMOUNT)),
    "messages": _or_absent(_list_of(_OBJECT)),
}
_EVALUATION: Final = _MADE | {
    "evaluator": _ANY_TEXT,
    "type": _ANY_TEXT,
    "round": _whole(),
    "key": _TEXT,
    "weight": _number(),
    "required": _FLAG,
    "cost": _or_null(_AMOUNT),
    "seconds": _AMOUNT,
    "hits": _TEXTS,
    "misses": _TEXTS,
    "flags": _TEXTS,
    "label": _or_absent(_or_null(_ANY_TEXT)),
    "reasoning": _or_absent(_ANY_TEXT),
    "checks": _or_absent(_list_of(_OBJECT)),
    "details": _or_absent(_OBJECT),
    "retry_count": _or_absent(_whole()),
    "evaluator_provider_request": _or_absent(_or_null(_object_of(_ANY_TEXT))),
}
_ATTEMPT: Final = {
    "kind": Kind("reply or transport", lambda value: value in ("reply", "transport")),
    "raw": _TEXT_OR_NOT,
    "error": _TEXT_OR_NOT,
    "latency": _or_absent(_AMOUNT),
    "usage": _COUNTS,
    "cached": _or_absent(_FLAG),
    "dropped": _or_absent(_whole()),
    "model": _or_absent(_ANY_TEXT),
    "cost": _or_absent(_AMOUNT),
    "batch": _or_absent(_FLAG),
    "saved": _or_absent(_number()),
}
_CHECK: Final = {"id": _ANY_TEXT, "satisfied": _FLAG, "reasoning": _or_absent(_ANY_TEXT)}

_LABEL: Final = {
    "number": _whole(),
    "evaluator": _or_null(_ANY_TEXT),
    "rater": Kind("the name of a person, on one line", is_rater),
    "at": _MOMENT,
}
_GIVEN: Final = _LABEL | {"case": _ANY_TEXT, "note": _ANY_TEXT, "answer": _ANY_TEXT}
_DRAW: Final = {
    "seed": _whole(0, MOST_SEED),
    "uncertain": _number(1),
    "evaluator": _or_null(_ANY_TEXT),
    "eligible": _whole(),
    "unsure": _whole(),
    "left_out": _object_of(_whole()),
    "made": _MOMENT,
}


def checked_run(fields: Any, where: str) -> dict[str, Any]:
    """Return the fields of a run."""
    _check(fields, _RUN, f"{where}: run")
    _check(fields["options"], _OPTIONS, f"{where}: run: options")
    _check_definition(fields["definition"], f"{where}: run: definition")
    if UNTIL_DECIDED in fields["options"]:
        try:
            UntilDecided.parse(fields["options"][UNTIL_DECIDED])
        except ConfigError as error:
            raise ConfigError(f"{where}: run: options: {error}") from None
    try:
        Thresholds.of(fields["definition"].get("thresholds"))
        slices_of(fields["definition"])
    except ConfigError as error:
        raise ConfigError(f"{where}: run: definition: {error}") from None
    run: dict[str, Any] = fields
    return run


def checked_case(line: Mapping[str, Any], content: str, where: str, *, position: int) -> tuple[str, int]:
    """Validate a case, and return its id and how many evaluators judge it."""
    _check(line, _CASE | {"position": _whole(position, position)}, f"{where}: case")
    made = _make(lambda: planned_from(position, line["hash"], line["expected"], content), f"{where}: case")
    identity = made.case.id
    if identity is None or not _TEXT.holds(identity):
        raise ConfigError(f"{where}: case: id is {identity!r:.80}; it must be text")
    return identity, made.expected


def checked_answer(fields: Mapping[str, Any], content: str, where: str, *, repeat: int) -> Row:
    """Return the sample, round and content of an answer."""
    where = f"{where}: answer"
    _check(fields, _ANSWER | {"sample": _whole(0, repeat - 1)}, where)
    _check_attempts(fields, where)
    made = _make(lambda: answer_of(content), where)
    return made.sample, made.round, content


def checked_evaluation(fields: Mapping[str, Any], content: str, where: str, *, expected: int, repeat: int) -> Row:
    """Return the columns of an evaluation; those with results come from the evaluation itself."""
    where = f"{where}: evaluation"
    _check(fields, _EVALUATION | {"place": _whole(0, expected - 1), "sample": _whole(0, repeat - 1)}, where)
    _check_attempts(fields, where)
    for check in fields.get("checks", ()):
        _check(check, _CHECK, f"{where}: check")
    columns = [fields[name] for name in ("sample", "round", "key", "weight", "required", "cost", "seconds")]
    judgment = _make(lambda: judgment_of([*columns, content]), where)
    return evaluation_row(0, 0, fields["place"], judgment, content)[2:]


def checked_label(fields: Any, where: str, *, position: int, numbers: set[int]) -> tuple[int, Mapping[str, Any]]:
    """Return the position and the fields of a person's label; ``numbers`` are those that others of the run have."""
    where = f"{where}: label"
    _check(fields, _LABEL, where)
    if fields["number"] in numbers:
        raise ConfigError(f"{where}: duplicate number {fields['number']}")
    numbers.add(fields["number"])
    if fields.get("value", _MISSING) is not WITHDRAWN:
        _check(fields, _GIVEN, where)
        _make(lambda: label_of(position, fields), where)
    return position, fields


def checked_draws(rows: Any, where: str, *, cases: int) -> list[Draw]:
    """Return the draws of a run's labels."""
    if not isinstance(rows, list):
        raise ConfigError(f"{where}: label_draws is {rows!r:.80}; it must be a list")
    in_run = _whole(0, max(cases - 1, 0))
    row = Kind("position, case, p and answer", lambda value: isinstance(value, list) and len(value) == 4)
    draws = []
    place = f"{where}: label_draws"
    for fields in rows:
        _check(fields, _DRAW | {"cases": _list_of(row)}, place)
        for position, case, p, answer in fields["cases"]:
            drawn = {"position": position, "case": case, "p": p, "answer": answer}
            _check(drawn, {"position": in_run, "case": _ANY_TEXT, "p": _number(), "answer": _ANY_TEXT}, place)
        if len({position for position, *_ in fields["cases"]}) < len(fields["cases"]):
            raise ConfigError(f"{place}: a case is drawn twice")
        draws.append(_make(functools.partial(draw_of, fields), place))
    return draws


def _check_definition(fields: Mapping[str, Any], where: str) -> None:
    _check(fields, _DEFINITION, where)
    for evaluator in fields.get("evaluators", ()):
        _check(evaluator, _EVALUATOR, f"{where}: evaluator")
    if "prompt" in fields:
        _check(fields["prompt"], _PROMPT, f"{where}: prompt")


def _check_attempts(fields: Mapping[str, Any], where: str) -> None:
    for attempt in fields.get("attempts", ()):
        _check(attempt, _ATTEMPT, f"{where}: attempt")


def _check(fields: Any, shape: Mapping[str, Kind], where: str) -> None:
    if not isinstance(fields, Mapping):
        raise ConfigError(f"{where} must be an object")
    for name, kind in shape.items():
        value = fields.get(name, _MISSING)
        if not kind.holds(value):
            problem = "is missing" if value is _MISSING else f"is {value!r:.80}"
            raise ConfigError(f"{where}: {name} {problem}; it must be {kind.words}")


def _make(make: Callable[[], Any], where: str) -> Any:
    """Make a value from JSON; an error names where it is."""
    try:
        return make()
    except (KeyError, TypeError, ValueError) as error:
        problem = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise ConfigError(f"{where}: {problem:.300}") from None
