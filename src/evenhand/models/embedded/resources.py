"""What a model reserves on a cluster: processors and GPUs, as ``resources: {cpu: 2, gpu: 1}`` says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from evenhand.domain.errors import ConfigError, did_you_mean

KINDS: Final = ("cpu", "gpu")
# Ray counts in these.
_DECIMALS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Processors and GPUs that a model has for itself on a node of a cluster; elsewhere they mean nothing."""

    cpu: float = 1
    gpu: float = 0

    @classmethod
    def of(cls, given: object, *, where: str) -> Resources:
        """Check what a user wrote.

        >>> Resources.of({"cpu": 2, "gpu": 0.5}, where="judge")
        Resources(cpu=2, gpu=0.5)
        """
        if not isinstance(given, Mapping) or not given:
            raise ConfigError(
                f"{where}: resources is {given!r:.80}; it must be what the model reserves on a cluster, such as "
                "{cpu: 2, gpu: 1}",
                key="resources",
            )
        for kind in given:
            if kind not in KINDS:
                hint = did_you_mean(str(kind), KINDS)
                raise ConfigError(f"{where}: no resource {kind!r:.80}{hint}", key="resources")
        return cls(**{kind: _amount(value, f"{where}: resources: {kind}", kind) for kind, value in given.items()})

    def __str__(self) -> str:
        return " and ".join(f"{amount_text(amount)} {kind}" for kind in KINDS if (amount := getattr(self, kind)))


def amount_text(amount: float) -> str:
    """Write an amount for people.

    >>> amount_text(2.0), amount_text(0.25), amount_text(1 << 20)
    ('2', '0.25', '1,048,576')
    """
    return f"{amount:,.4f}".rstrip("0").rstrip(".")


def _amount(value: object, setting: str, kind: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ConfigError(f"{setting} is {value!r:.80}; it must be a number above 0", key="resources")
    if kind == "gpu" and value > 1 and value != int(value):
        raise ConfigError(f"{setting} is {value!r:.80}; above 1 it must be a whole number", key="resources")
    if round(value, _DECIMALS) != value:
        raise ConfigError(f"{setting} is {value!r:.80}; it can have four decimals at most", key="resources")
    return value
