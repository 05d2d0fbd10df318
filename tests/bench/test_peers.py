"""The run beside peers says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import peers


def test_what_is_missing_is_said_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PERF_ROOT", str(tmp_path / "perf"))
    (tmp_path / "perf" / "venv" / "autoevals").mkdir(parents=True)
    (tmp_path / "perf" / "venv" / "autoevals" / ".ok").touch()

    assert peers.main("") == 2
    assert "PEERS=folder" in capsys.readouterr().err

    (tmp_path / "bench.py").touch()
    assert peers.main(str(tmp_path)) == 1
    said = capsys.readouterr().err
    assert "left out: openevals, inspect_ai, promptfoo\n" in said
    assert "install.sh openevals inspect promptfoo\n" in said
    assert "install.sh floor\n" in said
