"""What `evenhand runs verify` says of a run."""

from __future__ import annotations

from evenhand.cli.console import Console
from evenhand.reports.numbers import counted
from evenhand.reports.plain import plain
from evenhand.store.verification import Verified


def tell(verified: Verified, console: Console) -> None:
    """Print a line about a run, and one more for each fault."""
    rows = counted(verified.rows, "row")
    if verified.uncovered:
        rows += f", {verified.uncovered:,} of them without a checksum (written by an older version)"
    if verified.is_sound:
        console.result(f"{plain(verified.id)}  ok: {rows}")
        return
    console.result(f"{plain(verified.id)}  damaged: {counted(verified.damages, 'fault')} in {rows}")
    for what in verified.told:
        console.result(f"  {plain(what, None)}")
    if (more := verified.damages - len(verified.told)) > 0:
        console.result(f"  and {more:,} more")
