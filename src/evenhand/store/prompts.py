"""The tables of prompts, their versions and their test cases. An edit names the version it is based on.

Versions and test cases are written with a checksum and verified when read: a damaged one is not passed on.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from evenhand.domain.errors import ConflictError, NotFoundError, StoreError
from evenhand.domain.prompt import EvaluationMode, Prompt, PromptText, TestCase, TestCaseText
from evenhand.store.database import Database, atomic
from evenhand.store.rows import column, dumps

_PROMPT: Final = (
    "SELECT p.number, p.id, v.version, p.latest, v.name, v.content, v.expected_schema, v.evaluation_mode, "
    "v.evaluation_criteria, p.created, v.created, (SELECT COUNT(*) FROM test_cases t WHERE t.prompt = p.number), "
    "v.checksum, p.name, (SELECT MAX(version) FROM prompt_versions w WHERE w.prompt = p.number) "
    "FROM prompts p JOIN prompt_versions v ON v.prompt = p.number"
)
_CASE: Final = (
    "SELECT t.id, p.id, t.version, t.input, t.evaluation_schema, t.reference, t.created, t.edited, t.number, "
    "t.checksum FROM test_cases t JOIN prompts p ON p.number = t.prompt"
)
PAGE: Final = 256
_LARGEST: Final = 2**63 - 1


class Prompts:
    """The prompts of a store."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @atomic
    def create(self, text: PromptText) -> Prompt:
        """Create a prompt; its name must be unique."""
        now, key = time.time(), _new_id("p")
        self._db.lock()
        self._require_free(text.name)
        self._db.execute(
            "INSERT INTO prompts (id, name, latest, created) VALUES (?, ?, 1, ?)", [key, column(text.name), now]
        )
        self._add_version(key, 1, text, now)
        return self.find(key)

    @atomic
    def edit(self, prompt_id: str, text: PromptText, *, seen: int) -> Prompt:
        """Add a version to a prompt, unless there is a later version than ``seen``; no change adds none."""
        self._db.lock()
        prompt = self.find(prompt_id)
        if prompt.latest != seen:
            raise ConflictError(
                f"prompt {prompt.name!r} is at version {prompt.latest}, but this edit is based on version {seen}; "
                "see what changed, and save again"
            )
        if prompt.text == text:
            return prompt
        if prompt.name != text.name:
            self._require_free(text.name)
        self._db.execute(
            "UPDATE prompts SET name = ?, latest = ? WHERE number = ?", [column(text.name), seen + 1, prompt.number]
        )
        self._add_version(prompt.id, seen + 1, text, time.time())
        return self.find(prompt.id)

    def find(self, id_or_name: str, version: int | None = None) -> Prompt:
        """Find a prompt by its id or its name, in its latest or in some version."""
        which = "p.latest" if version is None else "?"
        asked = [] if version is None else [max(0, min(version, _LARGEST))]
        rows = self._db.rows(
            f"{_PROMPT} WHERE v.version = {which} AND (p.id = ? OR p.name = ?) ORDER BY p.id = ? DESC LIMIT 1",
            [*asked, column(id_or_name), column(id_or_name), column(id_or_name)],
        )
        if not rows:
            problem = (
                f"no prompt {id_or_name!r:.200}"
                if version is None
                else f"no version {version} of prompt {id_or_name!r:.200}"
            )
            raise NotFoundError(f"{problem} in {self._db.where}")
        return self._prompt(rows[0])

    def all(self) -> list[Prompt]:
        """Return all prompts in their latest versions, by name."""
        prompts = [self._prompt(row) for row in self._db.rows(f"{_PROMPT} WHERE v.version = p.latest")]
        return sorted(prompts, key=lambda prompt: prompt.name)  # each database would have an order of its own

    def some(self, ids: Sequence[str]) -> list[Prompt]:
        """Return the latest versions of the prompts with these ids, in this order; those that are gone are left out."""
        found = dict[str, Prompt]()
        for first in range(0, len(ids), PAGE):
            these = [column(each) for each in ids[first : first + PAGE]]
            marks = ", ".join("?" * len(these))
            for row in self._db.rows(f"{_PROMPT} WHERE v.version = p.latest AND p.id IN ({marks})", these):
                found[str(row[1])] = self._prompt(row)
        return [found[each] for each in dict.fromkeys(ids) if each in found]

    def last_edited(self, limit: int) -> list[Prompt]:
        """Return so many prompts, the last edited first."""
        sql = f"{_PROMPT} WHERE v.version = p.latest ORDER BY v.created DESC, p.number DESC LIMIT ?"
        return [self._prompt(row) for row in self._db.rows(sql, [limit])]

    def total(self) -> int:
        """Return how many prompts there are."""
        ((count,),) = self._db.rows("SELECT COUNT(*) FROM prompts")
        return int(count)

    def names(self, limit: int | None = None) -> list[tuple[str, str]]:
        """Return the ids and names of the prompts, the newest first, without reading what they say."""
        sql = "SELECT id, name FROM prompts ORDER BY number DESC"
        rows = self._db.rows(sql) if limit is None else self._db.rows(f"{sql} LIMIT ?", [limit])
        return [(str(key), str(name)) for key, name in rows]

    def versions(self, prompt_id: str) -> list[Prompt]:
        """Return the versions of a prompt, the newest first."""
        rows = self._db.rows(f"{_PROMPT} WHERE p.id = ? ORDER BY v.version DESC", [column(prompt_id)])
        return [self._prompt(row) for row in rows]

    @atomic
    def delete(self, prompt_id: str) -> None:
        """Delete a prompt with its versions and test cases; its runs are kept, with what they need."""
        self._db.lock()
        prompt = self.find(prompt_id)
        self._db.execute("DELETE FROM prompts WHERE number = ?", [prompt.number])

    @atomic
    def add_cases(self, prompt_id: str, texts: Sequence[TestCaseText]) -> list[TestCase]:
        """Create test cases of a prompt, and return them."""
        return [self.find_case(key) for key in self.import_cases(prompt_id, texts)]

    @atomic
    def import_cases(self, prompt_id: str, texts: Sequence[TestCaseText]) -> list[str]:
        """Create test cases of a prompt, which may be many, and return their ids."""
        now, keys = time.time(), [_new_id("t") for _ in texts]
        self._db.lock()
        prompt = self.find(prompt_id)
        self._db.execute_many(
            "INSERT INTO test_cases (id, prompt, version, input, evaluation_schema, reference, created, edited, "
            "checksum) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)",
            [
                (key, prompt.number, *columns, now, now, _checksum(key, prompt.id, 1, *columns))
                for key, columns in zip(keys, map(_columns_of, texts), strict=True)
            ],
        )
        return keys

    @atomic
    def edit_case(self, case_id: str, text: TestCaseText, *, seen: int) -> TestCase:
        """Replace a test case, unless there is a later version than ``seen``; no change adds none."""
        self._db.lock()
        case = self.find_case(case_id)
        if case.version != seen:
            raise ConflictError(
                f"test case {case_id} is at version {case.version}, but this edit is based on version {seen}; "
                "see what changed, and save again"
            )
        if case.text == text:
            return case
        columns = _columns_of(text)
        self._db.execute(
            "UPDATE test_cases SET input = ?, evaluation_schema = ?, reference = ?, version = ?, edited = ?, "
            "checksum = ? WHERE id = ?",
            [*columns, seen + 1, time.time(), _checksum(case.id, case.prompt_id, seen + 1, *columns), case.id],
        )
        return self.find_case(case.id)

    def find_case(self, case_id: str) -> TestCase:
        """Find a test case by its id."""
        rows = self._db.rows(f"{_CASE} WHERE t.id = ?", [column(case_id)])
        if not rows:
            raise NotFoundError(f"no test case {case_id!r:.200} in {self._db.where}")
        return self._case(rows[0])

    def cases(self, prompt_id: str) -> Iterator[TestCase]:
        """Yield the test cases of a prompt in the order in which they were created, page by page."""
        after = 0
        while rows := self._db.rows(
            f"{_CASE} WHERE p.id = ? AND t.number > ? ORDER BY t.number LIMIT ?", [column(prompt_id), after, PAGE]
        ):
            yield from map(self._case, rows)
            after = rows[-1][8]

    @atomic
    def delete_case(self, case_id: str) -> None:
        """Delete a test case; earlier runs keep their results for it."""
        if not self._db.execute("DELETE FROM test_cases WHERE id = ?", [column(case_id)]):
            raise NotFoundError(f"no test case {case_id!r:.200} in {self._db.where}")

    def _require_free(self, name: str) -> None:
        if self._db.rows("SELECT 1 FROM prompts WHERE name = ?", [column(name)]):
            raise ConflictError(f"there is a prompt named {name!r} already; names must be unique")

    def _add_version(self, prompt_id: str, version: int, text: PromptText, now: float) -> None:
        columns = (
            column(text.name), column(text.content), _optional(text.expected_schema), text.evaluation_mode.value,
            _optional(text.evaluation_criteria),
        )  # fmt: skip
        self._db.execute(
            "INSERT INTO prompt_versions (prompt, version, name, content, expected_schema, evaluation_mode, "
            "evaluation_criteria, created, checksum) SELECT number, ?, ?, ?, ?, ?, ?, ?, ? FROM prompts WHERE id = ?",
            [version, *columns, now, _checksum(prompt_id, version, *columns), prompt_id],
        )

    def _prompt(self, row: tuple[Any, ...]) -> Prompt:
        key, version, latest, name = row[1:5]
        stored_checksum, latest_name, newest = row[12:]
        self._require_sound(stored_checksum, f"version {version!r:.20} of prompt {name!r:.80}", key, version, *row[4:9])
        if latest != newest or (version == latest and name != latest_name):
            raise StoreError(
                f"prompt {name!r:.80} in {self._db.where} is damaged: its versions do not match it; restore a backup"
            )
        return _prompt(row)

    def _case(self, row: tuple[Any, ...]) -> TestCase:
        self._require_sound(row[9], f"test case {row[0]!r:.40}", *row[:6])
        return _case(row)

    def _require_sound(self, stored_checksum: object, name: str, *columns: object) -> None:
        """Refuse a row that does not match its checksum; rows of older versions have none."""
        if stored_checksum is not None and stored_checksum != _checksum(*columns):
            raise StoreError(f"{name} in {self._db.where} is damaged: it does not match its checksum; restore a backup")


