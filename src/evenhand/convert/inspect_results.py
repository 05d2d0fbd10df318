"""The logs of Inspect (UK AISI): its samples as cases, its epochs as samples, its scorers as evaluators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from evenhand.convert.recorded_file import ZipLog, items_of, mapping, text_in
from evenhand.convert.recorded_results import (
    Masked,
    Names,
    Notes,
    RecordedCase,
    Recording,
    amount,
    as_text,
    case_id,
    moment_of,
    recorded_evaluation,
    settings_in,
    unit_score,
    with_metadata,
)
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation, Usage, token_sum, token_usage
from evenhand.domain.message import Message
from evenhand.domain.run import Judgment, MadeAnswer
from evenhand.domain.scale import is_finite_number
from evenhand.engine.targets.several import MODEL, TEST_CASE
from evenhand.reports.safe_text import plain as one_line

TOOL: Final = "inspect"
_TYPE: Final = "scorer"
_HEADER: Final = "header.json"
_START: Final = "_journal/start.json"
_SUMMARIES: Final = "summaries.json"
_SAMPLES: Final = "samples/"
_JOURNAL: Final = "_journal/summaries/"
_ATTACHMENT: Final = "attachment://"
# As value_to_float of Inspect has them.
_LETTERS: Final = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS: Final = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_MOST_EPOCHS: Final = 1_000
_NAME: Final = 200
_NOT_CARRIED: Final = ("messages", "events", "store", "sandbox", "files", "setup", "timelines")


class Sample(NamedTuple):
    """Where a sample is in its log, and what reads it."""

    where: str
    read: Callable[[], Mapping[str, Any]]


def is_document(document: Mapping[str, Any]) -> bool:
    """Return whether a JSON file is a log of Inspect's."""
    spec = document.get("eval")
    return isinstance(spec, Mapping) and "task" in spec


def read_log(path: Path, document: Mapping[str, Any]) -> Recording:
    """Read a log that is one JSON file."""
    samples = document.get("samples")
    if samples is not None and not isinstance(samples, list):
        raise ConfigError(f"{path.name}: samples is {samples!r:.60}; it must be a list")
    listed = [
        Sample(f"{path.name}: samples[{number}]", lambda sample=sample: sample)  # type: ignore[misc]  # bound at once
        for number, sample in enumerate(samples or ())
    ]
    return _recording(path, document, listed, Notes())


def read_archive(path: Path, log: ZipLog) -> Recording:
    """Read a log that is a zip file: its samples one by one or, where it has none, their summaries."""
    notes, names = Notes(), set(log.names)
    if _HEADER in names:
        header = mapping(log.read(_HEADER))
    elif _START in names:
        header = {**mapping(log.read(_START)), "status": "started"}
    else:
        raise ConfigError(f"{path.name}: it has no {_HEADER}, so it is no log of Inspect's")
    if not is_document(header):
        raise ConfigError(f"{log.where(_HEADER)}: eval is missing; it must name the task, the model and the scorers")
    whole = [
        name for name in log.names if name.startswith(_SAMPLES) and name.endswith(".json") and name.count("/") == 1
    ]
    # Large samples have a folder of their own, and what counts of them is in this file.
    whole += [name for name in log.names if name.startswith(_SAMPLES) and name.endswith("/sample.json")]
    if whole:
        samples = [Sample(log.where(name), lambda name=name: _sample_in(log, name, names)) for name in whole]  # type: ignore[misc]  # as above
        return _recording(path, header, samples, notes)
    summaries = [_SUMMARIES] if _SUMMARIES in names else sorted(name for name in names if name.startswith(_JOURNAL))
    listed = [
        Sample(f"{log.where(name)}[{number}]", lambda summary=summary: summary)  # type: ignore[misc]  # as above
        for name in summaries
        for number, summary in enumerate(log.read(name))
    ]
    if listed:
        notes.add(
            path.name, "the log has only summaries of its samples: no answers, and texts cut off after 1,000 letters"
        )
    return _recording(path, header, listed, notes)


def _sample_in(log: ZipLog, name: str, names: set[str]) -> Mapping[str, Any]:
    sample = mapping(log.read(name))
    beside = name.removesuffix("sample.json") + "metadata.json"
    if name.endswith("/sample.json") and beside in names:
        return {**sample, "metadata": log.read(beside)}
    return sample


