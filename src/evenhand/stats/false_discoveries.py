"""Several tests at once: p values corrected so that few of the findings are false."""

from __future__ import annotations

from collections.abc import Mapping


def benjamini_hochberg(p_values: Mapping[str, float]) -> dict[str, float]:
    """Correct p values for their number: of the findings below 0.05, one in twenty is expected to be false.

    ``holm`` is stricter: there, any false finding at all is rare.

    >>> benjamini_hochberg({"safe": 0.01, "kind": 0.04, "short": 0.03})
    {'safe': 0.03, 'kind': 0.04, 'short': 0.04}
    """
    outside = [p for p in p_values.values() if not 0 <= p <= 1]
    if outside:
        raise ValueError(f"p values lie from 0 to 1; got {outside[0]!r}")
    corrected: dict[str, float] = {}
    least, many = 1.0, len(p_values)
    for place, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1], reverse=True)):
        least = min(least, p * (many / (many - place)))
        corrected[name] = least
    return {name: corrected[name] for name in p_values}
