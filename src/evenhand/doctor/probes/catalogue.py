"""All probes, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from evenhand.doctor.probe import Probe
from evenhand.doctor.probes.attacks import ATTACKS
from evenhand.doctor.probes.attribution import ATTRIBUTION
from evenhand.doctor.probes.calibration import CALIBRATION
from evenhand.doctor.probes.consistency import CONSISTENCY
from evenhand.doctor.probes.examples import EXAMPLE_ORDER
from evenhand.doctor.probes.length import LENGTH
from evenhand.doctor.probes.position import POSITION
from evenhand.doctor.probes.style import STYLE
from evenhand.domain.errors import ConfigError, did_you_mean

PROBES: Final[Mapping[str, Probe]] = {
    probe.name: probe
    for group in (CALIBRATION, CONSISTENCY, POSITION, EXAMPLE_ORDER, LENGTH, STYLE, ATTRIBUTION, ATTACKS)
    for probe in group
}

ALL: Final = "all"
# Enough for a first look, where every question takes seconds.
QUICK: Final = ("accuracy", "repeats", "position", "padding", "null_answers", "instructions", "planted_verdict")


def chosen(names: Iterable[str] | None) -> tuple[Probe, ...]:
    """Return the probes with some names, or of a kind such as ``attack``; all of them without names, or as ``all``.

    >>> [probe.name for probe in chosen(["padding", "consistency"])]
    ['repeats', 'paraphrase', 'padding']
    """
    listed = names.split(",") if isinstance(names, str) else names
    wanted = [ALL] if listed is None else [name for name in (str(one).strip() for one in listed) if name]
    if ALL in wanted:
        return tuple(PROBES.values())
    kinds = {probe.kind.value for probe in PROBES.values()}
    for name in wanted:
        if name not in PROBES and name not in kinds:
            raise ConfigError(f"no probe {name!r:.80}{did_you_mean(name[:80], (*PROBES, *kinds, ALL))}")
    if not wanted:
        raise ConfigError("probes is empty; leave it out for all of them, or name some, such as position")
    return tuple(probe for probe in PROBES.values() if probe.name in wanted or probe.kind.value in wanted)
