"""An AgentV eval file as a suite, in the shapes it has had: ``evalcases`` with messages, and ``tests``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evenhand.convert.agentv_graders import graders_of, rubric_items
from evenhand.convert.draft import Draft, named
from evenhand.convert.promptfoo import convert_promptfoo
from evenhand.convert.source import CannotCarryError, Loaded, Part, Source, as_context, items
from evenhand.domain.errors import ConfigError
from evenhand.suites.cases import id_problem
from evenhand.suites.values import Listed, Mapped, plain

_CASES: Final = ("tests", "evalcases", "eval_cases")
KEYS: Final = frozenset(
    {"evalcases", "eval_cases", "execution", "assertions", "default_test", "evaluate_options", "workspace"}
)
CASE_KEYS: Final = frozenset(
    {"criteria", "expected_outcome", "outcome", "input", "input_messages", "expected_output", "expected_messages"}
)
_GRADERS: Final = ("assertions", "assert", "evaluators")
_ONE_CONVERSATION: Final = "a conversation is judged as the messages of an input"
_NO_AGENTS: Final = "Evenhand judges answers; it runs no agent in a workspace"
_TARGETS: Final = "its targets are in .agentv/targets.yaml; name a model with target, or with --target"
_OF_RUNS: Final = "it is no matter of the suite; see the options of evenhand run"
_REASONS: Final[Mapping[str, str]] = {
    "workspace": _NO_AGENTS, "environment": _NO_AGENTS, "extensions": _NO_AGENTS, "hooks": _NO_AGENTS,
    "depends_on": "cases are judged one by one", "on_dependency_failure": "cases are judged one by one",
    "mode": _ONE_CONVERSATION, "turns": _ONE_CONVERSATION,
    "aggregation": _ONE_CONVERSATION,
    "on_turn_failure": _ONE_CONVERSATION,
    "window_size": _ONE_CONVERSATION,
    "target": _TARGETS, "targets": _TARGETS, "provider": _TARGETS, "providers": _TARGETS, "model": _TARGETS,
    "judge_target": "name the model with judge, or with --judge",
    "preprocessors": "files are read as text", "run": _OF_RUNS, "defaults": _TARGETS,
    "env": "variables are set in the environment, or in a file named .env",
    "output_path": "reports are written with evenhand run -o",
}  # fmt: skip
_ABOUT: Final = ("category", "version", "author", "license", "requires", "dataset", "suite")


class _EvalFile:
    """One eval file as it is carried over."""

    def __init__(self, source: Source, draft: Draft) -> None:
        self._source = source
        self._draft = draft
        self._usual: tuple[Listed, str] = (Listed(1), "")
        self._is_old = False
        self._input: list[Any] = []

    def carry_over(self, loaded: Loaded) -> None:
        draft = self._draft
        with draft.part(loaded.value, "the eval file", loaded.file) as root:
            root.take("$schema")  # which is for editors
            draft.header["name"] = root.take("name")
            draft.header["description"] = root.take("description")
            about = {key: plain(root.take(key)) for key in _ABOUT}
            about["tags"] = plain(root.take("tags"))
            draft.header["metadata"] = {
                **{key: value for key, value in about.items() if value is not None},
                **_mapping(root.take("metadata")),
            }
            self._input = _messages(root.take("input"))
            key = next((key for key in _CASES if root.has(key)), _CASES[0])
            self._is_old = key == "evalcases"
            usual = root.listed(*_GRADERS)
            execution = root.part("execution", "execution")
            if execution is not None:
                usual = self._execution(execution) or usual
            self._usual = (usual, root.file)
            for name, reason in _REASONS.items():
                root.leave(name, reason)
            self._carry_cases(root.take(key), root.file, root.line(key))
        draft.header = {key: value for key, value in draft.header.items() if value is not None and value != {}}

    def _execution(self, execution: Part) -> Listed:
        """Carry over how the cases are run and graded."""
        with execution:
            header = self._draft.header
            header["concurrency"] = execution.take("workers")
            mark = execution.take("threshold")
            header["thresholds"] = None if mark is None else {"pass": mark, "borderline": mark}
            graders = execution.listed(*_GRADERS)
            trials = execution.part("trials", "execution: trials")
            if trials is not None:
                with trials:
                    header["repeat"] = trials.take("count")
                    trials.leave("strategy", "a case that is repeated has the mean of its scores")
                    trials.leave_rest("--max-cost limits what a run may cost")
            for key in ("total_budget_usd", "totalBudgetUsd", "budget_usd", "budgetUsd"):
                execution.leave(key, "--max-cost limits what a run may cost")
            for key in ("cache", "fail_on_error", "failOnError"):
                execution.leave(key, _OF_RUNS)
            for key, reason in _REASONS.items():
                execution.leave(key, reason)
        return graders

    def _carry_cases(self, value: Any, file: str, line: int) -> None:
        if isinstance(value, str):
            try:
                value, file = self._source.value(value)
            except CannotCarryError as error:
                self._draft.left.add(file, line, "tests", str(error))
                return
        if not isinstance(value, Listed):
            self._draft.left.add(file, line, "tests", "it must be a list, or the path of a file with one")
            return
        for number, (item, where) in enumerate(items(value), 1):
            if isinstance(item, str):
                self._carry_cases(item, file, where)
            elif isinstance(item, Mapped) and "include" not in item:
                identity = item.get("id")
                name = f"test {identity!r:.80}" if isinstance(identity, str) else f"test {number}"
                self.carry_case(item, file, name)
            else:
                self._draft.left.add(file, where, f"test {number}", "it must be a mapping; includes are not read")

    def carry_case(self, item: Mapped, file: str, name: str) -> None:
        """Carry one test over."""
        with self._draft.part(item, name, file) as part:
            case: dict[str, Any] = {"id": part.take("id")}
            metadata = _mapping(part.take("metadata"))
            for key in ("description", *_ABOUT):
                if (value := part.take(key)) is not None:
                    metadata.setdefault(key, plain(value))
            if not isinstance(case["id"], str) or id_problem(case["id"]) is not None:
                del case["id"]
                part.leave("id", "an id is a line of at most 200 characters")
            execution = part.part("execution", f"{name}: execution")
            usual, usual_file = self._usual
            own = part.listed(*_GRADERS)
            if execution is not None:
                if execution.take("skip_defaults") is True:
                    usual = Listed(1)
                own = execution.listed(*_GRADERS) or own
                with execution:
                    for key, reason in _REASONS.items():
                        execution.leave(key, reason)
            asked = part.take("input", "input_messages")
            files = part.listed("input_files")
            if files and not isinstance(asked, str):
                part.leave("input_files", "name the files in the messages of the input")
                files = Listed(1)
            asked = [*self._input, *_messages(asked, files)]
            case["input"] = asked[0]["content"] if _is_one_text(asked) else asked or None
            case["reference_answer"] = _reference(part.take("expected_output", "expected_messages"))
            case["expected_outcome"] = part.take("criteria", "expected_outcome", "outcome")
            case["cluster"] = part.take("conversation_id")
            case["context"] = _context(part)
            case["metadata"] = metadata
            evaluators = self._evaluators(part, own, usual, usual_file)
            for key, reason in _REASONS.items():
                part.leave(key, reason)
            try:
                self._draft.add_case(case, named(evaluators))
            except CannotCarryError as error:
                part.leave_whole(str(error))

    def _evaluators(self, part: Part, own: Listed, usual: Listed, usual_file: str) -> list[dict[str, Any]]:
        """Return the graders of a test: its rubrics first, its own, and those of the file."""
        graders: list[dict[str, Any]] = []
        rubrics = part.listed("rubrics")
        if rubrics:
            graders += rubric_items(rubrics, f"{part.name}: rubrics", part.file, self._draft, name="rubric")
        of_test = graders_of(own, part.file, self._source, self._draft)
        # In the old shape, a test's own graders replace those of the file; now they are added to them.
        is_alone = self._is_old and bool(own)
        of_file = [] if is_alone else graders_of(usual, usual_file, self._source, self._draft)
        kind = part.take("evaluator")
        if kind not in {None, "llm_judge"}:
            part.leave("evaluator", "list the graders under assertions")
        graders += [*of_test, *of_file]
        if not graders and (own or usual or rubrics):
            return [{"type": "unjudged", "why": "No grader of the test was carried over."}]
        return graders or [{"name": "llm_judge", "type": "llm_judge"}]


def _mapping(value: Any) -> dict[str, Any]:
    made = plain(value)
    return made if isinstance(made, dict) else {} if made is None else {"metadata": made}


def _context(part: Part) -> Any:
    context = as_context(part.take("context"))
    if context is None:
        part.leave("context", "a context is a text, or a list of texts")
    return context


def _messages(value: Any, files: Any = ()) -> list[Any]:
    """Return an input as messages: a text is one of the user, and files come before it."""
    if isinstance(value, Listed):
        return list(plain(value))
    if isinstance(value, Mapped) and "role" in value:
        return [plain(value)]
    if value is None:
        return []
    if not files:
        return [{"role": "user", "content": plain(value)}]
    blocks = [{"type": "file", "value": str(name)} for name in files]
    return [{"role": "user", "content": [*blocks, {"type": "text", "value": value}]}]


def _is_one_text(messages: list[Any]) -> bool:
    return (
        len(messages) == 1
        and isinstance(messages[0], dict)
        and set(messages[0]) == {"role", "content"}
        and (messages[0]["role"] == "user" and isinstance(messages[0]["content"], str))
    )


def _reference(value: Any) -> Any:
    """Return what is expected: a text, or messages; anything else is what an assistant's message would hold."""
    if value is None or isinstance(value, str):
        return value
    made = plain(value)
    if isinstance(made, dict):
        return [made if "role" in made else {"role": "assistant", "content": made}]
    if not isinstance(made, list):
        return made
    if len(made) == 1 and isinstance(made[0], dict) and set(made[0]) == {"role", "content"}:
        content = made[0]["content"]
        return content if made[0]["role"] == "assistant" and isinstance(content, str) else made
    return made


