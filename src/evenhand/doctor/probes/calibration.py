"""Whether scores mean something: right answers pass, wrong ones do not, and more than a corner of the scale is used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from evenhand.doctor import readings
from evenhand.doctor.pairs import Pair
from evenhand.doctor.probe import Kind, Made, Probe, Setting


def _nothing_more(_pair: Pair, _setting: Setting) -> Iterable[Made]:
    """Make no cases: the plain ones say it."""
    return ()


CALIBRATION: Final = (
    Probe(
        name="scale_use",
        kind=Kind.CALIBRATION,
        about="Half of the plain answers are good and half are bad, so that scores should differ.",
        harm="scores within one fifth of the scale",
        make=_nothing_more,
        read=readings.fullest_band,
        limit="max_concentration",
    ),
    Probe(
        name="accuracy",
        kind=Kind.CALIBRATION,
        about="Good and bad answers are judged as they are.",
        harm="wrong verdicts: good answers that do not pass, and bad ones that do",
        make=_nothing_more,
        read=readings.errors,
        limit="max_error_rate",
    ),
)
