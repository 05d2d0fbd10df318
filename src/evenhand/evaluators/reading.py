"""Read a judge's reply: find the verdict in whatever stands around it, and decide between several (SPEC-R2).

Judges write drafts, and quote. ``first`` and ``last`` take a verdict all the same, flag the evaluation, and put on
record what the other one would have decided; ``ask_again`` makes such a reply one that cannot be used.

The rule (SPEC-R2): a leading block of reasoning is set aside. Of the rest, all of it, if it satisfies the contract;
else the objects in it, from left to right, that are strict JSON, satisfy the contract, and do not merely repeat an
object of the prompt. Where these differ, ``ambiguous`` says which one counts, or that the judge is asked
again. Nothing is closed, cleaned or guessed, and no score is taken from prose.

The work is linear in the length of the reply and of the prompt (SPEC-R3): ``Finder.work`` counts it. Every object is
decoded once, by itself; the scanner and the echoes say themselves why they are linear.
"""

from __future__ import annotations

import collections
import json
import math
from collections.abc import Iterable
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias, get_args

from evenhand.domain.contract import Accepted, Contract
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.evaluation import MAX_RAW
from evenhand.evaluators.echoes import Echoes
from evenhand.evaluators.reasoning_block import REASONING_REMOVED, Parts, without_reasoning
from evenhand.evaluators.scanner import MAX_DEPTH, VALUE_START, Scanner

Ambiguous: TypeAlias = Literal["first", "last", "ask_again"]
ASK_AGAIN: Final = "ask_again"
WAYS: Final[tuple[Ambiguous, ...]] = get_args(Ambiguous)
AMBIGUOUS: Final = "ambiguous"


def _identity_of(ambiguous: str) -> dict[str, Any]:
    return {} if ambiguous == "ask_again" else {AMBIGUOUS: ambiguous}


# For evaluators that usually ask again: these keep the identity that they had before there was such an option.
KNOWN_IF_UNUSUAL: Final = {"identity": _identity_of}


def check_ambiguous(ambiguous: object, *, where: str) -> None:
    """Refuse what does not say which of several verdicts counts."""
    if ambiguous not in WAYS:
        raise ConfigError(
            f"{where}: ambiguous is {ambiguous!r:.80}; it must be first, last or ask_again", key="ambiguous"
        )


MAX_REPLY: Final = MAX_RAW

WITHIN_TEXT: Final = "within_text"
ECHO_SKIPPED: Final = "echo_skipped"

_SPACE = " \t\n\r"
_FENCES: Final = ("```", "~~~")


def parse_strict(text: str) -> object:
    """Read a text that is JSON and nothing else: no duplicate keys, no NaN, no infinities, nothing too deep.

    >>> parse_strict('{"score": 0.5}')
    {'score': 0.5}
    """
    trimmed = text.rstrip(_SPACE)
    begin = len(trimmed) - len(trimmed.lstrip(_SPACE))
    if begin == len(trimmed):
        raise ContractError("there is no text", kind="empty")
    if trimmed[begin] in "{[" and not _is_shallow(trimmed):
        scanner = Scanner(trimmed, outermost=True)
        if scanner.end_of(begin) is None:
            raise _not_json(trimmed, scanner.stopped_at, "not JSON, or nested too deep,")
    return _decode(trimmed, begin)


def first_value(text: str) -> object:
    """Read the first JSON object or array in a text, whatever stands around it.

    >>> first_value('Here you are: [1, 2]. Good luck!')
    [1, 2]
    """
    for begin, end in Scanner(text).spans(VALUE_START):
        try:
            return _decode(text[begin:end])
        except ContractError:
            continue
    raise ContractError("there is no JSON object or array in the text", kind="unparsable")


class Reading(NamedTuple):
    """What was read: the accepted values, flags for how, and where in the reply they were.

    ``other`` is a verdict that was in the reply too and decides otherwise: the last one where the first counts, and
    the first where the last does.
    """

    accepted: Accepted
    flags: tuple[str, ...]
    span: tuple[int, int]
    other: Accepted | None = None


