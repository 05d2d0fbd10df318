"""Texts that evaluations of a run share: stored once, and cut out of the content of every evaluation that has them.

Most of what is kept of an evaluation is what its judge was told, and that is the same for thousands of cases. Content
that texts were cut out of begins with a line that says which ones, and where each of them was::

    @8c5bd24177012f6f7cbe72cb5e76b1a7:412,...
    {"evaluator":"quality", ... "systemPrompt":"", ...

A text is named by its hash, so what is put back is what was cut out, letter by letter, or the run is damaged. What
follows the line is JSON by itself, in which these texts are empty.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from json import JSONDecoder
from typing import Any, Final

from evenhand.domain.errors import StoreError
from evenhand.store.database import Database, atomic

_MARK: Final = "@"
_JSON: Final = JSONDecoder()
# What stands before the texts that evaluations may share. Within a text, these quotes would have a backslash.
_KEYS: Final = ('"userPrompt":"', '"systemPrompt":"')
# A shorter text is not worth its name.
_LEAST: Final = 200
_HASH_BYTES: Final = 16
# How many texts, and how many characters of them, are remembered, to see which come again.
_MOST_SEEN: Final = 4_096
_MOST_CHARACTERS: Final = 1_000_000
_READ_AT_ONCE: Final = 500

_ADD: Final = "INSERT INTO shared_texts (run, hash, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_COPY: Final = (
    "INSERT INTO shared_texts (run, hash, content) SELECT ?, hash, content FROM shared_texts WHERE run = ? "
    "ON CONFLICT DO NOTHING"
)


class SharedTexts:
    """The shared texts of a store. A text is shared from the second time on that one run has it."""

    def __init__(self, database: Database) -> None:
        self._db = database
        # By run and text, as it is written in JSON: its hash once it has come again. The latest are the last.
        self._seen: OrderedDict[tuple[int, str], str] = OrderedDict()
        self._characters = 0
        # By what stands before it, the text that came last. A system prompt is nearly always the one before it.
        self._last: dict[str, str] = {}

    def cut(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return rows of evaluations, from ``run`` to their content, without the texts they share, which are stored."""
        found: dict[tuple[int, str], str] = {}
        short = []
        for row in rows:
            content = row[-1]
            cuts = [
                (start, start + len(text), name)
                for start, text in self._texts_in(content)
                if (name := self._shared(row[0], text, found)) is not None
            ]
            short.append((*row[:-1], _without(content, cuts)) if cuts else row)
        self._db.execute_many(_ADD, [(run, name, text) for (run, text), name in found.items()])
        return short

    def _texts_in(self, content: str) -> list[tuple[int, str]]:
        """Return the texts that may be shared, those that are long enough, with their places and in their order."""
        texts = []
        for key in _KEYS:
            at = content.find(key)
            while at >= 0:
                start = at + len(key)
                text = self._last.get(key, "")
                if not (content.startswith(text, start) and content[start + len(text)] == '"'):
                    end = _JSON.raw_decode(content, start - 1)[1] - 1  # twice as fast as a pattern
                    text = self._last[key] = content[start:end]
                if len(text) >= _LEAST:
                    texts.append((start, text))
                at = content.find(key, start + len(text))
        return sorted(texts)

    def _shared(self, run: int, text: str, found: dict[tuple[int, str], str]) -> str | None:
        """Return the name of a text, and note that it is to be stored; None if it has come for the first time."""
        key = (run, text)
        name = self._seen.pop(key, None)
        if name is None:
            self._characters += len(text)
            self._seen[key] = ""
            while len(self._seen) > _MOST_SEEN or self._characters > _MOST_CHARACTERS:
                (_, oldest), _ = self._seen.popitem(last=False)
                self._characters -= len(oldest)
            return None
        name = self._seen[key] = name or _hash_of(text)
        # Each time: the transaction in which it was stored before may have been undone.
        found[key] = name
        return name

    @atomic
    def copy(self, before: int, run: int) -> None:
        """Give a run all texts of another one, whose evaluations are going to be copied into it."""
        self._db.execute(_COPY, [run, before])


