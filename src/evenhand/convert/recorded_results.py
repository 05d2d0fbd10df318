"""The recorded results of another tool, and how they become a finished run: nothing is asked, nothing is spent."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evenhand.convert.recorded_file import digest_of_file
from evenhand.domain.case import Case
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.failure import Failure
from evenhand.domain.json_codec import answer_to
from evenhand.domain.message import messages_from
from evenhand.domain.run import IMPORTED_FROM, Judgment, MadeAnswer, PlannedCase, RunStatus
from evenhand.domain.scale import is_finite_number
from evenhand.domain.scrubber import HIDDEN
from evenhand.domain.secret import SECRET_NAMES, scrubber_of
from evenhand.domain.verdict import Thresholds, Verdict
from evenhand.drive.held_keys import keys_of
from evenhand.engine.identity import digest_of
from evenhand.reports.safe_text import plain as one_line
from evenhand.store.rows import case_content, dumps
from evenhand.store.transfer import KIND, MAX_LINE_BYTES, SCHEMA_VERSION, import_lines
from evenhand.suites.cases import id_problem
from evenhand.version import __version__

if TYPE_CHECKING:
    from evenhand.store.store import Store

# The option of a run that has the hash of the file it came from.
_DIGEST: Final = "results_sha256"
_MOST_NOTES: Final = 50
_YEAR_10000: Final = 253_402_300_800


class Notes:
    """What could not be imported unchanged: each said once, with its first place and how often it occurs."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._places: dict[str, str] = {}
        self._more = 0

    def add(self, where: str, text: str) -> None:
        """Note something about a place."""
        if text not in self._counts and len(self._counts) >= _MOST_NOTES:
            self._more += 1
            return
        self._places.setdefault(text, where)
        self._counts[text] = self._counts.get(text, 0) + 1

    @property
    def lines(self) -> tuple[str, ...]:
        """The notes, in the order in which they came up."""
        lines = [
            one_line(f"{self._places[text]}: {text}" + (f" ({count:,} times)" if count > 1 else ""), None)
            for text, count in self._counts.items()
        ]
        return (*lines, f"and {self._more:,} more") if self._more else tuple(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCase:
    """A case with its recorded answers and evaluations; ``evaluators`` are its own, None where the run's judged it.

    Each judgment has the place of its evaluator in the list of them.
    """

    where: str
    case: Case
    answers: tuple[MadeAnswer, ...]
    judgments: tuple[tuple[int, Judgment], ...]
    expected: int
    evaluators: tuple[Mapping[str, Any], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The results in a file. ``cases`` gives them anew each time it is called; memory stays flat."""

    tool: str
    version: str | None
    name: str
    created: float | None
    finished: float | None
    definition: Mapping[str, Any]
    count: int
    repeat: int
    cases: Callable[[], Iterator[RecordedCase]]
    notes: Notes = field(default_factory=Notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedResults:
    """The run, its counts, and what could not be imported unchanged; ``is_new`` is false if it was there before."""

    id: str
    origin: str
    cases: int
    evaluations: int
    notes: tuple[str, ...]
    is_new: bool = True


def store_recording(
    store: Store, path: Path, recording: Recording, *, again: bool = False, dry_run: bool = False
) -> ImportedResults:
    """Store a recording as a finished run: all of it or, if something in it is wrong, nothing."""
    digest = digest_of_file(path)

    def take_in() -> ImportedResults:
        before = [run for run in store.runs.with_option(_DIGEST) if run.options[_DIGEST] == digest]
        if before and not again:
            run = before[0]
            return ImportedResults(
                id=run.id, origin=run.origin, cases=run.cases, evaluations=run.evaluations or 0, notes=(), is_new=False
            )
        header = _header(recording, path, digest)
        imported = import_lines(store, lambda: _lines(recording, header), name=path.name, dry_run=dry_run)
        tool = f"{recording.tool} {recording.version}" if recording.version else recording.tool
        return ImportedResults(
            id=imported.id,
            origin=f"{tool}, {path.name}",
            cases=imported.cases,
            evaluations=imported.evaluations,
            notes=recording.notes.lines,
        )

    # A dry run undoes a transaction of its own.
    return take_in() if dry_run else store.atomically(take_in, exclusive=True)


def _header(recording: Recording, path: Path, digest: str) -> dict[str, Any]:
    created = time.time() if recording.created is None else recording.created
    origin: dict[str, Any] = {"tool": recording.tool, "version": recording.version, "file": storable(path.name)}
    if recording.created is not None:
        origin["date"] = datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if notes := recording.notes.lines:
        origin["notes"] = list(notes)
    return {
        "id": f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(created))}-{digest[:4]}",
        "name": storable(one_line(recording.name, 200)).replace("\0", "") or path.stem,
        "status": RunStatus.FINISHED.value,
        "reason": "",
        "definition": {**recording.definition, IMPORTED_FROM: origin},
        "options": {"only": [], "limit": None, "answers_from": None, _DIGEST: digest},
        "cases": recording.count,
        "repeat": recording.repeat,
        "forked_from": None,
        "version": __version__,
        "created": created,
        "finished": max(created, recording.finished or created),
    }


def _lines(recording: Recording, header: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the lines of an exported run, by which it is stored as any other run that comes from elsewhere."""
    yield _encoded({"kind": KIND, "schema_version": SCHEMA_VERSION, "run": header})
    for position, recorded in enumerate(recording.cases()):
        yield _line_of(recorded, position)


def _line_of(recorded: RecordedCase, position: int) -> bytes:
    planned = PlannedCase(position=position, case=recorded.case, evaluators=recorded.evaluators)
    try:
        content = case_content(planned)
        digest = digest_of(content)
        line = _encoded(
            {
                **content,
                "position": position,
                "hash": digest,
                "expected": recorded.expected,
                "answers": [answer_to(answer) for answer in recorded.answers],
                "evaluations": [_fields(place, judgment, digest) for place, judgment in recorded.judgments],
            }
        )
    except RecursionError:
        raise ConfigError(f"{recorded.where}: this is nested too deeply") from None
    if len(line) > MAX_LINE_BYTES:
        raise ConfigError(f"{recorded.where}: the case has more than {MAX_LINE_BYTES // 1_000_000} MB")
    return line


def _encoded(value: Mapping[str, Any]) -> bytes:
    return dumps(value).strip().encode() + b"\n"


def _fields(place: int, judgment: Judgment, digest: str) -> dict[str, Any]:
    evaluation = judgment.evaluation
    return {
        **evaluation.as_dict(),
        "place": place,
        "sample": judgment.sample,
        "round": 0,
        "key": digest_of([digest, evaluation.evaluator, place, judgment.sample]),
        "weight": judgment.weight,
        "required": judgment.required,
        "cost": judgment.cost,
        "seconds": judgment.seconds,
    }


# What the readers of all tools share


class Names:
    """Names that differ: one that is there already is numbered."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def distinct(self, name: str) -> str:
        """Return a name that was not returned before."""
        number = self._taken.get(name, 0) + 1
        distinct = name if number == 1 else f"{name} {number}"
        while distinct in self._taken:
            number += 1
            distinct = f"{name} {number}"
        self._taken[name] = number
        self._taken.setdefault(distinct, 1)
        return distinct


def case_id(text: object, otherwise: str) -> str:
    """Return a text as the id of a case where it can be one."""
    if not isinstance(text, str) or storable(text) != text or id_problem(text) is not None:
        return otherwise
    return text


class Masked:
    """Texts without the keys that the environment has, as in all that is stored of what a provider said."""

    def __init__(self) -> None:
        keys = keys_of(None)
        self._errors, self._replies = scrubber_of(keys), scrubber_of(keys, in_replies=True)

    def error(self, text: object) -> str:
        """Return the text of an error; anything else as JSON."""
        return self._errors.scrub(as_text(text) or "no reason is recorded")

    def reply(self, text: object) -> str | None:
        """Return what a model said; anything else as JSON, and None for nothing."""
        said = as_text(text)
        return None if said is None else self._replies.scrub(said)

    def failure(self, error: object, *, has_answer: bool = True) -> Failure:
        """Return a recorded error; where there is no answer, it is that of the target."""
        text = self.error(error)
        return Failure("recorded_error", text) if has_answer else Failure("no_answer", f"the target failed: {text}")


def as_text(value: object) -> str | None:
    """Return a recorded value as text: as it is, or as JSON."""
    return None if value is None else storable(value) if isinstance(value, str) else dumps(value).strip()


def settings_in(value: Any) -> Any:
    """Return recorded settings without the keys of providers that may be among them."""
    if isinstance(value, Mapping):
        return {
            str(name): HIDDEN if isinstance(item, str) and SECRET_NAMES.search(str(name)) else settings_in(item)
            for name, item in value.items()
        }
    return [settings_in(item) for item in value] if isinstance(value, list) else value


def prompt_fields(raw: object) -> dict[str, Any]:
    """Return a recorded prompt as a case has it: messages, where it is JSON that has them, else text."""
    text = as_text(raw)
    if text is None or not text.lstrip().startswith("["):
        return {"question": text}
    try:
        return {"input_messages": messages_from(json.loads(text))}
    except (ValueError, RecursionError, ConfigError):
        return {"question": text}


def unit_score(value: object) -> float | str:
    """Return a recorded score from 0 to 1, or why it is none: what is missing or on another scale is never 0."""
    if isinstance(value, bool):
        return float(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "no score is recorded"
    if not is_finite_number(value):
        return f"the recorded score, {value!r:.60}, is no number"
    if not 0 <= value <= 1:
        return f"the recorded score, {value:g}, is not from 0 to 1, and the file states no scale"
    return float(value)


def recorded_evaluation(
    name: str,
    kind: str,
    score: float | str,
    *,
    raw: object,
    verdict: Verdict | None = None,
    reasoning: str = "",
    details: Mapping[str, Any],
) -> Evaluation:
    """Make the evaluation of a recorded score, or of the reason why there is none.

    Without a recorded verdict, the usual thresholds give one. ``raw`` is what was recorded; JSON has no NaN.
    """
    raw = str(raw) if isinstance(raw, float) and not math.isfinite(raw) else raw
    if isinstance(score, str):
        details = {**details, "reasoning": reasoning} if reasoning else details
        return Evaluation.without_score(evaluator=name, type=kind, reasoning=score, score_raw=raw, details=details)
    verdict = verdict or Thresholds().verdict(score)
    return Evaluation.with_score(
        evaluator=name, type=kind, score=score, score_raw=raw, verdict=verdict, reasoning=reasoning, details=details
    )


def amount(value: object, scale: float = 1.0) -> float | None:
    """Return a recorded number of seconds or dollars; None where it is none."""
    if isinstance(value, bool) or not is_finite_number(value):
        return None
    number = float(value) * scale
    return number if 0 <= number < 1e15 else None


def moment_of(text: object) -> float | None:
    """Return a recorded date in seconds since 1970; None where it is none."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds < _YEAR_10000 else None


def with_metadata(case: Case, own: Mapping[str, Any], recorded: Sequence[object]) -> Case:
    """Return a case with its recorded metadata and ours; a recorded key that we use is kept under another name."""
    metadata: dict[str, Any] = {}
    for part in recorded:
        if isinstance(part, Mapping):
            metadata |= {f"recorded_{key}" if key in own else str(key): value for key, value in part.items()}
    return replace(case, metadata={**metadata, **own})