def read_reply(
    text: str, contract: Contract, *, material: Iterable[str] = (), ambiguous: Ambiguous = "first"
) -> Reading:
    """Find the verdict in a reply, or raise ``ContractError`` with the class of what was wrong.

    ``material`` is all text that was put into the prompt. Of several different verdicts in one reply, ``ambiguous``
    takes the first or the last, and flags that; or it makes them a failure.
    """
    if len(text) > MAX_REPLY:
        raise ContractError(f"the reply has {len(text)} characters; at most {MAX_REPLY} are read", kind="too_long")
    if not text or text.isspace():
        raise ContractError("the reply is empty", kind="empty")
    whole: ContractError | None = None
    if text[0] == "{":  # as nearly every reply begins
        try:
            accepted = contract.accept(parse_strict(text))
        except ContractError as error:
            whole = error
        else:
            return Reading(accepted, accepted.flags, (0, len(text)))
    return Finder(text, contract, material=material, ambiguous=ambiguous).reading(whole)


class Finder:
    """Finds the verdict in a reply that may have more in it; ``work`` counts the characters looked at."""

    def __init__(
        self, text: str, contract: Contract, *, material: Iterable[str] = (), ambiguous: Ambiguous = "first"
    ) -> None:
        self._text = text
        self._contract = contract
        self._material = tuple(material)
        self._ambiguous = ambiguous
        self._echoes = Echoes(self._material)
        self._echoed: dict[tuple[int, int], bool] = {}
        self._read = 0

    @property
    def work(self) -> int:
        """How many characters of the reply and of the prompt were looked at, each counted as often as it was."""
        return self._read + self._echoes.work

    def reading(self, whole: ContractError | None = None) -> Reading:
        """Read the reply; ``whole`` is what was wrong with all of it, where that is known already."""
        end = len(self._text)
        if whole is None:
            try:
                return self._read_whole(0, end)
            except ContractError as error:
                whole = error
        parts = without_reasoning(self._text, self._material)
        if parts is None:
            return self._read_embedded(0, end, self._ambiguous, whole)
        self._read += 3 * end  # for the tags, and for the objects in which they do not count
        reading = self._read_after_reasoning(parts)
        return reading._replace(flags=(REASONING_REMOVED, *reading.flags))

    def _read_after_reasoning(self, parts: Parts) -> Reading:
        """Read what is behind the reasoning; where that may end in several places, they must not matter."""
        begin, end = parts.starts[-1], parts.end
        try:
            reading = self._read_whole(begin, end)
        except ContractError as error:
            if parts.alone or len(parts.starts) > 1:
                raise _undecided() from None
            return self._read_embedded(begin, end, self._ambiguous, error)
        if len(parts.starts) > 1:
            try:
                other = self._read_embedded(parts.starts[0], end, "ask_again", None)
            except ContractError:
                raise _undecided() from None
            if self._contract.decision(other.accepted) != self._contract.decision(reading.accepted):
                raise _undecided()
        return reading

    def _read_whole(self, begin: int, end: int) -> Reading:
        """Read a reply that is one object, bare or in one fence, and nothing else: nobody is quoted there."""
        self._read += 2 * (end - begin)
        fenced = _fenced(self._text, begin, end)
        if fenced is None:
            accepted = self._contract.accept(parse_strict(self._text[begin:end]))
            return Reading(accepted, accepted.flags, (begin, end))
        accepted = self._contract.accept(parse_strict(self._text[slice(*fenced)]))
        return Reading(accepted, (WITHIN_TEXT, *accepted.flags), fenced)

    def _read_embedded(self, begin: int, end: int, ambiguous: Ambiguous, whole: ContractError | None) -> Reading:
        """Read a reply that has other text around its verdict, or several verdicts."""
        verdicts, complaint = self._verdicts(begin, end)
        first = next((verdict for verdict in verdicts if not self._is_echo(verdict)), None)
        if first is None:
            raise _why_nothing(self._text, whole, complaint, skipped=bool(verdicts))
        last = next(verdict for verdict in reversed(verdicts) if not self._is_echo(verdict))
        flags: list[str] = []
        decision = self._contract.decision
        decided = decision(first.accepted)
        differ = any(
            decision(verdict.accepted) != decided and not self._is_echo(verdict) for verdict in reversed(verdicts)
        )
        if any(self._echoed.get(verdict.span) for verdict in verdicts):
            flags.append(ECHO_SKIPPED)
        if differ:
            if ambiguous == "ask_again":
                raise ContractError("the reply has verdicts that differ; give one", kind="ambiguous")
            flags.append(AMBIGUOUS)
        chosen, other = (last, first) if ambiguous == "last" else (first, last)
        return Reading(
            chosen.accepted, (WITHIN_TEXT, *chosen.flags, *flags), chosen.span, other.accepted if differ else None
        )

    def _verdicts(self, begin: int, end: int) -> tuple[list[Reading], ContractError | None]:
        """List the objects that keep the contract, echoes too, and say what is wrong with the first that does not."""
        text = self._text[begin:end]
        scanner = Scanner(text)
        verdicts: list[Reading] = []
        complaint: ContractError | None = None
        for start, stop in scanner.spans():
            try:
                accepted = self._contract.accept(_decode(text[start:stop]))
            except ContractError as error:
                complaint = complaint or error
            else:
                verdicts.append(Reading(accepted, accepted.flags, (begin + start, begin + stop)))
        self._read += scanner.work + 2 * len(text)
        return verdicts, complaint

    def _is_echo(self, verdict: Reading) -> bool:
        is_echo = self._echoed.get(verdict.span)
        if is_echo is None:
            is_echo = self._echoed[verdict.span] = self._text[slice(*verdict.span)] in self._echoes
        return is_echo


