"""One field of a JSON answer: where it is, and when its value is right."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields as fields_of
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, get_args

from evenhand.domain.errors import ConfigError, ContractError, did_you_mean, require_flag
from evenhand.domain.json_path import path_text
from evenhand.domain.rubric import exact, is_weight
from evenhand.evaluators.checks.numeric import find_number
from evenhand.evaluators.reading import parse_strict
from evenhand.evaluators.value_text import shown

Match: TypeAlias = Literal["exact", "number", "date", "text", "judge"]
Path: TypeAlias = tuple[str | int, ...]

ISO: Final = "YYYY-MM-DD"
_OPTIONS: Final = {"tolerance": "number", "relative": "number", "formats": "date", "rubric": "judge"}
_STEP = re.compile(r'\[(?:([0-9]{1,6})|(\*)|("(?:[^"\\]|\\.)*"))\]|\.?([^.\[\]"$]+)')
_MOST_PATH: Final = 1_000

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_UNITS: Final = re.compile("YYYY|MMMM|MMM|MM|DD|M|D")
_UNIT_PATTERNS: Final = {
    "YYYY": "(?P<year>[0-9]{4})", "MMMM": "(?P<name>[A-Za-z]{3,9})", "MMM": "(?P<name>[A-Za-z]{3,4})",
    "MM": "(?P<month>[0-9]{2})", "M": "(?P<month>[0-9]{1,2})", "DD": "(?P<day>[0-9]{2})", "D": "(?P<day>[0-9]{1,2})",
}  # fmt: skip
# A day as ISO 8601 writes it may have a time after it, which is not compared.
_ISO_DAY: Final = re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})(?:[T ][0-9:.,+Zz\-]{1,40})?")
# On this day, no two formats agree by chance.
_TRIAL: Final = dt.date(2004, 2, 3)


@dataclass(frozen=True, slots=True)
class AnyItem:
    """The step of a path that stands for every item of a list."""


Step: TypeAlias = str | int | AnyItem


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonField:
    """A field that is compared; ``required`` fails the answer where it is missed, ``optional`` lets it be absent.

    >>> JsonField(path="total", match="number", tolerance=0.01).is_right(10, 10.01)
    True
    """

    path: str
    match: Match = "exact"
    weight: float = 1.0
    required: bool = False
    optional: bool = False
    tolerance: float = 0.0
    relative: float = 0.0
    formats: Sequence[str] = (ISO,)
    rubric: str = ""

    def __post_init__(self) -> None:
        steps_of(self.path)
        if self.match not in get_args(Match):
            names = ", ".join(get_args(Match))
            raise ConfigError(f"match is {self.match!r:.80}; it must be one of {names}")
        for name in ("weight", "tolerance", "relative"):
            if not is_weight(getattr(self, name)):
                raise ConfigError(f"{name} is {getattr(self, name)!r:.80}; it must be a number, 0 or more")
        for name in ("required", "optional"):
            require_flag(getattr(self, name), name)
        if not isinstance(self.rubric, str) or (self.match == "judge") is not bool(self.rubric.strip()):
            raise ConfigError("match judge and rubric go together: say in rubric when the value is right")
        object.__setattr__(self, "formats", _checked_formats(self.formats))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The path, step by step."""
        return steps_of(self.path)

    @property
    def margin(self) -> str:
        """How far off a number may be, in words."""
        margins = [f"{self.tolerance:g}"] if self.tolerance else []
        margins += [f"{100 * self.relative:g} %"] if self.relative else []
        return f" ± {' or '.join(margins)}" if margins else ""

    def problem(self, expected: object) -> str:
        """Say why no answer could be held against a value in this way; "" where one can."""
        if expected is None or self.match in {"exact", "judge"} or self.key(expected) is not None:
            return ""
        names = {"number": "a number", "text": "text", "date": f"a date like {' or '.join(self.formats)}"}
        return f"{shown(expected)}, which is not {names[self.match]}"

    def key(self, value: object) -> object:
        """Return what two values must have in common to be the same; None where a value is not of the kind."""
        if self.match == "number":
            return number_of(value)
        if not isinstance(value, str):
            return None
        return " ".join(value.casefold().split()) if self.match == "text" else date_of(value, self.formats)

    @property
    def by_key(self) -> bool:
        """Whether values are the same exactly where their keys are."""
        return self.match in {"text", "date"} or (self.match == "number" and not self.margin)

    def is_right(self, expected: object, found: object) -> bool:
        """Return whether a value is what was expected, by number, date or text."""
        if expected is None or found is None:
            return expected is found
        ours, theirs = self.key(expected), self.key(found)
        if isinstance(ours, Fraction) and isinstance(theirs, Fraction):
            return abs(ours - theirs) <= max(exact(self.tolerance), exact(self.relative) * abs(ours))
        return ours is not None and ours == theirs


