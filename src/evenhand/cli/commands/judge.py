"""`evenhand judge`: judge a single answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any

from evenhand import registry
from evenhand.cli.console import Console, read_input
from evenhand.cli.options import Json, Judge, Timeout, require_judge, text_option
from evenhand.cli.telemetry import sent_telemetry
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.exit_code import ExitCode
from evenhand.drive import telemetry
from evenhand.reports.phrases import Standing, score_text
from evenhand.reports.safe_text import plain, strict_json


def judge_answer(
    *,
    answer: Annotated[str, text_option("--answer", "The answer to judge; - reads it from standard input.")],
    question: Annotated[str | None, text_option("--question", "The question that was asked.")] = None,
    reference: Annotated[str | None, text_option("--reference", "A correct answer.")] = None,
    criteria: Annotated[str | None, text_option("--criteria", "What a good answer does.")] = None,
    rubric: Annotated[
        list[str] | None, text_option("--rubric", "An item that the judge checks on its own. Can be repeated.")
    ] = None,
    judge: Judge = None,
    timeout: Timeout = None,
    json: Json = False,
) -> ExitCode:
    """Judge a single answer.

    Prints the evaluation and stores nothing. For any of the texts, - means standard input.

    Exit codes: 0 whatever the verdict; 101 the judge failed; 2 usage or configuration.
    """
    judge = require_judge(judge)
    if not (criteria or reference or rubric):
        raise ConfigError("nothing to judge by: give --criteria, --reference or --rubric")
    texts = {"answer": answer, "question": question, "reference": reference, "criteria": criteria}
    piped = [name for name, value in texts.items() if value == "-"]
    if len(piped) > 1:
        raise ConfigError(f"standard input can be read only once, not for --{' and --'.join(piped)}")
    texts |= {name: read_input() for name in piped}
    console = Console()
    with sent_telemetry(console):
        evaluation = _evaluate(texts, rubric, judge, timeout, console)
    console.result(strict_json(evaluation.as_dict()) if json else "\n".join(_lines(evaluation)))
    return ExitCode.UNSCORED if evaluation.error is not None else ExitCode.OK


def _evaluate(
    texts: dict[str, str | None], rubric: list[str] | None, judge: str, timeout: float | None, console: Console
) -> Evaluation:
    definition: dict[str, Any] = {"type": "llm_judge", "judge": judge}
    evaluator = registry.evaluator(definition | ({"rubrics": rubric} if rubric else {}))
    case = Case(
        question=texts["question"],
        candidate_answer=texts["answer"],
        reference_answer=texts["reference"],
        expected_outcome=texts["criteria"],
    )

    async def evaluate() -> Evaluation:
        waiting = asyncio.create_task(_show_wait(console, judge))
        try:
            return await telemetry.evaluate(evaluator, case, timeout=timeout)
        finally:
            waiting.cancel()

    return asyncio.run(evaluate())


async def _show_wait(console: Console, judge: str) -> None:
    """Show on a terminal that the judge is at work: a model on this machine may take a minute."""
    seconds = 0
    while console.is_live:
        console.live(f"waiting for {judge}, {seconds} s")
        await asyncio.sleep(1)
        seconds += 1


def _lines(evaluation: Evaluation) -> Iterator[str]:
    """Yield the evaluation as lines of plain text."""
    standing = Standing.of(evaluation)
    if evaluation.error is not None:
        yield f"{standing.glyph} the judge failed: {plain(evaluation.error, None)}"
        return
    score = "" if evaluation.score is None else f"  {score_text(evaluation.score)}"
    yield f"{standing.glyph} {standing.word}{score}"
    yield from (f"  + {plain(hit, None)}" for hit in evaluation.hits)
    yield from (f"  - {plain(miss, None)}" for miss in evaluation.misses)
    if evaluation.reasoning:
        yield plain(evaluation.reasoning, None)
