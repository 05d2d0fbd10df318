"""Better prompts from labels, from Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.api.runs import execution_of
from evenhand.domain.errors import ConfigError

if TYPE_CHECKING:
    from evenhand.engine.execution import Watcher
    from evenhand.engine.run import Run
    from evenhand.engine.store_location import PlaceLike
    from evenhand.evaluators.prompt import PromptEvaluator
    from evenhand.tuner.result import Tuning


def tune(
    run: Run | str = "last",
    labels: str | os.PathLike[str] | None = None,
    *,
    evaluator: str | PromptEvaluator | None = None,
    model: Any = None,
    judge: Any = None,
    examples: int = 4,
    held_out: float = 0.4,
    folds: int = 5,
    seed: int = 1,
    rater: str | None = None,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    on: str | None = None,
    workers: int | None = None,
    worker_env: Sequence[str] = (),
    cache: bool = True,
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    outage_timeout: float | None = None,
    max_consecutive_errors: int | None = None,
    progress: bool | Watcher = False,
) -> Tuning:
    """Propose a better prompt for a judge from labels by people, and say whether it agrees with them more often.

    >>> from evenhand import Case, PromptEvaluator, add_labels, evaluate, tune
    >>> def judge(messages):  # it passes everything, unless an example shows that people do not
    ...     strict = "example_1_verdict" in messages[0]["content"]
    ...     good = not strict or "14 days" in messages[1]["content"]
    ...     return f'{{"score": {float(good)}, "hits": [], "misses": [], "reasoning": ""}}'
    >>> quality = PromptEvaluator(judge=judge)
    >>> answers = ["Within 14 days.", "Soon."] * 30
    >>> cases = [
    ...     Case(id=f"case-{n}", question=f"When, {n}?", candidate_answer=answer, expected_outcome="Says when")
    ...     for n, answer in enumerate(answers)
    ... ]
    >>> run = evaluate(cases, quality, store=None)
    >>> people = [{"id": case.id, "human": "fail" if case.candidate_answer == "Soon." else "pass"} for case in cases]
    >>> added = add_labels(run, people, rater="Ann")
    >>> found = tune(run, evaluator=quality)
    >>> found.adopted, found.way, len(found.new["examples"])
    (True, 'examples', 4)
    >>> found.honest_change.difference, found.held_out_change.difference
    (0.5, 0.5)

    Candidates are ``examples``, chosen from the labelled cases, and, with a ``model`` that writes them, new
    instructions. They are compared with the current prompt by nested cross-validation over ``folds``. The share
    ``held_out`` of the labels is kept apart, and decides in the end: the proposal is adopted only if it agrees with
    people more often there, beyond chance. ``labels`` is a CSV file, used instead of the labels that are stored with
    the run. ``evaluator`` names the one to tune, if there are several; one that was made in Python is given as the
    object. The judgments are a run like any other, and the other options are those of ``evaluate``.
    """
    from evenhand.api.last_run import opened_to_label  # noqa: PLC0415
    from evenhand.engine.job import Pace, Scope  # noqa: PLC0415
    from evenhand.labels.file import read_labels_file  # noqa: PLC0415
    from evenhand.tuner.prepare import prepare  # noqa: PLC0415
    from evenhand.tuner.result import tuning_of  # noqa: PLC0415

    if labels is not None and not isinstance(labels, (str, os.PathLike)):
        raise ConfigError(f"labels must be the path of a CSV file, not {type(labels).__name__}; see add_labels")
    opened = opened_to_label(run, store)
    pace = Pace.of(
        concurrency=concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        use_cache=cache,
        outage_timeout=outage_timeout,
        max_consecutive_errors=max_consecutive_errors,
    )
    with opened.opened_store() as there:
        given = None if labels is None else read_labels_file(there, opened.record, Path(labels), rater=rater)
        tuning = prepare(
            there,
            opened.record,
            given,
            evaluator=evaluator,
            model=model,
            judge=judge,
            held_out=held_out,
            folds=folds,
            examples=examples,
            seed=seed,
            timeout=timeout,
        )
        done = execution_of(
            tuning.job(there),
            Scope(),
            pace,
            store=there,
            progress=progress,
            on=on,
            workers=workers,
            worker_env=worker_env,
        ).run_and_wait()
        return tuning_of(done.record, done)
