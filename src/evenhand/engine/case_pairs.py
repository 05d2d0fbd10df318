"""The cases of two runs, brought together by their ids; memory stays flat in whatever order they are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, TypeVar

from evenhand.reports.paired_cases import JudgedCase

# So many cases of a run wait for the other run to come to them; when there are more, the others are looked up.
MOST_WAITING: Final = 10_000
_AT_ONCE: Final = 500

Pair: TypeAlias = tuple[JudgedCase | None, JudgedCase | None]
_Found = TypeVar("_Found")


class CaseSource(NamedTuple):
    """The cases of a run in their order; and by their ids, where the ids under which they are paired are their own.

    ``total`` returns how many there are, where that is certain without reading them.
    """

    cases: Iterable[JudgedCase]
    by_id: Callable[[Sequence[str]], Mapping[str, JudgedCase]] | None = None
    total: Callable[[], int | None] = lambda: None


def joined(a: CaseSource, b: CaseSource) -> Iterator[Pair]:
    """Bring together the cases of two runs; those that only one of them has come by themselves."""
    cases_a, cases_b = iter(a.cases), iter(b.cases)
    waiting_a: dict[str, JudgedCase] = {}
    waiting_b: dict[str, JudgedCase] = {}
    pairs = 0
    for case_a, case_b in itertools.zip_longest(cases_a, cases_b):
        if case_a is not None and case_b is not None and case_a.id == case_b.id:
            pairs += 1
            yield case_a, case_b
            continue
        if case_a is not None:
            if (met := waiting_b.pop(case_a.id, None)) is not None:
                pairs += 1
                yield case_a, met
            else:
                waiting_a[case_a.id] = case_a.settled()
        if case_b is not None:
            if (met := waiting_a.pop(case_b.id, None)) is not None:
                pairs += 1
                yield met, case_b
            else:
                waiting_b[case_b.id] = case_b.settled()
        if max(len(waiting_a), len(waiting_b)) > MOST_WAITING and a.by_id is not None and b.by_id is not None:
            # What waits in A, or comes later, has its counterpart among what waits in B, or comes later, if anywhere.
            rest_a = itertools.chain(waiting_a.values(), cases_a)
            rest_b = itertools.chain(waiting_b.values(), cases_b)
            for case, met in _looked_up(rest_a, b.by_id):
                pairs += met is not None
                yield case, met
            if pairs == b.total():  # each has met its counterpart
                return
            yield from ((None, case) for case, met in _looked_up(rest_b, a.by_id) if met is None)
            return
    yield from ((case, None) for case in waiting_a.values())
    yield from ((None, case) for case in waiting_b.values())


def _looked_up(
    cases: Iterable[JudgedCase], by_id: Callable[[Sequence[str]], Mapping[str, JudgedCase]]
) -> Iterator[tuple[JudgedCase, JudgedCase | None]]:
    rest = iter(cases)
    while some := list(itertools.islice(rest, _AT_ONCE)):
        found = by_id([case.id for case in some])
        yield from ((case, found.get(case.id)) for case in some)


def met(a: Iterable[tuple[str, _Found]], b: Iterable[tuple[str, _Found]]) -> Iterator[tuple[_Found, _Found]]:
    """Yield what both runs have of a case, by its id; what is elsewhere in the other run waits for it.

    >>> list(met([("x", 1), ("y", 2), ("z", 3)], [("x", 4), ("z", 5)]))
    [(1, 4), (3, 5)]
    """
    waiting_a: dict[str, _Found] = {}
    waiting_b: dict[str, _Found] = {}
    for ours, theirs in itertools.zip_longest(a, b):
        if ours is not None and theirs is not None and ours[0] == theirs[0]:
            yield ours[1], theirs[1]
            continue
        if ours is not None:
            if ours[0] in waiting_b:
                yield ours[1], waiting_b.pop(ours[0])
            else:
                waiting_a[ours[0]] = ours[1]
        if theirs is not None:
            if theirs[0] in waiting_a:
                yield waiting_a.pop(theirs[0]), theirs[1]
            else:
                waiting_b[theirs[0]] = theirs[1]