def _fenced(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """Return where the content of a fence is that has all of a text in it; None if there is no such fence."""
    begin = end - len(text[begin:end].lstrip())
    fence = text[begin : begin + len(_FENCES[0])]
    if fence not in _FENCES:
        return None
    closing = begin + len(text[begin:end].rstrip()) - len(fence)
    line = text.find("\n", begin, closing)
    language = text[begin + len(fence) : line].strip()
    if line < 0 or not text.startswith(fence, closing) or (language and not language.isalnum()):
        return None
    return None if text.find(fence, line, closing) >= 0 else (line + 1, closing)


def _undecided() -> ContractError:
    why = "it is unclear where the reasoning ends; reply with the JSON object and nothing else"
    return ContractError(why, kind="reasoning")


def _why_nothing(
    text: str, whole: ContractError | None, complaint: ContractError | None, *, skipped: bool
) -> ContractError:
    """Choose the failure that says most: of an object that nearly was the verdict, else of the reply as a whole."""
    if skipped:
        return ContractError("the reply only repeats a JSON object from the prompt", kind="echo")
    if complaint is not None:
        return complaint
    if whole is not None and (whole.kind == "contract" or text.lstrip().startswith("{")):
        return whole
    return ContractError("the reply has no complete JSON object", kind="unparsable")


def _is_shallow(text: str) -> bool:
    return text.count("{") + text.count("[") <= MAX_DEPTH


def _decode(text: str, begin: int = 0) -> object:
    """Decode a text that has JSON, from ``begin`` to its very end, or nothing of use."""
    try:
        value, end = _DECODER.raw_decode(text, begin)
    except json.JSONDecodeError as error:
        raise _not_json(text, error.pos, "not JSON", error.msg) from None
    except ValueError as error:  # an integer of thousands of digits
        raise ContractError(f"not JSON: {error}", kind="unparsable") from None
    if end < len(text):
        raise _not_json(text, end, "not JSON", "Extra data")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = collections.Counter(key for key, _ in pairs)
        problem = "duplicate key in an object"
        raise ContractError(f"{problem}: {keys.most_common(1)[0][0]!r:.60}", kind="unparsable", told=problem)
    return made


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ContractError(f"{digits:.40} is too large a number", kind="unparsable")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ContractError(f"{name} is not JSON", kind="unparsable")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_duplicates, parse_float=_finite, parse_constant=_no_constant, strict=True
)


def _not_json(text: str, position: int, what: str, why: str = "") -> ContractError:
    line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
    where = f"at line {line} column {column}" if "\n" in text.rstrip() else f"at column {column}"
    return ContractError(f"{what} {where}{': ' if why else ''}{why}", kind="unparsable", place=(line, column))
