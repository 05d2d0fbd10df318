"""Hiding secrets, in whatever way they are spelt."""

from __future__ import annotations

import base64
import copy
import html
import json
import pickle
from collections.abc import Callable
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, strategies as st

from evenhand.domain import scrubber
from evenhand.domain.scrubber import HIDDEN, Scrubber
from evenhand.domain.secret import Secret, scrubber_of

KEY = "sk-live/canary+0123456789-→_end"
ASCII_KEY = "sk-live/canary+0123456789=abcdef"


def percent(text: str, *, form: str = "%{:02X}", which: Callable[[int], bool] = lambda _: True) -> str:
    """Encode the bytes whose number is chosen."""
    content = text.encode()
    return "".join(form.format(byte) if which(at) or byte >= 128 else chr(byte) for at, byte in enumerate(content))


def in_json(text: str) -> str:
    """Spell a text with all the escapes that JSON has."""
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2))


def coded(text: str, before: str = "", after: str = "") -> str:
    return base64.b64encode((before + text + after).encode()).decode()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in capitals": str.upper,
    "percent-encoded": lambda key: quote(key, safe=""),
    "percent-encoded throughout": percent,
    "percent-encoded in small letters": lambda key: percent(key, form="%{:02x}"),
    "percent-encoded in part": lambda key: percent(key, which=lambda at: at % 3 == 0),
    "percent-encoded twice": lambda key: quote(quote(key, safe=""), safe=""),
    "as JSON": lambda key: json.dumps(key)[1:-1],
    "with slashes escaped": lambda key: key.replace("/", "\\/"),
    "with a dash escaped": lambda key: key.replace("-", "\\u002d"),
    "with all of JSON's escapes": in_json,
    "as JSON within JSON": lambda key: json.dumps(in_json(key)),
    "as a URL within JSON": lambda key: in_json(quote(key, safe="")),
    "as Python shows bytes": lambda key: repr(key.encode())[2:-1],
    "as HTML": lambda key: "".join(f"&#{ord(one)};" for one in key),
    "as HTML in hexadecimal": lambda key: "".join(f"&#x{ord(one):X};" for one in key),
    "as HTML within HTML": lambda key: html.escape("".join(f"&#{ord(one)};" for one in key)),
    "in Base64": coded,
    "in Base64 with one before": lambda key: coded(key, "x", "yy"),
    "in Base64 with two before": lambda key: coded(key, "xx", "y"),
    "in Base64 as a bearer": lambda key: coded(key, "Bearer "),
    "in Base64 as a login": lambda key: coded(key, "user:"),
    "in Base64 for URLs": lambda key: base64.urlsafe_b64encode(f"Bearer {key}".encode()).decode(),
    "in Base64 within JSON": lambda key: coded(key, "?>?>").replace("/", "\\/"),
    "in Base64 within a URL": lambda key: quote(coded(key, "user:"), safe=""),
    "in hexadecimal": lambda key: key.encode().hex(),
    "in hexadecimal capitals": lambda key: key.encode().hex().upper(),
}


@pytest.mark.parametrize("key", [KEY, ASCII_KEY])
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_secret_is_hidden_however_it_is_spelt(spelling: Callable[[str], str], key: str) -> None:
    told = spelling(key)

    shown = Scrubber([key]).scrub(f"wrong key ({told}), said the server")

    assert shown.startswith("wrong key (")
    assert shown.endswith("), said the server")
    assert HIDDEN in shown
    # Of Base64, the neighbours stay.
    assert len(shown) <= len("wrong key (), said the server") + len(HIDDEN) + 10


@pytest.mark.parametrize("length", range(8, len(ASCII_KEY)))
@pytest.mark.parametrize("spelling", ["as it is", "percent-encoded throughout", "with all of JSON's escapes"])
def test_the_beginning_of_a_secret_is_hidden_where_a_text_was_cut_off(spelling: str, length: int) -> None:
    told = f"said: {SPELLINGS[spelling](ASCII_KEY[:length])}"
    hiding = Scrubber([ASCII_KEY])

    assert hiding.scrub(told) == "said: ***"
    assert hiding.scrub(f"{told}… (shortened)") == "said: ***… (shortened)"
    assert hiding.scrub(f"{told}... (shortened)") == "said: ***... (shortened)"


@pytest.mark.parametrize("spelling", ["in Base64", "in Base64 as a bearer", "in hexadecimal"])
def test_so_is_that_of_an_encoded_one(spelling: str) -> None:
    whole = SPELLINGS[spelling](ASCII_KEY)
    hiding = Scrubber([ASCII_KEY])

    shown = [hiding.scrub(whole[:length]) for length in range(len(whole) + 1)]

    assert max(map(len, shown)) < 30


def test_what_is_cut_off_is_hidden_only_at_a_cut() -> None:
    beginning = ASCII_KEY[:12]

    assert Scrubber([ASCII_KEY]).scrub(f"{beginning} is how it begins") == f"{beginning} is how it begins"


