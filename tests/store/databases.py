"""In which databases a test of the store runs: in both, unless what it proves is done by Python and not by SQL."""

from __future__ import annotations

import pytest

POSTGRES = (pytest.mark.slow, pytest.mark.group("postgres-store"))
in_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
