"""What driver and workers say to each other: plain tuples, since thousands of them are sent.

The driver sends ``Orders``, and gets a ``Report`` when there is something to report. Nothing in them is secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from evenhand.drive.span_recorder import FinishedSpan
from evenhand.engine.breaker import Outage
from evenhand.engine.compact_sets import BloomFilter
from evenhand.engine.job import Rebuild
from evenhand.engine.question_costs import Question


class Traced(NamedTuple):
    """A run whose spans are wanted, by its id; and whether spans and events may have what models and users wrote."""

    run: str
    content_in_spans: bool
    content_in_events: bool


class LogLine(NamedTuple):
    """A record of a log: of which logger, how grave, when, and what it says, with the traceback if it has one."""

    name: str
    level: int
    created: float
    message: str
    trace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    """What a worker needs to know of a run: who judges and answers, and how many questions it may ask at once.

    ``source`` is the suite's file, and ``cwd`` the driver's folder, None where the suite's files were shipped, so that
    they are in the worker's own. ``rebuild`` makes the evaluators where a suite's definition would not do;
    ``variables`` are names that the worker's environment must have. ``is_limited`` says that calls are limited, so
    that they are lent, and ``limits_cost`` that dollars are, so that they are reserved for each question.
    """

    run: int
    definition: Mapping[str, Any]
    source: str | None
    rebuild: Rebuild | None = None
    variables: tuple[str, ...] = ()
    cwd: str | None
    has_target: bool
    timeout: float | None
    places: int
    slow_start: bool
    outage_timeout: float
    is_limited: bool
    limits_cost: bool
    remembered: BloomFilter | None
    # From which level on records of logs are wanted; and whether spans are.
    log_level: int
    traced: Traced | None = None


class Item(NamedTuple):
    """A sample of a case to be judged: its number, the row of the case, and each evaluator's place with its round.

    ``made`` is the content of the answer that the target gave before, if it did.
    """

    number: int
    case: tuple[int, str, int, str]
    sample: int
    todo: tuple[tuple[int, int], ...]
    made: str | None


@dataclass(slots=True, kw_only=True)
class Orders:
    """What a worker is to do next."""

    items: list[Item] = field(default_factory=list)
    # Rows of reports up to this number are committed.
    committed: int = 0
    # Why nothing more is asked, if so; and whether nothing more is begun.
    stop: str | None = None
    drain: bool = False
    # Find out about accounts that only ever refused: nothing more will be asked.
    settle: bool = False
    calls: int = 0
    # Give back calls that are not needed at once: others wait for them.
    recall: bool = False
    # Requests that the limits per minute let through now, by their number.
    let_through: list[int] = field(default_factory=list)
    # Questions for which what they may cost is reserved, by their number.
    reserved: list[int] = field(default_factory=list)
    replies: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    # Accounts whose provider is gone, as another worker found out, and those that are back.
    held: list[str] = field(default_factory=list)
    # Accounts that answered another worker: who does not answer any more is gone, and no case's error.
    answered: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)


class Spent(NamedTuple):
    """What a worker has used since it began: requests, faults, dollars, and what came from the cache."""

    calls: int = 0
    faults: int = 0
    cost: float = 0.0
    cost_is_known: bool = True
    cached: int = 0
    abandoned_calls: int = 0
    abandoned_cost: float | None = 0.0


NOTHING: Final = Spent()


class Request(NamedTuple):
    """A question that has limits per minute: its number, whose limits they are, and its tokens by estimate."""

    number: int
    account: str
    model: str
    rpm: float | None
    tpm: float | None
    tokens: float


class Settled(NamedTuple):
    """A question for which dollars were reserved: what it cost, if it was answered, or that nobody knows."""

    number: int
    cost: float | None = None
    is_lost: bool = False


@dataclass(slots=True, kw_only=True)
class Report:
    """What a worker has done since its last report."""

    number: int = 0
    answers: list[tuple[Any, ...]] = field(default_factory=list)
    evaluations: list[tuple[Any, ...]] = field(default_factory=list)
    replies: list[tuple[Any, ...]] = field(default_factory=list)
    # Of each evaluation: how often its judge was asked again, and whether a reply was from the cache.
    asked_again: list[tuple[int, bool]] = field(default_factory=list)
    # Items that are over, whether or not all of them could be done.
    ended: list[int] = field(default_factory=list)
    wanted: int = 0
    busy: int = 0
    spent: Spent = NOTHING
    calls_wanted: int = 0
    calls_returned: int = 0
    requests: list[Request] = field(default_factory=list)
    # Of requests that were let through: account, model, estimated and used tokens.
    used: list[tuple[str, str, float, float]] = field(default_factory=list)
    # Questions that wait for dollars, and what became of those that had them.
    questions: list[tuple[int, Question]] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    look_ups: list[str] = field(default_factory=list)
    outages: list[tuple[str, Outage]] = field(default_factory=list)
    stopped: str | None = None
    # Accounts that gave a reply.
    answered: list[str] = field(default_factory=list)
    # By account: what one said that never said anything else.
    refused: dict[str, str | None] = field(default_factory=dict)
    # The exception that ended the work, by its name and its words.
    crashed: tuple[str, str] | None = None
    # How many questions wait for a provider or its limits, and not for a processor.
    asking: int = 0
    logs: list[LogLine] = field(default_factory=list)
    # Of cases that are over.
    spans: list[FinishedSpan] = field(default_factory=list)
