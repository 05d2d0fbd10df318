"""What `evenhand runs verify` says of a run."""

from __future__ import annotations

from evenhand.cli.console import Console
from evenhand.reports.numbers import counted
from evenhand.reports.plain import plain
from evenhand.store.verification import Verified


def tell(verified: Verified, console: Console) -> None:
    """Give a line on a run, and one more for each thing that is wrong with it."""
    rows = counted(verified.rows, "row")
    if verified.uncovered:
        rows += f", {verified.uncovered:,} of them not covered (written before checksums were kept)"
    if verified.is_sound:
        console.result(f"{plain(verified.id)}  ok: {rows}")
        return
    console.result(f"{plain(verified.id)}  damaged: {counted(verified.damages, 'fault')} in {rows}")
    for what in verified.told:
        console.result(f"  {plain(what, None)}")
    if (more := verified.damages - len(verified.told)) > 0:
        console.result(f"  and {more:,} more")
