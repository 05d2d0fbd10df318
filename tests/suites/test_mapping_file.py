"""A YAML file that is one mapping: read as strictly as a suite, told of in words of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand import ConfigError
from evenhand.suites.document import read_mapping

WHAT = "a design is a mapping with factors"


def test_a_mapping_is_read_as_plain_values(tmp_path: Path) -> None:
    path = tmp_path / "design.yaml"
    path.write_text("factors:\n  years: [2, 10]\n  name: {woman: Anna}\njudge: {model: a/b, api_key: '${KEY}'}\n")

    found = read_mapping(path, what=WHAT)

    assert found == {
        "factors": {"years": [2, 10], "name": {"woman": "Anna"}},
        "judge": {"model": "a/b", "api_key": "${KEY}"},
    }
    assert {type(found["factors"]), type(found["factors"]["years"])} == {dict, list}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty; a design is a mapping with factors"),
        ("- a\n", ":1: a design is a mapping with factors, not a list"),
        ("a: 1\nb: {x: 1, x: 2}\n", ":2: duplicate key 'x'; first in line 2"),
        ("a: no\n", ":1: no is false to some YAML parsers"),
        ("a: &x 1\nb: *x\n", ":2: *x is an alias"),
        ("judge:\n  api_key: sk-1\n", ":2: api_key is written out"),
    ],
)
def test_every_mistake_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "design.yaml"
    path.write_text(text)

    with pytest.raises(ConfigError) as caught:
        read_mapping(path, what=WHAT)

    assert told in str(caught.value)
    assert "sk-1" not in str(caught.value)
