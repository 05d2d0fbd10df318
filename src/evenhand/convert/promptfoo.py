"""A promptfoo configuration as a suite: its providers and prompts as targets, its tests as cases."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evenhand.convert.asserts import Scope, evaluators_of, rendered
from evenhand.convert.draft import Draft, named
from evenhand.convert.prompts import Prompts, prompts_of
from evenhand.convert.source import CannotCarryError, Loaded, Part, Source, as_context, is_file, items
from evenhand.convert.tables import row_as_test
from evenhand.convert.targets import keep_one_target, model_of, targets_of
from evenhand.domain.errors import ConfigError
from evenhand.suites.cases import id_problem
from evenhand.suites.values import Listed, Mapped, plain, walk

KEYS: Final = frozenset({"prompts", "providers", "targets", "defaultTest", "scenarios", "evaluateOptions", "redteam"})

# Of one test whose variables have lists for values.
_MOST_EXPANDED: Final = 10_000
_OF_RUNS: Final = "it is no matter of the suite; see the options of evenhand run"
_REASONS: Final[Mapping[str, str]] = {
    "env": "variables are set in the environment, or in a file named .env",
    "outputPath": "reports are written with evenhand run -o",
    "sharing": "results are not shared by link",
    "nunjucksFilters": "there is no template language",
    "derivedMetrics": "Evenhand computes its own figures",
    "extensions": "no program of another tool is run",
    "redteam": "there is no red teaming here",
    "writeLatestResults": "every run is stored",
    "tracing": "it is set in the environment; see the page on OpenTelemetry",
    "scenarios": "write their tests out under tests, and convert again",
    "commandLineOptions": _OF_RUNS,
}


@dataclass(slots=True, kw_only=True)
class _Defaults:
    """What all tests have in common: ``defaultTest``."""

    values: dict[str, Any] = field(default_factory=dict)
    asserts: Listed = field(default_factory=lambda: Listed(1))
    file: str = ""
    threshold: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)


class _Configuration:
    """One configuration as it is carried over, key by key."""

    def __init__(self, loaded: Loaded, source: Source, draft: Draft) -> None:
        self._source = source
        self._draft = draft
        self._root = draft.part(loaded.value, "the configuration", loaded.file)
        self._templates = Mapped(1)
        self._used_templates: set[str] = set()
        self._defaults = _Defaults()
        self._thresholds: dict[str, Any] = {}
        self._has_degrees = False

    def carry_over(self) -> None:
        draft, root = self._draft, self._root
        with root:
            root.take("$schema")  # which is for editors
            draft.header["description"] = root.take("description")
            templates = root.take("assertionTemplates")
            self._templates = templates if isinstance(templates, Mapped) else Mapped(1)
            metadata = {**_mapping(root.take("metadata")), **_mapping(root.take("tags"))}
            draft.header["metadata"] = metadata
            self._carry_defaults()
            prompts = prompts_of(root, self._source, draft)
            providers = targets_of(root, prompts, draft)
            if prompts is not None and not providers:
                prompts = prompts.without_target(root.file, draft)
            self._carry_options()
            self._carry_tests(prompts)
            keep_one_target(draft, root, providers, prompts)
            for key, reason in _REASONS.items():
                root.leave(key, reason)
            for key in [key for key in self._templates if key not in self._used_templates]:
                draft.left.add(root.file, self._templates.lines[key], f"assertionTemplates: {key}", "no test uses it")
        self._carry_marks()
        draft.header["gates"] = {"max_failed": 0}
        for key in [key for key, value in draft.header.items() if value is None or value == {}]:
            del draft.header[key]

    def _template(self, name: str) -> Any:
        self._used_templates.add(name)
        return self._templates.get(name)

    def _judge(self, provider: Any) -> Any:
        made = model_of(
            provider, name="the grader", file=self._root.file, line=self._root.mapping.line, draft=self._draft
        )
        problem = self._draft.model_problem("judge", made)
        if problem is not None:
            raise CannotCarryError(problem)
        return made

    def _carry_defaults(self) -> None:
        root = self._root
        line, file = root.line("defaultTest"), root.file
        taken = root.take("defaultTest")
        if is_file(taken):
            try:
                taken, file = self._source.value(taken)
            except CannotCarryError as error:
                self._draft.left.add(root.file, line, "defaultTest", str(error))
                return
        if not isinstance(taken, Mapped):
            if taken is not None:
                self._draft.left.add(file, line, "defaultTest", "it must be a mapping")
            return
        with self._draft.part(taken, "defaultTest", file) as part:
            values, problems = self._values(part)
            for line, problem in problems:
                part.left.add(file, line, f"defaultTest: {problem}", "tests without a value of their own have none")
            self._defaults = _Defaults(
                values=values,
                asserts=part.listed("assert"),
                file=file,
                threshold=part.take("threshold"),
                metadata=_mapping(part.take("metadata")),
            )
            options = part.part("options", "defaultTest: options")
            if options is not None:
                with options:
                    grader = options.take("provider")
                    try:
                        self._draft.header["judge"] = None if grader is None else self._judge(grader)
                    except CannotCarryError as error:
                        options.leave("provider", str(error))
                    _leave_options(options)
            for key in ("provider", "providers", "prompts"):
                part.leave(key, "every case is answered by every target")

    def _carry_options(self) -> None:
        options = self._root.part("evaluateOptions", "evaluateOptions")
        if options is None:
            return
        with options:
            header = self._draft.header
            header["concurrency"] = options.take("maxConcurrency")
            header["repeat"] = options.take("repeat")
            milliseconds = options.take("timeoutMs")
            header["timeout"] = milliseconds / 1000 if isinstance(milliseconds, int | float) and milliseconds else None
            options.leave_rest(_OF_RUNS)

    def _carry_marks(self) -> None:
        """Let a case pass as promptfoo lets a test: if its score reaches the threshold, or if every assert passes."""
        thresholds = {json.dumps(value) for value in self._thresholds.values()}
        if len(thresholds) == 1 and (mark := next(iter(self._thresholds.values()))) is not None:
            self._draft.header["thresholds"] = {"pass": mark, "borderline": mark}
        elif self._has_degrees:
            self._draft.header["thresholds"] = {"pass": 0, "borderline": 0}

    # The tests

    def _carry_tests(self, prompts: Prompts | None) -> None:
        root = self._root
        line = root.line("tests")
        tests = [*self._tests(root.take("tests"), root.file, line)]
        marks = {json.dumps(plain(test.get("threshold", self._defaults.threshold))) for test, _, _ in tests}
        for number, (test, file, name) in enumerate(tests, 1):
            self._carry_test(test, file, f"test {number}{name}", prompts, is_common=len(marks) == 1)

    def _tests(self, value: Any, file: str, line: int) -> Iterator[tuple[Mapped, str, str]]:
        """Yield the tests, from whichever files."""
        if isinstance(value, str):
            try:
                value, file = self._source.value(value)
            except CannotCarryError as error:
                self._draft.left.add(file, line, "tests", str(error))
                return
            is_table = file.lower().endswith(".csv")
            for item, where in items(value) if isinstance(value, Listed) else [(value, line)]:
                row = row_as_test(item, file, self._draft.left) if is_table else item
                yield from self._test(row, file, where)
        elif isinstance(value, Listed):
            for item, where in items(value):
                yield from self._tests(item, file, where) if isinstance(item, str) else self._test(item, file, where)
        elif value is not None:
            yield from self._test(value, file, line)

    def _test(self, test: Any, file: str, line: int) -> Iterator[tuple[Mapped, str, str]]:
        if not isinstance(test, Mapped) or "path" in test:
            reason = "it is made by a program" if isinstance(test, Mapped) else "it must be a mapping"
            self._draft.left.add(file, line, "a test", reason)
        else:
            description = test.get("description")
            yield test, file, f" {description!r:.60}" if isinstance(description, str) else ""

    def _carry_test(self, test: Mapped, file: str, name: str, prompts: Prompts | None, *, is_common: bool) -> None:
        with self._draft.part(test, name, file) as part:
            own_values, problems = self._values(part)
            if problems:
                part.leave_whole("; ".join(problem for _, problem in problems))
                return
            values = {**self._defaults.values, **own_values}
            description = part.take("description")
            own = part.listed("assert")
            threshold = part.take("threshold")
            threshold = self._defaults.threshold if threshold is None else threshold
            if not is_common and threshold is not None:
                part.left.add(file, part.line("threshold"), f"{name}: threshold", "a suite has one for all its cases")
                threshold = None
            self._thresholds[name] = threshold
            flags = self._options(part)
            metadata = {**self._defaults.metadata, **_mapping(part.take("metadata"))}
            answer = part.take("providerOutput")
            if answer is not None and not isinstance(answer, str):
                part.leave("providerOutput", "it must be text")
                answer = None
            part.leave("assertScoringFunction", "no program of another tool is run")
            for key in ("provider", "providers", "prompts"):
                part.leave(key, "every case is answered by every target")
            asserts = [(own, file)]
            if not flags.get("disableDefaultAsserts"):
                asserts.insert(0, (self._defaults.asserts, self._defaults.file))
            whole = {"context"} if any(_is_about_context(listed) for listed, _ in asserts) else set()
            if isinstance(values.get("context"), list) and whole:
                part.note("the list under context is one context of several documents", "vars")
            try:
                combinations = _expanded(values, whole, is_expanded=not flags.get("disableVarExpansion"))
            except CannotCarryError as error:
                part.leave_whole(str(error))
                return
            for combination in combinations:
                case = _named_case(description, metadata) | {"candidate_answer": answer}
                try:
                    self._fill_case(case, combination, prompts, part)
                    scope = Scope(
                        self._source, self._draft, combination, self._template, self._judge, threshold is None,
                        question=case["input"],
                    )  # fmt: skip
                    evaluators = self._evaluators(asserts, scope, flags)
                    self._draft.add_case(case | scope.fields, evaluators)
                except CannotCarryError as error:
                    part.leave_whole(str(error))

    def _fill_case(self, case: dict[str, Any], values: dict[str, Any], prompts: Prompts | None, part: Part) -> None:
        """Give a case its input and the other variables."""
        case["input"] = None if prompts is None else prompts.input_of(values)
        others = {key: value for key, value in values.items() if prompts is None or key != prompts.variable}
        if as_context(others.get("context")) is not None:
            case["context"] = others.pop("context")
        for key in sorted(case["metadata"].keys() & others.keys()):
            part.note(f"the metadata {key!r:.80} gives way to the variable of that name", "metadata")
        case["metadata"] = {**case["metadata"], **plain(others)}

    def _evaluators(
        self, asserts: list[tuple[Listed, str]], scope: Scope, flags: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        evaluators = [each for listed, file in asserts for each in evaluators_of(listed, file, scope)]
        if "judge" in flags:
            evaluators = [{**each, "judge": flags["judge"]} if _asks(each) else each for each in evaluators]
        if not evaluators:
            is_left = any(listed for listed, _ in asserts)
            why = "No assert of the test was carried over." if is_left else "The test has no assert."
            evaluators = [{"type": "unjudged", "why": why}]
        self._has_degrees = self._has_degrees or any(map(_has_degrees, evaluators))
        return named(evaluators)

    def _options(self, part: Part) -> dict[str, Any]:
        """Carry the options of a test over."""
        options = part.part("options", f"{part.name}: options")
        flags: dict[str, Any] = {}
        if options is None:
            return flags
        with options:
            for key in ("disableVarExpansion", "disableDefaultAsserts"):
                flags[key] = options.take(key) is True
            grader = options.take("provider")
            if grader is not None:
                try:
                    flags["judge"] = self._judge(grader)
                except CannotCarryError as error:
                    options.leave("provider", str(error))
            _leave_options(options)
        return flags

    def _values(self, part: Part) -> tuple[dict[str, Any], list[tuple[int, str]]]:
        """Return the variables of a test, with files read, and what is wrong with the others."""
        line = part.line("vars")
        taken = part.take("vars")
        try:
            taken = self._source.value(taken).value if isinstance(taken, str) else taken
        except CannotCarryError as error:
            return {}, [(line, f"vars: {error}")]
        if not isinstance(taken, Mapped):
            return {}, [] if taken is None else [(line, "vars must be a mapping")]
        values: dict[str, Any] = {}
        problems = []
        for key, value in taken.items():
            try:
                values[key] = self._variable(value)
            except CannotCarryError as error:
                problems.append((taken.lines[key], f"vars: {key}: {error}"))
        return values, problems

    def _variable(self, value: Any) -> Any:
        if is_file(value):
            if value.endswith((".yaml", ".yml")):
                return plain(self._source.value(value).value)
            return self._source.text(value).strip()
        return plain(value)


def _named_case(description: Any, metadata: dict[str, Any]) -> dict[str, Any]:
    """Begin a case: the description is its id, or stands in its metadata where it cannot be one."""
    if not isinstance(description, str):
        return {"metadata": metadata}
    if id_problem(description) is None:
        return {"id": description, "input": None, "metadata": metadata}
    return {"input": None, "metadata": {"description": description, **metadata}}


def _leave_options(options: Part) -> None:
    for key in ("transform", "postprocess"):
        options.leave(key, "the answer is judged as it is")
    for key in ("prefix", "suffix"):
        options.leave(key, "write it into the prompt; cases are asked without it")
    options.leave("rubricPrompt", "it asks for another format of reply; a template can replace the prompt")
    options.leave_rest("Evenhand has no such option of a case")


def _asks(definition: Mapping[str, Any]) -> bool:
    return definition["type"] == "llm_judge" and "judge" not in definition


def _has_degrees(definition: Mapping[str, Any]) -> bool:
    """Return whether an evaluator may pass with less than the whole score."""
    return "thresholds" in definition or definition.get("min", 1) != 1 or definition["type"] == "composite"


def _mapping(value: Any) -> dict[str, Any]:
    made = plain(value)
    return made if isinstance(made, dict) else {} if made is None else {"tags": made}


def _is_about_context(asserts: Listed) -> bool:
    return any(
        key == "type" and isinstance(value, str) and value.startswith("context-") for key, value, _ in walk(asserts, 1)
    )


def _expanded(values: dict[str, Any], whole: set[str], *, is_expanded: bool) -> list[dict[str, Any]]:
    """Make a combination of values for each item of each variable that has a list, and fill in what they quote.

    The lists of the variables in ``whole`` are values as they are.
    """
    lists = {
        key: value for key, value in values.items() if is_expanded and key not in whole and isinstance(value, list)
    }
    if math.prod(len(value) for value in lists.values()) > _MOST_EXPANDED:
        raise CannotCarryError(f"its lists make more than {_MOST_EXPANDED:,} combinations")
    combinations = [values | dict(zip(lists, chosen, strict=True)) for chosen in itertools.product(*lists.values())]
    return [
        {key: rendered(text, each) if isinstance(text, str) and "{{" in text else text for key, text in each.items()}
        for each in combinations
    ]


def convert_promptfoo(loaded: Loaded, source: Source, draft: Draft) -> None:
    """Carry a promptfoo configuration over."""
    if not isinstance(loaded.value, Mapped):
        raise ConfigError(f"{loaded.file}: a promptfoo configuration is a mapping with prompts, providers and tests")
    _Configuration(loaded, source, draft).carry_over()
