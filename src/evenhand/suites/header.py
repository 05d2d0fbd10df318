"""The keys of a suite beside its cases, and what each may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from evenhand.domain.gates import EVALUATORS, SLICES, Gates
from evenhand.domain.scale import is_finite_number
from evenhand.domain.slices import SliceCheck, slice_keys
from evenhand.domain.verdict import Thresholds
from evenhand.evaluators.reading import WAYS
from evenhand.models.prices import PriceBook
from evenhand.suites.checks import Checks
from evenhand.suites.document import CASE_KEYS
from evenhand.suites.evaluators import name_of
from evenhand.suites.rows import columns_of
from evenhand.suites.values import Fault, Listed, Mapped, doubles, kind, mistakes_in, name_hint, plain
from evenhand.trust.limits import TrustLimits

KEYS: Final = (
    "name", "description", "judge", "target", "evaluators", "thresholds", "gates", "prices", "metadata",
    "timeout", "concurrency", "repeat", "ambiguous", "columns", "slices", "trust",
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
    """Check each gate by itself, those of evaluators and slices too: none depends on another."""
    yield from list(_gate_faults(value, line, ())) or mistakes_in(value, line, Gates.of)


def _gate_faults(value: Any, line: int, path: tuple[str, ...]) -> Iterator[Fault]:
    """Find what is wrong with the gates at a path such as ``evaluators``, ``safety``, ``slices``, ``lang``."""
    # The names of evaluators and of keys come after these words, and gates after the names.
    has_more = not path or any(word in (EVALUATORS, SLICES) for word in path[-2:])
    if has_more and isinstance(value, Mapped) and value:
        for name, setting in value.items():
            yield from _gate_faults(setting, value.lines[name], (*path, name))
        return
    demanded = plain(value)
    for name in reversed(path):
        demanded = {name: demanded}
    yield from mistakes_in(demanded, line, Gates.of)


def gate_names(header: Mapped) -> Iterator[tuple[str, int]]:
    """Yield the evaluators that gates are about, each with its line."""
    yield from _lines_in(_mapped_in(header.get("gates"), EVALUATORS))


class SuiteSlices:
    """What a suite slices by, held against its cases; of its own list of keys and its own gates, those that count."""

    def __init__(self, header: Mapped, *, own_gates: bool, own_slices: bool, assigned: Iterable[str] = ()) -> None:
        self._places = {
            key: (where, line)
            for key, (where, line) in _slice_places(header).items()
            if (own_slices if where == SLICES else own_gates)
        }
        gated = (key for key, (where, _) in self._places.items() if where != SLICES)
        self._check = SliceCheck(self._places, gated, assigned)

    def faults(self, metadata: Mapping[str, Any], line: int) -> Iterator[Fault]:
        """Take in a case, and find why it cannot be in a slice."""
        if problem := self._check.problem(metadata):
            yield Fault(line, problem)

    def mistakes(self) -> Iterator[Fault]:
        """Find, when all cases were taken in, which keys are wrong."""
        for key, mistake in self._check.mistakes():
            where, line = self._places[key]
            yield Fault(line, f"{where}: {mistake}")


def _slice_places(header: Mapped) -> dict[str, tuple[str, int]]:
    """Return where each key that a suite slices by is named, in words and as a line: a gate before the list."""
    named: dict[str, tuple[str, int]] = {}
    keys = header.get(SLICES)
    if isinstance(keys, Listed):
        named |= {key: (SLICES, line) for key, line in zip(keys, keys.lines, strict=True) if isinstance(key, str)}
    gates = header.get("gates")
    evaluators = _mapped_in(gates, EVALUATORS)
    for name, of_one in evaluators.items() if evaluators is not None else ():
        where = f"gates: {EVALUATORS}: {name}: {SLICES}"
        named |= {key: (where, line) for key, line in _lines_in(_mapped_in(of_one, SLICES))}
    return named | {key: (f"gates: {SLICES}", line) for key, line in _lines_in(_mapped_in(gates, SLICES))}


def _mapped_in(value: object, key: str) -> Mapped | None:
    inner = value.get(key) if isinstance(value, Mapped) else None
    return inner if isinstance(inner, Mapped) else None


def _lines_in(value: Mapped | None) -> Iterable[tuple[str, int]]:
    return () if value is None else value.lines.items()


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
    "slices": _checked_by(slice_keys),
    "trust": _checked_by(TrustLimits.of),
}
