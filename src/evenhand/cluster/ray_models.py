"""Models of embedded judges as actors of Ray: each is loaded once on a node, and the workers there share it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from evenhand.cluster.placement import Node, Placement, placed
from evenhand.cluster.ray_calls import answer, first_line
from evenhand.cluster.ray_connection import Connection
from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.models.embedded.catalogue import PREFIX, located
from evenhand.models.embedded.resources import Resources
from evenhand.models.embedded.runtime import (
    Completes,
    Load,
    ModelLostError,
    ModelUnusableError,
    Runtime,
    require_runtime,
    usual_threads,
)

# So many texts a model remembers at once at most: each takes memory for a whole context.
MOST_SLOTS: Final = 8
_AGAIN_SECONDS: Final = 0.2
# How long a model may wait for what it reserves; less than workers wait, so that it is the model that is named.
_START_SECONDS: Final = 150.0

# Of each model: the nodes on which it is loaded, and the actor there.
Hosts: TypeAlias = Mapping[Load, Sequence[tuple[str, Any]]]


class RayModel:
    """A model in a process of Ray. Each worker has a slot of its own, so that its questions find their text there."""

    def __init__(self, load: Load, slots: int, cwd: str | None) -> None:
        if cwd is not None:
            os.chdir(cwd)
        self._load = load
        self._slots = slots
        self._runtime: Runtime | None = None

    async def ready(self) -> str | None:
        """Find the model's file; return what is wrong with it, if something is."""
        if self._runtime is not None:
            return None
        load = self._load
        try:
            require_runtime()
            path, _ = located(load.name.removeprefix(PREFIX))
        except EvenhandError as error:
            return str(error)
        reserved = None if load.resources is None else max(1, int(load.resources.cpu))
        threads = load.threads or reserved or usual_threads()
        self._runtime = Runtime(path, threads=threads, context=load.context, slots=self._slots)
        return None

    async def complete(self, body: dict[str, Any], asker: int) -> AsyncIterator[tuple[str, Any]]:
        """Yield that a question's turn has come, and then the response, or what went wrong with it."""
        if self._runtime is None and (problem := await self.ready()) is not None:
            yield "unusable", problem
            return
        assert self._runtime is not None  # noqa: S101 - it is ready
        begun = asyncio.Event()
        asked = {**body, "id_slot": asker % self._slots}
        answering = asyncio.ensure_future(self._runtime.complete(asked, begun=begun.set))
        turn = asyncio.ensure_future(begun.wait())
        try:
            await asyncio.wait([answering, turn], return_when=asyncio.FIRST_COMPLETED)
            yield "begun", None
            try:
                outcome: tuple[str, Any] = ("said", await answering)
            except ModelUnusableError as error:
                outcome = ("unusable", str(error))
            except (RuntimeError, ValueError) as error:
                outcome = ("refused", str(error))
            yield outcome
        finally:
            turn.cancel()
            answering.cancel()


