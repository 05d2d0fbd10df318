"""The confidence that a cascade takes from a judge card, as `evenhand calibrate` wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import FLOAT_NOISE, Thresholds
from evenhand.evaluators.reading import parse_strict

CONFIDENT: Final = "confident"
FROM: Final = "from"
# What a card said when the suite was read: a run that is resumed goes by that.
SAID: Final = "confidence"
_MOST_BYTES: Final = 1 << 24
# What may differ between the evaluator that was calibrated and the stage: it does not change what the judge says.
_ASIDE: Final = frozenset(("name", "weight", "required", "thresholds"))
# What the suite may say for all evaluators, so that neither has to.
_FROM_SUITE: Final = ("judge", "ambiguous")


def with_cards(definition: Mapping[str, Any], folder: Path | None, *, anew: bool = False) -> dict[str, Any]:
    """Return the definition of a cascade with what the judge cards say that it names.

    Each ``{from: card.json}`` gets the ``confidence`` of that card; ``anew`` also where one was taken before. A card
    that has none, or is of another evaluator than the stage, raises ``ConfigError``.
    """
    given_all, stages = definition.get(CONFIDENT), definition.get("stages")
    confident: list[Any] = given_all if isinstance(given_all, list) else [given_all]
    if not isinstance(stages, list) or not any(isinstance(each, Mapping) for each in confident):
        return dict(definition)
    needed = len(stages) - (definition.get("then") is None)
    who = f"evaluator {definition.get('name') or 'cascade'!r} (cascade)"
    if isinstance(given_all, Mapping) and needed != 1:
        raise ConfigError(
            f"{who}: confident: a judge card is of one judge, and {needed} stages need a confidence; list one for each",
            key=CONFIDENT,
        )
    taken = []
    for number, (given, stage) in enumerate(zip(confident, stages, strict=False), start=1):
        if not isinstance(given, Mapping) or (SAID in given and not anew):
            taken.append(given)
            continue
        try:
            said = _said(given, stage, folder)
        except ConfigError as error:
            raise ConfigError(f"{who}: confident of stage {number}: {error.problem}", key=CONFIDENT) from None
        taken.append({FROM: given[FROM], SAID: said})
    return {**definition, CONFIDENT: [*taken, *confident[len(taken) :]]}


def as_numbers(confident: Any) -> Any:
    """Return what a cascade is given: numbers in the place of cards that were read."""
    if isinstance(confident, list):
        return [as_numbers(each) for each in confident]
    return confident[SAID] if isinstance(confident, Mapping) and SAID in confident else confident


def _said(given: Mapping[str, Any], stage: Any, folder: Path | None) -> float:
    """Return the confidence that a card gives the judge of a stage."""
    name = given.get(FROM)
    if not isinstance(name, str) or not name or set(given) - {FROM, SAID}:
        raise ConfigError(f"it is {dict(given)!r:.80}; write a number from 0 to 1, or {{from: card.json}}")
    card = _card(name, folder)
    alone, mark, defined = card["alone"], card["pass_mark"], card["definition"]
    if "refused" in alone:
        raise ConfigError(f"{name} has no confidence from which on the judge may decide alone: {alone['refused']}")
    if not isinstance(defined, Mapping):
        raise ConfigError(f"{name} is not the card of one evaluator; write it with --evaluator NAME")
    if isinstance(stage, Mapping):
        _require_same(name, defined, stage)
        wanted = Thresholds.of(stage.get("thresholds")).pass_at
        if abs(mark - wanted) > FLOAT_NOISE:
            raise ConfigError(
                f"{name} is for the pass mark {mark:g}, and that of the stage is {wanted:g}; write the stage with "
                f"thresholds: {{pass: {mark:g}}}"
            )
    confidence = alone.get("confidence")
    if not is_finite_number(confidence) or not 0 <= confidence <= 1:
        raise ConfigError(f"{name} has the confidence {confidence!r:.40}, which is no number from 0 to 1")
    return float(confidence)


def _require_same(name: str, defined: Mapping[str, Any], stage: Mapping[str, Any]) -> None:
    """Refuse a card of another evaluator: what it says holds for the judge and the question that were calibrated."""
    for key in sorted((defined.keys() | stage.keys()) - _ASIDE):
        calibrated, own = defined.get(key), stage.get(key)
        if calibrated != own and not (key in _FROM_SUITE and (own is None or (key != "judge" and calibrated is None))):
            raise ConfigError(
                f"{name} is the card of another evaluator: its {key} is {calibrated!r:.80}, and that of the stage "
                f"{own!r:.80}"
            )


def _card(name: str, folder: Path | None) -> Mapping[str, Any]:
    path = Path(name) if folder is None else folder / name
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
        card = parse_strict(content.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, ContractError) as error:
        raise ConfigError(f"{name} is no JSON: {error}") from None
    if (
        not isinstance(card, Mapping)
        or not isinstance(card.get("alone"), Mapping)
        or not is_finite_number(card.get("pass_mark"))
        or "definition" not in card
    ):
        raise ConfigError(
            f"{name} is no judge card; write one with: evenhand calibrate RUN --evaluator NAME -o card.json"
        )
    return card
