"""A worker as an actor of Ray. Nothing here imports Ray: the actor is made of this class where Ray is used."""

from __future__ import annotations

from evenhand.cluster.messages import Orders, Report, Shipment
from evenhand.cluster.ray_models import Hosts, shared_models
from evenhand.cluster.shipped_log import ShippedLog, install_log
from evenhand.cluster.worker import Worker
from evenhand.domain.errors import EvenhandError
from evenhand.models.embedded.runtime import run_elsewhere


class RayWorker:
    """The worker in a process of Ray; it ends with the driver, which owns it."""

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._log: ShippedLog | None = None

    async def begin(self, shipment: Shipment, hosts: Hosts, number: int) -> str | None:
        """Make what judges, with models that others run; return what is wrong with the shipment, if something is."""
        self._log = install_log(shipment.log_level)
        try:
            run_elsewhere(shared_models(hosts, asker=number))
            self._worker = Worker(shipment)
        except EvenhandError as error:
            return str(error)
        return None

    async def exchange(self, orders: Orders) -> Report:
        """Take orders, and report."""
        if self._worker is None:
            raise RuntimeError("the worker was given nothing to judge with")
        report = await self._worker.exchange(orders)
        if self._log is not None:
            report.logs = self._log.taken()
        return report
