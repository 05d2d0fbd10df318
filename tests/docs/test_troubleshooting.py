"""The messages on the page about trouble are those that Evenhand gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.source import modules, nodes_of

pytestmark = [
    pytest.mark.slow,  # many small ones, which together would take the fast tests beyond their minute
    pytest.mark.group("source"),
]

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
ANYTHING = "…"

HEADINGS = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
MESSAGES = [message for heading in HEADINGS for message in re.findall(r"`([^`]+)`", heading)]
# The class of a failure stands before its sentence, and is joined to it elsewhere.
CLASSED = re.compile(r"([a-z_]+): (.+)")


def texts_of(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the texts of a module but for its docstrings, with ``…`` where a value goes in."""
    found = set()
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if node in docstrings:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else ANYTHING for part in node.values]
            found.add("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


@pytest.fixture(scope="module")
def texts() -> set[str]:
    """All texts in the source."""
    return set().union(*(texts_of(nodes_of(path)) for path in modules()))


def is_said(message: str, texts: set[str]) -> bool:
    """Tell whether one text has the constant parts of a message, in their order."""
    parts = [re.escape(part.strip()) for part in message.split(ANYTHING) if part.strip()]
    return any(re.search(".*".join(parts), text, re.DOTALL) for text in texts)


def test_there_are_messages_and_each_has_an_explanation() -> None:
    explained = re.findall(r"^### .+\n(?=[^\n#])", PAGE, re.MULTILINE)

    assert len(MESSAGES) >= 30
    assert len(set(MESSAGES)) == len(MESSAGES)
    assert len(explained) == len(HEADINGS)
    assert all("`" in heading for heading in HEADINGS)


@pytest.mark.parametrize("message", MESSAGES)
def test_evenhand_says_what_the_page_quotes(message: str, texts: set[str]) -> None:
    classed = CLASSED.fullmatch(message)
    kind, sentence = classed.groups() if classed else (None, message)

    assert is_said(message, texts) or (kind in texts and is_said(sentence, texts))


@pytest.mark.parametrize(
    "message", ["no evaluator kind …", "it cannot be made so, or …", "the reply lacks its … score"]
)
def test_a_message_that_is_nowhere_is_found_out(message: str, texts: set[str]) -> None:
    assert not is_said(message, texts)
