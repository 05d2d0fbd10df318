"""Print Evenhand beside its peers in one run, where they are installed: ``make bench-peers PEERS=folder``.

The folder has a mock of a provider, a runner for each peer and ``install.sh``, which puts each into an environment of
its own below ``PERF_ROOT``.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

# As the folder calls them, and what has to be there.
PEERS = {
    "autoevals": "venv/autoevals/.ok",
    "openevals": "venv/openevals/.ok",
    "inspect_ai": "venv/inspect/.ok",
    "promptfoo": "npm/promptfoo/node_modules/.bin/promptfoo",
}
# The mock and the bare client run in it.
FLOOR = "venv/floor/.ok"
RUNNER = Path(__file__).with_name("peers_runner.py")


def main(folder: str, *options: str) -> int:
    """Run what is installed, say what is not, and return the exit code."""
    place = Path(folder).absolute()
    root = Path(os.environ.get("PERF_ROOT") or Path(tempfile.gettempdir(), "perf"))
    if not folder or not (place / "bench.py").is_file():
        print("Name the folder with the runners of the peers: make bench-peers PEERS=folder", file=sys.stderr)
        return 2
    if missing := [name for name, needed in PEERS.items() if not (root / needed).exists()]:
        print(f"Not installed below {root}, and left out: {', '.join(missing)}", file=sys.stderr)
        print(
            f"To install: {place / 'install.sh'} {' '.join(missing).replace('inspect_ai', 'inspect')}", file=sys.stderr
        )
    if not (root / FLOOR).exists():
        print(f"The mock needs its environment: {place / 'install.sh'} floor", file=sys.stderr)
        return 1
    present = ["floor_aiohttp", *(name for name in PEERS if name not in missing)]
    ours = f"evenhand;shape=free|{shlex.quote(sys.executable)} {shlex.quote(str(RUNNER))}"
    environment = {**os.environ, "PEERS": str(place), "PERF_ROOT": str(root)}
    shared = ["--peers", ",".join(present), "--extra", ours, "--out", str(root / "evenhand-and-peers.jsonl")]
    results = root / "evenhand-and-peers.jsonl"
    results.unlink(missing_ok=True)
    for what in (["startup", "--rounds", "3"], ["throughput", "--conc", "64", "--lat", "0", "--rounds", "3", *options]):
        command = [sys.executable, str(place / "bench.py"), *what, *shared]
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return subprocess.run(
        [sys.executable, str(place / "bench.py"), "table", str(results)], env=environment, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [""])))
