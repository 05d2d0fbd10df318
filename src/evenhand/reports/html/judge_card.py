"""A judge card as its page and its HTML file show it, and that file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from markupsafe import Markup

from evenhand.domain.summary import Corrected, Interval, Rate
from evenhand.reports.blocks import Grid
from evenhand.reports.html.card_parts import as_sentence, figures, scroll, section, sentences
from evenhand.reports.html.charts import Axis, interval_mark, outcome_bar
from evenhand.reports.html.forest import forest
from evenhand.reports.html.markup import join, tag
from evenhand.reports.html.page import whole_document
from evenhand.reports.html.reliability_chart import reliability_chart, reliability_rows
from evenhand.reports.judge_card import (
    agreement_lines,
    alone_lines,
    card_title,
    confusion,
    difference_table,
    label_lines,
    limit_lines,
    mark_lines,
    people_lines,
    rate_lines,
    rater_table,
    sure_lines,
)
from evenhand.reports.phrases import Standing, interval_text, score_text
from evenhand.stats.kappa import Kappa
from evenhand.stats.refusal import Refused
from evenhand.trust.card import JudgeCard

# Where a case is shown, by its position; None in a file, which has no other pages.
CaseAddress = Callable[[int], str]
_SHARES: Final = Axis(left=0, right=1, grid=(0, 0.25, 0.5, 0.75, 1))
_SCALE: Final = "0 to 1"


def judge_card_html(card: JudgeCard) -> str:
    """Return the card as one HTML file, which needs nothing else."""
    header = tag(
        "header",
        tag("p", f"Evenhand judge card of run {card.run}", class_="kind"),
        tag("h1", card.name, dir="auto"),
        None if card.evaluator is None else tag("p", "Evaluator ", tag("strong", card.evaluator), dir="auto"),
    )
    body = join(header, tag("div", judge_card_parts(card), class_="judge-card outcome"))
    return whole_document(f"{card_title(card)}: {card.name}", body)


def judge_card_parts(card: JudgeCard, address: CaseAddress | None = None) -> Markup:
    """Return everything below the title."""
    return join(
        tag("p", *_headline(card), class_="headline"),
        sentences(label_lines(card)),
        section("Next", tag("p", as_sentence(card.next_step), class_="next")),
        section("Limits of the suite", sentences(limit_lines(card))) if card.limits else None,
        section("Pass rate", _rates(card), sentences(rate_lines(card))),
        section("Agreement with people", _shares(card), sentences(agreement_lines(card))),
        section("What people and the judge said", _bars(card), _matrix(card)) if card.counts.n else None,
        section("Scores and people", *_curve(card)) if card.curve else None,
        section("Pass mark", sentences(mark_lines(card))),
        section("Borderline", sentences(sure_lines(card))),
        section("Deciding alone", sentences(alone_lines(card))),
        section("People", sentences(people_lines(card)), _table(rater_table(card)) if len(card.raters) > 1 else None),
        _differences(card, address) if card.differences else None,
        section("Notes", sentences(card.notes)) if card.notes else None,
    )


def _headline(card: JudgeCard) -> Iterator[str]:
    rate, corrected = card.judge_rate, card.corrected
    if isinstance(rate, Refused):
        yield "No case has an answer and a score."
        return
    yield "The judge passes "
    yield tag("strong", f"{rate.value:.0%}")
    if isinstance(corrected, Refused):
        yield "; what people would pass cannot be said yet."
        return
    yield "; people would pass "
    yield tag("strong", f"{corrected.value:.0%}")
    around = corrected.interval
    yield tag("span", f" {around.low:.0%} to {around.high:.0%}", class_="quiet")


def _rates(card: JudgeCard) -> Markup | None:
    rows = [
        ("Judge", card.judge_rate),
        ("People, corrected", card.corrected),
        ("People, labels alone", card.labels_only),
    ]
    return _forest("Pass rate of", rows)


def _shares(card: JudgeCard) -> Markup | None:
    rows = [
        ("Agreement", card.agreement),
        ("Kappa", card.kappa),
        ("Sensitivity", card.sensitivity),
        ("Specificity", card.specificity),
    ]
    return _forest("Share", rows)


def _forest(first: str, rows: Iterable[tuple[str, Rate | Corrected | Kappa | Refused]]) -> Markup | None:
    """Show the estimates that there are, each with its interval."""
    shown = []
    for name, found in rows:
        if isinstance(found, Refused):
            continue
        around = found.interval if isinstance(found.interval, Interval) else None
        ends = None if around is None else (around.low, around.high)
        described = f"{name}: {score_text(found.value)} {interval_text(around)}"
        mark = interval_mark(name, found.value, ends, _SHARES, description=described)
        shown.append((name, mark, (score_text(found.value), interval_text(around))))
    return scroll(forest((first, "Estimate", "95 %"), shown, _SCALE), first) if shown else None


def _bars(card: JudgeCard) -> Markup:
    found = card.counts
    passed = ((Standing.PASS, found.tp, f"{found.tp} passed by the judge"),
              (Standing.FAIL, found.fn, f"{found.fn} not passed by the judge"))  # fmt: skip
    failed = ((Standing.PASS, found.tn, f"{found.tn} not passed by the judge"),
              (Standing.FAIL, found.fp, f"{found.fp} passed by the judge"))  # fmt: skip
    rows = (("People pass", found.tp, found.fn, passed), ("People fail", found.tn, found.fp, failed))
    return join(
        *(
            tag(
                "div",
                tag("p", f"{name}: the judge is right in {right:,} of {right + wrong:,}"),
                outcome_bar(counts, f"{right} right, {wrong} wrong", title=name),
            )
            for name, right, wrong, counts in rows
            if right + wrong
        ),
        tag("p", tag("span", class_="key pass"), "the judge is right", tag("span", class_="key fail"), "it is wrong",
            class_="legend-line"),
    )  # fmt: skip


def _matrix(card: JudgeCard) -> Markup:
    grid = confusion(card)
    head = tag("tr", *(tag("th", name.capitalize(), scope="col") for name in grid.headings))
    rows = (
        tag("tr", tag("th", name, scope="row"),
            *(tag("td", cell, class_="number same" if at == number else "number") for at, cell in enumerate(cells)))
        for number, (name, *cells) in enumerate(grid.rows)
    )  # fmt: skip
    return scroll(tag("table", tag("thead", head), tag("tbody", *rows), class_="matrix"), "What was said")


def _curve(card: JudgeCard) -> Iterator[Markup]:
    said = "the mean score by people" if card.scores else "the share that people pass"
    told = (
        f"Across the judge's score, upwards {said}, with 95 % intervals. Where the points rise, higher scores mean "
        "better answers; on the diagonal, a score means what it says."
    )
    yield tag("figure", tag("figcaption", tag("p", told)), reliability_chart(card.curve, card.pass_mark))
    headings = ("Score", "Cases", "Judge, mean", "People", "95 %")
    numbers = figures(headings, reliability_rows(card.curve), (True, False, False, False, False))
    yield tag("details", tag("summary", "Numbers"), scroll(numbers, "Numbers of the chart"), class_="numbers")


def _differences(card: JudgeCard, address: CaseAddress | None) -> Markup:
    grid = difference_table(card)
    rows = []
    for (name, *cells), one in zip(grid.rows, card.differences, strict=True):
        case = tag("a", name, href=address(one.position)) if address is not None else name
        rows.append(
            tag(
                "tr",
                tag("th", case, scope="row", class_="id", dir="auto"),
                *(tag("td", cell, dir="auto") for cell in cells),
            )
        )
    head = tag("tr", *(tag("th", name.capitalize(), scope="col") for name in grid.headings))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="figures")
    return section(grid.title, scroll(table, "Cases where judge and people differ"))


def _table(grid: Grid) -> Markup:
    return scroll(figures([name.capitalize() for name in grid.headings], grid.rows, grid.to_the_left), "People")
