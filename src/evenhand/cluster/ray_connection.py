"""The connection of this process to Ray: one of its own, which only this machine reaches, or a cluster that is there.

A process has one connection at a time, whoever uses it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import ipaddress
import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenhand.cluster.session_folder import session_folder
from evenhand.cluster.variables import check_names, require_variables
from evenhand.domain.errors import ConfigError

_log = logging.getLogger(__name__)

LOCAL: Final = "ray"
_SCHEME: Final = "ray://"
_ADDRESS: Final = "RAY_ADDRESS"
# The function of Ray that says on the standard output, in any mode, that a worker has died.
_PRINT: Final = "print_to_stdstream"
# Of a Ray that is started here: nobody is told of it, and workers run in this environment.
_OWN: Final = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
_MODE: Final = "RAY_AUTH_MODE"
_TOKEN: Final = "RAY_AUTH_TOKEN"  # noqa: S105 - its name
# How Ray is told, here and in the processes it starts, that there are no other machines: then it is on loopback.
_OTHERS: Final = "ENABLE_RAY_CLUSTER"
_OTHERS_VARIABLE: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
_STARTS: Final = 3
_OBJECT_BYTES: Final = 100_000_000
_REACH_SECONDS: Final = 10.0
# What is never sent to other machines: secrets, databases, and files that a program can make again.
# The first is any hidden file; with .* alone Ray would leave out the folder itself.
_NOT_SHIPPED: Final = [".?*", "*.db", "*.db-*", "__pycache__", "*.env", "*.pem", "*.key", "node_modules"]
_TOO_LARGE: Final = "exceeds the maximum size"  # as Ray says it of a folder


def check_place(on: str, variables: Sequence[str] = ()) -> None:
    """Refuse a place to run that cannot be, before anything is read or asked; so with names of variables."""
    check_names(variables)
    if on != LOCAL and not (on.startswith(_SCHEME) and _host_and_port(on)):
        raise ConfigError(
            f"--on is {on!r:.80}; it must be ray, for a Ray of its own on this machine or the one that RAY_ADDRESS "
            "names, or ray://host:port"
        )
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(f"--on {on} needs Ray; install it with: pip install 'evenhand[ray]'")
    address = address_of(on)
    if address is None:
        require_variables(variables, of_nodes=False)
    if address is None or address == "auto":
        return
    if _host_and_port(address) is None:
        raise ConfigError(
            f"RAY_ADDRESS is {address!r:.80}; it must be host:port of the cluster, usually with port 6379, or "
            "ray://host:port of its Ray client, usually with port 10001"
        )
    if address.startswith(_SCHEME) and importlib.util.find_spec("grpc") is None:
        raise ConfigError(f"--on {address} needs Ray's client; install it with: pip install 'ray[client]'")
    _require_token(address)


def address_of(on: str) -> str | None:
    """Return the address of an existing cluster; None for a Ray of its own."""
    address = on if on != LOCAL else os.environ.get(_ADDRESS, "").strip()
    return None if address in ("", "local") else address


def require_reachable(on: str) -> None:
    """Refuse a cluster that cannot be reached, before a run is stored for it."""
    address = address_of(on)
    if address is not None and _ray_of_program() is None and (there := _host_and_port(address)) is not None:
        _reach(address, there)


def _host_and_port(address: str) -> tuple[str, int] | None:
    host, _, port = address.removeprefix(_SCHEME).rpartition(":")
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        return None
    return host.strip("[]"), int(port)


def _require_token(address: str) -> None:
    """Refuse a public address without a token: whoever reaches such a cluster can run programs there."""
    host, _ = _host_and_port(address) or ("", 0)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Ray, to which this process is connected.

    ``is_here`` says that all workers are on this machine, and see its files; else ``folder`` was sent to them. A Ray
    of its own has its logs and sockets in ``session``. ``is_joined`` is a cluster whose nodes somebody else set up.
    """

    ray: Any
    is_here: bool
    is_joined: bool
    address: str | None = None
    folder: Path | None = None
    session: Path | None = None


class _Open:
    """The connection of this process, and how many use it: the last of them closes it."""

    lock: Final = threading.Lock()
    users = 0
    ending = contextlib.ExitStack()
    connection: Connection | None = None


@contextlib.contextmanager
def connected(on: str, *, workers: int | None = None, folder: Path | None = None) -> Iterator[Connection]:
    """Connect to Ray, or start one that ends with this; a Ray that this program uses already is used as it is.

    ``folder`` is the suite's, which workers elsewhere need.
    """
    check_place(on)
    address = address_of(on)
    with _Open.lock:
        if _Open.connection is None:
            with contextlib.ExitStack() as ending:
                connection = _connect(address, workers, folder, ending)
                _Open.ending, _Open.connection = ending.pop_all(), connection
        else:
            connection = _Open.connection
            _require_shared(connection, address, folder)
        _Open.users += 1
    try:
        yield connection
    finally:
        with _Open.lock:
            _Open.users -= 1
            if not _Open.users:
                _Open.connection = None
                _Open.ending.close()


def _require_shared(connection: Connection, address: str | None, folder: Path | None) -> None:
    """Refuse what the open connection is not: of a process there is one, with the files of one folder."""
    if address != connection.address:
        raise ConfigError(
            f"this process has a run on {connection.address or 'a Ray of its own'}; wait for its end before you begin "
            f"one on {address or 'another'}"
        )
    if not connection.is_here and folder is not None and folder != connection.folder:
        raise ConfigError(
            f"this process has a run on {connection.address} with the files of {connection.folder}; wait for its end "
            f"before you begin one with those of {folder}"
        )


