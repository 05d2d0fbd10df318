"""How a run is reported, whatever kind of run it is."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, cast

from evenhand.doctor.plan import DOCTOR
from evenhand.profiles.modes import ReportKind, report_kind_of as profile_kind_of
from evenhand.tuner.settings import is_tuning


def report_kind_of(definition: Mapping[str, Any]) -> ReportKind | None:
    """Return how a run is reported, by its definition; None where it is reported like every other."""
    if DOCTOR in definition:
        return cast("ReportKind", importlib.import_module("evenhand.doctor.report"))
    if is_tuning(definition):
        return cast("ReportKind", importlib.import_module("evenhand.tuner.report"))
    return profile_kind_of(definition)
