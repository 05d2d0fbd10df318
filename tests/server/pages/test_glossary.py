"""The words of the pages are explained where they are used, once on a page, and lead to the documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Contains, Run, evaluate
from evenhand.domain.prompt import PromptText
from evenhand.server.documentation import documentation
from evenhand.server.explanations import collected, explained, explanations, word
from evenhand.server.glossary import WORDS
from evenhand.store.store import Store


@pytest.mark.parametrize("explained_word", WORDS, ids=lambda one: one.label)
def test_a_word_is_explained_in_a_sentence_and_leads_to_a_section_that_is_there(explained_word: Any) -> None:
    path, _, anchor = explained_word.link.partition("#")

    page = documentation().page(path.removeprefix("/help/"))

    assert page is not None
    assert not anchor or anchor in {heading.anchor for heading in page.headings}
    assert explained_word.sentence.endswith(".")
    assert 40 <= len(explained_word.sentence) <= 200


def test_no_two_words_share_a_name() -> None:
    names = [name.lower() for one in WORDS for name in (one.label, *one.others)]

    assert sorted(set(names)) == sorted(names)
    assert len({one.id for one in WORDS}) == len(WORDS)


def test_what_is_no_word_stays_text_and_outside_of_pages_all_words_do() -> None:
    outside = word("Pass rate")
    with collected():
        known, again, unknown = word("Pass rate"), word("pass rate"), word("<b>")
        found = explanations()

    assert (outside, unknown, explanations()) == ("Pass rate", "<b>", "")
    assert 'popovertarget="word-pass-rate"' in known
    assert "pass rate</button>" in again
    assert found.count("popover=") == 1
    with collected():
        assert explained("error", "p value").count("<button") == 2


@pytest.fixture
def addresses(client: TestClient, store: Store, tmp_path: Any) -> dict[str, str]:
    """Judge the same cases twice; return the pages that have numbers, each with a word that it has to explain."""
    store.prompts.create(PromptText(name="p"))
    db = str(tmp_path / "evenhand.db")
    evaluators = [Contains(value="Paris", name="one"), Contains(value="a", name="two")]

    def judged(answer: str) -> str:
        cases = [Case(id=f"c{number}", question="q", candidate_answer=answer[:number]) for number in range(8)]
        return evaluate(cases, evaluators, store=db, name="s").id

    first, second = judged("Paris"), judged("A Paris")
    return {
        "/": "pass-rate", "/runs": "mean", f"/runs/{first}": "confidence-interval", f"/runs/{first}/results": "borderline",
        f"/runs/{first}/evaluations": "not-evaluated", f"/runs/{first}/results/1": "error",
        f"/compare?a={first}&b={second}": "detectable-difference",
    }  # fmt: skip


def test_pages_with_numbers_explain_their_words(
    client: TestClient, addresses: dict[str, str], parsed: Callable[..., Any]
) -> None:
    for address, wanted in addresses.items():
        page = parsed(client.get(address))
        buttons = {one.attributes["popovertarget"] for one in page.elements if "popovertarget" in one.attributes}
        explanations = {one.attributes["id"] for one in page.elements if "popover" in one.attributes}

        assert f"word-{wanted}" in buttons, address
        assert buttons == explanations, address


def test_a_report_has_the_same_words_as_text(addresses: dict[str, str], tmp_path: Any) -> None:
    run = Run.open(store=str(tmp_path / "evenhand.db"))

    written = run.report("html")

    assert "<h2>Means</h2>" in written
    assert "popover" not in written
    assert 'href="/help' not in written
