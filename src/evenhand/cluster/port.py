"""The way to workers, wherever they are: what the driver needs of a cluster, and of a worker in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from evenhand.cluster.messages import Orders, Report, Shipment
from evenhand.models.embedded.runtime import Load


class WorkerLost(Exception):  # noqa: N818 - the run goes on without it
    """A worker died; the message says what is known of it."""


class Port(Protocol):
    """The way to one worker."""

    async def begin(self, shipment: Shipment) -> str | None:
        """Give the worker what it needs; return what is wrong with that, if something is. Raises ``WorkerLost``."""
        ...

    async def exchange(self, orders: Orders) -> Report:
        """Give orders, and wait for the next report. Raises ``WorkerLost``."""
        ...

    def close(self) -> None:
        """End the worker."""
        ...


class Cluster(Protocol):
    """Where workers are started."""

    @property
    def workers(self) -> int:
        """How many workers it has room for."""
        ...

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that the environment of every worker must have."""
        ...

    @property
    def ships_files(self) -> bool:
        """Whether workers have the suite's folder as a copy of their own."""
        ...

    def host(self, models: Sequence[Load]) -> Cluster:
        """Return the cluster as one run uses it, with places for models that its workers share.

        What the cluster can never have is refused.
        """
        ...

    def start(self) -> Port:
        """Start a worker."""
        ...

    def close(self) -> None:
        """End what a run has beside its workers."""
        ...
