"""The warm process does what a new process would, but for its start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.warm import WarmEvenhand, warm_evenhand

SUITE = """
evaluators:
- {name: city, type: equals}
cases:
- {id: one, candidate_answer: Paris, reference_answer: Paris}
- {id: two, candidate_answer: Rome, reference_answer: Paris}
"""
# Says where it is, and goes on when it is told to.
PROGRAM = """
import json, os, sys, time
open("started", "w").close()
while not os.path.exists("go-on"):
    time.sleep(0.01)
print(json.dumps({"score": 1}))
"""
WAITING = f"""
evaluators:
- {{name: slow, type: code_judge, command: ["{sys.executable}", judge.py]}}
cases:
- {{id: one, candidate_answer: Paris}}
- {{id: two, candidate_answer: Rome}}
"""


def cold(*arguments: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evenhand", *arguments],
        cwd=cwd, env=env, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "suite.yaml"), ("run", "no.yaml"), ("nonsense",),
        *(
            pytest.param(rest, marks=pytest.mark.long)
            for rest in (("validate", "no.yaml"), ("config",), ("run", "--help"), ("--version",), ())
        ),
    ],
)  # fmt: skip
def test_a_command_prints_and_ends_as_in_a_process_of_its_own(
    arguments: tuple[str, ...], warm: WarmEvenhand, tmp_path: Path
) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)
    environment = dict(os.environ) | {"COLUMNS": "100"}

    done = warm.run(*arguments, cwd=tmp_path, env=environment)
    expected = cold(*arguments, cwd=tmp_path, env=environment)

    assert (done.returncode, done.stdout, done.stderr) == (expected.returncode, expected.stdout, expected.stderr)


def test_runs_of_one_second_have_names_of_their_own(warm: WarmEvenhand, tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)

    with warm.start("run", "suite.yaml", cwd=tmp_path) as first, warm.start("run", "suite.yaml", cwd=tmp_path) as other:
        codes = {first.wait(), other.wait()}
        told = {first.stderr.split()[1], other.stderr.split()[1]}

    assert codes == {0}
    assert len(told) == 2


def test_the_environment_and_folder_are_those_of_the_caller(
    warm: WarmEvenhand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENHAND_DB", "elsewhere.db")

    assert "elsewhere.db" in warm.run("config").stdout
    assert "elsewhere.db" not in warm.run("config", env={"PATH": os.environ["PATH"]}).stdout


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_signals_reach_the_process(sent: int, code: int, warm: WarmEvenhand, tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(WAITING)
    (tmp_path / "judge.py").write_text(PROGRAM)

    with warm.start("run", "suite.yaml", "-j", "1", cwd=tmp_path) as started:
        while not (tmp_path / "started").exists():
            assert started.returncode is None
        started.send_signal(sent)
        (tmp_path / "go-on").touch()

        assert started.wait() == code


def test_a_shell_finds_it_and_whoever_hangs_up_leaves_nothing_behind(
    path_with_evenhand: str, warm: WarmEvenhand, tmp_path: Path
) -> None:
    environment = os.environ | {"PATH": path_with_evenhand}
    (tmp_path / "suite.yaml").write_text(SUITE)

    done = subprocess.run(
        "evenhand run suite.yaml --json | head -c 1; evenhand nonsense 2>/dev/null; echo $?; evenhand --version >version",
        cwd=tmp_path, env=environment, shell=True, text=True, capture_output=True, check=True,
    )  # fmt: skip

    assert done.stdout == "{2\n"
    assert (tmp_path / "version").read_text() == warm.run("--version").stdout


def test_what_still_runs_at_the_end_is_killed(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(WAITING)
    (tmp_path / "judge.py").write_text(PROGRAM)

    with warm_evenhand() as own:
        started = own.start("run", "suite.yaml", cwd=tmp_path)
        while not (tmp_path / "started").exists():
            assert started.returncode is None
    (tmp_path / "go-on").touch()

    with pytest.raises(ProcessLookupError):
        os.kill(started.pid, 0)
    started.returncode = -signal.SIGKILL
    with started:
        pass
