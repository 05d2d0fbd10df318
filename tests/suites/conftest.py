"""A folder for suites, and ways to read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.domain.case import Case
from evenhand.suites.suite import Suite, problems, read_suite


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in an empty folder, so that files have short names in messages."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def mistakes() -> Callable[..., list[str]]:
    """Return the mistakes in a suite."""

    def found(text: str | bytes, name: str = "suite.yaml") -> list[str]:
        Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
        return problems(name)

    return found


@pytest.fixture
def suite() -> Callable[..., Suite]:
    """Read a suite."""

    def read(text: str, name: str = "suite.yaml", **options: object) -> Suite:
        Path(name).write_text(text, encoding="utf-8")
        return read_suite(name, **options)  # type: ignore[arg-type]  # whatever a test gives

    return read


@pytest.fixture
def cases(suite: Callable[..., Suite]) -> Callable[..., list[Case]]:
    """Read the cases of a suite."""

    def read(text: str, name: str = "suite.yaml") -> list[Case]:
        return [planned.case for planned in suite(text, name).cases()]

    return read