FieldLike: TypeAlias = JsonField | str | Mapping[str, Any]
_KEYS: Final = tuple(each.name for each in fields_of(JsonField))


def json_fields(fields: object, *, where: str) -> tuple[JsonField, ...]:
    """Parse fields in any form a user may write, and check them together.

    >>> [field.match for field in json_fields(["name", {"path": "born", "match": "number"}], where="fields")]
    ['exact', 'number']
    """
    if isinstance(fields, (str, Mapping)) or not isinstance(fields, Sequence):
        raise ConfigError(f"{where}: fields must be a list of paths, or of mappings with a path", key="fields")
    made = tuple(_json_field(field, f"{where}: field {number}") for number, field in enumerate(fields, start=1))
    for number, field in enumerate(made):
        for other in made[:number]:
            if all(map(_may_be_one, field.steps, other.steps)):
                raise ConfigError(
                    f"{where}: {field.path!r:.80} and {other.path!r:.80} overlap; a value is counted once, so drop one",
                    key="fields",
                )
    if made and not any(field.weight for field in made):
        raise ConfigError(f"{where}: all weights are 0; at least one must be above 0", key="fields")
    return made


def _json_field(field: object, where: str) -> JsonField:
    if isinstance(field, JsonField):
        return field
    options = {"path": field} if isinstance(field, str) else field
    if not isinstance(options, Mapping) or not isinstance(options.get("path"), str):
        raise ConfigError(f"{where} must be a path, such as items[*].price, or a mapping with one", key="fields")
    where = f"{where} ({options['path']!s:.80})"
    for name in options:
        if name not in _KEYS:
            raise ConfigError(f"{where}: no key {name!r}{did_you_mean(str(name), _KEYS)}", key="fields")
        if name in _OPTIONS and options.get("match") != _OPTIONS[name]:
            raise ConfigError(f"{where}: {name} is for match: {_OPTIONS[name]}", key="fields")
    try:
        return JsonField(**options)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}", key="fields") from None


def steps_of(path: object) -> tuple[Step, ...]:
    """Parse a path.

    >>> steps_of('order.items[*]["unit price"]')
    ('order', 'items', AnyItem(), 'unit price')
    """
    wrong = ConfigError(f"the path {path!r:.80} is none; write one such as items[0].price or items[*].price")
    if not isinstance(path, str) or len(path) > _MOST_PATH:
        raise wrong
    steps: list[Step] = []
    position = 1 if path.startswith("$") else 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None or (not steps and position == 0 and match[0].startswith(".")):
            raise wrong
        number, item, quoted, name = match.groups()
        try:
            steps.append(int(number) if number else AnyItem() if item else _text(quoted) if quoted else name)
        except ContractError:
            raise wrong from None
        position = match.end()
        if name is not None and steps[1:] and not match[0].startswith("."):
            raise wrong
    if not steps:
        raise wrong
    return tuple(steps)


def _text(quoted: str) -> str:
    return str(parse_strict(quoted))


def is_step(step: Step, place: str | int) -> bool:
    """Return whether a step of a path leads to a key or to a place in a list."""
    return isinstance(place, int) if isinstance(step, AnyItem) else step == place


def _may_be_one(left: Step, right: Step) -> bool:
    if isinstance(left, AnyItem):
        return isinstance(right, (int, AnyItem))
    return isinstance(left, int) if isinstance(right, AnyItem) else left == right


