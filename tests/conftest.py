"""What holds for every test: no network beyond this machine, no keys from outside, and in CI no unexpected skip."""

from __future__ import annotations

import base64
import contextlib
import gc
import ipaddress
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import hypothesis
import pytest
from bench.postgres import Copies, make_database, running_postgres
from tests.harness import memory_disk, scheduling, seconds, workers
from tests.harness.starts import Starts
from tests.harness.warm import WarmEvenhand, warm_evenhand

from evenhand import plugin

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}

memory_disk.use()
# Data sets of others, which are large or under licences of their own, lie beside the repository where they lie at all.
# That one of them is missing, in these words, is the only reason to skip.
THIRD_PARTY = Path(__file__).resolve().parents[2] / "shared" / "data"
MAY_BE_MISSING = {
    f"../shared/data/{name} is not here"
    for name in ("json_schema_test_suite", "json_test_suite", "mtbench_judges", "pandalm")
}

# How long a value takes to make up says something about the machine, and nothing about what is tested.
hypothesis.settings.register_profile(
    "evenhand",
    deadline=None,
    derandomize=IN_CI,
    max_examples=40,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("evenhand")
# What `make test-sweep` and `make test-fast` ask for.
hypothesis.settings.register_profile(
    "search", hypothesis.settings.get_profile("evenhand"), derandomize=False, max_examples=1_000
)
hypothesis.settings.register_profile("fast", hypothesis.settings.get_profile("evenhand"), max_examples=10)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Look for no garbage among the tests: there are many, and all stay to the end."""
    gc.disable()
    if session.config.getoption("workers"):
        workers.compile_tests(session.config)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of the harness."""
    seconds.add_options(parser)
    workers.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Count what tests start, add up their seconds, and run them in several processes where that is asked for."""
    if hasattr(signal, "SIGHUP"):  # which nohup has ignored, and tests of servers and commands send
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    config.pluginmanager.register(Starts())
    config.pluginmanager.register(seconds.Seconds(config))
    if number := config.getoption("workers"):
        config.pluginmanager.register(workers.Workers(number))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests into the order in which they are to run."""
    seed = config.getoption("shuffle")
    items[:] = scheduling.in_order(items) if seed is None else scheduling.at_random(items, seed)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a long text by its length."""
    return f"{argname} of {len(val)}" if isinstance(val, str | bytes) and len(val) > 1_000 else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Evaluate as programs do: what is tested here are often runs that do not pass, and that is no failure."""
    plugin.test_runs = False
    return (yield)


class NetworkRefusedError(Exception):
    """A test reached for the network. Not an OSError, so that no retry takes it for a fault to get over."""


def refuse_the_network(event: str, args: tuple[object, ...]) -> None:
    """Let sockets connect to this machine and look up its name only."""
    if event in {"socket.connect", "socket.sendto"}:
        match args[1]:
            case (str(host), int(), *_) if not is_this_machine(host):
                raise NetworkRefusedError(f"{event} to {host}: tests stay on this machine; serve it on 127.0.0.1")
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        name = args[0].decode() if isinstance(args[0], bytes) else args[0]
        if not isinstance(name, str) or is_this_machine(name):
            return
        if name.endswith(".invalid"):  # reserved for names that nobody has: answered without asking anybody
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        raise NetworkRefusedError(f"{event} of {name}: tests stay on this machine; serve it on 127.0.0.1")


def is_this_machine(host: str) -> bool:
    """Tell whether a host is this machine, by its address or by its name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host in {"", "localhost"} or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


sys.addaudithook(refuse_the_network)

_FROM_OUTSIDE = re.compile(
    r".*_API_KEY|.*_BASE_URL|EVENHAND_.*|AWS_.*|(GOOGLE|CLOUDSDK)_.*|OLLAMA_HOST|SSL_CERT_FILE|(ALL|HTTPS?|NO)_PROXY",
    re.IGNORECASE,
)


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove from the environment what could make a test find a real provider, or a proxy to one."""
    for name in list(os.environ):
        if _FROM_OUTSIDE.fullmatch(name):
            monkeypatch.delenv(name)


_folders = itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the folder of a test, as pytest does; but to number one, that would go through the folders of all others."""
    name = re.sub(r"\W", "_", request.node.name)[:25]
    return tmp_path_factory.mktemp(f"{name}-{next(_folders)}", numbered=False)


# The key that tests give to judges, set for the whole run. It must be found nowhere afterwards (REL-S1).
CANARY = "sk-canary-4be1/9f+07c2"
os.environ["CANARY_KEY"] = CANARY
_CANARY_FORMS = [
    CANARY.encode(),
    quote(CANARY, safe="").encode(),
    base64.b64encode(CANARY.encode()),
    json.dumps(CANARY).strip('"').replace("/", "\\/").encode(),
]


@pytest.fixture(scope="session", autouse=True)
def the_key_is_nowhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """After the last test, look for the key in every byte that the tests left: databases, logs, exports, reports."""
    yield
    # What tests write for programs to read may hold it, and what those make of it by compiling.
    given = {".env", "conftest.py"}
    left = (
        path
        for path in tmp_path_factory.getbasetemp().rglob("*")
        if path.is_file() and path.name not in given and not path.match("__pycache__/conftest.*.pyc")
    )
    assert [str(path) for path in left if _has_key(path.read_bytes())] == []


def _has_key(content: bytes) -> bool:
    return any(form in content for form in _CANARY_FORMS)


Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a test red that CI has no reason to skip."""
    report = yield
    return _red_if_skipped(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a whole file red that CI has no reason to skip."""
    report = yield
    return _red_if_skipped(report)


def _red_if_skipped(report: Report) -> Report:
    expected_failure = hasattr(report, "wasxfail")
    if IN_CI and report.skipped and not expected_failure:
        reason = (
            report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else report.longreprtext
        )
        if reason not in MAY_BE_MISSING:
            report.outcome = "failed"
            report.longrepr = f"skipped in CI, where only data of others may be missing: {reason}"
    return report


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmEvenhand]:
    """Give a way to run command lines of Evenhand without its start, which takes longer than most of them."""
    with warm_evenhand() as made:
        yield made


@pytest.fixture(scope="session")
def path_with_evenhand(warm: WarmEvenhand, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give a PATH on which ``evenhand`` is the warm one, for shells and the programs that they start."""
    folder = warm.on_path(tmp_path_factory.mktemp("warm"))
    return os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])


