"""Rows of promptfoo's tables as tests: columns are variables, and those with two underscores say what is expected."""

from __future__ import annotations

import re
from typing import Any, Final

from evenhand.convert.source import Left
from evenhand.suites.values import Listed, Mapped

_ASSERT: Final = re.compile(r"((?:not-)?[a-z][a-z-]*)(?:\(([0-9]+(?:\.[0-9]+)?)\))?(?::([\s\S]*))?")
_OLD_TYPES: Final = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
_KNOWN_PREFIX: Final = re.compile(
    r"(?:not-)?(?:grade|fn|eval|javascript|python|equals|i?contains(?:-all|-any|-json)?|starts-with|regex|is-json|"
    r"llm-rubric|g-eval|factuality|model-graded-[a-z]+|answer-relevance|similar|levenshtein|latency|cost|webhook|"
    r"rouge-n|bleu|perplexity(?:-score)?|classifier|moderation|is-[a-z-]+|context-[a-z]+)(?:\([0-9.]+\))?(?::|$)"
)
_USUAL_THRESHOLD: Final = {"similar": 0.8}
_WITH_THRESHOLD: Final = frozenset({"answer-relevance", "cost", "latency", "levenshtein"})
_TEXTS: Final = {"__description": "description", "__providerOutput": "providerOutput"}


def _mapped(line: int, **values: Any) -> Mapped:
    made = Mapped(line)
    made.update({key: value for key, value in values.items() if value is not None})
    made.lines.update(dict.fromkeys(made, line))
    return made


def assert_in(cell: str, line: int) -> Mapped:
    """Return what a cell expects: ``contains: text``, ``latency(900)``, or a text that the answer must equal.

    >>> dict(assert_in("icontains: 30 days", 2)), dict(assert_in("Paris", 2))
    ({'type': 'icontains', 'value': '30 days'}, {'type': 'equals', 'value': 'Paris'})
    """
    match = _ASSERT.fullmatch(cell) if _KNOWN_PREFIX.match(cell) else None
    if match is None:
        return _mapped(line, type="equals", value=cell)
    kind, number, value = _OLD_TYPES.get(match[1], match[1]), match[2], match[3]
    threshold = float(number) if number else None
    base = kind.removeprefix("not-")
    if threshold is None and base in _WITH_THRESHOLD | _USUAL_THRESHOLD.keys():
        threshold = _USUAL_THRESHOLD.get(base, 0.75)
    return _mapped(line, type=kind, value=value.strip() if value and value.strip() else None, threshold=threshold)


def row_as_test(row: Any, file: str, left: Left) -> Any:
    """Return a row as the test that it stands for; columns that cannot be carried over are listed."""
    if not isinstance(row, Mapped):
        return row
    values, asserts = _mapped(row.line), Listed(row.line)
    metadata = _mapped(row.line)
    test: dict[str, Any] = {}
    for key, cell in row.items():
        if key.startswith("__expected"):
            if cell.strip():
                asserts.append(assert_in(cell.strip(), row.line))
                asserts.lines.append(row.line)
        elif key in _TEXTS:
            test[_TEXTS[key]] = cell or None
        elif key.startswith("__metadata:") and key.removeprefix("__metadata:"):
            metadata[key.removeprefix("__metadata:")] = cell
        elif key == "__threshold" and re.fullmatch(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+", cell.strip()):
            test["threshold"] = float(cell)
        elif key.startswith("__"):
            if cell.strip():
                left.add(file, row.line, f"the column {key!r:.80}", "Evenhand has nothing for it")
        else:
            values[key] = cell
            values.lines[key] = row.line
    return _mapped(row.line, **test, vars=values, metadata=metadata or None, **({"assert": asserts} if asserts else {}))
