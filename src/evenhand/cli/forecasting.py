"""A limit in dollars needs prices: for those who set `--max-cost`."""

from __future__ import annotations

from evenhand.domain.errors import ConfigError
from evenhand.engine.forecast import Estimate


def require_prices(expected: Estimate) -> None:
    """Refuse a limit in dollars where nobody can tell how many dollars a call takes."""
    unknown = [one.model for one in expected.models if one.low is None]
    if unknown:
        raise ConfigError(
            f"--max-cost: nobody knows what {' and '.join(unknown)} costs; give its price in the suite, in dollars for "
            f"a million tokens, such as prices: {{{unknown[0]}: {{input: 0.25, output: 2}}}}, or use --max-calls"
        )
