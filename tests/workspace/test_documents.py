"""Export and import: what goes out comes in again, in whole or not at all (SPEC-M5)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError, ConflictError
from evenhand.domain.prompt import EvaluationMode, PromptText, TestCaseText
from evenhand.store.store import Store, open_store
from evenhand.workspace.documents import export_document
from evenhand.workspace.prompt_import import Imported, import_document


@pytest.fixture
def elsewhere() -> Iterator[Store]:
    """Another store, empty."""
    opened = open_store("sqlite://")
    yield opened
    opened.close()


@pytest.fixture
def filled(store: Store) -> Store:
    """A store with two prompts."""
    priced = store.prompts.create(
        PromptText(
            name="prices",
            content="Answer in JSON: {{ braces }}\n",
            expected_schema=' {"type":"object"} ',
            evaluation_mode=EvaluationMode.SCHEMA,
            evaluation_criteria="kept all the same",
        )
    )
    schemas = ('{"required": ["price"]}', "{}", " ", "", None)
    store.prompts.add_cases(
        priced.id, [TestCaseText(input=f"Pen {one!r}?", evaluation_schema=one, reference="1") for one in schemas]
    )
    store.prompts.create(PromptText(name="Äpfel", evaluation_criteria="  "))
    return store


def names(store: Store) -> list[str]:
    return [one.name for one in store.prompts.all()]


def test_what_is_exported_and_imported_elsewhere_exports_the_same(filled: Store, elsewhere: Store) -> None:
    written = json.dumps(export_document(filled))

    done = import_document(elsewhere, json.loads(written))

    assert json.dumps(export_document(elsewhere)) == written
    assert done.as_dict() == {
        "created": ["prices", "Äpfel"],
        "updated": [],
        "skipped": [],
        "test_cases": 5,
        "dry_run": False,
    }


@pytest.mark.slow
@pytest.mark.group("postgres-runs")
def test_prompts_move_between_the_databases_and_back(filled: Store, elsewhere: Store, postgres_url: str) -> None:
    document = export_document(filled)
    server = open_store(postgres_url)

    first = import_document(server, document)
    second = import_document(server, document)
    import_document(elsewhere, export_document(server))
    with pytest.raises(ConfigError, match="prompt 2: name: it is missing"):
        import_document(server, {"prompts": [{"name": "new"}, {}]})

    assert (first.created, second.skipped) == (("prices", "Äpfel"),) * 2
    assert export_document(server) == export_document(elsewhere) == document
    server.close()


def test_an_export_has_the_fields_of_both_modes(filled: Store) -> None:
    (prompt,) = export_document(filled, ["prices"])["prompts"]

    assert (prompt["evaluation_mode"], prompt["evaluation_criteria"]) == ("schema", "kept all the same")
    assert prompt["expected_schema"] == ' {"type":"object"} '
    assert [one["evaluation_schema"] for one in prompt["test_cases"]] == [
        '{"required": ["price"]}', "{}", " ", "", None,
    ]  # fmt: skip


def test_a_prompt_that_is_named_twice_is_exported_once(filled: Store, elsewhere: Store) -> None:
    document = export_document(filled, ["prices", filled.prompts.find("prices").id])

    assert len(document["prompts"]) == 1
    assert import_document(elsewhere, document).created == ("prices",)


def test_importing_twice_skips_and_lists_all(filled: Store) -> None:
    document = export_document(filled)

    done = import_document(filled, document)

    assert (done.created, done.skipped, done.test_cases) == ((), ("prices", "Äpfel"), 0)
    assert export_document(filled) == document


def test_a_prompt_that_is_there_is_skipped_and_stays_as_it_is(filled: Store, elsewhere: Store) -> None:
    elsewhere.prompts.create(PromptText(name="prices", content="mine"))

    done = import_document(elsewhere, export_document(filled))

    assert (done.created, done.skipped, done.test_cases) == (("Äpfel",), ("prices",), 0)
    mine = elsewhere.prompts.find("prices")
    assert (mine.text.content, mine.version, mine.test_cases) == ("mine", 1, 0)


def test_a_dry_run_tells_the_same_and_changes_nothing(filled: Store, elsewhere: Store) -> None:
    document = export_document(filled)

    told = import_document(elsewhere, document, dry_run=True)

    assert names(elsewhere) == []
    assert told.dry_run
    assert told.created == import_document(elsewhere, document).created


def test_an_import_takes_either_spelling(store: Store) -> None:
    given = {
        "formatVersion": 1,
        "prompts": [
            {
                "name": "p",
                "evaluationMode": "schema",
                "evaluationCriteria": "c",
                "expectedSchema": {},
                "testCases": [{"input": "x", "evaluationSchema": {"type": "object"}}],
            }
        ],
    }

    import_document(store, given)

    prompt = store.prompts.find("p")
    assert (prompt.text.evaluation_mode, prompt.text.evaluation_criteria) == (EvaluationMode.SCHEMA, "c")
    (case,) = store.prompts.cases(prompt.id)
    assert case.text.evaluation_schema == '{\n  "type": "object"\n}'


@pytest.mark.slow
def test_of_ten_thousand_prompts_with_one_mistake_none_is_imported(store: Store) -> None:
    prompts: list[dict[str, Any]] = [{"name": f"p{number}"} for number in range(1, 10_001)]
    prompts[9_998]["test_cases"] = [{"input": "fine"}, {"input": "x", "evaluation_schema": "{"}]

    with pytest.raises(
        ConfigError, match=r"^prompt 9999 \('p9999'\), test case 2: evaluation_schema: not JSON.* column 2"
    ):
        import_document(store, {"prompts": prompts})

    assert names(store) == []


def test_an_import_that_the_database_breaks_off_leaves_nothing(store: Store) -> None:
    store.database.execute(
        "CREATE TRIGGER full BEFORE INSERT ON test_cases WHEN NEW.input = 'last' "
        "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
    )
    prompts = [{"name": "a", "test_cases": [{"input": "x"}]}, {"name": "b", "test_cases": [{"input": "last"}]}]

    with pytest.raises(Exception, match="the disk is full"):
        import_document(store, {"prompts": prompts})

    assert names(store) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, 'an import is an object with "prompts", a list'),
        ([], 'an import is an object with "prompts", a list'),
        ({"prompts": {}}, 'an import is an object with "prompts", a list'),
        ({"prompts": [], "fromat": 1}, "the import has no key 'fromat'; did you mean 'format'?"),
        ({"prompts": [], "format_version": 1, "formatVersion": 1}, "the import has format_version twice"),
        ({"prompts": [], "format": "evenhand-run"}, "the import is 'evenhand-run', version 1; this program reads"),
        ({"prompts": [], "format_version": 2}, "version 2; this program reads evenhand-prompts, version 1"),
        ({"prompts": ["x"]}, "prompt 1: it must be an object, not str"),
        ({"prompts": [{}]}, "prompt 1: name: it is missing"),
        ({"prompts": [{"name": "a"}, {"name": "a "}]}, "prompts 1 and 2 are both named 'a'; names must differ"),
        (
            {"prompts": [{"name": "a", "evaluation_mod": "llm"}]},
            "prompt 1: evaluation_mod: a prompt has no such field; did you mean 'evaluation_mode'?",
        ),
        ({"prompts": [{"name": "a", "test_cases": {}}]}, "prompt 1 ('a'): test_cases: it must be a list, not dict"),
        (
            {"prompts": [{"name": "a", "test_cases": [], "testCases": []}]},
            "prompt 1 ('a'): test_cases: it is given twice, in both spellings",
        ),
        ({"prompts": [{"name": "a", "test_cases": ["x"]}]}, "prompt 1 ('a'), test case 1: a test case is an object"),
        (
            {"prompts": [{"name": "a", "test_cases": [{"input": "x", "schema": {}}]}]},
            "prompt 1 ('a'), test case 1: schema: a test case has no such field",
        ),
        ({"prompts": [{"name": "a\0"}]}, "prompt 1: name: its character 2 is U+0000"),
    ],
)
def test_what_is_wrong_with_an_import_is_told_with_its_place(store: Store, given: Any, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        import_document(store, given)

    assert told in str(caught.value)
    assert names(store) == []


NEWER = {
    "prompts": [
        {"name": "prices", "content": "Answer in XML.", "test_cases": [{"input": "new"}, {"input": "new"}]},
        {"name": "Äpfel", "evaluation_criteria": "  "},
        {"name": "more"},
    ]
}


def test_an_import_that_is_to_update_says_what_it_changes_and_removes_nothing(filled: Store) -> None:
    before = filled.prompts.find("prices")

    looked = import_document(filled, NEWER, dry_run=True, update=True)
    between = filled.prompts.find("prices").latest
    done = import_document(filled, NEWER, update=True, seen=looked.digest)

    after = filled.prompts.find("prices")
    (change,) = looked.updated
    assert (between, after.latest) == (1, 2)
    assert change.fields["content"] == (before.text.content, "Answer in XML.")
    assert set(change.fields) == {"content", "expected_schema", "evaluation_mode", "evaluation_criteria"}
    assert (done.created, done.skipped, done.test_cases) == (("more",), ("Äpfel",), 1)
    assert after.text.content == "Answer in XML."
    assert [case.text.input for case in filled.prompts.cases(after.id)][-1] == "new"
    assert after.test_cases == before.test_cases + 1
    assert filled.prompts.find("prices", 1).text == before.text
    assert Imported.of(json.loads(json.dumps(looked.as_dict()))).digest == looked.digest


def test_an_update_twice_changes_nothing_the_second_time(filled: Store) -> None:
    import_document(filled, NEWER, update=True)

    again = import_document(filled, NEWER, update=True)

    assert (again.created, again.updated, again.skipped) == ((), (), ("prices", "Äpfel", "more"))
    assert filled.prompts.find("prices").latest == 2


def test_what_would_update_something_else_than_was_shown_does_nothing(filled: Store) -> None:
    looked = import_document(filled, NEWER, dry_run=True, update=True)
    prices = filled.prompts.find("prices")
    filled.prompts.edit(prices.id, PromptText(name="prices", content="Theirs."), seen=1)

    with pytest.raises(ConflictError, match="changed since it was shown"):
        import_document(filled, NEWER, update=True, seen=looked.digest)

    assert names(filled) == ["prices", "Äpfel"]
    assert filled.prompts.find("prices").text.content == "Theirs."


def test_without_being_asked_to_an_import_updates_nothing(filled: Store) -> None:
    done = import_document(filled, NEWER)

    assert (done.created, done.updated, done.skipped) == (("more",), (), ("prices", "Äpfel"))
    assert filled.prompts.find("prices").latest == 1
