"""Reading a suite runs nothing and imports nothing that it names (REL-X4)."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import problems, read_suite


@pytest.mark.parametrize(
    "line",
    [
        "target: {python: 'evil_module:function'}",
        "target: {python: 'evil_module:function', model: null}",
        "target: {python: 'evil_module:function', command: [x]}",
        "target: {python: 'evil_module:function', model: openai/x}",
        "target: {command: ['{python}', evil_module.py]}",
        "target: evil_module/x",
        "judge: evil_module/x",
        "judge: 'evil_module:function'",
        "evaluators: [{type: 'evil_module:function'}]",
        "evaluators: [{type: evil_module.function}]",
        "evaluators: [{type: code_judge, command: ['{python}', evil_module.py]}]",
        "evaluators: [{type: composite, members: [{type: 'evil_module:function'}]}]",
        "metadata: !!python/object/apply:evil_module.function []",
        "metadata: !!python/module:evil_module x",
        "metadata: {'__class__': evil_module, '__reduce__': 1, lc: 1, id: [evil_module]}",
    ],
)
def test_whatever_it_says(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    Path("evil_module.py").write_text("open('it-ran', 'w').close()\ndef function(*_): pass\n", encoding="utf-8")
    head = "" if line.startswith("evaluators") else "evaluators: [{type: contains}]\n"
    Path("suite.yaml").write_text(
        f"{head}{line.replace('{python}', sys.executable)}\ncases: [{{id: a}}]\n", encoding="utf-8"
    )

    problems("suite.yaml")
    with contextlib.suppress(ConfigError):
        list(read_suite("suite.yaml").cases())

    assert "evil_module" not in sys.modules
    assert not Path("it-ran").exists()


def test_a_python_target_is_a_name_until_it_runs() -> None:
    Path("suite.yaml").write_text(
        "evaluators: [{type: contains}]\ntarget: {python: 'os:system'}\ncases: [{id: a}]\n", encoding="utf-8"
    )

    assert problems("suite.yaml") == []
    assert read_suite("suite.yaml").definition["target"] == {"python": "os:system"}
