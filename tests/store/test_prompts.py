"""Prompts in both databases: versions, two editors at once, names, and what stays when one is deleted (SPEC-M2)."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.errors import ConflictError, NotFoundError, StoreError
from evenhand.domain.prompt import EvaluationMode, PromptText, TestCaseText
from evenhand.store.store import Store, open_store

from .databases import in_sqlite

TEXT = PromptText(name="refunds", content="You are terse.", evaluation_criteria="Is short")


def test_an_edit_makes_a_version_and_the_earlier_ones_stay(store: Store) -> None:
    first = store.prompts.create(TEXT)

    second = store.prompts.edit(first.id, replace(TEXT, content="You are kind."), seen=1)

    assert (first.version, second.version, second.latest) == (1, 2, 2)
    assert [one.text.content for one in store.prompts.versions(first.id)] == ["You are kind.", "You are terse."]
    earlier = store.prompts.find("refunds", 1)
    assert (earlier.text, earlier.version, earlier.latest) == (TEXT, 1, 2)
    assert second.edited >= first.edited == first.created == second.created


def test_an_edit_that_changes_nothing_makes_no_version(store: Store) -> None:
    made = store.prompts.create(TEXT)

    same = store.prompts.edit(made.id, replace(TEXT), seen=1)

    assert same.version == 1
    assert len(store.prompts.versions(made.id)) == 1


def test_some_prompts_are_read_and_the_last_edited_ones(store: Store) -> None:
    ids = [store.prompts.create(replace(TEXT, name=name)).id for name in ("a", "b", "c")]
    store.prompts.edit(ids[1], replace(TEXT, name="b", content="New."), seen=1)

    some = store.prompts.some([ids[2], "p-gone", ids[1], ids[2]])

    assert [(prompt.name, prompt.version) for prompt in some] == [("c", 1), ("b", 2)]
    assert store.prompts.some([]) == []
    assert [prompt.name for prompt in store.prompts.last_edited(2)] == ["b", "c"]
    assert store.prompts.total() == 3


@pytest.mark.parametrize("by", ["id", "name"])
def test_a_prompt_is_edited_by_its_id_or_its_name(store: Store, by: str) -> None:
    made = store.prompts.create(TEXT)

    edited = store.prompts.edit(getattr(made, by), replace(TEXT, name="returns"), seen=1)

    assert (edited.id, edited.name, edited.version) == (made.id, "returns", 2)
    assert store.prompts.find("returns") == edited


def test_the_second_of_two_editors_is_told_and_the_first_loses_nothing(store: Store) -> None:
    made = store.prompts.create(TEXT)
    store.prompts.edit(made.id, replace(TEXT, content="first"), seen=1)

    with pytest.raises(ConflictError, match="'refunds' is at version 2, but this edit is based on version 1"):
        store.prompts.edit(made.id, replace(TEXT, content="second"), seen=1)

    assert store.prompts.find(made.id).text.content == "first"
    assert store.prompts.edit(made.id, replace(TEXT, content="second"), seen=2).version == 3
    assert [one.text.content for one in store.prompts.versions(made.id)] == ["second", "first", "You are terse."]


def test_of_many_editors_at_once_each_wins_or_is_told(url: str, store: Store) -> None:
    made = store.prompts.create(TEXT)
    told: list[object] = []

    def edit(number: int) -> None:
        other = open_store(url)
        try:
            told.append(other.prompts.edit(made.id, replace(TEXT, content=f"editor {number}"), seen=1).text.content)
        except ConflictError:
            told.append(None)
        finally:
            other.close()

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (won,) = [one for one in told if one is not None]
    assert len(told) == 6
    assert [one.text.content for one in store.prompts.versions(made.id)] == [won, "You are terse."]


def test_names_differ_also_after_an_edit(store: Store) -> None:
    store.prompts.create(TEXT)
    other = store.prompts.create(PromptText(name="returns"))

    with pytest.raises(ConflictError, match="a prompt named 'refunds' already"):
        store.prompts.create(PromptText(name=" refunds "))
    with pytest.raises(ConflictError, match="a prompt named 'refunds' already"):
        store.prompts.edit(other.id, PromptText(name="refunds"), seen=1)

    assert [(one.name, one.version) for one in store.prompts.all()] == [("refunds", 1), ("returns", 1)]


def test_a_name_that_was_given_up_is_free_again(store: Store) -> None:
    made = store.prompts.create(TEXT)

    renamed = store.prompts.edit(made.id, replace(TEXT, name="returns"), seen=1)
    new = store.prompts.create(TEXT)

    assert renamed.id == made.id
    assert store.prompts.find("refunds").id == new.id
    assert store.prompts.find(made.id, 1).name == "refunds"


def test_an_id_is_found_before_a_name_that_looks_like_it(store: Store) -> None:
    made = store.prompts.create(TEXT)
    other = store.prompts.create(PromptText(name=made.id))

    found = store.prompts.find(made.id)

    assert found.id == made.id
    assert store.prompts.find(other.id).name == made.id


@pytest.mark.parametrize("version", [0, -1, 2, 2**63, 10**30, -(10**30)])
def test_a_version_that_is_not_there_is_said_to_be_missing(store: Store, version: int) -> None:
    store.prompts.create(TEXT)

    with pytest.raises(NotFoundError, match=f"no version {version} of prompt 'refunds' in "):
        store.prompts.find("refunds", version)


def test_prompts_come_in_one_order_whatever_the_database(store: Store) -> None:
    names = ["b", "B", "a b", "ab", "é", "Z", "_"]
    for name in names:
        store.prompts.create(PromptText(name=name))

    found = [one.name for one in store.prompts.all()]

    assert found == sorted(names)


@in_sqlite
def test_switching_the_mode_deletes_neither_field(store: Store) -> None:
    made = store.prompts.create(TEXT)
    (case,) = store.prompts.add_cases(made.id, [TestCaseText(input="x", evaluation_schema="{}")])

    as_schema = store.prompts.edit(made.id, replace(TEXT, evaluation_mode=EvaluationMode.SCHEMA), seen=1)
    back = store.prompts.edit(made.id, replace(as_schema.text, evaluation_mode=EvaluationMode.LLM), seen=2)

    assert as_schema.text.evaluation_criteria == "Is short"
    assert back.text == TEXT
    assert store.prompts.find_case(case.id).text.evaluation_schema == "{}"


def test_texts_come_back_as_they_were_typed(store: Store) -> None:
    odd = " {{ a }} ${B} %s ? '\"; DROP TABLE prompts; -- \r\n\t😀 \U0010ffff "
    text = PromptText(name="odd", content=odd, expected_schema=' {"a" : 1} ', evaluation_criteria=odd)
    case = TestCaseText(input=odd, evaluation_schema='{\n "type":"object" }\n', reference=odd)

    made = store.prompts.create(text)
    (added,) = store.prompts.add_cases(made.id, [case])

    assert store.prompts.find("odd").text == text
    assert store.prompts.find_case(added.id).text == case


def test_test_cases_belong_to_the_prompt_and_come_in_order(store: Store) -> None:
    made = store.prompts.create(TEXT)
    texts = [TestCaseText(input=f"Question {number}") for number in range(600)]

    added = store.prompts.add_cases(made.id, texts)
    edited = store.prompts.edit(made.id, replace(TEXT, content="other"), seen=1)

    assert [one.text for one in store.prompts.cases(made.id)] == texts
    assert len({one.id for one in added}) == 600
    assert (edited.test_cases, added[0].prompt_id) == (600, made.id)


def test_a_test_case_is_edited_by_one_at_a_time(store: Store) -> None:
    made = store.prompts.create(TEXT)
    (case,) = store.prompts.add_cases(made.id, [TestCaseText(input="x", reference="right")])
    changed = store.prompts.edit_case(case.id, TestCaseText(input="y"), seen=1)

    with pytest.raises(ConflictError, match="is at version 2, but this edit is based on version 1"):
        store.prompts.edit_case(case.id, TestCaseText(input="z"), seen=1)
    same = store.prompts.edit_case(case.id, TestCaseText(input="y"), seen=2)

    assert (changed.version, changed.text, changed.created) == (2, TestCaseText(input="y"), case.created)
    assert same == changed == store.prompts.find_case(case.id)


def test_what_is_not_there_is_said_to_be_missing(store: Store) -> None:
    text = TestCaseText(input="x")

    for ask in (
        lambda: store.prompts.find("none"),
        lambda: store.prompts.edit("none", TEXT, seen=1),
        lambda: store.prompts.delete("none"),
        lambda: store.prompts.add_cases("none", [text]),
    ):
        with pytest.raises(NotFoundError, match="no prompt 'none' in "):
            ask()
    for ask_case in (
        lambda: store.prompts.find_case("t-none"),
        lambda: store.prompts.edit_case("t-none", text, seen=1),
        lambda: store.prompts.delete_case("t-none"),
    ):
        with pytest.raises(NotFoundError, match="no test case 't-none' in "):
            ask_case()


def test_a_deleted_prompt_takes_its_versions_and_test_cases_with_it_and_leaves_its_runs(
    store: Store, made: Any
) -> None:
    prompt = store.prompts.create(TEXT)
    other = store.prompts.create(PromptText(name="other"))
    store.prompts.edit(prompt.id, replace(TEXT, content="x"), seen=1)
    store.prompts.add_cases(prompt.id, [TestCaseText(input="x")])
    (kept,) = store.prompts.add_cases(other.id, [TestCaseText(input="y")])
    run = made.run(store, cases=1, definition={"prompt": {"id": prompt.id, "name": "refunds", "version": 2}})
    made.judge(store, run, 0, made.judgment(0.5))

    store.prompts.delete(prompt.id)

    assert [one.name for one in store.prompts.all()] == ["other"]
    assert (store.prompts.versions(prompt.id), list(store.prompts.cases(prompt.id))) == ([], [])
    assert list(store.prompts.cases(other.id)) == [kept]
    (result,) = store.results(store.runs.find(run.id))
    assert result.outcome.score == 0.5


def test_a_deleted_test_case_is_gone_alone(store: Store) -> None:
    prompt = store.prompts.create(TEXT)
    first, second = store.prompts.add_cases(prompt.id, [TestCaseText(input=text) for text in "xy"])

    store.prompts.delete_case(first.id)

    assert list(store.prompts.cases(prompt.id)) == [second]
    assert store.prompts.find(prompt.id).test_cases == 1


def test_what_goes_wrong_within_a_transaction_undoes_all_of_it(store: Store) -> None:
    def create_both() -> None:
        with store.database.transaction():
            store.prompts.create(PromptText(name="new"))
            store.prompts.create(TEXT)

    store.prompts.create(TEXT)
    with pytest.raises(ConflictError):
        create_both()

    assert [one.name for one in store.prompts.all()] == ["refunds"]


def test_a_transaction_of_which_a_part_went_wrong_is_not_kept_even_if_that_was_overlooked(store: Store) -> None:
    def overlook() -> None:
        with store.database.transaction():
            store.prompts.create(PromptText(name="new"))
            with pytest.raises(ConflictError):
                store.prompts.create(TEXT)

    store.prompts.create(TEXT)
    with pytest.raises(StoreError, match="a part of it failed, so all of it was rolled back"):
        overlook()

    assert [one.name for one in store.prompts.all()] == ["refunds"]
    store.prompts.create(PromptText(name="new"))  # and the next one works


def test_a_statement_that_was_refused_and_overlooked_undoes_the_transaction_too(store: Store) -> None:
    def overlook() -> None:
        with store.database.transaction():
            store.prompts.create(TEXT)
            with pytest.raises(StoreError, match="cannot read"):
                store.database.rows("SELECT * FROM nowhere")

    with pytest.raises(StoreError, match="all of it was rolled back"):
        overlook()

    assert store.prompts.all() == []


@in_sqlite
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE prompt_versions SET content = 'You are rude.' WHERE version = 2",
        "UPDATE prompt_versions SET evaluation_criteria = NULL WHERE version = 2",
        "UPDATE prompt_versions SET evaluation_mode = 'schema' WHERE version = 2",
        "UPDATE prompt_versions SET expected_schema = '{}' WHERE version = 2",
        "UPDATE prompt_versions SET name = 'returns' WHERE version = 2",
        "UPDATE prompt_versions SET checksum = 'x' WHERE version = 2",
        "UPDATE prompts SET latest = 1",
        "UPDATE prompts SET name = 'returns'",
    ],
)
def test_a_damaged_prompt_is_refused_when_it_is_read(store: Store, damage: str) -> None:
    made = store.prompts.create(TEXT)
    store.prompts.edit(made.id, replace(TEXT, content="You are kind."), seen=1)
    store.database.execute(damage)

    with pytest.raises(StoreError, match="is damaged"):
        store.prompts.find(made.id)
    with pytest.raises(StoreError, match="is damaged"):
        store.prompts.all()


@in_sqlite
@pytest.mark.parametrize("column", ["input", "evaluation_schema", "reference"])
def test_a_damaged_test_case_is_refused_when_it_is_read(store: Store, column: str) -> None:
    made = store.prompts.create(TEXT)
    (case,) = store.prompts.add_cases(made.id, [TestCaseText(input="Where is it?", reference="In the post.")])
    store.prompts.edit_case(case.id, TestCaseText(input="Where is my parcel?", reference="In the post."), seen=1)
    store.database.execute(f"UPDATE test_cases SET {column} = 'something else'")

    with pytest.raises(StoreError, match=f"test case '{case.id}' in .* is damaged: it does not match its checksum"):
        store.prompts.find_case(case.id)
    with pytest.raises(StoreError, match="is damaged"):
        list(store.prompts.cases(made.id))


def test_what_an_older_version_wrote_has_no_checksum_and_is_read(store: Store) -> None:
    made = store.prompts.create(TEXT)
    (case,) = store.prompts.add_cases(made.id, [TestCaseText(input="Where is it?")])
    for table in ("prompt_versions", "test_cases"):
        store.database.execute(f"UPDATE {table} SET checksum = NULL")

    assert store.prompts.find(made.id).text == TEXT
    assert store.prompts.find_case(case.id) == case
