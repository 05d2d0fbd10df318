"""No regular expression of the package takes more than time in proportion to its text, whatever the text.

Work within the engine cannot be counted from outside, so the patterns themselves are looked at, as the parser of ``re``
sees them. Two things make one slow: a repetition that could end at several places, of which the engine tries each, and
a search that begins anew within what it has just read in vain. A repetition is fine if what may follow it cannot be one
of its own characters, or if it is possessive (``*+``); a search is fine if it cannot begin with a character over which
one of its repetitions runs, and then fail.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest
from tests.source import PACKAGE, modules, nodes_of

from evenhand.suites.plain_yaml import case_pattern

pytestmark = pytest.mark.group("source")

# There is no other way to see a pattern taken apart.
c: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

FUNCTIONS = frozenset({"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
# Who repeats fewer times is as good as one who does not.
FEW = 1000

Chars: TypeAlias = frozenset[str]


class Use(NamedTuple):
    """A pattern where it is used, and whether it is looked for, and not only held against the beginning of a text."""

    where: str
    pattern: str
    flags: int
    is_searched: bool


# Linear for a reason that their structure alone does not tell.
REASONS = {
    "evaluators/scanner.py OBJECT_START": "what it looks over after a brace is one key, and no two of these overlap",
    "evaluators/scanner.py VALUE_START": "the same",
    "server/json_slices.py _TOKENS": "what it looks over again is five parts at most, as hostile_readers.py measures",
    "suites/plain_yaml.py": "it is held against the beginning of each case, and takes back nothing that it took",
}
# Patterns that are put together where they are used, one in a module, as they may come out.
PUT_TOGETHER: dict[str, str] = {
    "evaluators/checks/field.py": "(?P<day>[0-9]{1,2})\\ (?P<name>[A-Za-z]{3,9})\\ (?P<year>[0-9]{4})",
    "evaluators/reasoning_block.py": r"</think>",
    "models/dialects/openai.py": r"(?<!\w)max_tokens(?!\w)",
    "suites/plain_yaml.py": case_pattern("  ").pattern,
    "suites/yaml_reader.py": r"\n {0,40}(?:[^\s#-]|-(?!\s))",
}


def uses() -> Iterator[Use]:
    """Find every pattern of the package: compiled ones by what their names are used for, others by the function."""
    for path, tree in modules().items():
        if not any(isinstance(node, ast.Import) and any(one.name == "re" for one in node.names) for node in tree.body):
            continue
        named: dict[str, set[str]] = {}
        for node in nodes_of(path):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                named.setdefault(node.value.id, set()).add(node.attr)
        where = path.relative_to(PACKAGE).as_posix()
        compiled = {id(value): name for name, value in assignments(tree)}
        for call in nodes_of(path):
            match call:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=function)) if function in FUNCTIONS:
                    pass
                case _:
                    continue
            name = compiled.get(id(call), "")
            pattern, flags = written(call, path, name)
            # A name without an underscore may be used in any way, elsewhere.
            methods = named.get(name, {"search"}) if name.startswith("_") else {"search"}
            if function != "compile":
                methods = {function}
            yield Use(f"{where} {name}".strip(), pattern, flags, not methods <= {"match", "fullmatch", "pattern"})


def assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield ast.unparse(node.targets[0]), node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield ast.unparse(node.target), node.value


def written(call: ast.Call, path: Path, name: str) -> tuple[str, int]:
    """Return the pattern of a call and its flags; of a compiled one, by its name, as it came out."""
    if name:
        dotted = ".".join(("evenhand", *path.relative_to(PACKAGE).with_suffix("").parts))
        compiled = getattr(importlib.import_module(dotted), name)
        if isinstance(compiled.pattern, bytes):
            return compiled.pattern.decode("latin-1"), int(compiled.flags) | re.ASCII
        return str(compiled.pattern), int(compiled.flags)
    source = ast.unparse(call.args[0])
    flags = re.IGNORECASE if "IGNORECASE" in ast.unparse(call) else 0
    if isinstance(call.args[0], ast.Constant):
        return str(ast.literal_eval(source)), flags
    if isinstance(call.args[0], ast.Name):  # a constant of the module
        dotted = ".".join(("evenhand", *path.relative_to(PACKAGE).with_suffix("").parts))
        return str(getattr(importlib.import_module(dotted), source)), flags
    where = path.relative_to(PACKAGE).as_posix()
    assert where in PUT_TOGETHER, f"{where}:{call.lineno}: say in PUT_TOGETHER what {source} may come out as"
    return PUT_TOGETHER[where], flags


class Seen(NamedTuple):
    """What a part of a pattern may begin with, all that it may run over, and whether it may be nothing, or long."""

    first: Chars
    chars: Chars
    is_optional: bool
    is_long: bool = False


class After(NamedTuple):
    """What comes after a part: what it may begin with, whether it may fail, and whether it may be long."""

    first: Chars = frozenset()
    may_fail: bool = False
    is_long: bool = False


class Examination:
    """Looks at a pattern from its end to its beginning, and notes what is not linear."""

    def __init__(self, use: Use) -> None:
        tree = parser.parse(use.pattern, use.flags)
        items = list(tree)
        self.faults: list[str] = []
        self._flags = tree.state.flags
        # Of all the characters that there are, some of each kind that a pattern may tell apart.
        samples = {chr(code) for code in range(128)} | set("\x80\x85\x9f\xa0\xadéßς\u0301\u0663\u2028\ud800\ufeff＝😀")
        self._alphabet = frozenset(samples | set(use.pattern))
        self._runs: list[Chars] = []
        starts = self._sequence(items, After()).first
        if use.is_searched and not self._is_anchored(items):
            # Whatever must not come after a character of a run does not begin within the run.
            behind = self._behind(items)
            runs = [run for run in self._runs if run & starts and not run <= behind]
            self.faults += [f"begins anew within {shown(run)}" for run in runs]

    def _is_anchored(self, items: list[Any]) -> bool:
        beginnings = {c.AT_BEGINNING_STRING} | (set() if self._flags & re.MULTILINE else {c.AT_BEGINNING})
        return bool(items) and items[0][0] is c.AT and items[0][1] in beginnings

    def _behind(self, items: list[Any]) -> Chars:
        """Return the characters after which the pattern does not match: ``(?<!…)`` at its beginning."""
        if items and items[0][0] is c.ASSERT_NOT and items[0][1][0] < 0 and len(items[0][1][1]) == 1:
            return self._chars_of(items[0][1][1][0])
        return frozenset()

    def _sequence(self, items: list[Any], after: After, *, is_repeated: bool = False) -> Seen:
        seen = Seen(frozenset(), frozenset(), is_optional=True)
        for item in reversed(items):
            part = self._part(item, after, is_repeated)
            may_fail = after.may_fail or not part.is_optional or item[0] in (c.AT, c.ASSERT, c.ASSERT_NOT)
            rest = after.first if part.is_optional else frozenset()
            after = After(part.first | rest, may_fail, after.is_long or part.is_long)
            seen = Seen(
                part.first | (seen.first if part.is_optional else frozenset()),
                part.chars | seen.chars,
                part.is_optional and seen.is_optional,
                part.is_long or seen.is_long,
            )
        return seen

    def _part(self, item: Any, after: After, is_repeated: bool) -> Seen:
        kind, given = item
        if kind in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            return self._repeat(kind, given, after, is_repeated)
        if kind is c.SUBPATTERN:
            return self._sequence(list(given[3]), after, is_repeated=is_repeated)
        if kind is c.ATOMIC_GROUP:
            return self._sequence(list(given), After(may_fail=after.may_fail))
        if kind is c.BRANCH:
            return self._choice(given[1], after, is_repeated)
        if kind in (c.ASSERT, c.ASSERT_NOT):
            self._sequence(list(given[1]), After(may_fail=True))
            return Seen(frozenset(), frozenset(), is_optional=True)
        if kind is c.AT:
            return Seen(frozenset(), frozenset(), is_optional=True)
        # Of a group that is referred to, anything may come.
        chars = self._alphabet if kind is c.GROUPREF else self._chars_of(item)
        return Seen(chars, chars, is_optional=kind is c.GROUPREF)

    def _choice(self, choices: list[Any], after: After, is_repeated: bool) -> Seen:
        ways = [self._sequence(list(choice), after, is_repeated=is_repeated) for choice in choices]
        begins = [way.first | (after.first if way.is_optional else frozenset()) for way in ways]
        if is_repeated and any(one & other for one, other in itertools.combinations(begins, 2)):
            self.faults.append("repeats a choice of which two may begin alike")
        return Seen(
            joined(way.first for way in ways),
            joined(way.chars for way in ways),
            any(way.is_optional for way in ways),
            any(way.is_long for way in ways),
        )

    def _repeat(self, kind: Any, given: tuple[int, int, Any], after: After, is_repeated: bool) -> Seen:
        least, most, items = given
        is_long, is_possessive = most > FEW, kind is c.POSSESSIVE_REPEAT
        known = list(self.faults), list(self._runs)
        body = self._sequence(list(items), After(may_fail=after.may_fail))
        if is_long or is_repeated:
            # Looked at again, now that it is known what it may begin with: that may follow its end.
            self.faults, self._runs = known
            again = After(body.first | after.first, after.may_fail, is_long=True)
            body = self._sequence(
                list(items), again if is_long else after, is_repeated=not is_possessive or is_repeated
            )
        if is_long and after.may_fail:
            self._runs.append(body.chars)
        if is_long and body.is_optional:
            self.faults.append("repeats what may be nothing")
        # Where what comes after is short, trying it at each place is not much.
        is_tried_often = is_repeated or (is_long and after.is_long)
        if is_tried_often and least != most and not is_possessive and body.first & after.first:
            self.faults.append(f"may end a repetition before or after {shown(body.first & after.first)}")
        return Seen(body.first, body.chars, least == 0 or body.is_optional, is_long or body.is_long)

    def _chars_of(self, item: Any) -> Chars:
        kind, given = item
        if kind is c.ANY:
            return self._alphabet if self._flags & re.DOTALL else self._alphabet - {"\n"}
        if kind is c.NOT_LITERAL:
            return self._alphabet - self._chars_of((c.LITERAL, given))
        if kind is c.IN:
            chars = joined(self._chars_of(one) for one in given if one[0] is not c.NEGATE)
            return self._alphabet - chars if given[0][0] is c.NEGATE else chars
        return frozenset(one for one in self._alphabet if self._holds(kind, given, one))

    def _holds(self, kind: Any, given: Any, char: str) -> bool:
        if kind is c.CATEGORY:
            letter = {c.CATEGORY_DIGIT: "d", c.CATEGORY_SPACE: "s", c.CATEGORY_WORD: "w"}.get(given) or {
                c.CATEGORY_NOT_DIGIT: "D", c.CATEGORY_NOT_SPACE: "S", c.CATEGORY_NOT_WORD: "W",
            }[given]  # fmt: skip
            return re.match(rf"\{letter}", char, self._flags & re.ASCII) is not None
        cases = {char, char.lower(), char.upper()} if self._flags & re.IGNORECASE else {char}
        if kind is c.LITERAL:
            return chr(given) in cases
        assert kind is c.RANGE, kind
        return any(len(one) == 1 and given[0] <= ord(one) <= given[1] for one in cases)


def joined(sets: Iterable[Chars]) -> Chars:
    return frozenset().union(*sets)


def shown(chars: Chars) -> str:
    return ascii("".join(sorted(chars)[:12]))


def faults_of(pattern: str, *, flags: int = 0, is_searched: bool = False) -> list[str]:
    return Examination(Use("", pattern, flags, is_searched)).faults


def test_every_pattern_is_linear() -> None:
    """One test for all: to look for the patterns takes longer than to examine them, and every worker would do it."""
    found = {use: Examination(use).faults for use in uses() if use.where not in REASONS}

    assert len(found) > 100
    assert {use: faults for use, faults in found.items() if faults} == {}


# The check itself


@pytest.mark.parametrize(
    ("pattern", "is_searched"),
    [
        (r"(a+)+", False),
        (r"(a|aa)*b", False),
        (r"(a|ba?)*a", False),
        (r"(a*)*b", False),
        (r"\s*\s*x", False),
        (r".*a.*b", False),
        (r"[a-z]+://[^/@]*:(?P<password>[^/@]+)@", False),
        (r"\s*(?:basic|bearer|token)?\s*", False),
        (r"(?:_?a?)*b", False),
        (r"\s+$", True),
        (r"[ \t]*+\n", True),
        (r"a+b", True),
        (r"(?<!\d)a+b", True),
        (r"<[^>]*>", True),
    ],
)
def test_what_takes_longer_is_found(pattern: str, is_searched: bool) -> None:
    assert faults_of(pattern, is_searched=is_searched)


@pytest.mark.parametrize(
    ("pattern", "is_searched"),
    [
        (r"a+", True),
        (r"[a-z]+://[^/@:]*:[^/@]+@", False),
        (r"(?:[^\"\\]|\\.)*\"", False),
        (r"(?:a++b?)*+c", False),
        (r"\s++$", False),
        (r"\A\s+$", True),
        (r"(?<!\s)\s+$", True),
        (r"<[^<>]*>", True),
        (r"\$\{[A-Z]+\}", True),
        (r"x{0,40}y", True),
    ],
)
def test_what_is_linear_passes(pattern: str, is_searched: bool) -> None:
    assert faults_of(pattern, is_searched=is_searched) == []
