from __future__ import annotations

from collections.abc import Iterator

import pytest
from bench.loopback import LoopbackJudge


@pytest.fixture
def provider() -> Iterator[LoopbackJudge]:
    """Return a judge on loopback."""
    made = LoopbackJudge(delay=0.004)
    yield made
    made.close()
