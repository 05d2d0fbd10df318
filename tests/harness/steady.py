"""Find out whether tests depend on luck: ``python -m tests.harness.steady tests/store``.

Runs the tests of a folder in random order with four workers beside three busy loops, three times, or five times where
they use processes, sockets or browsers; then once with one worker; then the long ones once. The seed of each order is
printed: ``--seed`` with it repeats the order.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

WORKERS: Final = 4
LOOPS: Final = 3
TIMES: Final = 3
TIMES_OUTSIDE: Final = 5
NO_TESTS: Final = 5  # the exit code of pytest where none are left
# What tests import that depend on more than this process.
_OUTSIDE: Final = re.compile(
    r"^ *(import|from) (aiohttp|bench|http\.server|httpx|playwright|ray|socket|subprocess|tests\.harness)\b",
    re.MULTILINE,
)
_QUICK: Final = "not long and not sweep"


@contextlib.contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """Keep the cores busy with programs that do nothing."""
    # Each ends with the one that started it, as its standard input does.
    program = "import sys, threading; threading.Thread(target=lambda: (sys.stdin.read(), __import__('os')._exit(0))).start()\nwhile True: pass"
    loops = [subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.communicate()


def uses_more(place: Path) -> bool:
    """Tell whether the tests in a folder or a file use processes, sockets or browsers."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return any(_OUTSIDE.search(file.read_text("utf-8")) for file in files)


def run(title: str, *options: str) -> bool:
    """Run tests, say how they ended, and return whether none failed."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", *options]
    began = time.monotonic()
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    lines = done.stdout.strip().splitlines()
    is_well = done.returncode in {0, NO_TESTS}
    last = next((line for line in reversed(lines) if re.search(r"\d+ (passed|failed|error|deselected)", line)), "")
    print(f"{title}: {last.strip('= ')}, {time.monotonic() - began:.0f} s in all", flush=True)
    if not is_well:
        print("\n".join(lines), flush=True)
    return is_well


def main() -> None:
    """Run the tests of each place that is named as often as it needs."""
    parser = argparse.ArgumentParser(
        prog="tests.harness.steady", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("places", nargs="+", type=Path, metavar="FOLDER", help="a folder or a file of tests")
    parser.add_argument("--seed", type=int, help="the seed of the first order; at random where none is given")
    parser.add_argument("--times", type=int, help="how often to run them in random order")
    given = parser.parse_args()
    if missing := [str(place) for place in given.places if not place.exists()]:
        parser.error(f"no such folder or file: {', '.join(missing)}")
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    outcomes = []
    for place in given.places:
        times = given.times or (TIMES_OUTSIDE if uses_more(place) else TIMES)
        with busy_loops(LOOPS):
            for order in range(seed, seed + times):
                beside = (f"--workers={WORKERS}", f"--shuffle={order}", "-m", _QUICK, str(place))
                outcomes.append(run(f"{place}, seed {order}, beside busy loops", *beside))
        outcomes.append(run(f"{place}, one worker", "-m", _QUICK, str(place)))
        long = ("--workers=2", "-m", "long and not sweep", str(place))
        outcomes.append(run(f"{place}, long", *long))
    print(f"{len(outcomes)} runs, {outcomes.count(False)} with failures")
    sys.exit(0 if all(outcomes) else 1)


if __name__ == "__main__":
    main()
