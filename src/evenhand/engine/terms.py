"""The terms on which a case is judged: all that it says on that itself, which two runs must share to be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from evenhand.domain.ask import messages_from
from evenhand.domain.run import PlannedCase
from evenhand.domain.stored import case_to
from evenhand.engine.identity import digest_of
from evenhand.store.rows import loads, planned_from

# What is another in each run, or says nothing on how a case is to be judged. Metadata are labels to most suites, and
# to some the name of the model that answers.
_NOT_JUDGED_BY: Final = (
    "id", "candidate_answer", "output_messages", "latency", "cost", "metadata", "cluster",
)  # fmt: skip


class Terms:
    """The terms of a stored case, equal to others where the case would be judged alike.

    Most cases are stored in the same words in both runs, or differ only in what is no term; so they are hashed only
    where they are not. ``settle`` keeps the hash alone.
    """

    __slots__ = ("_content", "_digest", "_of_a_prompt")

    def __init__(self, content: str, *, of_a_prompt: bool) -> None:
        self._content = content
        self._of_a_prompt = of_a_prompt
        self._digest: str | None = None

    def settle(self) -> None:
        """Let go of the case, so that many can be kept."""
        self._digest = self.digest
        self._content = ""

    @property
    def digest(self) -> str:
        """The hash by which they are told apart."""
        if self._digest is None:
            planned = planned_from(0, "", 0, self._content)
            self._digest = judged_by(planned, of_a_prompt=self._of_a_prompt)
        return self._digest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Terms):
            return NotImplemented
        if self._content and other._content and self._of_a_prompt == other._of_a_prompt:
            if self._content == other._content:
                return True
            if _plainly(self._content) == _plainly(other._content):
                return True
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def judged_by(planned: PlannedCase, *, of_a_prompt: bool = False) -> str:
    """Hash what a case says on how it is to be judged: all but its answer, and what is only said about it.

    In a run of a prompt, the system message is what was tried, and versions of it are what is compared.
    """
    case = planned.case
    if of_a_prompt:
        asked = [message for message in messages_from(case.input_messages) if message.role != "system"]
        case = replace(case, input_messages=tuple(asked))
    known = case_to(case)
    for name in _NOT_JUDGED_BY:
        known.pop(name, None)
    return digest_of({"case": known, "evaluators": planned.evaluators})


def _plainly(content: str) -> tuple[Mapping[str, Any], Any]:
    """Read the terms as they are stored: equal ones have equal hashes, others may be written in two ways."""
    given = loads(content)
    known = {name: value for name, value in given["case"].items() if name not in _NOT_JUDGED_BY}
    return known, given.get("evaluators")
