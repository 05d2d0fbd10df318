"""Record what the default judge says of the demo's suite, for machines that cannot fetch it.

    python -m bench.embedded.record

Asks in the order of the suite, and notes how many tokens of each prompt were new to the model.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from pathlib import Path
from typing import Any

from evenhand import Case, PromptEvaluator, Reply, resolve
from evenhand.domain.ask import Ask
from evenhand.models.recorded import written
from evenhand.suites.suite import read_suite

DEMONSTRATION = Path(__file__).resolve().parents[2] / "src" / "evenhand" / "cli" / "demonstration"


class Recorder:
    """A judge that passes questions on and keeps the replies."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.name = client.name
        self.prefers_logprobs = client.prefers_logprobs
        self.yes_from = client.yes_from
        self.lines: list[dict[str, Any]] = []

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Any:
        reply = await self._client.ask(ask, deadline=deadline)
        assert isinstance(reply, Reply), reply
        usage = reply.attempts[-1].usage
        assert usage is not None
        self.lines.append(written(ask, reply) | {"new_tokens": usage.input_tokens - usage.cached_tokens})
        return reply


def main() -> None:
    client: Any = resolve("embedded/qwen2.5-coder-1.5b")
    recorder = Recorder(client)
    suite = read_suite(DEMONSTRATION / "suite.yaml")
    template = suite.definition["evaluators"][0]["template"]
    asyncio.run(judge_all(recorder, template, [planned.case for planned in suite.cases() if planned.case.items]))
    about = {
        "model": client.name,
        "sha256": client.known.sha256,
        "recorded": dt.datetime.now(dt.UTC).date().isoformat(),
        "prefers_logprobs": client.prefers_logprobs,
        "yes_from": client.yes_from,
    }
    text = "".join(json.dumps(line) + "\n" for line in [about, *recorder.lines])
    (DEMONSTRATION / "replies.jsonl").write_text(text, encoding="utf-8")
    print(f"recorded {len(recorder.lines)} replies; new tokens: {[line['new_tokens'] for line in recorder.lines]}")


async def judge_all(recorder: Recorder, template: str, cases: list[Case]) -> None:
    for case in cases:
        evaluation = await PromptEvaluator(judge=recorder, template=template).aevaluate(case)
        print(case.id, evaluation.verdict, [check.probability for check in evaluation.checks])


if __name__ == "__main__":
    main()
