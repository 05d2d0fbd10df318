"""Nothing is lost without a word: whatever the files of other tools can have is in the suite, or in the list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.convert.conversion import convert
from evenhand.convert.source import read_value
from evenhand.suites.suite import check
from evenhand.suites.values import Listed, Mapped, plain

PROMPTFOO = """\
$schema: https://promptfoo.dev/config-schema.json
tags:
  team: tag-desk
description: description-of-all
metadata:
  owner: metadata-owner
providers:
  - id: openai:chat:model-one
    label: label-of-provider
    prompts:
      - prompt-of-provider
    config:
      temperature: 0.125
      max_tokens: 1234
      apiKeyEnvar: SHOP_KEY
      response_format:
        type: format-of-response
      tools:
        - tool-of-provider
    transform: transform-of-provider
    delay: 17
    env:
      NAME: env-of-provider
    inputs:
      a: inputs-of-provider
  - anthropic:messages:model-two
prompts:
  - "Question of the shop: {{ question }}"
  - id: prompt-two
    label: label-two
    raw: raw-two {{ question }}
    config:
      a: config-two
scenarios:
  - description: scenario-description
    config:
      - vars:
          a: scenario-var
    tests:
      - description: scenario-test
outputPath: output-path.json
sharing:
  apiBaseUrl: https://share.example
nunjucksFilters:
  upper: filter.js
env:
  OPENAI_API_KEY: sk-env-must-not-be-shown
derivedMetrics:
  - name: derived
    value: derived-value
extensions:
  - file://extension.js:hook
redteam:
  purpose: redteam-purpose
writeLatestResults: true
tracing:
  enabled: true
evaluateOptions:
  maxConcurrency: 7
  repeat: 3
  timeoutMs: 4500
  maxEvalTimeMs: 99000
  delay: 11
  cache: false
  showProgressBar: false
commandLineOptions:
  verbose: true
assertionTemplates:
  polite:
    type: llm-rubric
    value: template-value
  idle:
    type: contains
    value: idle-value
unknownKey: unknown-value
defaultTest:
  vars:
    shop: default-shop
  provider: default-provider
  options:
    provider: anthropic:messages:grader-model
    rubricPrompt: default-rubric-prompt
    transform: default-transform
    postprocess: default-postprocess
    transformVars: default-transform-vars
    storeOutputAs: default-store
    prefix: default-prefix
    suffix: default-suffix
    factuality:
      subset: 0.25
    runSerially: true
    disableConversationVar: true
  metadata:
    area: default-area
  assert:
    - type: icontains
      value: default-value for {{ shop }}
      metric: default-metric
      weight: 2.5
tests:
  - description: first-test
    vars:
      question: first-question
      other: other-variable
      parts:
        - deep-variable
    metadata:
      level: test-level
    options:
      disableVarExpansion: true
      repeat: 13
    assertScoringFunction: file://scoring.py
    provider: test-provider
    providers:
      - test-providers
    prompts:
      - test-prompts
    providerOutput: recorded-answer
    assert:
      - $ref: "#/assertionTemplates/polite"
      - type: equals
        value: equals-value
      - type: equals
        value:
          price: equals-json
      - type: contains
        value: contains-value
        config:
          a: contains-config
      - type: contains-all
        value:
          - all-one
          - all-two
      - type: contains-any
        value: any-one, any-two
      - type: icontains-all
        value:
          - iall-one
      - type: icontains-any
        value:
          - iany-one
      - type: starts-with
        value: starts-value
      - type: regex
        value: ^regex-value$
      - type: regex
        value: (?=lookaround-value)
      - type: is-json
        value:
          type: object
          required:
            - schema-field
      - type: contains-json
        value:
          type: object
          required:
            - contained-field
      - type: levenshtein
        value: levenshtein-value-of-some-length
        threshold: 3
      - type: latency
        threshold: 2500
      - type: cost
        threshold: 0.0625
      - type: llm-rubric
        value: rubric-value
        rubricPrompt: own-rubric-prompt
        provider: openai:chat:own-grader
      - type: llm-rubric
        value: graded-value
        threshold: 0.375
        provider:
          id: file://grader.py
      - type: g-eval
        value:
          - geval-one
          - geval-two
        threshold: 0.625
      - type: model-graded-closedqa
        value: closedqa-value
      - type: factuality
        value: factuality-value
      - type: model-graded-factuality
        value: model-factuality-value
      - type: answer-relevance
        threshold: 0.875
      - type: not-contains
        value: not-contains-value
      - type: not-llm-rubric
        value: not-rubric-value
      - type: not-contains-json
        value: not-contains-json-value
      - type: contains
        value: transformed-value
        transform: transform-of-assert
      - type: contains
        value: "{{ shop | upper }} nunjucks-value"
      - type: contains
        value: file://missing.txt
      - type: contains
        value: file://../outside.txt
      - type: contains
        value: https-is-text https://remote.example
      - type: assert-set
        metric: set-metric
        weight: 3.5
        threshold: 0.4375
        config:
          a: set-config
        assert:
          - type: contains
            value: set-value
            weight: 1.75
          - type: python
            value: set-python
      - type: made-up
        value: made-up-value
        contextTransform: context-transform
