"""How a command goes about a run: what `run` and `resume` both take as options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.cli.options import DB


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How much at once, what it may spend, where it tells what."""

    concurrency: int | None = None
    timeout: float | None = None
    outage_timeout: float | None = None
    max_cost: float | None = None
    max_calls: int | None = None
    no_cache: bool = False
    retry_errors: bool = False
    output: Sequence[str] | None = None
    db: str = DB
    quiet: bool = False
    json: bool = False
    verbose: bool = False
    log_file: str | None = None
