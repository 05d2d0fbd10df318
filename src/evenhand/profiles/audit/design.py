"""The design of an audit: a template, factors with their levels, and gates."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from evenhand.domain.case import is_blank
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.gates import MAX_UNSCORED, Gates
from evenhand.domain.scale import is_finite_number
from evenhand.domain.template import Template
from evenhand.evaluators.profile_score import SCALE
from evenhand.models.prices import PriceBook

_LARGEST: Final = {"max_group_effect": SCALE.high, "max_group_interaction": 2 * SCALE.high, "min_impact_ratio": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSpec:
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
    def of(cls, given: object) -> GateSpec:
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
        """Return the demands as plain JSON values."""
        return {name: limit for name, limit in asdict(self).items() if limit is not None}


# The name under which a template shows the text of a base profile.
BASE: Final = "profile"
USUAL_REPETITIONS: Final = 3
USUAL_SEED: Final = 1
USUAL_PROFILES: Final = 512
# All profiles are made before the first is scored; and nobody reads an audit of so many calls that costs more.
MOST_PROFILES: Final = 10_000
MOST_REPETITIONS: Final = 1_000
MOST_SEED: Final = 2**63 - 1  # what a database keeps as a number
_MOST_LEVELS: Final = 50
_MOST_NAME: Final = 80
_MOST_LEVEL: Final = 200
_NAME: Final = re.compile(r"[^\W\d]\w*")
_KEYS: Final = (
    "name", "template", "factors", "groups", "profiles", "criteria", "judge", "repetitions", "seed", "max_profiles",
    "select_at", "gates", "prices",
)  # fmt: skip
_NEEDED: Final = ("template", "factors", "groups", "criteria")

# What a file should be, for one that is something else.
WHAT: Final = "a design is a mapping with template, factors, groups and criteria"


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """Something that varies from profile to profile: ``levels`` are its values by name, with the text of each."""

    name: str
    levels: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the levels, in the order in which they were given."""
        return tuple(self.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditDesign:
    """What an audit is to do.

    >>> design = AuditDesign.of({
    ...     "template": "{name}, {years} years a nurse.",
    ...     "factors": {"name": ["Ms Berg", "Mr Berg"], "years": [2, 10]},
    ...     "groups": ["name"],
    ...     "criteria": "Experience",
    ... })
    >>> design.cells, design.factors[1].names
    (4, ('2', '10'))

    ``groups`` are the factors that must not matter; the others are merits. ``profiles`` is where base profiles come
    from, whose texts the template shows as ``{profile}``; None without. ``select_at`` is the score at which a profile
    counts as selected.
    """

    template: str
    factors: tuple[Factor, ...]
    groups: tuple[str, ...]
    criteria: str
    profiles: str | None = None
    judge: Any = None
    repetitions: int = USUAL_REPETITIONS
    seed: int = USUAL_SEED
    max_profiles: int = USUAL_PROFILES
    select_at: float | None = None
    gates: GateSpec = field(default_factory=GateSpec)
    name: str | None = None
    prices: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, given: object, *, where: str = "the design") -> AuditDesign:
        """Take what a user may write; a mistake is told with the path of the key at which it stands."""
        if not isinstance(given, Mapping):
            raise ConfigError(f"{where}: a design is a mapping with {', '.join(_NEEDED)}, not {given!r:.80}")
        try:
            return cls(**_read(given))
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None

    @classmethod
    def stored(cls, given: Mapping[str, Any]) -> AuditDesign:
        """Take what ``as_dict`` gave."""
        factors = {one["name"]: {level["name"]: level["text"] for level in one["levels"]} for one in given["factors"]}
        return cls.of({**given, "factors": factors}, where="the stored design")

    def as_dict(self) -> dict[str, Any]:
        """Return the design as plain JSON values, in which nothing hangs on the order of keys."""
        factors = [
            {"name": one.name, "levels": [{"name": name, "text": text} for name, text in one.levels.items()]}
            for one in self.factors
        ]
        known = {
            "name": self.name,
            "template": self.template,
            "factors": factors,
            "groups": list(self.groups),
            "criteria": self.criteria,
            "profiles": self.profiles,
            "repetitions": self.repetitions,
            "seed": self.seed,
            "max_profiles": self.max_profiles,
            "select_at": self.select_at,
            "gates": self.gates.as_dict() or None,
        }
        return {key: value for key, value in known.items() if value is not None}

    def __post_init__(self) -> None:
        _require_count("repetitions", self.repetitions, least=1, most=MOST_REPETITIONS)
        _require_count("max_profiles", self.max_profiles, least=1, most=MOST_PROFILES)
        _require_count("seed", self.seed, least=0, most=MOST_SEED)
        known = {one.name for one in self.factors}
        for name in self.groups:
            if name not in known:
                raise ConfigError(f"groups: no factor is called {name!r}{did_you_mean(name, known)}")
        if not self.groups:
            raise ConfigError("groups: name at least one factor that must not matter, such as the applicant's name")
        if self.profiles is not None and BASE in known:
            raise ConfigError(f"factors.{BASE}: this name stands for the text of a base profile; give it another")
        wanted = known | ({BASE} if self.profiles is not None else set())
        PriceBook(self.prices)
        template = self.filled
        template.require_known(wanted, where="template")
        for name in sorted(wanted - template.names):
            raise ConfigError(f"template: it does not show {{{name}}}, so that it could make no difference")
        if self.gates.min_impact_ratio is not None and self.select_at is None:
            raise ConfigError("gates.min_impact_ratio: it takes select_at, the score at which a profile is selected")

    @property
    def filled(self) -> Template:
        """The template, to be filled in."""
        return Template.with_single_braces(self.template)

    @property
    def cells(self) -> int:
        """How many combinations of levels there are; they are counted and never listed."""
        return math.prod(len(one.levels) for one in self.factors)

    def factor(self, name: str) -> Factor:
        """Return the factor of a name."""
        return next(one for one in self.factors if one.name == name)