def _recording(path: Path, header: Mapping[str, Any], samples: Sequence[Sample], notes: Notes) -> Recording:
    if not samples:
        raise ConfigError(
            f"{path.name}: the log has no samples, only totals; log them (log_samples), or write the whole log with: "
            "inspect log convert --to json"
        )
    spec, stats = mapping(header["eval"]), mapping(header.get("stats"))
    reading = _Samples(spec, samples, notes, legacy=_scorer_of(header))
    _note_header(path, header, notes, epochs=len(reading.epochs))
    definition: dict[str, Any] = {
        "target": reading.model,
        "evaluators": [{"name": name, "type": _TYPE, **reading.settings_of(name)} for name in reading.scorers],
    }
    if grader := mapping(mapping(spec.get("model_roles")).get("grader")).get("model"):
        definition["judge"] = str(grader)
    return Recording(
        tool=TOOL,
        version=text_in(mapping(spec.get("packages")), "inspect_ai"),
        name=text_in(spec, "task_display_name", "task") or path.stem,
        created=moment_of(spec.get("created")) or moment_of(stats.get("started_at")),
        finished=moment_of(stats.get("completed_at")),
        definition=definition,
        count=len(reading.index),
        repeat=len(reading.epochs),
        cases=reading.cases,
        notes=notes,
    )


def _scorer_of(header: Mapping[str, Any]) -> str:
    """Return the name of the scorer of logs that have one score a sample, without its name."""
    scores = items_of(mapping(header.get("results")).get("scores"))
    name = mapping(scores[0]).get("name") if scores else None
    return name if isinstance(name, str) and name else "score"


def _note_header(path: Path, header: Mapping[str, Any], notes: Notes, *, epochs: int) -> None:
    status = header.get("status")
    if status != "success":
        why = text_in(mapping(header.get("error")), "message")
        notes.add(
            path.name,
            f"the status of the log is {status!r:.40}{f': {why:.200}' if why else ''}; samples may be missing",
        )
    reducers = items_of(mapping(mapping(header["eval"]).get("config")).get("epochs_reducer"))
    if epochs > 1 and reducers not in ([], ["mean"]):
        named = ", ".join(map(str, reducers))
        notes.add(path.name, f"Inspect reduced the epochs by {named:.80}; Evenhand takes the mean of a case's samples")
    notes.add(path.name, "Inspect records no verdicts: a case passes from 0.8 and is borderline from 0.6, as usual")


