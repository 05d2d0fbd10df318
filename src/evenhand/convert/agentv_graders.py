"""AgentV's graders, which it has called evaluators, judges and assertions, as evaluators."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

from evenhand.convert.asserts import NOT_CARRIED, Scope, evaluators_of
from evenhand.convert.draft import Draft, named
from evenhand.convert.source import CannotCarryError, Part, Source, items
from evenhand.convert.targets import model_of
from evenhand.domain.errors import did_you_mean
from evenhand.domain.scale import is_finite_number
from evenhand.suites.values import Listed, Mapped, plain

Definition = dict[str, Any]

_TRACES: Final = "Evenhand judges answers, not what an agent did on the way"
_NOT_CARRIED: Final[Mapping[str, str]] = {
    "tool-trajectory": _TRACES, "execution-metrics": _TRACES, "skill-trigger": _TRACES,
    "token-usage": "tokens are counted, but not judged; cost can be",
}  # fmt: skip
_NAMES: Final[Mapping[str, str]] = {
    "llm-judge": "llm", "llm-grader": "llm", "rubric": "rubrics", "rubrics": "rubrics", "code": "code",
    "code-judge": "code", "code-grader": "code", "script": "code", "composite": "composite", "equals": "equals",
    "starts-with": "starts_with", "ends-with": "ends_with", "latency": "latency", "cost": "cost", "regex": "regex",
    "field-accuracy": "fields",
}  # fmt: skip
_SHELL: Final = re.compile(r"[|&;<>$`\n]")
_PLACE: Final = re.compile(r"\{\{[ \t]{0,9}([^\W\d]\w{0,99})[ \t]{0,9}\}\}")
# What a prompt of a grader may use, by all the names that it has had.
_PLACES: Final[Mapping[str, str]] = {
    "expected_outcome": "expected_outcome", "criteria": "expected_outcome", "question": "question", "input": "question",
    "reference_answer": "reference_answer", "expected_output": "reference_answer",
    "candidate_answer": "candidate_answer", "answer": "candidate_answer", "output": "candidate_answer",
}  # fmt: skip
_USUAL_REQUIRED: Final = 0.8


def graders_of(graders: Listed, file: str, source: Source, draft: Draft) -> list[Definition]:
    """Carry graders over; those that cannot be are listed. Plain texts are the items of one rubric."""
    made: list[Definition] = []
    criteria = [item for item in graders if isinstance(item, str)]
    for item, line in items(graders):
        if isinstance(item, Mapped):
            made += _grader(item, file, source, draft)
        elif not isinstance(item, str):
            draft.left.add(file, line, "a grader", "it must be a mapping with a type, or a criterion")
    if criteria:
        made.append({"name": "criteria", "type": "llm_judge", "rubrics": criteria})
    return made


def _grader(item: Mapped, file: str, source: Source, draft: Draft) -> list[Definition]:
    name, written = item.get("name", item.get("metric")), item.get("type")
    label = f"grader {name!r:.80}" if isinstance(name, str) else "grader"
    part = draft.part(item, f"{label} ({written})" if isinstance(written, str) else label, file)
    kind = written.replace("_", "-") if isinstance(written, str) else ""
    if kind in _NOT_CARRIED or kind not in _NAMES:
        if kind in _NOT_CARRIED or not kind or kind in NOT_CARRIED:
            part.leave_whole(_NOT_CARRIED.get(kind) or NOT_CARRIED.get(kind) or "it has no type")
            return []
        return _like_promptfoo(item, kind, part, source, draft)
    part.take("type")
    try:
        definition = _CARRIED[_NAMES[kind]](part, source, draft)
        definition |= _common(part, definition)
    except CannotCarryError as error:
        part.leave_whole(str(error))
        return []
    problem = draft.evaluator_problem(definition)
    if problem is not None:
        part.leave_whole(problem)
        return []
    part.leave_rest("Evenhand has nothing for it")
    return [definition]


def _like_promptfoo(item: Mapped, kind: str, part: Part, source: Source, draft: Draft) -> list[Definition]:
    """Carry over an assertion that AgentV has from promptfoo; what AgentV adds to all graders is added here too."""

    def judge(provider: Any) -> Any:
        return model_of(provider, name="the grader", file=part.file, line=item.line, draft=draft)

    rest = item.with_value("type", kind)
    options = draft.part(item, part.name, part.file)
    for key in ("required", "min_score", "negate", "name"):
        rest = rest.without(key) if key in rest else rest
    alone = Listed(item.line)
    alone.append(rest)
    alone.lines.append(item.line)
    made = evaluators_of(alone, part.file, Scope(source, draft, {}, lambda _: None, judge, all_must_pass=False))
    try:
        return [{**definition, **_common(options, definition)} for definition in made]
    except CannotCarryError as error:
        part.leave_whole(str(error))
        return []


def _common(part: Part, definition: Definition) -> Definition:
    """Carry over what every grader may have."""
    options: Definition = {}
    name = part.take("name", "metric")
    if isinstance(name, str):
        options["name"] = name
    weight = part.take("weight")
    if weight is not None and "weight" not in definition:
        options["weight"] = weight
    required, least = part.take("required"), part.take("min_score")
    if required is True or is_finite_number(required):
        mark = _USUAL_REQUIRED if required is True else float(required)
        options |= {"required": True, "thresholds": {"pass": max(mark, _USUAL_REQUIRED), "borderline": mark}}
    if is_finite_number(least):
        options["thresholds"] = {"pass": least, "borderline": least}
    if part.take("negate") is True:
        if definition["type"] in {"llm_judge", "code_judge", "composite", "schema", "field_accuracy"}:
            raise CannotCarryError("its opposite cannot be judged; say in the rubric what must not be")
        options["negate"] = not definition.get("negate", False)
    return options


def _llm(part: Part, source: Source, draft: Draft) -> Definition:
    definition: Definition = {"type": "llm_judge"}
    rubrics = part.listed("rubrics")
    prompt = part.take("prompt")
    if rubrics:
        definition |= {"rubrics": _items(rubrics, part.name, part.file, draft)}
        if not definition["rubrics"]:
            raise CannotCarryError("none of its rubrics is carried over")
    if prompt is not None:
        if not isinstance(prompt, str):
            raise CannotCarryError("its prompt is made by a program, and no program of another tool is run")
        if rubrics:
            part.leave("prompt", "with rubrics, no prompt is used")
        else:
            definition["template"] = _template(_prompt_text(prompt, source))
    for key in ("model", "target", "provider"):
        part.leave(key, "the judge is named by the suite, or with --judge")
    return definition


def _prompt_text(prompt: str, source: Source) -> str:
    """Return the text of a prompt, which may be that of a file."""
    is_named = prompt.startswith("file://")
    if is_named or (len(prompt) < 200 and "\n" not in prompt and prompt.endswith((".md", ".txt", ".j2"))):
        return source.text(prompt)
    return prompt


def _template(text: str) -> str:
    def renamed(match: re.Match[str]) -> str:
        if match[1] not in _PLACES:
            raise CannotCarryError(
                f"its prompt uses {match[1]!r:.80}, which has no value here{did_you_mean(match[1], _PLACES)}"
            )
        return f"{{{{ {_PLACES[match[1]]} }}}}"

    return _PLACE.sub(renamed, text)


def _rubrics(part: Part, _: Source, draft: Draft) -> Definition:
    made = _items(part.listed("rubrics", "criteria"), part.name, part.file, draft)
    if not made:
        raise CannotCarryError("it has no rubrics that could be carried over")
    part.leave("prompt", "with rubrics, no prompt is used")
    return {"type": "llm_judge", "rubrics": made}


def rubric_items(rubrics: Listed, label: str, file: str, draft: Draft, *, name: str) -> list[Definition]:
    """Return an evaluator for a list of rubric items; none where no item could be carried over."""
    made = _items(rubrics, label, file, draft)
    return [{"name": name, "type": "llm_judge", "rubrics": made}] if made else []


def _items(rubrics: Listed, label: str, file: str, draft: Draft) -> list[Any]:
    made: list[Any] = []
    for number, (item, line) in enumerate(items(rubrics), 1):
        name = f"{label}: item {number}"
        if isinstance(item, str):
            made.append(item)
        elif not isinstance(item, Mapped):
            draft.left.add(file, line, name, "it must be text or a mapping")
        else:
            with draft.part(item, name, file) as part:
                fields = _item(part)
            problem = draft.evaluator_problem({"type": "llm_judge", "rubrics": [fields]})
            if problem is None:
                made.append(fields)
            else:
                draft.left.add(file, line, name, problem)
    return made


def _item(part: Part) -> Definition:
    fields = {
        "id": part.take("id"),
        "description": part.take("description", "outcome", "expected_outcome"),
        "weight": part.take("weight"),
        "required": part.take("required"),
        "score_ranges": _bands(part.take("score_ranges")),
        "required_min_score": part.take("required_min_score"),
    }
    least = part.take("min_score")
    if is_finite_number(least) and fields["score_ranges"]:
        fields["required_min_score"] = math.ceil(least * 10 - 1e-9)
    elif least is not None:
        part.leave("min_score", "an item without score_ranges is met or not")
    if part.mapping.get("operator") == "correctness":
        part.take("operator")
    part.leave("operator", "say in the item what the answer must not contradict")
    return {key: value for key, value in fields.items() if value is not None}


def _bands(ranges: Any) -> Any:
    """Return score ranges as bands of ours; AgentV has their ends in a list."""
    made = plain(ranges)
    if not isinstance(made, list):
        return made
    return [
        {"min": band["score_range"][0], "max": band["score_range"][1], "outcome": band.get("outcome")}
        if isinstance(band, dict) and isinstance(band.get("score_range"), list) and len(band["score_range"]) == 2
        else band
        for band in made
    ]


def _command(value: Any) -> list[str]:
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return list(value)
    if not isinstance(value, str) or not value.strip():
        raise CannotCarryError("it names no program")
    if _SHELL.search(value):
        raise CannotCarryError("its command needs a shell, and no shell reads a command here")
    try:
        return shlex.split(value)
    except ValueError as error:
        raise CannotCarryError(f"its command cannot be read: {error}") from None


def _code(part: Part, _: Source, __: Draft) -> Definition:
    definition: Definition = {"type": "code_judge", "command": _command(plain(part.take("command", "script")))}
    if part.has("script"):
        part.leave("script", "command is used")
    for key in ("cwd", "config"):
        if (value := part.take(key)) is not None:
            definition[key] = plain(value)
    for key in ("target", "provider"):
        part.leave(key, "a program asks models by itself")
    return definition


def _composite(part: Part, source: Source, draft: Draft) -> Definition:
    listed = part.listed("assertions", "assert", "evaluators")
    members = named(graders_of(listed, part.file, source, draft))
    if not members:
        raise CannotCarryError("none of its members is carried over")
    if len(members) < len(listed):
        part.note("it is judged without the members that are not carried over")
    definition: Definition = {"type": "composite", "members": members}
    aggregator = part.part("aggregator", f"{part.name}: aggregator")
    if aggregator is not None:
        with aggregator:
            definition["aggregator"] = _aggregator(aggregator, members)
    return definition


def _aggregator(part: Part, members: list[Definition]) -> Any:
    kind = str(part.take("type")).replace("-", "_").replace("grader", "judge")
    if kind == "weighted_average":
        weights = part.take("weights") or {}
        for member in members:
            if "weight" in member:
                part.note(f"the weight of {member['name']!r:.80} stands among the weights here, not in the member")
            member["weight"] = weights.get(member["name"], 1)
        for name in [name for name in weights if name not in {member["name"] for member in members}]:
            part.left.add(
                part.file, part.line("weights"), f"{part.name}: the weight of {name!r:.80}", "no member has it"
            )
        return kind
    if kind == "threshold":
        return {"type": kind, "threshold": part.take("threshold")}
    if kind == "code_judge":
        made = {"type": kind, "command": _command(plain(part.take("command", "path")))}
        return made if (cwd := part.take("cwd")) is None else made | {"cwd": cwd}
    if kind == "llm_judge":
        for key in ("prompt", "model"):
            part.leave(key, "the meta-judge has a prompt of Evenhand's, and the judge of the suite")
        return kind
    raise CannotCarryError(f"there is no aggregator {kind!r:.80}")


def _text_check(kind: str) -> Callable[[Part, Source, Draft], Definition]:
    def make(part: Part, _: Source, __: Draft) -> Definition:
        value = part.take("value")
        if not isinstance(value, str):
            raise CannotCarryError("its value must be text")
        if kind == "equals":
            return {"type": kind, "value": value.strip(), "strip": True}
        part.note("white space around the answer counts here", "type")
        return {"type": kind, "value": value.strip()}

    return make


def _regex(part: Part, _: Source, __: Draft) -> Definition:
    value, flags = part.take("value"), part.take("flags")
    if not isinstance(value, str) or (flags is not None and not set(str(flags)) <= set("gims")):
        raise CannotCarryError("its value must be a pattern, with no flags but g, i, m and s")
    ours = "".join(flag for flag in str(flags or "") if flag != "g")
    return {"type": "regex", "value": f"(?{ours}){value}" if ours else value}


# A number within a path that names the place in a list.
_PLACE_IN_LIST: Final = re.compile(r"\.([0-9]{1,6})(?![^.\[])")
_MATCHES: Final = {"exact": "exact", "numeric_tolerance": "number", "date": "date"}


def _fields(part: Part, _: Source, draft: Draft) -> Definition:
    listed = part.listed("fields")
    made = []
    for number, (item, line) in enumerate(items(listed), 1):
        name = f"{part.name}: field {number}"
        if not isinstance(item, Mapped) or not isinstance(item.get("path"), str):
            raise CannotCarryError(f"its field {number}, in line {line}, has no path")
        with draft.part(item, name, part.file) as rule:
            made.append(_field(rule))
    if not made:
        raise CannotCarryError("it has no fields")
    aggregation = part.take("aggregation")
    aggregator = "all" if aggregation == "all_or_nothing" else aggregation or "weighted_average"
    return {"type": "field_accuracy", "fields": made, "parse": "tolerant", "aggregator": aggregator}


def _field(part: Part) -> Definition:
    match = str(part.take("match") or "exact").replace("-", "_")
    path = _PLACE_IN_LIST.sub(r"[\1]", part.take("path"))
    rule: Definition = {"path": path, "match": _MATCHES.get(match, match)}
    if (weight := part.take("weight")) is not None:
        rule["weight"] = weight
    if part.take("required") is False:
        rule["optional"] = True
    if match == "numeric_tolerance":
        tolerance, relative = part.take("tolerance"), part.take("relative")
        if relative is True:
            part.note("of an expected 0, a relative tolerance allows nothing here", "relative")
        rule["relative" if relative is True else "tolerance"] = tolerance or 0
    if match == "date":
        rule["formats"] = _formats(part)
    return rule


def _formats(part: Part) -> list[str]:
    """Return formats of dates as ours; where the day and the month may both come first, only the month may here."""
    written = plain(part.take("formats"))
    forms = ["DD-MMM-YYYY", "MM/DD/YYYY", "MM-DD-YYYY", "DD/MM/YYYY"] if written is None else written
    if not isinstance(forms, list) or not all(isinstance(form, str) for form in forms):
        raise CannotCarryError("its formats must be a list of texts")
    days = [form.replace("DD", "D") for form in forms if not form.startswith("YYYY")]
    month_first = any(form.startswith("MM") for form in days)
    kept = [form for form in days if "MMM" in form or not (month_first and form.startswith("D"))]
    if len(kept) < len(days):
        part.note("of dates such as 01/02/2025 the month comes first; no date is read with its day first", "formats")
    return ["YYYY-MM-DD", *(form if "MMM" in form else form.replace("MM", "M") for form in dict.fromkeys(kept))]


def _limit(kind: str, key: str, unit: float) -> Callable[[Part, Source, Draft], Definition]:
    def make(part: Part, _: Source, __: Draft) -> Definition:
        limit = part.take(key)
        if not is_finite_number(limit):
            raise CannotCarryError(f"its {key} must be a number")
        return {"type": kind, "max": limit / unit}

    return make


_CARRIED: Final[Mapping[str, Callable[[Part, Source, Draft], Definition]]] = {
    "llm": _llm,
    "rubrics": _rubrics,
    "code": _code,
    "composite": _composite,
    "equals": _text_check("equals"),
    "starts_with": _text_check("starts_with"),
    "ends_with": _text_check("ends_with"),
    "regex": _regex,
    "fields": _fields,
    "latency": _limit("latency", "threshold", 1000),
    "cost": _limit("cost", "budget", 1),
}
