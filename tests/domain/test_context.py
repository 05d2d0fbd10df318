"""What a context may be, and how it is kept."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.context import ContextDocument
from evenhand.domain.errors import ConfigError
from evenhand.domain.json_codec import case_from, case_to


def test_a_context_is_a_text_or_documents_with_and_without_ids() -> None:
    text = Case(context="Returns: 30 days.")
    documents = Case(context=[{"id": "faq", "text": "Returns: 30 days."}, "Shoes only."])

    assert (text.context, text.context_text) == ("Returns: 30 days.", "Returns: 30 days.")
    assert text.documents == (ContextDocument(text="Returns: 30 days."),)
    assert documents.documents == (
        ContextDocument(id="faq", text="Returns: 30 days."),
        ContextDocument(text="Shoes only."),
    )
    assert documents.context_text == '[1] "faq"\nReturns: 30 days.\n\n[2]\nShoes only.'


@pytest.mark.parametrize("context", [None, "", " \n", [], (), [""], [{"id": "a", "text": " "}]])
def test_a_context_without_text_is_none(context: Any) -> None:
    case = Case(context=context)

    assert (case.context, case.context_text, case.documents) == (None, None, ())
    assert "context" not in case_to(case)


@pytest.mark.parametrize("context", ["a\0b", ["a", {"id": "x\0", "text": "b\ud800"}, ""], [{"id": "", "text": "c"}]])
def test_a_context_is_written_as_plain_values_and_read_back(context: Any) -> None:
    case = Case(id="a", context=context)

    assert case_to(case)["context"] == context
    assert case_from(case_to(case)) == case


@pytest.mark.parametrize(
    ("context", "problem"),
    [
        (5, "context must be text or a list of documents, not int: 5"),
        (b"a", "context must be text or a list of documents, not bytes: b'a'"),
        ({"text": "a"}, "context must be text or a list of documents, not dict: {'text': 'a'}"),
        (["a", 5], "context: document 2 must be text, or a mapping with text and id, not int: 5"),
        ([{"id": "a"}], "context: document 1: text must be text, not nothing"),
        ([{"text": 5}], "context: document 1: text must be text, not int: 5"),
        ([{"text": "a", "id": 7}], "context: document 1: id must be text, not 7; write it in quotes"),
        (
            [{"page_content": "a"}],
            "context: document 1: no key 'page_content'; did you mean 'text'?",
        ),
        (["a", {"text": "b", "score": 1}], "context: document 2: no key 'score'; known: id, text"),
    ],
)
def test_what_is_no_context_is_refused_by_name(context: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Case(id="a", context=context)

    assert str(refused.value) == f"case 'a': {problem}"
