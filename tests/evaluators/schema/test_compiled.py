from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from evenhand import SchemaEvaluator
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.evaluation import Status
from evenhand.evaluators.schema.compiled import MAX_SCHEMA_VALUES, CompiledSchema, compile_schema
from evenhand.evaluators.schema.patterns import MAX_LARGE, MAX_LENGTH

Json = Any


def nested(depth: int, value: Json = "end") -> Json:
    for _ in range(depth):
        value = [value]
    return value


def doubling(depth: int) -> Json:
    """Make a schema whose last definition is reached on two to the power of ``depth`` ways."""
    definitions: dict[str, Json] = {
        f"a{number}": {"allOf": [{"$ref": f"#/$defs/a{number + 1}"}, {"$ref": f"#/$defs/a{number + 1}"}]}
        for number in range(depth)
    }
    return {"$ref": "#/$defs/a0", "$defs": definitions | {f"a{depth}": {"type": "string"}}}


def chained(length: int) -> Json:
    schema: Json = {"type": "string"}
    for _ in range(length):
        schema = {"allOf": [schema]}
    return schema


# Errors in values


def test_every_error_is_told_with_its_path() -> None:
    schema = {
        "required": ["name"],
        "properties": {"items": {"items": {"properties": {"price": {"type": "number"}, "unit price": {"minimum": 0}}}}},
    }

    errors = compile_schema(schema).errors({"items": [{}, {"unit price": -1}, {"price": "x"}]})

    assert sorted(errors) == [
        ("$", '"name" is a required property'),
        ('$.items[1]["unit price"]', "-1 is less than the minimum of 0"),
        ("$.items[2].price", '"x" is not of type "number"'),
    ]


def test_a_valid_value_has_no_errors() -> None:
    assert compile_schema({"type": "object"}).errors({}) == []


def test_where_no_alternative_fits_the_error_says_what_each_was_missing() -> None:
    schema = {"anyOf": [{"required": ["email"]}, {"properties": {"age": {"const": 3}}}]}

    ((path, message),) = compile_schema(schema).errors({"age": 4})

    assert path == "$"
    assert '"email" is a required property' in message
    assert "$.age: 3 was expected" in message


def test_an_error_that_is_found_twice_is_told_once() -> None:
    assert compile_schema(doubling(3)).errors(1) == [("$", '1 is not of type "string"')]


def test_a_long_value_is_shortened_in_the_message() -> None:
    ((_, message),) = compile_schema({"type": "number"}).errors("x" * 100_000)

    assert len(message) < 400
    assert message.endswith('is not of type "number"')


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"const": 1}, 1.0, True),
        ({"enum": [1]}, True, False),
        ({"type": "integer"}, 1.0, True),
        ({"multipleOf": 0.01}, 0.07, True),
        ({"maximum": 10**30}, 10**30 + 1, False),
        ({"const": 10**1000}, 10**1000, True),
        ({"minLength": 10**30}, "x", False),
        ({"maxItems": 2.0}, [1, 2, 3], False),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"uniqueItems": True}, [1, True], True),
        ({"type": "string"}, "\ud800", True),
        ({"properties": {"a": {"type": "string"}}}, {"\ud800": 1, "a": 1}, False),
        ({"format": "email"}, "not an address", True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "format": "email"}, "not an address", True),
    ],
)
def test_what_is_valid(schema: Json, value: Json, valid: bool) -> None:
    assert (compile_schema(schema).errors(value) == []) is valid


def test_the_draft_is_the_one_that_the_schema_names() -> None:
    items = {"items": [{"type": "string"}], "additionalItems": False}
    old = {"$schema": "http://json-schema.org/draft-07/schema#", **items}

    assert compile_schema(old).errors(["a", "b"]) != []
    with pytest.raises(ConfigError, match=r"\$\.items"):
        compile_schema(items)


def test_the_same_schema_is_compiled_once() -> None:
    schema = {"type": "object", "title": "Compiled once"}

    assert compile_schema(schema) is compile_schema(json.loads(json.dumps(schema)))


def test_any_mapping_is_taken_for_a_schema() -> None:
    schema = types.MappingProxyType({"properties": types.MappingProxyType({"a": False})})

    assert compile_schema(schema).errors({"a": 1}) == [("$.a", "False schema does not allow 1")]


