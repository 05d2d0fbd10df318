"""Several judges of the same answers, held against each other and against people."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.scale import is_finite_number
from evenhand.domain.summary import Interval, Rate
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.kappa import Kappa
from evenhand.stats.refusal import Refused
from evenhand.stats.shares import bonett_price, share
from evenhand.stats.wilson import LEVEL
from evenhand.trust.card import plain_values
from evenhand.trust.evidence import majority

MARGIN: Final = 0.05
# How often a judge may be called no worse though it is, over all that are compared with the best.
_ALPHA: Final = 0.05
_FOLDS: Final = 5
_FEWEST_JURORS: Final = 3
_NO_LABELS: Final = Refused("people labelled no case that all judges scored")


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """What one judge said: ``verdicts`` by case, whether it passes; those without a score are ``unscored``.

    ``cost`` is what a judgment cost in dollars on average, None if unknown; ``cached`` judgments were free and are not
    in it.
    """

    name: str
    run: str
    evaluator: str | None
    verdicts: Mapping[str, bool]
    unscored: int = 0
    cost: float | None = None
    cached: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeStanding:
    """One of the judges: how many answers it scored and passes, what it costs, and how far it agrees with people.

    ``accuracy`` is over the labelled cases that all judges scored. ``cost_per_correct`` is what a judgment costs that
    people agree with. ``behind`` is its accuracy minus that of the best, with an interval, and ``within`` says that it
    surely lies at most the margin below; None without labels. ``with_majority`` is its agreement with the majority of
    the other judges.
    """

    name: str
    run: str
    evaluator: str | None
    scored: int
    unscored: int
    pass_rate: Rate | Refused
    cost: float | None
    cached: int
    accuracy: Rate | Refused
    kappa: Kappa | Refused
    cost_per_correct: float | None
    behind: float | None
    behind_interval: Interval | None
    within: bool | None
    with_majority: Rate | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePair:
    """Two judges on the cases that both scored."""

    a: str
    b: str
    cases: int
    agreement: Rate | Refused
    kappa: Kappa | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class JuryGain:
    """What a jury gains over its best member, in accuracy on the labelled cases.

    ``members`` chosen on other labels than those they are measured on have the accuracy ``best``; ``gain`` is that of
    the jury minus that. Its interval holds for the best member, whichever that is. ``apparent`` is the gain over the
    member that is best on all labels, which favours that member.
    """

    jury: str
    accuracy: Rate
    best: Rate
    members: tuple[str, ...]
    gain: float
    interval: Interval
    apparent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgesComparison:
    """Several judges of the same answers.

    ``labelled`` cases have labels and a score by every judge. ``best`` has the highest accuracy, and ``cheapest`` is
    the cheapest judge whose accuracy surely lies at most ``margin`` below it.
    """

    judges: tuple[JudgeStanding, ...]
    pairs: tuple[JudgePair, ...]
    cases: int
    labelled: int
    margin: float
    best: str | Refused
    cheapest: str | Refused
    jury: JuryGain | Refused
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values; what is refused is a mapping with the reason under ``refused``."""
        return {each.name: plain_values(getattr(self, each.name)) for each in dataclasses.fields(self)}