def _connect(address: str | None, workers: int | None, folder: Path | None, ending: contextlib.ExitStack) -> Connection:
    if address is None and _ray_of_program() is None:
        ending.enter_context(_own_environment())
    ray = importlib.import_module("ray")
    if ray.is_initialized():
        here = socket.gethostname()
        names = [node.get("NodeManagerHostname") for node in ray.nodes() if node.get("Alive")]
        return Connection(ray=ray, is_here=all(name == here for name in names), is_joined=False, address=address)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    session = None
    if address is None:
        session = ending.enter_context(session_folder())
        options |= {
            "include_dashboard": False,
            "num_cpus": workers or os.cpu_count() or 1,
            "object_store_memory": _OBJECT_BYTES,
            "_temp_dir": str(session),
        }
    elif folder is not None:
        options["runtime_env"] = {"working_dir": str(folder), "excludes": [*_NOT_SHIPPED, *_environments_in(folder)]}
    if address is None or _is_on_loopback(ray, address):
        ending.enter_context(_on_loopback())
    _init(ray, address, options)
    ending.callback(ray.shutdown)
    ending.enter_context(_silent())
    return Connection(
        ray=ray,
        is_here=address is None,
        is_joined=address is not None,
        address=address,
        folder=folder,
        session=session,
    )


def _environments_in(folder: Path) -> list[str]:
    """Return the virtual environments in a folder, as paths from there: nodes have their own."""
    return [f"/{found.parent.name}" for found in folder.glob("*/pyvenv.cfg")]


def _ray_of_program() -> Any:
    """Return Ray if this program uses it already."""
    ray = sys.modules.get("ray")
    return ray if ray is not None and ray.is_initialized() else None


def _init(ray: Any, address: str | None, options: dict[str, Any]) -> None:
    """Start Ray or connect to it; a start is tried again, since Ray gives up after half a minute on a busy machine."""
    tries = _STARTS if address is None else 1
    for number in range(1, tries + 1):
        try:
            with _own_signals():
                ray.init(address=address or "local", **options)
        except Exception as error:  # Ray raises all kinds, among them Exception itself
            with contextlib.suppress(Exception):
                ray.shutdown()
            if number == tries:
                raise ConfigError(why_not(address, error)) from None
        else:
            return


def why_not(address: str | None, error: Exception) -> str:
    """Say why there is no connection, and what to do."""
    words = " ".join(str(error).split())[:400] or type(error).__name__
    if address is None:
        return f"Ray could not be started on this machine: {words}"
    if "ersion" in words and "mismatch" in words.lower():
        advice = "install the same versions of Ray and Python here and there"
        return f"Ray at {address} cannot be used from here: {words.rstrip('.')}; {advice}"
    if _TOO_LARGE in words:
        said = words.partition(". ")[0]
        advice = "list what is not needed there in a .rayignore file, or keep the suite in a folder of its own"
        return f"the suite's folder is too large to be sent to {address}: {said}; {advice}"
    if "working_dir" in words or "package" in words.lower():
        return f"the suite's folder could not be sent to {address}: {words}"
    return (
        f"Ray at {address} could not be reached: {words}; it must be there, have the versions of Ray and Python that "
        "are here, and if it demands a token, RAY_AUTH_MODE=token and RAY_AUTH_TOKEN must be set here too"
    )


def _is_on_loopback(ray: Any, address: str) -> bool:
    """Return whether a cluster is at this machine's loopback only; one that cannot be reached at all is refused.

    Ray would look for it at the address by which others reach this machine, for minutes.
    """
    if (there := _host_and_port(address)) is None:  # it is found by Ray
        return False
    _reach(address, there)
    host, port = there
    if address.startswith(_SCHEME) or not _is_loopback(host):
        return False
    try:
        socket.create_connection((ray.util.get_node_ip_address(), port), timeout=_REACH_SECONDS).close()
    except OSError:
        return True
    return False


def _reach(address: str, there: tuple[str, int]) -> None:
    try:
        socket.create_connection(there, timeout=_REACH_SECONDS).close()
    except OSError as error:
        raise ConfigError(
            f"Ray at {address} could not be reached: {error.strerror or error}; start it, or correct the address"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """Let Ray take the loopback for this machine's address, so that it listens there and nowhere else."""
    constants = importlib.import_module("ray._private.ray_constants")
    kept = getattr(constants, _OTHERS, None)
    setattr(constants, _OTHERS, False)
    try:
        with _variables({_OTHERS_VARIABLE: "0"}):
            yield
    finally:
        setattr(constants, _OTHERS, kept)


# One for all that this process starts: Ray reads it once.
_own_token: Final = secrets.token_hex(32)


@contextlib.contextmanager
def _own_environment() -> Iterator[None]:
    """Set up the environment of a Ray that only this process and those it starts can use: it has a token of its own."""
    wanted: dict[str, str | None] = {name: os.environ.get(name, value) for name, value in _OWN.items()}
    # Here and with those processes, and in no file.
    wanted[_TOKEN] = os.environ.get(_TOKEN) or _own_token
    # Ray reads the mode when it is imported; when it was before, it turns tokens on itself where nothing is set.
    wanted[_MODE] = "token"
    if "ray" in sys.modules:
        wanted[_MODE] = None
        logging.getLogger("ray").setLevel(logging.ERROR)
    with _variables(wanted):
        yield


@contextlib.contextmanager
def _variables(wanted: dict[str, str | None] | dict[str, str]) -> Iterator[None]:
    """Set variables of the environment, or remove them, and put them back in the end."""
    kept = {name: os.environ.get(name) for name in wanted}
    _set(wanted)
    try:
        yield
    finally:
        _set(kept)


def _set(variables: dict[str, str | None] | dict[str, str]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


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
