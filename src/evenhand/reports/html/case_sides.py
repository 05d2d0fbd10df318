"""A case as it came out in two runs, or with several targets: the answers next to each other, and what differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from evenhand.domain.run import CaseResult
from evenhand.reports.html.judgment import AnswerView, JudgmentView, outcome_of
from evenhand.reports.html.text_sides import NOT_BY_WORD, TextSides
from evenhand.reports.paired_cases import findings_of
from evenhand.reports.phrases import Standing, counted, score_text
from evenhand.reports.safe_text import plain

# How much of each text is shown on the page of one case; the pages of its results have all of it.
MOST_TEXT: Final = 12_000
_LONGEST_TITLE: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSide:
    """One of the results that are shown next to each other, and its name; ``href`` leads to all about it.

    ``scale`` is the highest score that is shown.
    """

    name: str
    result: CaseResult
    href: str | None = None
    scale: int = 1
    has_verdicts: bool = True

    @property
    def standing(self) -> Standing:
        """Its verdict, or why there is none."""
        return Standing.of_case(self.result)

    @property
    def outcome(self) -> str:
        """Its standing as it is shown."""
        return outcome_of(self.standing, self.scale, has_verdicts=self.has_verdicts)

    @property
    def score(self) -> str | None:
        """Its score, or None."""
        score = self.result.outcome.score
        return score_text(None if score is None else score * self.scale, 3) if self.standing.scored else None

    def answers(self) -> list[AnswerView]:
        """Return the answers that a target made, one for each sample."""
        return [AnswerView(made, len(self.result.answers) == 1) for made in self.result.answers]

    def judgments(self, evaluator: str) -> list[JudgmentView]:
        """Return what an evaluator found, for each sample."""
        has_siblings = len({judgment.sample for judgment in self.result.judgments}) > 1
        return [
            JudgmentView(judgment=judgment, has_siblings=has_siblings, scale=self.scale, has_verdicts=self.has_verdicts)
            for judgment in self.result.judgments
            if judgment.evaluation.evaluator == evaluator
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCell:
    """An answer in its column; ``text`` is None where there is none, ``error`` says why."""

    name: str
    text: Markup | None
    error: str | None = None
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """The answers of one sample, with what is to be said about how they are shown."""

    title: str
    cells: tuple[AnswerCell, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingCell:
    """What an evaluator found in one of the results."""

    name: str
    judgments: tuple[JudgmentView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSidesView:
    """A case in several results; of two, each shows what only it has; of more, the others what the first has not.

    ``most_text`` is how much of a text is shown, ``most_samples`` how many answers of a case that was asked repeatedly.
    """

    id: str
    sides: tuple[CaseSide, ...]
    most_text: int = MOST_TEXT
    most_samples: int | None = None

    @property
    def title(self) -> str:
        """The beginning of what distinguishes the case, on one line: the last question of a conversation."""
        return plain((self.sides[0].result.case.last_question or "")[: 4 * _LONGEST_TITLE], _LONGEST_TITLE)

    @property
    def question(self) -> str | None:
        """What was asked, shortened."""
        return self._shortened(self.sides[0].result.case.question_text)

    @property
    def reference(self) -> str | None:
        """The reference, shortened."""
        return self._shortened(self.sides[0].result.case.reference_text)

    @property
    def expected_outcome(self) -> str | None:
        """What was expected, shortened."""
        return self._shortened(self.sides[0].result.case.expected_outcome)

    @property
    def legend(self) -> str:
        """What the marks mean."""
        if len(self.sides) == 2:
            return f"Struck through: only in {self.sides[0].name}. Underlined: only in {self.sides[1].name}."
        return f"Underlined: not in the answer of {self.sides[0].name}."

    @property
    def samples(self) -> int:
        """How many answers there are next to each other."""
        return max(1, *(len(side.result.answers) for side in self.sides))

    @property
    def rows(self) -> list[AnswerRow]:
        """The answers, a row for each sample."""
        shown = self.samples if self.most_samples is None else min(self.samples, self.most_samples)
        return [self._row(number) for number in range(shown)]

    @property
    def left_out(self) -> str:
        """Say how many samples are not shown."""
        shown = self.samples if self.most_samples is None else min(self.samples, self.most_samples)
        return "" if shown == self.samples else f"The first of {self.samples} samples."

    @property
    def evaluators(self) -> list[str]:
        """The evaluators of all results."""
        judgments = (judgment for side in self.sides for judgment in side.result.judgments)
        return list(dict.fromkeys(judgment.evaluation.evaluator for judgment in judgments))

    @property
    def changed(self) -> list[str]:
        """The evaluators whose score or verdict is not the same in all results."""
        found = [findings_of(side.result) for side in self.sides]
        return [name for name in self.evaluators if len({each.get(name) for each in found}) > 1]

    def findings(self, evaluator: str) -> list[FindingCell]:
        """Return what an evaluator found in each result."""
        return [FindingCell(name=side.name, judgments=tuple(side.judgments(evaluator))) for side in self.sides]

    def shortened(self, text: str) -> str:
        """Cut a text, and say how much was left out."""
        left_out = len(text) - self.most_text
        return text if left_out <= 0 else f"{text[: self.most_text]}… ({counted(left_out, 'character')} left out)"

    def _shortened(self, text: str | None) -> str | None:
        return None if text is None else self.shortened(text)

    def _row(self, sample: int) -> AnswerRow:
        made = [_answer(side, sample) for side in self.sides]
        texts = [text or "" for text, _, _ in made]
        marked = TextSides.of(texts, self.most_text)
        notes = () if marked.is_by_word else (NOT_BY_WORD,)
        if len(texts) > 1 and len(set(texts)) == 1 and texts[0]:
            notes = ("The answers are the same.",)
        cells = [
            AnswerCell(
                name=side.name,
                text=None if text is None else shown,
                error=error,
                facts=tuple(facts),
            )
            for side, (text, error, facts), shown in zip(self.sides, made, marked.shown, strict=True)
        ]
        title = "Answers" if self.samples == 1 else f"Answers, sample {sample + 1}"
        return AnswerRow(title=title, cells=tuple(cells), notes=notes)


def _answer(side: CaseSide, sample: int) -> tuple[str | None, str | None, list[str]]:
    """Return the answer of a sample, why there is none, and what it took."""
    result = side.result
    if not result.answers:
        return (result.case.candidate_answer, None, []) if sample == 0 else (None, None, [])
    if sample >= len(result.answers):
        return None, None, []
    view = side.answers()[sample]
    return view.made.text, view.made.error, view.facts