class _Samples:
    """The samples of a log: looked through once for ids, epochs and scorers, then made into cases."""

    def __init__(self, spec: Mapping[str, Any], samples: Sequence[Sample], notes: Notes, *, legacy: str) -> None:
        self._notes = notes
        self._masked = Masked()
        self._legacy = legacy
        self._model = text_in(spec, "model") or "unknown model"
        self.model = one_line(self._model, _NAME)
        self._options = {
            name: each
            for each in items_of(spec.get("scorers"))
            if isinstance(each, Mapping) and isinstance(name := each.get("name"), str)
        }
        # By id, then by epoch.
        self.index: dict[tuple[str, str], dict[int, Sample]] = {}
        scorers: dict[str, None] = {}
        for sample in samples:
            self._look_at(sample, scorers)
        if all(kind == "int" for kind, _ in self.index):  # zip files have them in the order in which they ended
            self.index = dict(sorted(self.index.items(), key=lambda item: int(item[0][1])))
        self.scorers = tuple(scorers or self._options) or (legacy,)
        self.epochs = sorted({epoch for by_epoch in self.index.values() for epoch in by_epoch})
        if len(self.epochs) > _MOST_EPOCHS:
            raise ConfigError(
                f"{samples[0].where}: the log has {len(self.epochs):,} epochs; up to {_MOST_EPOCHS:,} are read"
            )

    def settings_of(self, name: str) -> dict[str, Any]:
        """Return the options of a scorer, as far as they are recorded."""
        scorer = self._options.get(name) or self._options.get(name.partition("/")[0], {})
        options = scorer.get("options")
        return {"recorded": settings_in(options)} if isinstance(options, Mapping) and options else {}

    def _look_at(self, sample: Sample, scorers: dict[str, None]) -> None:
        fields = sample.read()
        if not isinstance(fields, Mapping):
            raise ConfigError(f"{sample.where} is {fields!r:.60}; it must be an object")
        identity, epoch = fields.get("id"), fields.get("epoch", 1)
        if isinstance(identity, bool) or not isinstance(identity, str | int):
            raise ConfigError(f"{sample.where}: id is {identity!r:.60}; it must be text or a whole number")
        if type(epoch) is not int or epoch < 1:
            raise ConfigError(f"{sample.where}: epoch is {epoch!r:.60}; it must be a whole number, 1 or more")
        by_epoch = self.index.setdefault((type(identity).__name__, str(identity)), {})
        if epoch in by_epoch:
            raise ConfigError(f"{sample.where}: two samples have the id {identity!r:.60} and the epoch {epoch}")
        by_epoch[epoch] = sample
        for name, value, _ in self._scores(fields, sample.where):
            scorers[name] = None
            if isinstance(why_not := _score_of(value), str):
                self._notes.add(f"{sample.where}: {name}", f"{why_not}, so it is not evaluated")
        if left := [key for key in _NOT_CARRIED if fields.get(key)]:
            self._notes.add(sample.where, f"not carried over, unlike the input and the last answer: {', '.join(left)}")
        if others := sorted(mapping(fields.get("model_usage")).keys() - {self._model}):
            self._notes.add(
                sample.where, f"the tokens of {', '.join(others)} are not carried over: whose they are is not recorded"
            )

    def _scores(self, fields: Mapping[str, Any], where: str) -> list[tuple[str, Any, Mapping[str, Any]]]:
        """Return the scores of a sample: name, value, and the whole record; one with several values has a name each."""
        scores = fields.get("scores", {self._legacy: fields["score"]} if fields.get("score") else None)
        if scores is not None and not isinstance(scores, Mapping):
            raise ConfigError(f"{where}: scores is {scores!r:.60}; it must be an object, with a score for each scorer")
        listed: list[tuple[str, Any, Mapping[str, Any]]] = []
        for key, score in (scores or {}).items():
            name = one_line(key, _NAME)
            if not isinstance(score, Mapping):
                raise ConfigError(f"{where}: scores.{name:.60} is {score!r:.60}; it must be an object with a value")
            value = score.get("value")
            if isinstance(value, Mapping):
                listed += [(f"{name}/{one_line(part, _NAME)}", item, score) for part, item in value.items()]
            else:
                listed.append((name, value, score))
        return listed

    def cases(self) -> Iterator[RecordedCase]:
        """Make the cases, in the order in which their ids come."""
        names = Names()
        for number, ((_, identity), by_epoch) in enumerate(self.index.items(), 1):
            samples = [(by_epoch.get(epoch), epoch) for epoch in self.epochs]
            read = [(None if sample is None else sample.read(), epoch) for sample, epoch in samples]
            first = next(fields for fields, _ in read if fields is not None)
            where = next(iter(by_epoch.values())).where
            case = self._case(names.distinct(case_id(identity, f"sample-{number}")), first)
            answers: list[MadeAnswer] = []
            judgments: list[tuple[int, Judgment]] = []
            for place, (fields, epoch) in enumerate(read):
                if fields is not None:
                    answers.append(self._answer(fields, place))
                judgments += self._judgments(fields, place, epoch, where)
            yield RecordedCase(
                where=where,
                case=case,
                answers=tuple(answers),
                judgments=tuple(judgments),
                expected=len(self.scorers),
            )

    def _case(self, identity: str, fields: Mapping[str, Any]) -> Case:
        target = fields.get("target")
        targets = [text for item in (target if isinstance(target, list) else [target]) if (text := as_text(item))]
        own: dict[str, Any] = {MODEL: self.model, TEST_CASE: identity}
        own |= {key: fields[key] for key in ("choices", "limit") if fields.get(key)}
        if len(targets) > 1:
            own["targets"] = targets
        case = Case(id=identity, reference_answer="\n".join(targets) or None, **self._question(fields))
        return with_metadata(case, own, (fields.get("metadata"),))

    def _question(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        asked, attached = fields.get("input"), mapping(fields.get("attachments"))
        if not isinstance(asked, list):
            return {"question": _resolved(as_text(asked), attached)}
        messages = [
            Message(str(message.get("role") or "user"), _content(message.get("content"), attached) or "")
            for message in asked
            if isinstance(message, Mapping)
        ]
        return {"input_messages": tuple(messages)}

    def _answer(self, fields: Mapping[str, Any], sample: int) -> MadeAnswer:
        output, attached = mapping(fields.get("output")), mapping(fields.get("attachments"))
        choices = items_of(output.get("choices"))
        message = mapping(mapping(choices[0]).get("message")) if choices else {}
        text = text_in(output, "completion") or _content(message.get("content"), attached)
        used = mapping(mapping(fields.get("model_usage")).get(self._model))
        error = _error_in(fields)
        said = self._masked.reply(_resolved(text, attached))
        return MadeAnswer(
            text=said,
            error=None if error is None or said is not None else self._masked.failure(error, has_answer=False),
            latency=amount(fields.get("working_time")) or amount(fields.get("total_time")),
            usage=_usage_of(used),
            cost=amount(used.get("total_cost")),
            sample=sample,
        )

    def _judgments(
        self, fields: Mapping[str, Any] | None, sample: int, epoch: int, where: str
    ) -> Iterator[tuple[int, Judgment]]:
        scores = {} if fields is None else {name: (value, score) for name, value, score in self._scores(fields, where)}
        for place, name in enumerate(self.scorers):
            evaluation = self._evaluation(name, scores.get(name), fields, epoch)
            # What scoring cost is not recorded.
            yield place, Judgment(evaluation, sample=sample, cost=None if name in scores else 0.0)

    def _evaluation(
        self, name: str, recorded: tuple[Any, Mapping[str, Any]] | None, fields: Mapping[str, Any] | None, epoch: int
    ) -> Evaluation:
        if fields is None:
            return _not_evaluated(name, f"the log has no sample of epoch {epoch}")
        if fields.get("invalidation"):
            why = text_in(mapping(fields["invalidation"]), "reason")
            return _not_evaluated(name, "the sample was declared invalid" + (f": {why}" if why else ""))
        if recorded is None:
            error = _error_in(fields)
            if error is None:
                return _not_evaluated(name, "no score of this scorer is recorded")
            has_answer = bool(items_of(mapping(fields.get("output")).get("choices")))
            return Evaluation.with_error(
                evaluator=name, type=_TYPE, error=self._masked.failure(error, has_answer=has_answer)
            )
        value, score = recorded
        details = {key: score[key] for key in ("answer", "metadata", "history") if score.get(key)}
        reasoning = self._masked.reply(score.get("explanation")) or ""
        return recorded_evaluation(name, _TYPE, _score_of(value), raw=value, reasoning=reasoning, details=details)


def _not_evaluated(name: str, reason: str, **rest: Any) -> Evaluation:
    return Evaluation.without_score(evaluator=name, type=_TYPE, reasoning=reason, **rest)


def _score_of(value: object) -> float | str:
    """Return a value as Inspect counts it, or why it is no score; where Inspect would take 0 for it, it is none."""
    if isinstance(value, str):
        if value in _LETTERS:
            return _LETTERS[value]
        if (word := value.lower()) in _WORDS:
            return _WORDS[word]
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not is_finite_number(number):
            return f"the recorded value, {value!r:.60}, is neither C, P, I, N, yes, no nor a number"
        return unit_score(number)
    if isinstance(value, list):
        return "the recorded value is a list, which is no score"
    return unit_score(value)


def _error_in(fields: Mapping[str, Any]) -> object:
    error = fields.get("error")
    return mapping(error).get("message", error) if error else None


def _usage_of(used: Mapping[str, Any]) -> Usage | None:
    """Return token counts; what came from the provider's cache is not in Inspect's input_tokens."""
    cached, kept = used.get("input_tokens_cache_read"), used.get("input_tokens_cache_write")
    given = token_sum(used.get("input_tokens"), cached, kept)
    return token_usage(given, used.get("output_tokens"), cached or 0, kept)


def _resolved(text: str | None, attached: Mapping[str, Any]) -> str | None:
    """Return a text that the log has put aside in place of the reference to it."""
    if text is None or not text.startswith(_ATTACHMENT):
        return text
    return as_text(attached.get(text.removeprefix(_ATTACHMENT), text))


def _content(content: object, attached: Mapping[str, Any]) -> str | None:
    """Return the text of a message; of pictures and the like, what kind they are."""
    if not isinstance(content, list):
        return _resolved(as_text(content), attached)
    parts = []
    for part in content:
        fields = mapping(part)
        if fields.get("type") == "text":
            parts.append(_resolved(as_text(fields.get("text")), attached) or "")
        elif fields.get("type") != "reasoning":
            parts.append(f"[{fields.get('type', 'something')!s:.40}]")
    return "\n".join(parts)