def compare_judges(
    panel: Sequence[Votes],
    people: Mapping[str, bool],
    *,
    margin: float = MARGIN,
    jury: Votes | None = None,
    notes: Sequence[str] = (),
) -> JudgesComparison:
    """Hold judges against each other, and against what ``people`` say of some cases.

    ``jury`` has the verdicts of a jury of these judges; without it, their majority is one.
    """
    if not is_finite_number(margin) or not 0 < margin < 1:
        raise ConfigError(f"margin is {margin!r:.80}; it must be above 0 and below 1", key="margin")
    if len(panel) < 2:
        raise ConfigError("there is one judge, and nothing to hold it against; name several runs or evaluators")
    common = [case for case in panel[0].verdicts if all(case in votes.verdicts for votes in panel)]
    labelled = [case for case in common if case in people]
    right = {votes.name: [votes.verdicts[case] == people[case] for case in labelled] for votes in panel}
    best = max(right, key=lambda name: sum(right[name])) if labelled else None
    level = 1 - 2 * _ALPHA / max(len(panel) - 1, 1)
    standings = tuple(
        _standing(votes, _Measured(panel, people, labelled, right, best, margin=margin, level=level)) for votes in panel
    )
    return JudgesComparison(
        judges=standings,
        pairs=tuple(_pair(a, b) for a, b in itertools.combinations(panel, 2)),
        cases=len(common),
        labelled=len(labelled),
        margin=margin,
        best=_NO_LABELS if best is None else best,
        cheapest=_cheapest(standings, best),
        jury=_jury_gain(panel, people, labelled, right, jury),
        notes=(*notes, *_notes(panel, labelled)),
    )


@dataclass(frozen=True, slots=True)
class _Measured:
    panel: Sequence[Votes]
    people: Mapping[str, bool]
    labelled: Sequence[str]
    right: Mapping[str, Sequence[bool]]
    best: str | None
    margin: float
    level: float


def _standing(votes: Votes, found: _Measured) -> JudgeStanding:
    counts = JudgedLabels.of((found.people[case], votes.verdicts[case]) for case in found.labelled)
    accuracy = counts.agreement()
    behind, interval, within = _behind(votes.name, found)
    passed = sum(votes.verdicts.values())
    correct = accuracy.value if isinstance(accuracy, Rate) else None
    return JudgeStanding(
        name=votes.name,
        run=votes.run,
        evaluator=votes.evaluator,
        scored=len(votes.verdicts),
        unscored=votes.unscored,
        pass_rate=share(passed, len(votes.verdicts), "scored cases"),
        cost=votes.cost,
        cached=votes.cached,
        accuracy=accuracy,
        kappa=counts.kappa(),
        cost_per_correct=None if votes.cost is None or not correct else votes.cost / correct,
        behind=behind,
        behind_interval=interval,
        within=within,
        with_majority=_with_majority(votes, found.panel),
    )


def _behind(name: str, found: _Measured) -> tuple[float | None, Interval | None, bool | None]:
    """Return by how much a judge's accuracy differs from the best one's, and whether that is surely within the margin.

    The best is chosen on the same labels, which favours it: that can only make another judge seem worse.
    """
    if found.best is None:
        return None, None, None
    own, best = found.right[name], found.right[found.best]
    if name == found.best:
        return 0.0, None, True
    more, fewer = _differing(own, best)
    interval = bonett_price(more, fewer, len(own), found.level)
    return (more - fewer) / len(own), interval, interval.low >= -found.margin


def _with_majority(votes: Votes, panel: Sequence[Votes]) -> Rate | Refused:
    """Return how often a judge says what most others do; cases on which these are even are left out."""
    others = [each for each in panel if each is not votes]
    if len(others) < _FEWEST_JURORS - 1:
        return Refused("a majority of the others takes two other judges or more")
    same = among = 0
    for case, verdict in votes.verdicts.items():
        said = [other.verdicts[case] for other in others if case in other.verdicts]
        if said and 2 * sum(said) != len(said):
            among += 1
            same += majority(said) == verdict
    return share(same, among, "cases on which most other judges agree")


def _pair(a: Votes, b: Votes) -> JudgePair:
    both = [case for case in a.verdicts if case in b.verdicts]
    counts = JudgedLabels.of((a.verdicts[case], b.verdicts[case]) for case in both)
    agreement = share(counts.tp + counts.tn, counts.n, "cases that both judges scored")
    return JudgePair(a=a.name, b=b.name, cases=len(both), agreement=agreement, kappa=counts.kappa())