UNSUPPORTED
  - description: second-test
    vars:
      question: second-question
    threshold: 0.9375
  - file://more.yaml
  - file://table.csv
  - file://generated.py:tests
  - path: file://generator.py
    config:
      a: generator-config
  - https://remote.example/tests.csv
  - vars: file://variables.yaml
  - vars:
      question: file://question.txt
      shop: file://missing-variable.txt
  - description: no question here
    vars:
      other: lonely-variable
"""
UNSUPPORTED = (
    "javascript", "python", "ruby", "webhook", "select-best", "max-score", "human",
    "conversation-relevance", "agent-rubric", "search-rubric", "is-refusal",
    "moderation", "guardrails", "skill-used", "tool-call-f1", "finish-reason", "similar", "similar:cosine", "classifier",
    "bleu", "gleu", "meteor", "rouge-n", "perplexity", "perplexity-score", "pi", "word-count", "is-sql", "contains-sql",
    "is-xml", "contains-xml", "is-html", "contains-html", "is-valid-function-call", "is-valid-openai-function-call",
    "is-valid-openai-tools-call", "trajectory:goal-success", "trajectory:tool-used", "trace-span-count",
    "promptfoo:redteam:harmful",
)  # fmt: skip
OTHER_FILES = {
    "more.yaml": "- description: test-of-more\n  vars:\n    question: question-of-more\n",
    "table.csv": (
        "question,shop,__expected,__expected2,__description,__metadata:color,__metric\n"
        "row question,row shop,icontains: row-expected,latency(1500),row-description,row-color,row-metric\n"
    ),
    "variables.yaml": "question: question-of-file\n",
    "question.txt": "question-of-text\n",
}

AGENTV = """\
$schema: https://agentv.dev/schema.json
name: name-of-suite
description: description-of-suite
category: category-of-suite
version: version-of-suite
author: author-of-suite
tags:
  - tag-of-suite
license: license-of-suite
requires:
  agentv: requires-of-suite
metadata:
  owner: owner-of-suite
input:
  - role: system
    content: input-of-suite
input_files:
  - file-of-suite.md
target: target-of-suite
execution:
  target: target-of-execution
  targets:
    - targets-of-execution
  workers: 6
  cache: true
  trials:
    count: 4
    strategy: pass_at_k
    cost_limit_usd: 2.5
  total_budget_usd: 11.5
  fail_on_error: true
  threshold: 0.8125
  evaluators:
    - name: usual-judge
      type: llm_judge
      weight: 2.25
preprocessors:
  - type: pdf
    command: preprocess
workspace:
  template: workspace-template