# Schemas that are none


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ("nonsense", "not JSON at column 1"),
        ('{"type":\n  "object",}', "not JSON at line 2 column 1[12]"),
        ('{"type": "object", "type": "array"}', "duplicate key"),
        ('"object"', "is not of types"),
        ("[]", "is not of types"),
        ("  ", "there is no text"),
        (["object"], "must be an object, true or false, not list"),
        ({1: {}}, "the key 1 is not text"),
        ({"default": {1, 2}}, "what JSON cannot"),
        ({"default": float("nan")}, "what JSON cannot"),
        ({"const": "\ud800"}, "surrogate"),
        ({"type": "strin"}, r'\$\.type: "strin" is not valid'),
        ({"properties": {"a": {"minimum": "x"}}}, r'\$\.properties\.a\.minimum: "x" is not of type "number"'),
        ({"required": ["a", "a"]}, r"\$\.required"),
        ({"items": {"pattern": "("}}, r"\$\.items has '\(', which is not a regular expression"),
        ({"patternProperties": {"[": {}}}, r"\$ has '\[', which is not a regular expression"),
        ({"pattern": "(a{1000}){1000}"}, "not a regular expression, or is too large"),
        ({"pattern": "a" * (MAX_LENGTH + 1)}, "a pattern of 10001 characters"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "known: drafts 4, 6, 7"),
        ({"$schema": "https://example.org/dialect"}, "its meta-schema 'https://example.org/dialect' is unknown"),
        ({"$ref": "https://example.org/other"}, "'https://example.org/other', which is elsewhere; nothing is fetched"),
        ({"$id": "https://example.org/a", "$ref": "b"}, "'https://example.org/b', which is elsewhere"),
        ({"$ref": "other.json"}, "'other.json', which is elsewhere"),
        ({"$ref": "file:///etc/passwd"}, "which is elsewhere"),
        (
            {"items": {"$ref": "#/$defs/nowhere"}},
            r"\$\.items\.\$ref is '#/\$defs/nowhere', but there is no schema there",
        ),
        ({"$ref": "#nowhere"}, "but there is no schema there"),
        ({"$ref": "#/foo", "foo": {"pattern": 5}}, r"\$\.foo\.pattern"),
    ],
)
def test_what_is_no_schema_is_refused_and_said_why(schema: Json, complaint: str) -> None:
    with pytest.raises(ConfigError, match=f"^schema: .*{complaint}"):
        compile_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": ""},
        {"allOf": [{"$ref": "#"}]},
        {"not": {"$ref": "#"}},
        {"if": {"$ref": "#"}},
        {"dependentSchemas": {"a": {"$ref": "#"}}},
        {"$id": "https://example.org/a", "anyOf": [{"$ref": "https://example.org/a"}]},
        {"$anchor": "here", "oneOf": [{"$ref": "#here"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"$ref": "#/else/where", "else": {"where": {"$ref": "#"}}},
    ],
)
def test_a_schema_that_refers_to_itself_without_progress_is_refused(schema: Json) -> None:
    with pytest.raises(ConfigError, match="refers to itself without going deeper"):
        compile_schema(schema)


def test_a_ref_hides_what_stands_beside_it_in_old_drafts() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/a",
        "allOf": [{"$ref": "#"}],
        "definitions": {"a": {"type": "string"}},
    }

    assert compile_schema(schema).errors(1) == [("$", '1 is not of type "string"')]


