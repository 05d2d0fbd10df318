"""Results for experiment trackers: one run, sent to MLflow or Weights & Biases."""

from __future__ import annotations

import contextlib
import csv
import importlib
import itertools
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from evenhand.domain.errors import ConfigError, EvenhandError, did_you_mean
from evenhand.domain.evaluation import Status
from evenhand.domain.run import RunStatus
from evenhand.domain.secret import Secret, scrubber_of
from evenhand.domain.summary import Interval, Summary, Tally
from evenhand.engine.identity import digest_of
from evenhand.engine.run import Run
from evenhand.engine.store_location import DEFAULT, PlaceLike
from evenhand.reports.csv import cell
from evenhand.reports.safe_text import strict_json

TRACKERS: Final = {"mlflow": "MLflow", "wandb": "Weights & Biases"}
COLUMNS: Final = ("case", "sample", "evaluator", "status", "score", "verdict", "reasoning", "error")
RUN_TAG: Final = "evenhand.run_id"

_MOST_PARAM: Final = 500
_MOST_NAME: Final = 150
# A table of W&B is made in memory; the file beside it has all rows.
_MOST_TABLE_ROWS: Final = 10_000
# What trackers let a metric be called, by the stricter of the two.
_NOT_IN_NAMES: Final = re.compile(r"[^\w.\- ]")
# Whose values may be in what a tracker says went wrong.
_SECRET_VARIABLES: Final = (
    "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "DATABRICKS_TOKEN", "WANDB_API_KEY",
)  # fmt: skip
# What mlflow-skinny raises of a database, which is also where MLflow looks if nothing says where it is.
_NO_DATABASE: Final = "UnsupportedModelRegistryStoreURIException"
_ONLY_SERVERS: Final = (
    "mlflow-skinny knows no databases; name a server with --uri, uri or MLFLOW_TRACKING_URI, or install the whole of "
    "mlflow: pip install mlflow"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRun:
    """Where a run is in a tracker: its ``id`` there, in the experiment or project ``place``.

    It ``is_new`` unless it had been exported before, and nothing was sent.
    """

    tracker: str
    place: str
    id: str
    is_new: bool


def export_results(
    run: Run | str = "last",
    *,
    to: str,
    experiment: str | None = None,
    uri: str | None = None,
    project: str | None = None,
    again: bool = False,
    store: PlaceLike = DEFAULT,
) -> ExportedRun:
    """Send the results of a run to a tracker: ``mlflow`` or ``wandb``.

    The ``experiment`` of MLflow, or the ``project`` of W&B, is named like the suite unless given; ``uri`` is where
    MLflow is, by default what ``MLFLOW_TRACKING_URI`` says. A run that was exported before is not exported again,
    unless ``again`` is set: then it becomes another run there.
    """
    if to not in TRACKERS:
        raise ConfigError(f"to is {to!r:.80}; it must be {' or '.join(TRACKERS)}{did_you_mean(str(to), TRACKERS)}")
    for name, value, tracker in (
        ("experiment", experiment, "mlflow"),
        ("uri", uri, "mlflow"),
        ("project", project, "wandb"),
    ):
        if value is not None and to != tracker:
            raise ConfigError(f"{name} is for {TRACKERS[tracker]} and says nothing to {TRACKERS[to]}; leave it out")
        if value is not None and not value.strip():
            raise ConfigError(f"{name} is empty; give a name, or leave it out")
    opened = Run.open(run, store=store) if isinstance(run, str) else run
    if opened.status in (RunStatus.PLANNING, RunStatus.RUNNING):
        raise ConfigError(f"run {opened.id} is still {opened.status.value}; export it when it has ended")
    if to == "mlflow":
        return _to_mlflow(opened, experiment or opened.name, uri, again=again)
    return _to_wandb(opened, project or opened.name, again=again)


def params_of(run: Run) -> dict[str, str]:
    """Return what the run was made with, as short texts."""
    record, definition = run.record, run.record.definition
    params: dict[str, Any] = {
        "run_id": record.id,
        "suite": record.name,
        "label": record.label,
        "status": record.status.value,
        "version": record.version,
        "suite_digest": digest_of(definition),
        "cases": record.cases,
        "repeat": record.repeat,
        "judges": ", ".join(run.summary.judges),
        "evaluators": ", ".join(run.summary.evaluators),
        "pass_at": record.thresholds.pass_at,
        "borderline_at": record.thresholds.borderline_at,
        "target": definition.get("target"),
        "imported_from": record.origin,
    }
    texts = {
        name: value if isinstance(value, str) else strict_json(value)
        for name, value in params.items()
        if value not in (None, "")
    }
    return {name: _shortened(text) for name, text in texts.items()}


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_PARAM else f"{text[: _MOST_PARAM - 1]}…"


def metrics_of(summary: Summary) -> dict[str, float]:
    """Return the numbers of a run by name; what has no value is absent, and the counts say why."""
    names = {"cases": summary.cases}
    for evaluator, tally in summary.evaluators.items():
        names[_name_of(evaluator, names)] = tally
    metrics = {f"{name}/{key}": value for name, tally in names.items() for key, value in _numbers(tally)}
    for key in ("calls", "cached", "retries", "input_tokens", "output_tokens"):
        metrics[f"usage/{key}"] = getattr(summary, key)
    if summary.cost is not None:
        metrics["usage/cost_usd"] = summary.cost
    return metrics


def _name_of(evaluator: str, taken: Mapping[str, object]) -> str:
    """Return the name of an evaluator as trackers allow it, and as no other has it."""
    name = _NOT_IN_NAMES.sub("_", evaluator)[:_MOST_NAME].strip(". ") or "evaluator"
    number, free = 2, name
    while free in taken or free == "usage":
        number, free = number + 1, f"{name} {number}"
    return free


def _numbers(tally: Tally) -> Iterator[tuple[str, float]]:
    for name in ("n", "scored", "not_evaluated", "errors", "pending", "passed", "borderline", "failed"):
        yield name, getattr(tally, name)
    if tally.answers is not None:
        yield "answer_errors", tally.answers.errors
        yield "answers_not_evaluated", tally.answers.not_evaluated
    yield from _estimate("mean", tally.mean, tally.interval)
    yield from _estimate("pass_rate", tally.pass_rate, tally.pass_rate_interval)


def _estimate(name: str, value: float | None, interval: Interval | None) -> Iterator[tuple[str, float]]:
    if value is not None:
        yield name, value
        if interval is not None:
            yield f"{name}_low", interval.low
            yield f"{name}_high", interval.high


def rows_of(run: Run) -> Iterator[tuple[Any, ...]]:
    """Yield the evaluations of a run, in the order of ``COLUMNS``: only what was scored has a score."""
    for result in run:
        for judgment in result.judgments:
            evaluation = judgment.evaluation
            is_scored = evaluation.status is Status.SCORED
            verdict = evaluation.verdict.value if is_scored and evaluation.verdict is not None else None
            yield (
                result.id,
                judgment.sample,
                evaluation.evaluator,
                evaluation.status.value,
                evaluation.score if is_scored else None,
                verdict,
                evaluation.reasoning,
                evaluation.error,
            )


@contextlib.contextmanager
def _files_of(run: Run) -> Iterator[list[Path]]:
    """Write the files that go along into a folder of their own, one case after the other."""
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        table = Path(folder) / "evaluations.csv"
        with table.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
            writer.writerow(COLUMNS)
            writer.writerows([cell(value) for value in row] for row in rows_of(run))
        yield [table, run.save(Path(folder) / "report.html"), run.save(Path(folder) / "report.json")]


def _library(name: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ConfigError(f"exporting to {TRACKERS[name]} needs it: pip install 'evenhand[{name}]'") from None


@contextlib.contextmanager
def _refused_by(tracker: str, uri: str | None = None) -> Iterator[None]:
    """Turn what a tracker raises into an error of ours, without the keys that it may quote."""
    try:
        yield
    except EvenhandError:
        raise
    except Exception as error:
        secrets = [os.environ.get(name) for name in _SECRET_VARIABLES]
        with contextlib.suppress(ValueError):
            secrets.append(urlsplit(uri or "").password)
        message = scrubber_of([Secret(value) for value in secrets if value]).scrub(str(error))
        why = _ONLY_SERVERS if type(error).__name__ == _NO_DATABASE else f"{type(error).__name__}: {message:.500}"
        raise EvenhandError(f"{TRACKERS[tracker]} did not take the run: {why}") from None


def _to_mlflow(run: Run, experiment: str, uri: str | None, *, again: bool) -> ExportedRun:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    # By default it tries a server that does not answer for more than four minutes.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
    mlflow = _library("mlflow", "mlflow.tracking")
    where = uri or os.environ.get("MLFLOW_TRACKING_URI")
    with _refused_by("mlflow", where):
        client = mlflow.MlflowClient(tracking_uri=where)
        known = client.get_experiment_by_name(experiment)
        experiment_id = client.create_experiment(experiment) if known is None else known.experiment_id
        if not again:
            before = client.search_runs([experiment_id], filter_string=f"tags.`{RUN_TAG}` = '{run.id}'", max_results=1)
            if before:
                return ExportedRun(tracker="mlflow", place=experiment, id=before[0].info.run_id, is_new=False)
        created = client.create_run(
            experiment_id, run_name=run.label or run.name, start_time=int(run.record.created * 1000)
        )
        number = created.info.run_id
        try:
            for name, text in params_of(run).items():
                client.log_param(number, name, text)
            for name, value in metrics_of(run.summary).items():
                client.log_metric(number, name, value)
            with _files_of(run) as files:
                for file in files:
                    client.log_artifact(number, str(file))
            client.set_tag(number, RUN_TAG, run.id)  # last: one that was interrupted does not count
        except BaseException:
            client.set_terminated(number, status="FAILED")
            raise
        status = "FINISHED" if run.status is RunStatus.FINISHED else "KILLED"
        finished = run.record.finished
        client.set_terminated(number, status=status, end_time=None if finished is None else int(finished * 1000))
    return ExportedRun(tracker="mlflow", place=experiment, id=number, is_new=True)


def _to_wandb(run: Run, project: str, *, again: bool) -> ExportedRun:
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    wandb = _library("wandb", "wandb")
    if os.environ["WANDB_ERROR_REPORTING"].lower() in ("false", "0"):
        # Newer versions count how they are used too, and have no variable for that.
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module("wandb.analytics.opentelemetry.opentelemetry_proxy").disable()
    # Nothing of this machine, and nothing of what is printed here: only the results.
    settings = wandb.Settings(
        console="off", disable_code=True, disable_git=True, host="evenhand", silent=True, x_disable_machine_info=True,
        x_disable_meta=True, x_disable_stats=True, x_save_requirements=False,
    )  # fmt: skip
    number = f"evenhand-{run.id}" + (f"-{os.urandom(3).hex()}" if again else "")
    with _refused_by("wandb"):
        sent = wandb.init(
            project=project,
            name=run.label or run.name,
            id=number,
            resume="never",
            config=params_of(run),
            settings=settings,
        )
        try:
            sent.summary.update(metrics_of(run.summary))
            rows = [list(row) for row in itertools.islice(rows_of(run), _MOST_TABLE_ROWS)]
            sent.log({"evaluations": wandb.Table(columns=list(COLUMNS), data=rows)})
            artifact = wandb.Artifact(number, type="evenhand-run")
            with _files_of(run) as files:
                for file in files:
                    artifact.add_file(str(file))
                sent.log_artifact(artifact)
        except BaseException:
            sent.finish(exit_code=1)
            raise
        sent.finish()
    return ExportedRun(tracker="wandb", place=project, id=number, is_new=True)
