"""Reasoning that a model writes before its reply: where it ends, and what to do when that is uncertain.

Some servers hand a model's reasoning over together with its reply: between tags, or in a channel of its own. It may
hold drafts and quotations, and is no part of the reply. Only a block at the very beginning is meant here.

The tag that ends it may be quoted too: a candidate may have it in its answer, so that the judge's quotation seems to
end the reasoning early, with a verdict of the candidate's behind it. So this is the rule:

* a tag within a whole JSON object ends nothing: there it is part of a string;
* if one tag is left, the reply begins behind it. Where the prompt has such a tag as well, it may be a quotation: the
  reply must then be a verdict and nothing else;
* if several are left, the reply begins behind one of them. It must be a verdict and nothing else from the last of them
  on, and whatever verdicts there are from the first on must be the same, else the reply is asked for again;
* some chat templates swallow the opening tag. A closing tag without one ends the reasoning too; but where it may be a
  quotation, the reply may as well begin at its beginning;
* reasoning that was begun and never ended is all there is: no reply.

All of it is linear: tags are searched for as fixed texts, and the scanner says itself why it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from evenhand.domain.errors import ContractError
from evenhand.evaluators.echoes import bare
from evenhand.evaluators.scanner import Scanner

REASONING_REMOVED: Final = "reasoning_removed"


class _Kind(NamedTuple):
    """How reasoning of a kind begins and what ends it; ``mark`` is that without what may be left out of it."""

    begins: tuple[str, ...]
    ends: re.Pattern[str]
    mark: str


def _between(opening: str, closing: str) -> _Kind:
    return _Kind((opening,), re.compile(re.escape(closing), re.IGNORECASE | re.ASCII), closing[1:-1])


_THINK: Final = _between("<think>", "</think>")
_KINDS: Final = (
    _THINK,
    *(_between(f"<{name}>", f"</{name}>") for name in ("thinking", "thought", "reasoning")),
    _between("[think]", "[/think]"),
    # A model with channels ("harmony") thinks in one of them, and replies in that which is called final.
    _Kind(
        ("<|channel|>", "<|start|>"),
        re.compile(r"<\|channel\|>final[^<]{0,64}(?:<\|constrain\|>[^<]{0,64})?<\|message\|>"),
        "<|channel|>",
    ),
)
_LONGEST_OPENING: Final = max(len(begin) for kind in _KINDS for begin in kind.begins)
# What such a model puts behind its reply.
_ENDINGS: Final = ("<|return|>", "<|end|>")


class Parts(NamedTuple):
    """Where a reply may begin behind its reasoning, from the first such place to the last, and where it ends.

    ``alone`` says that it must be a verdict and nothing else, since its beginning may be a quotation.
    """

    starts: tuple[int, ...]
    end: int
    alone: bool


def without_reasoning(text: str, material: Sequence[str]) -> Parts | None:
    """Return where the reply behind a leading block of reasoning begins and ends; None if there is no such block.

    ``material`` is what was in the prompt. Raises ``ContractError`` where the reasoning never ends.
    """
    begin = len(text) - len(text.lstrip())
    opening = text[begin : begin + _LONGEST_OPENING].lower()
    for kind in _KINDS:
        if opening.startswith(kind.begins):
            starts = _ends_outside_objects(text, kind)
            if not starts:
                raise ContractError("the reply is all reasoning, which never ends", kind="reasoning")
            return Parts(starts, _end(text), _is_quotable(kind, material))
    return _without_opening(text, material) if "</think>" in text else None


def _without_opening(text: str, material: Sequence[str]) -> Parts | None:
    opened = text.find("<think>")
    if 0 <= opened < text.find("</think>"):  # a block in the middle of a reply is part of it
        return None
    starts = _ends_outside_objects(text, _THINK)
    if not starts:
        return None
    alone = _is_quotable(_THINK, material)
    return Parts((0, *starts) if alone or len(starts) > 1 else starts, len(text), alone)


def _end(text: str) -> int:
    end = len(text.rstrip())
    for ending in _ENDINGS:
        if text.endswith(ending, 0, end):
            return end - len(ending)
    return end


def _is_quotable(kind: _Kind, material: Iterable[str]) -> bool:
    # Escaped, or written with space in it, it is the same tag to a judge.
    return any(kind.mark in bare(text).lower() for text in material)


def _ends_outside_objects(text: str, kind: _Kind) -> tuple[int, ...]:
    """Return where the tags end that stand outside of whole JSON objects."""
    kept: list[int] = []
    spans = Scanner(text).spans()
    span = next(spans, None)
    for tag in kind.ends.finditer(text):
        while span is not None and span[1] <= tag.start():
            span = next(spans, None)
        if span is None or tag.start() < span[0]:
            kept.append(tag.end())
    return tuple(kept)