unknown_key: unknown-value
tests:
  - id: first-case
    criteria: criteria-of-first
    input:
      - role: user
        content:
          - type: text
            value: text-of-first
          - type: file
            value: notes.md
    input_files:
      - files.md
    expected_output:
      - role: assistant
        content: expected-of-first
    conversation_id: conversation-of-first
    suite: suite-of-first
    metadata:
      level: level-of-first
    rubrics:
      - rubric-as-text
      - id: rubric-id
        outcome: rubric-outcome
        weight: 1.25
        required: false
      - id: banded
        outcome: banded-outcome
        score_ranges:
          - score_range:
              - 0
              - 4
            outcome: band-low
          - score_range:
              - 5
              - 10
            outcome: band-high
        min_score: 0.55
      - id: odd
        outcome: odd-outcome
        operator: contradiction
        min_score: 0.66
      - weight: 3.75
    workspace:
      template: workspace-of-first
    depends_on:
      - case-before
    on_dependency_failure: skip
    mode: conversation
    turns:
      - input: turn-input
    aggregation: mean
    on_turn_failure: stop
    window_size: 9
    execution:
      target: target-of-first
      skip_defaults: false
    assertions:
      - plain-criterion
      - name: judge-one
        type: llm_judge
        prompt: judge.md
        model: model-of-judge
        target: target-of-judge
        config:
          a: config-of-judge
        max_steps: 12
        temperature: 0.3
        required: 0.7
      - name: judge-two
        type: llm-grader
        rubrics:
          - description: item-of-judge
        prompt: prompt-beside-rubrics
        min_score: 0.45
      - name: old-rubric
        type: rubric
        rubrics:
          - description: item-of-old
      - name: unknown-place
        type: llm_judge
        prompt: "Look at {{ trace }} of {{ candidate_answer }}"
      - name: program
        type: code_judge
        script: uv run program-of-judge.py
        cwd: folder-of-judge
        config:
          most: 41
        target: true
      - name: shell
        type: code-grader
        command: cat shell-of-judge | grep x
      - name: panel
        type: composite
        evaluators:
          - name: safety
            type: llm_judge
          - name: tools
            type: tool_trajectory
            mode: in_order
        aggregator:
          type: weighted_average
          weights:
            safety: 0.35
            nobody: 0.15
      - name: panel-by-program
        type: composite
        evaluators:
          - name: member-one
            type: llm_judge
        aggregator:
          type: code_judge
          path: node aggregator.js
      - name: panel-by-judge
        type: composite
        assertions:
          - name: member-two
            type: llm_judge
        aggregator:
          type: llm_judge
          prompt: prompt-of-aggregator
          model: model-of-aggregator
      - name: panel-by-threshold
        type: composite
        assertions:
          - name: member-three
            type: llm_judge
        aggregator:
          type: threshold
          threshold: 0.45
      - name: trajectory
        type: tool_trajectory
        mode: any_order
        minimums:
          tool-name: 2
      - name: fields
        type: field_accuracy
        fields:
          - path: a.b
            match: exact
      - name: tokens
        type: token_usage
        max_total: 1000
      - name: metrics
        type: execution_metrics
        max_tool_calls: 5
      - type: latency
        threshold: 1500
      - type: cost
        budget: 0.03125
      - type: contains
        value: contains-of-first
        required: true
      - type: icontains-any
        value:
          - icontains-of-first
      - type: starts-with
        value: starts-of-first
      - type: ends-with
        value: ends-of-first
      - type: regex
        value: regex-of-first
        flags: gi
      - type: is-json
      - type: equals
        value: equals-of-first
        negate: true
      - name: negated-judge
        type: llm_judge
        negate: true
      - type: llm-rubric
        value: llm-rubric-of-first
      - type: javascript
        value: javascript-of-first
      - include: include-of-first
      - type: made_up
        value: made-up-of-first
  - id: second-case
    criteria: criteria-of-second
    input: input-of-second
    expected_output:
      price: 31
    execution:
      skip_defaults: true
  - id: third-case
    criteria: criteria-of-third
    input:
      - role: user
        content:
          - type: file
            value: ../outside.md
  - include: other.yaml
