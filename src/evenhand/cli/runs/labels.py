"""The labels that a run is given: checked before anything is spent, and stored with the run when it has finished."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.console import Console
from evenhand.cli.login_name import login_name
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ReadOnlyError, did_you_mean
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.label import LABELS_FILE
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.drive.working_folder import seen_from_here
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import planned_cases
from evenhand.engine.store_location import open_or_empty
from evenhand.store.store import Store
from evenhand.store.transfer import IMPORTED
from evenhand.trust.limits import TrustLimits

if TYPE_CHECKING:
    from evenhand.labels.reuse import LabelFile


def find_to_label(store: Store, wanted: str, console: Console) -> RunRecord:
    """Find a run whose answers people label, and say which, where ``last`` is not the newest of all."""
    from evenhand.api.last_run import run_to_label  # noqa: PLC0415 - most runs that are started are not labelled

    record, note = run_to_label(store, wanted)
    if note:
        console.note(note)
    return record


def labels_in_suite(definition: Mapping[str, Any], source: str | None) -> str | None:
    """Return where the file of labels that a suite names is: paths in a suite are seen from its folder."""
    named = TrustLimits.of(definition.get("trust")).labels
    return named if named is None or source is None else str(Path(source).parent / named)


def check_labels(path: str, job: Job, scope: Scope, db: str) -> None:
    """Refuse a file of labels that does not fit the cases, as far as that shows before the run."""
    file = _read(path)
    has_target = job.target is not None or job.assign is not None
    unknown, names = file.evaluators, set[str]()

    def cases(store: Store) -> Iterator[Case]:
        for written in planned_cases(store, job, scope):
            if unknown:
                names.update(evaluator.name for evaluator in job.evaluators_for(written.given))
            yield written.given.case

    with open_or_empty(db) as store:
        file.check(cases(store), has_target=has_target, is_whole=not scope.only and scope.limit is None)
    for name, line in unknown.items():
        if name not in names:
            known = sorted(names)
            raise ConfigError(f"{file.name}:{line}: no evaluator {name!r:.80}{did_you_mean(name[:80], known)}")


def _read(path: str) -> LabelFile:
    from evenhand.labels.reuse import LabelFile  # noqa: PLC0415 - few runs are given labels

    return LabelFile.read(path, rater=login_name(), name=seen_from_here(path))


def add_given_labels(store: Store, run: RunRecord, console: Console) -> ExitCode:
    """Store the labels that a finished run was given, and say what became of them; a file that is wrong ends with 2."""
    path = run.options.get(LABELS_FILE)
    if not isinstance(path, str) or run.options.get(IMPORTED):
        return ExitCode.OK
    if run.status is not RunStatus.FINISHED:
        console.note("labels are used when all cases are judged")
        return ExitCode.OK
    if not Path(path).is_file() and store.labels.state(run) is not None:
        return ExitCode.OK  # they were stored when the run was reported before
    try:
        store.require_writable()
        reused = _read(path).add_to(store, run)
    except (ConfigError, ReadOnlyError) as error:
        console.error(str(error))
        return ExitCode.USAGE
    for words in reused.words(seen_from_here(path)):
        console.note(words)
    return ExitCode.OK
