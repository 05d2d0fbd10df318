"""The elements of drawings in SVG: what lies across is given as a share of the width, what lies upright in pixels."""

from __future__ import annotations

from markupsafe import Markup

from evenhand.reports.html.markup import tag


def drawing(
    title: str,
    description: str | None,
    *marks: Markup,
    height: int,
    class_: str,
    width: str = "100%",
    role: str = "img",
) -> Markup:
    """Draw marks; title and description are for screen readers, to whom a ``group`` shows its links, too."""
    return tag(
        "svg",
        tag("title", title),
        None if description is None else tag("desc", description),
        *marks,
        role=role,
        width=width,
        height=height,
        overflow="visible",
        fill="currentColor",
        class_=class_,
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Draw a line of some kind, which is its class."""
    faint = "0.2" if kind == "grid" else None
    return tag("line", x1=percent(x1), y1=f"{y1:g}", x2=percent(x2), y2=f"{y2:g}", class_=kind,
               stroke="currentColor", stroke_opacity=faint)  # fmt: skip


def caption(text: str, at: float, y: float, anchor: str) -> Markup:
    """Write a word; ``anchor`` is which part of it is at the place."""
    return tag("text", text, x=percent(at), y=f"{y:g}", text_anchor=anchor, class_="label")


def percent(share: float) -> str:
    """Write a share of the width."""
    return f"{100 * share:.5g}%"
