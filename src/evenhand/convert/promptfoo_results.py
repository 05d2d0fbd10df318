"""What `promptfoo eval -o results.json` wrote: its rows as cases, its asserts as evaluators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from evenhand.convert.recorded_file import Row, items_of, mapping, read_lines, row_at, text_in
from evenhand.convert.recorded_results import (
    Masked,
    Names,
    Notes,
    RecordedCase,
    Recording,
    amount,
    case_id,
    moment_of,
    prompt_fields,
    recorded_evaluation,
    settings_in,
    unit_score,
    with_metadata,
)
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation, Usage, token_usage
from evenhand.domain.run import Judgment, MadeAnswer
from evenhand.domain.verdict import Verdict
from evenhand.engine.identity import digest_of
from evenhand.engine.targets.several import MODEL, TEST_CASE
from evenhand.reports.safe_text import plain as one_line

TOOL: Final = "promptfoo"
# The evaluator that has the score and the verdict of a whole row, as promptfoo decided on them.
WHOLE: Final = "whole test"
_WHOLE_TYPE: Final = "promptfoo"
_ERROR: Final = 2
_NOTHING: Final = "the test asserts nothing, which promptfoo counts as passed"
_TAKEN: Final = frozenset(
    {
        "id", "description", "promptIdx", "testIdx", "testCase", "promptId", "provider", "prompt", "vars", "response",
        "error", "failureReason", "success", "score", "latencyMs", "gradingResult", "namedScores", "cost", "metadata",
        "tokenUsage", "evaluationId", "traceId",
    }
)  # fmt: skip
_LABEL, _NAME = 60, 200


def is_document(document: Mapping[str, Any]) -> bool:
    """Return whether a JSON file is one of promptfoo's results."""
    results = document.get("results")
    if isinstance(results, Mapping):
        return isinstance(results.get("results"), list) or isinstance(results.get("table"), Mapping)
    return isinstance(results, list)


def is_line(line: Mapping[str, Any]) -> bool:
    """Return whether a line of a file is a row of promptfoo's."""
    return "success" in line and ("prompt" in line or "response" in line or "gradingResult" in line)


def read_rows(path: Path) -> Recording:
    """Read results.jsonl, line by line."""
    return _recording(path, {}, {}, lambda: read_lines(path))


def read_results(path: Path, document: Mapping[str, Any]) -> Recording:
    """Read results.json: today's shape, the older one with a table, or the first one, whose rows stand at the top."""
    results = document.get("results")
    summary = results if isinstance(results, Mapping) else document
    within = "results.results" if isinstance(results, Mapping) else "results"
    rows = summary.get("results")
    if isinstance(rows, list) and (rows or not isinstance(summary.get("table"), Mapping)):
        listed = [row_at(row, f"{path.name}: {within}[{number}]") for number, row in enumerate(rows)]
    elif isinstance(summary.get("table"), Mapping):
        listed = [*_table_rows(summary["table"], path)]
    else:
        raise ConfigError(f"{path.name}: {within} is {rows!r:.60}; it must be the list of promptfoo's results")
    return _recording(path, document, summary, lambda: iter(listed))


def _table_rows(table: Mapping[str, Any], path: Path) -> Iterator[Row]:
    """Yield the cells of a table as rows: one for each test and prompt."""
    head, body = table.get("head"), table.get("body")
    if not isinstance(head, Mapping) or not isinstance(body, list):
        raise ConfigError(f"{path.name}: results.table must have a head and a body")
    prompts, names = items_of(head.get("prompts")), items_of(head.get("vars"))
    for number, row in enumerate(body):
        place_of_row, line = row_at(row, f"{path.name}: results.table.body[{number}]")
        values = dict(zip(map(str, names), items_of(line.get("vars")), strict=False))
        for place, output in enumerate(items_of(line.get("outputs"))):
            where = f"{place_of_row}.outputs[{place}]"
            if not isinstance(output, Mapping):
                raise ConfigError(f"{where} is {output!r:.60}: it has no score; write the results anew, as JSON")
            prompt = prompts[place] if place < len(prompts) else None
            about = prompt if isinstance(prompt, Mapping) else {"label": prompt, "raw": prompt}
            test = output.get("testCase") or line.get("test") or {}
            response = output.get("response") or {"output": output.get("text"), "tokenUsage": output.get("tokenUsage")}
            kept = {key: value for key, value in output.items() if key in _TAKEN}
            more = {
                "testIdx": number, "promptIdx": place, "vars": values, "testCase": test, "response": response,
                "description": line.get("description"), "success": output.get("pass"),
                "prompt": {"raw": output.get("prompt"), "label": about.get("label") or about.get("display")},
                "provider": output.get("provider") or about.get("provider"),
            }  # fmt: skip
            yield Row(where, kept | more)


