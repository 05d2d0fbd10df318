"""What lists filter, group and search by, read from a stored case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.run import RunRecord
from evenhand.store.rows import loads

_SEARCHED: Final = ("question", "id", "candidate_answer", "reference_answer", "expected_outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReader:
    """How what lists filter and search by is read from a stored case; it depends on the kind of run.

    ``model_key`` is where the metadata of a case names the model that answered, ``test_case_key`` where it names the
    test case that several models answer. ``group_members`` returns the profiles of a group, each with an id and
    perhaps a text; None for a run whose cases are not groups.
    """

    model_key: str
    test_case_key: str
    group_members: Callable[[RunRecord, Mapping[str, Any]], Sequence[Mapping[str, Any]] | None]

    def texts(self, run: RunRecord, case: Mapping[str, Any]) -> Iterator[str]:
        """Yield the texts that are searched: of a group, the ids and texts of its profiles as well."""
        for name in _SEARCHED:
            if isinstance(text := case.get(name), str):
                yield text
        for message in case.get("input_messages", ()):
            if isinstance(message, dict) and isinstance(text := message.get("content"), str):
                yield text
        for member in self.group_members(run, case) or ():
            yield from (str(member[name]) for name in ("id", "text") if name in member)

    def profile_ids(self, run: RunRecord, case: Mapping[str, Any]) -> list[Any]:
        """Return the ids of the profiles that a case is about."""
        members = self.group_members(run, case)
        return [case.get("id")] if members is None else [member["id"] for member in members]

    def target(self, content: str) -> tuple[str | None, str | None]:
        """Return the model that answered a case and the test case that it is of, from its stored JSON."""
        if f'"{self.model_key}":' not in content:  # most cases name none, and need not be parsed to know it
            return None, None
        metadata = loads(content)["case"].get("metadata", {})
        model, test_case = metadata.get(self.model_key), metadata.get(self.test_case_key)
        return model if isinstance(model, str) else None, test_case if isinstance(test_case, str) else None
