"""Groups of commands of which one is meant when none is named."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class WithDefault(TyperGroup):
    """A group whose ``usual`` command runs where no other is named."""

    usual: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the usual command in, unless another one or help is asked for."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = [self.usual, *args]
        return super().parse_args(ctx, args)


class ListByDefault(WithDefault):
    """A group that lists."""

    usual = "list"


class ShowByDefault(WithDefault):
    """A group that shows."""

    usual = "show"