def _recording(
    path: Path, document: Mapping[str, Any], summary: Mapping[str, Any], rows: Callable[[], Iterator[Row]]
) -> Recording:
    notes = Notes()
    reading = _Rows(rows, notes)
    if not reading.count:
        raise ConfigError(f"{path.name}: there are no results in it, not one row")
    about, config = mapping(document.get("metadata")), mapping(document.get("config"))
    stats = mapping(summary.get("stats"))
    for key, found in (("successes", reading.successes), ("errors", reading.errors)):
        if isinstance(stats.get(key), int) and stats[key] != found:
            notes.add(path.name, f"stats.{key} is {stats[key]}, and the rows have {found}; the rows count")
    for key in ("traces", "blobAssets"):
        if document.get(key):
            notes.add(path.name, f"{key} are not carried over: only text is judged")
    created = moment_of(about.get("evaluationCreatedAt")) or moment_of(summary.get("timestamp"))
    lasted = amount(stats.get("durationMs"), 0.001)
    models = list(reading.models)
    definition: dict[str, Any] = {
        "target": models[0] if len(models) == 1 else {"models": models},
        # promptfoo decided on every row: a row passes unless it was recorded as a failure.
        "thresholds": {"pass": 0.0, "borderline": 0.0},
    }
    if judge := _judge_in(config):
        definition["judge"] = judge
    return Recording(
        tool=TOOL,
        version=text_in(about, "promptfooVersion"),
        name=text_in(config, "description") or path.stem,
        created=created,
        finished=None if created is None else created + (lasted or 0),
        definition=definition,
        count=reading.count,
        repeat=1,
        cases=reading.cases,
        notes=notes,
    )


def _judge_in(config: Mapping[str, Any]) -> str | None:
    """Return the model that graded, where the configuration names one for all tests."""
    grader = mapping(mapping(config.get("defaultTest")).get("options")).get("provider")
    grader = mapping(grader).get("id", grader)
    return grader if isinstance(grader, str) and grader else None


