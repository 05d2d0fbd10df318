"""Evaluation modes: what is stored, how answers are evaluated in each mode, and what goes out and comes in (SPEC-M).

Each promise is kept twice: by the library's core, and by the command line that users have.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evenhand import Scripted, Status
from evenhand.cli.main import app
from evenhand.domain.prompt import EvaluationMode, Prompt
from evenhand.domain.run import CaseResult
from evenhand.engine.job import Pace
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.store.store import Store, open_store
from evenhand.workspace import documents
from evenhand.workspace.documents import export_document
from evenhand.workspace.prompt_import import import_document
from evenhand.workspace.prompt_run import Trial

PRICED = '{"type": "object", "required": ["price"], "properties": {"price": {"type": "number"}}}'
NAMED = '{"type": "object", "required": ["name"]}'
GRADE = {"score": 0.8, "hits": ["kind"], "misses": ["long"], "reasoning": "Kind, but long."}


@pytest.fixture
def store() -> Iterator[Store]:
    opened = open_store("sqlite://")
    yield opened
    opened.close()


class Desk:
    """A user of the core: keeps prompts as JSON brings them, and tries them."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def prompt(self, *cases: dict[str, Any], **fields: Any) -> Prompt:
        made = self.store.prompts.create(documents.prompt_text({"name": "shop", **fields}))
        self.store.prompts.add_cases(made.id, [documents.test_case_text(one) for one in cases])
        return self.store.prompts.find(made.id)

    def tried(self, prompt: Prompt, model: Any, judge: Any = None) -> list[CaseResult]:
        trial = Trial(prompt=prompt, models=[{"model": model}], judge=judge)
        job = trial.job(self.store)
        run = plan(self.store, job, trial.scope)
        ended = asyncio.run(Runner(self.store, run, job, Pace(concurrency=1)).run())
        return list(self.store.results(self.store.runs.find(ended.id)))  # what was stored, not what was in memory


@pytest.fixture
def desk(store: Store) -> Desk:
    return Desk(store)


class TestStorage:
    """Each prompt stores a mode and criteria; each test case can store a schema of its own."""

    def test_mode_and_criteria_are_stored_on_the_prompt_and_schemas_on_test_cases(self, desk: Desk) -> None:
        """Different test cases can be held to different schemas."""
        prompt = desk.prompt(
            {"input": "Pen?", "evaluationSchema": PRICED}, {"input": "Who?", "evaluationSchema": NAMED},
            evaluationMode="schema", evaluationCriteria="Is right",
        )  # fmt: skip

        found = desk.store.prompts.find("shop").text

        assert (found.evaluation_mode, found.evaluation_criteria) == (EvaluationMode.SCHEMA, "Is right")
        assert [one.text.evaluation_schema for one in desk.store.prompts.cases(prompt.id)] == [PRICED, NAMED]

    def test_both_are_optional(self, desk: Desk) -> None:
        prompt = desk.prompt({"input": "Pen?"})

        (case,) = desk.store.prompts.cases(prompt.id)

        assert (prompt.text.evaluation_mode, prompt.text.evaluation_criteria) == (EvaluationMode.LLM, None)
        assert case.text.evaluation_schema is None

    def test_a_mode_that_is_neither_is_refused(self, desk: Desk) -> None:
        with pytest.raises(ValueError, match="no mode 'judge'; known: llm, schema"):
            desk.prompt(evaluationMode="judge")


