"""Workers as actors of Ray, on this machine or on the nodes of a cluster."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from evenhand.cluster.messages import Orders, Report, Shipment
from evenhand.cluster.port import WorkerLost
from evenhand.cluster.ray_calls import answer, first_line
from evenhand.cluster.ray_connection import Connection, check_place, connected, require_reachable
from evenhand.cluster.ray_models import MOST_SLOTS, Hosts, RayModels
from evenhand.cluster.ray_worker import RayWorker
from evenhand.cluster.shippable import require_shippable
from evenhand.cluster.traced_runner import cluster_runner_for
from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.engine.job import Job
from evenhand.engine.runner import Runner
from evenhand.models.embedded.runtime import Load
from evenhand.version import __version__


class RayCluster:
    """A cluster to which this process is connected, with room for so many workers."""

    def __init__(self, connection: Connection, *, workers: int | None, variables: Sequence[str] = ()) -> None:
        self._ray = ray = connection.ray
        self._connection = connection
        self.variables = tuple(variables)
        self._wanted = workers
        # How many workers it has room for, or the user wants.
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)) if workers is None else workers)
        self._numbers = itertools.count()
        # On this machine there is one place for them, whoever else is there: runs of a server share it.
        options: dict[str, Any] = {"num_cpus": 1 if connection.is_joined else 0, "max_task_retries": 0}
        # Over the nodes, and not one node after the other: programs as judges need its processors.
        spread = {"max_restarts": 0, "max_concurrency": 8, "scheduling_strategy": "SPREAD"}
        self._actor = ray.remote(**options, **spread)(RayWorker)
        self._models = RayModels(connection, options)

    @property
    def session(self) -> Path | None:
        """Where a Ray that was started here has its logs and sockets."""
        return self._connection.session

    @property
    def nodes(self) -> int:
        """How many machines it has."""
        return sum(bool(node.get("Alive")) for node in self._ray.nodes())

    def require_package(self) -> None:
        """Refuse nodes that do not have this version of the package, before anything is asked."""
        version_there = self._ray.remote(num_cpus=0)(metadata.version)  # a function that every Python has
        on_node = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        for node in self._ray.nodes():
            if not node.get("Alive"):
                continue
            strategy = on_node(node_id=node["NodeID"], soft=False)
            try:
                found = self._ray.get(version_there.options(scheduling_strategy=strategy).remote("evenhand"))
            except self._ray.exceptions.RayTaskError as failed:
                if not isinstance(failed.cause, metadata.PackageNotFoundError):
                    raise ConfigError(f"node {node['NodeManagerAddress']}: {_last_line(failed)}") from None
                found = None
            if found != _installed_version():
                has = "does not have Evenhand" if found is None else f"has Evenhand {found}"
                where = f"node {node['NodeManagerAddress']} of the cluster"
                raise ConfigError(f"{where} {has}; install {_installed_version()} on all nodes")

    @property
    def ships_files(self) -> bool:
        """Whether workers have the suite's folder as a copy of their own."""
        return not self._connection.is_here

    def host(self, models: Sequence[Load]) -> RayCluster:
        """Return the cluster as one run uses it, with models that its workers share; refuse what it can never have."""
        hosting = copy.copy(self)
        hosting._models = self._models.of_a_run()
        processors = hosting._models.place(models)
        if models and self._wanted is None and self._connection.is_joined:
            hosting.workers = max(1, processors)
        return hosting

    def start(self) -> RayPort:
        """Start a worker."""
        return RayPort(self._ray, self, next(self._numbers))

    def start_actor(self) -> Any:
        """Start the process of a worker."""
        return self._actor.remote()

    async def hosts(self) -> Hosts:
        """Start the models that workers share, once, and return where they are."""
        return await self._models.started(slots=min(self.workers, MOST_SLOTS))

    def close(self) -> None:
        """End the models of the run."""
        self._models.close()


class RayPort:
    """The way to one actor, which is started when the models that it asks are."""

    def __init__(self, ray: Any, cluster: RayCluster, number: int) -> None:
        self._ray = ray
        self._cluster = cluster
        self._number = number
        self._actor: Any = None

    async def begin(self, shipment: Shipment) -> str | None:
        """Give the worker what it needs; return what is wrong with that, if something is."""
        hosts = await self._cluster.hosts()
        self._actor = self._cluster.start_actor()
        problem = await self._call(self._actor.begin, shipment, hosts, self._number)
        return None if problem is None else f"on a worker: {problem}"

    async def exchange(self, orders: Orders) -> Report:
        """Give orders, and wait for the next report."""
        report: Report = await self._call(self._actor.exchange, orders)
        return report

    async def _call(self, method: Any, *message: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return await answer(method.remote(*message).future())
        except (errors.RayActorError, errors.WorkerCrashedError, errors.NodeDiedError) as lost:
            raise WorkerLost(first_line(lost)) from None
        except errors.RuntimeEnvSetupError as failed:
            raise ConfigError(f"the suite's files could not be sent to the workers: {first_line(failed)}") from None
        except errors.RayTaskError as failed:
            raise EvenhandError(f"a worker failed: {_last_line(failed)}") from None

    def close(self) -> None:
        """End the worker, if it has not ended."""
        if self._actor is None:
            return
        with contextlib.suppress(Exception):  # whatever it says, nobody waits for it any more
            self._ray.kill(self._actor)


def _installed_version() -> str:
    try:
        return metadata.version("evenhand")
    except metadata.PackageNotFoundError:  # it runs from its sources
        return __version__


def _last_line(error: BaseException) -> str:
    return ([line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__])[-1][:300]


@contextlib.contextmanager
def ray_cluster(
    on: str, *, workers: int | None = None, folder: Path | None = None, variables: Sequence[str] = ()
) -> Iterator[RayCluster]:
    """Connect to Ray, or start one that ends with this; ``folder`` is the suite's, which workers elsewhere need."""
    with connected(on, workers=workers, folder=folder) as connection:
        cluster = RayCluster(connection, workers=workers, variables=variables)
        if connection.is_joined:
            cluster.require_package()
        yield cluster


def runner_on(
    on: str, job: Job, *, workers: int | None = None, variables: Sequence[str] = ()
) -> Callable[[], contextlib.AbstractContextManager[Callable[..., Runner]]]:
    """Return what connects to a cluster and makes runners of runs on it; what could not be there is refused now."""
    check_place(on, variables)
    require_reachable(on)
    require_shippable(job)

    @contextlib.contextmanager
    def runners() -> Iterator[Callable[..., Runner]]:
        with ray_cluster(on, workers=workers, folder=job.folder, variables=variables) as cluster:
            yield functools.partial(cluster_runner_for, cluster)

    return runners
