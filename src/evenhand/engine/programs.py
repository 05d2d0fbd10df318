"""Fingerprints of the programs and functions of a run: what one of them said holds for its source, and no other.

The fingerprint of Python code is a hash of its syntax tree, in which comments and layout do not count, and of the trees
of what it imports from its own folder and from that of the suite. Other files that a command names count byte by byte.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import inspect
import itertools
import shlex
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from evenhand.domain.ask import Evaluator
from evenhand.engine.identity import digest_of, hashed
from evenhand.engine.job import Job

PROGRAMS: Final = "programs"
TARGET: Final = "target"
EVALUATORS: Final = "evaluators"
_OWN: Final = "evenhand"
_MOST_KNOWN: Final = 4096
_PART: Final = 1 << 20
_CONTAINERS: Final = (Mapping, list, tuple, set, frozenset, functools.partial)

# The fingerprints of programs by their names; None where no source was found.
FingerprintsByName: TypeAlias = dict[str, str | None]


@runtime_checkable
class Command(Protocol):
    """What runs a program: a target, or an evaluator."""

    command: Any
    cwd: Any


def without_programs(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run but for the fingerprints of its programs."""
    return {name: value for name, value in options.items() if name != PROGRAMS}


@dataclass(frozen=True, slots=True)
class ProgramFingerprints:
    """The fingerprints of a run: those of what answers, and those of what judges, by the names of the evaluators."""

    target: Mapping[str, str | None] = field(default_factory=dict)
    evaluators: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ProgramFingerprints | None:
        """Read those of a run from its options; None where it has none, as runs of earlier versions."""
        stored = options.get(PROGRAMS)
        if not isinstance(stored, Mapping):
            return None
        return cls(target=stored.get(TARGET) or {}, evaluators=stored.get(EVALUATORS) or {})

    def as_dict(self) -> dict[str, Any]:
        """Return them as plain JSON values."""
        return {TARGET: dict(self.target), EVALUATORS: {name: dict(own) for name, own in self.evaluators.items()}}

    def __bool__(self) -> bool:
        return bool(self.target or self.evaluators)

    @property
    def names(self) -> list[str]:
        """All programs by name."""
        return sorted({name for fingerprints in (self.target, *self.evaluators.values()) for name in fingerprints})

    @property
    def unknown(self) -> list[str]:
        """Those of which no source was found."""
        every = (self.target, *self.evaluators.values())
        return sorted({name for fingerprints in every for name, found in fingerprints.items() if found is None})

    def changed_since(self, before: ProgramFingerprints) -> ProgramChanges:
        """Return whose source has changed since; what was not there before is no change of a source."""
        return ProgramChanges(
            target=_changed(before.target, self.target),
            evaluators={
                name: changed
                for name, fingerprints in self.evaluators.items()
                if (changed := _changed(before.evaluators.get(name, {}), fingerprints))
            },
        )


@dataclass(frozen=True, slots=True)
class ProgramChanges:
    """The programs whose source has changed: among those that answer, and among those of each evaluator."""

    target: list[str] = field(default_factory=list)
    evaluators: Mapping[str, list[str]] = field(default_factory=dict)

    def words(self) -> Iterator[str]:
        """Say of each that it has changed."""
        for name in self.target:
            yield f"target {name}: its source, or a file that it uses, has changed"
        for evaluator, names in self.evaluators.items():
            for name in names:
                yield f"evaluator {evaluator!r}: the source of {name}, or a file that it uses, has changed"


def _changed(before: Mapping[str, str | None], now: Mapping[str, str | None]) -> list[str]:
    return [name for name, found in now.items() if found is not None and before.get(name) not in (found, None)]


