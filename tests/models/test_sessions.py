"""Connections come with the loop and go with it: no warning, no socket left."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.ask import Ask, ModelClient
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply
from evenhand.drive import background
from evenhand.models import exchange

# Many, and together they take a while.
pytestmark = pytest.mark.slow

Serve = Callable[..., Any]


def question(model: ModelClient) -> Ask:
    return Ask(messages=(Message("user", "Capital of France?"),), judge=model)


async def asking(model: ModelClient) -> str:
    reply = await model.ask(question(model))
    assert isinstance(reply, Reply), reply
    return reply.text


def connected_to(port: int) -> int:
    """Count this process's own connections to a port, as the kernel lists them; the server's ends are not counted."""
    sockets = {
        line.split()[9]
        for line in Path("/proc/self/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        if line.split()[2].endswith(f":{port:04X}")
    }
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return sum(link.removeprefix("socket:[").removesuffix("]") in sockets for link in links)


@pytest.fixture
def nothing_left() -> Iterator[Callable[[int], None]]:
    """Check that a port has no connection left, where the kernel tells; warnings are errors in any case."""

    def check(port: int) -> None:
        gc.collect()
        assert set(exchange._kept) <= others
        if sys.platform == "linux":
            assert connected_to(port) == 0

    background.close()  # an earlier test may have asked there
    others = set(exchange._kept)  # loops of other tests that go on
    yield check
    background.close()


def test_a_hundred_loops_come_and_go(serve: Serve, openai: Any, nothing_left: Callable[[int], None]) -> None:
    server = serve(openai.reply())
    model = openai.model(server)

    texts = [asyncio.run(asking(model)) for _ in range(100)]

    assert texts == ["Paris"] * 100
    assert server.connections == 100
    nothing_left(server.port)


def test_the_count_of_connections_can_tell(serve: Serve, openai: Any) -> None:
    if sys.platform != "linux":
        return
    server = serve(openai.reply())
    model = openai.model(server)

    async def counting() -> int:
        await asking(model)
        return connected_to(server.port)

    assert asyncio.run(counting()) == 1


def test_one_loop_keeps_one_connection_for_all_models(serve: Serve, openai: Any) -> None:
    server = serve(openai.reply())

    async def several() -> None:
        for _ in range(5):
            await asking(openai.model(server))

    asyncio.run(several())

    assert (len(server.requests), server.connections) == (5, 1)


def test_threads_share_the_background_loop(serve: Serve, openai: Any, nothing_left: Callable[[int], None]) -> None:
    server = serve(openai.reply())
    model = openai.model(server)
    texts: list[str] = []

    def ask_ten_times() -> None:
        texts.extend(background.run(asking(model)) for _ in range(10))

    threads = [threading.Thread(target=ask_ten_times) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    background.close()

    assert texts == ["Paris"] * 100
    assert server.connections <= 10
    nothing_left(server.port)


def test_threads_may_have_loops_of_their_own(serve: Serve, openai: Any, nothing_left: Callable[[int], None]) -> None:
    server = serve(openai.reply())
    model = openai.model(server)
    texts: list[str] = []

    def run_ten_loops() -> None:
        texts.extend(asyncio.run(asking(model)) for _ in range(10))

    threads = [threading.Thread(target=run_ten_loops) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert texts == ["Paris"] * 100
    nothing_left(server.port)


def test_a_sync_call_inside_a_running_loop_works(
    serve: Serve, openai: Any, nothing_left: Callable[[int], None]
) -> None:
    server = serve(openai.reply())
    model = openai.model(server)

    async def notebook() -> tuple[str, str]:
        return await asking(model), background.run(asking(model))

    texts = asyncio.run(notebook())
    background.close()

    assert texts == ("Paris", "Paris")
    nothing_left(server.port)


def test_a_background_loop_that_was_closed_is_followed_by_another(serve: Serve, openai: Any) -> None:
    server = serve(openai.reply())
    model = openai.model(server)

    for _ in range(3):
        assert background.run(asking(model)) == "Paris"
        background.close()

    assert server.connections == 3


def test_a_loop_that_ends_with_requests_under_way_leaves_nothing(
    serve: Serve, openai: Any, nothing_left: Callable[[int], None]
) -> None:
    server = serve(openai.reply(wait=30))
    model = openai.model(server)

    async def leave() -> None:
        task = asyncio.create_task(asking(model))
        for _ in range(1000):
            if server.requests:
                break
            await asyncio.sleep(0.01)
        assert not task.done()

    began = time.monotonic()
    asyncio.run(leave())

    assert time.monotonic() - began < 20
    nothing_left(server.port)


CHILD_SIDE = """
import asyncio, gc, os, sys
from evenhand.domain.ask import Ask
from evenhand.domain.message import Message
from evenhand.drive import background
from evenhand.models.providers import OPENAI

model = OPENAI("m", base_url=sys.argv[1])
question = Ask(messages=(Message("user", "?"),), judge=model)

def text():
    return background.run(model.ask(question)).text

{story}
"""


def run_script(story: str, url: str) -> subprocess.CompletedProcess[str]:
    """Run a story of a process of its own, with every warning shown."""
    script = CHILD_SIDE.replace("{story}", textwrap.dedent(story))
    # Newer Pythons warn of any fork beside threads; that it works is what is shown here.
    warnings = ["-W", "always", "-W", "ignore:This process (pid:DeprecationWarning"]
    command = [sys.executable, *warnings, "-c", script, url]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("ending", ["os._exit(0)", "sys.exit(0)"])
def test_a_forked_child_asks_by_connections_of_its_own(serve: Serve, openai: Any, ending: str) -> None:
    server = serve(openai.reply())

    done = run_script(
        f"""
        print(text(), flush=True)
        child = os.fork()
        if child == 0:
            from evenhand.models import exchange
            assert not exchange._kept
            print("child:", text(), asyncio.run(model.ask(question)).text, flush=True)
            gc.collect()
            {ending}
        assert os.waitpid(child, 0)[1] == 0
        print("parent:", text(), flush=True)
        """,
        server.origin,
    )

    assert done.stderr == ""
    assert done.stdout.splitlines() == ["Paris", "child: Paris Paris", "parent: Paris"]
    # The parent's one, undisturbed, and two of the child.
    assert [request.connection for request in server.requests] == [1, 2, 3, 1]


def test_a_process_ends_without_a_word(serve: Serve, openai: Any) -> None:
    server = serve(openai.reply())

    done = run_script("print(text())", server.origin)

    assert (done.stdout, done.stderr, done.returncode) == ("Paris\n", "", 0)


def test_a_loop_made_by_hand_and_closed_by_hand_is_let_go(serve: Serve, openai: Any) -> None:
    server = serve(openai.reply())

    done = run_script(
        """
        import warnings
        loop = asyncio.new_event_loop()
        loop.run_until_complete(model.ask(question))
        loop.close()
        del loop
        warnings.simplefilter("ignore", ResourceWarning)  # its sockets were left open by whoever closed it
        from evenhand.models import exchange
        print(asyncio.run(model.ask(question)).text, len(exchange._kept))
        """,
        server.origin,
    )

    assert (done.stdout, done.stderr) == ("Paris 0\n", "")


def test_making_a_model_loads_no_http_library() -> None:
    done = run_script(
        """
        from evenhand.models.resolve import resolve
        resolve("ollama/qwen2.5:7b")
        print({"aiohttp", "httptools", "orjson", "urllib.request"} & sys.modules.keys())
        """,
        "http://127.0.0.1:1",
    )

    assert (done.stdout, done.stderr) == ("set()\n", "")
