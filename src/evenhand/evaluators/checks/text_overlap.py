"""How much the text of an answer overlaps with a reference: token F1, ROUGE, BLEU and chrF."""

from __future__ import annotations

import importlib
import re
import string
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, get_args

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ContractError, require_flag
from evenhand.evaluators.checks.check import NO_ANSWER, NO_REFERENCE, Finding, Found, GradedCheck, Missing, quoted

Variant: TypeAlias = Literal["rouge1", "rouge2", "rougeL"]
Measure: TypeAlias = Literal["f1", "precision", "recall"]
# Those of sacrebleu that need no further package, and fetch nothing.
Tokenizer: TypeAlias = Literal["13a", "intl", "char", "zh", "none"]

# All of these take well under two seconds.
MOST_CHARACTERS: Final = 200_000
INSTALL: Final = "pip install 'evenhand[text]'"
_WORD: Final = re.compile(r"[^\W_]+")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


class Overlap(NamedTuple):
    """How much two texts share: of the answer, and of the reference."""

    precision: float
    recall: float

    @classmethod
    def of(cls, shared: int, answer: int, reference: int) -> Overlap:
        """Make it from how many units are shared, and how many each text has."""
        return cls(shared / answer if answer else 0.0, shared / reference if reference else 0.0)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    def as_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclass(frozen=True, slots=True, kw_only=True)
