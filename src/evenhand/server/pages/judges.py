"""The page on judges: the very prompts that a judge would be sent, before anything is sent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evenhand import registry
from evenhand.domain.ask import Ask, Message
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ContractError, TemplateError
from evenhand.domain.evaluation import Evaluation
from evenhand.evaluators.reading import parse_strict
from evenhand.models.scripted import Scripted
from evenhand.server.api.shared import Opened
from evenhand.server.pages.forms import Form, Sent
from evenhand.server.rendering import page

router = APIRouter()

MOST_SHOWN: Final = 8
MODES: Final = ("freeform", "rubric", "pairwise")
SCORES: Final = ("auto", "text", "samples", "logprobs")
_EXAMPLE: Final = {
    "mode": "freeform",
    "model": "openai/gpt-5-mini",
    "criteria": "Says that an order can be returned within 30 days, and that shipping is not refunded.",
    "rubrics": "Says that returns are possible within 30 days\nSays that shipping is not refunded\nIs polite",
    "template": "",
    "scale": "",
    "score_from": "auto",
    "rubric_mode": "joint",
    "evidence": "",
    "question": "Can I send my shoes back?",
    "answer": "Yes, within 30 days of delivery. We refund the price, but not the shipping.",
    "reference": "",
}


class Unasked(Scripted):
    """A judge that is never asked; it goes by the name of one that would be, and would be asked in the same way."""

    def __init__(self, name: str) -> None:
        super().__init__((), name=name)
        # As the models of this machine, which answer a yes-or-no question by probabilities.
        self.prefers_logprobs = name.startswith("embedded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a judge would be sent for a case: the questions of the first round, or why there is none."""

    asks: tuple[Ask, ...] = ()
    why_none: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, draft: dict[str, str]) -> Preview:
        """Work out the questions up to the point where they would be sent."""
        try:
            evaluator = registry.evaluator(_definition(draft))
            steps = evaluator.steps(_case(draft))
            asks = next(steps)
        except StopIteration as ended:
            return cls(why_none=ended.value.reasoning if isinstance(ended.value, Evaluation) else "")
        except (ConfigError, ContractError) as error:
            return cls(errors={_field_of(error): str(error)})
        steps.close()
        return cls(asks=tuple(ask for ask in asks if isinstance(ask, Ask)))

    @property
    def schema(self) -> str | None:
        """What the reply is held to, as a JSON schema; None where it is one token."""
        contract = self.asks[0].contract if self.asks else None
        return None if contract is None else json.dumps(contract.schema(), indent=2, ensure_ascii=False)


@router.get("/judges")
def show_judges(request: Request, store: Opened, case: str = "") -> Response:
    """Show what a judge would be sent: for an example, or for a test case of a prompt."""
    draft = dict(_EXAMPLE)
    if judge := request.app.state.settings.judge:
        draft["model"] = str(judge)
    if case:
        known = store.prompts.find_case(case)
        text = store.prompts.find(known.prompt_id).text
        asked = (Message("system", text.content), Message("user", known.text.input))
        draft |= {
            "criteria": text.criteria or "",
            "question": Case(input_messages=asked).question_text or "",
            "reference": known.text.reference or "",
            "answer": "(what the model will answer)",
        }
    return _page(request, draft)


@router.post("/judges")
def preview_judge(request: Request, sent: Sent) -> Response:
    """Show what a judge would be sent by the settings of the form; nothing is sent, and nothing is kept."""
    return _page(request, _draft(sent))


def _page(request: Request, draft: dict[str, str]) -> Response:
    preview = Preview.of(draft)
    return page(
        request,
        "judges.html",
        status=422 if preview.errors else 200,
        draft=draft,
        preview=preview,
        shown=preview.asks[:MOST_SHOWN],
        scores=SCORES,
    )


def _draft(sent: Form) -> dict[str, str]:
    given = {name: sent.text(name) if sent.has(name) else usual for name, usual in _EXAMPLE.items()}
    return given | {"evidence": sent.text("evidence")}  # a box that is not ticked is not sent


def _definition(draft: dict[str, str]) -> dict[str, Any]:
    told: dict[str, Any] = {"name": "preview", "judge": Unasked(draft["model"].strip() or "judge")}
    if draft["mode"] == "pairwise":
        return told | {"type": "pairwise"}
    if draft["mode"] not in MODES:
        raise ConfigError(f"mode: there is none called {draft['mode']!r:.40}; known: {', '.join(MODES)}")
    told |= {"type": "llm_judge", "score_from": draft["score_from"]}
    if draft["template"].strip():
        told["template"] = draft["template"]
    if draft["scale"].strip():
        told["scale"] = draft["scale"].strip()
    if draft["mode"] == "rubric":
        told |= {"rubrics": _items(draft["rubrics"]), "rubric_mode": draft["rubric_mode"]}
        told["evidence"] = bool(draft["evidence"])
    return told


def _items(written: str) -> list[Any]:
    """Take rubric items: one a line, or a JSON list of what a suite may have."""
    if written.lstrip().startswith("["):
        try:
            found = parse_strict(written)
        except ContractError as error:
            raise ConfigError(f"rubrics: {error}") from None
        if isinstance(found, list) and found:
            return found
    if not (lines := [line.strip() for line in written.splitlines() if line.strip()]):
        raise ConfigError("rubrics: there is no item; write what is to be checked, one a line")
    return lines


def _case(draft: dict[str, str]) -> Case:
    return Case(
        question=draft["question"] or None,
        candidate_answer=draft["answer"],
        reference_answer=draft["reference"] or None,
        expected_outcome=draft["criteria"] or None,
    )


def _field_of(error: Exception) -> str:
    """Say at which field a message belongs."""
    if isinstance(error, TemplateError):
        return "template"
    told = str(error)
    return next((name for name in ("rubrics", "scale", "mode", "score_from") if name in told), "form")
