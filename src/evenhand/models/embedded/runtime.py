"""A model in memory: loaded once a process, asked one question at a time, on a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import queue
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from evenhand.domain.errors import MissingModelError
from evenhand.models.embedded.resources import Resources

INSTALL: Final = "pip install 'evenhand[embedded]'"


def require_runtime() -> None:
    """Refuse early where the library that runs models is not installed."""
    import importlib.util  # noqa: PLC0415 - only for embedded models

    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingModelError(f"embedded models need xllamacpp, which is not installed: {INSTALL}")


def usual_threads() -> int:
    """Return all cores but one: threads wait for the slowest of them, and something else always runs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores - 1)


# What is asked, where the response goes, and who wants to know that its turn has come.
Question: TypeAlias = tuple[dict[str, Any], Future[dict[str, Any]], Callable[[], None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a process needs to know to load a model: its whole name, and how it shall run; None for the usual way."""

    name: str
    threads: int | None
    context: int
    resources: Resources | None


class Completes(Protocol):
    """What runs a model: a ``Runtime`` in this process, or one in another."""

    async def complete(self, body: dict[str, Any], *, begun: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Ask for a chat completion; ``begun`` is called when its turn has come. Raises ``ModelLostError``."""
        ...


# Models that another process runs for this one. Like the runtimes here, they last as long as the process.
_elsewhere: dict[Load, Completes] = {}


def run_elsewhere(models: Mapping[Load, Completes]) -> None:
    """Ask these models where they run, from now on, instead of loading them here."""
    _elsewhere.clear()
    _elsewhere.update(models)


def runtime_elsewhere(load: Load) -> Completes | None:
    """Return what runs a model for this process; None where the process runs it itself."""
    return _elsewhere.get(load)


@functools.cache
def runtime_of(path: Path, *, threads: int, context: int) -> Runtime:
    """Return the one runtime of a file; it loads when it is first asked."""
    return Runtime(path, threads=threads, context=context)


class Runtime:
    """llama.cpp with one model. Questions wait in a line, so that those of one case find its text still in memory.

    With several ``slots``, it remembers as many texts, each of ``context`` tokens: a question names the one that it
    goes to as ``id_slot``.
    """

    def __init__(self, path: Path, *, threads: int, context: int, slots: int = 1) -> None:
        self._path = path
        self._threads = threads
        self._context = context
        self._slots = slots
        self._line: queue.SimpleQueue[Question] = queue.SimpleQueue()
        self._begin = threading.Lock()
        self._thread: threading.Thread | None = None

    async def complete(self, body: dict[str, Any], *, begun: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Ask for a chat completion, in OpenAI's words, and give the response or what went wrong with it.

        ``begun`` is called when the questions before it are done with.
        """
        loop = asyncio.get_running_loop()
        with self._begin:
            if self._thread is None:
                # A daemon: nobody should have to wait for a model's last words to leave.
                self._thread = threading.Thread(target=self._work, name=f"evenhand {self._path.name}", daemon=True)
                self._thread.start()
        answer: Future[dict[str, Any]] = Future()
        self._line.put((body, answer, partial(_call_on, loop, begun)))
        return await asyncio.wrap_future(answer)

    def _work(self) -> None:
        server: Any = None
        last: dict[object, object] = {}  # what was asked last, by slot
        while True:
            body, answer, begun = self._line.get()
            if not answer.set_running_or_notify_cancel():
                continue  # nobody waits for it any more
            try:
                if server is None:
                    server = self._loaded()
                begun()
                slot, messages = body.get("id_slot"), body.get("messages")
                if messages is not None and messages == last.get(slot):
                    server.handle_chat_completions(_shortened(body))
                last[slot] = messages
                answer.set_result(server.handle_chat_completions(body))
            except Exception as error:
                answer.set_exception(error)

    def _loaded(self) -> Any:
        import xllamacpp  # type: ignore[import-untyped]  # noqa: PLC0415 - heavy

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self._context * self._slots
        params.n_parallel = self._slots
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._threads
        params.cache_ram_mib = 0  # of prompts that are over; what is shared with the next stays anyway
        # Flash attention makes a probability depend on how much of the prompt was in memory, so on earlier questions.
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.warmup = False
        params.verbosity = -1
        # The library opens a port on the loopback interface, which nobody else shall use.
        params.api_keys = [secrets.token_hex(16)]
        params.endpoint_slots = params.endpoint_metrics = params.endpoint_props = False
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelUnusableError(
                f"llama.cpp cannot load {self._path}: the file may be incomplete, or of a kind that it does not know"
                f" ({error})"
            ) from None


def _shortened(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question without its last character, to be asked before a question is repeated.

    Of a repeated question, only the last token would be read again. A single token is read by different arithmetic than
    several at once, so the second reply would differ from the first.
    """
    *before, last = body["messages"]
    kept = {key: body[key] for key in ("model", "id_slot") if key in body}
    return {**kept, "messages": [*before, {**last, "content": last["content"][:-1]}], "max_tokens": 1}


def _call_on(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(function)


class ModelUnusableError(Exception):
    """The file could not be loaded."""


class ModelLostError(Exception):
    """The process that runs a model ended while it was asked; another one takes its place."""
