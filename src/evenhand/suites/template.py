"""A first suite: it runs at once, without a key or a model, and shows where to go from there."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SCHEMA_FILE: Final = "suite.schema.json"

_SUITE: Final = f"""\
# yaml-language-server: $schema={SCHEMA_FILE}
#
# A first suite: evenhand run suite.yaml
# It needs no model and no key. The comments show how to add a judge.

name: first-suite

# The model that judges. It finds its key in the environment, here in OPENAI_API_KEY.
# judge: openai/gpt-5-mini

# What judges each case, unless the case has its own evaluators.
evaluators:
  - {{name: right, type: contains}}  # the answer contains the reference answer
  - {{name: brief, type: regex, value: '^.{{1,80}}$'}}  # one line of at most 80 characters
  # - {{name: quality, type: llm_judge}}  # the judge reads expected_outcome and reference_answer

# Without gates, a run succeeds whatever it finds.
# gates: {{min_pass_rate: 0.9}}

cases:
  - id: capital
    input: What is the capital of France?
    candidate_answer: The capital of France is Paris.
    reference_answer: Paris
    expected_outcome: Names Paris, and no other city

  # This answer is wrong: see how the report shows it.
  - id: river
    input: Which river flows through Paris?
    candidate_answer: The Loire flows through Paris.
    reference_answer: Seine
    expected_outcome: Names the Seine

  - id: order
    input: Write the order "two apples at 30 cents each" as JSON.
    candidate_answer: '{{"item": "apple", "count": 2, "price": 0.3}}'
    evaluators:
      - {{name: json, type: is_json}}
      - {{name: form, type: schema}}
    evaluation_schema:
      type: object
      required: [item, count, price]
      properties:
        item: {{type: string}}
        count: {{type: integer, minimum: 1}}
        price: {{type: number}}
"""


def init_files() -> dict[str, str]:
    """Return the files of a first suite by name; editors that know YAML complete it by the schema beside it."""
    schema = Path(__file__).with_name(SCHEMA_FILE).read_text(encoding="utf-8")
    return {"suite.yaml": _SUITE, SCHEMA_FILE: schema}
