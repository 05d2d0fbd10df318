"""Runs exported to MLflow and to Weights & Biases, by the real libraries, and read back."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, ConfigError, Contains, PromptEvaluator, Scripted, evaluate, export_results
from evenhand.api.exports import metrics_of, rows_of
from evenhand.engine.run import Run

# Both libraries take seconds to load.
pytestmark = [pytest.mark.slow, pytest.mark.group("exports")]


def judged(path: Path, *, label: str | None = "shorter prompt") -> Run:
    """Make a run of four cases: one passes, one fails, one has a judge that failed, one has nothing to judge."""
    replies: list[str | Exception] = [
        '{"score": 0.9, "reasoning": "=It says so."}',
        '{"score": 0.1, "reasoning": "It does not."}',
        ConnectionError("gone"),
    ]
    cases = [Case(id=name, candidate_answer=name, expected_outcome=name) for name in ("Paris", "Rome", "Oslo")]
    quality = PromptEvaluator(name="quality: all/of it", judge=Scripted(replies, name="openai/gpt-5-mini"))
    never = PromptEvaluator(name="never", judge=Scripted([ConnectionError("gone")] * 4, name="openai/gpt-5-mini"))
    return evaluate(
        [*cases, Case(id="empty")], [quality, never, Contains(name="has o", value="o")],
        name="capitals", label=label, concurrency=1, store=str(path / "evenhand.db"),
    )  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return judged(tmp_path)


def test_what_is_not_scored_has_no_number_and_is_counted(run: Run) -> None:
    metrics = metrics_of(run.summary)

    assert metrics["quality_ all_of it/mean"] == 0.5
    assert metrics["quality_ all_of it/scored"] == 2
    assert metrics["quality_ all_of it/errors"] == 1
    assert metrics["quality_ all_of it/not_evaluated"] == 1
    assert metrics["quality_ all_of it/mean_low"] < 0.5 < metrics["quality_ all_of it/mean_high"]
    assert metrics["never/errors"] == 3
    assert not {name for name in metrics if name.startswith(("never/mean", "never/pass_rate"))}


def test_a_judge_that_failed_has_an_empty_score_in_the_table(run: Run) -> None:
    rows = {(row[0], row[2]): row[3:6] for row in rows_of(run)}

    assert rows["Paris", "quality: all/of it"] == ("scored", 0.9, "pass")
    assert rows["Oslo", "quality: all/of it"] == ("error", None, None)
    assert rows["empty", "quality: all/of it"] == ("not_evaluated", None, None)


def test_evaluators_whose_names_look_alike_are_told_apart(tmp_path: Path) -> None:
    checks = [Contains(name=name, value="a") for name in ("a:b", "a/b", "cases", "usage", "..")]

    metrics = metrics_of(evaluate(Case(candidate_answer="a"), checks, store=None).summary)

    names = {name.partition("/")[0] for name in metrics}
    assert names == {"cases", "a_b", "a_b 2", "cases 2", "usage", "usage 2", "evaluator"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "mlfow"}, "did you mean 'mlflow'"),
        ({"to": "wandb", "experiment": "x"}, "experiment is for MLflow and says nothing to Weights & Biases"),
        ({"to": "mlflow", "project": "x"}, "project is for Weights & Biases and says nothing to MLflow"),
        ({"to": "mlflow", "experiment": " "}, "experiment is empty"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_sent(
    run: Run, options: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        export_results(run, **options)  # type: ignore[arg-type]


def evenhand(folder: Path, *arguments: str, before: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    program = f"{before}\nfrom evenhand.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True, text=True, timeout=120, check=False, cwd=folder, env=os.environ | variables,
    )  # fmt: skip


# Runs commands in one process, which loads the library once; `printed` is what is shown of them in the end.
COMMANDS = """
import contextlib, io, json, os, sys
from pathlib import Path
from evenhand.cli import main

