"""A judge and a target that the command gives in place of the suite's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import typer

from evenhand.cli.options import called, is_typed
from evenhand.domain.run import RunRecord
from evenhand.engine.job import Scope
from evenhand.suites.suite import Suite, read_suite

_FLAGS: Final = {"judge": "--judge", "target": "--target"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """What was given; None leaves the suite as it is."""

    judge: str | None = None
    target: str | None = None

    @classmethod
    def typed(cls, ctx: typer.Context, judge: str | None, target: str | None) -> Replaced:
        """Take what was typed: that counts before the suite."""
        return cls(
            judge=judge if is_typed(ctx, "judge") else None,
            target=target if is_typed(ctx, "target") else None,
        )

    @classmethod
    def of(cls, run: RunRecord) -> Replaced:
        """Take what was given when a run was started."""
        return cls(judge=run.options.get("judge"), target=run.options.get("target"))

    def over(self, other: Replaced) -> Replaced:
        """Put this over what was given before."""
        return Replaced(judge=self.judge or other.judge, target=self.target or other.target)

    def read(self, path: str, called: Mapping[str, str] = _FLAGS) -> Suite:
        """Read a suite with these in place of its own; ``called`` is where they come from."""
        return read_suite(path, judge=self.judge, target=self.target, called=called)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandScope(Scope):
    """A scope that knows what the command replaced, and whether it asked anew: ``resume`` does as the run did."""

    replaced: Replaced = Replaced()
    no_cache: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the scope as plain JSON values."""
        given = {"judge": self.replaced.judge, "target": self.replaced.target, "no_cache": self.no_cache or None}
        return Scope.as_dict(self) | {name: value for name, value in given.items() if value is not None}


def read_for(ctx: typer.Context, path: str, judge: str | None, target: str | None) -> tuple[Suite, Replaced]:
    """Read a suite for a command.

    A judge or target that was typed replaces the suite's; one from the environment or a settings file is for suites
    that name none, as it is in the library.
    """
    typed = Replaced.typed(ctx, judge, target)
    suite = typed.read(path)
    usual = Replaced(
        judge=None if "judge" in suite.definition else judge,
        target=None if "target" in suite.definition else target,
    )
    replaced = typed.over(usual)
    if replaced != typed:
        suite = replaced.read(path, {name: called(ctx, name) for name in _FLAGS})
    return suite, replaced
