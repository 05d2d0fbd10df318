"""A report: a run, its numbers, its gates and its cases; and the formats it is written in."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TextIO, TypeAlias, TypeVar, cast

from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import GateResult
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.summary import Summary
from evenhand.reports.highlights import Highlights
from evenhand.reports.overview import Overview, survey
from evenhand.reports.phrases import Standing

if TYPE_CHECKING:
    from evenhand.domain.comparison import TargetComparison  # few runs have several targets

_Computed = TypeVar("_Computed")


@contextlib.contextmanager
def written_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file to write to; it takes its name when all is written, so that nobody ever reads half of it."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with unfinished.open("xb") as file:
            yield file
        unfinished.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(unfinished):  # of which the user knows nothing
            raise OSError(error.errno, error.strerror, str(target)) from None
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the writers of all formats get.

    ``results`` gives the cases in suite order, anew at each call; writers go through them one by one and keep none,
    so that a report of a million cases takes no more memory than one of ten. Where there is an ``overview``, ``at``
    gives the cases of some positions, in their order, and nobody goes through all of them to show a few; ``standings``
    gives the position and the standing of each case, for which far less is read. ``targets`` compares the targets of a
    run of several; it reads the whole run, so ``once`` is how to ask for it. ``db_option`` is how a command finds the
    run's database; None for one in memory, which none finds.
    """

    run: RunRecord
    summary: Summary
    results: Callable[[], Iterable[CaseResult]]
    gates: tuple[GateResult, ...] = ()
    overview: Overview | None = None
    at: Callable[[Sequence[int]], Iterable[CaseResult]] | None = None
    standings: Callable[[], Iterable[tuple[int, Standing]]] | None = None
    targets: Callable[[], TargetComparison | None] | None = None
    db_option: str | None = ""
    _computed: dict[Callable[[Report], Any], Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, compute: Callable[[Report], _Computed]) -> _Computed:
        """Return what a function works out from this report: it is computed once, and shared by all who ask."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        return cast("_Computed", self._computed[compute])

    def highlights(self) -> Highlights:
        """Return the cases to look at first."""
        if self.overview is None or self.at is None:
            return Highlights.of(self.results())
        return Highlights.shown(self.at(self.overview.worst), self.at(self.overview.broken))

    def target_comparison(self) -> TargetComparison | None:
        """Return the targets of a run against each other; None where there are not several."""
        return self.once(_compared_targets)

    def bins(self) -> Sequence[Mapping[Standing, int]]:
        """Return how many cases have which score, by standing."""
        return (self.overview or survey(self.results())).bins


def _compared_targets(report: Report) -> TargetComparison | None:
    return None if report.targets is None else report.targets()


Writer: TypeAlias = Callable[[Report, TextIO], object]

# Loaded when used: a run that writes JSONL needs no page templates.
_WRITERS: Final = {
    "jsonl": "evenhand.reports.json:write_jsonl",
    "json": "evenhand.reports.json:write_json",
    "csv": "evenhand.reports.csv:write_csv",
    "md": "evenhand.reports.markdown:write_markdown",
    "xml": "evenhand.reports.junit:write_junit",
    "html": "evenhand.reports.html.page:write_html",
}
FORMATS: Final = tuple(_WRITERS)


_AnyWriter = TypeVar("_AnyWriter")


def write_whole(path: str | Path, text: str) -> None:
    """Write a text to a file, whole or not at all."""
    with written_whole(path) as file:
        file.write(text.encode())


def require_place(path: str | Path) -> None:
    """Refuse a path at which no file can be; ask this before a run, so that the mistake costs nothing.

    >>> require_place("out/results.jsonl")
    """
    target = Path(path)
    if target.is_dir():
        raise ConfigError(f"{path}: this is a folder; name a file in it, such as {target / 'report.html'}")
    folder = next((folder for folder in target.parents if folder.exists()), target.parent)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{path}: {folder} is a file, not a folder; name another folder")
    if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"{path}: the folder {folder} cannot be written to; name another")


def writer_for(path: str, writers: Mapping[str, _AnyWriter], noun: str) -> _AnyWriter:
    """Return the writer that the ending of a file's name asks for; ``noun`` is what would be written.

    >>> writer_for("found.MD", {".md": 1, ".json": 2}, "a comparison")
    1
    """
    ending = Path(path).suffix.lower()
    if ending not in writers:
        raise ConfigError(f"{path}: unknown extension {ending or '(none)'}; {noun} can be {', '.join(writers)}")
    require_place(path)
    return writers[ending]


def format_of(path: str | Path) -> str:
    """Return the format that a file's name asks for; ask this before a run, so that the mistake costs nothing.

    >>> format_of("out/results.jsonl")
    'jsonl'
    """
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending not in _WRITERS:
        endings = ", ".join(f".{name}" for name in FORMATS)
        raise ConfigError(
            f"{path}: unknown extension {f'.{ending}' if ending else '(none)'}; a report can be {endings}"
        )
    require_place(path)
    return ending


def writer_of(name: str) -> Writer:
    """Load the writer of a format."""
    module, _, function = _WRITERS[name].partition(":")
    return cast("Writer", getattr(importlib.import_module(module), function))


def write(report: Report, path: str | Path, *, instead: Mapping[str, Writer] | None = None) -> None:
    """Write a report to a file, whole or not at all: nobody ever reads half of it.

    ``instead`` has the writers, by format, of a kind of run that is reported in another way.
    """
    name = format_of(path)
    writer = (instead or {}).get(name) or writer_of(name)
    # No translation of line ends: CSV has its own, and those within a text belong to the text.
    with written_whole(path) as file, io.TextIOWrapper(file, encoding="utf-8", newline="") as out:
        writer(report, out)
