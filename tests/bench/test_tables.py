"""The measurement of planning tables works, in small; its figures are for `make bench`."""

from __future__ import annotations

import pytest

from bench import tables


@pytest.mark.long
@pytest.mark.starts(6, "measures whole commands")
def test_a_row_of_each_kind_of_table_is_planned() -> None:
    measured = list(tables.rows(some=10, many=2_000))

    assert [what for what, _, _ in measured[::2]] == [f"planning a row of {form}" for form in tables.FORMS]
    assert all(figure.endswith(" MB") for _, figure, _ in measured[1::2])
