"""The table of cases in the HTML report: a row each, which opens to show all about the case."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from evenhand.domain.evaluation import Status
from evenhand.domain.run import CaseResult, Judgment
from evenhand.reports.html.case import CaseView
from evenhand.reports.html.judgment import badge, badge_text, outcome_of
from evenhand.reports.html.markup import join, tag
from evenhand.reports.html.renderer import render
from evenhand.reports.phrases import Standing, counted, score_text, standings
from evenhand.reports.report import Report
from evenhand.reports.safe_text import plain

MOST_ROWS: Final = 20_000
MOST_DETAILED: Final = 2_000
# The style sheet has room for this many.
MOST_COLUMNS: Final = 8
_GIST: Final = 160
_WHY: Final = 600
_SPREAD: Final = ("Spread", "Failed")
_GROUP: Final = "group"
_PROFILE: Final = "profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKind:
    """What the cases of a run are called, and what is shown of them.

    ``has_verdicts`` is false where none passes or fails. ``is_best_first`` is for profiles that were scored: they come
    in that order, each with the reasons for its score beside it. ``is_repeated`` is for those that were judged several
    times each.
    """

    noun: str = "case"
    has_verdicts: bool = True
    is_best_first: bool = False
    is_repeated: bool = False

    @property
    def has_spread(self) -> bool:
        """Whether it is shown how far the scores of a profile lie apart, and how many calls gave none."""
        return self.is_repeated and self.noun == _PROFILE

    def columns(self, evaluators: Sequence[str]) -> Sequence[str]:
        """Return the evaluators that have a column of their own.

        The only one of profiles has the score already, and that of groups gives none.
        """
        return () if self.noun in (_PROFILE, _GROUP) else evaluators[:MOST_COLUMNS]

    def widths(self, evaluators: Sequence[str]) -> str:
        """Return how wide the columns are, for the style sheet."""
        spread = ["72px", "64px"] if self.has_spread else []
        if self.is_best_first:
            marked = ["124px"] if self.has_verdicts else []
            return " ".join(["minmax(140px, 2fr)", "92px", *spread, *marked, "minmax(0, 7fr)"])
        score = ["72px"] if self.has_scores else []
        others = ["minmax(66px, 116px)"] * len(self.columns(evaluators))
        return " ".join(["minmax(180px, 1fr)", "124px", *score, *spread, *others])

    @property
    def has_scores(self) -> bool:
        """Whether a case has a score: a group has none, neither in all nor by its judge."""
        return self.noun != _GROUP

    @property
    def first(self) -> tuple[Standing, ...]:
        """Which cases come in before others where there is not room for all."""
        if self.is_best_first:
            return ()
        return (Standing.ERROR, Standing.FAIL) if self.has_verdicts else (Standing.ERROR,)

    @property
    def order(self) -> str:
        """The same in words."""
        if self.is_best_first:
            return "the highest scores before others"
        return "errors and fails before others" if self.has_verdicts else "errors before others"


class Room:
    """Room for a limited number of cases: what went wrong comes first, the others as they come."""

    def __init__(
        self,
        most: int,
        counts: Mapping[Standing, int],
        first: Sequence[Standing] = (Standing.ERROR, Standing.FAIL),
    ) -> None:
        self.most = most
        self.left_out = max(sum(counts.values()) - most, 0)
        self._kept: dict[Standing, int] = {}
        self._free = most
        for standing in first:
            self._kept[standing] = min(self._free, counts.get(standing, 0))
            self._free -= self._kept[standing]

    def take(self, standing: Standing) -> bool:
        """Take a place for a case, and return whether there was one."""
        if self._kept.get(standing):
            self._kept[standing] -= 1
            return True
        # Cases may have been judged since they were counted: where there is room, none is turned away.
        self._free -= 1
        return self._free >= 0


def cases_shown(report: Report, kind: TableKind) -> Iterable[CaseResult]:
    """Return the cases of a report; of more than there is room for, only those that come in are read."""
    counts = standings(report.summary.cases)
    if sum(counts.values()) <= MOST_ROWS or report.standings is None or report.at is None:
        return report.results()
    room = Room(MOST_ROWS, counts, kind.first)
    return report.at([position for position, standing in report.standings() if room.take(standing)])


def case_table(
    views: Iterable[CaseView],
    counts: Mapping[Standing, int],
    evaluators: Sequence[str],
    kind: TableKind = TableKind(),  # noqa: B008 - it is frozen
) -> Iterator[str]:
    """Yield the section with the table, piece by piece."""
    rows, detailed = (Room(most, counts, kind.first) for most in (MOST_ROWS, MOST_DETAILED))
    columns = kind.columns(evaluators)
    yield Markup('<section class="cases" aria-labelledby="cases-heading">')
    yield tag("h2", f"{kind.noun.capitalize()}s", id="cases-heading")
    yield from _notes(rows, detailed, len(evaluators) if columns else 0, sum(counts.values()), kind)
    yield _tools(counts, kind)
    style = "results scores" if kind.is_best_first else "results"
    yield Markup('<table class="{}" id="cases" role="table" aria-labelledby="cases-heading">').format(style)
    yield _head(columns, kind)
    yield Markup('<tbody role="rowgroup">\n')
    for view in views:
        standing = view.standing  # computed at each access
        if rows.take(standing):
            yield _row(view, standing, columns, kind, detailed=detailed.take(standing))
            yield "\n"
    yield Markup("</tbody></table></section>\n")


def _notes(rows: Room, detailed: Room, evaluators: int, total: int, kind: TableKind) -> Iterator[Markup]:
    def note(sentence: str) -> Markup:
        return tag("p", sentence, class_="note")

    if rows.left_out:
        yield note(
            f"The table has {rows.most:,} of {total:,} {kind.noun}s, {kind.order}; "
            f"{counted(rows.left_out, kind.noun)} are left out here. The JSONL output has all."
        )
    if detailed.left_out:
        yield note(
            f"{detailed.most:,} of {total:,} {kind.noun}s can be opened, {kind.order}; "
            f"of the other {detailed.left_out:,} this file has scores at most. The JSONL output has all."
        )
    if evaluators > MOST_COLUMNS:
        yield note(f"The table has columns for {MOST_COLUMNS} of {evaluators} evaluators; the cases have all of them.")


def _tools(counts: Mapping[Standing, int], kind: TableKind) -> Markup:
    """Return the controls that need JavaScript, which makes them visible."""
    scale = 1 if kind.has_scores else None
    by_outcome = Counter[str]()
    for standing, count in counts.items():
        by_outcome[outcome_of(standing, scale, has_verdicts=kind.has_verdicts)] += count
    chips = [
        tag("button", badge_text(outcome), " ", tag("span", f"{count:,}", class_="quiet"),
            type="button", aria_pressed="false", data_standing=outcome)
        for outcome, count in by_outcome.items() if count
    ]  # fmt: skip
    return tag(
        "div",
        tag("label", "Search", for_="search", class_="hidden"),
        tag("input", type="search", id="search", placeholder="Search ids and texts  ( / )", autocomplete="off",
            spellcheck="false"),
        tag("fieldset", tag("legend", "Show only", class_="hidden"), *chips),
        tag("button", "Open all", type="button", id="open"),
        tag("span", id="shown", role="status"),
        class_="tools", id="tools", hidden="",
    )  # fmt: skip


def _head(columns: Sequence[str], kind: TableKind) -> Markup:
    def head(name: str, class_: str | None = None, by: str | None = None) -> Markup:
        return tag("th", name, scope="col", role="columnheader", class_=class_, data_by=by)

    more = tag("th", tag("span", "Details", class_="hidden"), scope="col", role="columnheader")
    outcome = head("Verdict" if kind.has_verdicts else "Outcome", by="standing")
    scores = [head(name, "number") for name in ("Score", *(_SPREAD if kind.has_spread else ()))]
    if kind.is_best_first:
        others = [*scores, *([outcome] if kind.has_verdicts else []), head("Why", by="text")]
    else:
        others = [outcome, *(scores if kind.has_scores else ()), *(head(name, "number") for name in columns)]
    return tag("thead", tag("tr", head(kind.noun.capitalize()), *others, more, role="row"), role="rowgroup")


def _row(view: CaseView, standing: Standing, columns: Sequence[str], kind: TableKind, *, detailed: bool) -> Markup:
    result = view.result
    score = _shown(result.outcome.score if standing.scored else None, view.scale)
    gist = plain((result.case.question_text or "")[: 4 * _GIST], _GIST)
    name = join(tag("span", result.id, class_="id"), " ", tag("span", gist, class_="gist"))
    shown = outcome_of(standing, view.scale, has_verdicts=view.has_verdicts)
    outcome = tag("td", badge(shown), role="cell")
    number = tag("td", score_text(score), role="cell", class_="number", data_value=_value(score))
    spread = _spread(view) if kind.has_spread else ()
    if kind.is_best_first:
        if score is None:
            number = tag("td", badge(shown), role="cell", class_="number")
        why = tag("td", plain(view.why, _WHY), role="cell", class_="why", dir="auto")
        cells = [number, *spread, *([outcome] if kind.has_verdicts else []), why]
    else:
        by_evaluator: dict[str, list[Judgment]] = {}
        for judgment in result.judgments:
            by_evaluator.setdefault(judgment.evaluation.evaluator, []).append(judgment)
        numbers = [number, *spread] if kind.has_scores else []
        cells = [outcome, *numbers, *(_scores(column, by_evaluator.get(column, []), view) for column in columns)]
    return tag(
        "tr",
        tag("th", name, scope="row", role="rowheader"),
        *cells,
        tag("td", _more(view) if detailed else None, role="cell", class_="more"),
        id=f"case-{result.position + 1}",
        role="row",
        data_standing=shown,
    )


def _spread(view: CaseView) -> Iterator[Markup]:
    """Yield how far the scores of a profile lie apart, and how many calls about it gave none."""
    evaluations = [judgment.evaluation for judgment in view.result.judgments]
    scores = [one.score for one in evaluations if one.status is Status.SCORED and one.score is not None]
    failed = sum(one.error is not None for one in evaluations)
    apart = _shown(statistics.stdev(scores) if scores[1:] and not view.result.pending else None, view.scale)
    for heading, text, value in zip(
        _SPREAD, (score_text(apart), f"{failed:,}"), (_value(apart), str(failed)), strict=True
    ):
        yield tag("td", text, role="cell", class_="number", data_name=heading, data_value=value)


def _shown(score: float | None, scale: int | None) -> float | None:
    """Return a score on the scale of its run; None for a group, which has none."""
    return None if score is None or scale is None else score * scale


def _more(view: CaseView) -> Markup:
    summary = tag("summary", tag("span", f"Details of {view.result.id}", class_="hidden"))
    return tag("details", summary, render("case_in_report.html", view=view))


def _scores(evaluator: str, judgments: Sequence[Judgment], view: CaseView) -> Markup:
    """Show what an evaluator gave: its score, or the mean of its samples' scores."""
    standings = [Standing.of(judgment.evaluation) for judgment in judgments]
    scores = [
        judgment.evaluation.score
        for judgment, standing in zip(judgments, standings, strict=True)
        if judgment.evaluation.score is not None and standing is not Standing.ERROR
    ]
    mean = _shown(sum(scores) / len(scores) if scores else None, view.scale)
    shown: list[str] = [score_text(mean)] if mean is not None or not judgments else []
    outcomes = {outcome_of(standing, view.scale, has_verdicts=view.has_verdicts) for standing in standings}
    if len(outcomes) == 1:
        shown.insert(0, join(_sign(*outcomes), " "))
    if len(judgments) > 1:
        shown.append(f" ×{len(judgments)}")
    return tag("td", *shown, role="cell", class_="number", data_name=evaluator, data_value=_value(mean))


def _sign(outcome: str) -> Markup:
    sign, _, word = badge_text(outcome).partition(" ")
    return tag("abbr", sign, title=word, class_=outcome)


def _value(score: float | None) -> str | None:
    return None if score is None else f"{score:.6g}"
