"""What an audit demands of a judge: how much a group may matter, and how many profiles may go without a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.gates import MAX_UNSCORED, Gates
from evenhand.domain.scale import is_finite_number
from evenhand.evaluators.scoring import SCALE

_LARGEST: Final = {"max_group_effect": SCALE.high, "max_group_interaction": 2 * SCALE.high, "min_impact_ratio": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """The gates of an audit; None demands nothing.

    ``max_group_effect`` is the most, in points of the score, by which two levels of a group may differ;
    ``max_group_interaction`` the most by which the worth of another attribute may differ between them;
    ``min_impact_ratio`` the least share of the best level's selection rate that any level must have; ``max_unscored``
    is that of every run.
    """

    max_group_effect: float | None = None
    max_group_interaction: float | None = None
    min_impact_ratio: float | None = None
    max_unscored: float | str | None = None

    @classmethod
    def of(cls, given: object) -> Demands:
        """Take what a user may write: nothing, or a mapping of gates to limits."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise ConfigError(f"gates must be a mapping such as {{'max_group_effect': 0.5}}, not {given!r:.80}")
        for name, limit in given.items():
            if name == MAX_UNSCORED:
                Gates.of({name: limit})
            elif name not in _LARGEST:
                raise ConfigError(f"gates: no gate {name!r:.80}{did_you_mean(str(name), (*_LARGEST, MAX_UNSCORED))}")
            elif not is_finite_number(limit) or not 0 <= limit <= _LARGEST[name]:
                raise ConfigError(f"gates.{name} is {limit!r:.80}; it must be a number from 0 to {_LARGEST[name]:g}")
        return cls(**given)

    @property
    def of_every_run(self) -> dict[str, Any]:
        """Those that any run may have, which its exit code knows of already."""
        return {} if self.max_unscored is None else {MAX_UNSCORED: self.max_unscored}

    def as_dict(self) -> dict[str, Any]:
        """Give the demands as plain JSON values."""
        return {name: limit for name, limit in asdict(self).items() if limit is not None}
