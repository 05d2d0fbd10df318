"""What a run is to do, wherever it comes from: a suite file, a stored run, or the library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from evenhand.domain.ask import Evaluator
from evenhand.domain.early_decision import UNTIL_DECIDED, UntilDecided
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import BATCH, NOT_A_LABEL, TAGS, PlannedCase, RunRecord, is_label, tags_of
from evenhand.domain.scale import is_finite_number
from evenhand.engine.budget import Limits
from evenhand.models.prices import PriceBook

if TYPE_CHECKING:
    from evenhand.engine.targets.base import Target
    from evenhand.store.store import Store

DEFAULT_CONCURRENCY: Final = 32
# How many evaluations may wait for batches at once.
DEFAULT_BATCH_EVALUATIONS: Final = 8_000
DEFAULT_OUTAGE_SECONDS: Final = 600.0
DEFAULT_CONSECUTIVE_ERRORS: Final = 20


class Following(Protocol):
    """What a run does when all its cases are judged: more of them, which depend on what was found, or nothing."""

    def total(self, store: Store, run: RunRecord) -> int:
        """Return how many evaluations the run will have in the end."""
        ...

    def cases(self, store: Store, run: RunRecord) -> Iterable[PlannedCase]:
        """Return the next cases, by what the store has and nothing else, so that an interrupted run goes on alike."""
        ...


EvaluatorsFor: TypeAlias = Callable[[PlannedCase], Sequence[Evaluator]]
Rebuild: TypeAlias = Callable[[Mapping[str, Any], str | None], EvaluatorsFor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The cases, who judges them, and who answers them if they have no answers yet.

    ``cases`` gives them anew each time it is called. ``definition`` is what is stored of all this, without secrets.
    Where several targets answer, ``assign`` gives each case that the run takes to every one of them. Programs and
    functions are found beside ``source``, or beside ``suite`` where the cases are not from a suite. ``rebuild`` is a
    function of a module: it makes ``evaluators_for`` from the definition and the suite's file in another process, where
    a suite's definition would not do.
    """

    name: str
    definition: Mapping[str, Any]
    cases: Callable[[], Iterable[PlannedCase]]
    evaluators_for: EvaluatorsFor
    source: str | None = None
    target: Target | None = None
    assign: Callable[[PlannedCase], Iterable[PlannedCase]] | None = None
    prices: PriceBook = field(default_factory=PriceBook)
    timeout: float | None = None
    following: Following | None = None
    suite: str | None = None
    rebuild: Rebuild | None = None

    @property
    def file(self) -> str | None:
        """The suite's file, beside which programs and functions are found."""
        return self.suite or self.source

    @property
    def folder(self) -> Path | None:
        """The folder of the programs and functions."""
        return None if self.file is None else Path(self.file).absolute().parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which of the cases a run takes, and how often: this belongs to the run and is stored with it.

    ``only`` are ids or patterns such as ``refund-*``; ``limit`` is how many of them at most; ``answers_from`` is the
    id of a run whose answers are judged instead of new ones. ``label`` is what the user calls the run, and
    ``tags`` are those by which lists of runs are filtered. With ``until_decided``, the run stops when its gates are
    decided. With ``batch``, it asks in batches, and does so again when it is resumed.
    """

    only: tuple[str, ...] = ()
    limit: int | None = None
    repeat: int = 1
    answers_from: str | None = None
    label: str | None = None
    tags: tuple[str, ...] = ()
    until_decided: UntilDecided | None = None
    batch: bool = False

    def __post_init__(self) -> None:
        for name, value in (("limit", self.limit), ("repeat", self.repeat)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ConfigError(f"{name} is {value!r:.80}; it must be a whole number, 1 or more")
        if self.label is not None and not is_label(self.label):
            raise ConfigError(f"label is {self.label!r:.80}; {NOT_A_LABEL}")
        tags_of(self.tags)

    def as_dict(self) -> dict[str, Any]:
        """Return the scope as plain JSON values."""
        scope: dict[str, Any] = {"only": list(self.only), "limit": self.limit, "answers_from": self.answers_from}
        named: dict[str, Any] = {} if self.label is None else {"label": self.label}
        named |= {} if self.until_decided is None else {UNTIL_DECIDED: self.until_decided.as_dict()}
        named |= {BATCH: True} if self.batch else {}
        return scope | named | ({TAGS: list(tags_of(self.tags))} if self.tags else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How this process works on a run: its concurrency, its limits, and whether it uses the cache.

    With a ``slow_start``, an account is asked few questions at first, and more while it answers.
    ``drain_seconds`` is how long pending requests may take after an interrupt, ``outage_timeout`` how many seconds the
    run waits for a provider that has stopped answering before it stops. ``max_consecutive_errors`` is how many errors
    of one kind an evaluator may have that has scored nothing; 0 means any number. With ``batch``, everything is asked
    in batches, and ``concurrency`` is how many evaluations may wait for these at once.
    """

    concurrency: int = DEFAULT_CONCURRENCY
    slow_start: bool = True
    limits: Limits = field(default_factory=Limits)
    use_cache: bool = True
    retry_errors: bool = False
    drain_seconds: float = 10.0
    outage_timeout: float = DEFAULT_OUTAGE_SECONDS
    max_consecutive_errors: int = DEFAULT_CONSECUTIVE_ERRORS
    batch: bool = False

    @classmethod
    def of(
        cls,
        *,
        concurrency: int | None = None,
        max_calls: int | None = None,
        max_cost: float | None = None,
        use_cache: bool = True,
        retry_errors: bool = False,
        outage_timeout: float | None = None,
        max_consecutive_errors: int | None = None,
        batch: bool = False,
    ) -> Pace:
        """Return the pace that options ask for; None stands for the default.

        >>> Pace.of(max_calls=10).concurrency
        32
        """
        usual = DEFAULT_BATCH_EVALUATIONS if batch else DEFAULT_CONCURRENCY
        return cls(
            concurrency=usual if concurrency is None else concurrency,
            slow_start=concurrency is None,
            limits=Limits(max_calls=max_calls, max_cost=max_cost),
            use_cache=use_cache,
            retry_errors=retry_errors,
            outage_timeout=DEFAULT_OUTAGE_SECONDS if outage_timeout is None else outage_timeout,
            max_consecutive_errors=(
                DEFAULT_CONSECUTIVE_ERRORS if max_consecutive_errors is None else max_consecutive_errors
            ),
            batch=batch,
        )

    @property
    def one_by_one(self) -> Pace:
        """The pace at which the rest of a run is asked without batches."""
        return replace(self, batch=False, concurrency=DEFAULT_CONCURRENCY) if self.batch else self

    def __post_init__(self) -> None:
        if not is_finite_number(self.outage_timeout) or self.outage_timeout < 0:
            raise ConfigError(
                f"outage_timeout is {self.outage_timeout!r:.80}; it must be a number of seconds, 0 or more"
            )
        for name, least in (("concurrency", 1), ("max_consecutive_errors", 0)):
            most = getattr(self, name)
            if isinstance(most, bool) or not isinstance(most, int) or most < least:
                raise ConfigError(f"{name} is {most!r:.80}; it must be a whole number, {least} or more")
