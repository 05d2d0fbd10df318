"""The keys of a suite beside its cases, and what each may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from evenhand.domain.gates import Gates
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import Thresholds
from evenhand.evaluators.reading import WAYS
from evenhand.models.prices import PriceBook
from evenhand.suites.cases import doubles
from evenhand.suites.checks import Checks
from evenhand.suites.document import CASE_KEYS
from evenhand.suites.evaluators import name_of
from evenhand.suites.rows import columns_of
from evenhand.suites.values import Fault, Listed, Mapped, kind, mistakes_in, name_hint, plain

KEYS: Final = (
    "name", "description", "judge", "target", "evaluators", "thresholds", "gates", "prices", "metadata",
    "timeout", "concurrency", "repeat", "ambiguous", "columns",
)  # fmt: skip
# Where editors look for the schema of a file; nothing of the suite.
SCHEMA_KEY: Final = "$schema"


def check_header(header: Mapped, checks: Checks) -> Iterator[Fault]:
    """Find everything that is wrong beside the cases."""
    for key, value in header.items():
        line = header.lines.get(key, header.line)
        if key in _CHECKED:
            if value is not None:
                yield from _CHECKED[key](value, line, checks)
        elif key != SCHEMA_KEY:
            yield Fault(line, f"no key {key!r:.80}{name_hint(key, (*KEYS, *CASE_KEYS))}")


def definition_of(header: Mapped) -> dict[str, Any]:
    """Return what a suite defines as plain JSON values, as it was written; what has no value is left out."""
    return {key: plain(value) for key, value in header.items() if value is not None and key != SCHEMA_KEY}


def _text(name: str) -> Callable[[Any, int, Checks], Iterator[Fault]]:
    def check(value: Any, line: int, _: Checks) -> Iterator[Fault]:
        if not isinstance(value, str):
            quotes = "" if isinstance(value, (dict, list)) else "; write it in quotes"
            yield Fault(line, f"{name} must be text, not {kind(value)}{quotes}")

    return check


def _checked_by(take: Callable[[Any], object]) -> Callable[[Any, int, Checks], Iterator[Fault]]:
    """Let those who use a value say what is wrong with it."""

    def check(value: Any, line: int, _: Checks) -> Iterator[Fault]:
        yield from mistakes_in(value, line, take)

    return check


def _gates(value: Any, line: int, _: Checks) -> Iterator[Fault]:
    """Check each gate by itself, those of single evaluators too: none depends on another."""
    for key, setting in value.items() if isinstance(value, Mapped) else ():
        where = value.lines[key]
        for name, gates in setting.items() if key == "evaluators" and isinstance(setting, Mapped) else ():
            several = gates.items() if isinstance(gates, Mapped) else ()
            for rule, limit in several:
                demanded = {"evaluators": {name: {rule: plain(limit)}}}
                yield from mistakes_in(demanded, gates.lines[rule], Gates.of)
            if not several:
                yield from mistakes_in({"evaluators": {name: plain(gates)}}, setting.lines[name], Gates.of)
        if key != "evaluators" or not isinstance(setting, Mapped):
            yield from mistakes_in({key: plain(setting)}, where, Gates.of)
    if not isinstance(value, Mapped):
        yield from mistakes_in(value, line, Gates.of)


def gate_names(header: Mapped) -> Iterator[tuple[str, int]]:
    """Yield the evaluators that gates are about, each with its line."""
    gates = header.get("gates")
    named = gates.get("evaluators") if isinstance(gates, Mapped) else None
    if isinstance(named, Mapped):
        yield from named.lines.items()


def _seconds(value: Any, line: int, _: Checks) -> Iterator[Fault]:
    if not is_finite_number(value) or value <= 0:
        yield Fault(line, f"timeout must be a number of seconds above 0, not {value!r:.80}")


def _count(name: str) -> Callable[[Any, int, Checks], Iterator[Fault]]:
    def check(value: Any, line: int, _: Checks) -> Iterator[Fault]:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            yield Fault(line, f"{name} must be a whole number, 1 or more, not {value!r:.80}")

    return check


def _ambiguous(value: Any, line: int, _: Checks) -> Iterator[Fault]:
    if value not in WAYS:
        yield Fault(line, f"ambiguous must be first, last or ask_again, not {value!r:.80}")


def _metadata(value: Any, line: int, _: Checks) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield Fault(line, f"metadata must be a mapping, not {kind(value)}")


def _evaluators(value: Any, line: int, checks: Checks) -> Iterator[Fault]:
    if not isinstance(value, Listed):
        yield Fault(line, f"evaluators must be a list of mappings such as {{type: llm_judge}}, not {kind(value)}")
        return
    for definition, where in zip(value, value.lines, strict=True):
        yield from checks.evaluator(definition, where)
    names = [name_of(definition) for definition in value if isinstance(definition, Mapping)]
    for name in doubles(names):
        second = [
            definition for definition in value if isinstance(definition, Mapping) and name_of(definition) == name
        ][1]
        yield Fault(getattr(second, "line", line), f"two evaluators have the name {name!r:.80}; rename one")


_CHECKED: Final[Mapping[str, Callable[[Any, int, Checks], Iterator[Fault]]]] = {
    "name": _text("name"),
    "description": _text("description"),
    "judge": lambda value, line, checks: checks.usual_judge(value, line),
    "target": lambda value, line, checks: checks.target(value, line),
    "evaluators": _evaluators,
    "thresholds": _checked_by(Thresholds.of),
    "gates": _gates,
    "prices": _checked_by(PriceBook),
    "metadata": _metadata,
    "timeout": _seconds,
    "concurrency": _count("concurrency"),
    "repeat": _count("repeat"),
    "ambiguous": _ambiguous,
    "columns": _checked_by(columns_of),
}
