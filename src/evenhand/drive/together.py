"""Several step generators as one, their questions asked side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from evenhand.domain.ask import Answer, Steps, Want

Outcome = TypeVar("Outcome")


def together(members: Sequence[Steps[Outcome]]) -> Steps[tuple[Outcome, ...]]:
    """Run step generators side by side: each round asks what all of them want next.

    An exception in one closes the others and goes on to the caller.
    """
    if len(members) == 1:  # by far the most frequent case, and worth its two lines
        return ((yield from members[0]),)
    outcomes: dict[int, Outcome] = {}
    answers: dict[int, tuple[Answer, ...] | None] = dict.fromkeys(range(len(members)))
    try:
        while answers:
            wants: dict[int, tuple[Want, ...]] = {}
            for number, sent in answers.items():
                try:
                    # send(None) starts a generator, as next() would.
                    wants[number] = members[number].send(cast("tuple[Answer, ...]", sent))
                except StopIteration as stop:
                    outcomes[number] = stop.value
            answers = {}
            if wants:
                got = iter((yield tuple(want for asked in wants.values() for want in asked)))
                answers = {number: tuple(next(got) for _ in asked) for number, asked in wants.items()}
    finally:
        for member in members:
            member.close()
    return tuple(outcomes[number] for number in range(len(members)))