@pytest.fixture(scope="session")
def third_party() -> Callable[[str], Path]:
    """Return a function that gives the folder of a data set of others; where that is not here, the test is skipped."""

    def folder(name: str) -> Path:
        if not (THIRD_PARTY / name).is_dir():
            pytest.skip(f"../shared/data/{name} is not here")
        return THIRD_PARTY / name

    return folder


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """Return a function that puts a database with empty tables at a path, and returns the path.

    It is made once and copied: all migrations take longer than most tests.
    """
    from evenhand.store.store import open_store  # not before the tests that need it

    made = tmp_path_factory.mktemp("database") / "empty.db"
    open_store(str(made)).close()

    def copy(path: Path) -> str:
        shutil.copy(made, path)
        return str(path)

    return copy


# Tests that use PostgreSQL are of the group ``postgres``, so that only one worker starts it.


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Start a PostgreSQL server that belongs to the tests, and return the URL of its first database."""
    with running_postgres() as server:
        yield server.url


_numbers = itertools.count()


@pytest.fixture
def postgres_url(postgres: str) -> str:
    """Make an empty PostgreSQL database."""
    return make_database(postgres, f"test_{next(_numbers)}")


@pytest.fixture(scope="session")
def _postgres_copies(postgres: str) -> Iterator[Copies]:
    from evenhand.store.store import open_store

    open_store(make_database(postgres, "with_tables")).close()
    with contextlib.closing(Copies(postgres, "with_tables")) as copies:
        yield copies


@pytest.fixture
def empty_postgres(_postgres_copies: Copies) -> Iterator[str]:
    """Lend a PostgreSQL database with empty tables: a copy, as with ``empty_database``, which others may have used."""
    with _postgres_copies.lent() as url:
        yield url


# Sets up spans and events in memory; `told()` returns what was emitted.
_OPENTELEMETRY = """
import json, os, sys
from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
tracers, loggers = TracerProvider(), LoggerProvider()
tracers.add_span_processor(SimpleSpanProcessor(spans))
loggers.add_log_record_processor(SimpleLogRecordProcessor(logs))
trace.set_tracer_provider(tracers)
if "only spans" not in sys.argv:
    set_logger_provider(loggers)


def told():
    return {
        "spans": [
            {
                "name": span.name,
                "id": span.context.span_id,
                "trace": span.context.trace_id,
                "parent": span.parent and span.parent.span_id,
                "kind": span.kind.name,
                "status": span.status.status_code.name,
                "attributes": dict(span.attributes),
                "events": [[event.name, dict(event.attributes)] for event in span.events],
            }
            for span in spans.get_finished_spans()
        ],
        "events": [
            {
                "name": log.log_record.event_name,
                "span": log.log_record.span_id,
                "attributes": dict(log.log_record.attributes),
            }
            for log in logs.get_finished_logs()
        ],
    }
"""


@pytest.fixture(scope="session")
def traced() -> Callable[..., Any]:
    """Return a function that runs a script with OpenTelemetry set up, and returns the JSON that it prints.

    In a process of its own: what is set up there is set up for good.
    """

    def run(script: str, *arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", _OPENTELEMETRY + script, *arguments],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.stderr == ""
        return json.loads(done.stdout)

    return run