class _Rows:
    """The rows of a file: looked through once for what they share, then made into cases."""

    def __init__(self, rows: Callable[[], Iterator[Row]], notes: Notes) -> None:
        self._rows = rows
        self._notes = notes
        self._masked = Masked()
        self.models: dict[str, set[str]] = {}
        self.count = self.successes = self.errors = 0
        # The id of each test, and of the first one with the same content: repeats are no independent evidence.
        self._tests: dict[str, str] = {}
        self._firsts: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        names = Names()
        for row in rows():
            self.count += 1
            self._look_at(row, names)

    def _look_at(self, row: Row, names: Names) -> None:
        fields = row.fields
        _require(row)
        self.successes += fields["success"] is True and not _failed(fields)
        self.errors += _failed(fields)
        self.models.setdefault(_model(fields), set()).add(_prompt_label(fields))
        key, number = _test_key(fields), fields.get("testIdx")
        if key not in self._tests:
            description = fields.get("description") or mapping(fields.get("testCase")).get("description")
            place = number + 1 if isinstance(number, int) else len(self._tests) + 1
            self._tests[key] = names.distinct(case_id(description, f"test-{place}"))
        first = self._firsts.setdefault(_content_key(fields), self._tests[key])
        self._sizes[first] = self._sizes.get(first, 0) + 1
        for name in fields.keys() - _TAKEN:
            self._notes.add(row.where, f"{name} is not carried over: Evenhand has nothing for it")
        if unknown := mapping(fields.get("response")).keys() - {"output", "tokenUsage", "cost", "cached", "error"}:
            self._notes.add(row.where, f"response: {', '.join(sorted(unknown))} is not carried over")
        self._note_scores(row)

    def _note_scores(self, row: Row) -> None:
        """Note what promptfoo counted, and Evenhand does not."""
        if not _failed(row.fields) and isinstance(why_not := unit_score(row.fields.get("score", True)), str):
            self._notes.add(f"{row.where}.score", f"{why_not}, so the case is not evaluated")
        listed = mapping(row.fields.get("gradingResult")).get("componentResults")
        if listed is not None and not isinstance(listed, list):
            raise ConfigError(f"{row.where}.gradingResult.componentResults is {listed!r:.60}; it must be a list")
        for place, result in enumerate(listed or ()):
            where = f"{row.where}.gradingResult.componentResults[{place}]"
            if result is None:
                self._notes.add(where, "the result of an assert is missing, so it is in no number")
            elif not isinstance(result, Mapping):
                raise ConfigError(f"{where} is {result!r:.60}; it must be an object")
            elif _is_broken(result):
                self._notes.add(
                    where, "the grader failed, which promptfoo counts as a failed test, and Evenhand as an error"
                )
            elif isinstance(why_not := unit_score(result.get("score", True)), str):
                self._notes.add(f"{where}.score", f"{why_not}, so it is not evaluated")

    def cases(self) -> Iterator[RecordedCase]:
        """Make the cases, in the order of the rows."""
        several_models, ids, by_model = len(self.models) > 1, Names(), dict[str, Names]()
        several_prompts = len(set().union(*self.models.values())) > 1
        for row in self._rows():
            fields = row.fields
            test, model, prompt = self._tests[_test_key(fields)], _model(fields), _prompt_label(fields)
            first = self._firsts[_content_key(fields)]
            names = by_model.setdefault(model, Names())
            test_case = names.distinct(f"{test} [{prompt}]" if several_prompts else test)
            identity = ids.distinct(f"{test_case} {model}" if several_models else test_case)
            case = Case(
                id=identity,
                cluster=first if self._sizes[first] > 1 else None,
                **prompt_fields(mapping(fields.get("prompt")).get("raw")),
            )
            own = {MODEL: model, TEST_CASE: test_case, "prompt": prompt, "vars": fields.get("vars") or {}}
            more = (fields.get("metadata"), mapping(fields.get("testCase")).get("metadata"))
            yield self._recorded(row, with_metadata(case, own, more))

    def _recorded(self, row: Row, case: Case) -> RecordedCase:
        fields = row.fields
        evaluators: list[Mapping[str, Any]] = [{"name": WHOLE, "type": _WHOLE_TYPE}]
        judgments = [Judgment(self._whole(fields), required=True, cost=0.0)]
        names = Names()
        names.distinct(WHOLE)
        for result in _components(fields):
            definition, judgment = self._component(result, names)
            evaluators.append(definition)
            judgments.append(judgment)
        metrics = {mapping(result.get("assertion")).get("metric") for result in _components(fields)}
        for name, value in mapping(fields.get("namedScores")).items():
            if name not in metrics:
                distinct = names.distinct(one_line(name, _NAME))
                evaluators.append({"name": distinct, "type": "namedScore"})
                evaluation = recorded_evaluation(distinct, "namedScore", unit_score(value), raw=value, details={})
                judgments.append(Judgment(evaluation, weight=0.0, cost=0.0))
        return RecordedCase(
            where=row.where,
            case=case,
            answers=(self._answer(fields),),
            judgments=tuple(enumerate(judgments)),
            expected=len(judgments),
            evaluators=tuple(evaluators),
        )

    def _answer(self, fields: Mapping[str, Any]) -> MadeAnswer:
        response = mapping(fields.get("response"))
        usage = _usage_of(response.get("tokenUsage"))
        cost = amount(fields.get("cost", response.get("cost")))
        if not cost and usage is not None and usage.output_tokens and response.get("cached") is not True:
            cost = None  # promptfoo writes 0 where it knows no price
        text = self._masked.reply(response.get("output"))
        error = response.get("error") or (fields.get("error") if _failed(fields) and text is None else None)
        return MadeAnswer(
            text=text,
            error=None if error is None or text is not None else self._masked.failure(error, has_answer=False),
            latency=amount(fields.get("latencyMs"), 0.001),
            usage=usage,
            cost=cost,
        )

    def _whole(self, fields: Mapping[str, Any]) -> Evaluation:
        """Return the evaluation of a row as a whole: its score and its verdict are promptfoo's own."""
        grading = mapping(fields.get("gradingResult"))
        if _failed(fields):
            response = mapping(fields.get("response"))
            text, has_answer = fields.get("error") or response.get("error"), response.get("output") is not None
            error = self._masked.failure(text, has_answer=has_answer)
            return Evaluation.with_error(evaluator=WHOLE, type=_WHOLE_TYPE, error=error)
        if _asserts_nothing(fields):
            return Evaluation.without_score(evaluator=WHOLE, type=_WHOLE_TYPE, reasoning=_NOTHING)
        passed = fields["success"]
        lost = [result for result in _components(fields) if result.get("pass") is not True]
        if lost and not passed and all(map(_is_broken, lost)):
            error = self._masked.failure(lost[0].get("reason"))
            return Evaluation.with_error(evaluator=WHOLE, type=_WHOLE_TYPE, error=error)
        score = fields.get("score", passed)
        return recorded_evaluation(
            WHOLE,
            _WHOLE_TYPE,
            unit_score(score),
            raw=score,
            verdict=_verdict(passed),
            reasoning=self._masked.reply(grading.get("reason")) or "",
            details={key: grading[key] for key in ("comment",) if grading.get(key)},
        )

    def _component(self, result: Mapping[str, Any], names: Names) -> tuple[Mapping[str, Any], Judgment]:
        """Return an evaluator as an assert defines it, and what it found; it shows, and the whole test counts."""
        assertion, about = mapping(result.get("assertion")), mapping(result.get("metadata"))
        kept = mapping(about.get("assertionSet")) or assertion
        kind = text_in(kept, "type") or "assert"
        name = names.distinct(one_line(text_in(kept, "metric") or kind, _NAME))
        settings = settings_in({key: value for key, value in kept.items() if key not in ("metric", "type")})
        definition = {"name": name, "type": kind, **({"recorded": settings} if settings else {})}
        usage = _usage_of(result.get("tokensUsed"))
        reason = self._masked.reply(result.get("reason")) or ""
        details = {"metadata": about} if about else {}
        if _is_broken(result):
            error = self._masked.failure(result.get("reason"))
            evaluation = Evaluation.with_error(evaluator=name, type=kind, error=error, details=details)
        else:
            passed = result.get("pass")
            verdict = _verdict(passed) if isinstance(passed, bool) else None
            score = result.get("score", passed)
            evaluation = recorded_evaluation(
                name, kind, unit_score(score), raw=score, verdict=verdict, reasoning=reason, details=details
            )
        evaluation = replace(evaluation, usage=usage)
        # promptfoo does not record what grading cost.
        return definition, Judgment(evaluation, weight=0.0, cost=None if usage is not None else 0.0)


