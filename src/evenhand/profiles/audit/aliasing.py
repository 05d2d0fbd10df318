"""Which effects a fraction cannot tell apart, worked out from its own cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from evenhand.profiles.audit.coding import Coding, Term, crossings
from evenhand.profiles.audit.fraction import Cell

# Less of one effect in another than this is not worth a line; and what rounding may make of all of it.
LEAST_MIXED: Final = 0.1
_NOISE: Final = 1e-6
# All pairs of more numbers than this would take too long, and nobody reads them: then those with a group, or none.
_MOST_NUMBERS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """Two effects that have a part in each other: ``mixed`` is 1 where nothing tells them apart."""

    one: tuple[str, ...]
    other: tuple[str, ...]
    mixed: float

    @property
    def is_whole(self) -> bool:
        """Whether nothing tells them apart."""
        return self.mixed > 1 - _NOISE

    @property
    def words(self) -> str:
        """Say it in a sentence.

        >>> Alias(one=("experience",), other=("age", "city"), mixed=1.0).words
        'experience cannot be told apart from age × city'
        """
        one, other = " × ".join(self.one), " × ".join(self.other)
        if self.is_whole:
            return f"{one} cannot be told apart from {other}"
        return f"{one} is mixed in part with {other} (correlation {self.mixed:.2f})"

    def as_dict(self) -> dict[str, Any]:
        """Give the alias as plain JSON values."""
        return asdict(self) | {"one": list(self.one), "other": list(self.other), "words": self.words}


def aliases(
    names: Sequence[str], sizes: Sequence[int], cells: Sequence[Cell], groups: Sequence[int]
) -> tuple[Alias, ...]:
    """Find what is mixed with main effects, and with interactions of groups; the most mixed come first.

    A full factorial design has no such effects.
    """
    import numpy as np  # noqa: PLC0415 - slow to load, and few commands make a design

    main: list[Term] = [(place,) for place in range(len(names))]
    models = ([*main, *crossings(len(names))], [*main, *crossings(len(names), groups)], main)
    terms = next((one for one in models if Coding(sizes, one).width <= _MOST_NUMBERS), main)
    coding = Coding(sizes, terms)
    numbers = coding.rows(cells)
    # Each effect as directions at right angles, so that the largest stretch from one to another is their correlation.
    whole = [np.linalg.qr(numbers[:, place] - numbers[:, place].mean(axis=0))[0] for place in coding.places.values()]
    owner = np.repeat(np.arange(len(terms)), [one.shape[1] for one in whole])
    together = np.concatenate(whole, axis=1)
    shared = together.T @ together
    near = np.unique(owner[np.argwhere(np.abs(shared) > _NOISE)], axis=0)
    found = []
    for one, other in near[near[:, 0] < near[:, 1]].tolist():
        first, second = terms[one], terms[other]
        if len(first) > 1 and not any(place in groups for place in (*first, *second)):
            continue
        mixed = float(np.linalg.norm(shared[np.ix_(owner == one, owner == other)], 2))
        called = [tuple(names[place] for place in term) for term in (first, second)]
        if mixed >= LEAST_MIXED:
            found.append(Alias(one=called[0], other=called[1], mixed=min(mixed, 1.0)))
    return tuple(sorted(found, key=lambda one: (-round(one.mixed, 6), len(one.one), len(one.other))))
