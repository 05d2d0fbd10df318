"""The rules that hold for every test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.com"])
def test_a_test_cannot_reach_another_machine(host: str) -> None:
    with pytest.raises(Exception, match="tests stay on this machine") as refused:
        socket.create_connection((host, 80), timeout=1)

    assert not isinstance(refused.value, OSError)


def test_a_test_cannot_send_a_datagram_to_another_machine() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender, pytest.raises(Exception, match="on this machine"):
        sender.sendto(b"hello", ("192.0.2.1", 53))


def test_a_test_can_serve_and_connect_on_this_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        with socket.create_connection(("localhost", port), timeout=5) as client:
            assert client.getpeername() == ("127.0.0.1", port)


def test_a_name_that_nobody_has_is_unknown() -> None:
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("nobody.invalid", 443)


@pytest.mark.long
def test_keys_and_proxies_from_outside_are_gone(tmp_path: Path) -> None:
    theirs = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "EVENHAND_JUDGE", "HTTPS_PROXY", "https_proxy", "no_proxy"]
    source = f"import os\ndef test_it() -> None: assert {{*os.environ}} & {{'OURS', *{theirs}}} == {{'OURS'}}"

    outcome = run_pytest(tmp_path, source, env=dict.fromkeys([*theirs, "OURS"], "x"))

    assert "1 passed" in outcome


SKIPPING = """
    import pytest

    def test_by_a_call() -> None:
        pytest.skip("no browser")

    @pytest.mark.skip(reason="no browser")
    def test_by_a_mark() -> None:
        pass

    def test_for_want_of_data() -> None:
        pytest.skip("../shared/data/pandalm is not here")

    def test_for_want_of_what_is_in_the_repository() -> None:
        pytest.skip("../shared/data/golden is not here")

    @pytest.mark.xfail
    def test_that_fails_as_expected() -> None:
        raise AssertionError
