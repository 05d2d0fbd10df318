"""The page about every public name of the package, from the names themselves."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final, is_typeddict

from docs.generate.markdown import code, first_line, made_by, page as page_of, prose, table

import evenhand

INTRODUCTION: Final = """\
Everything that `from evenhand import …` offers. [Runs from Python](../python-runs.md),
[the prompt evaluator](../prompt-evaluator.md) and [the judge factory](../judge-factory.md) introduce the most used
ones. Names that are not here are the package's own and may change."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Runs": (
        "evaluate", "aevaluate", "Run", "CaseResult", "CaseScore", "Summary", "compare", "Comparison", "win_rate",
        "WinRate", "JudgeCard", "CorrectedNumbers", "drift", "DriftReport", "import_results", "export_results",
        "ExportedRun", "case_score", "Weighed",
    ),
    "Judges": (
        "examine_judge", "JudgeExamination", "compare_judges", "JudgesComparison", "agreement", "Agreement",
        "position_table", "PositionTable", "holm", "benjamini_hochberg",
    ),
    "Labels by people": ("draw_labels", "Draw", "add_labels", "AddedLabels", "Label", "tune", "Tuning"),
    "Profiles": (
        "score", "rank", "audit", "evaluate_profiles", "Profile", "ScoredProfiles", "ProfileScore", "RankedProfiles",
        "RankedProfile", "Audit",
    ),
    "The judge factory": (
        "create_llm_as_judge", "create_async_llm_as_judge", "create_json_match_evaluator",
        "create_async_json_match_evaluator", "EvaluatorResult", "FewShotExample",
    ),
    "Cases and results": (
        "Case", "Message", "Rubric", "Evaluation", "Status", "Verdict", "Thresholds", "Check", "Attempt", "Usage",
    ),
    "Evaluators that ask a judge": (
        "PromptEvaluator", "PairwiseEvaluator", "ProfileScoreEvaluator", "GroupRankingEvaluator", "jury",
        "CompositeEvaluator", "Cascade", "FieldAccuracy",
    ),
    "Evaluators that ask nobody": (
        "CodeJudgeEvaluator", "SchemaEvaluator", "Equals", "Contains", "IContains", "StartsWith", "EndsWith", "Regex",
        "IsJson", "JsonMatch", "Levenshtein", "TokenF1", "Rouge", "Bleu", "Chrf", "Numeric", "Latency", "Cost",
    ),
    "Models": ("resolve", "Scripted", "ModelClient", "Secret"),
    "Evaluators and models of your own": (
        "BaseEvaluator", "Evaluator", "Steps", "Ask", "Exec", "Call", "Contract", "Reply", "Unanswered", "TokenChoice",
    ),
    "Errors": (
        "EvenhandError", "ConfigError", "MissingKeyError", "MissingModelError", "UnknownNameError", "TemplateError",
        "JudgeError", "ModelFetchError", "RunStoppedError", "GatesFailed", "ScriptExhaustedError",
    ),
    "The version": ("__version__",),
}  # fmt: skip
# Names for types, which have no docstring.
ALIASES: Final[Mapping[str, tuple[str, str]]] = {
    "Steps": (
        "Steps = Generator[tuple[Ask | Exec | Call, ...], tuple[Any, ...], Outcome]",
        """What the method `steps` of an evaluator gives: a generator that yields what it wants to know, several things
at once if it likes, is sent the answers in the same order, and returns its outcome.""",
    ),
}
LINE: Final = 100


def page() -> str:
    """Write the page."""
    grouped = [name for names in GROUPS.values() for name in names]
    if differing := {*evenhand.__all__} ^ {*grouped}:
        raise KeyError(f"docs/generate/python_names.py: the groups lack or wrongly have {', '.join(sorted(differing))}")
    return page_of(made_by("the names of `evenhand`"), "# Every public name", INTRODUCTION, *_sections())