def test_a_schema_may_refer_to_itself_further_down() -> None:
    tree = {"required": ["name"], "properties": {"children": {"items": {"$ref": "#"}}}}

    errors = compile_schema(tree).errors({"name": "a", "children": [{"name": "b", "children": [{}]}]})

    assert errors == [("$.children[0].children[0]", '"name" is a required property')]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ({"enum": list(range(MAX_SCHEMA_VALUES))}, "more than 10000 values"),
        ({"const": nested(101)}, "nested more than 100 levels deep"),
        ('{"not":' * 200 + "true" + "}" * 200, "nested too deep"),
        ({"description": "x" * 1_000_001}, "characters; at most"),
        (doubling(19), "more than 1000000 times"),
        (doubling(1_000), "more than 1000000 times"),
        (
            {"properties": {str(n): {"pattern": rf"^\p{{L}}{{1,{40 + n}}}$"} for n in range(MAX_LARGE + 1)}},
            "large patterns",
        ),
    ],
)
def test_a_schema_that_is_too_much_is_refused(schema: Json, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        compile_schema(schema)


def test_what_doubles_further_down_matters_to_documents_that_reach_it() -> None:
    compiled = compile_schema({"items": {"$ref": "#/$defs/a0"}, "$defs": doubling(20)["$defs"]})

    assert compiled.errors([]) == []
    assert compiled.hazard(["text"]) == "it may take too many steps"


def test_a_value_that_contains_itself_is_no_schema() -> None:
    schema: dict[str, Json] = {}
    schema["not"] = schema

    with pytest.raises(ConfigError, match="nested more than 100 levels deep"):
        compile_schema(schema)


# What is checked here, and what is not


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "string", "pattern": "^[a-z]+$"}}, "required": ["a"]},
        {"$defs": {"b": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/b"}}},
        {"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "object"}]},
        {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
        {"properties": {"a": {"pattern": "^(?=.*[A-Z]).{1,300}$"}}},
        doubling(10),
    ],
)
def test_usual_schemas_and_answers_are_checked_at_once(schema: Json) -> None:
    compiled = compile_schema(schema)

    assert compiled.apart is None
    assert compiled.hazard({"a": "some text"}) is None


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}, r"\$\.items has a \$dynamicRef"),
        ({"$defs": {"a": {"$id": "a"}}, "items": {"$ref": "a"}}, r"\$\.\$defs\.a has its own \$id"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, r"\$\.\$ref leads out of the schema"),
        (
            {"items": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}},
            r"\$\.items has its own \$schema",
        ),
        ({"pattern": "(?:[a-z]{1,500}){1,20}x"}, "huge pattern"),
        ({"allOf": [chained(25)], "unevaluatedProperties": False}, "asks what is unevaluated across many subschemas"),
        (
            {"items": {"$ref": "#/$defs/a0", "unevaluatedItems": False}, "$defs": doubling(12)["$defs"]},
            "asks what is unevaluated across many subschemas",
        ),
    ],
)
def test_what_cannot_be_counted_is_never_checked_here(schema: Json, reason: str) -> None:
    compiled = compile_schema(schema)

    assert compiled.apart is not None
    with pytest.raises(ContractError, match=f"was not checked: .*{reason}") as raised:
        compiled.errors([])
    assert raised.value.kind == "schema"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"type": "string"}}, [1] * 20_000),
        ({"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}, nested(30)),
        ({"items": {"required": [f"key {number}" for number in range(5_000)]}}, [{}] * 50),
        ({"items": {"maximum": 3}}, [10**4000] * 1_000),
        ({"items": {"enum": [{"a": number} for number in range(3_000)]}}, [{"a": -1}] * 10_000),
        ({"pattern": "^.{1,900}x$"}, "a" * 10_000),
        ({"items": {"pattern": r"(.*)(.*)(.*)\1\2!"}}, ["x" * 99] * 100),
        ({"anyOf": [{"anyOf": [{"anyOf": [{"items": {"$ref": "#"}}]}]}]}, nested(99)),
        (True, nested(101)),
    ],
)
def test_what_may_take_long_or_nest_too_deep_is_not_checked_here(schema: Json, value: Json) -> None:
    with pytest.raises(ContractError, match="was not checked"):
        compile_schema(schema).errors(value)


@pytest.mark.parametrize("schema", [{"pattern": r"(.*)(.*)(.*)\1\2!"}, {"not": {"pattern": r"(.*)(.*)(.*)\1\2!"}}])
def test_a_pattern_that_could_not_be_decided_is_neither_a_match_nor_a_mismatch(schema: Json) -> None:
    with pytest.raises(ContractError, match="could not be decided on 'xxx"):
        compile_schema(schema).errors("x" * 300)


def test_look_around_and_references_back_are_decided_where_they_can_be() -> None:
    compiled = compile_schema({"items": {"pattern": r"^(?=.*\d)(\w)\w*\1$"}})

    assert compiled.errors(["a1a", "aba"]) == [("$[1]", r'"aba" does not match "^(?=.*\d)(\w)\w*\1$"')]


