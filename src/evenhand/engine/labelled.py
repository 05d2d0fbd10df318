"""A run that people have labelled: its overview with corrected numbers, and what its suite demands of the judge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenhand.domain.early_decision import early_decision, gate_results
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import GateResult
from evenhand.domain.label import LABELS_FILE
from evenhand.domain.run import RunRecord
from evenhand.domain.summary import CorrectedNumbers, Summary
from evenhand.engine.overview import is_at_work, overview_of
from evenhand.reports.overview import Overview
from evenhand.store.labels import LabelState
from evenhand.store.rows import column
from evenhand.store.store import Store

# What cards are made of is loaded for the few runs that have labels, or whose suite demands something of its judge.
if TYPE_CHECKING:
    from evenhand.trust.card import JudgeCard

_TRUST: Final = "trust"


def labelled_overview(store: Store, run: RunRecord) -> Overview:
    """Return the overview of a run, with what people would say beside what the judge says where they have labelled it.

    A run that somebody works on, or that stopped when its gates were decided, has no corrected numbers: labels stand
    for all cases, or for none.
    """
    overview = overview_of(store, run)
    state = store.labels.state(run)
    if state is None or early_decision(run) is not None or is_at_work(store, run):
        return overview
    return replace(overview, summary=_corrected(store, run, overview.summary, state))


def cards_are_kept(store: Store, run: RunRecord, summary: Summary) -> bool:
    """Return whether the corrected numbers of a run are known without reading the run."""
    state = store.labels.state(run)
    if state is None:
        return True
    from evenhand.engine.judge_card import kept_card  # noqa: PLC0415

    return all(kept_card(store, run, name) is not None for name in _labelled(summary, state))


def _labelled(summary: Summary, state: LabelState) -> list[str | None]:
    """Return what people labelled of a run: whole cases, as None, and evaluators."""
    whole: list[str | None] = [None] if "" in state.evaluators else []
    return whole + [name for name in summary.evaluators if column(name) in state.evaluators]


def _corrected(store: Store, run: RunRecord, summary: Summary, state: LabelState) -> Summary:
    from evenhand.engine.judge_card import card_of  # noqa: PLC0415

    cases, evaluators = summary.cases, dict(summary.evaluators)
    for name in _labelled(summary, state):
        numbers = _numbers(card_of(store, run, evaluator=name))
        if name is None:
            cases = replace(cases, corrected=numbers)
        else:
            evaluators[name] = replace(evaluators[name], corrected=numbers)
    return replace(summary, cases=cases, evaluators=evaluators)


def corrected_of(store: Store, run: RunRecord, evaluator: str | None = None) -> CorrectedNumbers | None:
    """Return what people would say of a run's cases, or of an evaluator; None without labels that count."""
    state = store.labels.state(run)
    if state is None or column(evaluator or "") not in state.evaluators or is_at_work(store, run):
        return None
    from evenhand.engine.judge_card import card_of  # noqa: PLC0415

    return _numbers(card_of(store, run, evaluator=evaluator))


def _numbers(card: JudgeCard) -> CorrectedNumbers | None:
    from evenhand.stats.refusal import Refused  # noqa: PLC0415
    from evenhand.trust.card import Basis  # noqa: PLC0415

    if card.basis is Basis.NONE:
        return None
    rate, mean = card.corrected, card.corrected_mean
    return CorrectedNumbers(
        judged=card.judged,
        labels=card.labels.cases,
        raters=card.labels.raters,
        basis=card.basis.value,
        pass_rate=None if isinstance(rate, Refused) else rate,
        pass_rate_problem=rate.reason if isinstance(rate, Refused) else "",
        mean=None if isinstance(mean, Refused) else mean,
        mean_problem=mean.reason if isinstance(mean, Refused) and card.scores else "",
    )


def all_gates(store: Store, run: RunRecord, summary: Summary) -> tuple[GateResult, ...]:
    """Return what the gates of a run say, and whether its judge reaches what the suite demands under ``trust``."""
    return gate_results(run, summary) + trust_results(store, run)


def trust_results(store: Store, run: RunRecord) -> tuple[GateResult, ...]:
    """Return whether the judge of a run reaches what its suite demands; nothing while there are no labels to say it.

    A run that was given a file of labels is held to it, even if none of them counts.
    """
    if run.definition.get(_TRUST) is None:
        return ()
    from evenhand.engine.judge_card import card_of  # noqa: PLC0415
    from evenhand.stats.refusal import Refused  # noqa: PLC0415
    from evenhand.trust.correction import NO_LABELS  # noqa: PLC0415
    from evenhand.trust.limits import RULES, TrustLimits  # noqa: PLC0415

    wanted = TrustLimits.of(run.definition.get(_TRUST))
    if not wanted.limits or early_decision(run) is not None or is_at_work(store, run):
        return ()
    if store.labels.state(run) is None:
        if LABELS_FILE not in run.options:
            return ()
        limits = wanted.check({what: NO_LABELS for what, _ in RULES.values()})
    else:
        try:
            limits = card_of(store, run, evaluator=wanted.evaluator).limits
        except ConfigError as error:  # an evaluator that the run does not have
            limits = wanted.check({what: Refused(str(error)) for what, _ in RULES.values()})
    return tuple(replace(limit, name=f"{_TRUST}.{limit.name}", kind="trust") for limit in limits)
