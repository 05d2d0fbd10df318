"""Judges as functions: made from a prompt, called with inputs and outputs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar

from evenhand import registry
from evenhand.domain.errors import ConfigError
from evenhand.drive import background
from evenhand.drive.driver import drive
from evenhand.evaluators.factory import PromptedJudge

Options = ParamSpec("Options")
Made = TypeVar("Made")


def _with_options_of(
    make: Callable[Options, PromptedJudge],
) -> Callable[[Callable[[PromptedJudge], Made]], Callable[Options, Made]]:
    """Give a door the options of what it opens onto, for callers, type checkers and ``help``, written down once."""

    def decorate(door: Callable[[PromptedJudge], Made]) -> Callable[Options, Made]:
        @functools.wraps(door)
        def create(*args: Options.args, **options: Options.kwargs) -> Made:
            if args:
                raise ConfigError(f"{door.__name__} takes its options by name, such as prompt=…")
            made: PromptedJudge = registry.make(make, options, where=door.__name__)
            return door(made)

        signature = inspect.signature(make).replace(return_annotation=inspect.signature(door).return_annotation)
        create.__signature__ = signature  # type: ignore[attr-defined]  # how help() learns of it
        return create

    return decorate


@_with_options_of(PromptedJudge)
def create_llm_as_judge(made: PromptedJudge) -> Callable[..., Any]:
    """Make an evaluator function from a prompt; it takes ``inputs``, ``outputs``, ``reference_outputs`` and more.

    >>> from evenhand import Scripted, create_llm_as_judge
    >>> judge = Scripted(['{"reasoning": "A greeting.", "score": 0.9}'])
    >>> rate = create_llm_as_judge(prompt="Rate: {outputs}", judge=judge, continuous=True)
    >>> result = rate(outputs="Hello world")
    >>> result["key"], result["score"], result["comment"]
    ('score', 0.9, 'A greeting.')

    ``prompt`` is a template, the name of a ready prompt such as ``correctness``, a function, or a LangChain prompt.
    The score is true or false, a number from 0 to 1 with ``continuous``, or one of ``choices``. With
    ``output_schema`` the evaluator returns what that describes instead. Raises ``JudgeError`` when the judge gives no
    usable reply.
    """

    def evaluator(*, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **values: Any) -> Any:
        """Judge with the given values and wait for the result."""
        given = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs, **values}
        return background.run(drive(made.steps(given)))

    return evaluator


@_with_options_of(PromptedJudge)
def create_async_llm_as_judge(made: PromptedJudge) -> Callable[..., Awaitable[Any]]:
    """Make the async twin of ``create_llm_as_judge``: same options, same result, awaited."""

    async def evaluator(
        *, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **values: Any
    ) -> Any:
        """Judge with the given values."""
        given = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs, **values}
        return await drive(made.steps(given))

    return evaluator
