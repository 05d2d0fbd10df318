"""What a list of runs shows: which runs, and in which order; an address and a saved filter both say it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

from evenhand.domain.errors import NotFoundError
from evenhand.domain.prompt import FieldError, Prompt
from evenhand.domain.run import MOST_TAGS, NOT_A_TAG, TAGS, RunRecord, is_tag
from evenhand.engine.overview import kept_overview
from evenhand.reports.overview import Overview
from evenhand.reports.phrases import names_in
from evenhand.server.runs.baseline import of_prompt
from evenhand.server.runs.progress import with_actual_status
from evenhand.server.runs.views import judge_of
from evenhand.store.store import Store

LONGEST_TEXT: Final = 200
# Sorting by a number reads the stored numbers of every run that matches.
MOST_SORTED_BY_NUMBER: Final = 2_000
_MOST_SUGGESTED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """A way to sort runs: what it is called, and the value by which; runs without one come last."""

    words: str
    by_record: Callable[[RunRecord], Any] | None = None
    by_numbers: Callable[[Overview], float | None] | None = None
    descending: bool = False


def _duration(run: RunRecord) -> float | None:
    return None if run.finished is None else run.finished - run.created


SORTS: Final = {
    "newest": Sort(words="Newest first"),
    "oldest": Sort(words="Oldest first", by_record=lambda run: run.number),
    "name": Sort(words="Name", by_record=lambda run: run.name.casefold()),
    "pass_rate": Sort(words="Pass rate", by_numbers=lambda found: found.summary.cases.pass_rate, descending=True),
    "mean": Sort(words="Mean", by_numbers=lambda found: found.summary.cases.mean, descending=True),
    "errors": Sort(words="Errors", by_numbers=lambda found: found.summary.cases.by_answer.errors, descending=True),
    "cost": Sort(words="Cost", by_numbers=lambda found: found.summary.cost, descending=True),
    "duration": Sort(words="Duration", by_record=_duration, descending=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """The runs to list: those with all words of ``text``, of a prompt, with all of some tags, sorted in some way."""

    text: str = ""
    prompt: str = ""
    tags: tuple[str, ...] = ()
    sort: str = "newest"

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise FieldError("sort", f"it must be one of {', '.join(SORTS)}, not {self.sort!r:.40}")
        for field in ("text", "prompt"):
            if len(getattr(self, field)) > LONGEST_TEXT:
                raise FieldError(field, f"it must have at most {LONGEST_TEXT} characters")
        if len(self.tags) > MOST_TAGS or not all(map(is_tag, self.tags)):
            raise FieldError("tag", f"{NOT_A_TAG}, and there may be {MOST_TAGS} of them")

    @classmethod
    def of(cls, *, text: str = "", prompt: str = "", tags: Iterable[str] = (), sort: str = "newest") -> RunQuery:
        """Return what fields of a form ask for; commas separate tags."""
        named = (tag.strip() for several in tags for tag in several.split(","))
        return cls(
            text=text.strip(), prompt=prompt.strip(), tags=tuple(sorted({tag for tag in named if tag})), sort=sort
        )

    @classmethod
    def from_text(cls, query: str) -> RunQuery:
        """Return what the query of an address asks for."""
        found = parse_qs(query)
        one = {name: found[name][0] for name in ("text", "prompt", "sort") if name in found}
        return cls.of(**one, tags=found.get("tag", ()))

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields of an address that ask for it; what is usual is left out."""
        single = [("text", self.text), ("prompt", self.prompt), ("sort", self.sort if self.sort != "newest" else "")]
        return [(name, value) for name, value in (*single, *(("tag", tag) for tag in self.tags)) if value]

    def __str__(self) -> str:
        """Return the query of an address that asks for it."""
        return urlencode(self.fields)

    def address(self, after: int = 0, **chosen: str) -> str:
        """Return the address of the list after so many runs, with the runs that are chosen to be compared."""
        more = [(name, value) for name, value in chosen.items() if value]
        asked = urlencode([*self.fields, *more, *([("after", str(after))] if after else [])])
        return f"/runs?{asked}" if asked else "/runs"

    @property
    def is_filtered(self) -> bool:
        """Whether it leaves any run out."""
        return bool(self.text or self.prompt or self.tags)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {"text": self.text, "prompt": self.prompt, "tags": list(self.tags), "sort": self.sort}

    def runs(self, store: Store, prompt: Prompt | None) -> list[RunRecord]:
        """Return the runs that match, in order; ``prompt`` is the one that the query names."""
        among = store.runs.with_option(TAGS) if self.tags else store.runs.newest()
        found = [
            run
            for run in (with_actual_status(store, run) for run in among)
            if (prompt is None or of_prompt(run) == prompt.id)
            and set(self.tags) <= set(run.tags)
            and _matches(run, self.text)
        ]
        return _sorted(store, found, SORTS[self.sort])


def prompts_called(store: Store, name: str) -> list[Prompt]:
    """Return the prompt with an id or a name; without one, the first whose names contain it, if any do."""
    try:
        return [store.prompts.find(name)]
    except NotFoundError:
        near = [key for key, called in store.prompts.names() if name.casefold() in called.casefold()]
        return [store.prompts.find(key) for key in near[:_MOST_SUGGESTED]]


def _matches(run: RunRecord, text: str) -> bool:
    """Return whether every word of a text is in what a run is called, in its id or tags, or in names of its models."""
    if not text:
        return True
    names = (
        run.name,
        run.label,
        run.id,
        run.status.value,
        judge_of(run) or "",
        *run.tags,
        *names_in(run.definition.get("target")),
    )
    searched = "\n".join(names).casefold()
    return all(word in searched for word in text.casefold().split())


def _sorted(store: Store, runs: Sequence[RunRecord], sort: Sort) -> list[RunRecord]:
    """Sort runs, which come newest first; those that are equal stay in that order."""
    if sort.by_record is not None:
        return _by_value(((run, sort.by_record(run)) for run in runs), descending=sort.descending)
    if sort.by_numbers is None:
        return list(runs)
    if len(runs) > MOST_SORTED_BY_NUMBER:
        why = (
            f"{len(runs):,} runs match, and at most {MOST_SORTED_BY_NUMBER:,} are sorted by their numbers; search first"
        )
        raise FieldError("sort", why)
    found = ((run, kept_overview(store, run)) for run in runs)
    return _by_value(
        ((run, None if overview is None else sort.by_numbers(overview)) for run, overview in found),
        descending=sort.descending,
    )


def _by_value(pairs: Iterable[tuple[RunRecord, Any]], *, descending: bool) -> list[RunRecord]:
    known, unknown = list[tuple[RunRecord, Any]](), list[RunRecord]()
    for run, value in pairs:
        if value is None:
            unknown.append(run)
        else:
            known.append((run, value))
    known.sort(key=lambda pair: pair[1], reverse=descending)
    return [*(run for run, _ in known), *unknown]
