"""What differs between two runs before anything is judged: their settings, and their cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A setting that differs between two runs, with its JSON values; None stands for one that is not set."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCount:
    """How many cases are of some kind, and the ids of the first ones."""

    count: int = 0
    first: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDifferences:
    """How run B differs from run A: its settings, the cases that only one of them has, and those that were edited.

    An edited case has another question, context, reference, expected outcome, schema or evaluators of its own; of a
    prompt's test case, the prompt is a setting and no part of the case.
    """

    settings: tuple[SettingChange, ...] = ()
    only_a: CaseCount = field(default_factory=CaseCount)
    only_b: CaseCount = field(default_factory=CaseCount)
    edited: CaseCount = field(default_factory=CaseCount)

    @property
    def are_none(self) -> bool:
        """Whether nothing differs."""
        return not (self.settings or any(each.count for each in self.cases.values()))

    @property
    def cases(self) -> Mapping[str, CaseCount]:
        """The cases that differ, by kind."""
        return {"only_a": self.only_a, "only_b": self.only_b, "edited": self.edited}

    def as_dict(self) -> dict[str, Any]:
        """Return them as plain JSON values."""
        return {
            "settings": [asdict(setting) for setting in self.settings],
            "cases": {kind: {"count": each.count, "first": list(each.first)} for kind, each in self.cases.items()},
        }