def _without(content: str, cuts: Sequence[tuple[int, int, str]]) -> str:
    """Return content without some of its texts, and before it where they belong."""
    names, parts = [], []
    last = length = 0
    for start, end, name in cuts:
        parts.append(content[last:start])
        length += start - last
        names.append(f"{name}:{length}")
        last = end
    return f"{_MARK}{','.join(names)}\n{''.join(parts)}{content[last:]}"


def readable(content: str) -> str:
    """Return content as JSON, in which the texts it shares are empty."""
    return content.partition("\n")[2] if content.startswith(_MARK) else content


def names_in(content: str) -> list[str]:
    """Return the names of the texts that were cut out of content."""
    return [name for name, _ in _cuts_of(content)]


def whole(database: Database, run: int, contents: Sequence[str]) -> list[str]:
    """Return contents with the texts that were cut out of them.

    Raises ``StoreError`` if one is missing, or is not what it was.
    """
    return restored(contents, shared_by(database, run, contents))


def shared_by(database: Database, run: int, contents: Sequence[str]) -> dict[str, str]:
    """Return the texts that were cut out of some contents, by their names; raises ``StoreError`` as ``texts_of``."""
    names = {name for content in contents for name in names_in(content)}
    kept = database.shared_texts
    texts = {name: text for name in names if (text := kept.get(name)) is not None}
    if missing := names - texts.keys():
        read = texts_of(database, run, missing)
        texts |= read
        if sum(map(len, kept.values())) > _MOST_CHARACTERS:
            kept.clear()
        kept |= read
    return texts


def restored(contents: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """Return contents with the texts that were cut out of them."""
    return [_restored(content, texts) for content in contents]


def texts_of(database: Database, run: int, names: Iterable[str]) -> dict[str, str]:
    """Return texts of a run by their names; raises ``StoreError`` if one is missing, or is not what it was."""
    texts: dict[str, str] = {}
    wanted = sorted(names)
    for some in (wanted[first : first + _READ_AT_ONCE] for first in range(0, len(wanted), _READ_AT_ONCE)):
        marks = ", ".join("?" * len(some))
        sql = f"SELECT hash, content FROM shared_texts WHERE run = ? AND hash IN ({marks})"  # noqa: S608 - only marks
        texts |= dict(database.rows(sql, [run, *some]))
    for name in wanted:
        if name not in texts:
            raise StoreError(f"the text {name:.40}, which evaluations share, is missing")
        if not is_sound(name, texts[name]):
            raise StoreError(f"the text {name:.40}, which evaluations share, does not match its hash")
    return texts


def all_of(database: Database, run: int) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every shared text of a run, as they are stored."""
    after = ""
    sql = "SELECT hash, content FROM shared_texts WHERE run = ? AND hash > ? ORDER BY hash LIMIT ?"
    while rows := database.rows(sql, [run, after, _READ_AT_ONCE]):
        yield from ((name, text) for name, text in rows)
        after = rows[-1][0]


def is_sound(name: str, text: object) -> bool:
    """Return whether a text is the one that its name says."""
    return isinstance(text, str) and _hash_of(text) == name


def _restored(content: str, texts: Mapping[str, str]) -> str:
    if not content.startswith(_MARK):
        return content
    rest = readable(content)
    parts = []
    last = 0
    for name, at in _cuts_of(content):
        parts += [rest[last:at], texts[name]]
        last = at
    return "".join([*parts, rest[last:]])


def _cuts_of(content: str) -> list[tuple[str, int]]:
    if not content.startswith(_MARK):
        return []
    line = content[1 : content.index("\n")]
    return [(name, int(at)) for name, _, at in (cut.partition(":") for cut in line.split(","))]


def _hash_of(text: str) -> str:
    return blake2b(text.encode(), digest_size=_HASH_BYTES).hexdigest()
