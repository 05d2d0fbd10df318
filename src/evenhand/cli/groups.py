"""Examples, with which the help of every command ends."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


def example(*commands: str) -> str:
    """Write commands so that the help shows them as they are typed."""
    return "\b\n" + "\n".join(["Example:" if len(commands) == 1 else "Examples:", *(f"  {one}" for one in commands)])


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