class TestLlmEvaluation:
    """Mode 1: a grading model judges the output against criteria that people can read."""

    def test_the_output_is_generated_for_each_test_case(self, desk: Desk) -> None:
        """The content is the system prompt, the input the user's message."""
        model = Scripted(["One.", "Two."], name="model/a")
        prompt = desk.prompt({"input": "First?"}, {"input": "Second?"}, content="You sell pens.")

        results = desk.tried(prompt, model)

        assert [[(one.role, one.content) for one in ask.messages] for ask in model.asked] == [
            [("system", "You sell pens."), ("user", "First?")],
            [("system", "You sell pens."), ("user", "Second?")],
        ]
        assert [one.answers[0].text for one in results] == ["One.", "Two."]

    @pytest.mark.parametrize("criteria", [None, "", " \n"])
    def test_with_empty_criteria_evaluation_is_skipped_and_the_run_marked(self, desk: Desk, criteria: Any) -> None:
        (result,) = desk.tried(
            desk.prompt({"input": "Pen?"}, evaluationCriteria=criteria), Scripted(["One."], name="model/a")
        )

        assert (result.outcome.status, result.outcome.score) == (Status.NOT_EVALUATED, None)
        assert result.answers[0].text == "One."

    def test_with_criteria_the_grader_gets_prompt_input_output_and_criteria(self, desk: Desk) -> None:
        judge = Scripted([json.dumps(GRADE)])
        prompt = desk.prompt({"input": "Pen?"}, content="You sell pens.", evaluationCriteria="Names a price")

        desk.tried(prompt, Scripted(["One euro."], name="model/a"), judge)

        shown = "\n".join(one.content for one in judge.asked[0].messages)
        assert all(text in shown for text in ("You sell pens.", "Pen?", "One euro.", "Names a price"))

    def test_decision_score_and_artifacts_are_stored(self, desk: Desk) -> None:
        prompt = desk.prompt({"input": "Pen?"}, evaluationCriteria="Names a price")

        (result,) = desk.tried(prompt, Scripted(["One euro."], name="model/a"), Scripted([json.dumps(GRADE)]))

        (judgment,) = result.judgments
        found = judgment.evaluation
        assert (found.score, found.verdict, found.reasoning) == (0.8, "pass", "Kind, but long.")
        assert (found.hits, found.misses) == (("kind",), ("long",))
        assert json.loads(found.attempts[0].raw or "") == GRADE


class TestSchemaEvaluation:
    """Mode 2: each output is validated against the JSON Schema of its test case."""

    @pytest.mark.parametrize("schema", [None, "", " \n"])
    def test_with_an_empty_schema_evaluation_is_skipped_and_the_run_marked(self, desk: Desk, schema: Any) -> None:
        prompt = desk.prompt({"input": "Pen?", "evaluationSchema": schema}, evaluationMode="schema")

        (result,) = desk.tried(prompt, Scripted(["{}"], name="model/a"))

        assert (result.outcome.status, result.outcome.score) == (Status.NOT_EVALUATED, None)
        assert result.answers[0].text == "{}"

    @pytest.mark.parametrize(
        ("output", "score", "misses"),
        [
            ('{"price": 1}', 1.0, ()),
            ('{"price": "1"}', 0.0, ('$.price: "1" is not of type "number"',)),
            ("{}", 0.0, ('$: "price" is a required property',)),
        ],
    )
    def test_a_valid_output_scores_one_and_an_invalid_one_zero_with_its_errors(
        self, desk: Desk, output: str, score: float, misses: tuple[str, ...]
    ) -> None:
        prompt = desk.prompt({"input": "Pen?", "evaluationSchema": PRICED}, evaluationMode="schema")

        (result,) = desk.tried(prompt, Scripted([output], name="model/a"))

        (judgment,) = result.judgments
        assert (result.outcome.score, judgment.evaluation.misses) == (score, misses)
        assert judgment.evaluation.details["valid"] is (score == 1.0)

    def test_an_output_that_is_no_json_is_incorrect(self, desk: Desk) -> None:
        """Strict by decision: prose around the JSON would not be read by the program that waits for it."""
        prompt = desk.prompt({"input": "Pen?", "evaluationSchema": "{}"}, evaluationMode="schema")

        (result,) = desk.tried(prompt, Scripted(['Sure: {"price": 1}'], name="model/a"))

        assert result.outcome.score == 0.0
        assert result.judgments[0].evaluation.misses

    def test_the_expected_schema_shapes_the_output_and_evaluates_nothing(self, desk: Desk) -> None:
        model = Scripted(['{"name": "pen"}'], name="model/a")
        prompt = desk.prompt(
            {"input": "Pen?", "evaluationSchema": NAMED}, evaluationMode="schema", expectedSchema=PRICED
        )

        (result,) = desk.tried(prompt, model)

        assert model.asked[0].contract is not None
        assert model.asked[0].contract.schema() == json.loads(PRICED)
        assert result.outcome.score == 1.0

    def test_switching_between_the_modes_loses_neither_criteria_nor_schemas(self, desk: Desk) -> None:
        prompt = desk.prompt({"input": "Pen?", "evaluationSchema": PRICED}, evaluationCriteria="Names a price")

        by_schema = desk.store.prompts.edit(
            prompt.id, replace(prompt.text, evaluation_mode=EvaluationMode.SCHEMA), seen=1
        )
        back = desk.store.prompts.edit(prompt.id, prompt.text, seen=2)

        assert by_schema.text.evaluation_criteria == back.text.evaluation_criteria == "Names a price"
        assert [one.text.evaluation_schema for one in desk.store.prompts.cases(prompt.id)] == [PRICED]


