"""A server in this process, every page of which is looked at on its way: nothing inline, nothing without a token."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand.domain.secret import Secret
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store

TOKEN = "a-token-of-the-tests"
_VOID = {"br", "col", "hr", "img", "input", "link", "meta", "path"}
# Drawn with every bar, and everywhere the same.
_SHARED_IDS = {"evenhand-hatching"}


# What the frame around every page is made of: with more than these and its own, a page has become somebody else's.
_LAYOUT = "a body button dd dialog div dl dt form h1 h2 head header html input kbd label li link main meta nav ol p path script span svg title ul"


@dataclass(slots=True)
class Element:
    """An element of a page: its name, its attributes, and where the text in it is among all texts of the page."""

    name: str
    attributes: dict[str, str]
    _texts: list[str] = field(repr=False)
    _start: int
    _end: int | None = None

    @property
    def text(self) -> str:
        """The text in it."""
        return "".join(self._texts[self._start : self._end])


@dataclass
class Seen(HTMLParser):
    """The elements of a page in their order."""

    elements: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[Element] = []
        self._texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self._texts, len(self._texts))
        self.elements.append(element)
        if tag in _VOID:
            element._end = element._start
        else:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            element = self._open.pop()
            element._end = len(self._texts)
            if element.name == tag:
                break

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    def all(self, name: str, /, **attributes: str) -> list[Element]:
        """Return the elements of a name with these attributes."""
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        return [one for one in self.elements if one.name == name and wanted.items() <= one.attributes.items()]

    def one(self, name: str, /, **attributes: str) -> Element:
        """Return the only element of a name with these attributes."""
        (found,) = self.all(name, **attributes)
        return found

    def value(self, name: str) -> str:
        """Return what a field of a form holds."""
        (found,) = [
            one for one in self.elements if one.name in ("input", "textarea") and one.attributes.get("name") == name
        ]
        return found.attributes["value"] if found.name == "input" else found.text.removeprefix("\n")


@functools.lru_cache(maxsize=8)  # a page is looked at on its way, and then often by the test
def seen(html: str) -> Seen:
    """Take a page apart."""
    made = Seen()
    made.feed(html)
    made.close()
    return made


def look_at(response: Any) -> None:
    """Hold a page against what holds for all of them."""
    assert response.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    if not response.headers.get("content-type", "").startswith("text/html"):
        return
    response.read()
    page = seen(response.text)
    for element in page.elements:
        assert element.name != "style", element
        assert element.name != "script" or "src" in element.attributes, element
        assert element.name != "script" or not element.text, element
        for name, value in element.attributes.items():
            assert name != "style", element
            assert not name.startswith("on"), element
            if name in ("href", "src", "action", "formaction"):
                assert value.startswith(("/", "#")), element
    ids = Counter(one.attributes["id"] for one in page.elements if "id" in one.attributes)
    assert [one for one, count in ids.items() if count > 1 and one not in _SHARED_IDS] == []
    posting = len(page.all("form", method="post"))
    assert len(page.all("input", name="token")) >= posting


@pytest.fixture
def db(tmp_path: Path, empty_database: Callable[[Path], str]) -> str:
    """The database that the server begins with, which is empty."""
    return empty_database(tmp_path / "evenhand.db")


@pytest.fixture
def client(db: str) -> Iterator[TestClient]:
    """Talk to a server with a store of its own."""
    app = make_app(ServerSettings(db=db, token=Secret(TOKEN), page_wait_seconds=60.0))
    with TestClient(app, base_url="http://localhost:8642", follow_redirects=False) as made:
        made.event_hooks = {"request": [], "response": [look_at]}
        yield made


@pytest.fixture
def store(client: TestClient) -> Store:
    """The store of the server."""
    app: Any = client.app
    found: Store = app.state.store
    return found


@pytest.fixture
def post(client: TestClient) -> Callable[..., Any]:
    """Send a form with the token, as a page would."""

    def posted(address: str, **fields: str) -> Any:
        return client.post(address, data={"token": TOKEN, **fields})

    return posted


@pytest.fixture
def parsed() -> Callable[[Any], Seen]:
    """Take a page apart."""
    return lambda response: seen(response.text)


@pytest.fixture(scope="session")
def hostile() -> list[str]:
    """Texts of the kind that models write when they are told to do harm."""
    path = Path(__file__).resolve().parents[2] / "reports" / "hostile.json"
    found: list[str] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture
def elements() -> Callable[[str], set[str]]:
    """Name the elements that a page may have: those of the frame, and its own, which are given."""
    return lambda own: {*_LAYOUT.split(), *own.split()}
