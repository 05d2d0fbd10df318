"""What holds for every test: no network beyond this machine, no keys from outside, and in CI no unexpected skip."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import sys
from collections.abc import Generator
from typing import TypeVar

import hypothesis
import pytest

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}
# The one thing that may be missing where the tests run; such a skip begins with these words.
MAY_BE_MISSING = "../shared is not here"

hypothesis.settings.register_profile("evenhand", deadline=None, derandomize=IN_CI)
hypothesis.settings.load_profile("evenhand")


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
    r".*_API_KEY|.*_BASE_URL|EVENHAND_.*|OLLAMA_HOST|SSL_CERT_FILE|(ALL|HTTPS?|NO)_PROXY", re.IGNORECASE
)


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove from the environment what could make a test find a real provider, or a proxy to one."""
    for name in list(os.environ):
        if _FROM_OUTSIDE.fullmatch(name):
            monkeypatch.delenv(name)


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
        if not reason.startswith(MAY_BE_MISSING):
            report.outcome = "failed"
            report.longrepr = f"skipped in CI, where only {MAY_BE_MISSING!r} is a reason: {reason}"
    return report
