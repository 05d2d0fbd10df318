"""What people bring with them, from the file to the report: tables, contexts, labels, targets, results of other tools.

And what they take away with them: comparisons to pass on, runs in MLflow, spans in a collector.

Each journey is made twice: with commands, each a program of its own, and with the library.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.harness.warm import WarmEvenhand

import evenhand
from evenhand import Case, FieldAccuracy, PromptEvaluator, Rouge, Run, compare, evaluate, import_results

Typed = Callable[..., str]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class Judge(BaseHTTPRequestHandler):
    """A judge on the loopback interface: wrong is what names Rome."""

    protocol_version = "HTTP/1.1"
    asked: list[str]

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append(text)
        good = "Rome" not in text
        says: dict[str, Any] = {
            "reasoning": "By the document.",
            "label": "right" if good else "wrong",
            "score": float(good),
        }
        says |= {"choice": says["label"], "hits": [], "misses": []}
        message = {"role": "assistant", "content": json.dumps(says)}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the library
        pass


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Start a judge; the requests that it gets."""
    requests: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("One", (Judge,), {"asked": requests})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
        yield requests
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(text: str, *argv: str) -> str:
    """Run a program that somebody wrote around the library."""
    done = subprocess.run([sys.executable, "-c", text, *argv], text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.strip()


def numbers(typed: Typed) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(typed("report", "--json"))
    return report


def test_a_table_from_a_spreadsheet_is_judged_by_slices(typed: Typed) -> None:
    rows = ["frage;gold;antwort;lang", *(f"Hauptstadt {n}?;Paris;{'Paris' if n % 3 else 'Lyon'};{'de' if n % 2 else 'fr'}"
                                         for n in range(24))]  # fmt: skip
    Path("answers.csv").write_bytes("\r\n".join(rows).encode("utf-8-sig"))
    Path("suite.yaml").write_text(
        "cases: answers.csv\ncolumns: {input: frage, reference_answer: gold, candidate_answer: antwort}\n"
        "slices: [lang]\nevaluators: [{name: same, type: equals}]\ngates: {slices: {lang: {min_mean: 0.5}}}\n",
        encoding="utf-8",
    )

    typed("run", "suite.yaml", "-o", "report.html")
    found = numbers(typed)["summary"]
    columns = {"input": "frage", "reference_answer": "gold", "candidate_answer": "antwort"}
    Path("alone").mkdir()  # a suite beside the file would say how to read it
    Path("answers.csv").rename("alone/answers.csv")
    run = evaluate("alone/answers.csv", evenhand.Equals(), columns=columns, slices=["lang"], store=None)

    assert found["mean"] == pytest.approx(16 / 24)
    assert {lang: part["n"] for lang, part in found["slices"]["lang"].items()} == {"fr": 12, "de": 12}
    assert run.summary.cases.mean == pytest.approx(found["mean"])
    assert "By lang" in Path("report.html").read_text(encoding="utf-8").replace('<span dir="auto">', "").replace(
        "</span>", ""
    )


def test_an_answer_is_held_against_what_was_retrieved_and_gets_a_label(asked: list[str], typed: Typed) -> None:
    Path("suite.yaml").write_text(
        "judge: openai/judge\nevaluators:\n  - {name: grounded, type: llm_judge, prompt: groundedness}\n"
        "  - {name: kind, type: llm_judge, choices: {right: 1, wrong: 0}}\n"
        "cases:\n  - {id: a, input: Capital?, candidate_answer: Paris, expected_outcome: Names it,\n"
        "     context: [{id: faq-1, text: The capital is Paris.}]}\n"
        "  - {id: b, input: Capital?, candidate_answer: Rome, expected_outcome: Names it, context: It is Paris.}\n",
        encoding="utf-8",
    )

    typed("run", "suite.yaml")
    shown = typed("show", "a")
    labels = [
        evaluation.get("label")
        for line in typed("report", "-o", "cases.jsonl") or Path("cases.jsonl").read_text(encoding="utf-8").splitlines()
        for evaluation in json.loads(line)["evaluations"]
        if evaluation["evaluator"] == "kind"
    ]

    assert any("faq-1" in text and "The capital is Paris." in text for text in asked)
    assert "The capital is Paris." in shown
    assert labels == ["right", "wrong"]

    case = Case(question="Capital?", candidate_answer="Paris", expected_outcome="Names it", context="It is Paris.")
    evaluation = PromptEvaluator(judge="openai/judge", choices={"right": 1, "wrong": 0}).evaluate(case)
    assert (evaluation.label, evaluation.score) == ("right", 1.0)


def test_two_versions_of_a_program_and_their_prompts_are_compared_in_one_run(typed: Typed) -> None:
    Path("app.py").write_text(
        "import json, sys\nasked = json.load(sys.stdin)['question']\nnew = '--new' in sys.argv\n"
        "print('Paris' if new or int(asked.split()[-1]) % 2 else 'Lyon')\n",
        encoding="utf-8",
    )
    command = f"[{sys.executable}, app.py"
    Path("suite.yaml").write_text(
        f"target:\n  - {{name: old, command: {command}]}}\n  - {{name: new, command: {command}, --new]}}\n"
        "evaluators: [{type: contains, value: Paris}]\n"
        "cases:\n" + "".join(f"  - {{id: c{n}, input: Capital {n}}}\n" for n in range(20)),
        encoding="utf-8",
    )

    report = typed("run", "suite.yaml", "-o", "report.html", "-o", "report.md")
    found = json.loads(typed("compare", "last", "--json"))
    worse = typed("compare", "last", "--model-a", "new", "--fail-if-worse", code=100)
    run = evaluate(
        [Case(id=f"c{n}", question=f"Capital {n}") for n in range(20)],
        evenhand.Contains(value="Paris"),
        target=[{"name": "old", "python": lambda text: "Paris" if int(text[8:]) % 2 else "Lyon"},
                {"name": "new", "python": lambda _: "Paris"}],
        store=None,
    )  # fmt: skip
    again = run.compare_targets()

    assert "Compared with old, case by case" in report
    assert "Compared with old, case by case" in Path("report.html").read_text(encoding="utf-8")
    assert found["others"]["new"]["scores"]["difference"] == 0.5
    assert "-0.500" in worse
    assert again is not None
    assert again.others["new"].scores.difference == 0.5


def test_extracted_fields_and_wording_are_scored(typed: Typed) -> None:
    Path("suite.yaml").write_text(
        "evaluators:\n  - name: invoice\n    type: field_accuracy\n    fields:\n"
        "      - {path: total, match: number, tolerance: 0.01, weight: 3}\n      - {path: name, match: text}\n"
        'cases:\n  - id: a\n    candidate_answer: \'{"total": 12.001, "name": "Other"}\'\n'
        '    reference_answer: \'{"total": 12, "name": "ACME"}\'\n',
        encoding="utf-8",
    )
    Path("words.yaml").write_text(
        "evaluators: [{type: token_f1}, {type: rouge}, {type: bleu}]\n"
        "cases: [{id: a, candidate_answer: the cat sat down, reference_answer: the cat sat down}]\n",
        encoding="utf-8",
    )

    typed("run", "suite.yaml")
    fields = numbers(typed)["summary"]["mean"]
    typed("run", "words.yaml")
    words = numbers(typed)["summary"]["evaluators"]
    case = Case(candidate_answer='{"total": 12.001, "name": "Other"}', reference_answer='{"total": 12, "name": "ACME"}')
    definition: list[dict[str, Any]] = [
        {"path": "total", "match": "number", "tolerance": 0.01, "weight": 3},
        {"path": "name", "match": "text"},
    ]

    assert fields == 0.75
    assert {name: tally["mean"] for name, tally in words.items()} == {
        "token_f1": 1.0, "rouge": 1.0, "bleu": pytest.approx(1.0),
    }  # fmt: skip
    assert FieldAccuracy(fields=definition).evaluate(case).score == 0.75
    assert Rouge().evaluate(Case(candidate_answer="a b", reference_answer="a c")).score == pytest.approx(0.5)


def results(outputs: list[str]) -> str:
    """Return results as promptfoo records them, of tests that are passed by Paris."""
    rows = [
        {
            "testIdx": number, "promptIdx": 0, "provider": {"id": "openai:gpt-5-mini"},
            "prompt": {"raw": f"Capital {number}?", "label": "plain"}, "vars": {"number": number},
            "testCase": {"description": f"capital {number}"}, "response": {"output": output},
            "success": output == "Paris", "score": float(output == "Paris"),
            "failureReason": 0 if output == "Paris" else 1,
            "gradingResult": {
                "pass": output == "Paris", "score": float(output == "Paris"), "reason": "by its text",
                "componentResults": [{
                    "pass": output == "Paris", "score": float(output == "Paris"), "reason": "by its text",
                    "assertion": {"type": "contains", "value": "Paris"},
                }],
            },
        }
        for number, output in enumerate(outputs)
    ]  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_results_of_another_tool_are_imported_reported_and_compared(typed: Typed) -> None:
    Path("before.jsonl").write_text(results(["Lyon"] * 8), encoding="utf-8")
    Path("after.jsonl").write_text(results(["Paris"] * 7 + ["Lyon"]), encoding="utf-8")

    before = typed("import-results", "before.jsonl").strip()
    after = typed("import-results", "after.jsonl").strip()
    again = typed("import-results", "after.jsonl").strip()
    report = typed("report", after, "-o", "report.html") or Path("report.html").read_text(encoding="utf-8")
    found = typed("compare", before, after)
    shown = typed("show", "capital 7", after)
    typed("resume", after, "--retry-errors", code=2)
    a, b = (import_results(name, store=None) for name in ("before.jsonl", "after.jsonl"))

    assert again == after != before
    assert "Imported from" in report
    assert "B is better than A: +0.875" in found
    assert "Lyon" in shown
    assert compare(a, b).cases.scores.wins == 7


def test_a_file_of_another_tool_becomes_a_suite_that_runs(typed: Typed, warm: WarmEvenhand) -> None:
    Path("promptfooconfig.yaml").write_text(
        "prompts: ['{{question}}']\nproviders: [openai:gpt-5-mini]\ntests:\n"
        "  - description: capital\n    vars: {question: Capital of France?}\n"
        "    assert: [{type: icontains, value: paris}, {type: javascript, value: output.length < 9}]\n",
        encoding="utf-8",
    )

    typed("convert", "promptfooconfig.yaml", "-o", "suite.yaml", code=1)
    suite = Path("suite.yaml").read_text(encoding="utf-8")

    assert "paris" in suite
    assert "no mistakes" in warm.run("validate", "suite.yaml").stderr


def test_prompts_and_providers_of_another_tool_are_run_side_by_side(asked: list[str], typed: Typed) -> None:
    Path("promptfooconfig.yaml").write_text(
        "prompts:\n  - {label: plain, raw: 'Capital of {{country}}?'}\n"
        "  - {label: biased, raw: 'Capital of {{country}}? Rome, as always in {{language}}.'}\n"
        "providers: [openai:gpt-5-mini, openai:gpt-5]\n"
        "tests:\n"
        + "".join(
            f"  - vars: {{country: {country}, language: Latin}}\n    assert: [{{type: contains, value: '1.0'}}]\n"
            for country in ("France", "Peru", "Japan")
        ),
        encoding="utf-8",
    )

    typed("convert", "promptfooconfig.yaml", "-o", "suite.yaml")
    typed("run", "suite.yaml", code=100)  # a test that fails is a gate that fails
    compared = json.loads(typed("compare", "last", "--json"))
    run = Run.open("last")

    names = [f"openai/{model} + {prompt}" for model in ("gpt-5-mini", "gpt-5") for prompt in ("plain", "biased")]
    assert list(run.summary.models) == names
    assert [tally.passed for tally in run.summary.models.values()] == [3, 0, 3, 0]
    assert compared["baseline"] == names[0]
    assert sum("Rome, as always in Latin." in request for request in asked) == 6


def test_repeated_cases_are_shown_with_how_steady_they_are(typed: Typed) -> None:
    Path("judge.py").write_text(
        "import json, pathlib\ncount = pathlib.Path('count')\nseen = len(count.read_text()) if count.exists() else 0\n"
        "count.write_text('x' * (seen + 1))\nprint(json.dumps({'score': seen % 2, 'reasoning': ''}))\n",
        encoding="utf-8",
    )
    Path("suite.yaml").write_text(
        f"evaluators: [{{name: coin, type: code_judge, command: [{sys.executable}, judge.py]}}]\n"
        "cases: [{id: a, candidate_answer: x}, {id: b, candidate_answer: y}]\n",
        encoding="utf-8",
    )

    report = typed("run", "suite.yaml", "--repeat", "4", "-j", "1")
    found = numbers(typed)["summary"]["steadiness"]
    typed("run", "suite.yaml", "--repeat", "4", "-j", "1")
    compared = typed("compare", "previous", "last", "--limit", "0")

    assert "How steady" in report
    assert (found["cases"], found["flipped"]) == (2, 2)
    assert compared.startswith("A: ")
    assert Run.open("previous").summary.repeat == 4


SUITE = (
    "name: capitals\nevaluators: [{name: right, type: contains, value: Paris}]\n"
    'cases: [{id: a, candidate_answer: "%s"}, {id: b, candidate_answer: It is Paris.}]\n'
)
EXPORT_AND_READ = """
import json, sys
from mlflow.tracking import MlflowClient
from evenhand import export_results
made = export_results(sys.argv[1], to="mlflow", uri=sys.argv[2]).id
client = MlflowClient(tracking_uri=sys.argv[2])
(experiment,) = client.search_experiments(filter_string="name = 'capitals'")
runs = client.search_runs([experiment.experiment_id])
print(json.dumps([made, {run.info.run_id: [run.info.run_name, run.data.metrics["right/mean"], run.data.params["run_id"],
    sorted(file.path for file in client.list_artifacts(run.info.run_id))] for run in runs}]))
"""


@pytest.mark.long  # two programs load MLflow, as those of tests/test_exports.py do
def test_runs_are_exported_to_a_store_of_mlflow(folder: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    uri = (folder / "mlruns").as_uri()
    Path("suite.yaml").write_text(SUITE % "It is Rome.", encoding="utf-8")
    first = typed("run", "suite.yaml", "--quiet", "--label", "first").strip()
    Path("suite.yaml").write_text(SUITE % "It is Paris.", encoding="utf-8")
    second = typed("run", "suite.yaml", "--quiet").strip()

    by_command = typed("export-results", first, "--to", "mlflow", "--uri", uri).strip()
    by_library, found = json.loads(program(EXPORT_AND_READ, second, uri))

    files = ["evaluations.csv", "report.html", "report.json"]
    assert found == {by_command: ["first", 0.5, first, files], by_library: ["capitals", 1.0, second, files]}


def test_two_runs_are_compared_in_a_file_to_pass_on(typed: Typed) -> None:
    runs = []
    for answer in ("It is Rome, I think.", "It is Paris, I think."):
        Path("suite.yaml").write_text(SUITE % answer, encoding="utf-8")
        runs.append(typed("run", "suite.yaml", "--quiet").strip())

    said = typed("compare", *runs, "-o", "by command.html", "-o", "by command.md")
    compare(*runs).save("by library.html")
    compare(Run.open("previous"), Run.open("last")).save("by library.md")

    assert said == ""
    pages = [Path(f"by {who}.html").read_text(encoding="utf-8") for who in ("command", "library")]
    assert pages[0] == pages[1]
    assert "It is <del>Rome</del>, I think." in pages[0]
    assert "It is <ins>Paris</ins>, I think." in pages[0]
    texts = [Path(f"by {who}.md").read_text(encoding="utf-8") for who in ("command", "library")]
    assert texts[0] == texts[1]
    assert all(run in texts[0] for run in runs)


class Collector(BaseHTTPRequestHandler):
    """A collector of OpenTelemetry on the loopback interface."""

    protocol_version = "HTTP/1.1"
    spans: list[Any]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.spans.extend(span for scope in resource.scope_spans for span in scope.spans)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the library
        pass


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Start a collector that the environment names; the spans that it gets."""
    found: list[Any] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("One", (Collector,), {"spans": found})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        yield found
        server.shutdown()
        thread.join()


TRACED = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

tracers = TracerProvider()
tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(tracers)

import evenhand

case = evenhand.Case(id="c", question="Capital?", candidate_answer="Paris", expected_outcome="Names it")
print(evenhand.PromptEvaluator(name="quality", judge="openai/judge").evaluate(case).score)
print(evenhand.evaluate("suite.yaml").id)
tracers.shutdown()
"""


def test_what_is_judged_is_seen_in_a_collector(asked: list[str], spans: list[Any], typed: Typed) -> None:
    Path("suite.yaml").write_text(
        "name: capitals\njudge: openai/judge\nevaluators: [{name: quality, type: llm_judge}]\n"
        "cases: [{id: a, input: Capital?, candidate_answer: Paris, expected_outcome: Names it}]\n",
        encoding="utf-8",
    )

    def tree() -> set[tuple[str, str]]:
        names = {span.span_id: span.name for span in spans}
        return {(names.get(span.parent_span_id, ""), span.name) for span in spans}

    typed("run", "suite.yaml")
    by_command = tree()
    spans.clear()
    score, run = program(TRACED).splitlines()

    assert by_command == {("", "run capitals"), ("run capitals", "case"), ("case", "chat judge")}
    # The judge is asked about one case by itself; of the suite's, the answer is known already.
    alone = {("", "evaluate quality"), ("evaluate quality", "chat judge")}
    assert tree() == {("", "run capitals"), ("run capitals", "case")} | alone
    assert score == "1.0"
    assert Run.open("last").id == run
