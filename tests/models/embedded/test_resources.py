"""What a model reserves on a cluster, as a suite says it."""

from __future__ import annotations

import math

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.models.embedded.resources import Resources


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cpu": 2, "gpu": 1}, "2 cpu and 1 gpu"),
        ({"gpu": 0.25}, "1 cpu and 0.25 gpu"),
        ({"cpu": 1.5}, "1.5 cpu"),
        ({"gpu": 2.0}, "1 cpu and 2 gpu"),
    ],
)
def test_what_is_reserved_can_be_said(given: dict[str, float], words: str) -> None:
    assert str(Resources.of(given, where="judge")) == words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (2, r"judge: resources is 2; it must be what the model reserves on a cluster, such as \{cpu: 2, gpu: 1\}"),
        ({}, "resources is {}"),
        ({"cpus": 2}, "judge: no resource 'cpus'; did you mean 'cpu'"),
        ({"memory": 2}, "no resource 'memory'; known: cpu, gpu"),
        ({"cpu": 0}, "resources: cpu is 0; it must be a number above 0"),
        ({"cpu": True}, "cpu is True"),
        ({"cpu": "2"}, "cpu is '2'"),
        ({"gpu": -1}, "gpu is -1"),
        ({"gpu": math.nan}, "gpu is nan"),
        ({"gpu": math.inf}, "gpu is inf"),
        ({"gpu": 1.5}, "gpu is 1.5; above 1 it must be a whole number"),
        ({"gpu": 0.00001}, "it can have four decimals at most"),
    ],
)
def test_what_cannot_be_reserved_is_refused_with_what_would_be_right(given: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Resources.of(given, where="judge")
