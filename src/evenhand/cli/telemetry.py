"""OpenTelemetry from the command line: sent to where the usual variables say, and nothing where none is set."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from evenhand.cli.console import Console

_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
# What is sent, by the name that the variables have for it.
_SIGNALS: Final = {"TRACES": "spans", "LOGS": "events"}


@contextlib.contextmanager
def sent_telemetry(console: Console) -> Iterator[None]:
    """While entered, send spans and events if the environment says where to; send the rest at the end."""
    wanted = {signal: variable for signal in _SIGNALS if (variable := _variable_of(signal, console))}
    if not wanted:
        yield
        return
    try:
        from evenhand.cli.otlp import start  # noqa: PLC0415 - an extra, and only where it is asked for
    except ImportError:
        variable = next(iter(wanted.values()))
        console.note(f"warning: {variable} is set, but nothing is sent: pip install 'evenhand[otel]'")
        yield
        return
    place = ""
    try:
        place = _place(*wanted.values())
        sending = start(traces="TRACES" in wanted, logs="LOGS" in wanted)
    except Exception as error:  # a variable that the exporter cannot read; the message may quote it
        console.note(f"warning: nothing is sent to OpenTelemetry: its variables are wrong ({type(error).__name__})")
        sending = None
    if sending is None:  # or the program has set it up itself
        yield
        return
    signals = " and ".join(_SIGNALS[signal] for signal in wanted)
    console.note(f"OpenTelemetry: {signals} are sent to {place}")
    try:
        yield
    finally:
        if missing := sending.flush():
            console.note(f"warning: OpenTelemetry: {missing} could not be sent; the results are complete")


def _variable_of(signal: str, console: Console) -> str | None:
    """Return the variable by which a signal is to be sent; None if it is not."""
    exporter_variable = f"OTEL_{signal}_EXPORTER"
    exporter = _value(exporter_variable).lower()
    if exporter == "none" or _value("OTEL_SDK_DISABLED").lower() == "true":
        return None
    endpoints = (f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", _ENDPOINT)
    variable = next((name for name in endpoints if _value(name)), exporter_variable if exporter == "otlp" else None)
    if variable is None:
        return None
    if exporter not in ("", "otlp"):
        console.note(f"warning: {exporter_variable} is {exporter}; {_SIGNALS[signal]} can only be sent by otlp")
        return None
    for name in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", _PROTOCOL):
        if protocol := _value(name):
            if protocol == "http/protobuf":
                break
            console.note(f"warning: {name} is {protocol}; {_SIGNALS[signal]} can only be sent by http/protobuf")
            return None
    return variable


def _value(variable: str) -> str:
    return os.environ.get(variable, "").strip()


def _place(*variables: str) -> str:
    """Name the servers that variables lead to, without what may be secret in an address."""
    places = []
    for variable in variables:
        url = urlsplit(_value(variable) if variable.endswith("_ENDPOINT") else "http://localhost:4318")
        port = f":{url.port}" if url.port else ""
        places.append(f"{url.hostname or 'localhost'}{port} ({variable})")
    return " and ".join(dict.fromkeys(places))