"""


@pytest.mark.slow
def test_outside_ci_a_skip_is_a_skip(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path, SKIPPING, env={"CI": ""})

    assert "4 skipped, 1 xfailed" in outcome


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--workers", "1")], ids=["in one process", "with workers"])
def test_in_ci_only_what_needs_data_of_others_may_skip(tmp_path: Path, options: tuple[str, ...]) -> None:
    outcome = run_pytest(tmp_path, SKIPPING, *options, env={"CI": "true"})

    assert "2 failed, 1 skipped, 1 xfailed, 1 error" in outcome  # a mark skips before the call: an error
    assert "skipped in CI, where only data of others may be missing: no browser" in outcome
    assert "skipped in CI, where only data of others may be missing: ../shared/data/golden is not here" in outcome


@pytest.mark.slow
def test_in_ci_a_file_that_skips_itself_is_an_error(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path, "import pytest\npytest.importorskip('no_such_module')", env={"CI": "true"})

    assert "1 error" in outcome


@pytest.mark.slow
def test_tests_of_a_group_have_one_worker_and_others_are_handed_out_by_eight(tmp_path: Path) -> None:
    source = """
        import os
        from pathlib import Path
        import pytest

        def note(group: str) -> None:
            with Path(group).open("a") as file:
                file.write(f"{os.getpid()} ")

        @pytest.mark.group("together")
        @pytest.mark.parametrize("number", range(20))
        def test_of_a_group(number: int) -> None:
            note("together")

        @pytest.mark.parametrize("number", range(24))
        def test_alone(number: int) -> None:
            note(f"chunk {number // 8}")
    """

    outcome = run_pytest(tmp_path, source, "--workers", "2", env={})

    assert "44 passed" in outcome
    assert len(set(workers_of(tmp_path / "together"))) == 1
    chunks = [workers_of(tmp_path / f"chunk {chunk}") for chunk in range(3)]
    assert [(len(numbers), len(set(numbers))) for numbers in chunks] == [(8, 1), (8, 1), (8, 1)]


def workers_of(file: Path) -> list[str]:
    return file.read_text("utf-8").split()


@pytest.mark.slow
def test_a_test_that_ends_its_worker_fails_and_the_others_are_run_by_a_new_one(tmp_path: Path) -> None:
    source = """
        import os
        import signal
        import pytest

        @pytest.mark.parametrize("number", range(20))
        def test_it(number: int) -> None:
            if number == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            if number == 5:
                os._exit(7)
    """

    outcome = run_pytest(tmp_path, source, "--workers", "2", env={})

    assert "2 failed, 18 passed" in outcome
    assert "its worker ended by SIGKILL" in outcome
    assert "its worker ended with exit code 7" in outcome


@pytest.mark.slow
def test_with_workers_the_first_failure_can_be_the_last_and_every_fixture_is_taken_down(tmp_path: Path) -> None:
    source = """
        import time
        from pathlib import Path
        import pytest

        @pytest.fixture(scope="session")
        def server():
            yield
            Path("down").touch()

        @pytest.mark.group("waits")
        def test_that_waits(server: None) -> None:
            Path("up").touch()
            time.sleep(100)

        @pytest.mark.group("fails")
        def test_that_fails() -> None:
            while not Path("up").exists():
                time.sleep(0.01)
            raise ValueError("wrong")
    """

    outcome = run_pytest(tmp_path, source, "--workers", "2", "-x", env={})

    assert "1 failed" in outcome
    assert "stopping after 1 failures" in outcome
    assert (tmp_path / "down").exists()


@pytest.mark.slow
def test_workers_capture_what_tests_print_and_have_folders_of_their_own(tmp_path: Path) -> None:
    source = """
        from pathlib import Path

        def test_that_prints() -> None:
            print("said by", "a test")
            raise ValueError

        def test_folders(tmp_path: Path, tmp_path_factory) -> None:
            assert tmp_path_factory.getbasetemp() in tmp_path.parents
            assert "worker-0" in str(tmp_path)
    """

    outcome = run_pytest(tmp_path, source, "--workers", "1", env={})

    assert "1 failed, 1 passed" in outcome
    assert outcome.count("said by a test") == 1


STARTING = """
    import subprocess
    import sys
    import pytest

    def start(number: int) -> None:
        for _ in range(number):
            subprocess.run([sys.executable, "-S", "-c", ""], check=True)

    @pytest.fixture(scope="module")
    def shared() -> None:
        start(2)

    @pytest.fixture
    def own() -> None:
        start(1)

    def test_with_what_is_shared(shared: None) -> None:
        pass

    def test_of_its_own(own: None) -> None:
        start(1)

    @pytest.mark.starts(2, "starts two")
    def test_with_a_reason(own: None) -> None:
        start(1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--workers", "1")], ids=["in one process", "with workers"])
def test_a_test_that_starts_more_than_its_folder_allows_needs_a_reason(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    place = tmp_path / "tests" / "frugal"
    place.mkdir(parents=True)
    (place / "test_starts.py").write_text(textwrap.dedent(STARTING), encoding="utf-8")

    outcome = run_pytest(tmp_path, "", "tests/frugal", *options, env={})

    assert "1 failed, 2 passed" in outcome
    assert "it started 2 processes, and the folder frugal allows 0: use the warm process" in outcome


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--workers", "1")], ids=["in one process", "with workers"])
def test_quick_tests_run_first_and_the_last_line_runs_again_what_failed(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    source = """
        import pytest

        @pytest.mark.slow
        def test_slow() -> None: open("order", "a").write("slow ")

        @pytest.mark.group("chain")
        @pytest.mark.parametrize("word", ["a b", *"cdefghijklm"])
        def test_of_a_group(word: str) -> None:
            open("order", "a").write("group ")
            assert word != "a b"

        def test_quick() -> None: open("order", "a").write("quick ")
    """

    outcome = run_pytest(tmp_path, source, *options, env={})

    assert (tmp_path / "order").read_text("utf-8").split()[0] == "quick"
    assert outcome.splitlines()[-1].endswith("python -m pytest 'test_it.py::test_of_a_group[a b]'")


@pytest.mark.long
@pytest.mark.starts(3, "runs pytest three times")
def test_a_seed_shuffles_the_tests(tmp_path: Path) -> None:
    source = """
        import pytest

        @pytest.mark.parametrize("number", range(30))
        def test_it(number: int) -> None: open("order", "a").write(f"{number} ")
    """
    orders = []
    for seed in ("1", "1", "2"):
        run_pytest(tmp_path, source, "--shuffle", seed, env={})
        orders.append((tmp_path / "order").read_text("utf-8").split())
        (tmp_path / "order").unlink()

    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) != orders[0]


def run_pytest(folder: Path, source: str, *options: str, env: dict[str, str]) -> str:
    """Run a test file under a copy of our conftest and give what pytest prints."""
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    marks = "".join(f"  {name}: known\n" for name in ("slow", "long", "sweep", "starts", "group"))
    (folder / "pytest.ini").write_text(f"[pytest]\nmarkers =\n{marks}", encoding="utf-8")
    (folder / "test_it.py").write_text(textwrap.dedent(source), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    here = str(Path(__file__).parents[1])  # what the conftest imports is here
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": here} | env
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr
