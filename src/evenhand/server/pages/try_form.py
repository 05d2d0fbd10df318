"""The form of the playground beside the editor of a prompt: an input, a model and a judge, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from evenhand.domain.prompt import Prompt, TestCaseText
from evenhand.domain.run import RunRecord
from evenhand.profiles.case_view import case_view
from evenhand.reports.html.case import CaseView
from evenhand.reports.phrases import duration_text
from evenhand.reports.safe_text import plain
from evenhand.server.pages.base import Form
from evenhand.server.runs.baseline import of_prompt
from evenhand.server.runs.playground import Tried
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store
from evenhand.workspace.documents import CASE_FIELDS

FIELDS: Final = (*CASE_FIELDS, "model", "judge", "case")
# With more test cases, they are tried from their own pages.
_MOST_LISTED: Final = 200
_MOST_RUNS: Final = 50
_GIST: Final = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class TryForm:
    """The form as typed, what it offers, and below it the outcome of a try, or why there was none."""

    typed: Mapping[str, str]
    models: tuple[str, ...] = ()
    cases: tuple[tuple[str, str], ...] = ()
    tried: Tried | None = None
    problem: str | None = None
    kept: str | None = None
    is_kept_already: bool = False

    @classmethod
    def of(cls, store: Store, settings: ServerSettings, prompt: Prompt, *, case_id: str = "") -> TryForm:
        """Return the form with the model and the judge that were used last, and perhaps with a test case."""
        runs = store.runs.newest(_MOST_RUNS)
        own = [run for run in runs if of_prompt(run) == prompt.id]
        models, judge = _last_used(own or [run for run in runs if of_prompt(run) is not None])
        case = store.prompts.find_case(case_id).text if case_id else None
        typed = {
            **_texts(case),
            "model": next(iter([*models, *settings.models]), ""),
            "judge": judge or settings.judge or "",
            "case": case_id,
        }
        return cls(typed=typed, models=_known(runs, settings), cases=_selectable(store, prompt))

    def as_sent(self, sent: Form, case: TestCaseText | None) -> TryForm:
        """Return the form as it was sent; an empty input with a test case chosen is that of the test case."""
        typed = {name: sent.text(name) for name in FIELDS}
        if case is not None and not typed["input"].strip():
            typed |= _texts(case)
        return replace(self, typed=typed)

    @property
    def view(self) -> CaseView | None:
        """The case that was tried, for the template."""
        return None if self.tried is None else case_view(self.tried.result, self.tried.run)

    @property
    def took(self) -> str:
        """How long the whole took."""
        return "" if self.tried is None else duration_text(self.tried.seconds)


def _texts(case: TestCaseText | None) -> dict[str, str]:
    return {name: (getattr(case, name) or "") if case is not None else "" for name in CASE_FIELDS}


def _names(value: Any) -> list[str]:
    models = value.get("models") if isinstance(value, Mapping) else None
    return [name for name in models if isinstance(name, str)] if isinstance(models, list) else []


def _last_used(runs: list[RunRecord]) -> tuple[list[str], str | None]:
    for run in runs:
        if names := _names(run.definition.get("target")):
            judge = run.definition.get("judge")
            return names, judge if isinstance(judge, str) else None
    return [], None


def _known(runs: list[RunRecord], settings: ServerSettings) -> tuple[str, ...]:
    """Return the models that are offered here or were used lately, to choose from while typing."""
    used = [name for run in runs for name in (*_names(run.definition.get("target")), run.definition.get("judge"))]
    offered = [*settings.models, settings.judge]
    return tuple(dict.fromkeys(name for name in (*offered, *used) if isinstance(name, str)))


def _selectable(store: Store, prompt: Prompt) -> tuple[tuple[str, str], ...]:
    if prompt.test_cases > _MOST_LISTED:
        return ()
    return tuple((case.id, plain(case.text.input[: 4 * _GIST], _GIST)) for case in store.prompts.cases(prompt.id))