class ProgramSurvey:
    """Collects the fingerprints of a run, target first and then evaluator by evaluator."""

    def __init__(self, folder: Path | None) -> None:
        self._sources = Sources(folder)
        self._target: FingerprintsByName = {}
        self._evaluators: dict[str, FingerprintsByName] = {}
        # By object, which is kept, so that no other can come to have its number.
        self._seen: dict[int, Evaluator] = {}

    @classmethod
    def of(cls, job: Job) -> ProgramSurvey:
        """Begin with what answers in a job."""
        survey = cls(job.folder)
        survey._target = survey._sources.fingerprints_of(job.target)
        return survey

    def add(self, evaluators: Iterable[Evaluator]) -> None:
        """Look at what judges a case."""
        for evaluator in evaluators:
            if id(evaluator) in self._seen:
                continue
            if len(self._seen) >= _MOST_KNOWN:  # a suite may have other evaluators for each case
                self._seen.clear()
            self._seen[id(evaluator)] = evaluator
            if fingerprints := self._sources.fingerprints_of(evaluator):
                self._evaluators.setdefault(evaluator.name, {}).update(fingerprints)

    @property
    def fingerprints(self) -> ProgramFingerprints:
        """What was found."""
        return ProgramFingerprints(target=self._target, evaluators=self._evaluators)


class Sources:
    """Finds the source of programs and functions, and reads each file once."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder.resolve()
        self._files: dict[Path, tuple[str, ast.Module | None]] = {}

    def fingerprints_of(self, part: object) -> FingerprintsByName:
        """Return the fingerprints of all programs, functions and classes of users in a target or an evaluator."""
        found: FingerprintsByName = {}
        for item, version in _programs_in(part):
            found.setdefault(_name_of(item), self._fingerprint_of(item) if version is None else f"version {version}")
        return found

    def _fingerprint_of(self, item: Command | Callable[..., Any]) -> str | None:
        files = self._of_command(item) if isinstance(item, Command) else self._of_function(item)
        if not files:
            return None
        return digest_of(sorted(files))

    def _of_command(self, item: Command) -> list[list[str]]:
        """Return the files that a command names; the text of a program that stands in the command is one of them."""
        folder = Path.cwd() if item.cwd is None else Path(item.cwd)
        arguments = [str(argument) for argument in item.command]
        files: list[list[str]] = []
        for number, argument in enumerate(arguments):
            before = arguments[number - 1] if number else ""
            path = folder / argument
            if before == "-c":
                files.append(["-c", argument])
            elif before == "-m":
                files += self._modules(argument, [folder])
            elif path.is_file() and (number or _is_within(path, folder)):
                files += self._closure([path.resolve()], [path.resolve().parent, folder.resolve()])
        return files

    def _of_function(self, function: Callable[..., Any]) -> list[list[str]]:
        path = _source_file(function)
        if path is None:
            return []
        if _is_installed(path):
            return self._closure([path], [])
        packages = list(itertools.takewhile(Path.is_file, (folder / "__init__.py" for folder in path.parents)))
        root = path.parents[len(packages)]
        return self._closure([path, *packages], [root])

    def _modules(self, name: str, roots: list[Path]) -> list[list[str]]:
        return self._closure(list(_files_of(name, roots)), roots)

    def _closure(self, first: list[Path], roots: list[Path]) -> list[list[str]]:
        """Return files, and what they import from some folders, each with its name and its hash."""
        roots = list(dict.fromkeys([*roots, *([] if self._folder is None else [self._folder])]))
        waiting, known = list(first), dict.fromkeys(first)
        found = []
        while waiting:
            path = waiting.pop()
            digest, tree = self._read(path)
            found.append([_relative(path, roots), digest])
            for imported in () if tree is None else _imported_by(tree, path, roots):
                if imported not in known:
                    known[imported] = None
                    waiting.append(imported)
        return found

    def _read(self, path: Path) -> tuple[str, ast.Module | None]:
        if path not in self._files:
            self._files[path] = _read(path)
        return self._files[path]


def _read(path: Path) -> tuple[str, ast.Module | None]:
    """Return the hash of a file, and its syntax tree where it is Python."""
    try:
        if path.suffix == ".py":
            with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                tree = ast.parse(path.read_bytes())
                return hashed(ast.dump(tree).encode("utf-8", "surrogatepass")).hexdigest(), tree
        content = hashed(b"")
        with path.open("rb") as file:  # which may be a model of some gigabytes
            while part := file.read(_PART):
                content.update(part)
    except OSError as error:
        return f"unreadable: {type(error).__name__}", None
    return content.hexdigest(), None


def _programs_in(part: object, version: str | None = None) -> Iterator[tuple[Command | Callable[..., Any], str | None]]:
    """Yield the programs, functions and classes of users, however deep in an evaluator or a target they are.

    Each comes with the version that its user gave it, if any.
    """
    if part is None or isinstance(part, (str, bytes, int, float, type, ModuleType)):
        return
    if inspect.isroutine(part):
        if _is_of_user(part):
            yield part, version
        return
    if _is_ours(type(part)):
        own = getattr(part, "version", None)
        version = own if isinstance(own, str) else version
    yield from ((program, version) for program in _program_of(part))
    for member in _members(part):
        yield from _programs_in(member, version)


def _program_of(part: object) -> Iterator[Command | Callable[..., Any]]:
    """Yield what an object itself runs: a command, a function that answers or judges, or a class of the user's."""
    function = getattr(part, "function", None)
    if isinstance(part, Command):
        yield part
    elif _is_ours(type(part)):
        if inspect.isroutine(function):  # wherever it comes from
            yield function
    elif not isinstance(part, _CONTAINERS) and _is_of_user(type(part)):
        yield type(part)