def _checksum(*columns: object) -> str:
    # Of what a damaged column holds, nothing is assumed: it may be of another type.
    written = dumps([value if isinstance(value, str | int | None) else repr(value) for value in columns])
    return hashlib.sha256(written.encode(errors="surrogatepass")).hexdigest()


def _prompt(row: tuple[Any, ...]) -> Prompt:
    text = PromptText(
        name=row[4],
        content=row[5],
        expected_schema=row[6],
        evaluation_mode=EvaluationMode(row[7]),
        evaluation_criteria=row[8],
    )
    return Prompt(
        number=row[0], id=row[1], version=row[2], latest=row[3], text=text, created=row[9], edited=row[10],
        test_cases=row[11],
    )  # fmt: skip


def _case(row: tuple[Any, ...]) -> TestCase:
    text = TestCaseText(input=row[3], evaluation_schema=row[4], reference=row[5])
    return TestCase(id=row[0], prompt_id=row[1], version=row[2], text=text, created=row[6], edited=row[7])


def _columns_of(text: TestCaseText) -> tuple[str, str | None, str | None]:
    return column(text.input), _optional(text.evaluation_schema), _optional(text.reference)


def _optional(text: str | None) -> str | None:
    return None if text is None else column(text)


def _new_id(kind: str) -> str:
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return f"{kind}-{''.join(secrets.choice(letters) for _ in range(10))}"
