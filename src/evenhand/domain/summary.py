"""The numbers of a run: each mean with how many it is over, and an error bar (SPEC-S7)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from evenhand.domain.notebook import ShownInNotebooks

Method: TypeAlias = Literal["post_stratified", "regression", "labels_only", "rogan_gladen", "unequal_chances"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval around an estimate; ``method`` is how it was found, such as ``wilson`` or ``t``."""

    low: float
    high: float
    method: str
    level: float = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """The rate, or the mean, that people would give to all cases, with its interval.

    ``labels`` is how many there are, and ``worth`` how many labels alone would give as narrow an interval; None where
    labels alone would say nothing. ``note`` says why only labels were used, or what else to know.
    """

    value: float
    interval: Interval
    method: Method
    labels: int
    worth: float | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedNumbers:
    """What people would say of all ``judged`` cases, from the judge's view of them and labels by people on some.

    ``labels`` cases have labels that count, given by ``raters``; ``basis`` says how they were chosen: ``drawn`` at
    random, with ``unequal`` chances, or ``not_drawn``. ``pass_rate`` and, where people gave scores, ``mean`` are None
    where the labels do not support them; then the problem says why, and what would help.
    """

    judged: int
    labels: int
    raters: tuple[str, ...] = ()
    basis: str
    pass_rate: Corrected | None = None
    pass_rate_problem: str = ""
    mean: Corrected | None = None
    mean_problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTally:
    """The answers to a set of cases, each of which was answered or judged several times (``repeat``).

    Of ``n`` answers, ``errors`` have no score, since a judge failed or, in ``target_errors`` of them, the target did.
    ``cases`` have a score by their other answers although one has an error, and ``failed`` of them fail.
    """

    n: int = 0
    errors: int = 0
    target_errors: int = 0
    not_evaluated: int = 0
    cases: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How a set of cases, or one evaluator's evaluations of them, came out.

    ``n`` is how many there are in all, ``pending`` how many of them are not done. The mean is over the scored ones;
    ``mean_if_errors_zero`` over the scored ones and the errors, these as 0. ``target_errors`` are those of the errors
    where no judge failed: the target gave no answer. ``failed_unscored`` are those of the failed that have no score,
    since a required evaluator failed them while the judge of another failed: they are in the pass rate, and in no mean.
    ``corrected`` is what people would say, where they have labelled some of the cases. ``answers`` has what became of
    each answer, where cases were judged several times: a case that has a score may have lost answers to errors.
    """

    n: int = 0
    scored: int = 0
    not_evaluated: int = 0
    errors: int = 0
    target_errors: int = 0
    pending: int = 0
    mean: float | None = None
    interval: Interval | None = None
    mean_if_errors_zero: float | None = None
    passed: int = 0
    borderline: int = 0
    failed: int = 0
    failed_unscored: int = 0
    pass_rate: float | None = None
    pass_rate_interval: Interval | None = None
    clusters: int | None = None
    corrected: CorrectedNumbers | None = None
    answers: AnswerTally | None = None

    @property
    def by_answer(self) -> AnswerTally:
        """What became of each answer; without repeats, a case has one."""
        return self.answers or AnswerTally(
            n=self.n - self.pending,
            errors=self.errors,
            target_errors=self.target_errors,
            not_evaluated=self.not_evaluated,
        )

    def scaled(self, highest: float) -> Tally:
        """Return the same with scores from 0 to ``highest``."""
        around = self.interval
        return replace(
            self,
            mean=None if self.mean is None else self.mean * highest,
            mean_if_errors_zero=None if self.mean_if_errors_zero is None else self.mean_if_errors_zero * highest,
            interval=around and replace(around, low=around.low * highest, high=around.high * highest),
        )

    @property
    def decided(self) -> int:
        """How many have a verdict, which the pass rate is over."""
        return self.scored + self.failed_unscored

    @property
    def pass_rate_bounds(self) -> tuple[float, float] | None:
        """The pass rate if none of the cases that ended in error had passed, and if all had; None without errors."""
        whole = self.decided + self.errors
        return (self.passed / whole, (self.passed + self.errors) / whole) if self.errors else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share or a chance, from 0 to 1; without an interval where there is too little to tell."""

    value: float
    interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOfK:
    """The chance that ``any`` of k samples of a case passes (pass@k), and that ``all`` do (pass^k).

    It is over the ``cases`` with so many verdicts.
    """

    k: int
    cases: int
    any: Rate
    all: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """How alike the samples of a case are, over the ``cases`` that have two verdicts or more.

    ``flipped`` cases passed in some samples and not in others; ``same_verdict`` is the chance that two samples of a
    case agree on that. ``samples`` has, for all cases with a verdict, how many samples have one, how many of these
    passed, and how many such cases there are.
    """

    cases: int
    flipped: int
    flip_rate: Rate
    same_verdict: Rate
    passes: tuple[PassOfK, ...] = ()
    samples: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JuryAgreement:
    """How far the jurors of a jury agree on the ``cases`` that two of them or more rated: Krippendorff's alpha.

    1 is full agreement, 0 what chance would give; ``alpha`` is None where all ratings are equal or no case has two.
    On the ``interval`` ``scale`` scores are compared, on the ``nominal`` one the labels that jurors gave. ``missing``
    is how often a juror gave no score, which is never counted as 0; ``left_out`` cases have fewer than two. The
    ``difference`` is that of the scores of two jurors on the same case, on average.
    """

    scale: str
    alpha: float | None = None
    interval: Interval | None = None
    cases: int = 0
    jurors: int = 0
    ratings: int = 0
    missing: int = 0
    left_out: int = 0
    clusters: int | None = None
    difference: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTally:
    """How often a stage of a cascade was asked, and what came of it.

    It ``decided`` some evaluations, was ``unsure`` of others, failed in ``errors``, and had nothing to judge in
    ``not_evaluated``. ``calls`` are requests; of ``unpriced`` evaluations the cost is not known.
    """

    name: str
    asked: int = 0
    decided: int = 0
    unsure: int = 0
    errors: int = 0
    not_evaluated: int = 0
    calls: int = 0
    known_cost: float = 0.0
    unpriced: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeTally:
    """How far the evaluations of a cascade went: who decided how many, and how many are ``left_to_people``.

    ``last_for_all`` is what it would have cost to ask the last stage every time, estimated from what it cost where it
    was asked, with an interval; None where that is not known.
    """

    evaluations: int
    left_to_people: int = 0
    stages: tuple[StageTally, ...] = ()
    last_for_all: float | None = None
    interval: Interval | None = None

    @property
    def cost(self) -> float | None:
        """What all stages cost; None where a price is unknown."""
        costs = [stage.known_cost for stage in self.stages]
        return None if any(stage.unpriced for stage in self.stages) else sum(costs)

    @property
    def spared(self) -> int:
        """For how many evaluations the last stage was not asked."""
        return self.evaluations - self.stages[-1].asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded:
    """Attempts that did not count, of one kind: invalid ``replies``, and ``failed_calls`` that brought no reply.

    Their tokens and dollars are those that are known: of ``uncounted`` replies the tokens are not, of ``unpriced``
    ones the cost.
    """

    replies: int = 0
    failed_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    known_cost: float = 0.0
    uncounted: int = 0
    unpriced: int = 0

    @property
    def attempts(self) -> int:
        """How many attempts these are."""
        return self.replies + self.failed_calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The cases that have one value for a key of their metadata: their numbers, and those of each evaluator by name."""

    cases: Tally
    evaluators: dict[str, Tally] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(ShownInNotebooks):
    """The numbers of a run: of its cases, of each evaluator by name, and what it took.

    ``cost`` is in dollars, None where a price is unknown; ``known_cost`` is the part that is known, and ``unpriced``
    says whose is not, the ``judge`` or the ``target``. ``calls`` counts requests, ``cached`` replies that came from
    the cache, ``retries`` replies that were asked for again. Providers read ``prompt_cached_tokens`` of the
    ``input_tokens`` from their prompt caches, which saved ``prompt_cache_saving`` dollars where prices are known; this
    is not Evenhand's own cache, whose replies take no tokens at all. Of the calls, ``programs`` were programs that
    judged, and ``target_calls`` went to the target, whatever that is; ``batch_calls`` were answered in batches, at the
    price for those. ``functions`` that judged were called beside them. ``reasons`` says why evaluations did not happen,
    and how many, the most frequent first. ``models`` has the numbers by the model that the cases' metadata names, where
    they name several. ``ambiguous`` counts evaluations with several different verdicts in one reply, by which of them
    counted (``first`` or ``last``), and ``overturned`` those of them whose verdict would have been another had the
    other one counted. ``steadiness`` is there where cases were judged several times. ``agreement`` says of each jury,
    by the name of the evaluator, how far its jurors agree. ``cascades`` says of each cascade, by the name of the
    evaluator, which stage decided how many evaluations. ``discarded`` has the attempts that did not count by their
    kind, the most frequent first; the kinds of the target begin with ``target``. ``slices`` has the slices by key of
    metadata and by value, for each key that the run slices by but for those in ``unsliced``, which have too many
    values.
    """

    cases: Tally
    evaluators: dict[str, Tally] = field(default_factory=dict)
    repeat: int = 1
    calls: int = 0
    programs: int = 0
    functions: int = 0
    target_calls: int = 0
    batch_calls: int = 0
    cached: int = 0
    retries: int = 0
    transport_faults: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    prompt_cached_tokens: int = 0
    prompt_cache_saving: float = 0.0
    cost: float | None = 0.0
    known_cost: float = 0.0
    unpriced: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    errors_by_class: dict[str, int] = field(default_factory=dict)
    flags: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    models: dict[str, Tally] = field(default_factory=dict)
    ambiguous: dict[str, int] = field(default_factory=dict)
    overturned: dict[str, int] = field(default_factory=dict)
    steadiness: Steadiness | None = None
    agreement: dict[str, JuryAgreement] = field(default_factory=dict)
    cascades: dict[str, CascadeTally] = field(default_factory=dict)
    discarded: dict[str, Discarded] = field(default_factory=dict)
    slices: dict[str, dict[str, Slice]] = field(default_factory=dict)
    unsliced: tuple[str, ...] = ()
