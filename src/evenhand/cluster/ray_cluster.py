"""Ray, started on this machine for one run or joined where it runs already. Only this module imports it."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import importlib.util
import ipaddress
import itertools
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from evenhand.cluster.messages import Orders, Report, Shipment
from evenhand.cluster.port import WorkerLost
from evenhand.cluster.ray_models import MOST_SLOTS, Hosts, RayModels
from evenhand.cluster.ray_worker import RayWorker
from evenhand.cluster.shippable import require_shippable
from evenhand.cluster.traced_runner import cluster_runner_for
from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.engine.job import Job
from evenhand.engine.runner import Runner
from evenhand.models.embedded.runtime import Load
from evenhand.version import __version__

_log = logging.getLogger(__name__)

LOCAL: Final = "ray"
# The function of Ray that says on the standard output, in any mode, that a worker has died.
_PRINT: Final = "print_to_stdstream"
_SCHEME: Final = "ray://"
_ADDRESS: Final = "RAY_ADDRESS"
# Of a Ray that is started here: nobody is told of it, and workers run in this environment.
_OWN: Final = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
_MODE: Final = "RAY_AUTH_MODE"
_TOKEN: Final = "RAY_AUTH_TOKEN"  # noqa: S105 - its name
_STARTS: Final = 3
_OBJECT_BYTES: Final = 100_000_000
# What is never sent to other machines: secrets, databases, and files that a program can make again.
_NOT_SHIPPED: Final = [".*", "*.db", "*.db-*", "__pycache__", "*.env", "*.pem", "*.key", "node_modules"]


def check_place(on: str) -> None:
    """Refuse a place to run that cannot be, before anything is read or asked."""
    if on != LOCAL and not (on.startswith(_SCHEME) and on.removeprefix(_SCHEME).rpartition(":")[0]):
        raise ConfigError(
            f"--on is {on!r:.80}; it must be ray, for a Ray of its own on this machine or the one that RAY_ADDRESS "
            "names, or ray://host:port"
        )
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(f"--on {on} needs Ray; install it with: pip install 'evenhand[ray]'")
    if on.startswith(_SCHEME) and importlib.util.find_spec("grpc") is None:
        raise ConfigError(f"--on {on} needs Ray's client; install it with: pip install 'ray[client]'")
    _require_token(address_of(on))


def address_of(on: str) -> str | None:
    """Return the address of an existing cluster; None for a Ray of its own."""
    return on if on != LOCAL else os.environ.get(_ADDRESS, "").strip() or None


def _require_token(address: str | None) -> None:
    """Refuse a public address without a token: whoever reaches such a cluster can run programs there."""
    if address is None or address in ("auto", "local"):
        return
    host = address.removeprefix(_SCHEME).rpartition(":")[0].strip("[]")
    if not _is_public(host) or _has_token():
        return
    raise ConfigError(
        f"{address} is a public address, and there is no token for it: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here "
        "and on all of its nodes"
    )


def _is_public(host: str) -> bool:
    try:
        found = {each[4][0] for each in socket.getaddrinfo(host, None)}
    except OSError:
        return False  # whoever connects will hear of it
    return any(ipaddress.ip_address(str(each).partition("%")[0]).is_global for each in found)


def _has_token() -> bool:
    if os.environ.get(_MODE, "").strip().lower() != "token":
        return False
    named = os.environ.get(_TOKEN) or os.environ.get("RAY_AUTH_TOKEN_PATH")
    return bool(named) or (Path.home() / ".ray" / "auth_token").is_file()


class RayCluster:
    """A cluster to which this process is connected. ``folder`` is the suite's, where its files must be shipped."""

    def __init__(
        self, ray: Any, *, workers: int | None, is_own: bool, folder: Path | None, session: Path | None = None
    ) -> None:
        self._ray = ray
        # Where a Ray that was started here has its logs and sockets.
        self.session = session
        self._is_own = is_own
        self._wanted = workers
        # How many workers it has room for, or the user wants.
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)) if workers is None else workers)
        self._numbers = itertools.count()
        # On this machine there is one place for them, whoever else is there: runs of a server share it.
        options: dict[str, Any] = {"num_cpus": 0 if is_own else 1, "max_task_retries": 0}
        if self.ships_files and folder is not None:
            options["runtime_env"] = {"working_dir": str(folder), "excludes": _NOT_SHIPPED}
        # Over the nodes, and not one node after the other: programs as judges need its processors.
        spread = {"max_restarts": 0, "max_concurrency": 8, "scheduling_strategy": "SPREAD"}
        self._actor = ray.remote(**options, **spread)(RayWorker)
        self._models = RayModels(ray, options, is_own=is_own)

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
        return not self._is_own

    def host(self, models: Sequence[Load]) -> RayCluster:
        """Return the cluster as one run uses it, with models that its workers share; refuse what it can never have."""
        hosting = copy.copy(self)
        hosting._models = self._models.of_a_run()
        processors = hosting._models.place(models)
        if models and self._wanted is None and not self._is_own:
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
            return await method.remote(*message)
        except (errors.RayActorError, errors.WorkerCrashedError, errors.NodeDiedError) as lost:
            raise WorkerLost(_first_line(lost)) from None
        except errors.RuntimeEnvSetupError as failed:
            raise ConfigError(f"the suite's files could not be sent to the workers: {_first_line(failed)}") from None
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


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]


