"""Secrets that were written into a suite are found, and never shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evenhand.suites.credentials import literal_credentials

HEAD = "evaluators: [{type: contains}]\ncases: [{id: a}]\n"
SECRET = "sk-very-secret"


@pytest.mark.parametrize(
    "text",
    [
        f"judge:\n  model: openai/x\n  api_key: {SECRET}",
        f"judge:\n  model: openai/x\n  api_key: '${{KEY}}{SECRET}'",
        f"judge:\n  model: openai/x\n  api_key: 'Bearer ${{KEY}} {SECRET}'",
        "judge:\n  model: openai/x\n  api_key: 12345678",
        f"target:\n  model: openai/x\n  api_key: {SECRET}",
        f"judge:\n  model: openai/x\n  headers: {{Authorization: Bearer {SECRET}}}",
        f"judge:\n  model: openai/x\n  headers: {{Authorization: '${{KEY}} {SECRET}'}}",
        f"judge:\n  model: openai/x\n  headers: {{X-Api-Key: {SECRET}}}",
        f"judge:\n  model: openai/x\n  headers: {{api-key: {SECRET}}}",
        f"judge:\n  model: openai/x\n  headers: {{x-goog-api-key: {SECRET}}}",
        f"judge:\n  model: openai/x\n  headers: {{Cookie: session={SECRET}}}",
        f"judge:\n  model: openai/x\n  headers: {{proxy-authorization: Basic {SECRET}}}",
        f"judge:\n  model: openai/x\n  headers: {{x-auth-token: {SECRET}}}",
        f"judge:\n  model: openai/x\n  proxy: http://me:{SECRET}@127.0.0.1:8080",
        f"judge:\n  model: openai/x\n  proxy: http://me:${{A}}{SECRET}@127.0.0.1:8080",
        f"judge:\n  model: openai/x\n  proxy: http://{SECRET}@127.0.0.1:8080",
        f"judge:\n  model: openai/x\n  proxy: http://{SECRET}:@127.0.0.1:8080",
        f"judge:\n  model: openai/x\n  proxy: http://me:a@b:{SECRET}@127.0.0.1:8080",
        f"target:\n  command: [app]\n  env: {{MODE: fast, ACCESS_TOKEN: {SECRET}}}",
    ],
)
def test_beside_the_cases(mistakes: Callable[[str], list[str]], text: str) -> None:
    (found,) = mistakes(f"{HEAD}{text}\n")

    assert found.startswith("suite.yaml:5: ")
    assert "${NAME}" in found or "${ACCESS_TOKEN}" in found
    assert SECRET not in found
    assert "12345678" not in found


@pytest.mark.parametrize(
    "evaluator",
    [
        f"{{type: llm_judge, judge: {{model: openai/x, api_key: {SECRET}}}}}",
        f"{{type: llm_judge, judge: {{model: openai/x, headers: {{authorization: {SECRET}}}}}}}",
        f"{{type: composite, members: [{{type: llm_judge, judge: {{model: openai/x, api_key: {SECRET}}}}}]}}",
        f"{{type: composite, members: [{{type: contains}}], aggregator: {{type: llm_judge, judge: {{model: openai/x, api_key: {SECRET}}}}}}}",
        f"{{type: code_judge, command: [x], env: {{APP_KEY: {SECRET}}}}}",
        f"{{type: code_judge, command: [x], config: {{deep: [{{apiKey: {SECRET}}}]}}}}",
    ],
)
def test_in_evaluators_however_deep(mistakes: Callable[[str], list[str]], evaluator: str) -> None:
    of_the_suite = mistakes(f"evaluators:\n- {evaluator}\ncases: [{{id: a}}]\n")
    of_a_case = mistakes(f"{HEAD[:31]}cases:\n- {{id: a, evaluators: [{evaluator}]}}\n")

    assert len(of_the_suite) == len(of_a_case) == 1
    assert of_the_suite[0].startswith("suite.yaml:2: ")
    assert of_a_case[0].startswith('suite.yaml:3, case "a": ')
    assert SECRET not in of_the_suite[0] + of_a_case[0]


@pytest.mark.parametrize(
    "text",
    [
        "judge: {model: openai/x, api_key: '${KEY}'}",
        "judge: {model: openai/x, api_key: ' ${KEY} '}",
        "judge: {model: openai/x, api_key: null}",
        "judge: {model: openai/x, headers: {Authorization: 'Bearer ${KEY}', X-Title: My suite, Cookie: 'a=${S}; lang=en'}}",
        "judge: {model: openai/x, proxy: 'http://me:${PASSWORD}@127.0.0.1:8080'}",
        "judge: {model: openai/x, proxy: 'http://${TOKEN}@127.0.0.1:8080'}",
        "judge: {model: openai/x, proxy: 'http://127.0.0.1:8080'}",
        "judge: {model: openai/x, headers: {Monkey-Tokens: some, X-Detokenized: yes-it-is}}",
        "target: {command: [app], env: {APP_KEY: '${KEY}', MODE: fast, TOKEN: ''}}",
        "metadata: {api_key: the field that our answers have}",
    ],
)
def test_references_are_fine(mistakes: Callable[[str], list[str]], text: str) -> None:
    assert mistakes(f"{HEAD}{text}\n") == []


def test_a_schema_may_speak_of_keys(mistakes: Callable[[str], list[str]]) -> None:
    schema = "{type: object, properties: {api_key: {type: string}, headers: {type: object}}, required: [api_key]}"

    assert (
        mistakes(f"evaluators: [{{type: schema, schema: {schema}}}]\ncases: [{{id: a, evaluation_schema: {schema}}}]\n")
        == []
    )


@pytest.mark.timeout(60)  # with one pattern that tries again and again, these take minutes
@pytest.mark.parametrize(
    ("key", "value", "is_secret"),
    [
        ("headers", {"Authorization": " " * 400_000 + "x"}, True),
        ("headers", {"Authorization": " " * 400_000}, False),
        ("headers", {"Authorization": "bearer" * 60_000}, True),
        ("headers", {"-" * 400_000: "x"}, False),
        ("headers", {"Authorization": "${" * 200_000}, True),
        ("proxy", "a://" + ":" * 400_000, False),
        ("proxy", "a://" + "@" * 400_000, True),
        ("proxy", "a" * 400_000 + "://", False),
        ("api_key", "${A" * 100_000, True),
        ("env", {"KEY": "$" * 400_000}, True),
        ("env", {"auth" * 100_000: "x"}, True),
    ],
    ids=lambda value: str(value)[:20],
)
def test_hostile_values_are_read_in_one_go(key: str, value: object, is_secret: bool) -> None:
    assert any(literal_credentials({key: value}, 1)) is is_secret
