"""A run: what was to be judged, by what, and what came of it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, NamedTuple

from evenhand.domain.aggregate import CaseScore, Weighed, case_score
from evenhand.domain.case import Case
from evenhand.domain.context import ContextDocument, documents_of
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Attempt, Evaluation, Status, Usage
from evenhand.domain.message import Message
from evenhand.domain.notebook import ShownInNotebooks
from evenhand.domain.rubric import exact
from evenhand.domain.verdict import Thresholds, Verdict, median_verdict

# The key of a definition that says which tool recorded the results, and in which file.
IMPORTED_FROM: Final = "imported_from"
MOST_LABEL: Final = 200


def is_label(value: object) -> bool:
    r"""Return whether a value can be the label of a run: a line of text that shows something.

    >>> is_label("shorter prompt"), is_label(" "), is_label("a\nb")
    (True, False, False)
    """
    return isinstance(value, str) and bool(value.strip()) and value.isprintable() and len(value) <= MOST_LABEL


NOT_A_LABEL: Final = f"it must be a line of 1 to {MOST_LABEL} characters"


# The option of a run that asks in batches.
BATCH: Final = "batch"
# The option of a run that has its tags.
TAGS: Final = "tags"
MOST_TAGS: Final = 20
MOST_TAG: Final = 40


def is_tag(value: object) -> bool:
    """Return whether a value can be a tag of a run: a few words without a comma, which separates tags.

    >>> is_tag("release 1.2"), is_tag("a, b"), is_tag(" ")
    (True, False, False)
    """
    return (
        isinstance(value, str)
        and bool(value.strip())
        and value.isprintable()
        and "," not in value
        and len(value) <= MOST_TAG
    )


NOT_A_TAG: Final = f"a tag must be 1 to {MOST_TAG} characters on one line, without a comma"


def tags_of(given: Iterable[str]) -> tuple[str, ...]:
    """Return the tags of a run by name, each once; what cannot be tags is refused.

    >>> tags_of(["release", " nightly ", "release"])
    ('nightly', 'release')
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError(f"tags is {given!r:.80}; it must be a list of tags, such as ['release']", key=TAGS)
    tags = [tag.strip() if isinstance(tag, str) else tag for tag in given]
    for tag in tags:
        if not is_tag(tag):
            raise ConfigError(f"tag is {tag!r:.80}; {NOT_A_TAG}", key=TAGS)
    found = tuple(sorted(set(tags)))
    if len(found) > MOST_TAGS:
        raise ConfigError(f"a run has at most {MOST_TAGS} tags, and these are {len(found)}; remove some", key=TAGS)
    return found


