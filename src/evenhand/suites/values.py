"""Values of a file with their lines, and the mistakes in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.rubric import rubric_item

# Bounds on one case, and on everything beside the cases together: no honest file comes near them.
MAX_BYTES: Final = 10_000_000
MAX_DEPTH: Final = 50
MAX_VALUES: Final = 100_000

# How much of an unknown name is compared with the known ones: a long one would take long.
MOST_GUESSED: Final = 80

TOO_DEEP: Final = f"this is nested more than {MAX_DEPTH} levels deep"
TOO_MANY: Final = f"this has more than {MAX_VALUES:,} values; split it"
TOO_LARGE: Final = "too large a whole number; put it in quotes"


class Fault(NamedTuple):
    """A mistake: its line, and what would be right."""

    line: int
    text: str


def format_fault(file: object, fault: Fault, case: str = "") -> str:
    """Return a mistake with its place: ``suite.yaml:14, case "refund-3": …``."""
    return f"{file}:{fault.line}{case}: {fault.text}"


class Mapped(dict[str, Any]):
    """A mapping from a file; ``lines`` has the line of each key."""

    __slots__ = ("line", "lines")

    def __init__(self, line: int) -> None:
        self.line = line
        self.lines: dict[str, int] = {}

    def with_value(self, key: str, value: Any) -> Mapped:
        """Return the mapping with another value under a key."""
        made = Mapped(self.line)
        made.update({**self, key: value})
        made.lines.update(self.lines)
        return made

    def without(self, key: str) -> Mapped:
        """Return the mapping without a key."""
        made = self.with_value(key, None)
        del made[key], made.lines[key]
        return made


class Listed(list[Any]):
    """A list from a file; ``lines`` has the line of each item."""

    __slots__ = ("line", "lines")

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: list[int] = []


class Piece(NamedTuple):
    """One part of a file as it is read: a key of the suite with its value, or, without a key, a case.

    A key whose value is ``INLINE`` is the list of cases: they follow as pieces of their own. ``faults`` are mistakes
    in how it is written; what could not be read for one is None.
    """

    line: int
    value: Any
    faults: tuple[Fault, ...] = ()
    key: str | None = None


INLINE: Final = object()


def plain(value: Any) -> Any:
    """Return a value from a file as plain JSON values."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def walk(value: Any, line: int) -> Iterator[tuple[str | None, Any, int]]:
    """Yield every value in a value, itself first, with the key that it has in a mapping and its line."""
    pending: list[tuple[str | None, Any, int]] = [(None, value, line)]
    while pending:
        key, item, line = pending.pop()
        yield key, item, line
        if isinstance(item, dict):
            lines = getattr(item, "lines", {})
            pending += [(name, member, lines.get(name, line)) for name, member in item.items()]
        elif isinstance(item, list):
            pending += [(key, member, getattr(member, "line", line)) for member in item]


# How other tools call what suites have under another name: keys of a suite, keys of a case, types of evaluators.
ELSEWHERE: Final = {
    "assert": "evaluators", "assertions": "evaluators", "defaultTest": "evaluators", "graders": "evaluators",
    "scorers": "evaluators", "models": "target", "prompts": "target", "providers": "target",
    "conversation": "input", "input_messages": "input", "prompt": "input", "query": "input", "vars": "input",
    "answer": "candidate_answer", "completion": "candidate_answer", "prediction": "candidate_answer",
    "response": "candidate_answer", "expected": "reference_answer", "expected_messages": "expected_output",
    "gold": "reference_answer", "ground_truth": "reference_answer", "ideal": "reference_answer",
    "contexts": "context", "documents": "context", "retrieval_context": "context", "retrieved_contexts": "context",
    "answer-relevance": "llm_judge", "context-faithfulness": "llm_judge", "factuality": "llm_judge",
    "g-eval": "llm_judge", "llm-rubric": "llm_judge", "model-graded-closedqa": "llm_judge",
    "model-graded-factuality": "llm_judge", "contains-all": "contains", "contains-any": "contains",
    "icontains-all": "icontains", "icontains-any": "icontains", "is-json": "is_json", "javascript": "code_judge",
    "python": "code_judge", "starts-with": "starts_with", "ends-with": "ends_with",
}  # fmt: skip


def name_hint(name: str, known: Iterable[str]) -> str:
    """End a message about an unknown name with ours for what other tools call so, else with the most similar one.

    >>> name_hint("llm-rubric", ["llm_judge", "rubric"])
    "; it is called 'llm_judge' here"
    """
    names = list(known)
    ours = ELSEWHERE.get(name)
    return f"; it is called {ours!r} here" if ours in names else did_you_mean(name[:MOST_GUESSED], names)


def is_too_large(number: int) -> bool:
    """Return whether an integer is larger than those that are stored and hashed."""
    return number.bit_length() > 63


def kind(value: object) -> str:
    """Name the kind of a value as people do."""
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", type(None): "nothing"}
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else names.get(type(value), type(value).__name__)


def rubric_faults(rubrics: Any, line: int, where: str) -> Iterator[Fault]:
    """Find every wrong item in a list of rubric items, each by itself."""
    for number, item in enumerate(rubrics, start=1) if isinstance(rubrics, list) else ():
        try:
            rubric_item(plain(item), f"{where}: item {number}", number)
        except ConfigError as error:
            yield Fault(rubrics.lines[number - 1] if isinstance(rubrics, Listed) else line, str(error))


# One more than are shown.
_MOST_MISTAKES: Final = 101


def mistakes_in(
    value: Any, line: int, take: Callable[[Any], object], *, message_of: Callable[[Exception], str] = str
) -> Iterator[Fault]:
    """Let ``take`` say what is wrong with a value: once, and of a mapping again without each key that it was about.

    What comes up only because a key was left out is no mistake: it is about a key that is not there, or about none.
    """
    rest, is_first = plain(value), True
    for _ in range(_MOST_MISTAKES):
        try:
            take(rest)
        except (ConfigError, TypeError, ValueError) as error:  # evaluators may come from plugins
            key = error.key if isinstance(error, ConfigError) else None
            is_there = isinstance(rest, Mapping) and key in rest
            if is_first or is_there:
                at = value.lines.get(key, line) if key is not None and isinstance(value, Mapped) else line
                yield Fault(at, message_of(error))
            if not is_there:
                return
            rest, is_first = {name: item for name, item in rest.items() if name != key}, False
        else:
            return


def doubles(names: Iterable[str]) -> list[str]:
    """Return the names that are duplicates, once each."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [name for name, count in seen.items() if count > 1]
