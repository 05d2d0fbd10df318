"""The profiles of an audit in its HTML report: a row each, without a verdict, which opens to show text and replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from markupsafe import Markup

from evenhand.domain.run import CaseResult
from evenhand.profiles.scores import ProfileScore, profile_score
from evenhand.reports.html.case import CaseView
from evenhand.reports.html.markup import join, tag
from evenhand.reports.html.renderer import render
from evenhand.reports.phrases import counted, score_text

MOST_DETAILED: Final = 2_000
_SCALE: Final = 10
_HEADINGS: Final = (("Profile", None), ("Result", None), ("Score", "number"), ("Repetitions", "number"))


def profile_table(results: Iterable[CaseResult]) -> Iterator[str]:
    """Yield the section with the table, piece by piece."""
    yield Markup('<section class="cases" aria-labelledby="cases-heading">')
    yield tag("h2", "Profiles", id="cases-heading")
    about = f"Scores from 0 to 10. The first {MOST_DETAILED:,} profiles can be opened; "
    yield tag("p", about, tag("code", "evenhand audit artifacts"), " saves all of them.", class_="note")
    yield _tools()
    yield Markup('<table class="results" id="cases" role="table" aria-labelledby="cases-heading">')
    yield _head()
    yield Markup('<tbody role="rowgroup">\n')
    for number, result in enumerate(results):
        yield _row(result, detailed=number < MOST_DETAILED)
        yield "\n"
    yield Markup("</tbody></table></section>\n")


def _tools() -> Markup:
    """Return the controls that need JavaScript, which makes them visible."""
    return tag(
        "div",
        tag("label", "Search", for_="search", class_="hidden"),
        tag("input", type="search", id="search", placeholder="Search ids and texts  ( / )", autocomplete="off",
            spellcheck="false"),
        tag("button", "Open all", type="button", id="open"),
        tag("span", id="shown", role="status"),
        class_="tools", id="tools", hidden="",
    )  # fmt: skip


def _head() -> Markup:
    cells = [tag("th", name, scope="col", role="columnheader", class_=class_) for name, class_ in _HEADINGS]
    more = tag("th", tag("span", "Details", class_="hidden"), scope="col", role="columnheader")
    return tag("thead", tag("tr", *cells, more, role="row"), role="rowgroup")


def _row(result: CaseResult, *, detailed: bool) -> Markup:
    profile = profile_score(result)
    levels = " · ".join(f"{name} {level}" for name, level in profile.attributes.items())
    name = join(tag("span", result.id, class_="id"), " ", tag("span", levels, class_="gist"))
    repeated = " ".join(f"{score:g}" for score in profile.scores)
    return tag(
        "tr",
        tag("th", name, scope="row", role="rowheader"),
        tag("td", _result(profile), role="cell"),
        tag("td", score_text(profile.score), role="cell", class_="number",
            data_value=None if profile.score is None else f"{profile.score:.6g}"),
        tag("td", repeated, role="cell", class_="number", data_name="repetitions"),
        tag("td", _more(result) if detailed else None, role="cell", class_="more"),
        id=f"case-{result.position + 1}",
        role="row",
        data_standing=profile.status,
    )  # fmt: skip


def _result(profile: ProfileScore) -> str:
    if profile.status == "pending":
        return "pending"
    if profile.score is None:
        return "no score"
    return counted(profile.failures, "failed call") if profile.failures else "scored"


def _more(result: CaseResult) -> Markup:
    summary = tag("summary", tag("span", f"Details of {result.id}", class_="hidden"))
    return tag("details", summary, render("audited_profile.html", view=CaseView(result=result, scale=_SCALE)))
