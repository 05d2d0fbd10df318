"""What a tuning is to do, as its run keeps it: which run and evaluator, which cases, how they are split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.run_kind import TUNE
from evenhand.domain.scale import is_finite_number
from evenhand.tuner.labelled import Labelled, from_dicts

EXAMPLES: Final = "examples"
INSTRUCTIONS: Final = "instructions"
BOTH: Final = "both"
HELD_OUT: Final = 0.4
FOLDS: Final = 5
SHOWN: Final = 4
SEED: Final = 1
MOST_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneSettings:
    """A tuning: ``tuned`` is the run whose evaluator is tuned, ``current`` the evaluator as that run defines it.

    ``model`` is what is kept of the model that writes instructions; None without one, and then only examples are
    tried. ``suite`` is the file of the suite, ``folds`` how many there are beside the part that is ``held_out``,
    ``shown`` how many examples a judge is shown at most. ``looks`` counts earlier tunings of the same
    evaluator that used held-out cases.
    """

    tuned: str
    evaluator: str
    current: Mapping[str, Any]
    cases: tuple[Labelled, ...]
    model: Any = None
    suite: str | None = None
    held_out: float = HELD_OUT
    folds: int = FOLDS
    shown: int = SHOWN
    seed: int = SEED
    looks: int = 0
    notes: tuple[str, ...] = ()

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways to make a candidate, the simplest first: of two that are equally good, the simpler is chosen."""
        return (EXAMPLES,) if self.model is None else (EXAMPLES, INSTRUCTIONS, BOTH)

    @property
    def open_cases(self) -> tuple[Labelled, ...]:
        """The cases that are not held out."""
        return tuple(case for case in self.cases if case.fold is not None)

    @property
    def held_out_cases(self) -> tuple[Labelled, ...]:
        """The cases that are held out."""
        return tuple(case for case in self.cases if case.fold is None)

    @property
    def left_out(self) -> tuple[tuple[int, ...], ...]:
        """The folds that candidates are made without, and then judged on: one, to choose the last, or two."""
        folds = range(self.folds)
        return (*((fold,) for fold in folds), *combinations(folds, 2))

    @property
    def rewrites(self) -> int:
        """How often a model is asked for instructions."""
        return 0 if self.model is None else 1 + self.folds + comb(self.folds, 2)

    @property
    def judgments(self) -> int:
        """How many answers are judged at most."""
        return (len(self.ways) * self.folds + 1) * len(self.open_cases) + len(self.held_out_cases)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {
            "run": self.tuned,
            "evaluator": self.evaluator,
            "current": dict(self.current),
            "model": self.model,
            "suite": self.suite,
            "held_out": self.held_out,
            "folds": self.folds,
            "shown": self.shown,
            "seed": self.seed,
            "looks": self.looks,
            "notes": list(self.notes),
            "cases": [case.as_dict() for case in self.cases],
        }


def settings_of(definition: Mapping[str, Any]) -> TuneSettings:
    """Return the settings of a stored tuning; those of a run that was imported may be anything."""
    kept = dict(definition[TUNE])
    try:
        cases, notes, tuned = kept.pop("cases"), kept.pop("notes"), kept.pop("run")
        return TuneSettings(tuned=tuned, cases=from_dicts(cases), notes=tuple(notes), **kept)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"the run says that it tunes a prompt, and not how: {error}") from None


def check_options(*, held_out: float, folds: int, shown: int, seed: int) -> None:
    """Refuse options that cannot be right, before anything is read."""
    if not is_finite_number(held_out) or not 0.1 <= held_out <= 0.8:
        raise ConfigError(f"held_out is {held_out!r:.80}; it must be a share from 0.1 to 0.8", key="held_out")
    for name, value, least, most in (("folds", folds, 3, 10), ("examples", shown, 2, MOST_SHOWN)):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"{name} is {value!r:.80}; it must be a whole number from {least} to {most}", key=name)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ConfigError(f"seed is {seed!r:.80}; it must be a whole number", key="seed")