class _OverlapCheck(GradedCheck):
    """A check that scores the text of an answer against one reference or several."""

    value: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        GradedCheck.__post_init__(self)
        if self.value is None or isinstance(self.value, str):
            return
        if (
            not isinstance(self.value, Sequence)
            or not self.value
            or not all(isinstance(one, str) for one in self.value)
        ):
            raise ConfigError(
                f"{self.where}: value is {self.value!r:.80}; it must be text, or a list of texts", key="value"
            )
        self._set("value", tuple(self.value))

    def look(self, case: Case) -> Steps[Finding]:
        """Compare the answer with the references."""
        yield from ()
        value = case.reference_answer if self.value is None else self.value
        if case.candidate_answer is None:
            return NO_ANSWER
        if value is None:
            return NO_REFERENCE
        references = [value] if isinstance(value, str) else list(value)
        longest = max(map(len, (case.candidate_answer, *references)))
        if longest > MOST_CHARACTERS:
            why = f"a text has {longest} characters; at most {MOST_CHARACTERS} are compared"
            raise ContractError(why, kind="too_long")
        if lacking := next(filter(None, map(self._lacking, references)), ""):
            return Missing(lacking)
        score, label, details = self._score(case.candidate_answer, references)
        sentence = f"{label} is {score:.1%}: {quoted(case.candidate_answer)}."
        lines = {"hits": (sentence,)} if self.is_enough(score) else {"misses": (sentence,)}
        return Found(score=score, details=details, **lines)

    def _lacking(self, reference: str) -> str:
        """Say what a reference lacks to be compared with."""
        return "" if _WORD.search(reference) else "There are no words in the reference to compare with."

    @abstractmethod
    def _score(self, answer: str, references: list[str]) -> tuple[float, str, dict[str, Any]]:
        """Return the score, what it is called, and further figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenF1(_OverlapCheck):
    """Scores how many words the answer and the reference share, as SQuAD does: in any order, by their F1.

    >>> from evenhand import Case
    >>> TokenF1(value="the Eiffel Tower").evaluate(Case(candidate_answer="Eiffel tower, Paris")).score
    0.8

    Case, ASCII punctuation and the words *a*, *an* and *the* do not count; with ``articles`` these three do. ``value``
    is the reference, or a list of several, of which the best counts; without it, the reference answer is.
    """

    type: ClassVar[str] = "token_f1"

    articles: bool = False

    def __post_init__(self) -> None:
        _OverlapCheck.__post_init__(self)
        require_flag(self.articles, "articles", where=self.where)

    def _lacking(self, reference: str) -> str:  # noqa: ARG002 - where no answer is expected, an empty one is right
        return ""

    def _words(self, text: str) -> list[str]:
        words = text.lower().translate(_NO_PUNCTUATION).split()
        return words if self.articles else [word for word in words if word not in _ARTICLES]

    def _score(self, answer: str, references: list[str]) -> tuple[float, str, dict[str, Any]]:
        best = max((self._overlap(answer, reference) for reference in references), key=lambda overlap: overlap.f1)
        return best.f1, "The F1 of the words", best.as_dict()

    def _overlap(self, answer: str, reference: str) -> Overlap:
        ours, theirs = self._words(answer), self._words(reference)
        if not ours and not theirs:
            return Overlap(1.0, 1.0)
        return Overlap.of((Counter(ours) & Counter(theirs)).total(), len(ours), len(theirs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rouge(_OverlapCheck):
    """Scores how much text the answer has in common with the reference, by ROUGE.

    >>> from evenhand import Case
    >>> Rouge(value="police killed the gunman").evaluate(Case(candidate_answer="the gunman kill police")).score
    0.5

    ``variant`` counts shared words (``rouge1``), pairs of words that follow each other (``rouge2``), or the longest
    sequence of words that both have in the same order (``rougeL``). The score is their ``f1``, or the ``measure``
    ``precision`` or ``recall``. Words are letters and digits, whatever their case; there is no stemming. ``value`` is
    the reference, or a list of several, of which the best counts; without it, the reference answer is.
    """

    type: ClassVar[str] = "rouge"

    variant: Variant = "rougeL"
    measure: Measure = "f1"

    def __post_init__(self) -> None:
        _OverlapCheck.__post_init__(self)
        for name, allowed in (("variant", get_args(Variant)), ("measure", get_args(Measure))):
            if getattr(self, name) not in allowed:
                value = getattr(self, name)
                raise ConfigError(f"{self.where}: {name} is {value!r:.80}; it must be {' or '.join(allowed)}", key=name)

    def _lacking(self, reference: str) -> str:
        if self.variant == "rouge2" and len(_words(reference)) == 1:
            return "There is only one word in the reference, and rouge2 compares pairs."
        return _OverlapCheck._lacking(self, reference)

    def _score(self, answer: str, references: list[str]) -> tuple[float, str, dict[str, Any]]:
        overlaps = [self._overlap(_words(answer), _words(reference)) for reference in references]
        best = max(overlaps, key=lambda overlap: getattr(overlap, self.measure))
        name = f"ROUGE-{self.variant.removeprefix('rouge')}"
        score: float = getattr(best, self.measure)
        return score, f"{name} ({self.measure})", best.as_dict()

    def _overlap(self, ours: list[str], theirs: list[str]) -> Overlap:
        if self.variant == "rougeL":
            return Overlap.of(longest_common(ours, theirs), len(ours), len(theirs))
        size = int(self.variant.removeprefix("rouge"))
        left, right = _runs(ours, size), _runs(theirs, size)
        return Overlap.of((left & right).total(), left.total(), right.total())


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _runs(words: list[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(size)), strict=False))


def longest_common(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    >>> longest_common("the cat sat on the mat".split(), "the cat is on a mat".split())
    4

    One row of the usual table is kept as the bits of an integer, so that a whole row is computed at once (Hyyrö 2004).
    """
    places: defaultdict[str, int] = defaultdict(int)
    for place, word in enumerate(left):
        places[word] |= 1 << place
    everywhere = (1 << len(left)) - 1
    row = everywhere
    for word in right:
        same = row & places.get(word, 0)
        row = ((row + same) | (row - same)) & everywhere
    return len(left) - row.bit_count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bleu(_OverlapCheck):
    """Scores an answer by BLEU, at the level of the sentence, with sacrebleu (``evenhand[text]``).

    >>> from evenhand import Case
    >>> round(Bleu(value="the cat is on the mat").evaluate(Case(candidate_answer="the cat sat on the mat")).score, 4)
    0.3799

    The score is sacrebleu's over 100; its signature, which says how it was computed, is in the details. ``tokenize``
    is ``13a``, ``intl``, ``char``, ``zh`` or ``none``. ``value`` is the reference, or a list of several, which BLEU
    takes together; without it, the reference answer is.
    """

    type: ClassVar[str] = "bleu"

    tokenize: Tokenizer = "13a"
    lowercase: bool = False

    def __post_init__(self) -> None:
        _OverlapCheck.__post_init__(self)
        if self.tokenize not in get_args(Tokenizer):
            names = " or ".join(get_args(Tokenizer))
            raise ConfigError(f"{self.where}: tokenize is {self.tokenize!r:.80}; it must be {names}", key="tokenize")
        require_flag(self.lowercase, "lowercase", where=self.where)
        _metrics(self.where)

    def _score(self, answer: str, references: list[str]) -> tuple[float, str, dict[str, Any]]:
        metric = _metrics(self.where).BLEU(effective_order=True, tokenize=self.tokenize, lowercase=self.lowercase)
        return _sacrebleu_score(metric, "BLEU", answer, references)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chrf(_OverlapCheck):
    """Scores an answer by chrF, which compares runs of characters, with sacrebleu (``evenhand[text]``).

    >>> from evenhand import Case
    >>> round(Chrf(value="the cat is on the mat").evaluate(Case(candidate_answer="the cat sat on the mat")).score, 4)
    0.6458

    The score is sacrebleu's over 100; its signature is in the details. ``word_order=2`` compares pairs of words too,
    which is called chrF++. ``value`` is the reference, or a list of several, of which the best counts; without it,
    the reference answer is.
    """

    type: ClassVar[str] = "chrf"

    word_order: int = 0
    lowercase: bool = False

    def __post_init__(self) -> None:
        _OverlapCheck.__post_init__(self)
        if isinstance(self.word_order, bool) or self.word_order not in (0, 1, 2):
            raise ConfigError(
                f"{self.where}: word_order is {self.word_order!r:.80}; it must be 0, 1 or 2", key="word_order"
            )
        require_flag(self.lowercase, "lowercase", where=self.where)
        _metrics(self.where)

    def _score(self, answer: str, references: list[str]) -> tuple[float, str, dict[str, Any]]:
        metric = _metrics(self.where).CHRF(word_order=self.word_order, lowercase=self.lowercase)
        return _sacrebleu_score(metric, "chrF++" if self.word_order == 2 else "chrF", answer, references)


def _sacrebleu_score(metric: Any, name: str, answer: str, references: list[str]) -> tuple[float, str, dict[str, Any]]:
    score = min(metric.sentence_score(answer, references).score / 100, 1.0)  # 100.00000000000004 occurs
    return score, name, {"signature": str(metric.get_signature())}


def _metrics(where: str) -> Any:
    try:
        return importlib.import_module("sacrebleu.metrics")  # an extra
    except ImportError:
        raise ConfigError(f"{where}: it needs sacrebleu: {INSTALL}", key="type") from None