class TestExportAndImport:
    """Prompts go out and come in with mode and criteria, test cases with their schemas."""

    def test_an_export_names_them_and_an_import_takes_them(self, desk: Desk) -> None:
        desk.prompt({"input": "Pen?", "evaluationSchema": PRICED}, evaluationMode="schema", evaluationCriteria="Kind")

        document = export_document(desk.store)
        desk.store.prompts.delete("shop")
        import_document(desk.store, document)

        (prompt,) = document["prompts"]
        assert (prompt["evaluation_mode"], prompt["evaluation_criteria"]) == ("schema", "Kind")
        assert prompt["test_cases"][0]["evaluation_schema"] == PRICED
        assert export_document(desk.store) == document


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every openai model: a judge by criteria, else a seller who answers in JSON if asked for it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
            said = json.dumps(GRADE) if "Names a price" in asked else '{"price": 1}' if "JSON" in asked else "1 euro"
            choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def evenhand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command that must succeed, and give what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str) -> str:
        done = CliRunner().invoke(app, argv, prog_name="evenhand")
        assert done.exit_code == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.usefixtures("provider")
def test_the_same_on_the_command_line(evenhand: Callable[..., str]) -> None:
    """A user makes a prompt, tries it in both modes, and carries it elsewhere."""
    evenhand("prompts", "new", "shop", "--content", "You sell pens.")
    evenhand("prompts", "add-case", "shop", "--input", "Pen?")
    evenhand("prompts", "add-case", "shop", "--input", "Pen, in JSON?", "--schema", PRICED)
    on = ("prompts", "run", "shop", "--model", "openai/a", "--judge", "openai/b", "--json")

    unjudged = json.loads(evenhand(*on))["summary"]
    evenhand("prompts", "edit", "shop", "--criteria", "Names a price")
    by_judge = json.loads(evenhand(*on))["summary"]
    evenhand("prompts", "edit", "shop", "--mode", "schema")
    by_schema = json.loads(evenhand(*on))
    evenhand("prompts", "export", "-o", "prompts.json")
    evenhand("prompts", "import", "prompts.json", "--db", "elsewhere.db")

    assert (unjudged["not_evaluated"], unjudged["mean"]) == (2, None)
    assert (by_judge["scored"], by_judge["mean"]) == (2, 0.8)
    assert (by_schema["summary"]["not_evaluated"], by_schema["summary"]["mean"]) == (1, 1.0)
    assert by_schema["run"]["name"] == "shop v3"
    there = json.loads(evenhand("prompts", "show", "shop", "--json", "--db", "elsewhere.db"))
    assert (there["evaluation_mode"], there["evaluation_criteria"]) == ("schema", "Names a price")
    assert [one["evaluation_schema"] for one in there["test_cases"]] == [None, PRICED]