class RunStatus(StrEnum):
    """How far a run has come. All but ``finished`` can be resumed."""

    PLANNING = "planning"
    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What the store knows of a run as a whole.

    ``definition`` is what the user defined, without secrets: ``judge``, ``target``, ``evaluators``, ``thresholds``,
    ``gates`` …; ``options`` are those of the command. ``reason`` says why a run stopped. ``cases`` is how many there
    are, ``repeat`` how often each is judged. ``abandoned_calls`` were made for evaluations that the run gave up when it
    stopped, or to find out whether a provider answers, so that they are in none; ``abandoned_cost`` is theirs, None
    where it is unknown. Times are seconds since 1970. ``evaluations`` and ``answers`` are how many rows a finished run
    has, of all rounds, None where that was not counted; ``covered`` says that all of its rows have checksums.
    """

    number: int
    id: str
    name: str
    status: RunStatus
    reason: str = ""
    source: str | None = None
    definition: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    cases: int = 0
    repeat: int = 1
    forked_from: str | None = None
    version: str = ""
    created: float = 0.0
    finished: float | None = None
    abandoned_calls: int = 0
    abandoned_cost: float | None = 0.0
    evaluations: int | None = None
    answers: int | None = None
    covered: bool = False

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds for the verdict on a whole case."""
        return Thresholds.of(self.definition.get("thresholds"))

    @property
    def label(self) -> str:
        """What the user calls the run; empty without a label."""
        label = self.options.get("label")
        return label if isinstance(label, str) else ""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the run, by which lists of runs are filtered."""
        tags = self.options.get(TAGS)
        return tuple(tag for tag in tags if is_tag(tag)) if isinstance(tags, (list, tuple)) else ()

    @property
    def origin(self) -> str:
        """The tool and the file that recorded the results, where another tool did; empty for a run of Evenhand."""
        origin = self.definition.get(IMPORTED_FROM)
        if not isinstance(origin, Mapping):
            return ""
        tool = " ".join(str(origin[key]) for key in ("tool", "version") if origin.get(key))
        return ", ".join(str(part) for part in (tool or "another tool", origin.get("file"), origin.get("date")) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAnswer:
    """An answer that the target made for a case, and what it took; ``text`` is None when it failed.

    ``messages`` are those of a target that reports its whole conversation, and ``context`` is what it found to base the
    answer on: None where it says nothing of that, empty where it found nothing. ``metadata`` and ``more``, which are
    keys that nobody knows, are kept and shown to no judge. ``sample`` and ``round`` are as in ``Judgment``.
    """

    text: str | None
    error: str | None = None
    attempts: tuple[Attempt, ...] = ()
    latency: float | None = None
    usage: Usage | None = None
    cost: float | None = None
    messages: tuple[Message, ...] = ()
    sample: int = 0
    round: int = 0
    context: str | tuple[ContextDocument, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def documents(self) -> tuple[ContextDocument, ...]:
        """The context that came with the answer, as documents."""
        return documents_of(self.context)

    def put_into(self, case: Case) -> Case:
        """Return the case with this answer in it, what it was based on, and what making it took."""
        return replace(
            case,
            candidate_answer=self.text,
            output_messages=self.messages,
            latency=self.latency,
            cost=self.cost,
            context=case.context if self.context is None else self.context or None,
        )


# This and ``PlannedCase`` are tuples: they are made for every case, and a frozen dataclass takes twice as long.
class Judgment(NamedTuple):
    """An evaluation as a run keeps it.

    ``sample`` numbers the repeats, ``round`` how often it was done anew after an error: the last round counts.
    ``key`` is its identity: the hash of case, evaluator, judge, prompt and sample. ``cost`` is in dollars, None where
    a price is unknown; replies from the cache cost nothing.
    """

    evaluation: Evaluation
    weight: float = 1.0
    required: bool = False
    sample: int = 0
    round: int = 0
    key: str = ""
    cost: float | None = None
    seconds: float = 0.0


class PlannedCase(NamedTuple):
    """A case of a run, with its place, and the evaluators it brings itself (None: those of the run).

    ``line`` is its line in its file. ``hash`` is of its content, and ``expected`` how many evaluators judge it;
    both are worked out when the run is planned.
    """

    position: int
    case: Case
    evaluators: tuple[Mapping[str, Any], ...] | None = None
    line: int | None = None
    hash: str = ""
    expected: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult(ShownInNotebooks):
    """A case with everything that was found about it; ``judgments`` are the ones that count, by sample and evaluator.

    ``replaced`` is what was done anew since, after an error: it does not count, and it took its calls and its cost.
    ``awaited`` is how many judgments are still to be made: 0 in a run that has finished.
    """

    position: int
    case: Case
    answers: tuple[MadeAnswer, ...] = ()
    judgments: tuple[Judgment, ...] = ()
    replaced: tuple[Judgment | MadeAnswer, ...] = ()
    awaited: int = 0
    thresholds: Thresholds = field(default_factory=Thresholds)

    @property
    def id(self) -> str:
        """The id of the case."""
        return self.case.id or f"case-{self.position + 1}"

    @property
    def by_sample(self) -> tuple[CaseScore, ...]:
        """The case's score in each sample (SPEC-O5)."""
        samples: dict[int, list[Weighed]] = {}
        for judgment in self.judgments:
            weighed = Weighed(evaluation=judgment.evaluation, weight=judgment.weight, required=judgment.required)
            samples.setdefault(judgment.sample, []).append(weighed)
        return tuple(case_score(samples[number], self.thresholds) for number in sorted(samples))

    @property
    def pending(self) -> bool:
        """Whether something is still to be judged, so that nothing is decided."""
        return self.awaited > 0

    @property
    def outcome(self) -> CaseScore:
        """What all samples together say of the case: the mean score and the median verdict of those that have one.

        It is an error only if none has.
        """
        return _combined(self.by_sample)

    @property
    def has_errors(self) -> bool:
        """Whether a sample ended in error: of several, the others may give the case a score all the same."""
        return any(sample.status is Status.ERROR for sample in self.by_sample)

    @property
    def cost(self) -> float | None:
        """What the case cost, in dollars; None where a price is unknown."""
        costs = [item.cost for item in (*self.judgments, *self.answers, *self.replaced)]
        return None if any(cost is None for cost in costs) else sum(cost for cost in costs if cost is not None)


def _combined(samples: tuple[CaseScore, ...]) -> CaseScore:
    if len(samples) == 1:
        return samples[0]
    evaluations = tuple(evaluation for sample in samples for evaluation in sample.evaluations)
    make = functools.partial(CaseScore, evaluations=evaluations)
    decided = [sample for sample in samples if sample.status is Status.SCORED]
    if not decided:
        if any(sample.status is Status.ERROR for sample in samples):
            return make(status=Status.ERROR, score=0.0, verdict=Verdict.FAIL)
        return make(status=Status.NOT_EVALUATED, score=None, verdict=None)
    scores = [exact(sample.score) for sample in decided if sample.score is not None]
    score = float(sum(scores, Fraction(0)) / len(scores)) if scores else None
    # A verdict does not follow from the score alone: a required evaluator fails a sample whatever the others say.
    verdict = median_verdict(sample.verdict for sample in decided if sample.verdict is not None)
    return make(status=Status.SCORED, score=score, verdict=verdict)