def _last_line(error: BaseException) -> str:
    return ([line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__])[-1][:300]


@contextlib.contextmanager
def ray_cluster(on: str, *, workers: int | None = None, folder: Path | None = None) -> Iterator[RayCluster]:
    """Connect to Ray, or start one that ends with this; a Ray that this program uses already is used as it is."""
    check_place(on)
    address = address_of(on)
    if address is None:
        _prepare_own()
    ray = importlib.import_module("ray")
    if ray.is_initialized():
        yield RayCluster(ray, workers=workers, is_own=True, folder=folder)
        return
    with contextlib.ExitStack() as ending:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        session = None
        if address is None:
            session = Path(tempfile.mkdtemp(prefix="evenhand-ray-"))
            ending.callback(shutil.rmtree, session, ignore_errors=True)
            quiet |= {
                "include_dashboard": False,
                "num_cpus": workers or os.cpu_count() or 1,
                "object_store_memory": _OBJECT_BYTES,
                "_temp_dir": str(session),
            }
        _init(ray, address, quiet)
        ending.callback(ray.shutdown)
        ending.enter_context(_silent())
        cluster = RayCluster(ray, workers=workers, is_own=address is None, folder=folder, session=session)
        if address is not None:
            cluster.require_package()
        yield cluster


def _init(ray: Any, address: str | None, options: dict[str, Any]) -> None:
    """Start Ray or connect to it; a start is tried again, since Ray gives up after half a minute on a busy machine."""
    tries = _STARTS if address is None else 1
    for number in range(1, tries + 1):
        try:
            with _own_signals():
                ray.init(address=address or "local", **options)
        except Exception as error:  # Ray raises all kinds, among them Exception itself
            ray.shutdown()
            if number == tries:
                raise ConfigError(_why_not(address, error)) from None
        else:
            return


def _prepare_own() -> None:
    """Set up the environment of a Ray that only this process and those it starts can use."""
    for name, value in _OWN.items():
        os.environ.setdefault(name, value)
    # Here and with those processes, and in no file.
    os.environ.setdefault(_TOKEN, secrets.token_hex(32))
    # Ray reads the mode when it is imported; when it was before, it turns tokens on itself where nothing is set.
    if "ray" in sys.modules:
        os.environ.pop(_MODE, None)
        logging.getLogger("ray").setLevel(logging.ERROR)
    else:
        os.environ[_MODE] = "token"


def runner_on(
    on: str, job: Job, *, workers: int | None = None
) -> Callable[[], contextlib.AbstractContextManager[Callable[..., Runner]]]:
    """Return what connects to a cluster and makes runners of runs on it; what could not be there is refused now."""
    check_place(on)
    require_shippable(job)
    folder = None if job.source is None else Path(job.source).absolute().parent

    @contextlib.contextmanager
    def connected() -> Iterator[Callable[..., Runner]]:
        with ray_cluster(on, workers=workers, folder=folder) as cluster:
            yield functools.partial(cluster_runner_for, cluster)

    return connected


def _why_not(address: str | None, error: Exception) -> str:
    where = "Ray could not be started on this machine" if address is None else f"Ray at {address} could not be reached"
    hint = "" if address is None else "; it must be there, and have the versions of Ray and Python that are here"
    return f"{where}: {_first_line(error)}{hint}"


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Log what Ray would print on standard output, which belongs to the report."""
    worker = importlib.import_module("ray._private.worker")
    printed = getattr(worker, _PRINT, None)
    if printed is None:  # it has another way by now
        yield
        return
    setattr(worker, _PRINT, lambda data, *_, **__: _log.info("ray: %s", " ".join(map(str, data.get("lines", ())))))
    try:
        yield
    finally:
        setattr(worker, _PRINT, printed)


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the handlers of signals as they are: Ray sets one of its own, which would end a run without a word."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
