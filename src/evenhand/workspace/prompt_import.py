"""Importing prompts with their test cases: new ones, and where it is asked for, new versions of those that exist."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from evenhand.domain.errors import ConfigError, ConflictError, ConnectionLostError, did_you_mean
from evenhand.domain.prompt import FieldError, Prompt, PromptText, TestCaseText
from evenhand.store.store import Store
from evenhand.workspace.documents import CASES, FORMAT, FORMAT_VERSION, prompt_dict, prompt_text, snake, test_case_text

_KEYS: Final = ("format", "format_version", "prompts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What an import changes of a prompt that exists: its fields, from what to what, and how many test cases it adds.

    ``version`` is the one that it is based on. Test cases that the prompt does not have are added, and none is removed.
    """

    name: str
    version: int
    fields: Mapping[str, tuple[str | None, str | None]]
    test_cases: int

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        changes = [{"field": name, "from": old, "to": new} for name, (old, new) in self.fields.items()]
        return {"name": self.name, "version": self.version, "changes": changes, "test_cases": self.test_cases}


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did, or would do: the names of the new prompts, what it updates, and what it leaves as it is."""

    created: tuple[str, ...]
    skipped: tuple[str, ...]
    test_cases: int
    updated: tuple[Update, ...] = ()
    dry_run: bool = False

    @property
    def digest(self) -> str:
        """What tells whether another import would update the same, in the same way."""
        written = repr([each.as_dict() for each in self.updated])
        return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "created": list(self.created),
            "updated": [update.as_dict() for update in self.updated],
            "skipped": list(self.skipped),
            "test_cases": self.test_cases,
            "dry_run": self.dry_run,
        }

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Imported:
        """Return what ``as_dict`` wrote."""
        updated = tuple(
            Update(
                name=each["name"],
                version=each["version"],
                fields={change["field"]: (change["from"], change["to"]) for change in each["changes"]},
                test_cases=each["test_cases"],
            )
            for each in written.get("updated", ())
        )
        return cls(
            created=tuple(written["created"]),
            skipped=tuple(written["skipped"]),
            test_cases=written["test_cases"],
            updated=updated,
            dry_run=written["dry_run"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    text: PromptText
    cases: tuple[TestCaseText, ...] = field(default=())


ImportStage: TypeAlias = Literal["checking", "storing"]
# Told of the progress of an import: how many of how many test cases are checked or stored.
ImportObserver: TypeAlias = Callable[[ImportStage, int, int], None]
_AT_ONCE: Final = 500


def count_cases(document: object) -> int:
    """Return how many test cases an import seems to have, before it is checked."""
    prompts = document.get("prompts") if isinstance(document, Mapping) else None
    entries = [entry for entry in prompts if isinstance(entry, Mapping)] if isinstance(prompts, list) else []
    return sum(
        len(value)
        for entry in entries
        for key, value in entry.items()
        if isinstance(value, list) and snake(str(key)) == CASES
    )


def import_document(
    store: Store,
    document: object,
    *,
    dry_run: bool = False,
    update: bool = False,
    seen: str | None = None,
    observer: ImportObserver | None = None,
) -> Imported:
    """Import prompts, all or none. Those whose names exist already are skipped or, with ``update``, updated.

    ``seen`` is the digest of an import that somebody has looked at: if it would now update something else, nothing is
    done.
    """
    count = _Count(count_cases(document), observer)
    records = _records(document, count)

    def take_in() -> Imported:
        count.done = 0
        named = {name: key for key, name in store.prompts.names()}
        ids = [named[record.text.name] for record in records if record.text.name in named]
        there = {prompt.name: prompt for prompt in store.prompts.some(ids)}
        new = [record for record in records if record.text.name not in there]
        known = [(there[record.text.name], record) for record in records if record.text.name in there]
        changes = [_Change.of(store, prompt, record) for prompt, record in known] if update else []
        updated = tuple(change.update for change in changes if change.is_one)
        changed = {each.name for each in updated}
        imported = Imported(
            created=tuple(record.text.name for record in new),
            skipped=tuple(prompt.name for prompt, _ in known if prompt.name not in changed),
            test_cases=sum(len(record.cases) for record in new) + sum(each.test_cases for each in updated),
            updated=updated,
            dry_run=dry_run,
        )
        if seen is not None and seen != imported.digest:
            raise ConflictError("what would be updated has changed since it was shown; look at it again")
        if not dry_run:
            for record in new:
                _add_cases(store, store.prompts.create(record.text), record.cases, count)
            for change in changes:
                store.prompts.edit(change.prompt.id, change.record.text, seen=change.prompt.latest)
                _add_cases(store, change.prompt, change.missing, count)
        return imported

    try:
        return store.atomically(take_in, exclusive=True)
    except ConnectionLostError as error:  # several times in a row
        raise ConnectionLostError(f"nothing was imported; try it again in a moment. {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A prompt that exists, what comes in under its name, and the test cases of that which it does not have."""

    prompt: Prompt
    record: _Record
    missing: tuple[TestCaseText, ...]

    @classmethod
    def of(cls, store: Store, prompt: Prompt, record: _Record) -> _Change:
        has = {case.text for case in store.prompts.cases(prompt.id)} if record.cases else set()
        missing = tuple(text for text in dict.fromkeys(record.cases) if text not in has)
        return cls(prompt=prompt, record=record, missing=missing)

    @property
    def update(self) -> Update:
        old, new = prompt_dict(self.prompt.text), prompt_dict(self.record.text)
        fields = {name: (old[name], new[name]) for name in old if old[name] != new[name]}
        return Update(name=self.prompt.name, version=self.prompt.latest, fields=fields, test_cases=len(self.missing))

    @property
    def is_one(self) -> bool:
        return bool(self.missing) or self.prompt.text != self.record.text


