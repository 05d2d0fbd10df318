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


def is_audit(definition: Mapping[str, Any]) -> bool:
    """Return whether a run audits a judge."""
    return mode_of(definition) == AUDIT
