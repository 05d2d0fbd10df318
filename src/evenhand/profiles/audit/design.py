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
ESTIMATE: Final = "estimate"
INTERVAL: Final = "interval"
_DECIDED_BY: Final = "decided_by"
EQUAL_REFUSALS: Final = "equal_refusals"
_DECIDING: Final = (ESTIMATE, INTERVAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSpec:
    """The gates of an audit; None demands nothing.

    ``max_group_effect`` is the most, in points of the score, by which two levels of a group may differ;
    ``max_group_interaction`` the most by which the worth of another attribute may differ between them;
    ``min_impact_ratio`` the least share of the best level's selection rate that any level must have; ``max_unscored``
    is that of every run. ``decided_by`` says what fails the first three: ``estimate``, an estimate beyond the limit;
    ``interval``, an estimate whose whole interval is beyond it. ``equal_refusals`` demands that no level of a group is
    left without a score more often than others, beyond chance; None where the design does not say.
    """

    max_group_effect: float | None = None
    max_group_interaction: float | None = None
    min_impact_ratio: float | None = None
    max_unscored: float | str | None = None
    decided_by: str = ESTIMATE
    equal_refusals: bool | None = None

    @classmethod
    def of(cls, settings: object) -> GateSpec:
        """Parse what a user may write: nothing, or a mapping of gates to limits."""
        if settings is None:
            return cls()
        if not isinstance(settings, Mapping):
            raise ConfigError(f"gates must be a mapping such as {{'max_group_effect': 0.5}}, not {settings!r:.80}")
        for name, limit in settings.items():
            if name == MAX_UNSCORED:
                Gates.of({name: limit})
            elif name == _DECIDED_BY:
                _require_deciding(limit, settings)
            elif name == EQUAL_REFUSALS:
                if not isinstance(limit, bool):
                    raise ConfigError(f"gates.{EQUAL_REFUSALS} is {limit!r:.80}; it must be true or false")
            elif name not in _LARGEST:
                known = (*_LARGEST, EQUAL_REFUSALS, MAX_UNSCORED, _DECIDED_BY)
                raise ConfigError(f"gates: no gate {name!r:.80}{did_you_mean(str(name), known)}")
            elif not is_finite_number(limit) or not 0 <= limit <= _LARGEST[name]:
                raise ConfigError(f"gates.{name} is {limit!r:.80}; it must be a number from 0 to {_LARGEST[name]:g}")
        return cls(**settings)

    @property
    def demands_equal_refusals(self) -> bool:
        """Whether refusals are a matter of the gates: in every audit that has gates, unless its design says no."""
        return bool(self.as_dict()) if self.equal_refusals is None else self.equal_refusals

    @property
    def of_every_run(self) -> dict[str, Any]:
        """Those that any run may have, which its exit code knows of already."""
        return {} if self.max_unscored is None else {MAX_UNSCORED: self.max_unscored}

    def as_dict(self) -> dict[str, Any]:
        """Return the demands as plain JSON values."""
        usual = {_DECIDED_BY: ESTIMATE}
        return {name: limit for name, limit in asdict(self).items() if limit is not None and usual.get(name) != limit}


def _require_deciding(value: object, gates: Mapping[Any, Any]) -> None:
    if value not in _DECIDING:
        hint = did_you_mean(str(value)[:_MOST_NAME], _DECIDING)
        near = hint if "did you mean" in hint else ""  # the others were named already
        raise ConfigError(f"gates.{_DECIDED_BY} is {value!r:.80}; it must be {' or '.join(_DECIDING)}{near}")
    if not any(name in gates for name in _LARGEST):
        raise ConfigError(
            f"gates.{_DECIDED_BY}: there is nothing to decide; add a limit, such as {next(iter(_LARGEST))}"
        )


# The name under which a template shows the text of a base profile.
BASE: Final = "profile"
USUAL_REPETITIONS: Final = 3
USUAL_SEED: Final = 1
USUAL_PROFILES: Final = 512
# All profiles are made before the first is scored, so their number is limited; so is the number of calls.
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
# What to write where a text is needed.
_EMPTY: Final = {"criteria": "say what profiles are scored by", "template": "write the text of a profile"}
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
    def of(cls, settings: object, *, where: str = "the design") -> AuditDesign:
        """Parse what a user may write; a mistake is reported with the path of its key."""
        if not isinstance(settings, Mapping):
            raise ConfigError(f"{where}: a design is a mapping with {', '.join(_NEEDED)}, not {settings!r:.80}")
        try:
            return cls(**_parse_settings(settings))
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None

    @classmethod
    def stored(cls, settings: Mapping[str, Any]) -> AuditDesign:
        """Parse what ``as_dict`` returned."""
        factors = {
            factor["name"]: {level["name"]: level["text"] for level in factor["levels"]}
            for factor in settings["factors"]
        }
        return cls.of({**settings, "factors": factors}, where="the stored design")

    def as_dict(self) -> dict[str, Any]:
        """Return the design as plain JSON values, in which nothing hangs on the order of keys."""
        factors = [
            {"name": factor.name, "levels": [{"name": name, "text": text} for name, text in factor.levels.items()]}
            for factor in self.factors
        ]
        settings = {
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
        return {key: value for key, value in settings.items() if value is not None}

    def __post_init__(self) -> None:
        _require_count("repetitions", self.repetitions, least=1, most=MOST_REPETITIONS)
        _require_count("max_profiles", self.max_profiles, least=1, most=MOST_PROFILES)
        _require_count("seed", self.seed, least=0, most=MOST_SEED)
        factor_names = {factor.name for factor in self.factors}
        for name in self.groups:
            if name not in factor_names:
                raise ConfigError(f"groups: no factor is called {name!r}{did_you_mean(name, factor_names)}")
        if not self.groups:
            raise ConfigError("groups: name at least one factor that must not matter, such as the applicant's name")
        if self.profiles is not None and BASE in factor_names:
            raise ConfigError(f"factors.{BASE}: this name is reserved for the text of a base profile; choose another")
        placeholders = factor_names | ({BASE} if self.profiles is not None else set())
        PriceBook(self.prices)
        template = self.filled
        template.require_plain(placeholders, where="template")
        template.require_known(placeholders, where="template")
        for name in sorted(placeholders - template.names):
            raise ConfigError(f"template: it does not use {{{name}}}, so {_idle(name, self.template)}")
        if self.gates.min_impact_ratio is not None and self.select_at is None:
            raise ConfigError("gates.min_impact_ratio: it needs select_at, the score at which a profile is selected")

    @property
    def filled(self) -> Template:
        """The template, to be filled in."""
        return Template.with_single_braces(self.template)

    @property
    def cells(self) -> int:
        """How many combinations of levels there are; they are counted and never listed."""
        return math.prod(len(factor.levels) for factor in self.factors)

    def factor(self, name: str) -> Factor:
        """Return the factor of a name."""
        return next(factor for factor in self.factors if factor.name == name)


def _idle(name: str, template: str) -> str:
    """Say what comes of a placeholder that a template lacks, and what may have been meant."""
    what = "no base profile would be shown" if name == BASE else "this factor could make no difference"
    if template.count("{") == template.count("}"):
        return what
    return f"{what}; its braces do not match: write {{{name}}}, and {{{{ for a brace that is text"


def _parse_settings(settings: Mapping[Any, Any]) -> dict[str, Any]:
    for key in settings:
        if key not in _KEYS:
            raise ConfigError(f"no key {key!r:.80}{did_you_mean(str(key)[:_MOST_NAME], _KEYS)}")
    for key in _NEEDED:
        if settings.get(key) is None:
            raise ConfigError(f"{key} is missing")
    values = {key: value for key, value in settings.items() if value is not None}
    for key in ("template", "criteria", "profiles", "name"):
        if key in values and not isinstance(values[key], str):
            raise ConfigError(f"{key} is {values[key]!r:.80}; it must be text")
        if key in values and is_blank(values[key]):
            raise ConfigError(f"{key} is empty; {_EMPTY.get(key, 'leave it out, or write something')}")
    if "select_at" in values and not _on_scale(values["select_at"]):
        rule = f"it must be a score above {SCALE.low:g} and up to {SCALE.high:g}"
        raise ConfigError(f"select_at is {values['select_at']!r:.80}; {rule}")
    values["template"] = storable(values["template"])
    values["factors"] = _parse_factors(values["factors"])
    values["groups"] = _parse_groups(values["groups"])
    values["gates"] = GateSpec.of(values.get("gates"))
    return values


def _require_count(key: str, value: object, *, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(f"{key} is {value!r:.80}; it must be a whole number, from {least} to {most:,}")


def _on_scale(value: object) -> bool:
    return is_finite_number(value) and SCALE.low < value <= SCALE.high


def _parse_groups(value: object) -> tuple[str, ...]:
    several = [value] if isinstance(value, str) else value
    if not isinstance(several, Iterable) or isinstance(several, Mapping):
        raise ConfigError(f"groups must be a list of names of factors, not {value!r:.80}")
    names = tuple(map(str, several))
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"groups: duplicate factor {name!r}")
    return names


def _parse_factors(value: object) -> tuple[Factor, ...]:
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(f"factors must be a mapping of names to lists of levels, not {value!r:.80}")
    return tuple(_parse_factor(name, levels) for name, levels in value.items())


def _parse_factor(name: object, value: object) -> Factor:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _MOST_NAME:
        rule = "letters, digits and underscores, such as years_of_experience, as the template shows it"
        raise ConfigError(f"factors: {name!r:.80} must be a name of {rule}")
    where = f"factors.{name}"
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, list | tuple):
        pairs = [(entry, entry) for entry in value]
    else:
        raise ConfigError(f"{where} must be a list of levels, or a mapping of levels to texts, not {value!r:.80}")
    if len(pairs) < 2:
        count = "no level" if not pairs else "one level"
        raise ConfigError(f"{where} has {count}; a factor needs at least two")
    if len(pairs) > _MOST_LEVELS:
        raise ConfigError(f"{where} has {len(pairs):,} levels; at most {_MOST_LEVELS} are allowed")
    levels: dict[str, str] = {}
    for level, text in pairs:
        level_name = _parse_level(level, where)
        if is_blank(level_name) or len(level_name) > _MOST_LEVEL:
            rule = f"has 1 to {_MOST_LEVEL} characters; give a long text as a mapping of a short name to it"
            raise ConfigError(f"{where}: the name of a level {rule}, not {level_name!r:.80}")
        if level_name in levels:
            raise ConfigError(f"{where}: duplicate level {level_name!r:.80}")
        level_text = _parse_level(text, f"{where}.{level_name:.80}")
        if level_text in levels.values():
            raise ConfigError(f"{where}: two levels have the same text, {level_text!r:.80}; they must differ")
        levels[level_name] = level_text
    return Factor(name=name, levels=levels)


def _parse_level(value: object, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ConfigError(f"{where}: a level is text or a number, not {value!r:.80}; put text in quotes")
    return storable(value) if isinstance(value, str) else str(value)
