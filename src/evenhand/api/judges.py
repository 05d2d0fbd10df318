"""Judges as functions: created from a prompt, called with inputs and outputs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from evenhand import registry
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Status
from evenhand.drive import background, telemetry
from evenhand.evaluators.factory import EvaluatorResult, PromptedJudge
from evenhand.evaluators.json_factory import KEY, KeyMatcher

Options = ParamSpec("Options")
Made = TypeVar("Made")
Result = TypeVar("Result")


def _with_options_of(
    make: Callable[Options, Made],
) -> Callable[[Callable[[Made], Result]], Callable[Options, Result]]:
    """Add the options that make a judge to the signature of a function, for callers, type checkers and ``help``."""

    def decorate(function: Callable[[Made], Result]) -> Callable[Options, Result]:
        @functools.wraps(function)
        def create(*args: Options.args, **options: Options.kwargs) -> Result:
            if args:
                first = next(iter(inspect.signature(make).parameters))
                raise ConfigError(f"{function.__name__} takes its options by name, such as {first}=…")
            made: Made = registry.make(make, options, where=function.__name__)
            return function(made)

        signature = inspect.signature(make).replace(return_annotation=inspect.signature(function).return_annotation)
        create.__signature__ = signature  # type: ignore[attr-defined]  # for help()
        return create

    return decorate


@_with_options_of(PromptedJudge)
def create_llm_as_judge(judge: PromptedJudge) -> Callable[..., Any]:
    """Return an evaluator function for a prompt; it takes ``inputs``, ``outputs``, ``reference_outputs`` and more.

    >>> from evenhand import Scripted, create_llm_as_judge
    >>> judge = Scripted(['{"reasoning": "A greeting.", "score": 0.9}'])
    >>> rate = create_llm_as_judge(prompt="Rate: {outputs}", judge=judge, continuous=True)
    >>> result = rate(outputs="Hello world")
    >>> result["key"], result["score"], result["comment"]
    ('score', 0.9, 'A greeting.')

    ``prompt`` is a template, the name of a built-in prompt such as ``correctness``, a function, or a LangChain prompt.
    The score is true or false, a number from 0 to 1 with ``continuous``, or one of ``choices``. With
    ``output_schema`` the evaluator returns what that describes instead. Raises ``JudgeError`` if the judge gives no
    usable reply.
    """

    def evaluator(*, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **values: Any) -> Any:
        """Judge these values and wait for the result."""
        arguments = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs, **values}
        return background.run(_judged(judge, arguments))

    return evaluator


@_with_options_of(PromptedJudge)
def create_async_llm_as_judge(judge: PromptedJudge) -> Callable[..., Awaitable[Any]]:
    """Return the async form of ``create_llm_as_judge``: same options, same result, awaited."""

    async def evaluator(
        *, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **values: Any
    ) -> Any:
        """Judge these values."""
        arguments = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs, **values}
        return await _judged(judge, arguments)

    return evaluator


@_with_options_of(KeyMatcher)
def create_json_match_evaluator(matcher: KeyMatcher) -> Callable[..., list[EvaluatorResult]]:
    """Return a function that compares ``outputs`` with ``reference_outputs``, key by key, as openevals does.

    >>> from evenhand import create_json_match_evaluator
    >>> match = create_json_match_evaluator(aggregator="average", exclude_keys=["id"])
    >>> match(outputs={"id": 1, "a": 1, "b": 2}, reference_outputs={"id": 2, "a": 1, "b": 3})[0]["score"]
    0.5

    Both are objects, or lists of objects. Each key must have the expected value; ``rubric`` maps keys to what a
    ``judge`` decides instead. The results are one for each key, ``json_match:KEY``, or with ``aggregator`` a single
    one: the ``average`` of the keys, or whether ``all`` are right. ``list_match_mode`` says how lists may differ, and
    ``list_aggregator`` how their items are combined.
    """

    def evaluator(
        *, outputs: Any = None, reference_outputs: Any = None, inputs: Any = None, **_: Any
    ) -> list[EvaluatorResult]:
        """Compare these values and wait for the results."""
        values = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        return background.run(_matched(matcher, values))

    return evaluator


@_with_options_of(KeyMatcher)
def create_async_json_match_evaluator(matcher: KeyMatcher) -> Callable[..., Awaitable[list[EvaluatorResult]]]:
    """Return the async form of ``create_json_match_evaluator``: same options, same results, awaited."""

    async def evaluator(
        *, outputs: Any = None, reference_outputs: Any = None, inputs: Any = None, **_: Any
    ) -> list[EvaluatorResult]:
        """Compare these values."""
        values = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        return await _matched(matcher, values)

    return evaluator


async def _judged(judge: PromptedJudge, values: Mapping[str, Any]) -> Any:
    """Judge values; what an ``output_schema`` describes has no score that an event could tell."""

    def events(result: Any, with_content: bool) -> Iterable[telemetry.Attributes]:
        return () if judge.returns_schema else _events([result], with_content)

    return await telemetry.observed(judge.steps(values), name=judge.feedback_key, events=events)


async def _matched(matcher: KeyMatcher, values: Mapping[str, Any]) -> list[EvaluatorResult]:
    return await telemetry.observed(matcher.steps(values), name=KEY, events=_events)


def _events(results: Iterable[EvaluatorResult], with_content: bool) -> Iterable[telemetry.Attributes]:
    """Return the results of a judge function as events; there are no thresholds, so they have no verdict."""
    for result in results:
        values: telemetry.Attributes = {
            "gen_ai.evaluation.name": result["key"],
            "gen_ai.evaluation.score.value": float(result["score"]),
            "evenhand.status": Status.SCORED.value,
        }
        if isinstance(judge := result["metadata"].get("judge"), str):
            values["gen_ai.request.model"] = telemetry.model_of(judge)
        if with_content and result["comment"]:
            values["gen_ai.evaluation.explanation"] = result["comment"]
        yield values
