"""The API keeps to its own OpenAPI document, whatever it is sent: schemathesis makes up requests from it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from evenhand import audit, examine_judge, rank

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what it and its own dependencies warn of is not ours
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
# Of every operation; the sample is the same each time.
EXAMPLES = [pytest.param(10, id="sample"), pytest.param(25, id="all", marks=pytest.mark.sweep)]
SEED = 1
LONGEST_ADDRESS = 64 * 1024


def ranked(db: str) -> str:
    """Rank two profiles, and give the id of the run."""
    judge = '{"reasoning": "So.", "order": ["A", "B"]}'
    return rank(["One.", "Two."], criteria="Worth", judge=lambda _: judge, rounds=3, store=db).run.id


def audited(db: str) -> str:
    """Audit a judge, and give the id of the run."""
    judge = '{"score": 5, "justification": "So."}'
    design = {"template": "{name}", "factors": {"name": ["Anna", "Ben"]}, "groups": ["name"], "criteria": "Worth"}
    return audit(design, judge=lambda _: judge, store=db).run.id


def examined(db: str) -> str:
    """Examine a judge, and give the id of the run."""
    judge = '{"reasoning": "So.", "hits": [], "misses": [], "score": 0.5}'
    return examine_judge(lambda _: judge, probes=["accuracy"], size=1, store=db).run.id


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("examples", EXAMPLES)
def test_every_answer_is_one_that_the_document_names(
    served: Callable[..., Any], tmp_path: Path, mode: schemathesis.GenerationMode, examples: int
) -> None:
    server = served()
    db = str(tmp_path / ".evenhand" / "evenhand.db")
    own = {
        "/api/runs/{run}/ranking": ranked(db),
        "/api/runs/{run}/audit": audited(db),
        "/api/runs/{run}/doctor": examined(db),
    }
    made = server.client.post("/api/prompts", json={"name": "p", "evaluation_criteria": "Right"}).json()["id"]
    case_id = server.client.post(f"/api/prompts/{made}/test-cases", json={"input": "Hi"}).json()["id"]
    wanted = {"prompt": made, "models": ["vllm/a"]}
    a, b = (server.client.post("/api/runs", json=wanted).json()["id"] for _ in range(2))
    imported = server.client.post("/api/import", json={"prompts": []}, headers={"prefer": "respond-async"}).json()["id"]
    server.client.put("/api/run-filters/kept", json={"tags": ["release"]})
    there = {
        "name": "kept",
        "prompt": made,
        "test_case": case_id,
        "run": "last",
        "case_id": case_id,
        "version": 1,
        "import_id": imported,
    }
    document = server.client.get("/api/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    statuses: Counter[int] = Counter()
    met: set[tuple[str, int]] = set()

    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]  # an error in the document is one here too

        @hypothesis.seed(SEED)
        @hypothesis.settings(
            max_examples=examples, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
        )
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode), of_what_is_there=strategies.booleans())
        def keeps_to_it(case: Any, of_what_is_there: bool) -> None:
            if of_what_is_there and case.method != "DELETE":
                case.path_parameters = {name: there[name] for name in case.path_parameters}
                if case.path in own:
                    case.path_parameters["run"] = own[case.path]
                if case.path == "/api/compare":
                    case.query |= {"a": a, "b": b}
                if case.path == "/api/judges/compare":
                    case.query |= {"run": [a, b]}
                if case.path == "/api/drift":
                    case.query |= {"then": a, "now": b}
            answer = case.call(base_url=server.url, headers=dict(server.client.headers), timeout=120)
            statuses[answer.status_code] += 1
            met.add((case.path, answer.status_code))
            if answer.status_code == 400 and len(answer.request.url or "") > LONGEST_ADDRESS:
                return  # uvicorn refuses it in words of its own, before the application hears of it
            case.validate_response(answer, checks=CHECKS)

        try:
            keeps_to_it()
        except hypothesis.errors.Unsatisfiable:  # there is no wrong way to ask for it
            assert mode is schemathesis.GenerationMode.NEGATIVE

    assert len(document["paths"]) > 20
    assert sum(statuses.values()) > 200
    assert {200, 404, 422} <= set(statuses)
    assert mode is schemathesis.GenerationMode.NEGATIVE or {(path, 200) for path in own} <= met
    assert server.client.get("/api/health").status_code == 200