def values_at(steps: Sequence[Step], value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Find the values that a path leads to.

    >>> list(values_at(steps_of("a[*].b"), {"a": [{"b": 1}, {}, {"b": 2}]}))
    [(('a', 0, 'b'), 1), (('a', 2, 'b'), 2)]
    """
    if not steps:
        yield path, value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, AnyItem):
        inner: Iterable[tuple[str | int, object]] = enumerate(value) if isinstance(value, list) else ()
    elif isinstance(step, int):
        inner = [(step, value[step])] if isinstance(value, list) and step < len(value) else ()
    else:
        inner = [(step, value[step])] if isinstance(value, dict) and step in value else ()
    for place, member in inner:
        yield from values_at(rest, member, (*path, place))


def problem_with(field: JsonField, expected: object) -> str:
    """Say why a field cannot be compared with what was expected; "" where it can."""
    values = list(values_at(field.steps, expected))
    for path, value in values:
        if problem := field.problem(value):
            return f"{path_text(path)} is {problem}"
    if values or field.optional or any(_empty_lists(field.steps, expected)):
        return ""
    return f"nothing is at {field.path}; correct the path, or mark the field as optional"


def _empty_lists(steps: Sequence[Step], expected: object) -> Iterator[bool]:
    for depth, step in enumerate(steps):
        if isinstance(step, AnyItem):
            yield any(value == [] for _, value in values_at(steps[:depth], expected))


def number_of(value: object) -> Fraction | None:
    """Return the number that a JSON value is, exactly; a text counts where it is a number and nothing else.

    >>> number_of("1,250.50"), number_of(True)
    (Fraction(2501, 2), None)
    """
    if isinstance(value, str):
        number = find_number(value, "whole")
        return None if number is None else number.exact
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return Fraction(value) if isinstance(value, int) else exact(value)


def date_of(text: str, formats: Sequence[str]) -> dt.date | None:
    """Return the day that a text names in one of the formats.

    >>> date_of("2025-01-15T10:30:00Z", ["YYYY-MM-DD"]), date_of("3 Feb 2025", ["D MMM YYYY"])
    (datetime.date(2025, 1, 15), datetime.date(2025, 2, 3))
    """
    for form in formats:
        match = (_ISO_DAY if form == ISO else _pattern_of(form)).fullmatch(text.strip())
        if match is not None and (day := _day(match.groupdict())) is not None:
            return day
    return None


def _pattern_of(form: str) -> re.Pattern[str]:
    position, pattern = 0, ""
    for unit in _UNITS.finditer(form):
        pattern += re.escape(form[position : unit.start()]) + _UNIT_PATTERNS[unit[0]]
        position = unit.end()
    return re.compile(pattern + re.escape(form[position:]))


def _day(parts: Mapping[str, str]) -> dt.date | None:
    month = parts.get("month") or _month(parts["name"].casefold())
    try:
        return dt.date(int(parts["year"]), int(month), int(parts["day"]))
    except ValueError:  # the 30th of February
        return None


def _month(name: str) -> int:
    names = (
        number
        for number, month in enumerate(_MONTHS, start=1)
        if name in {month, month[:3]} or name == "sept" == month[:4]
    )
    return next(names, 0)


def _checked_formats(formats: object) -> tuple[str, ...]:
    if isinstance(formats, str) or not isinstance(formats, Sequence) or not formats:
        raise ConfigError(f"formats is {formats!r:.80}; it must be a list such as [YYYY-MM-DD, DD/MM/YYYY]")
    for form in formats:
        units = [unit[0][0] for unit in _UNITS.finditer(form)] if isinstance(form, str) and len(form) <= 40 else []
        if sorted(units) != ["D", "M", "Y"]:
            raise ConfigError(
                f"formats has {form!r:.80}; a format has a year (YYYY), a month (MM, M, MMM, MMMM) and a day (DD, D)"
            )
    for form in formats:
        for written in formats:
            if date_of(_written(written), [form]) not in (None, _TRIAL):
                raise ConfigError(f"formats has {form} and {written}, which read the same text as other days; drop one")
    return tuple(formats)


def _written(form: str) -> str:
    name = _MONTHS[_TRIAL.month - 1]
    parts = {"YYYY": "2004", "MMMM": name, "MMM": name[:3], "MM": "02", "M": "2", "DD": "03", "D": "3"}
    return _UNITS.sub(lambda unit: parts[unit[0]], form)
