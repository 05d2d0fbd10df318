"""Where Ray is, and who may reach it: what cannot be is refused with what to do, before anything is asked."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.harness.warm import WarmEvenhand

from evenhand.cluster.ray_connection import address_of, check_place, why_not
from evenhand.cluster.session_folder import remove_abandoned, session_folder
from evenhand.cluster.variables import require_variables
from evenhand.domain.errors import ConfigError


@pytest.fixture(autouse=True)
def nothing_of_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port: [(0, 0, 0, "", (host, 0))])


@pytest.mark.parametrize(
    ("on", "address", "words"),
    [
        ("spark", "", "it must be ray"),
        ("ray://", "", "it must be ray"),
        ("ray://host", "", "it must be ray"),
        ("ray://8.8.8.8:10001", "", "public address, and there is no token"),
        ("ray", "8.8.4.4:6379", "public address, and there is no token"),
        ("ray", "http://127.0.0.1:8265", "must be host:port of the cluster"),
        ("ray", "127.0.0.1:99999", "must be host:port of the cluster"),
    ],
)
def test_a_place_that_cannot_be_is_refused(on: str, address: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setenv("RAY_ADDRESS", address)

    with pytest.raises(ConfigError, match=words):
        check_place(on)


@pytest.mark.parametrize(
    ("on", "address", "found"),
    [
        ("ray", "", None),
        ("ray", "local", None),
        ("ray", "auto", "auto"),
        ("ray", "10.0.0.7:6379", "10.0.0.7:6379"),
        ("ray", "[fd00::7]:6379", "[fd00::7]:6379"),
        ("ray://10.0.0.7:10001", "10.0.0.8:6379", "ray://10.0.0.7:10001"),
    ],
)
def test_a_place_has_an_address(on: str, address: str, found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setenv("RAY_ADDRESS", address)

    check_place(on)

    assert address_of(on) == found


def test_a_public_address_is_taken_with_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "t" * 32)

    check_place("ray://8.8.8.8:10001")


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "grpc" else object())
    with pytest.raises(ConfigError, match="pip install 'ray\\[client\\]'"):
        check_place("ray://127.0.0.1:10001")

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pip install 'evenhand\\[ray\\]'"):
        check_place("ray")


def test_variables_are_named_and_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setenv("THERE", "")

    with pytest.raises(ConfigError, match="--worker-env 'KEY' is not the name") as refused:
        check_place("ray", ["KEY=secret"])
    assert "secret" not in str(refused.value)
    check_place("ray", ["THERE"])
    with pytest.raises(ConfigError, match="GONE, LOST are not set on"):
        require_variables(["GONE", "THERE", "LOST"])
    with pytest.raises(ConfigError, match="GONE is not set; set it here before the run is started"):
        check_place("ray", ["GONE", "THERE"])
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:6379")
    check_place("ray", ["GONE"])  # the nodes may have it


@pytest.mark.parametrize(
    ("address", "error", "words"),
    [
        (None, "The process died", "Ray could not be started on this machine: The process died"),
        (
            "h:6379",
            "Version mismatch: The cluster was started with:\n    Ray: 2.59.0\n    Python: 3.12.1\nThis process:\n ...",
            "Version mismatch: The cluster was started with: Ray: 2.59.0 Python: 3.12.1 This process",
        ),
        ("h:6379", "Version mismatch: The cluster", "install the same versions of Ray and Python here and there"),
        (
            "h:6379",
            "Package size (600.00MiB) exceeds the maximum size of 512.00MiB. You can exclude large files",
            "too large to be sent to h:6379: Package size (600.00MiB) exceeds the maximum size of 512.00MiB; list what is",
        ),
        ("h:6379", "Failed to upload package", "the suite's folder could not be sent to h:6379: Failed to upload"),
        ("h:6379", "timed out", "Ray at h:6379 could not be reached: timed out"),
    ],
)
def test_a_failed_connection_says_what_to_do(address: str | None, error: str, words: str) -> None:
    assert words in why_not(address, RuntimeError(error))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_a_cluster_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with socket.socket() as taken:  # and nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        program = "from evenhand.cluster.ray_connection import connected; connected('ray').__enter__()"
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "RAY_ADDRESS": address},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert f"Ray at {address} could not be reached: Connection refused; start it" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
@pytest.mark.parametrize(
    "argv",
    [
        ["-m", "evenhand", "run", "suite.yaml", "--on", "ray"],
        ["-c", "import evenhand as e; e.evaluate('suite.yaml', on='ray')"],
    ],
)
def test_no_run_is_stored_for_a_cluster_that_is_not_there(tmp_path: Path, argv: list[str]) -> None:
    checked = "evaluators: [{name: city, type: contains, value: Paris}]\ncases: [{id: a, candidate_answer: Paris}]\n"
    (tmp_path / "suite.yaml").write_text(checked)
    with socket.socket() as taken:  # and nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        there = {**os.environ, "RAY_ADDRESS": address}
        done = subprocess.run(
            [sys.executable, *argv], env=there, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    assert f"Ray at {address} could not be reached: Connection refused; start it" in done.stderr.splitlines()[-1]
    assert "resume" not in done.stderr
    assert not (tmp_path / ".evenhand").exists()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_a_run_that_cannot_go_on_says_why_and_then_how_to_resume_it(tmp_path: Path, warm: WarmEvenhand) -> None:
    judged = "evaluators: [{name: quality, type: llm_judge}]\n"
    case = "cases: [{id: a, input: Why?, candidate_answer: So., expected_outcome: Why}]\n"
    (tmp_path / "suite.yaml").write_text(judged + case)
    with socket.socket() as taken:  # and nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        there = {**os.environ, "RAY_ADDRESS": address, "OPENAI_API_KEY": "sk-none"}

        def said(*argv: str) -> list[str]:
            return warm.run(*argv, "--db", "there.db", env=there, cwd=tmp_path).stderr.splitlines()

        stopped = said("run", "suite.yaml", "--judge", "openai/gpt-5-mini", "--max-calls", "0")
        assert "max_calls: 0 calls were allowed; resume with" in stopped[-1]
        *_, cause, advice = said("resume", "--on", "ray")

    assert cause.startswith(f"evenhand: Ray at {address} could not be reached: Connection refused")
    assert advice.startswith("evenhand: The run failed. Fix the cause, then resume with: evenhand resume ")
    assert advice.endswith(" --db there.db")


def test_folders_of_dead_processes_are_removed_and_those_of_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned, foreign, file = tmp_path / "evenhand-ray-1", tmp_path / "evenhand-ray-2", tmp_path / "evenhand-ray-3"
    for folder in (abandoned, foreign):
        (folder / "r").mkdir(parents=True)
    (abandoned / "owner").touch()
    file.touch()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "owner").touch()
    (tmp_path / "evenhand-ray-4").symlink_to(tmp_path / "kept")

    with session_folder() as first, session_folder() as second:
        remove_abandoned()

        assert not abandoned.exists()
        assert foreign.exists()  # whose it is, nobody knows
        assert file.exists()
        assert (tmp_path / "kept" / "owner").exists()
        assert first.is_dir()
        assert second.is_dir()
        assert {each.parent.stat().st_mode & 0o777 for each in (first, second)} == {0o700}
    assert not first.parent.exists()
    assert not second.parent.exists()