# The newest shape is that of promptfoo, with names in another style.
_LIKE_PROMPTFOO: Final = frozenset({"prompts", "default_test", "evaluate_options", "scenarios"})
_STYLES: Final[Mapping[str, str]] = {
    "default_test": "defaultTest", "evaluate_options": "evaluateOptions", "max_concurrency": "maxConcurrency",
    "timeout_ms": "timeoutMs", "max_eval_time_ms": "maxEvalTimeMs", "derived_metrics": "derivedMetrics",
    "output_path": "outputPath", "nunjucks_filters": "nunjucksFilters",
}  # fmt: skip


def _as_promptfoo(value: Any) -> Any:
    """Return the keys of a file and of its options by the names that promptfoo has for them."""
    if not isinstance(value, Mapped):
        return value
    made = Mapped(value.line)
    for key, item in value.items():
        name = _STYLES.get(key, key)
        made[name] = _as_promptfoo(item) if name == "evaluateOptions" else item
        made.lines[name] = value.lines[key]
    return made


def convert_agentv(loaded: Loaded, source: Source, draft: Draft) -> None:
    """Carry an AgentV eval file over, or a file of its tests."""
    if isinstance(loaded.value, Mapped) and _LIKE_PROMPTFOO & loaded.value.keys():
        convert_promptfoo(Loaded(_as_promptfoo(loaded.value), loaded.file), source, draft)
        return
    file = _EvalFile(source, draft)
    if isinstance(loaded.value, Mapped):
        file.carry_over(loaded)
        return
    for number, (item, line) in enumerate(items(loaded.value), 1):
        if not isinstance(item, Mapped):
            raise ConfigError(f"{loaded.file}:{line}: a test is a mapping with keys such as id, input and criteria")
        file.carry_case(item, loaded.file, f"test {number}")