def _add_cases(store: Store, prompt: Prompt, texts: Sequence[TestCaseText], count: _Count) -> None:
    for first in range(0, len(texts), _AT_ONCE):
        some = texts[first : first + _AT_ONCE]
        store.prompts.import_cases(prompt.id, some)
        count.add("storing", len(some))


class _Count:
    """Counts test cases for the observer."""

    def __init__(self, total: int, observer: ImportObserver | None) -> None:
        self.total, self.done = total, 0
        self._observer = observer

    def add(self, stage: ImportStage, number: int) -> None:
        self.done += number
        if self._observer is not None and (number > 1 or self.done % _AT_ONCE == 0):
            self._observer(stage, self.done, self.total)


def _records(document: object, count: _Count) -> list[_Record]:
    if not isinstance(document, Mapping) or not isinstance(document.get("prompts"), list):
        raise ConfigError('an import is an object with "prompts", a list; evenhand prompts export writes one')
    _require_format(document)
    records: list[_Record] = []
    seen: dict[str, int] = {}
    for number, entry in enumerate(document["prompts"], start=1):
        record = _record(entry, number, count)
        if record.text.name in seen:
            first = seen[record.text.name]
            raise ConfigError(f"prompts {first} and {number} are both named {record.text.name!r}; names must differ")
        seen[record.text.name] = number
        records.append(record)
    return records


def _require_format(document: Mapping[Any, Any]) -> None:
    fields: dict[str, Any] = {}
    for key, value in document.items():
        name = snake(str(key))
        if name not in _KEYS:
            raise ConfigError(f"the import has no key {key!r:.80}{did_you_mean(name[:80], _KEYS)}")
        if name in fields:
            raise ConfigError(f"the import has {name} twice, in both spellings")
        fields[name] = value
    kind, version = fields.get("format", FORMAT), fields.get("format_version", FORMAT_VERSION)
    if kind != FORMAT or version != FORMAT_VERSION:
        raise ConfigError(
            f"the import is {kind!r:.80}, version {version!r:.20}; this program reads {FORMAT}, version "
            f"{FORMAT_VERSION}"
        )


def _record(entry: object, number: int, count: _Count) -> _Record:
    where = f"prompt {number}"
    try:
        if not isinstance(entry, Mapping):
            raise ConfigError(f"it must be an object, not {type(entry).__name__}")
        own = {key: value for key, value in entry.items() if snake(str(key)) != CASES}
        text = prompt_text(own)
        where = f"prompt {number} ({text.name!r:.80})"
        texts = []
        for place, case in enumerate(_cases(entry), start=1):
            where = f"prompt {number} ({text.name!r:.80}), test case {place}"
            texts.append(test_case_text(case))
            count.add("checking", 1)
        return _Record(text=text, cases=tuple(texts))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _cases(entry: Mapping[Any, Any]) -> list[Any]:
    values = [value for key, value in entry.items() if snake(str(key)) == CASES]
    if len(values) > 1:
        raise FieldError(CASES, "it is given twice, in both spellings")
    cases = values[0] if values else []
    if not isinstance(cases, list):
        raise FieldError(CASES, f"it must be a list, not {type(cases).__name__}")
    return cases
