"""The figures of `bench.million`, kept in a file beside it and shown as tables in `docs/design/scale.md`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

KEPT = Path(__file__).with_name("million.json")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "design" / "scale.md"
BEGIN, END = "<!-- figures: python -m bench.million -->", "<!-- end of the figures -->"
# Below this, hundredths are shown.
_FEW = 10
NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


class Figure(NamedTuple):
    """What a step took: CPU seconds, those of the database's own processes, and megabytes at the peak."""

    seconds: float
    of_database: float
    megabytes: float | None


def keep(database: str, cases: int, figures: Mapping[str, Figure]) -> None:
    """Keep what was measured in place of what was, and write the tables."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    rounded = {
        step: [round(one.seconds, 2), round(one.of_database, 2), one.megabytes and round(one.megabytes)]
        for step, one in figures.items()
    }
    kept.setdefault(database, {}).setdefault(str(cases), {}).update(rounded)
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if PAGE.exists():
        PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")


def page_with(page: str, kept: Mapping[str, Mapping[str, Mapping[str, list[float | None]]]]) -> str:
    """Return a page with the tables between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = "\n".join(line for database in NAMES if database in kept for line in table(database, kept[database]))
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


def table(database: str, sizes: Mapping[str, Mapping[str, list[float | None]]]) -> Iterator[str]:
    """Yield the table of a database: for each step, seconds and megabytes by the number of cases."""
    counts = sorted(sizes, key=int)
    most_first = sorted(counts, key=lambda count: -len(sizes[count]))
    steps = list(dict.fromkeys(step for count in most_first for step in sizes[count]))
    yield ""
    yield f"### {NAMES[database]}"
    yield ""
    yield f"| | {' | '.join(f'{int(count):,} cases | memory' for count in counts)} |"
    yield f"|---|{'---:|---:|' * len(counts)}"
    for step in steps:
        yield f"| {step} | {' | '.join(_cells(sizes[count].get(step)) for count in counts)} |"


def _cells(figure: list[float | None] | None) -> str:
    if figure is None:
        return "| "
    seconds, of_database, megabytes = figure
    also = f" + {_seconds(of_database)}" if of_database else ""
    return f"{_seconds(seconds)}{also} | {'' if megabytes is None else f'{megabytes:,.0f} MB'}"


def _seconds(seconds: float | None) -> str:
    return f"{seconds or 0:,.2f} s" if (seconds or 0) < _FEW else f"{seconds:,.0f} s"
