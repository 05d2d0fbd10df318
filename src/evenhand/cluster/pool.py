"""The cases of a run that are to be judged: who has which, and what becomes of those whose worker died.

Any of a dead worker's cases may have killed it. They are handed out again in smaller and smaller groups, each to a
worker that has nothing else; a case that was alone with two workers which died is the culprit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from evenhand.cluster.messages import Item
from evenhand.domain.evaluation import Status
from evenhand.domain.run import RunRecord
from evenhand.engine.concurrency_limit import is_refusal
from evenhand.engine.job import Job
from evenhand.engine.work import Work
from evenhand.store.rows import answer_row, case_content, dumps
from evenhand.store.store import Store

# Into so many groups the cases of a dead worker are divided.
_GROUPS: Final = 8
_MOST_DEATHS: Final = 2

Owner = TypeVar("Owner", bound=Hashable)


@dataclass(slots=True)
class Held:
    """A sample of a case that is to be judged, or being judged: what is left to do, and how many workers it killed."""

    number: int
    case: tuple[int, str, int, str]
    sample: int
    todo: dict[int, int]
    made: str | None = None
    deaths: int = 0

    def item(self) -> Item:
        """Return it as a worker gets it."""
        return Item(self.number, self.case, self.sample, tuple(self.todo.items()), self.made)


@dataclass(slots=True)
class _Hold:
    held: dict[int, Held] = field(default_factory=dict)
    is_alone: bool = False


class Pool(Generic[Owner]):
    """Hands out samples of cases, and takes note of what is done. ``source`` yields those nobody had yet.

    Of the ``samples`` that are unfinished, a worker may queue no more than its share: the last ones of a run would
    else wait behind others at one worker while the rest, or one that begins late, have nothing to do. What it can
    judge at once, in its ``places``, it always gets, so that nothing waits for a worker that never begins.
    """

    def __init__(self, source: Iterator[Held], *, repeat: int, samples: int, workers: int, places: int) -> None:
        self._source = source
        self._repeat = repeat
        self._unfinished = samples
        self._workers = workers
        self._places = places
        self._is_read = False
        self._again: deque[Held] = deque()
        self._suspects: deque[list[Held]] = deque()
        self._holds: dict[Owner, _Hold] = {}
        # Set when there may be something to do, or nothing more.
        self.changed = asyncio.Event()

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be done, and nobody has anything that could come back."""
        return self._is_read and not self._again and not self._suspects and not any(map(self.has, self._holds))

    def has(self, owner: Owner) -> bool:
        """Return whether a worker has something to do."""
        hold = self._holds.get(owner)
        return hold is not None and bool(hold.held)

    def take(self, owner: Owner, wanted: int) -> list[Item]:
        """Hand out some samples to a worker: suspects only to one that has nothing else."""
        hold = self._holds.setdefault(owner, _Hold())
        if hold.held and (hold.is_alone or self._suspects):
            return []
        hold.is_alone = bool(self._suspects)
        if hold.is_alone:
            taken = self._suspects.popleft()
        else:
            share = max(-(-self._unfinished // self._workers), self._places)
            wanted = max(min(wanted, share - len(hold.held)), 0)
            taken = [self._again.popleft() for _ in range(min(wanted, len(self._again)))]
            while len(taken) < wanted and not self._is_read:
                if (held := next(self._source, None)) is None:
                    self._is_read = True
                else:
                    taken.append(held)
        hold.held.update((held.number, held) for held in taken)
        return [held.item() for held in taken]

    def held_of(self, owner: Owner, position: int, sample: int) -> Held | None:
        """Return the sample that a row of a worker is about."""
        return self._holds[owner].held.get(position * self._repeat + sample)

    def end(self, owner: Owner, numbers: Iterable[int]) -> None:
        """Take back samples; what is left to do of one is handed out again."""
        hold = self._holds[owner]
        for number in numbers:
            held = hold.held.pop(number, None)
            if held is not None and held.todo:
                self._again.append(held)
            elif held is not None:
                self._unfinished -= 1
        self.changed.set()

    def lose(self, owner: Owner) -> Held | None:
        """Take back everything from a worker that died; return the sample that killed two of them, if it did."""
        hold = self._holds.pop(owner, _Hold())
        lost = list(hold.held.values())
        self.changed.set()
        if len(lost) == 1 and hold.is_alone:
            lost[0].deaths += 1
            if lost[0].deaths >= _MOST_DEATHS:
                self._unfinished -= 1
                return lost[0]
        size = -(-len(lost) // _GROUPS)
        self._suspects.extend(lost[start : start + size] for start in range(0, len(lost), size or 1))
        return None


def stored_items(
    store: Store, run: RunRecord, job: Job, *, first: int, resuming: bool, retry_errors: bool
) -> Iterator[Held]:
    """Yield the samples of cases about which something is to be done, as the store has them."""
    for page in store.case_rows(run, first=first):
        start, end = page[0][0], page[-1][0]
        judged = store.judged(run, start, end) if resuming else {}
        answered = {} if job.target is None else store.answered(run, start, end)
        for row in page:
            position, _, expected, _ = row
            for sample in range(run.repeat):
                todo: dict[int, int] = {}
                for place in range(expected):
                    latest = judged.get((position, place, sample))
                    if latest is None:
                        todo[place] = 0
                    elif latest[1] == Status.ERROR and (retry_errors or is_refusal(latest[2])):
                        todo[place] = latest[0] + 1
                if todo:
                    rounds = answered.get((position, sample))
                    made = answer_row(run.number, position, rounds[-1])[-1] if rounds else None
                    yield Held(position * run.repeat + sample, tuple(row), sample, todo, made)


def made_items(run: RunRecord, work: Iterable[Work]) -> Iterator[Held]:
    """Yield what is to be done in the order in which a run without workers would do it."""
    for planned, sample, todo, made in work:
        row: tuple[Any, ...] = (planned.position, planned.hash, planned.expected, dumps(case_content(planned)))
        content = None if made is None else answer_row(run.number, planned.position, made)[-1]
        rounds = {task.place: task.round for task in todo}
        yield Held(planned.position * run.repeat + sample, row, sample, rounds, content)