@pytest.mark.parametrize(
    ("odd", "escaped"), [("<pass-word>-17", "&lt;pass-word&gt;-17"), ("\tpass-word-17", "\\tpass-word-17")]
)
def test_one_odd_secret_among_plain_ones_is_hidden_where_it_is_escaped(odd: str, escaped: str) -> None:
    hiding = Scrubber(["sk-plain-secret", odd])

    for text in (odd, escaped, "sk-plain-secret"):
        assert hiding.scrub(f"key {text} end") == f"key {HIDDEN} end"


@pytest.mark.parametrize("secret", ["😀zebra-mango-77", "zebra-mango-77😀", "zebra-😀-mango-77", "zebra-mango-77é"])
def test_a_secret_is_hidden_to_its_last_character_where_that_is_escaped(secret: str) -> None:
    text = json.dumps({"key": secret, "rest": "é😀"})

    assert Scrubber([secret]).scrub(text) == json.dumps({"key": HIDDEN, "rest": "é😀"})


def test_what_stands_side_by_side_is_hidden_as_one_and_the_rest_stays_as_it_was() -> None:
    hiding = Scrubber([ASCII_KEY, "another-secret"])

    assert hiding.scrub(f"ü{ASCII_KEY}{ASCII_KEY}another-secret é %41 \\u0041") == "ü*** é %41 \\u0041"


def test_a_short_secret_is_hidden_where_it_stands_alone() -> None:
    hiding = Scrubber(["1", "none"])

    shown = hiding.scrub("HTTP 401: key 1 (none) is wrong, or key%3D1; nonetheless 2.10")

    assert shown == "HTTP 401: key *** (***) is wrong, or key%3D***; nonetheless 2.10"


@pytest.mark.parametrize(
    "text", ["", "none of it", '{"score": 1, "reasoning": "100%, \\"all\\" of it & more…"}', "\ud800é"]
)
def test_a_text_without_secrets_is_the_same(text: str) -> None:
    assert Scrubber([KEY]).scrub(text) is text
    assert Scrubber([]).scrub(text) is text
    assert Scrubber(["", " "]).scrub(text) is text


@given(before=st.text(max_size=20), after=st.text(max_size=20), chosen=st.sets(st.integers(0, len(KEY.encode()))))
def test_a_secret_percent_encoded_anyhow_is_hidden_among_anything(before: str, after: str, chosen: set[int]) -> None:
    told = percent(KEY, which=chosen.__contains__)

    shown = Scrubber([KEY]).scrub(f"{before} {told} {after}".encode("utf-8", "replace").decode())

    assert KEY.lower() not in unquote(shown).lower()


@given(text=st.text(alphabet="%\\u0041&#;xaAsk-/.…é"))
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert Scrubber([KEY]).scrub(text) == text


class Counted:
    """A pattern that counts what it finds."""

    def __init__(self, pattern: object) -> None:
        self.pattern, self.found = pattern, 0

    def finditer(self, content: bytes) -> list[object]:
        found = list(self.pattern.finditer(content))  # type: ignore[attr-defined]
        self.found += len(found)
        return found


@pytest.mark.parametrize(
    "hostile", ["%41", "a%41", "%25", "\\u0041", "\\\\", "&amp;", "...", ASCII_KEY[:-1], ASCII_KEY[:9] + "…", "\\"]
)
def test_the_work_is_linear(monkeypatch: pytest.MonkeyPatch, hostile: str) -> None:
    # Each search is one of C's over the whole text; what Python does, it does once for each that they find.
    hiding = Scrubber([ASCII_KEY])
    work = []
    for size in (10_000, 20_000):
        patterns = [Counted(scrubber._ESCAPE), Counted(scrubber._ELLIPSIS)]
        monkeypatch.setattr(scrubber, "_ESCAPE", patterns[0])
        monkeypatch.setattr(scrubber, "_ELLIPSIS", patterns[1])
        hiding.scrub(hostile * (size // len(hostile)))
        work.append(sum(pattern.found for pattern in patterns) + 100)
        monkeypatch.undo()

    assert work[1] <= 2 * work[0] + 8


def test_a_scrubber_tells_nobody_what_it_hides() -> None:
    hiding = Scrubber([KEY])

    assert repr(hiding) == "Scrubber(***)"
    assert copy.deepcopy(hiding) is hiding
    with pytest.raises(TypeError, match="it knows secrets"):
        pickle.dumps(hiding)


# Which secrets are hidden in replies, whose words count


@pytest.mark.parametrize(
    ("value", "is_credential", "hidden"),
    [
        ("1", True, False),
        ("none", True, False),
        ("unneeded", True, False),  # a word: nobody's key
        ("hunter22", True, True),
        ("correcthorsebattery", True, True),
        ("localhost", False, False),
        ("127.0.0.1", False, False),
        ("gateway-17.internal", False, True),
    ],
)
def test_what_may_be_somebodys_own_word_stays_in_replies_and_is_hidden_in_errors(
    value: str, is_credential: bool, hidden: bool
) -> None:
    secret = Secret(value, is_credential=is_credential)
    said = f"It says {value}, which is right."

    assert (value not in scrubber_of([secret], in_replies=True).scrub(said)) is hidden
    assert value not in scrubber_of([secret]).scrub(said)
