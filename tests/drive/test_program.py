"""Real programs, the well-behaved and the hostile: each ends in a value, in time, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import os
import re
import signal
import sys
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.ask import Exec
from evenhand.domain.reply import Exited
from evenhand.drive import background
from evenhand.drive.run_program import STDERR_MIB, STDOUT_MIB, no_memory_limit, run_program

# Many, and together they take a while.
pytestmark = pytest.mark.slow

MIB = 1 << 20
LIMITED = 512 * MIB

# Takes a lock that is free again only when this process and all that it forks are gone.
HOLD = "import fcntl, os, signal, sys, time; held = open(sys.argv[1], 'w'); fcntl.flock(held, fcntl.LOCK_EX)\n"


def python(code: str, *args: str, **options: Any) -> Exec:
    return Exec(argv=(sys.executable, "-c", code, *args), **options)


def run(want: Exec, *, deadline: float | None = None) -> Exited:
    return background.run(run_program(want, deadline=deadline))


def is_free(lock: Path) -> bool:
    """Tell whether all holders of a lock are gone, or go within a minute."""
    with lock.open("w") as file:
        for _ in range(1200):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.05)
            else:
                return True
    return False


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# What a program gets and what it says


@pytest.mark.parametrize("memory", [None, LIMITED])
def test_a_program_reads_its_input_and_is_heard(memory: int | None) -> None:
    want = python(
        "import sys; print(sys.stdin.read().upper()); print('why', file=sys.stderr)",
        stdin="grüße",
        memory_bytes=memory,
    )

    exited = run(want)

    assert (exited.code, exited.stdout, exited.stderr, exited.problem) == (0, "GRÜSSE\n", "why\n", None)
    assert 0 < exited.seconds < 60


@pytest.mark.parametrize("memory", [None, LIMITED])
def test_arguments_are_passed_literally(memory: int | None, tmp_path: Path) -> None:
    arguments = [
        "a b",
        "'",
        '"',
        "$(touch x)",
        "`touch x`",
        "; touch x",
        "two\nlines",
        "",
        "*",
        "-v",
        "\\",
        "ünï",
        "$HOME",
    ]
    want = python(
        "import json, sys; print(json.dumps(sys.argv[1:]))", *arguments, cwd=str(tmp_path), memory_bytes=memory
    )

    exited = run(want)

    assert json.loads(exited.stdout) == arguments
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("memory", [None, LIMITED])
@pytest.mark.parametrize("code", [0, 1, 3, 126, 127, 255])
def test_an_exit_code_is_no_problem_but_a_fact(code: int, memory: int | None) -> None:
    want = python(f"raise SystemExit({code})", memory_bytes=memory)

    exited = run(want)

    assert (exited.code, exited.problem) == (code, None)


def test_a_signal_shows_as_a_negative_code() -> None:
    want = python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", memory_bytes=LIMITED)

    exited = run(want)

    assert (exited.code, exited.problem) == (-signal.SIGKILL, None)


def test_lone_surrogates_in_the_input_are_replaced() -> None:
    want = python("import sys; print(ascii(sys.stdin.buffer.read()))", stdin="a\ud800b")

    exited = run(want)

    assert exited.stdout == "b'a?b'\n"


def test_output_that_is_no_utf8_is_replaced() -> None:
    want = python("import sys; sys.stdout.buffer.write(b'a\\xff'); sys.stderr.buffer.write(b'\\xfeb')")

    exited = run(want)

    assert (exited.stdout, exited.stderr) == ("a\ufffd", "\ufffdb")


def test_standard_input_can_be_opened_by_name() -> None:
    want = Exec(argv=("cat", "/dev/stdin"), stdin="by name")

    exited = run(want)

    assert exited.stdout == "by name"


# Where it runs, and what it sees there


def test_secrets_of_the_parent_are_not_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "MY_TOKEN", "HTTPS_PROXY", "PYTHONPATH", "path"):
        monkeypatch.setenv(name, "canary-1234")
    monkeypatch.setenv("LC_TIME", "C")
    want = python("import json, os; print(json.dumps(dict(os.environ)))", memory_bytes=LIMITED)

    exited = run(want)

    seen = json.loads(exited.stdout)
    assert "canary-1234" not in exited.stdout
    assert seen["PATH"] == os.environ["PATH"]
    assert seen["LC_TIME"] == "C"


def test_variables_that_were_given_are_in_the_environment() -> None:
    want = python(
        "import os; print(os.environ['GIVEN'], os.environ['LANG'])", env={"GIVEN": "a $b 'c'", "LANG": "C.UTF-8"}
    )

    exited = run(want)

    assert exited.stdout == "a $b 'c' C.UTF-8\n"


@pytest.mark.parametrize("memory", [None, LIMITED])
def test_a_relative_program_is_relative_to_its_folder(memory: int | None, tmp_path: Path) -> None:
    script = tmp_path / "my judge"
    script.write_text("#!/bin/sh\npwd\n")
    script.chmod(0o755)

    exited = run(Exec(argv=("./my judge",), cwd=str(tmp_path), memory_bytes=memory))

    assert (exited.stdout.strip(), exited.problem) == (str(tmp_path.resolve()), None)


def test_the_path_that_counts_is_the_one_of_the_program(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "only-there"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho found\n")
    script.chmod(0o755)

    exited = run(Exec(argv=("only-there",), cwd=str(tmp_path), env={"PATH": "bin:/usr/bin:/bin"}, memory_bytes=LIMITED))

    assert exited.stdout == "found\n"


@pytest.mark.parametrize("memory", [None, LIMITED])
@pytest.mark.parametrize(
    ("argv", "cwd", "sentence"),
    [
        (("no-such-program",), ".", "there is no program 'no-such-program' on the PATH"),
        (("./no-such-program",), ".", "no-such-program'"),
        (("./folder",), ".", "folder'"),
        (("./plain",), ".", "plain' is not executable; make it so, or begin the command with its interpreter"),
        (("",), ".", "there is no program '' on the PATH"),
        (("true",), "nowhere", "nowhere' to run the program in"),
        (("true",), "plain", "plain' to run the program in"),
    ],
)
def test_what_is_missing_is_named(
    argv: tuple[str, ...], cwd: str, sentence: str, memory: int | None, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("#!/bin/sh\n")

    exited = run(Exec(argv=argv, cwd=str(tmp_path / cwd), memory_bytes=memory))

    assert exited.code is None
    assert exited.problem is not None
    assert exited.problem.startswith("not_found: ")
    assert exited.problem.endswith(sentence)


@pytest.mark.parametrize("argument", ["nul\0", "x" * (8 * MIB), "\ud800"])
def test_a_program_that_the_system_cannot_start_is_a_problem(argument: str) -> None:
    exited = run(Exec(argv=("true", argument)))

    assert exited.code is None
    assert str(exited.problem).startswith("not_started: 'true': ")


# Limits


@pytest.mark.skipif(no_memory_limit() is not None, reason=f"memory limit: {no_memory_limit()}")
def test_ten_gigabytes_are_not_to_be_had() -> None:
    want = python("print(len(bytearray(10 << 30)))", memory_bytes=LIMITED)

    exited = run(want)

    assert (exited.code, exited.stdout) == (1, "")
    assert exited.stderr.endswith("MemoryError\n")


def test_a_limit_above_that_of_the_parent_is_lowered_to_it() -> None:
    inner = """
