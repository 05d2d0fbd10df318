"""Write the table of what tests take into its page: ``python -m tests.harness.table``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from tests.harness.folders import allowances
from tests.harness.scheduling import RECORDED

PAGE: Final = Path(__file__).parents[2] / "docs/design/tests.md"
_BETWEEN: Final = re.compile(r"(<!-- seconds: .*? -->\n).*?(<!-- end of seconds -->\n)", re.DOTALL)


def table(recorded: dict[str, Any]) -> str:
    """Write a row for each folder: its tests, what they start, and the seconds of ``test`` and of ``long``."""
    targets = ("test", "long")
    folders = {
        name: of[name] for target in targets if (of := recorded.get(target, {}).get("folders", {})) for name in of
    }
    lines = [
        "| folder | tests | starts | seconds | allowed | long tests | starts | seconds | allowed |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    totals = [0.0] * 8
    for folder in sorted(folders, key=lambda name: -sum(_of(recorded, target, name)[2] for target in targets)):
        row = [number for target in targets for number in _of(recorded, target, folder)]
        totals = [total + number for total, number in zip(totals, row, strict=True)]
        lines.append(_line(folder, row))
    lines.append(_line("all", totals))
    for target in targets:
        slowest = recorded.get(target, {}).get("slowest", {})
        lines += ["", f"Slowest of `make {'test' if target == 'test' else 'test-long'}`:", ""]
        lines += [f"- {seconds:.1f} s: `{nodeid.removeprefix('tests/')}`" for nodeid, seconds in slowest.items()]
    return "\n".join(lines) + "\n"


def _of(recorded: dict[str, Any], target: str, folder: str) -> list[float]:
    found = recorded.get(target, {}).get("folders", {}).get(folder, {"tests": 0, "started": 0, "seconds": 0})
    return [found["tests"], found["started"], found["seconds"], allowances()["seconds"].get(target, {}).get(folder, 0)]


def _line(name: str, numbers: list[float]) -> str:
    return f"| {name} | {' | '.join(f'{number:,.0f}' for number in numbers)} |"


def with_table(page: str, recorded: dict[str, Any]) -> str:
    """Put the table into the page, between its two marks."""
    return _BETWEEN.sub(lambda found: f"{found[1]}\n{table(recorded)}\n{found[2]}", page)


def main() -> None:
    """Write the page anew."""
    recorded = json.loads(RECORDED.read_text("utf-8"))
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), recorded), "utf-8")


if __name__ == "__main__":
    main()
