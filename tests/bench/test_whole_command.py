"""The measurement of the whole command beside the bare client works, in small; its figures are for `make bench`."""

from __future__ import annotations

import pytest

from bench import whole_command


@pytest.mark.long
@pytest.mark.starts(8, "measures whole commands")
def test_the_command_on_a_terminal_is_compared_with_the_bare_client() -> None:
    rows = list(whole_command.rows(cases=120, turns=1))

    assert [goal for _, _, goal in rows if goal] == ["1.5, and 1.0 in sight"]
    assert all(float(measured.removesuffix(" µs")) for _, measured, _ in rows)
