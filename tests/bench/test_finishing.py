"""The measurement of the end of a run works, in small; its figures are for `make bench`."""

from __future__ import annotations

import pytest

from bench import finishing


@pytest.mark.long
@pytest.mark.starts(4, "measures whole commands")
def test_the_end_of_a_run_is_a_share_of_the_whole() -> None:
    (_, whole, _), (_, share, goal) = finishing.rows(cases=60)

    assert float(whole.removesuffix(" s")) > 0
    assert 0 < float(share) < 1
    assert goal == "0.05"
