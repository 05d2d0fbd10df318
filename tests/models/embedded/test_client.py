"""An embedded model as whoever asks it finds it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.message import Message
from evenhand.models.dialects.dialect import Generation
from evenhand.models.embedded import client
from evenhand.models.embedded.client import EmbeddedModel
from evenhand.models.embedded.runtime import Runtime


class Server:
    """Answers at once."""

    def handle_chat_completions(self, _body: dict[str, Any]) -> dict[str, Any]:
        return {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}


class Loading(Runtime):
    """A model that is loaded when somebody says so."""

    def __init__(self) -> None:
        super().__init__(Path("some.gguf"), threads=1, context=64)
        self.began, self.may_end = threading.Event(), threading.Event()

    def _loaded(self) -> Any:
        self.began.set()
        self.may_end.wait(60)
        return Server()


def test_who_leaves_while_the_model_is_loaded_hears_no_more_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Loading()
    monkeypatch.setattr(client, "runtime_of", lambda *_, **__: runtime)
    model = EmbeddedModel(
        name="embedded/some.gguf", path=Path("some.gguf"), known=None, generation=Generation(model="m"), timeout=60,
        threads=1, context=64,
    )  # fmt: skip
    trouble: list[dict[str, Any]] = []

    async def left() -> Any:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: trouble.append(told))
        asked = asyncio.create_task(model.ask(Ask(judge=model, messages=(Message("user", "Yes?"),))))
        await asyncio.to_thread(runtime.began.wait, 60)
        asked.cancel()
        await asyncio.wait([asked])
        runtime.may_end.set()
        return await model.ask(Ask(judge=model, messages=(Message("user", "And now?"),)))

    reply = asyncio.run(left())

    assert reply.text == "yes"
    assert trouble == []