"""


def leaves(value: Any, above: tuple[int, ...]) -> Iterator[tuple[Any, set[int]]]:
    """Yield every value with the lines at which it, or something that it is part of, may be listed."""
    if isinstance(value, Mapped):
        for key, item in value.items():
            yield from leaves(item, (*above, value.lines[key]))
    elif isinstance(value, Listed):
        for item, line in zip(value, value.lines, strict=True):
            yield from leaves(item, (*above, line))
    elif value is not None:
        yield value, set(above)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    else:
        yield str(value)


def lost(path: Path, *, elsewhere: dict[str, str]) -> list[str]:
    """Return what of a file is neither in its suite nor in the list."""
    conversion = convert(path)
    path.with_name("suite.yaml").write_text(conversion.text)
    suite = plain(read_value(path.with_name("suite.yaml"), name="suite.yaml"))
    written = "\n".join(texts_in(suite))
    listed = {int(line.split(":")[1]) for line in conversion.left if line.startswith(str(path))}
    found = []
    for value, lines in leaves(read_value(path, name=path.name), ()):
        here = elsewhere.get(str(value), str(value))
        if here not in written and not lines & listed:
            found.append(str(value))
    assert check(path.with_name("suite.yaml")).problems == ()
    return found


@pytest.fixture
def promptfoo(tmp_path: Path) -> Path:
    others = "".join(
        f"      - type: {kind}\n        value: value-of-{number}\n" for number, kind in enumerate(UNSUPPORTED)
    )
    for name, text in OTHER_FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path.parent / "outside.txt").write_text("outside the folder")
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(PROMPTFOO.replace("UNSUPPORTED\n", others))
    return path


@pytest.fixture
def agentv(tmp_path: Path) -> Path:
    (tmp_path / "notes.md").write_text("Notes")
    (tmp_path / "judge.md").write_text("Is {{ output }} what {{ criteria }} says?")
    (tmp_path.parent / "outside.md").write_text("outside the folder")
    path = tmp_path / "eval.yaml"
    path.write_text(AGENTV)
    return path


def test_whatever_promptfoo_has_is_in_the_suite_or_in_the_list(promptfoo: Path) -> None:
    elsewhere = dict(
        (
            ("openai:chat:model-one", "openai/model-one"), ("anthropic:messages:grader-model", "anthropic/grader-model"),
            ("openai:chat:own-grader", "openai/own-grader"), ("4500", "4.5"), ("2500", "2.5"),
            ("Question of the shop: {{ question }}", "Question of the shop: {{ input }}"),
            ("default-value for {{ shop }}", "default-value for default-shop"),
            ("any-one, any-two", "any-one\nany-two"), ("file://more.yaml", "test-of-more"),
            ("file://table.csv", "row-description"), ("file://variables.yaml", "question-of-file"),
            ("file://question.txt", "question-of-text"), ("#/assertionTemplates/polite", "template-value"),
            *((kind, "llm_judge") for kind in ("llm-rubric", "g-eval", "model-graded-closedqa", "factuality",
              "model-graded-factuality", "answer-relevance", "not-llm-rubric")),
            *((kind, "contains") for kind in ("contains-all", "contains-any", "not-contains", "icontains-all", "icontains-any")),
            ("starts-with", "starts_with"), ("is-json", "is_json"), ("contains-json", "schema"), ("https://promptfoo.dev/config-schema.json", ""), ("assert-set", "composite"),
            ("SHOP_KEY", "${SHOP_KEY}"), ("label-of-provider", "label-of-provider"),
        )
    )  # fmt: skip

    assert lost(promptfoo, elsewhere=elsewhere) == []


def test_whatever_agentv_has_is_in_the_suite_or_in_the_list(agentv: Path) -> None:
    elsewhere = {
        "1500": "1.5", "ends-with": "ends_with", "starts-with": "starts_with", "is-json": "is_json", "0.55": "6",
        "uv run program-of-judge.py": "program-of-judge.py", "node aggregator.js": "aggregator.js", "gi": "(?i)",
        "judge.md": "Is {{ candidate_answer }} what {{ expected_outcome }} says?", "icontains-any": "icontains",
        "llm-grader": "llm_judge", "llm-rubric": "llm_judge", "rubric": "llm_judge", "https://agentv.dev/schema.json": "",
    }  # fmt: skip

    assert lost(agentv, elsewhere=elsewhere) == []


def test_no_secret_is_shown(promptfoo: Path) -> None:
    conversion = convert(promptfoo)

    assert "sk-env-must-not-be-shown" not in conversion.text
    assert not any("sk-env-must-not-be-shown" in line for line in conversion.left)