def _cheapest(standings: Sequence[JudgeStanding], best: str | None) -> str | Refused:
    if best is None:
        return _NO_LABELS
    unknown = [each.name for each in standings if each.cost is None]
    if unknown:
        return Refused(f"what a judgment of {', '.join(unknown[:3])} costs is unknown")
    within = [each for each in standings if each.within]
    return min(within, key=lambda each: each.cost or 0.0).name


def _jury_gain(
    panel: Sequence[Votes],
    people: Mapping[str, bool],
    labelled: Sequence[str],
    right: Mapping[str, Sequence[bool]],
    jury: Votes | None,
) -> JuryGain | Refused:
    """Measure a jury against its best member, which is chosen on four fifths of the labels for the last fifth."""
    if len(panel) < _FEWEST_JURORS:
        return Refused(f"a jury takes {_FEWEST_JURORS} judges or more")
    said = (
        {case: majority([votes.verdicts[case] for votes in panel]) for case in labelled}
        if jury is None
        else dict(jury.verdicts)
    )
    decided = [place for place, case in enumerate(labelled) if case in said]
    if len(decided) < _FOLDS:
        return Refused(f"people labelled {len(decided)} cases that all judges scored; this takes {_FOLDS} or more")
    fold = {place: _fold(labelled[place]) for place in decided}
    chosen = {
        number: max(right, key=lambda name: sum(right[name][at] for at in decided if fold[at] != number))
        for number in sorted(set(fold.values()))
    }
    ours = [said[labelled[place]] == people[labelled[place]] for place in decided]
    theirs = [right[chosen[fold[place]]][place] for place in decided]
    gain = (sum(ours) - sum(theirs)) / len(ours)
    accuracy, best = (share(sum(each), len(each), "labelled cases") for each in (ours, theirs))
    if isinstance(accuracy, Refused) or isinstance(best, Refused):  # which a share of some cases never is
        return _NO_LABELS
    top = max(sum(right[name][place] for place in decided) for name in right)
    return JuryGain(
        jury="their majority" if jury is None else jury.name,
        accuracy=accuracy,
        best=best,
        members=tuple(dict.fromkeys(chosen.values())),
        gain=gain,
        interval=_over_the_best(ours, [[each[place] for place in decided] for each in right.values()], gain),
        apparent=(sum(ours) - top) / len(ours),
    )


def _over_the_best(jury: Sequence[bool], members: Sequence[Sequence[bool]], gain: float) -> Interval:
    """Return the interval of the least gain over a member, which is that over the best one, whoever that is.

    The intervals over all members hold together, so that nobody has to be chosen for it.
    """
    level = 1 - (1 - LEVEL) / len(members)
    over = [bonett_price(*_differing(jury, member), len(jury), level) for member in members]
    low, high = min(each.low for each in over), min(each.high for each in over)
    return Interval(low=min(low, gain), high=max(high, gain), method="bonett_price", level=LEVEL)


def _differing(ours: Sequence[bool], theirs: Sequence[bool]) -> tuple[int, int]:
    """Return on how many cases only we are right, and on how many only they are."""
    pairs = Counter(zip(ours, theirs, strict=True))
    return pairs[True, False], pairs[False, True]


def _fold(case: str) -> int:
    """Return the part of the labels that a case is in: by its id, so that it is the same in every run."""
    return hashlib.sha256(case.encode("utf-8", "surrogatepass")).digest()[0] % _FOLDS


def _notes(panel: Sequence[Votes], labelled: Sequence[str]) -> Iterator[str]:
    if labelled and len(panel) > 2:
        yield (
            f"whether a judge is within the margin is tested {len(panel) - 1} times, so each interval is at the level "
            f"{1 - 2 * _ALPHA / (len(panel) - 1):.1%}: all of these statements hold together with 95% certainty"
        )
    if labelled:
        yield "the best judge was chosen on the same labels, so its own accuracy is a little too high"
    if cached := [votes.name for votes in panel if votes.cached]:
        yield f"judgments of {', '.join(cached[:3])} that came from the cache are not in their cost"
