"""The targets of one run against each other, case by case: every case was answered by each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evenhand.domain.comparison import Compared, TargetComparison
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.run import RunRecord
from evenhand.domain.took import Took
from evenhand.engine.case_scores import cases_by_target
from evenhand.engine.targets.several import MODEL, own_name, stands_for_several, targets_of
from evenhand.reports.paired_cases import JudgedCase, PairedSummarizer
from evenhand.stats.paired import holm
from evenhand.store.results import answers_between
from evenhand.store.rows import loads
from evenhand.store.store import Store


def compare_targets(
    store: Store, run: RunRecord, *, baseline: str | None = None, evaluator: str | None = None
) -> TargetComparison | None:
    """Compare every target of a run with one of them, by default the first; None where there are not several.

    The run is read once: a case is kept only until all targets have answered it, which come one after the other.
    """
    targets = targets_of(run)
    if len(targets) < 2:
        targets = _named_by_cases(store, run)
    if len(targets) < 2:
        return None
    names = list(targets)
    first = names[0] if baseline is None else baseline
    if first not in names:
        raise ConfigError(f"run {run.id} has no answers of {first!r:.80}{did_you_mean(first, names)}")
    summarizers = {name: PairedSummarizer(evaluator=evaluator, limit=0) for name in names if name != first}
    waiting: dict[str, dict[str, JudgedCase]] = {}
    for name, case in cases_by_target(store, run):
        answered = waiting.setdefault(case.id, {})
        answered[name] = case.settled()
        if len(answered) == len(names):
            _add(summarizers, first, waiting.pop(case.id))
    for answered in waiting.values():
        _add(summarizers, first, answered)
    others = with_holm(
        {
            name: summarizer.cases() if evaluator is None else summarizer.evaluators()[evaluator]
            for name, summarizer in summarizers.items()
        }
    )
    noun = "model" if run.origin or all(own_name(target) == name for name, target in targets.items()) else "target"
    took = _took(store, run, [first, *others])
    return TargetComparison(baseline=first, evaluator=evaluator, others=others, noun=noun, took=took)


def _named_by_cases(store: Store, run: RunRecord) -> dict[str, str]:
    """Name the targets of a run of several as those that answered its first case: clients that were given in Python."""
    if not stands_for_several(run.definition.get("target")):
        return {}
    names, first = dict[str, str](), None
    for name, case in cases_by_target(store, run):
        first = first or case.id
        if case.id != first:
            break
        names[name] = name
    return names


def _took(store: Store, run: RunRecord, names: Sequence[str]) -> dict[str, Took]:
    """Add up what the answers of each target took, as the targets made them, or else as the cases brought them."""
    took = dict.fromkeys(names, Took())
    for page, _ in store.columns(run):
        made = answers_between(store, run, page[0][0], page[-1][0])
        for position, *_, content, _ in page:
            case = loads(content)["case"]
            name = case.get("metadata", {}).get(MODEL)
            if name not in took:
                continue
            brought = [] if case.get("candidate_answer") is None else [(case.get("cost"), case.get("latency"))]
            for cost, seconds in made.get(position, brought):
                took[name] = took[name].plus(cost, seconds)
    return took


def _add(summarizers: dict[str, PairedSummarizer], baseline: str, answered: dict[str, JudgedCase]) -> None:
    for name, summarizer in summarizers.items():
        summarizer.add(answered.get(baseline), answered.get(name))


def with_holm(others: Mapping[str, Compared]) -> dict[str, Compared]:
    """Return the numbers of several comparisons, with p values that allow for how many there are."""
    p_values = holm({name: compared.scores.p for name, compared in others.items() if compared.scores.p is not None})
    return {name: replace(compared, p_holm=p_values.get(name)) for name, compared in others.items()}
