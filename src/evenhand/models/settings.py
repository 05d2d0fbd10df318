"""What a user may set for a model, checked as it comes in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_args

from evenhand.domain.errors import ConfigError, about, did_you_mean
from evenhand.domain.secret import Secret
from evenhand.models.dialects.dialect import Structured
from evenhand.models.retry import RetryPolicy

_MEBIBYTE = 1024 * 1024
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Settings of a model; None leaves one to the provider. Times are in seconds.

    ``timeout`` bounds one request, ``first_byte_timeout`` the wait until the response begins. ``backoff`` is the wait
    before the second try; later ones double it. ``rpm`` and ``tpm`` are the requests and tokens that may be sent in a
    minute. ``proxy=""`` means no proxy and ``project=""`` no project, whatever the environment says.
    ``ca_file`` has the only certificate authorities to trust. ``extra_body`` goes into each request as it is.
    """

    base_url: str | None = None
    api_key: Secret | None = None
    api_version: str | None = None
    region: str | None = None
    project: str | None = None
    location: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    structured: Structured | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeout: float = 300.0
    connect_timeout: float = 10.0
    first_byte_timeout: float = 120.0
    max_transport_attempts: int = 5
    backoff: float = 0.5
    rpm: float | None = None
    tpm: float | None = None
    max_body_bytes: int = 16 * _MEBIBYTE
    ca_file: str | None = None
    proxy: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, settings: Mapping[str, Any], *, where: str, lacks: frozenset[str] = frozenset()) -> ModelSettings:
        """Check what a user wrote. ``where`` names the model in messages, ``lacks`` what its API does not have."""
        known = [each.name for each in fields(cls) if each.name not in lacks]
        for name in settings:
            if name not in known:
                raise ConfigError(f"{where}: no setting {name!r}{did_you_mean(str(name), known)}", key=str(name))
        checked = {}
        for name, value in settings.items():
            if value is not None:
                with about(name):
                    checked[name] = _CHECKS[name](value, f"{where}: {name}")
        return cls(**checked)

    @property
    def policy(self) -> RetryPolicy:
        """The retries of transport faults."""
        usual = RetryPolicy()
        growth = usual.cap / usual.base
        return RetryPolicy(
            max_transport_attempts=self.max_transport_attempts, base=self.backoff, cap=self.backoff * growth
        )


def _text(value: object, setting: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{setting} must be text, not {type(value).__name__}")
    return value.strip()


def _path(value: object, setting: str) -> str:
    return _text(str(value) if hasattr(value, "__fspath__") else value, setting)


def _key(value: object, setting: str) -> Secret:
    if not isinstance(value, (str, Secret)):
        raise ConfigError(f"{setting} must be text, such as ${{OPENAI_API_KEY}}, not {type(value).__name__}")
    return Secret(value.strip()) if isinstance(value, str) else value


def _number(value: object, setting: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ConfigError(f"{setting} is {value!r}; it must be a finite number, 0 or more")
    return value


def _seconds(value: object, setting: str) -> float:
    if _number(value, setting) == 0:
        raise ConfigError(f"{setting} is 0; it must be a number of seconds above 0")
    return _number(value, setting)


def _rate(value: object, setting: str) -> float:
    if _number(value, setting) < 1:
        raise ConfigError(f"{setting} is {value!r}; it must be a number per minute, 1 or more")
    return _number(value, setting)


def _share(value: object, setting: str) -> float:
    if not 0 < _number(value, setting) <= 1:
        raise ConfigError(f"{setting} is {value!r}; it must be a number above 0, at most 1")
    return _number(value, setting)


def _whole(value: object, setting: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{setting} is {value!r}; it must be a whole number")
    return value


def _count(value: object, setting: str) -> int:
    if _whole(value, setting) < 1:
        raise ConfigError(f"{setting} is {value!r}; it must be a whole number, 1 or more")
    return _whole(value, setting)


def _structured(value: object, setting: str) -> Structured:
    if value not in get_args(Structured):
        raise ConfigError(f"{setting} is {value!r}; it must be one of {', '.join(get_args(Structured))}")
    return value  # type: ignore[return-value]  # the check above is the proof


def _headers(value: object, setting: str) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{setting} must be a mapping of names to text, not {type(value).__name__}")
    for name, text in value.items():
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            raise ConfigError(f"{setting}: {name!r} is not a header name")
        if not isinstance(text, str):
            raise ConfigError(f"{setting}: {name} must be text, not {type(text).__name__}")
    return dict(value)


def _body(value: object, setting: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"{setting} must be a mapping of names to values, not {type(value).__name__}")
    return dict(value)


_CHECKS: Mapping[str, Any] = {
    "base_url": _text,
    "api_key": _key,
    "api_version": _text,
    "region": _text,
    "project": _text,
    "location": _text,
    "temperature": _number,
    "top_p": _share,
    "seed": _whole,
    "max_tokens": _count,
    "structured": _structured,
    "headers": _headers,
    "extra_body": _body,
    "timeout": _seconds,
    "connect_timeout": _seconds,
    "first_byte_timeout": _seconds,
    "max_transport_attempts": _count,
    "backoff": _number,
    "rpm": _rate,
    "tpm": _rate,
    "max_body_bytes": _count,
    "ca_file": _path,
    "proxy": _text,
}
