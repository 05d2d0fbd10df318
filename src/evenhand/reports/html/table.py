"""The table of cases in the HTML report: a row each, which opens to show all about the case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from markupsafe import Markup

from evenhand.domain.run import CaseResult, Judgment
from evenhand.reports.html.case import CaseView
from evenhand.reports.html.judgment import badge
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


class Room:
    """Room for a limited number of cases: what went wrong comes first, the others as they come."""

    def __init__(self, most: int, counts: Mapping[Standing, int]) -> None:
        self.most = most
        self.left_out = max(sum(counts.values()) - most, 0)
        self._kept: dict[Standing, int] = {}
        self._free = most
        for standing in (Standing.ERROR, Standing.FAIL):
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


def cases_shown(report: Report) -> Iterable[CaseResult]:
    """Return the cases of a report; of more than there is room for, only those that come in are read."""
    counts = standings(report.summary.cases)
    if sum(counts.values()) <= MOST_ROWS or report.standings is None or report.at is None:
        return report.results()
    room = Room(MOST_ROWS, counts)
    return report.at([position for position, standing in report.standings() if room.take(standing)])


def case_table(views: Iterable[CaseView], counts: Mapping[Standing, int], evaluators: Sequence[str]) -> Iterator[str]:
    """Yield the section with the table, piece by piece."""
    rows, detailed = Room(MOST_ROWS, counts), Room(MOST_DETAILED, counts)
    columns = evaluators[:MOST_COLUMNS]
    yield Markup('<section class="cases" aria-labelledby="cases-heading">')
    yield tag("h2", "Cases", id="cases-heading")
    yield from _notes(rows, detailed, len(evaluators), sum(counts.values()))
    yield _tools(counts)
    yield Markup('<table class="results" id="cases" role="table" aria-labelledby="cases-heading">')
    yield _head(columns)
    yield Markup('<tbody role="rowgroup">\n')
    for view in views:
        standing = view.standing  # computed at each access
        if rows.take(standing):
            yield _row(view, standing, columns, detailed=detailed.take(standing))
            yield "\n"
    yield Markup("</tbody></table></section>\n")


def _notes(rows: Room, detailed: Room, evaluators: int, total: int) -> Iterator[Markup]:
    def note(sentence: str) -> Markup:
        return tag("p", sentence, class_="note")

    if rows.left_out:
        yield note(
            f"The table has {rows.most:,} of {total:,} cases, errors and fails before others; "
            f"{counted(rows.left_out, 'case')} are left out here. The JSONL output has all."
        )
    if detailed.left_out:
        yield note(
            f"{detailed.most:,} of {total:,} cases can be opened, errors and fails before others; "
            f"of the other {detailed.left_out:,} this file has scores at most. The JSONL output has all."
        )
    if evaluators > MOST_COLUMNS:
        yield note(f"The table has columns for {MOST_COLUMNS} of {evaluators} evaluators; the cases have all of them.")


def _tools(counts: Mapping[Standing, int]) -> Markup:
    """Return the controls that need JavaScript, which makes them visible."""
    chips = [
        tag("button", f"{standing.glyph} {standing.word} ", tag("span", f"{count:,}", class_="quiet"),
            type="button", aria_pressed="false", data_standing=standing)
        for standing, count in counts.items() if count
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


def _head(columns: Sequence[str]) -> Markup:
    def head(name: str, class_: str | None = None) -> Markup:
        return tag("th", name, scope="col", role="columnheader", class_=class_)

    more = tag("th", tag("span", "Details", class_="hidden"), scope="col", role="columnheader")
    cells = [head("Case"), head("Verdict"), head("Score", "number"), *(head(name, "number") for name in columns), more]
    return tag("thead", tag("tr", *cells, role="row"), role="rowgroup")


def _row(view: CaseView, standing: Standing, columns: Sequence[str], *, detailed: bool) -> Markup:
    result = view.result
    score = result.outcome.score if standing.scored else None
    by_evaluator: dict[str, list[Judgment]] = {}
    for judgment in result.judgments:
        by_evaluator.setdefault(judgment.evaluation.evaluator, []).append(judgment)
    gist = plain((result.case.question_text or "")[: 4 * _GIST], _GIST)
    name = join(tag("span", result.id, class_="id"), " ", tag("span", gist, class_="gist"))
    return tag(
        "tr",
        tag("th", name, scope="row", role="rowheader"),
        tag("td", badge(standing), role="cell"),
        tag("td", score_text(score), role="cell", class_="number", data_value=_value(score)),
        *(_scores(column, by_evaluator.get(column, [])) for column in columns),
        tag("td", _more(view) if detailed else None, role="cell", class_="more"),
        id=f"case-{result.position + 1}",
        role="row",
        data_standing=standing,
    )


def _more(view: CaseView) -> Markup:
    summary = tag("summary", tag("span", f"Details of {view.result.id}", class_="hidden"))
    return tag("details", summary, render("case_in_report.html", view=view))


def _scores(evaluator: str, judgments: Sequence[Judgment]) -> Markup:
    """Show what an evaluator gave: its score, or the mean of its samples' scores."""
    standings = [Standing.of(judgment.evaluation) for judgment in judgments]
    scores = [
        judgment.evaluation.score
        for judgment, standing in zip(judgments, standings, strict=True)
        if judgment.evaluation.score is not None and standing is not Standing.ERROR
    ]
    mean = sum(scores) / len(scores) if scores else None
    shown: list[str] = [score_text(mean)] if mean is not None or not judgments else []
    if len(set(standings)) == 1:
        shown.insert(0, join(_sign(standings[0]), " "))
    if len(judgments) > 1:
        shown.append(f" ×{len(judgments)}")
    return tag("td", *shown, role="cell", class_="number", data_name=evaluator, data_value=_value(mean))


def _sign(standing: Standing) -> Markup:
    return tag("abbr", standing.glyph, title=standing.word, class_=standing.value)


def _value(score: float | None) -> str | None:
    return None if score is None else f"{score:.6g}"
