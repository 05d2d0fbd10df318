"""What a run asked and ran, told apart: calls to models, programs, and calls of functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.domain.run import RunRecord
from evenhand.domain.summary import Summary
from evenhand.reports.numbers import cost_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many there were of each, judges and target together, in the words of ``--estimate``.

    ``cost`` is what it cost, for people; None where nothing that has a price was asked, and a program or function that
    made the answers did not say what it took.
    """

    models: int
    programs: int
    functions: int
    cost: str | None

    @classmethod
    def of(cls, summary: Summary, run: RunRecord | None = None) -> Effort:
        """Take the numbers of a run; its definition says what the target is."""
        target = None if run is None else run.definition.get("target")
        kinds = target if isinstance(target, Mapping) else {}
        by_program = summary.target_calls if kinds.get("command") is not None else 0
        by_function = summary.target_calls if kinds.get("python") is not None else 0
        models = summary.calls - summary.programs - by_program - by_function
        is_idle = summary.cost is None and not models and by_program + by_function > 0
        return cls(
            models=models,
            programs=summary.programs + by_program,
            functions=summary.functions + by_function,
            cost=None if is_idle else cost_text(summary.cost),
        )
