"""Scripts in processes of their own, without what they all load first.

    with preloaded("evenhand.engine.execution") as run:
        done = run("print(1)")

A process loads modules and then forks for each script: to load them takes longer than most scripts.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

RunScript: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]

_FORKING = """
import importlib, json, os, sys, traceback, types

for name in sys.argv[1:]:
    importlib.import_module(name)


def run(given):
    os.chdir(given["cwd"])
    os.environ.clear()
    os.environ.update(given["env"])
    for number, path in enumerate((os.devnull, given["stdout"], given["stderr"])):
        os.dup2(os.open(path, os.O_RDWR), number)
    sys.argv = ["-c", *given["args"]]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        exec(given["script"], sys.modules["__main__"].__dict__)
    except SystemExit as end:
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


for line in sys.stdin:
    if not (pid := os.fork()):
        code = run(json.loads(line))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@contextlib.contextmanager
def preloaded(*modules: str) -> Iterator[RunScript]:
    """Give a way to run scripts, each with arguments, the environment of now and a folder; warnings are errors."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", _FORKING, *modules],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as process,
    ):  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        asked, told = process.stdin, process.stdout

        def run(script: str, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
            files = {name: Path(folder, name) for name in ("stdout", "stderr")}
            for file in files.values():
                file.write_bytes(b"")
            given: dict[str, Any] = {"script": script, "args": args, "cwd": str(cwd or Path.cwd())}
            given |= {"env": dict(os.environ), **{name: str(file) for name, file in files.items()}}
            print(json.dumps(given), file=asked, flush=True)
            code = int(told.readline())
            out, err = (file.read_text(encoding="utf-8") for file in files.values())
            return subprocess.CompletedProcess(["-c", *args], code, out, err)

        yield run
