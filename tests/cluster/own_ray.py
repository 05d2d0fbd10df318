"""One Ray for all tests that kill none: each start takes seconds. It ends when the next test does without it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from evenhand.cluster.ray_connection import connected

from . import stand_in_model

# What its workers have as the provider's key, and by which its processes are found.
KEY = "sk-canary-8f14e45fceea167a5a36dedd4bea2543"


class OwnRay:
    """Starts Ray for the first test that asks for it, and ends it.

    All its processes find the stand-in for the library that runs models in ``library``, which is also where that writes
    down what happens.
    """

    def __init__(self) -> None:
        self._ending = contextlib.ExitStack()
        self._library: Path | None = None

    @property
    def library(self) -> Path:
        if self._library is None:
            self._library = self._started()
        return self._library

    def _started(self) -> Path:
        with contextlib.ExitStack() as ending, pytest.MonkeyPatch.context() as patch:
            library = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="eh-library-")))
            shutil.copy(stand_in_model.__file__, library / "xllamacpp.py")
            paths = [str(library), *filter(None, [os.environ.get("PYTHONPATH")])]
            patch.setenv("PYTHONPATH", os.pathsep.join(paths))
            patch.setenv(stand_in_model.NOTES, str(library))
            patch.setenv("OPENAI_API_KEY", KEY)
            patch.delenv("RAY_ADDRESS", raising=False)
            ending.enter_context(connected("ray", workers=2))
            self._ending = ending.pop_all()
        return library

    def end(self) -> None:
        """End it, if it was started."""
        self._library = None
        self._ending.close()