def _sections() -> Iterator[str]:
    for heading, names in GROUPS.items():
        yield f"## {heading}"
        for name in names:
            yield from _section(name, getattr(evenhand, name))


def _section(name: str, thing: Any) -> Iterator[str]:
    yield f"### `{name}`"
    signature, words = ALIASES.get(name) or (_signature(name, thing), "")
    yield f"```py\n{signature}\n```"
    yield words
    if isinstance(thing, type) or inspect.isroutine(thing):
        yield prose(vars(thing)["__doc__"] if isinstance(thing, type) else thing.__doc__)
    if isinstance(thing, type) and (rows := list(_members(thing))):
        yield table(("has", "meaning"), rows)


def _signature(name: str, thing: Any) -> str:
    """Write how a name is used, in Python's own terms."""
    if isinstance(thing, type) and issubclass(thing, Enum):
        return "\n".join([f"class {name}(Enum):", *(f"    {one.name} = {_shown(one.value)}" for one in thing)])
    if is_typeddict(thing):
        keys = inspect.get_annotations(thing).items()
        return "\n".join([f"class {name}(TypedDict):", *(f"    {key}: {_type(kind)}" for key, kind in keys)])
    if isinstance(thing, type) and issubclass(thing, Exception):
        return f"class {name}({thing.__mro__[1].__name__})"
    if isinstance(thing, type) and getattr(thing, "_is_protocol", False):
        return f"class {name}(Protocol)"
    if isinstance(thing, type) or inspect.isroutine(thing):
        return _call(name, thing)
    return f"{name}: {type(thing).__name__}"


def _call(name: str, thing: Any) -> str:
    signature = inspect.signature(thing)
    opening = "async def " if inspect.iscoroutinefunction(thing) else "class " if isinstance(thing, type) else "def "
    parameters = [_parameter(one) for one in signature.parameters.values()]
    kinds = [one.kind for one in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    if inspect.Parameter.POSITIONAL_ONLY in kinds:
        last = len(kinds) - kinds[::-1].index(inspect.Parameter.POSITIONAL_ONLY)
        parameters.insert(last, "/")
    returned = signature.return_annotation
    result = "" if isinstance(thing, type) or returned is signature.empty else f" -> {_type(returned)}"
    line = f"{opening}{name}({', '.join(parameters)}){result}"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{opening}{name}(", *(f"    {one}," for one in parameters), f"){result}"])


def _parameter(one: inspect.Parameter) -> str:
    stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
    kind = "" if one.annotation is one.empty else f": {_type(one.annotation)}"
    if one.default is one.empty:
        return f"{stars}{one.name}{kind}"
    return f"{stars}{one.name}{kind}{' = ' if kind else '='}{_shown(one.default)}"


def _shown(given: object) -> str:
    """Write a value as the code here does."""
    if isinstance(given, Enum):
        return str(given)
    if isinstance(given, str):
        return json.dumps(given)
    # What a dataclass makes anew for each object has no value to show.
    return "..." if repr(given).startswith("<") else repr(given)


def _type(annotation: Any) -> str:
    shown = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    shown = re.sub(r"\b(?:collections\.abc|typing|evenhand(?:\.\w+)+)\.", "", shown)
    shown = re.sub(r"ForwardRef\('([^']+)'(?:, [^)]*)?\)", r"\1", shown)
    return shown.replace("'", '"')


def _members(kind: type) -> Iterator[tuple[str, str]]:
    """List the public methods and properties that a class has and no base of it, with their first words."""
    if issubclass(kind, (Enum, Exception)):
        return
    inherited = {name for base in kind.__mro__[1:] for name in vars(base)}
    for name, member in vars(kind).items():
        given = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        is_method = inspect.isfunction(given)
        if name.startswith("_") or name in inherited or not (is_method or _is_property(given)):
            continue
        if said := first_line(given.__doc__):
            yield code(f"{name}()" if is_method else name), said


def _is_property(member: object) -> bool:
    return isinstance(member, property) or type(member).__name__ == "cached_property"
