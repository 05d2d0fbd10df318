"""Quantiles against golden values: of printed tables, and of an independent implementation to fifteen digits."""

from __future__ import annotations

import pytest

from evenhand.stats.distributions import t_quantile, z_quantile

GOLDEN = {
    (0.95, 1): 12.706204736174694,
    (0.95, 2): 4.302652729749462,
    (0.95, 3): 3.1824463052837078,
    (0.95, 4): 2.7764451051977934,
    (0.95, 9): 2.262157162798205,
    (0.95, 10): 2.228138851986274,
    (0.95, 29): 2.045229642132703,
    (0.95, 99): 1.9842169515864174,
    (0.95, 999): 1.9623414611334493,
    (0.95, 1000): 1.9623390808264083,
    (0.95, 10_000): 1.960201239890626,
}


@pytest.mark.parametrize(("level", "df"), GOLDEN)
def test_students_quantiles_are_right_to_nine_digits(level: float, df: int) -> None:
    assert t_quantile(level, df) == pytest.approx(GOLDEN[level, df], abs=1e-9)


@pytest.mark.parametrize(("level", "printed"), [(0.8, 1.3722), (0.9, 1.8125), (0.99, 3.1693), (0.999, 4.5869)])
def test_other_levels_agree_with_the_printed_table_for_ten_degrees(level: float, printed: float) -> None:
    assert t_quantile(level, 10) == pytest.approx(printed, abs=5e-5)


def test_the_normal_quantile_is_the_limit_of_students() -> None:
    assert z_quantile(0.95) == pytest.approx(1.959963984540054, abs=1e-12)
    assert t_quantile(0.95, 10**9) == pytest.approx(z_quantile(0.95), abs=1e-8)


@pytest.mark.parametrize("df", [998, 999, 1000, 1001])
def test_the_two_ways_to_reckon_meet(df: int) -> None:
    assert t_quantile(0.99, df) == pytest.approx((t_quantile(0.99, df - 1) + t_quantile(0.99, df + 1)) / 2, abs=1e-8)


@pytest.mark.parametrize(("level", "df"), [(0.0, 5), (1.0, 5), (0.95, 0)])
def test_what_has_no_quantile_is_refused(level: float, df: int) -> None:
    with pytest.raises(ValueError, match="a level lies between 0 and 1, and df is 1 or more"):
        t_quantile(level, df)
