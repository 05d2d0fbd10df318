"""A judge that ranks profiles by a number in their texts, and is right more often the further two lie apart."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from typing import Any


class NoisyJudge:
    """Orders the profiles of a prompt by what they are worth, with noise of its own."""

    def __init__(self) -> None:
        self._chance = random.Random(2)

    def __call__(self, messages: Sequence[Any]) -> str:
        shown = re.findall(r'<profile_([A-Z]) id="\w+">\nworth (\S+)', messages[-1]["content"])
        order = sorted(shown, key=lambda one: -(2 * float(one[1]) - math.log(-math.log(self._chance.random()))))
        return json.dumps({"reasoning": "", "order": [label for label, _ in order]})