class SharedModel:
    """A model as a worker asks it: on its own node if it is loaded there, and if not, on another."""

    def __init__(self, name: str, copies: Sequence[Any], *, asker: int) -> None:
        self._ray = importlib.import_module("ray")
        self._name = name
        self._copies = list(copies)
        self._asker = asker
        self._is_lost = False

    async def complete(self, body: dict[str, Any], *, begun: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Ask for a chat completion; ``begun`` is called when the questions of other workers are done with."""
        copy = await self._copy()
        stream = copy.complete.remote(body, self._asker)
        try:
            kind, said = await self._next(stream)
            if kind == "begun":
                begun()
                kind, said = await self._next(stream)
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):  # nobody waits for it any more
                self._ray.cancel(stream)
            raise
        except self._ray.exceptions.RayError as error:
            self._is_lost = True
            raise ModelLostError(f"the process that runs it ended: {first_line(error)}") from None
        if kind == "said":
            response: dict[str, Any] = said
            return response
        raise ModelUnusableError(said) if kind == "unusable" else RuntimeError(said)

    async def _next(self, stream: Any) -> tuple[str, Any]:
        outcome: tuple[str, Any] = await (await anext(stream))
        return outcome

    async def _copy(self) -> Any:
        """Return the actor to ask; wait for one that is being started again, and leave out those that never will be."""
        errors = self._ray.exceptions
        while self._copies:
            copy = self._copies[self._asker % len(self._copies)]
            if not self._is_lost:
                return copy
            try:
                await copy.ready.remote()
            except errors.ActorUnavailableError:
                await asyncio.sleep(_AGAIN_SECONDS)
            except errors.RayError:
                self._copies.remove(copy)
            else:
                self._is_lost = False
        raise ModelUnusableError(f"{self._name}: the processes that ran it ended, and could not be started again")


def shared_models(hosts: Hosts, *, asker: int) -> dict[Load, Completes]:
    """Return the models that the worker of a process asks instead of loading them."""
    if not hosts:
        return {}
    here = importlib.import_module("ray").get_runtime_context().get_node_id()
    found: dict[Load, Completes] = {}
    for load, places in hosts.items():
        near = [actor for node, actor in places if node == here]
        others = [actor for node, actor in places if node != here]
        found[load] = SharedModel(load.name, near or others, asker=asker)
    return found


class RayModels:
    """The models that the workers of a run share, as the driver starts and ends them."""

    def __init__(self, connection: Connection, options: Mapping[str, Any]) -> None:
        self._ray = connection.ray
        self._connection = connection
        self._options = options
        self._placement = Placement()
        self._hosts: Hosts | None = None
        self._ready: asyncio.Task[None] | None = None

    def of_a_run(self) -> RayModels:
        """Return those of another run on the same cluster, which are none yet."""
        return RayModels(self._connection, self._options)

    def place(self, models: Sequence[Load]) -> int:
        """Find places for models, and return how many processors are left for workers."""
        self._placement = placed(models, self._nodes(), is_shared=self._connection.is_joined)
        return self._placement.processors

    def _nodes(self) -> list[Node]:
        """Return what each node has; a Ray of our own knows how many workers there are, and not the machine."""
        is_own = self._connection.is_here and not self._connection.is_joined
        found = []
        for node in self._ray.nodes():
            if node.get("Alive"):
                has = node["Resources"]
                cpu = os.cpu_count() or 1 if is_own else has.get("CPU", 0)
                found.append(
                    Node(id=node["NodeID"], address=node["NodeManagerAddress"], cpu=cpu, gpu=has.get("GPU", 0))
                )
        return found

    async def started(self, *, slots: int) -> Hosts:
        """Start the models, once, and return where they are when all of them have a process."""
        if self._hosts is None:
            self._hosts = {
                load: [(node.id, self._start(load, node, slots)) for node in nodes]
                for load, nodes in self._placement.nodes.items()
            }
            self._ready = asyncio.create_task(self._require_ready(self._hosts))
        if self._ready is not None:
            await asyncio.shield(self._ready)
        return self._hosts

    def _start(self, load: Load, node: Node, slots: int) -> Any:
        wanted = load.resources or Resources()
        on_node = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        options = {
            **self._options,
            "num_cpus": wanted.cpu if self._connection.is_joined else 0,
            "num_gpus": wanted.gpu,
            # Whatever ends it, Ray starts it again there; who asked meanwhile asks again.
            "max_restarts": -1,
            "scheduling_strategy": on_node(node.id, soft=False),
        }
        cwd = os.getcwd() if self._connection.is_here else None  # noqa: PTH109
        return self._ray.remote(**options)(RayModel).remote(load, slots, cwd)

    async def _require_ready(self, hosts: Hosts) -> None:
        """Wait until all have a process; refuse a node that lacks a model's file, and resources nobody frees."""
        for load, places in hosts.items():
            for node, actor in places:
                try:
                    async with asyncio.timeout(_START_SECONDS):
                        problem = await answer(actor.ready.remote().future())
                except TimeoutError:
                    raise ConfigError(
                        f"the judge {load.name} asks for {load.resources or Resources()}, and node {node[:12]} did not "
                        f"give it within {_START_SECONDS:.0f} s; ray status shows who has it"
                    ) from None
                except self._ray.exceptions.RayError as error:
                    raise ConfigError(f"the judge {load.name} could not be started: {first_line(error)}") from None
                if problem is not None:
                    raise ConfigError(f"on node {node[:12]}: {problem}")

    def close(self) -> None:
        """End the models."""
        if self._ready is not None:
            self._ready.cancel()
        for _, actor in itertools.chain.from_iterable((self._hosts or {}).values()):
            with contextlib.suppress(Exception):  # whatever it says, nobody waits for it any more
                self._ray.kill(actor)
        self._hosts = self._ready = None
