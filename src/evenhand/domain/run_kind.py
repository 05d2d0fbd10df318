"""What kind of run a definition describes: of a suite, over profiles, an examined judge, a tuned prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# The keys of a definition that say that its run examines a judge, tunes a prompt, or is about profiles.
DOCTOR: Final = "doctor"
TUNE: Final = "tune"
PROFILES: Final = "profiles"
# How profiles are evaluated.
SCORING: Final = "scoring"
RANKING: Final = "ranking"
AUDIT: Final = "audit"
# Beside the mode of a scoring: from which score on a profile passes, where somebody said so.
PASS_MARK: Final = "pass_mark"  # noqa: S105 - no password
_MARKS: Final = "thresholds"
# Profiles are scored from 0 to 10 (SPEC-K1), cases from 0 to 1.
HIGHEST_OF_PROFILES: Final = 10


def is_doctor(definition: Mapping[str, Any]) -> bool:
    """Return whether a run examines a judge."""
    return DOCTOR in definition


def is_tuning(definition: Mapping[str, Any]) -> bool:
    """Return whether a run tunes a prompt."""
    return isinstance(definition.get(TUNE), Mapping)


def mode_of(definition: Mapping[str, Any]) -> str | None:
    """Return how a run evaluates profiles; None where it is not about profiles."""
    about = definition.get(PROFILES)
    return about.get("mode") if isinstance(about, Mapping) else None


def is_scoring(definition: Mapping[str, Any]) -> bool:
    """Return whether a run scores profiles one by one; an audit does."""
    return mode_of(definition) in (SCORING, AUDIT)


def is_ranking(definition: Mapping[str, Any]) -> bool:
    """Return whether a run ranks profiles."""
    return mode_of(definition) == RANKING


def has_verdicts(definition: Mapping[str, Any]) -> bool:
    """Return whether the cases of a run pass or fail: groups never do, profiles only where a pass mark was set.

    >>> has_verdicts({"evaluators": []}), has_verdicts({"profiles": {"mode": "scoring"}})
    (True, False)
    >>> has_verdicts({"profiles": {"mode": "scoring", "pass_mark": 7}})
    True
    """
    mode = mode_of(definition)
    return mode is None or (mode == SCORING and definition[PROFILES].get(PASS_MARK) is not None)


def without_unset_marks(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition as it is shown: marks by which everything passes were set by nobody.

    >>> without_unset_marks({"profiles": {"mode": "scoring"}, "thresholds": {"pass": 0}, "evaluators": []})
    {'profiles': {'mode': 'scoring'}, 'evaluators': []}
    """
    if has_verdicts(definition):
        return dict(definition)
    several = definition.get("evaluators")
    evaluators = several
    if isinstance(several, list):
        evaluators = [_without_marks(one) if isinstance(one, Mapping) else one for one in several]
    return _without_marks(definition) | {"evaluators": evaluators}


def _without_marks(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != _MARKS}


def criteria_of(definition: Mapping[str, Any]) -> str:
    """Return by which criteria profiles are scored or ranked; empty for other runs.

    >>> criteria_of({"profiles": {"mode": "scoring"}, "evaluators": [{"criteria": "Experience"}]})
    'Experience'
    """
    evaluators = definition.get("evaluators") if mode_of(definition) is not None else None
    first = evaluators[0] if isinstance(evaluators, list) and evaluators else None
    criteria = first.get("criteria") if isinstance(first, Mapping) else None
    return criteria if isinstance(criteria, str) else ""


def highest_score(definition: Mapping[str, Any]) -> int | None:
    """Return the highest score of a run as it is shown: 1, or 10 for profiles; None for a ranking, which has none."""
    if is_ranking(definition):
        return None
    return HIGHEST_OF_PROFILES if is_scoring(definition) else 1


def is_audit(definition: Mapping[str, Any]) -> bool:
    """Return whether a run audits a judge."""
    return mode_of(definition) == AUDIT
