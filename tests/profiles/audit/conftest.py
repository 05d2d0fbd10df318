"""Designs, and profiles that were scored as a formula says, without asking anybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.factorial import Factorial
from evenhand.profiles.audit.observed import Observed

Scorer = Callable[[Mapping[str, str]], float | None]


def make_design(factors: Mapping[str, Any], groups: list[str], **more: Any) -> AuditDesign:
    """Make a design whose template shows all factors."""
    template = ", ".join(f"{name} {{{name}}}" for name in factors)
    return AuditDesign.of(
        {"template": template, "factors": factors, "groups": groups, "criteria": "Experience", **more}
    )


def make_observed(design: AuditDesign, scorer: Scorer) -> list[Observed]:
    """Score every profile of a design; None is a profile all of whose calls failed."""
    places = {one.name: {level: at for at, level in enumerate(one.names)} for one in design.factors}
    found = []
    for profile in Factorial.of(design).profiles():
        score = scorer(profile.attributes)
        found.append(
            Observed(
                id=profile.id,
                cell=tuple(places[name][level] for name, level in profile.attributes.items()),
                cluster=profile.cluster or profile.id,
                scores=() if score is None else (score, score),
                score=score,
                failures=2 if score is None else 0,
            )
        )
    return found


@pytest.fixture
def design_of() -> Callable[..., AuditDesign]:
    """Make a design: ``design_of({"name": ["Anna", "Ben"]}, ["name"], seed=2)``."""
    return make_design


@pytest.fixture
def scored_by() -> Callable[[AuditDesign, Scorer], list[Observed]]:
    """Score the profiles of a design: ``scored_by(design, lambda levels: 5.0)``."""
    return make_observed
