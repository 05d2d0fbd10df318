"""`evenhand judge`: judge one answer, here and now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.console import Console, read_input
from evenhand.cli.options import Json, Judge, NoEnvFile, Timeout, Verbose
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode

if TYPE_CHECKING:
    from evenhand.domain.evaluation import Evaluation


def _text(flag: str, words: str) -> Any:
    return typer.Option(flag, metavar="TEXT", help=words)


def judge_one(
    *,
    answer: Annotated[str, _text("--answer", "The answer to judge; - reads it from standard input.")],
    question: Annotated[str | None, _text("--question", "What was asked.")] = None,
    reference: Annotated[str | None, _text("--reference", "An answer that is right.")] = None,
    criteria: Annotated[str | None, _text("--criteria", "What a good answer does.")] = None,
    rubric: Annotated[
        list[str] | None, _text("--rubric", "An item that the judge checks by itself. May be given several times.")
    ] = None,
    judge: Judge = None,
    timeout: Timeout = None,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Judge one answer, here and now.

    Shows what the judge found, and keeps nothing. For any of the texts, - stands for standard input.

    Exit codes: 0 whatever the verdict; 101 the judge failed; 2 usage or configuration.
    """
    if judge is None:
        raise ConfigError("no judge: give --judge openai/gpt-5-mini, or set EVENHAND_JUDGE")
    if not (criteria or reference or rubric):
        raise ConfigError("nothing to judge by: give --criteria, --reference or --rubric")
    given = {"answer": answer, "question": question, "reference": reference, "criteria": criteria}
    piped = [name for name, value in given.items() if value == "-"]
    if len(piped) > 1:
        raise ConfigError(f"standard input can be read once, not for --{' and --'.join(piped)}")
    given |= {name: read_input() for name in piped}
    evaluation = _judged(given, rubric, judge, timeout)
    console = Console()
    if json:
        from evenhand.reports.json_text import strict_json

        console.result(strict_json(evaluation.as_dict()))
    else:
        console.result("\n".join(_told(evaluation)))
    raise typer.Exit(ExitCode.UNSCORED if evaluation.error is not None else ExitCode.OK)


def _judged(given: dict[str, str | None], rubric: list[str] | None, judge: str, timeout: float | None) -> Evaluation:
    import asyncio

    from evenhand import registry
    from evenhand.domain.case import Case
    from evenhand.drive.driver import drive

    definition: dict[str, Any] = {"type": "llm_judge", "judge": judge}
    evaluator = registry.evaluator(definition | ({"rubrics": rubric} if rubric else {}))
    case = Case(
        question=given["question"],
        candidate_answer=given["answer"],
        reference_answer=given["reference"],
        expected_outcome=given["criteria"],
    )
    return asyncio.run(drive(evaluator.steps(case), timeout=timeout))


def _told(evaluation: Evaluation) -> list[str]:
    """Say what was found, in lines; what the judge wrote is made plain."""
    from evenhand.reports.phrases import Standing, score_text
    from evenhand.reports.safe_text import plain

    standing = Standing.of(evaluation)
    if evaluation.error is not None:
        return [f"{standing.glyph} the judge failed: {plain(evaluation.error, None)}"]
    score = "" if evaluation.score is None else f"  {score_text(evaluation.score)}"
    lines = [f"{standing.glyph} {standing.word}{score}"]
    lines += [f"  + {plain(hit, None)}" for hit in evaluation.hits]
    lines += [f"  - {plain(miss, None)}" for miss in evaluation.misses]
    return [*lines, plain(evaluation.reasoning, None)] if evaluation.reasoning else lines
