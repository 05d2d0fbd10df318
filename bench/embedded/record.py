"""Record what the default judge says of the demo's suite, or of the example's profiles, for machines without it.

    python -m bench.embedded.record demo
    python -m bench.embedded.record profiles

Notes how many tokens of each prompt were new to the model.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any

from evenhand import Case, PromptEvaluator, Reply, rank, resolve
from evenhand.domain.ask import Ask
from evenhand.models.replay import written
from evenhand.suites.suite import read_suite

ROOT = Path(__file__).resolve().parents[2]
DEMONSTRATION = ROOT / "src" / "evenhand" / "cli" / "demonstration"
PROFILES = ROOT / "examples" / "profiles"


class Recorder:
    """A judge that passes questions on and keeps the replies."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.name = client.name
        self.prefers_logprobs = client.prefers_logprobs
        self.yes_from = client.yes_from
        self.pair_margin = client.pair_margin
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
    record = {"demo": record_demo, "profiles": record_profiles}[sys.argv[1]]
    folder = record(recorder)
    about = {
        "model": client.name,
        "sha256": client.known.sha256,
        "recorded": dt.datetime.now(dt.UTC).date().isoformat(),
        "prefers_logprobs": client.prefers_logprobs,
        "yes_from": client.yes_from,
        "pair_margin": client.pair_margin,
    }
    text = "".join(json.dumps(line) + "\n" for line in [about, *recorder.lines])
    (folder / "replies.jsonl").write_text(text, encoding="utf-8")
    print(f"recorded {len(recorder.lines)} replies; new tokens: {[line['new_tokens'] for line in recorder.lines]}")


def record_profiles(recorder: Recorder) -> Path:
    """Rank the profiles in pairs, as the example's page does."""
    criteria = (PROFILES / "criteria.md").read_text(encoding="utf-8").strip()  # as the command reads it
    # By chance: then who meets whom does not depend on what is recorded.
    ranked = rank(
        PROFILES / "texts",
        criteria=criteria,
        judge=recorder,
        design="random",
        group_size=2,
        rounds=5,
        store=None,
        concurrency=1,
    )
    for one in ranked:
        print(one.rank, one.interval, one.id, one.win_rate)
    return PROFILES


def record_demo(recorder: Recorder) -> Path:
    """Judge the suite in its order."""
    suite = read_suite(DEMONSTRATION / "suite.yaml")
    template = suite.definition["evaluators"][0]["template"]
    asyncio.run(judge_all(recorder, template, [planned.case for planned in suite.cases() if planned.case.items]))
    return DEMONSTRATION


async def judge_all(recorder: Recorder, template: str, cases: list[Case]) -> None:
    for case in cases:
        evaluation = await PromptEvaluator(judge=recorder, template=template).aevaluate(case)
        print(case.id, evaluation.verdict, [check.probability for check in evaluation.checks])


if __name__ == "__main__":
    main()
