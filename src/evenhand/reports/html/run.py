"""A run as reports and pages show it: what was judged, what came of it, and what it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from evenhand.domain.comparison import TargetComparison
from evenhand.domain.early_decision import early_decision, stopped_decided
from evenhand.domain.failure import Failure
from evenhand.domain.gates import GateResult
from evenhand.domain.run import RunRecord
from evenhand.domain.run_kind import criteria_of, has_verdicts
from evenhand.domain.summary import Summary, Tally
from evenhand.drive.working_folder import seen_from_here
from evenhand.reports.blocks import Block, Grid
from evenhand.reports.comparison import several_parts
from evenhand.reports.corrected import corrected_sentences
from evenhand.reports.effort import Effort, prompt_cache_phrase
from evenhand.reports.html.charts import means_plot, score_histogram, verdict_bar
from evenhand.reports.html.moment import moment_element
from evenhand.reports.phrases import (
    SLICE_HEADINGS,
    Standing,
    cost_text,
    counted,
    duration_text,
    flag_phrases,
    mean_sentence,
    model_label,
    pass_rate_sentence,
    samples_sentence,
    slice_tables,
    standings,
)
from evenhand.reports.steadiness import steady_grids, steady_sentences


def run_facts(run: RunRecord, judges: Sequence[str] = (), *, noun: str = "case") -> list[tuple[str, str]]:
    """Return what was judged, when, and by what, each with its name; ``noun`` is what a case of the run is."""
    return list(_facts(run, judges, noun))


def _facts(run: RunRecord, judges: Sequence[str], noun: str) -> Iterator[tuple[str, str]]:
    yield "Started", moment_element(run.created)
    if run.finished is not None:
        yield "Duration", duration_text(max(run.finished - run.created, 0))
    if run.source is not None:
        yield "Suite", seen_from_here(run.source)
    if judge := ", ".join(judges) or model_label(run.definition.get("judge")):
        yield "Judges" if judges[1:] else "Judge", judge
    if noun == "case":
        yield "Target", model_label(run.definition.get("target")) or "none; the cases have answers"
    times = f", {run.repeat} times each" if run.repeat > 1 else ""
    yield f"{noun.capitalize()}s", f"{run.cases:,}{times}"
    if run.forked_from is not None:
        yield "Forked from", run.forked_from
    if run.origin:
        yield "Imported from", run.origin
    if run.label:
        yield "Label", run.label


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run with its numbers.

    ``cases`` are those of the summary as they are shown: from 0 to ``scale``. ``noun`` is what a case of the run is.
    ``notes`` are sentences to be read behind the mean. ``targets`` has those of a run of several against each other.
    """

    run: RunRecord
    summary: Summary
    bins: Sequence[Mapping[Standing, int]]
    gates: Sequence[GateResult] = ()
    noun: str = "case"
    cases: Tally
    scale: int = 1
    notes: Sequence[str] = ()
    targets: TargetComparison | None = None

    @property
    def headline(self) -> tuple[str, str, str, str]:
        """The mean with its n, its interval, and how errors would change it (SPEC-E2), in parts to be set apart."""
        start, over, rest = mean_sentence(self.cases, self.noun).partition(" over ")
        if not over:
            return start, "", "", ""
        word, mean, around = start.split(" ", 2)
        return f"{word} ", mean, f" {around}", over + rest

    @property
    def decided(self) -> str:
        """When the gates of the run were decided, where it stopped for that; empty otherwise."""
        return Failure.of(self.run.reason).message if stopped_decided(self.run) else ""

    @property
    def criteria(self) -> str:
        """By which criteria profiles were scored or ranked; empty for other runs."""
        return criteria_of(self.run.definition)

    @property
    def has_verdicts(self) -> bool:
        """Whether cases pass or fail."""
        return has_verdicts(self.run.definition)

    @property
    def pass_rate(self) -> str:
        """The share of cases that pass."""
        return pass_rate_sentence(self.summary.cases)

    @property
    def corrected(self) -> list[str]:
        """What people would say, by their labels; nothing where there are none."""
        return [] if self.noun != "case" else corrected_sentences(self.summary)

    @property
    def samples(self) -> str:
        """What is counted, where each case was judged several times."""
        return samples_sentence(self.summary, self.noun, has_verdicts=self.has_verdicts)

    @property
    def steady(self) -> list[str]:
        """How far the numbers could move; nothing of verdicts where they are not what it is about."""
        return steady_sentences(self.summary, self.gates, has_verdicts=self.noun == "case")

    @property
    def steady_grids(self) -> list[Grid]:
        """The tables beside these sentences."""
        return steady_grids(self.summary, has_verdicts=self.noun == "case")

    @property
    def bar(self) -> Markup:
        """The bar of verdicts."""
        return verdict_bar(standings(self.summary.cases))

    @property
    def legend(self) -> list[tuple[Standing, int]]:
        """How many cases have each verdict; where there are none, only how many have no score, and why."""
        marks = self.run.thresholds
        always = [Standing.PASS, Standing.FAIL] if self.has_verdicts else []
        if self.has_verdicts and marks.borderline_at != marks.pass_at:
            always.append(Standing.BORDERLINE)
        return [
            (standing, count)
            for standing, count in standings(self.summary.cases).items()
            if standing in always or (count and (self.has_verdicts or not standing.scored))
        ]

    @property
    def spread(self) -> str:
        """What the histogram shows."""
        cases = self.summary.cases
        total = counted(cases.n, self.noun)
        by_verdict = ", by verdict" if self.has_verdicts else ""
        return f"{self.noun.capitalize()} scores, {cases.scored:,} of {total}{by_verdict}."

    @property
    def histogram(self) -> Markup:
        """The histogram of scores."""
        thresholds = self.run.thresholds if self.has_verdicts else None
        return score_histogram(self.bins, thresholds, scale=self.scale, noun=self.noun)

    @property
    def methods(self) -> str:
        """How the intervals were computed."""
        summary = self.summary
        tallies = (summary.cases, *summary.evaluators.values(), *summary.models.values())
        intervals = [tally.interval for tally in tallies if tally.interval is not None]
        if early_decision(self.run) is not None:
            return "Without intervals, since the run stopped when its gates were decided."
        if not intervals:
            return "Too few scores for intervals."
        methods = ", ".join(
            sorted({interval.method.replace("_", " ").replace("wilson", "Wilson") for interval in intervals})
        )
        return f"With {intervals[0].level:.0%} intervals ({methods})."

    @property
    def means(self) -> Markup:
        """The means of the cases and of each evaluator, with their intervals; that of profiles is the only one."""
        evaluators = {} if self.noun == "profile" else self.summary.evaluators
        return means_plot(replace(self.summary, models={}, evaluators=evaluators), scale=self.scale, noun=self.noun)

    @property
    def models(self) -> Markup | None:
        """The means of each model that answered, if there are several."""
        if not self.summary.models:
            return None
        return means_plot(replace(self.summary, evaluators={}), scale=self.scale, noun=self.noun)

    @property
    def target_grids(self) -> list[Block]:
        """The tables and notes of the targets against the first of them, if there are several."""
        return [] if self.targets is None else list(several_parts(self.targets))

    @property
    def slices(self) -> list[tuple[str, list[tuple[str, ...]], str]]:
        """The tables of slices: the key, its rows, and why there are none."""
        return slice_tables(self.summary)

    @property
    def slice_headings(self) -> tuple[str, ...]:
        """The headings of these tables, after that of the value."""
        return SLICE_HEADINGS

    @property
    def effort(self) -> list[tuple[str, str]]:
        """What the run took."""
        summary, run, effort = self.summary, self.run, Effort.of(self.summary, self.run)
        given_up = f"{run.abandoned_calls:,} ({cost_text(run.abandoned_cost)})" if run.abandoned_calls else None
        facts = [
            ("Cost", effort.cost),
            ("Calls to models", f"{effort.models:,}"),
            ("Program runs", f"{effort.programs:,}" if effort.programs else None),
            ("Function calls", f"{effort.functions:,}" if effort.functions else None),
            ("Calls to targets", f"{effort.targets:,}" if effort.targets else None),
            ("Replies from the cache", f"{summary.cached:,}"),
            ("Retries", f"{summary.retries:,}"),
            ("Calls given up", given_up),
            ("Transport faults", f"{summary.transport_faults:,}" if summary.transport_faults else None),
            ("Tokens", f"{summary.input_tokens:,} in, {summary.output_tokens:,} out" if summary.input_tokens else None),
            ("Cached by the provider", prompt_cache_phrase(summary)),
        ]
        return [(name, value) for name, value in facts if value]

    @property
    def flags(self) -> list[tuple[int, str]]:
        """How many evaluations have each flag, in words."""
        return list(flag_phrases(self.summary))