def _read(given: Mapping[Any, Any]) -> dict[str, Any]:
    for key in given:
        if key not in _KEYS:
            raise ConfigError(f"no key {key!r:.80}{did_you_mean(str(key)[:_MOST_NAME], _KEYS)}")
    for key in _NEEDED:
        if given.get(key) is None:
            raise ConfigError(f"{key} is missing")
    known = {key: value for key, value in given.items() if value is not None}
    for key in ("template", "criteria", "profiles", "name"):
        if key in known and (not isinstance(known[key], str) or is_blank(known[key])):
            raise ConfigError(f"{key} is {known[key]!r:.80}; it must be text")
    if "select_at" in known and not _on_scale(known["select_at"]):
        told = f"it must be a score above {SCALE.low:g} and up to {SCALE.high:g}"
        raise ConfigError(f"select_at is {known['select_at']!r:.80}; {told}")
    known["template"] = storable(known["template"])
    known["factors"] = _factors(known["factors"])
    known["groups"] = _groups(known["groups"])
    known["gates"] = GateSpec.of(known.get("gates"))
    return known


def _require_count(key: str, value: object, *, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(f"{key} is {value!r:.80}; it must be a whole number, from {least} to {most:,}")


def _on_scale(value: object) -> bool:
    return is_finite_number(value) and SCALE.low < value <= SCALE.high


def _groups(given: object) -> tuple[str, ...]:
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, Iterable) or isinstance(several, Mapping):
        raise ConfigError(f"groups must be a list of names of factors, not {given!r:.80}")
    names = tuple(map(str, several))
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"groups: duplicate factor {name!r}")
    return names


def _factors(given: object) -> tuple[Factor, ...]:
    if not isinstance(given, Mapping) or not given:
        raise ConfigError(f"factors must be a mapping of names to lists of levels, not {given!r:.80}")
    return tuple(_factor(name, levels) for name, levels in given.items())


def _factor(name: object, given: object) -> Factor:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _MOST_NAME:
        told = "letters, digits and underscores, such as years_of_experience, as the template shows it"
        raise ConfigError(f"factors: {name!r:.80} must be a name of {told}")
    where = f"factors.{name}"
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, list | tuple):
        pairs = [(one, one) for one in given]
    else:
        raise ConfigError(f"{where} must be a list of levels, or a mapping of levels to texts, not {given!r:.80}")
    if len(pairs) < 2:
        told = "no level" if not pairs else "one level"
        raise ConfigError(f"{where} has {told}; what varies has two or more")
    if len(pairs) > _MOST_LEVELS:
        raise ConfigError(f"{where} has {len(pairs):,} levels; {_MOST_LEVELS} are the most")
    levels: dict[str, str] = {}
    for level, text in pairs:
        called = _text(level, where)
        if is_blank(called) or len(called) > _MOST_LEVEL:
            told = f"has 1 to {_MOST_LEVEL} characters; give a long text as a mapping of a short name to it"
            raise ConfigError(f"{where}: the name of a level {told}, not {called!r:.80}")
        if called in levels:
            raise ConfigError(f"{where}: duplicate level {called!r:.80}")
        shown = _text(text, f"{where}.{called:.80}")
        if shown in levels.values():
            raise ConfigError(f"{where}: two levels have the text {shown!r:.80}; nobody could tell them apart")
        levels[called] = shown
    return Factor(name=name, levels=levels)


def _text(given: object, where: str) -> str:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ConfigError(f"{where}: a level is text or a number, not {given!r:.80}; put text in quotes")
    return storable(given) if isinstance(given, str) else str(given)