def _require(row: Row) -> None:
    """Refuse a row that is no result."""
    fields = row.fields
    if not isinstance(fields.get("success"), bool):
        raise ConfigError(f"{row.where}.success is {fields.get('success')!r:.60}; it must be true or false")
    for key in ("vars", "testCase", "response", "gradingResult", "namedScores", "metadata"):
        if fields.get(key) is not None and not isinstance(fields[key], Mapping):
            raise ConfigError(f"{row.where}.{key} is {fields[key]!r:.60}; it must be an object")
    score = fields.get("score", 0)
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise ConfigError(f"{row.where}.score is {score!r:.60}; it must be a number")


def _failed(fields: Mapping[str, Any]) -> bool:
    """Return whether a row ended in an error; a failed assert is none, though promptfoo writes its reason there too."""
    reason = fields.get("failureReason")
    if reason is not None:
        return bool(reason == _ERROR)
    return bool(fields.get("error")) and not fields.get("gradingResult")


def _asserts_nothing(fields: Mapping[str, Any]) -> bool:
    test = fields.get("testCase")
    grading = mapping(fields.get("gradingResult"))
    return isinstance(test, Mapping) and not test.get("assert") and not grading.get("componentResults")


def _components(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = items_of(mapping(fields.get("gradingResult")).get("componentResults"))
    return [result for result in listed if isinstance(result, Mapping)]


def _is_broken(result: Mapping[str, Any]) -> bool:
    """Return whether a grader failed; promptfoo records that as a failed assert, with a mark."""
    return mapping(result.get("metadata")).get("graderError") is True and result.get("pass") is not True


def _verdict(passed: bool) -> Verdict:
    return Verdict.PASS if passed else Verdict.FAIL


def _usage_of(tokens: object) -> Usage | None:
    """Return the tokens that a model took; None where none was asked."""
    counts = mapping(tokens)
    usage = token_usage(counts.get("prompt"), counts.get("completion"), counts.get("cached") or 0)
    return usage if usage is not None and usage != Usage() else None


def _model(fields: Mapping[str, Any]) -> str:
    provider = fields.get("provider")
    name = text_in(provider, "label", "id") if isinstance(provider, Mapping) else provider
    return one_line(name, _NAME) if isinstance(name, str) and name else "unknown model"


def _prompt_label(fields: Mapping[str, Any]) -> str:
    """Return the label of a row's prompt; a prompt that is its own label goes by its beginning."""
    prompt = mapping(fields.get("prompt"))
    label = (text_in(prompt, "label", "display") or "").strip()
    first = label.partition("\n")[0]
    if len(first) == len(label) <= _LABEL:
        return one_line(label) or "prompt"
    return f"{one_line(first[:_LABEL])}… ({digest_of(label)[:4]})"


def _test_key(fields: Mapping[str, Any]) -> str:
    number = fields.get("testIdx")
    return f"number {number}" if isinstance(number, int) else f"content {_content_key(fields)}"


def _content_key(fields: Mapping[str, Any]) -> str:
    """Return a hash that repeats of one test share."""
    test = mapping(fields.get("testCase"))
    return digest_of([fields.get("vars"), test.get("description"), test.get("assert")])
