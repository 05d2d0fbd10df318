"""Evenhand among its peers: the command, start included, over their cases against their mock of a provider.

`bench.peers` starts it with their folder in PEERS; the form is that of the runners there.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def judge(common: Any, cases: Sequence[Any], concurrency: int, base: str) -> list[Any]:
    """Judge cases as people do, and return the verdict on each; None for one without."""
    with tempfile.TemporaryDirectory() as folder:
        suite, database = Path(folder, "suite.yaml"), Path(folder, "store.db")
        suite.write_text(_suite(common, cases, base), encoding="utf-8")
        command = ["run", str(suite), "--db", str(database), "-j", str(concurrency), "--no-cache"]
        subprocess.run([sys.executable, "-m", "evenhand", *command], stdout=subprocess.DEVNULL, check=False)
        with contextlib.closing(sqlite3.connect(database)) as store:
            scores = dict(store.execute("SELECT position, score FROM evaluations WHERE status = 'scored'").fetchall())
    return [common.Verdict(scores[case.id], None) if case.id in scores else None for case in cases]


def _suite(common: Any, cases: Sequence[Any], base: str) -> str:
    head = f"judge:\n  model: openai/{common.MODEL}\n  base_url: {base}\n  api_key: ${{OPENAI_API_KEY}}\n"
    outcome = json.dumps(common.RUBRIC)
    return f"{head}evaluators:\n  - name: quality\n    type: llm_judge\ncases:\n" + "".join(
        f"  - id: case-{case.id}\n    input: {json.dumps(case.question)}\n    expected_outcome: {outcome}\n"
        f"    candidate_answer: {json.dumps(case.answer)}\n    reference_answer: {json.dumps(case.reference)}\n"
        for case in cases
    )


if __name__ == "__main__":
    sys.path.insert(0, os.environ["PEERS"])
    common = importlib.import_module("common")
    common.main("evenhand", lambda cases, concurrency, base, _: judge(common, cases, concurrency, base))
