"""The pages of the reference are those that the program would write now."""

from __future__ import annotations

import pytest
from docs.generate.__main__ import main


def test_the_reference_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--check"])

    assert code == 0, capsys.readouterr().out
