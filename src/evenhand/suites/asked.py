"""Whether anything in a suite asks the judge that is named for all of it."""

from __future__ import annotations

from evenhand.domain.run import PlannedCase
from evenhand.suites.definition import Definition
from evenhand.suites.evaluators import lacks_judge, name_of, names_judge

_MOST_NAMED = 5


class AskedJudge:
    """Looks at cases as they are read, until one asks the judge of those that name none."""

    def __init__(self, built: Definition) -> None:
        self._built = built
        self._own: dict[str, None] = {}
        self._seen = False
        self._usual_seen = False
        self._is_asked = False

    def look_at(self, planned: PlannedCase) -> None:
        """Look at the evaluators of a case; those of the suite are looked at once."""
        is_usual = planned.evaluators is None and not planned.case.rubrics
        if self._is_asked or (is_usual and self._usual_seen):
            return
        self._seen = True
        self._usual_seen = self._usual_seen or is_usual
        definitions = self._built.definitions_for(planned)
        self._is_asked = any(map(lacks_judge, definitions))
        if len(self._own) <= _MOST_NAMED:
            self._own |= dict.fromkeys(name_of(one) for one in definitions if names_judge(one))

    @property
    def why_not(self) -> str:
        """Why nobody asks the judge; nothing where somebody does, or no case was looked at."""
        if self._is_asked or not self._seen:
            return ""
        if not self._own:
            return "nothing in the suite asks a judge"
        named = list(self._own)
        *most, last = named if len(named) <= _MOST_NAMED else [*named[:_MOST_NAMED], "others"]
        return f"{', '.join(most)} and {last} name their own judges" if most else f"{last} names its own judge"
