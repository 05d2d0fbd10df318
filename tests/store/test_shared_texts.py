"""Texts that evaluations share are stored once, and every reader sees them where they were."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from evenhand import Case, CompositeEvaluator, Contains, PromptEvaluator, Run, evaluate
from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunRecord
from evenhand.store.database import Database
from evenhand.store.rows import dumps, loads
from evenhand.store.shared_texts import SharedTexts, names_in, readable, whole
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store, open_store
from evenhand.store.transfer import export_lines, import_lines
from evenhand.store.verification import verify_run

LONG = "You judge answers. " * 20
ANSWER = '{"score": 0.9, "hits": [], "misses": [], "reasoning": "fine"}'


class Memory:
    """Stands for a database that keeps shared texts, so that thousands of contents can be tried."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.shared_texts: dict[str, str] = {}

    def execute_many(self, _: str, rows: list[tuple[int, str, str]]) -> None:
        self.texts |= {name: text for _, name, text in rows}

    def rows(self, _: str, values: list[object]) -> list[tuple[str, str]]:
        return [(name, self.texts[name]) for name in map(str, values[1:]) if name in self.texts]


prompts = st.text(alphabet='ab"\\\n\t{}@:,é😀\0', max_size=12).map(lambda text: text * 40)


@given(st.lists(st.tuples(prompts, prompts, st.booleans()), max_size=8))
def test_what_is_cut_out_is_put_back_letter_by_letter(asked: list[tuple[str, str, bool]]) -> None:
    memory = Memory()
    shared = SharedTexts(memory)  # type: ignore[arg-type]
    contents = []
    for user, system, nested in [*asked, *asked]:
        request = {"userPrompt": user, "systemPrompt": system}
        details = {"members": [{"evaluator_provider_request": request}], "systemPrompt": system} if nested else {}
        contents.append(dumps({"details": details, "evaluator_provider_request": request, "after": '"systemPrompt":"'}))
    short = [row[-1] for row in shared.cut([(1, content) for content in contents])]
    assert whole(memory, 1, short) == contents  # type: ignore[arg-type]
    for content in short:
        assert isinstance(loads(content), dict), "what is left is JSON by itself"
    assert all(len(after) <= len(before) for before, after in zip(contents, short, strict=True))
    for content, (user, system, _) in zip(short[len(asked) :], asked, strict=True):
        assert len(names_in(content)) >= sum(len(dumps(text)) - 2 >= 200 for text in (user, system))


def test_a_text_is_shared_by_the_evaluations_of_one_run_from_the_second_time_on() -> None:
    memory = Memory()
    shared = SharedTexts(memory)  # type: ignore[arg-type]
    content = dumps({"evaluator_provider_request": {"userPrompt": "short", "systemPrompt": LONG}})

    def cut(run: int) -> str:
        return str(shared.cut([(run, content)])[0][-1])

    assert cut(1) == content
    assert names_in(cut(1)) == names_in(cut(1)) != []
    assert len(cut(1)) < 150
    assert cut(2) == content, "another run shares nothing with it, since it may be deleted"


def run_of(folder: Path, cases: int = 6) -> tuple[str, Run]:
    members = [PromptEvaluator(name=name, judge=lambda _: ANSWER) for name in ("one", "other")]
    evaluators = [
        PromptEvaluator(name="quality", judge=lambda _: ANSWER),
        CompositeEvaluator(name="jury", members=members),
    ]
    url = str(folder / "runs.db")
    answers = [
        Case(id=f"case-{number}", question=f"When, {number}?", candidate_answer="Soon.", expected_outcome="Says when")
        for number in range(cases)
    ]
    return url, evaluate(answers, [*evaluators, Contains(value="Soon")], store=url, cache=False)


def raw(url: str) -> list[str]:
    return [row[0] for row in sqlite3.connect(url).execute("SELECT content FROM evaluations ORDER BY position, place")]


def test_evaluations_are_read_exported_and_imported_with_what_the_judge_was_told(tmp_path: Path) -> None:
    url, run = run_of(tmp_path)
    cut = [content for content in raw(url) if content.startswith("@")]
    assert len(cut) == 11, "all that asked a judge, but for the first"
    assert all("impartial" not in content for content in cut)
    source, target = open_store(url), open_store(str(tmp_path / "other.db"))
    record = source.runs.find(run.id)
    for result in source.results(record):
        quality, jury, _ = (judgment.evaluation for judgment in result.judgments)
        assert quality.evaluator_provider_request is not None
        assert "impartial judge" in quality.evaluator_provider_request["systemPrompt"]
        assert str(jury.as_dict()).count("impartial judge") >= 2
    lines = list(export_lines(source, record))
    assert b"@" not in b"".join(lines)
    imported = import_lines(target, lines)
    assert list(export_lines(target, target.runs.find(imported.id)))[1:] == lines[1:]
    assert sum(content.startswith("@") for content in raw(str(tmp_path / "other.db"))) == 11
    for store, identity in ((source, run.id), (target, imported.id)):
        assert verify_run(store, identity).is_sound
        store.runs.delete(store.runs.find(identity))
        assert store.database.rows("SELECT COUNT(*) FROM shared_texts") == [(0,)]


def damage(store: Store, run: RunRecord, statement: str) -> str:
    store.database.execute(statement)
    store.database.shared_texts.clear()
    with pytest.raises(StoreError) as caught:
        list(store.results(run))
    found = verify_run(store, run.id)
    assert not found.is_sound
    assert any("which evaluations share" in told for told in found.told)
    return str(caught.value)


def test_a_shared_text_that_is_damaged_or_gone_is_not_passed_on(tmp_path: Path) -> None:
    url, run = run_of(tmp_path, cases=3)
    store = open_store(url)
    record = store.runs.find(run.id)
    changed = damage(store, record, "UPDATE shared_texts SET content = content || 'x'")
    assert f"run {run.id} is damaged: the text " in changed
    assert "does not match its hash" in changed
    assert "is missing" in damage(store, record, "DELETE FROM shared_texts")


def test_a_transaction_that_was_undone_takes_no_shared_text_with_it(tmp_path: Path) -> None:
    database: Database = SQLite(str(tmp_path / "texts.db"))
    database.execute("CREATE TABLE shared_texts (run BIGINT, hash TEXT, content TEXT, PRIMARY KEY (run, hash))")
    shared = SharedTexts(database)
    row = (1, dumps({"systemPrompt": LONG}))
    shared.cut([row])
    with contextlib.suppress(ZeroDivisionError), database.transaction():
        shared.cut([row])
        raise ZeroDivisionError
    ((_, content),) = shared.cut([row])
    assert whole(database, 1, [content]) == [row[-1]]
    assert readable(content) == '{"systemPrompt":""}'
