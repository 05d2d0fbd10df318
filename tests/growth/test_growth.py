"""Whatever reads text from outside takes work in proportion to its length, counted in instructions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("hostile_readers.py")
GROUPS = ("evaluators", "checks", "providers", "files", "reports")

# Twice the text, twice the work: from 2n to 4n as much again as from n to 2n, times two. With squares it is times four.
MOST_GROWTH = 2.4
# What differs by less may be a table that grew, or a cache that was full.
LEAST_WORK = 400_000

needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="valgrind counts the instructions, and is not installed"
)


class Work(NamedTuple):
    """What a reader took for texts of n, 2n and 4n characters, in instructions."""

    reader: str
    text: str
    small: int
    medium: int
    large: int

    @property
    def growth(self) -> float:
        return (self.large - self.medium) / max(self.medium - self.small, LEAST_WORK)

    def __str__(self) -> str:
        counts = f"{self.small:,}, {self.medium:,}, {self.large:,} instructions"
        return f"{self.reader} ({self.text or 'all texts'}): {counts}, growth {self.growth:.2f}"


def counted(folder: Path, *arguments: str) -> list[Work]:
    """Run the program under callgrind, and read how many instructions each of its children took."""
    folder.mkdir()
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/%p", "--quiet", sys.executable]
    environment = os.environ | {"PYTHONHASHSEED": "0", "TMPDIR": str(folder), "HOME": str(folder)}
    done = subprocess.run(
        [*command, str(PROGRAM), *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    works = []
    for reader, text, children in json.loads(done.stdout.splitlines()[-1]):
        nothing, *sizes = (instructions(folder / str(child)) for child in children)
        works.append(Work(reader, text, *(size - nothing for size in sizes)))
    return works


def instructions(file: Path) -> int:
    found = re.search(r"^totals: (\d+)$", file.read_text(), re.MULTILINE)
    assert found, f"callgrind left {file} without a total"
    return int(found[1])


@needs_valgrind
@pytest.mark.sweep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("group", GROUPS)
def test_twice_the_text_takes_twice_the_work(group: str, tmp_path: Path) -> None:
    works = counted(tmp_path / "all", group)

    if suspects := [work.reader for work in works if work.growth > MOST_GROWTH]:
        # Which text it was is looked for only then: one by one they take long.
        works = [work for work in counted(tmp_path / "each", group, *suspects) if work.growth > MOST_GROWTH]
        assert works == [], "\n".join(map(str, works))
    else:
        assert works
