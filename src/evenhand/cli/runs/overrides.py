"""A judge and a target that the command gives in place of the suite's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from evenhand.cli.options import display_name, is_typed
from evenhand.domain.label import LABELS_FILE
from evenhand.domain.run import RunRecord
from evenhand.engine.job import Scope

if TYPE_CHECKING:
    from evenhand.suites.suite import Suite

_FLAGS: Final = {"judge": "--judge", "target": "--target"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The judge and the target of a command; None leaves the suite as it is."""

    judge: str | None = None
    target: str | list[str] | None = None

    @classmethod
    def typed(cls, ctx: typer.Context, judge: str | None, target: list[str] | None) -> Overrides:
        """Return what was typed, which takes precedence over the suite."""
        return cls(
            judge=judge if is_typed(ctx, "judge") else None,
            target=_one_or_several(target) if is_typed(ctx, "target") else None,
        )

    @classmethod
    def of(cls, run: RunRecord) -> Overrides:
        """Return the overrides with which a run was started."""
        return cls(judge=run.options.get("judge"), target=run.options.get("target"))

    def over(self, other: Overrides) -> Overrides:
        """Return these overrides, completed by others."""
        return Overrides(judge=self.judge or other.judge, target=self.target or other.target)

    def read(self, path: str, names: Mapping[str, str] = _FLAGS) -> Suite:
        """Read a suite with these in place of its own; ``names`` are those of the options in messages."""
        from evenhand.suites.suite import read_suite  # noqa: PLC0415 - profiles are judged without any suite

        return read_suite(path, judge=self.judge, target=self.target, called=names)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandScope(Scope):
    """A scope with the overrides, whether the cache was ignored, and the labels: ``resume`` does as the run did."""

    overrides: Overrides = Overrides()
    no_cache: bool = False
    labels: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the scope as plain JSON values."""
        own = {"judge": self.overrides.judge, "target": self.overrides.target, "no_cache": self.no_cache or None}
        own[LABELS_FILE] = self.labels
        return Scope.as_dict(self) | {name: value for name, value in own.items() if value is not None}


def _one_or_several(names: list[str] | None) -> str | list[str] | None:
    """Return the only name by itself, as runs have always stored it."""
    return names[0] if names and len(names) == 1 else names or None


def read_with_overrides(
    ctx: typer.Context, path: str, judge: str | None, target: list[str] | None
) -> tuple[Suite, Overrides]:
    """Read a suite for a command.

    A judge or target that was typed replaces the suite's; one from the environment or a settings file is for suites
    that name none, as it is in the library.
    """
    typed = Overrides.typed(ctx, judge, target)
    suite = typed.read(path)
    defaults = Overrides(
        judge=None if "judge" in suite.definition else judge,
        target=None if "target" in suite.definition else _one_or_several(target),
    )
    overrides = typed.over(defaults)
    if overrides != typed:
        suite = overrides.read(path, {name: display_name(ctx, name) for name in _FLAGS})
    return suite, overrides
