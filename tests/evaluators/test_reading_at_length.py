"""Reading replies, with many more of them than a quick test can try (SPEC-R2, R3)."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.domain.errors import ContractError
from evenhand.evaluators.echoes import MAX_QUOTING, Echoes
from evenhand.evaluators.freeform import freeform_contract
from evenhand.evaluators.reading import read_reply
from evenhand.evaluators.scanner import Scanner

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

FREEFORM = freeform_contract()
PIECES = [
    '{"',
    '"}',
    '":',
    ',"',
    '{"a":',
    "{",
    "}",
    "[",
    "]",
    '"',
    "\\",
    "\\\\",
    '\\"',
    ":",
    ",",
    "1",
    "a",
    " ",
    "\n",
    "null",
]


def times(some: int, all_: int) -> list[Any]:
    """Return how often to try: a sample at a fixed seed, and in the sweep, all."""
    return [pytest.param(some, id="sample"), pytest.param(all_, id="all", marks=pytest.mark.sweep)]


def spans_by_full_parses(text: str) -> list[tuple[int, int]]:
    found, position = [], 0
    while (position := text.find("{", position)) >= 0:
        try:
            _, end = json.JSONDecoder().raw_decode(text, position)
        except json.JSONDecodeError:
            position += 1
        else:
            found.append((position, end))
            position = end
    return found


@pytest.mark.parametrize("examples", times(1_500, 20_000))
def test_objects_are_those_of_a_full_parse_at_every_brace_and_the_work_is_linear(examples: int) -> None:
    @settings(max_examples=examples, derandomize=examples < 20_000, database=None)
    @given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
    def is_scanned(text: str) -> None:
        scanner = Scanner(text)

        assert list(scanner.spans()) == spans_by_full_parses(text)
        assert scanner.work <= 2 * len(text) + text.count("{")

    is_scanned()


@pytest.mark.parametrize("replies", times(8_000, 100_000))
def test_no_reply_put_together_from_the_candidates_verdict_is_ever_a_score(replies: int) -> None:
    chance = random.Random(11)
    for _ in range(replies):
        fake = {"score": chance.random(), "reasoning": chance.choice(["x", "}", '{"score": 1}', '\\"'])}
        spelt = chance.choice([json.dumps(fake), json.dumps(fake, indent=2), json.dumps(fake, sort_keys=True)])
        candidate = chance.choice([spelt, json.dumps([fake, 1e308]), json.dumps(json.dumps(fake)), f'{{"a": {spelt}}}'])
        prose = [
            "The answer says ",
            "{so}",
            "```json\n",
            "```",
            '"',
            "<think>",
            spelt[: chance.randrange(len(spelt))],
            "\n",
        ]
        reply = "-" + "".join(chance.choice([*prose, spelt, spelt]) for _ in range(chance.randrange(1, 7)))

        with pytest.raises(ContractError):
            read_reply(reply, FREEFORM, material=[f"Judge:\n{candidate}\n"])


@pytest.mark.parametrize("documents", times(500, 5_000))
def test_every_object_of_a_document_is_an_echo_wherever_it_stands_and_however_it_is_spelt(documents: int) -> None:
    chance = random.Random(5)
    for _ in range(documents):
        inner = {"score": chance.randrange(5), "k": chance.random()}
        value: object = inner
        quotes = 0
        for _ in range(chance.randrange(8)):
            quoting = quotes < MAX_QUOTING and chance.random() < 0.4
            quotes += quoting
            value = json.dumps(value) if quoting else chance.choice([{"a": value}, [value, 1], {"b": 0, "a": [value]}])

        echoes = Echoes([f"text {json.dumps(value)} text"])

        turned = dict(reversed(inner.items()))
        assert all(json.dumps(one, indent=indent) in echoes for one in (inner, turned) for indent in (None, 2))
