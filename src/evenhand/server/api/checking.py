"""Whether a JSON Schema is one, and whether an output satisfies it: what the editor of test cases asks (SPEC-M6)."""

from __future__ import annotations

import re
from typing import Any, Final

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Status
from evenhand.domain.prompt import FieldError
from evenhand.evaluators.schema.evaluator import SchemaEvaluator, is_empty
from evenhand.server.api.bodies import SchemaCheck
from evenhand.server.api.shapes import SchemaVerdict
from evenhand.server.api.shared import routes
from evenhand.workspace.texts import expected_schema_text, schema_text

router = routes("schemas")

_PLACE: Final = re.compile(r"\bline (\d+) column (\d+)")
_PATH: Final = re.compile(r"(\$[^\s:]*): ")


@router.post("/check-schema", response_model=SchemaVerdict)
def check_schema(body: SchemaCheck) -> Any:
    """Tell whether a schema is one and, where an output is given, whether that satisfies it; nothing is kept."""
    return schema_verdict(body.schema_, body.output, to_generate=body.purpose == "generate")


def schema_verdict(schema: Any, output: str | None, *, to_generate: bool = False) -> dict[str, Any]:
    """Look at a schema and an output; no schema is none, and nothing is wrong with that."""
    verdict: dict[str, Any] = {"is_schema": False, "is_valid": None, "schema_errors": [], "output_errors": []}
    if is_empty(schema):
        return verdict
    try:
        (expected_schema_text if to_generate else schema_text)(schema, "schema")
    except FieldError as error:
        return verdict | {"schema_errors": [_told(error.told)]}
    verdict["is_schema"] = True
    if output is None:
        return verdict
    evaluation = SchemaEvaluator().evaluate(Case(candidate_answer=output, evaluation_schema=schema))
    if evaluation.status is not Status.SCORED:
        return verdict | {"output_errors": [_told(evaluation.error or evaluation.reasoning)]}
    found = [_told(f"{one['path']}: {one['message']}") for one in evaluation.details["errors"]]
    return verdict | {"is_valid": not found, "output_errors": found}


def _told(message: str) -> dict[str, Any]:
    """Take path, line and column out of a message."""
    path = _PATH.match(message)
    place = _PLACE.search(message)
    return {
        "path": None if path is None or place is not None else path[1],
        "message": message if path is None else message[path.end() :],
        "line": None if place is None else int(place[1]),
        "column": None if place is None else int(place[2]),
    }
