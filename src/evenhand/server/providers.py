"""The providers whose models runs may name, and which of their variables hold a key: never what is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand import registry
from evenhand.models.environment import variable
from evenhand.models.providers import Provider
from evenhand.server.choosing import EMBEDDED, OF_FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProvider:
    """A provider: the names of its variables, and which of them is set.

    Of one that another package brings, nobody can tell what it needs: ``needs_key`` is None.
    """

    name: str
    variables: tuple[str, ...] = ()
    needs_key: bool | None = None
    found: str | None = None

    @property
    def has_key(self) -> bool | None:
        """Whether its key is set; None where it needs none, or nobody can tell."""
        return self.found is not None if self.needs_key else None

    @property
    def state(self) -> str:
        """Whether its models can be asked."""
        if self.found:
            return "key is set"
        return "no key" if self.needs_key else "needs no key"

    @classmethod
    def of(cls, name: str, made: Any) -> KnownProvider:
        """Look which of its variables is set."""
        if not isinstance(made, Provider):
            return cls(name=name)
        found = next((one for one in made.key_variables if variable(one)), None)
        return cls(name=name, variables=made.key_variables, needs_key=made.needs_key, found=found)


def known_providers() -> list[KnownProvider]:
    """Give the providers that are registered, but for those whose models are files or run in the server."""
    points = registry.points(registry.MODELS).items()
    return [KnownProvider.of(name, point.load()) for name, point in points if name not in (*OF_FILES, EMBEDDED)]