def test_what_is_no_json_value_cannot_be_checked() -> None:
    with pytest.raises(ContractError, match="cannot be checked"):
        compile_schema({"type": "string"}).errors(b"bytes")


# The official test suite

SUITE = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "json_schema_test_suite" / "tests"
DIALECTS = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
FILES = [
    pytest.param(draft, path, id=f"{draft}-{path.stem}") for draft in DIALECTS for path in sorted((SUITE / draft).glob("*.json"))
]  # fmt: skip
NOT_HERE = pytest.mark.skip(reason="../shared/data/json_schema_test_suite is not here")

# The groups whose schemas refer to documents that a server of the suite would have: refused here, all of them.
REMOTE = {
    "draft7-refRemote": {
        "remote ref",
        "fragment within remote ref",
        "ref within remote ref",
        "base URI change",
        "base URI change - change folder",
        "base URI change - change folder in subschema",
        "root ref in remote ref",
        "remote ref with ref to definitions",
        "Location-independent identifier in remote ref",
        "retrieved nested refs resolve relative to their URI not $id",
        "$ref to $ref finds location-independent $id",
    },
    "draft2020-12-refRemote": {
        "remote ref",
        "fragment within remote ref",
        "anchor within remote ref",
        "ref within remote ref",
        "base URI change",
        "base URI change - change folder",
        "base URI change - change folder in subschema",
        "root ref in remote ref",
        "remote ref with ref to defs",
        "Location-independent identifier in remote ref",
        "retrieved nested refs resolve relative to their URI not $id",
        "remote HTTP ref with different $id",
        "remote HTTP ref with different URN $id",
        "remote HTTP ref with nested absolute ref",
        "$ref to $ref finds detached $anchor",
    },
    "draft2020-12-dynamicRef": {
        "strict-tree schema, guards against misspelled properties",
        "tests for implementation dynamic anchor and reference link",
        "$ref and $dynamicAnchor are independent of order - $defs first",
        "$ref and $dynamicAnchor are independent of order - $ref first",
        "$ref to $dynamicRef finds detached $dynamicAnchor",
    },
    "draft2020-12-vocabulary": {
        "schema that uses custom metaschema with with no validation vocabulary",
        "ignore unrecognized optional vocabulary",
    },
}


@pytest.mark.parametrize(("draft", "path"), FILES or [pytest.param("", Path(), marks=NOT_HERE)])
def test_the_official_test_suite_agrees(draft: str, path: Path) -> None:
    groups = json.loads(path.read_text(encoding="utf-8"))

    refused: dict[str, str] = {}
    disagreeing: list[str] = []
    for group in groups:
        schema = group["schema"]
        if isinstance(schema, dict):
            schema = {"$schema": DIALECTS[draft], **schema}
        try:
            compiled = compile_schema(schema)
        except ConfigError as error:
            refused[group["description"]] = str(error)
            continue
        # Nothing in the suite takes long, so that its schemas need no process of their own.
        disagreeing += [
            f"{group['description']}: {test['description']}"
            for test in group["tests"]
            if (compiled.errors_at_any_price(test["data"]) == []) is not test["valid"]
        ]

    assert disagreeing == []
    assert refused.keys() == REMOTE.get(f"{draft}-{path.stem}", set())
    assert all("localhost:1234" in complaint for complaint in refused.values())


# Nothing is fetched


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """Return the address of a server on this machine, and a list of who called."""
    callers: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, caller = server.accept()
                except OSError:
                    return
                callers.append(str(caller))
                connection.close()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", callers
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


