"""An audit as a self-contained folder: what was shown, what the judge said, what was made of it, and by what."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import CaseResult, Judgment
from evenhand.engine.identity import digest_of
from evenhand.profiles.audit import report as audit_report
from evenhand.profiles.audit.result import design_of
from evenhand.profiles.audit.sentences import NO_CERTIFICATE
from evenhand.reports.json import moment
from evenhand.reports.report import Report, require_place
from evenhand.reports.safe_text import strict_json
from evenhand.version import __version__

METADATA: Final = "metadata.json"
_KIND: Final = "evenhand audit"
_GIT_SECONDS: Final = 10


def require_free(folder: str | os.PathLike[str], run: str | None = None) -> None:
    """Refuse a folder with anything but the audit of a run; ask this before a run, so that the mistake costs nothing.

    ``run`` is the id of that run, None if it is yet to begin.
    """
    path = Path(folder)
    if not path.exists():
        require_place(path)
        return
    if not path.is_dir():
        raise ConfigError(f"{path} is not a folder; name one that is new or empty")
    if not any(path.iterdir()):
        return
    if (kept := _kept_in(path)) is None:
        raise ConfigError(f"{path} contains other files; name a folder that is new or empty")
    if kept != run:
        raise ConfigError(f"{path} contains the files of audit {kept}; name a folder that is new or empty")


def write_artifacts(report: Report, folder: str | os.PathLike[str]) -> Path:
    """Write the folder, whole or not at all; only that of the same audit is replaced."""
    path = Path(folder)
    require_free(path, report.run.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    unfinished.mkdir()
    try:
        _write_into(unfinished, report)
        _put_in_place(unfinished, path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return path


def _write_into(folder: Path, report: Report) -> None:
    rows: dict[str, Callable[[CaseResult], Iterable[dict[str, Any]]]] = {
        "inputs.jsonl": _inputs,
        "replies.jsonl": _replies,
        "outputs.jsonl": _outputs,
    }
    for name, of_result in rows.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            file.writelines(strict_json(row) + "\n" for result in report.results() for row in of_result(result))
    (folder / "metrics.json").write_text(strict_json(audit_report.rows(report)) + "\n", encoding="utf-8")
    audit_report.write(report, folder / "report.html")
    audit_report.write(report, folder / "report.md")
    (folder / METADATA).write_text(json.dumps(_metadata(report), indent=2, default=str) + "\n", encoding="utf-8")


def _inputs(result: CaseResult) -> Iterator[dict[str, Any]]:
    """Yield the profile as the judge saw it, and its levels, which the judge did not see as such."""
    case = result.case
    yield {"profile": result.id, "text": case.candidate_answer, "levels": dict(case.metadata), "base": case.cluster}


def _replies(result: CaseResult) -> Iterator[dict[str, Any]]:
    """Yield every attempt, also those of evaluations that were done anew."""
    replaced = [judgment for judgment in result.replaced if isinstance(judgment, Judgment)]
    for judgment in sorted((*replaced, *result.judgments), key=lambda judgment: (judgment.sample, judgment.round)):
        for number, attempt in enumerate(judgment.evaluation.attempts, 1):
            yield {**_judgment_key(result, judgment), "round": judgment.round, "attempt": number, **attempt.as_dict()}


def _outputs(result: CaseResult) -> Iterator[dict[str, Any]]:
    for judgment in result.judgments:
        evaluation = judgment.evaluation
        yield {
            **_judgment_key(result, judgment),
            "status": evaluation.status.value,
            "score": evaluation.score_raw if evaluation.error is None else None,
            "justification": evaluation.reasoning,
            "error": evaluation.error,
            "retry_count": evaluation.retry_count,
            "flags": list(evaluation.flags),
        }


def _judgment_key(result: CaseResult, judgment: Judgment) -> dict[str, Any]:
    return {"profile": result.id, "repetition": judgment.sample + 1}


def _metadata(report: Report) -> dict[str, Any]:
    run = report.run
    design = design_of(run.definition)
    return {
        "kind": _KIND,
        "notice": NO_CERTIFICATE,
        "run": run.id,
        "name": run.name,
        "status": run.status.value,
        "evenhand": __version__,
        "judged_with": run.version,
        "python": platform.python_version(),
        "git": _git(Path(run.source).parent if run.source else Path.cwd()),
        "seed": design.seed,
        "design_hash": digest_of(design.as_dict()),
        "design": design.as_dict(),
        "judge": run.definition.get("judge"),
        "judges": list(report.summary.judges),
        "repetitions": run.repeat,
        "started": moment(run.created),
        "finished": None if run.finished is None else moment(run.finished),
        "gates": [gate.as_dict() for gate in report.gates],
    }


def _git(folder: Path) -> dict[str, Any]:
    """Ask git which commit the design's folder is at; where there is none, a note says so."""
    try:
        commit, changes = (_run_git(folder, *words) for words in (("rev-parse", "HEAD"), ("status", "--porcelain")))
    except (OSError, subprocess.SubprocessError):
        return {"commit": None, "note": f"{folder} is not in a git repository, or git could not be run"}
    return {"commit": commit.strip(), "changed": bool(changes.strip())}


def _run_git(folder: Path, *words: str) -> str:
    git = shutil.which("git")
    if git is None:
        raise FileNotFoundError("git")
    # Only looks: no lock is taken from somebody who is at work there.
    command = [git, "--no-optional-locks", "-C", str(folder), *words]
    completed = subprocess.run(  # noqa: S603 - nothing in it is input
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=_GIT_SECONDS
    )
    return completed.stdout


def _kept_in(path: Path) -> str | None:
    """Return the id of the run whose audit a folder has; None if it has none."""
    try:
        metadata = json.loads((path / METADATA).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return str(metadata.get("run")) if isinstance(metadata, dict) and metadata.get("kind") == _KIND else None


def _put_in_place(made: Path, path: Path) -> None:
    if not path.exists():
        made.rename(path)
        return
    earlier = path.with_name(f".{path.name}.{secrets.token_hex(4)}.old")
    path.rename(earlier)
    try:
        made.rename(path)
    except OSError:
        earlier.rename(path)
        raise
    shutil.rmtree(earlier, ignore_errors=True)
