"""A comparison of two runs as its page and its HTML file show it, and that file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from evenhand.domain.comparison import STANDINGS, Change, Compared, Comparison, LabelTable, PairedResult
from evenhand.domain.paired_difference import PairedDifference
from evenhand.domain.run import RunRecord
from evenhand.domain.run_differences import RunDifferences, SettingChange
from evenhand.reports.comparison import (
    MOST_CASES,
    AnyComparison,
    around_text,
    block_parts,
    difference_text,
    left_out_lines,
    p_text,
    power_sentence,
    verdict_sentence,
)
from evenhand.reports.corrected import compared_sentences
from evenhand.reports.html.case_sides import CaseSide, CaseSidesView
from evenhand.reports.html.charts import Axis, interval_mark, outcome_bar
from evenhand.reports.html.moment import moment_element
from evenhand.reports.html.page import whole_document
from evenhand.reports.html.renderer import render
from evenhand.reports.html.text_sides import NOT_BY_WORD, TextSides
from evenhand.reports.phrases import NONE, Standing, counted, model_label, score_text
from evenhand.reports.run_differences import SAME, case_lines, is_text, value_text

# How many characters of each text a file has.
MOST_TEXT: Final = 4_000


def side_facts(run: RunRecord, model: str | None, judges: Iterable[str]) -> list[tuple[str, str]]:
    """Say what one side of a comparison is: the run, and who answered and judged."""
    answered = model or model_label(run.definition.get("target")) or "none; the cases have answers"
    judged = ", ".join(judges) or model_label(run.definition.get("judge"))
    facts = [
        ("Run", f"{run.name} · {run.id}"),
        ("Label", run.label),
        ("Target", answered),
        ("Judge", judged),
        ("Started", moment_element(run.created)),
    ]
    return [(name, value) for name, value in facts if value]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingView:
    """A setting that differs: its values, or the two texts with their differences marked."""

    name: str
    before: str = ""
    after: str = ""
    texts: tuple[Markup, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, setting: SettingChange) -> SettingView:
        """Show a setting, of a long text from shortly before the first difference."""
        if not is_text(setting):
            return cls(name=setting.name, before=value_text(setting.before), after=value_text(setting.after))
        sides = TextSides.of((setting.before or "", setting.after or ""), MOST_TEXT)
        without = [f"Not set in {letter}." for letter in _sides_without(setting)]
        notes = () if sides.is_by_word or without else (NOT_BY_WORD,)
        return cls(name=setting.name, texts=sides.shown, notes=(*without, *notes))


def _sides_without(setting: SettingChange) -> list[str]:
    return [letter for letter, value in (("A", setting.before), ("B", setting.after)) if value is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencesView:
    """What differs between two runs: settings, and lines about the cases; ``same`` where nothing does."""

    settings: tuple[SettingView, ...]
    cases: tuple[str, ...]
    same: str = ""

    @classmethod
    def of(cls, differences: RunDifferences) -> DifferencesView:
        """Show the differences of two runs."""
        return cls(
            settings=tuple(map(SettingView.of, differences.settings)),
            cases=tuple(case_lines(differences)),
            same=SAME if differences.are_none else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow:
    """The scores of an evaluator in two runs, or of whole cases, which have no ``key``."""

    key: str | None
    compared: Compared
    most: float

    @property
    def name(self) -> str:
        """What the scores are of."""
        return "whole cases" if self.key is None else self.key

    @property
    def cells(self) -> tuple[str, ...]:
        """The means of A and B, and their difference."""
        paired = self.compared.scores
        return score_text(paired.mean_a, 3), score_text(paired.mean_b, 3), difference_text(paired.difference)

    @property
    def lacking(self) -> str | None:
        """Why there is no interval."""
        return self.compared.scores.lacking

    @property
    def interval(self) -> str:
        """The interval of the difference."""
        return around_text(self.compared.scores.interval)

    @property
    def p(self) -> str:
        """The p value, corrected where it is one of several."""
        return p_text(self.compared.scores.p if self.compared.p_holm is None else self.compared.p_holm)

    @property
    def n(self) -> str:
        """How many cases are scored in both runs."""
        return f"{self.compared.scores.n:,}"

    @property
    def mark(self) -> Markup:
        """The difference with its interval, drawn."""
        return difference_mark(self.name, self.compared.scores, self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """Run B against run A, with all that is said about them."""

    comparison: Comparison

    @property
    def subject(self) -> Compared:
        """The numbers of what was asked for."""
        return self.comparison.subject

    @property
    def sides(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """What A and B are."""
        found = self.comparison
        return [
            ("A", side_facts(found.a, found.model_a, found.judges_a)),
            ("B", side_facts(found.b, found.model_b, found.judges_b)),
        ]

    @property
    def differences(self) -> DifferencesView:
        """What differs between A and B."""
        return DifferencesView.of(self.comparison.differences)

    @property
    def sentence(self) -> str:
        """Which run is better, or that this does not show."""
        sentence = verdict_sentence(self.subject)
        return f"{sentence[:1].upper()}{sentence[1:]}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The numbers, each with its name."""
        return list(_facts(self.subject))

    @property
    def corrected(self) -> tuple[str, ...]:
        """What people would say of both runs, by their labels; nothing where there are none."""
        return compared_sentences(self.comparison)

    @property
    def power(self) -> str:
        """How small a difference so many cases could show."""
        return power_sentence(self.subject.scores, self.comparison.highest)

    @property
    def bar(self) -> Markup | None:
        """Wins, ties and losses in one bar."""
        return _outcomes(self.subject.scores) if self.subject.scores.n else None

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        """Wins, ties and losses in words, each with the class of its colour."""
        paired = self.subject.scores
        return [
            ("pass", f"{counted(paired.wins, 'win')} for B"),
            ("not_evaluated", counted(paired.ties, "tie")),
            ("fail", counted(paired.losses, "loss", "losses")),
        ]

    @property
    def reaching(self) -> str:
        """How many cases both runs have, and what is left out."""
        sentences = [f"{counted(self.subject.in_common, 'case')} in both runs", *left_out_lines(self.subject)]
        return " ".join(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences)

    @property
    def most(self) -> float:
        """How far the axis of differences extends."""
        return reach((compared.scores for _, compared in self._several), self.comparison.highest)

    @property
    def rows(self) -> list[DifferenceRow]:
        """Whole cases, and each evaluator."""
        most = self.most
        return [DifferenceRow(key=key, compared=compared, most=most) for key, compared in self._several]

    @property
    def _several(self) -> list[tuple[str | None, Compared]]:
        return [(None, self.comparison.cases), *self.comparison.evaluators.items()]

    @property
    def standings(self) -> list[Standing]:
        """The rows and columns of the table of verdicts."""
        return [Standing(name) for name in STANDINGS]

    @property
    def labels(self) -> list[tuple[str, LabelTable]]:
        """The tables of labels."""
        return [
            (name, compared.labels)
            for name, compared in self.comparison.evaluators.items()
            if compared.labels is not None and self.comparison.evaluator in (None, name)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """A case that came out differently; ``case`` has its texts, None where they are not shown."""

    change: Change
    case: CaseSidesView | None = None
    href: str | None = None
    has_verdicts: bool = True

    @property
    def id(self) -> str:
        """The id of the case."""
        return self.change.case_id

    @property
    def title(self) -> str:
        """The beginning of the question; "" where the texts are not shown, or there is none."""
        return self.case.title if self.case is not None else ""

    @property
    def scores(self) -> tuple[str, str, str]:
        """The score in A, that in B, and the difference."""
        change = self.change
        return score_text(change.score_a, 3), score_text(change.score_b, 3), difference_text(change.difference)


def comparison_html(comparison: AnyComparison) -> str:
    """Return a comparison as one HTML file that loads nothing and needs no script."""
    if not isinstance(comparison, Comparison):
        blocks = list(block_parts(comparison))
        return whole_document(comparison.title, render("several_in_report.html", title=comparison.title, blocks=blocks))
    comparison = comparison.as_shown()
    ordered = sorted(comparison.changes, key=_worst_first)
    changes = list(_with_texts(comparison, ordered))
    view = ComparisonView(comparison=comparison)
    title = f"{comparison.b.name}, B against A"
    body = render(
        "comparison_in_report.html", view=view, changes=changes, told=_told(comparison, changes), most_text=MOST_TEXT
    )
    return whole_document(title, body)


def _worst_first(change: Change) -> tuple[bool, float]:
    """Order changes: what got worse, the worst first; then what got better, the most first."""
    return change.difference >= 0, -abs(change.difference)


def _with_texts(comparison: Comparison, changes: list[Change]) -> Iterator[ChangeView]:
    read = comparison.read_cases
    wanted = [change.case_id for change in changes[:MOST_CASES]]
    cases = {} if read is None else {paired.case_id: paired for paired in read(wanted)}
    for change in changes:
        paired = cases.get(change.case_id)
        sides = () if paired is None else both_sides(comparison, paired)
        case = CaseSidesView(id=change.case_id, sides=sides, most_text=MOST_TEXT, most_samples=1) if sides else None
        yield ChangeView(change=change, case=case, has_verdicts=comparison.has_verdicts)


def both_sides(
    comparison: Comparison, paired: PairedResult, hrefs: tuple[str | None, ...] = (None, None)
) -> tuple[CaseSide, ...]:
    """Return the two results of a case, with the scores and verdicts that their runs have."""
    return tuple(
        CaseSide(name=name, result=result, href=href, scale=comparison.highest, has_verdicts=comparison.has_verdicts)
        for name, result, href in zip("AB", (paired.a, paired.b), hrefs, strict=True)
    )


def _told(comparison: Comparison, changes: list[ChangeView]) -> list[str]:
    """Say which changed cases are shown, and which of them with their texts."""
    listed = len(changes)
    is_all = listed == comparison.changed
    which = f"All {counted(listed, 'case')}" if is_all else f"The {listed:,} largest of {comparison.changed:,} changes"
    told = [f"{which}: what got worse comes first, the worst at the top; then what got better."]
    without = sum(change.case is None for change in changes)
    if without:
        told.append(f"{counted(without, 'case')} at the end without question and answers.")
    return told


def reach(differences: Iterable[PairedDifference], highest: int = 1) -> float:
    """Return how far the axis extends on both sides of zero to fit all intervals, rounded up to a tenth."""
    far = [0.1]
    for paired in differences:
        if paired.interval is not None:
            far += [abs(paired.interval.low), abs(paired.interval.high)]
        elif paired.difference is not None:
            far.append(abs(paired.difference))
    return min(math.ceil(max(far) * 10 - 1e-9) / 10, float(highest))


def difference_mark(name: str, paired: PairedDifference, most: float) -> Markup:
    """Draw a difference with its interval on an axis from ``-most`` to ``most``."""
    axis = Axis(left=-most, right=most, line=0, kind="zero", grid=(-most, most))
    interval = None if paired.interval is None else (paired.interval.low, paired.interval.high)
    description = f"{difference_text(paired.difference)} {around_text(paired.interval)}, from {-most:g} to {most:g}"
    return interval_mark(name, paired.difference, interval, axis, description=description, width="100%")


def _outcomes(paired: PairedDifference) -> Markup:
    """Draw one bar for the cases in which B scored more, the same, and less."""
    counts = [
        (Standing.PASS, paired.wins, f"{counted(paired.wins, 'win')} for B"),
        (Standing.NOT_EVALUATED, paired.ties, f"{counted(paired.ties, 'tie')} for B"),
        (Standing.FAIL, paired.losses, f"{counted(paired.losses, 'loss', 'losses')} for B"),
    ]
    return outcome_bar(counts, f"{paired.wins:,} wins, {paired.ties:,} ties and {paired.losses:,} losses for B")


def _facts(subject: Compared) -> Iterator[tuple[str, str]]:
    paired = subject.scores
    if not paired.n:
        return
    yield "Mean of A", score_text(paired.mean_a, 3)
    yield "Mean of B", score_text(paired.mean_b, 3)
    around = "" if paired.interval is None else f" {around_text(paired.interval)}"
    yield "B − A", f"{difference_text(paired.difference)}{around}"
    if paired.test is not None:
        corrected = "" if subject.p_holm in (None, paired.p) else f", {p_text(subject.p_holm)} after Holm"
        yield "Test", paired.test
        yield "p", f"{p_text(paired.p)}{corrected}"
    if paired.effect is not None:
        yield paired.effect.name.capitalize(), NONE if paired.effect.value is None else f"{paired.effect.value:.2f}"
    yield "Scored in both", f"{paired.n:,}" + (f" in {counted(paired.clusters, 'cluster')}" if paired.clusters else "")