def _members(part: object) -> Iterator[object]:
    match part:
        case Mapping():
            yield from part.values()
        case list() | tuple() | set() | frozenset():
            yield from part
        case functools.partial():
            yield from (part.func, *part.args, *part.keywords.values())
        case _ if dataclasses.is_dataclass(part):
            yield from (getattr(part, each.name) for each in dataclasses.fields(part) if each.compare)


def _is_ours(member: object) -> bool:
    return str(getattr(member, "__module__", "")).partition(".")[0] == _OWN


def _name_of(item: Command | Callable[..., Any]) -> str:
    if isinstance(item, Command):
        return shlex.join(map(str, item.command))
    return f"{getattr(item, '__module__', None)}:{getattr(item, '__qualname__', type(item).__qualname__)}"


def _source_file(function: Callable[..., Any]) -> Path | None:
    """Return the file of a function or a class; None for what was typed in or compiled."""
    try:
        named = inspect.getsourcefile(inspect.unwrap(function))
    except (TypeError, ValueError, OSError):
        return None
    if named is None or not Path(named).is_file():
        return None
    return Path(named).resolve()


@functools.lru_cache(maxsize=1)
def _installed() -> tuple[Path, ...]:
    return tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def _is_installed(path: Path) -> bool:
    return any(_is_within(path, folder) for folder in _installed())


def _is_of_user(member: Callable[..., Any]) -> bool:
    """Return whether a function or a class was written for this project, as far as its file tells."""
    path = None if _is_ours(member) else _source_file(member)
    return not _is_installed(path) if path is not None else getattr(member, "__module__", None) == "__main__"


def _is_within(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _relative(path: Path, roots: Iterable[Path]) -> str:
    """Name a file by its place in the first folder that has it, so that another checkout of it is the same."""
    for root in roots:
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.name


def _imported_by(tree: ast.Module, path: Path, roots: list[Path]) -> Iterator[Path]:
    """Yield the files in some folders that a module imports, wherever in it that is done."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files_of(alias.name, roots)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            within = roots
            if node.level:
                within = [path.parents[node.level - 1]] if node.level <= len(path.parents) else []
            yield from _files_of(base, within)
            for alias in node.names:
                yield from _files_of(f"{base}.{alias.name}".lstrip("."), within)


def _files_of(name: str, roots: Iterable[Path]) -> Iterator[Path]:
    """Yield the files of a module: its own, and those of the packages around it, which are run before it."""
    for root in roots:
        at = root
        for part in filter(None, name.split(".")):
            at = at / part
            if (file := at / "__init__.py").is_file() or (file := at.with_name(f"{part}.py")).is_file():
                yield file.resolve()
