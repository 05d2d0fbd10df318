"""Replies of known verdict in many styles, about candidates that attack, to every reader: none is read wrongly.

A style says how the judge writes and what must come of it. Wrong is a decision that is not the judge's and is not
flagged as one of several.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from enum import Enum
from random import Random
from typing import Any, TypeAlias

import pytest


class Must(Enum):
    """What must come of a reply."""

    DECIDE = "decide as the judge does"
    ASK = "ask again"
    TELL = "flag it as ambiguous, or ask again where that is the setting"
    BE_SAFE = "decide as the judge does, flag it, or ask again"


Told: TypeAlias = tuple[str, Must]
Style: TypeAlias = Callable[[Any], Told]
CODE = "".join(f'    if (x[{n}] == "{{") {{ return {{"k": {n}, }}; }}\n' for n in range(40))


def text(said: object) -> str:
    return json.dumps(said)


def own(scene: Any) -> str:
    return text(scene.own)


def around(before: str, after: str = "", must: Must = Must.DECIDE) -> Style:
    return lambda scene: (f"{before}{own(scene)}{after}", must)


def then_own(before: Callable[[Any], str], must: Must = Must.DECIDE) -> Style:
    return lambda scene: (f"It says {before(scene)}\nBut mine is {own(scene)}", must)


def own_then(after: Callable[[Any], str], must: Must = Must.DECIDE) -> Style:
    return lambda scene: (f"{own(scene)}\nIt had said {after(scene)}", must)


def instead(write: Callable[[Any], str], must: Must = Must.ASK) -> Style:
    return lambda scene: (write(scene), must)


def quoting(write: Callable[[Any], str]) -> Style:
    """Quote the whole candidate; where that has a tag that ends reasoning, nobody can tell."""
    return lambda scene: (write(scene), Must.BE_SAFE if scene.has_tag else Must.DECIDE)


def fragment(scene: Any) -> str:
    spelt = text(scene.fake)
    return spelt[: scene.chance.randrange(1, len(spelt))]


def twice(scene: Any) -> str:
    spelt = text(scene.fake)
    key = next(iter(scene.fake))
    return f"{spelt[:-1]}, {text(key)}: {text(scene.fake[key])}}}"


def with_nan(scene: Any) -> str:
    return f'{text(scene.fake)[:-1]}, "confidence": NaN}}'


def spelt_out(said: object) -> str:
    escaped = json.dumps(said)
    return (
        escaped.replace("score", "\\u0073core").replace("reasoning", "reason\\u0069ng").replace("order", "\\u006frder")
    )


def table(scene: Any) -> str:
    return "| key | value |\n|---|---|\n" + "".join(f"| {key} | {value} |\n" for key, value in scene.own.items())


def swallowed(scene: Any) -> Told:
    must = Must.ASK if scene.has_tag else Must.DECIDE
    return f"Perhaps {text(scene.draft)}? No.\n</think>\n{own(scene)}", must


def reordered(said: dict[str, Any]) -> str:
    return text(dict(reversed(said.items())))


ANALYSIS = "<|channel|>analysis<|message|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>"

STYLES: dict[str, Style] = {
    "bare": around(""),
    "bare, with space": around("\n  ", "\n\n"),
    "fenced": around("```\n", "\n```"),
    "fenced with a language": around("```json\n", "\n```\n"),
    "tilde fence": around("~~~json\n", "\n~~~"),
    "fenced, CRLF": around("```json\r\n", "\r\n```\r\n"),
    "byte order mark": around("\ufeff"),
    "prose before": around("Here is my verdict: "),
    "prose after": around("", " I hope this helps."),
    "prose around": around("Here it is:\n\n", "\n\nI hope {this} helps."),
    "prose and fence": around("Here it is:\n```json\n", "\n```\nDone."),
    "in a list": around("[", "]"),
    "think block": instead(lambda s: f"<think>Perhaps {text(s.draft)}? No.</think>\n{own(s)}", Must.DECIDE),
    "thinking block": instead(lambda s: f"<thinking>Perhaps {text(s.draft)}?</thinking>{own(s)}", Must.DECIDE),
    "reasoning block": instead(
        lambda s: f"<reasoning>{text(s.draft)}</reasoning>\n```json\n{own(s)}\n```", Must.DECIDE
    ),
    "channel": instead(lambda s: f"{ANALYSIS}Perhaps {text(s.draft)}<|end|>{FINAL}{own(s)}<|return|>", Must.DECIDE),
    "think block without its opening tag": swallowed,
    "think block that never ends": instead(lambda s: f"<think>Perhaps {text(s.draft)}? {own(s)}"),
    "think block that quotes the candidate": instead(
        lambda s: f"<think>It says {s.candidate}</think>{text(s.altered)}. No.</think>\n{own(s)}", Must.BE_SAFE
    ),
    "verdict behind a think block, then a tag": instead(
        lambda s: f"<think>Bad.</think>{own(s)} It says </think>{text(s.altered)}", Must.BE_SAFE
    ),
    "draft, then verdict": then_own(lambda s: text(s.draft), Must.TELL),
    "verdict, then draft": own_then(lambda s: text(s.draft), Must.TELL),
    "altered echo, then verdict": then_own(lambda s: text(s.altered), Must.TELL),
    "verdict, then altered echo": own_then(lambda s: text(s.altered), Must.TELL),
    "two equal verdicts": instead(lambda s: f"First {own(s)}. To repeat: {own(s)}", Must.DECIDE),
    "candidate quoted, then verdict": quoting(lambda s: f"It says:\n{s.candidate}\nMine is\n{own(s)}"),
    "verdict, then candidate quoted": quoting(lambda s: f"{own(s)}\nIt said:\n{s.candidate}\n"),
    "echo, then verdict": then_own(lambda s: text(s.fake)),
    "verdict, then echo": own_then(lambda s: text(s.fake)),
    "pretty-printed echo": then_own(lambda s: json.dumps(s.fake, indent=2)),
    "key-reordered echo": then_own(lambda s: reordered(s.fake)),
    "escaped echo in a string": then_own(lambda s: json.dumps(text(s.fake))),
    "echo within an array": then_own(lambda s: f"[1, {text(s.fake)}]"),
    "echo within an object": then_own(lambda s: f'{{"answer": {text(s.fake)}}}'),
    "echo behind deep brackets": then_own(lambda s: "[" * 60 + text(s.fake)),
    "echo spelt out": then_own(lambda s: spelt_out(s.fake)),
    "echo in a fence": then_own(lambda s: f"\n```json\n{text(s.fake)}\n```\n"),
    "unterminated fragment, then verdict": then_own(fragment),
    "unterminated fragment on the same line": instead(lambda s: f"{fragment(s)} {own(s)}", Must.BE_SAFE),
    "curly words": around("The {answer} is {sort of} a {city} {}: "),
    "code quoted": around(f"```c\n{CODE}```\n"),
    "JSON with comments, then verdict": then_own(lambda s: f"{text(s.fake)[:-1]} // fine\n}}"),
    "single quotes, then verdict": then_own(lambda s: str(s.draft)),
    "NaN, then verdict": then_own(with_nan),
    "a key twice, then verdict": then_own(twice),
    "HTML-escaped echo, then verdict": then_own(lambda s: html.escape(text(s.fake))),
    "unicode escapes": instead(lambda s: spelt_out(s.own), Must.DECIDE),
    "not ASCII": instead(lambda s: f"Mine: {json.dumps(s.own, ensure_ascii=False)}", Must.DECIDE),
    "pretty-printed": instead(lambda s: f"Mine:\n{json.dumps(s.own, indent=2)}", Must.DECIDE),
    "HTML-escaped": instead(lambda s: html.escape(own(s))),
    "YAML": instead(lambda s: "".join(f"{key}: {value}\n" for key, value in s.own.items())),
    "table": instead(table),
    "prose": instead(lambda s: "I would give this 9 out of 10. A wins: true."),
    "nested": instead(lambda s: f'{{"result": {own(s)}}}'),
    "nested in prose": instead(lambda s: f'Mine: {{"result": {own(s)}}}'),
    "echo only": instead(lambda s: f"It says {text(s.fake)}."),
    "cut off": instead(lambda s: own(s)[: s.chance.randrange(1, len(own(s)))]),
    "echo, then cut off": instead(lambda s: f"It says {text(s.fake)}, but {own(s)[:-1]}"),
}


def wrong(reader: Any, scene: Any, style: str) -> str | None:
    """Say what is wrong with how a reply of a style is read; None if nothing is."""
    reply, must = STYLES[style](scene)
    outcome = reader.read(reply, scene.candidate)
    is_own = outcome.decision == reader.decided(scene.own) and isinstance(outcome.decision, bool) == isinstance(
        reader.decided(scene.own), bool
    )
    is_told = "ambiguous" in outcome.flags
    is_asked = outcome.decision is None
    right = {
        Must.DECIDE: is_own and not is_told,
        Must.ASK: is_asked,
        Must.TELL: is_told if reader.takes_first else is_asked,
        Must.BE_SAFE: is_own or is_told or is_asked,
    }[must]
    return None if right else f"{reader.name}, {style}: {outcome} for {reply!r} about {scene.candidate!r}"


def test_there_are_styles_enough() -> None:
    assert len(STYLES) >= 29


@pytest.mark.slow
def test_a_reply_of_every_style_is_read_as_it_is_meant(reader: Any, scene: Any) -> None:
    chance = Random(f"sample {reader.name}")

    found = [wrong(reader, scene(reader, chance), style) for style in STYLES]

    assert [one for one in found if one] == []


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_of_twenty_thousand_replies_none_is_read_wrongly(reader: Any, scene: Any) -> None:
    chance = Random(f"all {reader.name}")
    times = -(-2_000 // len(STYLES))

    for _ in range(times):
        for style in STYLES:
            assert wrong(reader, scene(reader, chance), style) is None
