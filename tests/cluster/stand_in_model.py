"""A stand-in for xllamacpp: what loads a model writes that down, and a text can end the process that reads it."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

NOTES = "STAND_IN_NOTES"
llama_flash_attn_type = SimpleNamespace(LLAMA_FLASH_ATTN_TYPE_DISABLED=0)


class CommonParams(SimpleNamespace):
    """Takes whatever is set."""

    def __init__(self) -> None:
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())


class Server:
    """Answers by what it is asked alone; ``DEADLY`` ends it always, and ``ONCE`` the first time."""

    def __init__(self, params: Any) -> None:
        self._notes = Path(os.environ[NOTES])
        with (self._notes / "loads").open("a") as file:
            file.write(f"{os.getpid()} {params.n_ctx} {params.n_parallel} {params.cpuparams.n_threads}\n")

    def handle_chat_completions(self, body: dict[str, Any]) -> dict[str, Any]:
        """Judge, or die."""
        text = json.dumps(body["messages"])
        with (self._notes / "asked").open("a") as file:
            file.write(f"{body.get('id_slot')}\n")
        if "DEADLY" in text:
            os._exit(9)
        if "ONCE" in text and not (self._notes / "once").exists():
            (self._notes / "once").touch()
            os._exit(9)
        digest = hashlib.sha256(text.encode()).digest()
        verdict = {"reasoning": f"Found {digest.hex()[:8]}.", "hits": [], "misses": [], "score": digest[0] % 11 / 10}
        message = {"role": "assistant", "content": json.dumps(verdict)}
        usage = {"prompt_tokens": 100, "completion_tokens": 20}
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
