"""Pairs of answers with known truth: to the same question, one is right and the other one wrong.

They come with the package, a file of JSON lines for each task. Those files have fields beyond the ones of ``Pair``,
from which the tests prove that the good answer is right and the bad one is not; a judge never sees them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

from evenhand.domain.errors import ConfigError

TASKS: Final = ("factual", "reasoning", "summary", "extraction", "instruction", "code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A question with a right and a wrong answer, alike in length, style and form.

    >>> pair = shipped_pairs(["factual"])[0]
    >>> pair.id, pair.question
    ('factual-01', 'Why does the Moon show phases?')
    """

    id: str
    task: str
    question: str
    context: str | None  # the text that the question is about, if it is about one
    reference: str
    good: str
    bad: str
    why: str  # what is wrong with the bad answer
    difficulty: Literal["easy", "subtle"]


def shipped_pairs(tasks: Sequence[str] | None = None) -> tuple[Pair, ...]:
    """Return the pairs of the tasks, all tasks unless told, in the order of ``TASKS``.

    >>> {pair.task for pair in shipped_pairs(["code", "summary"])} == {"code", "summary"}
    True
    """
    wanted = TASKS if tasks is None else tasks
    if isinstance(wanted, str):
        raise ConfigError(f"tasks is {wanted!r:.80}; it must be a list, such as [{TASKS[0]!r}]", key="tasks")
    for task in wanted:
        if task not in TASKS:
            raise ConfigError(f"no task {task!r:.80}; the tasks are {', '.join(TASKS)}", key="tasks")
    return tuple(pair for task in TASKS if task in wanted for pair in _pairs_of(task))


@cache
def _pairs_of(task: str) -> tuple[Pair, ...]:
    lines = resources.files(__package__).joinpath("pairs", f"{task}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_pair(task, json.loads(line)) for line in lines)


def _pair(task: str, fields: dict[str, Any]) -> Pair:
    return Pair(
        id=fields["id"],
        task=task,
        question=fields["question"],
        context=fields.get("context"),
        reference=fields["reference"],
        good=fields["good"],
        bad=fields["bad"],
        why=fields["why"],
        difficulty=fields["difficulty"],
    )
