"""The exact prompts that a judge would be sent, without sending them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evenhand import registry
from evenhand.domain.ask import Ask
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ContractError, TemplateError
from evenhand.domain.evaluation import Evaluation
from evenhand.evaluators.reading import parse_strict
from evenhand.models.replay import Scripted

MODES: Final = ("freeform", "rubric", "pairwise")
SCORES: Final = ("auto", "text", "samples", "logprobs")
_FIELDS: Final = ("rubrics", "scale", "mode", "score_from")


class Unasked(Scripted):
    """A judge that is never asked, under the name of one that would be asked in the same way."""

    def __init__(self, name: str) -> None:
        super().__init__((), name=name)
        # Local models answer a yes-or-no question by probabilities.
        self.prefers_logprobs = name.startswith("embedded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a judge would be sent for a case: the requests of the first round, or the reason why there are none."""

    asks: tuple[Ask, ...] = ()
    why_none: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, draft: Mapping[str, Any]) -> Preview:
        """Make the requests without sending them; ``draft`` has the fields of the page."""
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
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of the reply; None if that is a single token."""
        contract = self.asks[0].contract if self.asks else None
        return None if contract is None else contract.schema()


def _definition(draft: Mapping[str, Any]) -> dict[str, Any]:
    definition: dict[str, Any] = {"name": "preview", "judge": Unasked(draft["model"].strip() or "judge")}
    if draft["mode"] == "pairwise":
        return definition | {"type": "pairwise"}
    if draft["mode"] not in MODES:
        raise ConfigError(f"mode: it must be one of {', '.join(MODES)}, not {draft['mode']!r:.40}", key="mode")
    definition |= {"type": "llm_judge", "score_from": draft["score_from"]}
    if draft["template"].strip():
        definition["template"] = draft["template"]
    if draft["scale"].strip():
        definition["scale"] = draft["scale"].strip()
    if draft["mode"] == "rubric":
        definition |= {"rubrics": _items(draft["rubrics"]), "rubric_mode": draft["rubric_mode"]}
        definition["evidence"] = bool(draft["evidence"])
    return definition


def _items(written: str | list[Any]) -> list[Any]:
    """Return rubric items: one per line, or a list as in a suite, as JSON or as a value."""
    if not isinstance(written, str):
        return written or _items("")
    if written.lstrip().startswith("["):
        try:
            items = parse_strict(written)
        except ContractError as error:
            raise ConfigError(f"rubrics: {error}", key="rubrics") from None
        if isinstance(items, list) and items:
            return items
    if not (lines := [line.strip() for line in written.splitlines() if line.strip()]):
        raise ConfigError("rubrics: no items; write what to check, one item per line", key="rubrics")
    return lines


def _case(draft: Mapping[str, Any]) -> Case:
    return Case(
        question=draft["question"] or None,
        candidate_answer=draft["answer"],
        reference_answer=draft["reference"] or None,
        expected_outcome=draft["criteria"] or None,
    )


def _field_of(error: Exception) -> str:
    """Return the field that an error belongs to."""
    if isinstance(error, TemplateError):
        return "template"
    key = error.key if isinstance(error, ConfigError) else None
    return key if key in _FIELDS else "form"
