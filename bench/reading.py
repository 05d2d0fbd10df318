"""What it costs to read replies that were made to be hard to read."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.measure import ROUNDS, Row, cpu_seconds
from bench.provider import VERDICT
from evenhand.domain.errors import ContractError
from evenhand.domain.scale import UNIT
from evenhand.evaluators.freeform import freeform_contract
from evenhand.evaluators.reading import MAX_REPLY, read_reply

MILLISECONDS = "milliseconds"
LINEAR = "linear: under 1 µs a character"
QUOTED_CODE = "".join(f'    if (x[{number}]) {{ return {{"line": {number}}}; }}\n' for number in range(3000))

REPLIES = {
    "a verdict and nothing else": (json.dumps(VERDICT), MILLISECONDS),
    "a verdict behind 3,000 lines of quoted code": (f"```c\n{QUOTED_CODE}```\n{json.dumps(VERDICT)}", MILLISECONDS),
    "1 MiB of {": ("{" * MAX_REPLY, MILLISECONDS),
    '1 MiB of openers {"a":': ('{"a":' * (MAX_REPLY // 5), LINEAR),
}


def rows() -> Iterator[Row]:
    for what, (reply, goal) in REPLIES.items():
        taken = min(cpu_seconds(lambda: read(reply)) for _ in range(ROUNDS))  # noqa: B023 - called at once
        yield f"reading {what}", f"{taken * 1000:.2f} ms", goal


def read(reply: str) -> None:
    try:
        read_reply(reply, freeform_contract(UNIT))
    except ContractError:
        if reply.endswith("}"):
            raise