from evenhand.domain.ask import Exec
from evenhand.drive import background, run_program
print(background.run(run_program.run_program(Exec(argv=("true",), memory_bytes=1 << 50))).code)
"""
    want = python(inner, memory_bytes=LIMITED, env={"PYTHONPATH": os.pathsep.join(sys.path)})

    exited = run(want)

    assert (exited.stdout, exited.stderr) == ("0\n", "")


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(1000)",
        "while True: pass",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)",
        "import os, time; os.close(0); os.close(1); os.close(2); time.sleep(1000)",
        "import os, time; os.fork(); os.fork(); time.sleep(1000)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    ],
    ids=["sleeps", "spins", "ignores SIGTERM", "closes its pipes", "forks", "stops itself"],
)
def test_a_program_that_does_not_end_is_ended(code: str, tmp_path: Path) -> None:
    lock = tmp_path / "lock"

    exited = run(python(HOLD + code, str(lock), timeout=0.5, memory_bytes=LIMITED))

    assert (exited.code, exited.problem) == (None, "timeout: the program was still running after 0.5 s")
    assert is_free(lock)


def test_what_was_said_before_the_time_was_up_is_kept() -> None:
    want = Exec(argv=("sh", "-c", "echo out; echo err >&2; sleep 1000"), timeout=3)

    exited = run(want)

    assert str(exited.problem).startswith("timeout: ")
    assert (exited.stdout, exited.stderr) == ("out\n", "err\n")


def test_the_deadline_counts_when_it_is_nearer_than_the_time_limit() -> None:
    want = python("import time; time.sleep(1000)", timeout=60)

    exited = run(want, deadline=time.monotonic() + 0.5)

    # What was left when the program began: on a busy machine less than the whole.
    assert re.fullmatch(r"timeout: the program was still running after 0\.[0-5] s", str(exited.problem))


def test_nothing_is_started_after_the_deadline(tmp_path: Path) -> None:
    exited = run(Exec(argv=("touch", "trace"), cwd=str(tmp_path)), deadline=time.monotonic())

    assert exited.problem == "timeout: no time was left to run the program"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("stream", "most"), [("stdout", STDOUT_MIB), ("stderr", STDERR_MIB)])
def test_output_is_kept_up_to_its_bound(stream: str, most: int) -> None:
    code = "import sys; getattr(sys, sys.argv[1]).write('x' * int(sys.argv[2]))"

    whole = run(python(code, stream, str(most * MIB)))
    more = run(python(code, stream, str(most * MIB + 1)))

    assert (whole.problem, len(getattr(whole, stream))) == (None, most * MIB)
    assert more.problem == f"output_too_large: the program wrote more than {most} MiB to {stream}"
    assert (more.code, len(getattr(more, stream))) == (None, most * MIB)


def test_a_program_that_never_stops_talking_is_stopped(tmp_path: Path) -> None:
    lock = tmp_path / "lock"

    exited = run(python(HOLD + "while True: print('x' * 1000)", str(lock)))

    assert str(exited.problem).startswith("output_too_large: ")
    assert is_free(lock)


# Pipes


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("pass", 0),
        ("import os; os.close(0)", 0),
        ("import sys; sys.stdin.read(1)", 0),
        ("import sys; sys.stdout.write('x' * (5 << 20)); sys.stdout.flush(); sys.stdin.read()", 5 * MIB),
        ("import shutil, sys; shutil.copyfileobj(sys.stdin, sys.stdout, 100)", 5 * MIB),
    ],
    ids=["reads nothing", "closes its input", "reads a little", "writes before it reads", "echoes"],
)
def test_large_input_finds_its_way_or_is_left_unread(code: str, said: int) -> None:
    exited = run(python(code, stdin="y" * (5 * MIB)))

    assert (exited.code, exited.problem, len(exited.stdout)) == (0, None, said)


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="pipes have one size on this system")
def test_last_words_are_heard_by_a_loop_that_was_busy(tmp_path: Path) -> None:
    said = tmp_path / "said"
    code = "import fcntl, os, sys; fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20); os.write(1, b'x' * 1_000_000); open(sys.argv[1], 'w')"

    async def busy() -> Exited:
        task = asyncio.create_task(run_program(python(code, str(said))))
        await asyncio.sleep(0)
        for _ in range(200):
            if not said.exists():
                time.sleep(0.02)  # noqa: ASYNC251
        time.sleep(0.2)  # noqa: ASYNC251
        return await task

    exited = asyncio.run(busy())

    assert (exited.code, len(exited.stdout)) == (0, 1_000_000)


def test_what_a_program_leaves_running_ends_with_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    code = HOLD + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nif os.fork(): print('done')\nelse: time.sleep(1000)"

    exited = run(python(code, str(lock)))

    assert (exited.code, exited.stdout, exited.problem) == (0, "done\n", None)
    assert is_free(lock)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["pass", "time.sleep(1000)"], ids=["ends by itself", "runs out of time"])
def test_a_descendant_that_escaped_and_holds_the_pipes_is_not_waited_for(ending: str) -> None:
    escape = "import os, sys, time\nif not os.fork():\n  os.setsid()\n  if os.fork(): os._exit(0)\n"
    code = (
        escape + f"  print(os.getpid(), flush=True)\n  time.sleep(100)\nelse:\n  os.wait(); time.sleep(0.5); {ending}"
    )

    exited = run(python(code, timeout=60 if ending == "pass" else 8))

    escaped = int(exited.stdout)
    os.kill(escaped, signal.SIGKILL)  # raises if it was not there: then nothing was tested
    assert exited.code == (0 if ending == "pass" else None)
    assert exited.seconds < 30


# Nothing left behind


@pytest.mark.slow
@pytest.mark.starts(11, "looks at what ten programs leave")
def test_neither_zombies_nor_descriptors_are_left() -> None:
    late = Exec(argv=("sh", "-c", "echo $$; sleep 1000"), timeout=2)
    wants = [
        python("import os; print(os.getpid())"),
        python("import os, signal; print(os.getpid(), flush=True); os.fork() or signal.pause()"),
        Exec(argv=("no-such-program",)),
        Exec(argv=("true", "nul\0")),
    ]
    run(wants[0])
    gc.collect()  # what earlier tests left open is closed before it is counted
    before = set(Path("/dev/fd").iterdir())

    pids = [int(said) for want in [late, *wants * 3] if (said := run(want).stdout)]

    assert len(pids) == 7
    assert not any(is_alive(pid) for pid in pids)
    assert set(Path("/dev/fd").iterdir()) - before == set()


async def _cancelled(lock: Path, *, turns: int, times: int = 1) -> None:
    """Cancel a program after so many turns of the loop, when it has forked (or was not started yet)."""
    ready = lock.with_name("ready")
    want = python(HOLD + "os.fork()\nopen(sys.argv[2], 'w').close()\ntime.sleep(1000)", str(lock), str(ready))
    task = asyncio.create_task(run_program(want))
    for _ in range(turns):
        await asyncio.sleep(0)
    # The loop is held up on purpose: it must not get further with starting the program while that forks.
    for _ in range(50):
        if not ready.exists():
            time.sleep(0.02)  # noqa: ASYNC251

    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(task), 30)
    assert task.cancelled()


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 5, 6, 20])
@pytest.mark.parametrize("times", [1, 2])
def test_cancelling_ends_the_whole_group(turns: int, times: int, tmp_path: Path) -> None:
    lock = tmp_path / "lock"

    asyncio.run(_cancelled(lock, turns=turns, times=times))

    assert is_free(lock)


# From everywhere


async def _twenty() -> list[Exited]:
    wants = [Exec(argv=("echo", str(number)), memory_bytes=LIMITED) for number in range(20)]
    return await asyncio.gather(*(run_program(want) for want in wants))


def _on_the_background_loop(coroutine: Coroutine[Any, Any, list[Exited]]) -> list[Exited]:
    return background.run(coroutine)


@pytest.mark.parametrize("runner", [asyncio.run, _on_the_background_loop], ids=["main thread", "background loop"])
@pytest.mark.starts(20, "twenty at once are the point")
def test_twenty_programs_run_at_once(runner: Any) -> None:
    exited = runner(_twenty())

    assert [one.stdout for one in exited] == [f"{number}\n" for number in range(20)]


@pytest.mark.starts(10, "starts programs from ten threads")
def test_programs_run_from_many_threads() -> None:
    wants = [Exec(argv=("echo", str(number))) for number in range(10)]

    with ThreadPoolExecutor(10) as threads:
        exited = list(threads.map(run, wants))

    assert [one.stdout for one in exited] == [f"{number}\n" for number in range(10)]


@pytest.mark.starts(80, "twenty programs in each of four threads")
def test_each_thread_may_have_a_loop_of_its_own() -> None:
    with ThreadPoolExecutor(4) as threads:
        groups = list(threads.map(lambda _: asyncio.run(_twenty()), range(4)))

    assert all(one.problem is None and one.code == 0 for group in groups for one in group)