@pytest.mark.parametrize(
    "template",
    [
        {"$ref": "URL/schema"},
        {"$ref": "URL/schema#/$defs/a"},
        {"$schema": "URL/schema"},
        {"$schema": "URL/schema", "$id": "URL/schema"},
        {"$dynamicRef": "URL/schema#node"},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "URL/schema"},
        {"$id": "URL/base/", "$ref": "other"},
        {"$id": "URL/base/", "items": {"$id": "inner/", "$ref": "other"}},
        {"$defs": {"unused": {"$ref": "URL/schema"}}},
        {"$defs": {"a": {"$id": "URL/a", "$schema": "URL/dialect", "type": "string"}}, "$ref": "URL/a"},
        {"$ref": "#/unknown", "unknown": {"$ref": "URL/schema"}},
        {"$vocabulary": {"URL/vocabulary": True}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "URL/a", "allOf": [{"$ref": "b.json"}]},
        {"$schema": "http://json-schema.org/draft-04/schema#", "id": "URL/a", "allOf": [{"$ref": "b.json"}]},
        {"properties": {"$ref": {"$ref": "URL/schema"}}},
        {"contentSchema": {"$ref": "URL/schema"}, "contentMediaType": "application/json"},
        {"enum": [{"$ref": "URL/schema"}], "default": {"$schema": "URL/schema"}},
    ],
)
def test_nothing_that_a_schema_names_is_fetched(template: Json, listener: tuple[str, list[str]]) -> None:
    url, callers = listener
    schema = json.dumps(template).replace("URL", url)

    evaluation = SchemaEvaluator().evaluate(Case(candidate_answer='{"a": "b"}', evaluation_schema=schema))

    assert callers == []
    assert evaluation.status in {Status.SCORED, Status.ERROR}
    if evaluation.status is Status.ERROR:
        assert str(evaluation.error).startswith("schema: ")


def test_the_listener_would_have_heard_a_call(listener: tuple[str, list[str]]) -> None:
    url, callers = listener

    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=10) as connection:
        connection.recv(1)

    assert len(callers) == 1


# Hostile schemas and documents, each in a process of its own, so that a crash is seen

HOSTILE_SCHEMAS: dict[str, tuple[Json, Json]] = {
    "itself": ({"$ref": "#"}, 1),
    "itself in a ring": ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, 1),
    "doubling": (doubling(30), 1),
    "doubling and valid": (doubling(30), "text"),
    "factorial by ids": (
        {
            "$id": "https://example.org/root",
            "$ref": "0",
            "$defs": {
                str(one): {
                    "$id": f"https://example.org/{one}",
                    "properties": {str(other): {"$ref": str(other)} for other in range(14)},
                }
                for one in range(14)
            },
        },
        1,
    ),
    "unevaluated by references": (
        {
            "$ref": "#/$defs/29",
            "unevaluatedProperties": False,
            "$defs": {
                str(one): {"anyOf": [{"$ref": f"#/$defs/{other}"} for other in range(one)] or [True]} for one in range(30)
            },
        },
        {"a": 1},
    ),
    "a long chain": (
        {"$ref": "#/$defs/0", "$defs": {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(3_000)} | {"3000": {"$ref": "#"}}},
        1,
    ),
    "a large automaton": ({"pattern": "(?:[a-z]{1,500}){1,20}x"}, "a" * 100_000),
    "a huge repetition": ({"pattern": "(a{1000}){1000}"}, "a"),
    "backtracking": ({"pattern": r"(.*)(.*)(.*)(.*)\1\2\3!"}, "x" * 2_000),
    "backtracking under not": ({"not": {"pattern": r"(.*)(.*)(.*)(.*)\1\2\3!"}}, "x" * 2_000),
    "backtracking in keys": ({"patternProperties": {r"(.*)(.*)(.*)\1\2!": False}}, {"x" * 500: 1}),
    "options by items": ({"items": {"enum": [{"a": n} for n in range(3_000)]}}, [{"a": 2_999}] * 20_000),
}  # fmt: skip

