"""A prompt written as a suite's file, and read back before anybody gets it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import yaml

from evenhand.domain.errors import ConfigError
from evenhand.store.store import Store
from evenhand.suites.suite import read_suite
from evenhand.workspace.suite import suite_of
from evenhand.workspace.trial import case_of

_WIDTH = 120


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def suite_text(store: Store, wanted: str, *, model: str | None, judge: str | None) -> tuple[str, int]:
    """Give a prompt as a suite in YAML, and how many cases it has."""
    prompt = store.prompts.find(wanted)
    cases = list(store.prompts.cases(prompt.id))
    suite = suite_of(prompt, cases, model=model, judge=judge)
    text: str = yaml.dump(suite, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    _require_same(text, suite, [case_of(prompt.text, one) for one in cases])
    return text, len(cases)


def _require_same(text: str, suite: dict[str, Any], cases: list[Any]) -> None:
    """Read the suite as `evenhand run` will, and find all of it as it was."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "suite.yaml")
        path.write_text(text, encoding="utf-8", newline="\n")
        read = read_suite(path)
        found = [planned.case for planned in read.cases()]
    header = {key: value for key, value in suite.items() if key != "cases"}
    if found != cases or read.definition != header:
        raise ConfigError("the prompt holds signs that do not come back from YAML as they are; export it as JSON")
