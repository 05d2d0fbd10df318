"""Whatever stands under the keys of other tools, a conversion ends with a valid suite, or with a message."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from evenhand.convert.conversion import convert
from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import check

WORDS = [
    "a", "", "{{q}}", "{{ x | y }}", "file://a.txt", "file://../a.yaml", "https://x.y/z", "openai:x", "ollama:chat:y", "yes",
    "contains", "llm-rubric", "not-equals", "assert-set", "levenshtein", "llm_judge", "code_judge", "composite", "rubric",
    "regex", "latency", "(", "weighted_average", "user", "assistant", "1e3", "#", "one\ntwo",
]  # fmt: skip
TESTS = ("id", "description", "vars", "assert", "threshold", "options", "metadata", "providerOutput", "input", "criteria",
         "input_messages", "expected_messages", "expected_output", "rubrics", "evaluators", "execution", "assertions",
         "input_files", "conversation_id", "inputs", "outputs", "reference_outputs")  # fmt: skip
GRADERS = ("type", "value", "threshold", "weight", "metric", "provider", "transform", "assert", "name", "prompt", "rubrics",
           "script", "command", "evaluators", "aggregator", "required", "min_score", "negate", "flags", "$ref", "outcome",
           "score_ranges", "budget", "role", "content", "q", "weights", "path")  # fmt: skip
FILES = ("description", "name", "prompts", "providers", "tests", "defaultTest", "evaluateOptions", "evalcases", "execution",
         "assertions", "metadata", "tags", "env", "input", "assertionTemplates", "repeat", "timeoutMs", "workers")  # fmt: skip

leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 20), st.floats(-1, 2, allow_nan=False), st.sampled_from(WORDS)
)


def mappings(keys: tuple[str, ...], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(keys), values, max_size=6)


inner = st.recursive(leaves, lambda each: st.one_of(st.lists(each, max_size=3), mappings(GRADERS, each)), max_leaves=12)
tests = mappings(TESTS, st.one_of(inner, st.lists(mappings(GRADERS, inner), max_size=3)))
# What is right by itself, and stands under what is not.
RIGHT = {"vars": {"q": "a"}, "input": "b", "inputs": "c"}
FILE = {"prompts": ["{{q}}"], "providers": ["ollama:chat:y"]}
whole = st.builds(
    lambda file, listed: {**FILE, **file, "tests": [RIGHT, *({**RIGHT, **test} for test in listed)]},
    mappings(FILES, st.one_of(inner, tests)),
    st.lists(tests, max_size=3),
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["promptfoo", "agentv", "openevals"])
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=25
)
@given(value=whole)
def test_a_conversion_ends_with_a_valid_suite_or_a_message(kind: str, value: Any) -> None:
    if kind == "agentv":
        value = {key: item for key, item in value.items() if key not in FILE}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.json")
        path.write_text(json.dumps(value["tests"] if kind == "openevals" else value))
        (Path(folder) / "a.txt").write_text("some text")
        try:
            conversion = convert(path, kind)
        except ConfigError:
            return
        (Path(folder) / "suite.yaml").write_text(conversion.text)

        assert check(Path(folder) / "suite.yaml").problems == ()