HOSTILE_DOCUMENTS: dict[str, tuple[Json, str]] = {
    "unique objects": ({"uniqueItems": True}, json.dumps([{"a": n} for n in range(100_000)])),
    "many errors": ({"items": {"type": "string"}}, json.dumps([1] * 200_000)),
    "deeper than the stack": (True, "[" * 200_000 + "]" * 200_000),
    "deeper than the stack, unclosed": (True, "[" * 1_000_000),
    "nested through alternatives": (
        {"anyOf": [{"anyOf": [{"oneOf": [{"items": {"$ref": "#"}}]}]}], "type": ["array", "null"]},
        json.dumps(nested(99)),
    ),
    "doubling on the way down": (
        {"type": "array", "allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]},
        json.dumps(nested(99)),
    ),
    "catastrophic if it backtracked": ({"pattern": "^(a+)+$"}, json.dumps("a" * 100_000 + "!")),
    "catastrophic with look-around": ({"pattern": "(?=(a+)+$)b"}, json.dumps("a" * 5_000 + "!")),
    "alternatives that overlap": ({"pattern": "^(a|a)*$"}, json.dumps("a" * 100_000 + "!")),
    "overlapping words": ({"pattern": r"^(\w+\s?)*$"}, json.dumps("word " * 20_000 + "!")),
    "large numbers": ({"items": {"multipleOf": 7}}, f"[{', '.join([str(10**4_000)] * 2_000)}]"),
    "more digits than Python reads": (True, "1" * 100_000),
    "long text": ({"type": "number"}, json.dumps("x" * 5_000_000)),
}

# What takes half a second or more of work, or what a neighbour in quick tests is like.
COSTLY = {
    "factorial by ids", "a large automaton", "options by items", "unique objects", "doubling on the way down",
    "catastrophic with look-around", "alternatives that overlap", "large numbers",
}  # fmt: skip


def costly_ones_later(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.long] if name in COSTLY else []) for name in names]


# It forks for each answer: to start Python and load Evenhand takes longer than most of them.
IN_ITS_OWN_PROCESS = """
import json, os, sys
import jsonschema_rs
from evenhand import Case, SchemaEvaluator

for line in sys.stdin:
    if pid := os.fork():
        _, status = os.waitpid(pid, 0)
        if status:
            print(json.dumps({"died": os.waitstatus_to_exitcode(status)}), flush=True)
        continue
    given = json.loads(line)
    begun = sum(os.times()[:4])  # of work, its children's too: what others do on this machine does not count
    evaluation = SchemaEvaluator().evaluate(Case(candidate_answer=given["answer"], evaluation_schema=given["schema"]))
    result = {"status": evaluation.status, "score": evaluation.score, "error": evaluation.error}
    print(json.dumps({**result, "seconds": sum(os.times()[:4]) - begun, "misses": evaluation.misses[:3]}), flush=True)
    os._exit(0)
"""

Evaluated: TypeAlias = Callable[[Json, str], dict[str, Json]]


@pytest.fixture(scope="module")
def evaluated_in_its_own_process() -> Iterator[Evaluated]:
    with subprocess.Popen(
        [sys.executable, "-c", IN_ITS_OWN_PROCESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, told = process.stdin, process.stdout

        def evaluated(schema: Json, answer: str) -> dict[str, Json]:
            print(json.dumps({"schema": schema, "answer": answer}), file=asked, flush=True)
            result: dict[str, Json] = json.loads(told.readline())
            assert "died" not in result
            return result

        yield evaluated


@pytest.mark.slow
@pytest.mark.parametrize("name", costly_ones_later(HOSTILE_SCHEMAS))
def test_a_hostile_schema_ends_as_an_error_and_soon(name: str, evaluated_in_its_own_process: Evaluated) -> None:
    schema, value = HOSTILE_SCHEMAS[name]

    result = evaluated_in_its_own_process(schema, json.dumps(value))

    assert result["status"] == "error"
    assert result["error"].startswith("schema: ")
    assert result["seconds"] < 20  # a second and the start of a process, on a machine that is far slower


@pytest.mark.slow
@pytest.mark.parametrize("name", costly_ones_later(HOSTILE_DOCUMENTS))
def test_a_hostile_document_is_judged_and_soon(name: str, evaluated_in_its_own_process: Evaluated) -> None:
    schema, answer = HOSTILE_DOCUMENTS[name]

    result = evaluated_in_its_own_process(schema, answer)

    assert result["status"] in {"scored", "error"}
    assert result["seconds"] < 20
    if name != "unique objects":
        assert result["score"] == 0


def test_compiled_schemas_say_little_when_printed() -> None:
    compiled = compile_schema({"type": "object"})

    assert repr(compiled) == """CompiledSchema(text='{"type": "object"}', apart=None)"""
    assert isinstance(compiled, CompiledSchema)


def test_keys_that_look_like_places_in_a_list_are_shown_as_keys() -> None:
    schema = {"additionalProperties": {"items": {"additionalProperties": {"type": "integer"}}}}

    errors = compile_schema(schema).errors({"2024": [{"1": 1}, {"1": "x"}]})

    assert errors == [('$["2024"][1]["1"]', '"x" is not of type "integer"')]