def said(*arguments):
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["evenhand", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main()
        except SystemExit as ended:
            code = ended.code
    return {"code": code or 0, "out": out.getvalue(), "err": err.getvalue()}
"""


def shown(program: str, *arguments: str, folder: Path, **variables: str) -> Any:
    """Run a program that has ``said``, and return the JSON that it prints last."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS + program, *arguments],
        capture_output=True, text=True, timeout=120, check=False, cwd=folder, env=os.environ | variables,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


MLFLOW = """
uri = sys.argv[1]
export = ("export-results", "last", "--to", "mlflow", "--uri", uri, "--db", "evenhand.db")
commands = {"first": said(*export), "again": said(*export), "more": said(*export, "--again")}
set_to = {name: os.environ.get(name) for name in ("MLFLOW_DISABLE_TELEMETRY", "MLFLOW_HTTP_REQUEST_MAX_RETRIES")}
wrong = "sqlite://someone:canary-password@/tmp/nowhere.db"
refused = said("export-results", "last", "--to", "mlflow", "--uri", wrong, "--db", "evenhand.db")

from mlflow.tracking import MlflowClient
client = MlflowClient(tracking_uri=uri)
(experiment,) = [each for each in client.search_experiments() if each.name == "capitals"]
found = [
    {
        "id": run.info.run_id, "name": run.info.run_name, "status": run.info.status, "start": run.info.start_time,
        "params": run.data.params, "metrics": run.data.metrics, "tags": run.data.tags,
        "files": {file.path: open(client.download_artifacts(run.info.run_id, file.path), encoding="utf-8").read()
                  for file in client.list_artifacts(run.info.run_id)},
    }
    for run in client.search_runs([experiment.experiment_id])
]
print(json.dumps({**commands, "found": found, "set_to": set_to, "refused": refused}))
"""


@dataclass(frozen=True)
class Exported:
    """A run, and what commands and MLflow told of it."""

    run: Run
    told: Any


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Export a run to MLflow, which takes seconds to load: once for the tests of what it got and of what it refused."""
    folder = tmp_path_factory.mktemp("mlflow")
    run = judged(folder)
    return Exported(run, shown(MLFLOW, (folder / "mlruns").as_uri(), folder=folder, MLFLOW_ALLOW_FILE_STORE="true"))


def test_mlflow_gets_the_run_with_its_numbers_its_table_and_its_reports(exported: Exported) -> None:
    run, told = exported.run, exported.told

    first, again, more = told["first"], told["again"], told["more"]
    assert (first["code"], again["code"], more["code"]) == (0, 0, 0), told
    assert "exported to MLflow, capitals\n" in first["err"]
    assert again["out"] == first["out"]
    assert "the run was exported to MLflow, capitals before; use --again to export it again\n" in again["err"]
    assert told["set_to"]["MLFLOW_DISABLE_TELEMETRY"] == "true"
    found = {each["id"]: each for each in told["found"]}
    assert set(found) == {first["out"].strip(), more["out"].strip()}
    assert len(found) == 2
    sent = found[first["out"].strip()]
    assert (sent["name"], sent["status"]) == ("shorter prompt", "FINISHED")
    assert sent["start"] == int(run.record.created * 1000)
    assert sent["params"]["run_id"] == run.id
    assert sent["params"]["judges"] == "openai/gpt-5-mini"
    assert sent["params"]["pass_at"] == "0.8"
    assert len(sent["params"]["suite_digest"]) == 32
    assert sent["metrics"] == pytest.approx(metrics_of(run.summary))
    assert sorted(sent["files"]) == ["evaluations.csv", "report.html", "report.json"]
    table = list(csv.DictReader(io.StringIO(sent["files"]["evaluations.csv"])))
    assert len(table) == 12
    assert table[0]["reasoning"] == "'=It says so.", "a spreadsheet does not run it"
    assert [row["score"] for row in table if row["status"] != "scored"] == [""] * 7
    assert json.loads(sent["files"]["report.json"])["run"]["id"] == run.id


WANDB = """
done = said("export-results", "last", "--to", "wandb", "--project", "evals", "--db", "evenhand.db")

import struct
import wandb
from wandb.proto import wandb_internal_pb2

wandb.teardown()  # by then, its own process has written everything

def records(data, block=32768, head=7):  # the log of LevelDB, after a header of W&B's own
    assert data[:4] == b":W&B"
    position, whole = head, b""
    while position + head <= len(data):
        left = block - position % block
        length, kind = struct.unpack("<HB", data[position + 4 : position + head])
        if left < head or kind == 0:
            position += left
            continue
        whole += data[position + head : position + head + length]
        position += head + length
        if kind in (1, 4):
            yield whole
            whole = b""

(file,) = Path("wandb").glob("offline-run-*/*.wandb")
config, summary, names, run = {}, {}, [], {}
for data in records(file.read_bytes()):
    record = wandb_internal_pb2.Record()
    record.ParseFromString(data)
    kind = record.WhichOneof("record_type")
    if kind == "run":
        run = {"id": record.run.run_id, "name": record.run.display_name, "project": record.run.project,
               "host": record.run.host}
        config |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
    if kind == "summary":
        summary |= {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.summary.update}
    if kind == "artifact":
        names += [entry.path for entry in record.artifact.manifest.contents]
    if kind == "request" and record.request.WhichOneof("request_type") == "log_artifact":
        names += [entry.path for entry in record.request.log_artifact.artifact.manifest.contents]
told = {"run": run, "config": config, "summary": summary, "files": names, "folder": str(file.parent)}
print(json.dumps({"done": done, "reports_errors": os.environ.get("WANDB_ERROR_REPORTING"), **told}))
"""


@pytest.mark.long
def test_wandb_gets_the_run_with_its_numbers_its_table_and_its_reports(run: Run, tmp_path: Path) -> None:
    offline = {"WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path), "WANDB_CACHE_DIR": str(tmp_path / "cache"),
               "WANDB_DATA_DIR": str(tmp_path / "data"), "WANDB_CONFIG_DIR": str(tmp_path / "config")}  # fmt: skip

    sent = shown(WANDB, folder=tmp_path, **offline)

    done = sent["done"]
    assert done["code"] == 0, done
    assert done["out"].strip() == f"evenhand-{run.id}"
    assert "exported to Weights & Biases, evals\n" in done["err"]
    assert sent["reports_errors"] == "false"
    assert sent["run"] == {"id": f"evenhand-{run.id}", "name": "shorter prompt", "project": "evals", "host": "evenhand"}
    assert sent["config"]["run_id"] == run.id
    numbers = {name: value for name, value in sent["summary"].items() if name in metrics_of(run.summary)}
    assert numbers == pytest.approx(metrics_of(run.summary))
    assert {"evaluations.csv", "report.html", "report.json"} <= set(sent["files"])
    (table,) = (tmp_path / sent["folder"] / "files" / "media" / "table").glob("evaluations*.table.json")
    rows = json.loads(table.read_text(encoding="utf-8"))["data"]
    assert len(rows) == 12
    assert ["Oslo", 0, "quality: all/of it", "error", None, None] in [row[:6] for row in rows]


@pytest.mark.parametrize(
    ("tracker", "variable"), [("mlflow", "MLFLOW_DISABLE_TELEMETRY"), ("wandb", "WANDB_ERROR_REPORTING")]
)
def test_without_the_library_the_command_to_install_it_is_named_and_what_the_user_said_of_telemetry_is_kept(
    run: Run, tmp_path: Path, tracker: str, variable: str
) -> None:
    missing = f"import atexit, os, sys; sys.modules[{tracker!r}] = None; "
    said = f"atexit.register(lambda: print('set to', os.environ.get({variable!r})))"
    command = ("export-results", "last", "--to", tracker, "--db", "evenhand.db")

    done = evenhand(tmp_path, *command, before=missing + said, **{variable: "own"})

    assert done.returncode == 2
    assert f"pip install 'evenhand[{tracker}]'" in done.stderr
    assert done.stdout == "set to own\n"


def test_what_a_tracker_says_went_wrong_is_one_line_without_the_password(exported: Exported) -> None:
    refused, set_to = exported.told["refused"], exported.told["set_to"]

    assert refused["code"] == 1
    assert "evenhand: MLflow did not take the run: mlflow-skinny knows no databases; name a server" in refused["err"]
    assert refused["out"] == ""
    assert set_to["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "3", "a server that does not answer is not waited for so long"
    assert "canary-password" not in refused["err"]
    assert "Traceback" not in refused["err"]


def test_a_run_that_has_not_ended_is_refused(run: Run) -> None:
    from dataclasses import replace

    from evenhand.domain.run import RunStatus

    run.record = replace(run.record, status=RunStatus.RUNNING)

    with pytest.raises(ConfigError, match="is still running; export it when it has ended"):
        export_results(run, to="mlflow")
