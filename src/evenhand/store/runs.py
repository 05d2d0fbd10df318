"""The table of runs: create, find, claim and end them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from evenhand.domain.errors import ConfigError, ConflictError, RunBusyError, RunNotFoundError, StoreError
from evenhand.domain.run import NOT_A_LABEL, TAGS, RunRecord, RunStatus, is_label
from evenhand.store import checksum
from evenhand.store.batches import Batches
from evenhand.store.database import Database, atomic
from evenhand.store.records import MENDING, NOT_AS_WRITTEN
from evenhand.store.rows import column, dumps, loads
from evenhand.store.run_owner import HEARTBEAT_SECONDS, Owner, this_process
from evenhand.store.run_tags import tags_after
from evenhand.version import __version__

# Decimals first, and last what is written as JSON: so the checksum has them.
_DECIMALS: Final = ("created", "finished", "abandoned_cost")
_PLAIN: Final = (
    "number", "id", "name", "status", "reason", "source", "cases", "repeat", "forked_from", "version",
    "abandoned_calls", "evaluations", "answers", "covered",
)  # fmt: skip
_JSON: Final = ("definition", "options")
_NAMES: Final = (*_DECIMALS, *_PLAIN, *_JSON)
_COLUMNS: Final = f"{', '.join(_NAMES)}, checksum"


class Runs:
    """The runs of a store."""

    def __init__(self, database: Database) -> None:
        self._db = database
        # Of the runs that this process has claimed, the fencing number, and when that was last said.
        self._held: dict[int, int] = {}
        self._heartbeats: dict[int, float] = {}

    @atomic
    def create(
        self,
        *,
        name: str,
        source: str | None,
        definition: Mapping[str, Any],
        options: Mapping[str, Any],
        repeat: int = 1,
        forked_from: str | None = None,
    ) -> RunRecord:
        """Create a run, claimed by this process, without cases yet."""
        created = time.time()
        columns = {
            "id": _new_id(created), "name": column(name), "status": RunStatus.PLANNING.value, "reason": "",
            "source": None if source is None else column(source), "definition": dumps(definition),
            "options": dumps(options), "cases": 0, "repeat": repeat, "forked_from": forked_from,
            "version": __version__, "created": created, "finished": None,
        }  # fmt: skip
        number = self.add(columns, owner=this_process().text, seen=created, fence=1)
        self._held[number], self._heartbeats[number] = 1, time.monotonic()
        return _record(self._row(number))

    @atomic
    def add(self, columns: Mapping[str, Any], **rest: Any) -> int:
        """Add a run by its columns, and return its number; omitted columns have their defaults."""
        values = {"abandoned_calls": 0, "abandoned_cost": 0.0, **columns, "covered": 1, **rest}
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self._db.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", list(values.values()))  # noqa: S608
        ((number,),) = self._db.rows("SELECT number FROM runs WHERE id = ?", [values["id"]])
        row = self._row(number, verify=False)
        self._db.execute("UPDATE runs SET checksum = ? WHERE number = ?", [_checksum(row), number])
        return int(number)

    def find(self, run_id: str, *, verify: bool = True) -> RunRecord:
        """Find a run by its id, by a unique prefix of it, or as ``last`` or ``previous``.

        ``previous`` is the one before the last, of the same suite; of runs without a suite, of the same name.
        Without ``verify``, also one whose row is damaged is found, to inspect or delete it.
        """
        if run_id == "last":
            rows = self._db.rows(f"SELECT {_COLUMNS} FROM runs ORDER BY number DESC LIMIT 1")  # noqa: S608
            if not rows:
                self._db.check("runs")
                raise RunNotFoundError(f"there is no run in {self._db.where} yet; start one with: evenhand run SUITE")
            return _record(rows[0], verify=verify)
        if run_id == "previous":
            return self._before(self.find("last", verify=verify), verify=verify)
        # Not by LIKE, for which the databases disagree about capitals, and some letters mean any.
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM runs WHERE SUBSTR(id, 1, ?) = ? ORDER BY LENGTH(id), number DESC LIMIT 3",  # noqa: S608
            [len(run_id), column(run_id)],
        )
        exact = [row for row in rows if row[_ID] == run_id] or rows
        if len(exact) == 1:
            return _record(exact[0], verify=verify)
        self._db.check("runs")
        if exact:
            several = ", ".join(str(row[_ID]) for row in exact)
            raise RunNotFoundError(f"several runs start with {run_id!r}: {several} …; give more of the id")
        latest = ", ".join(run.id for run in self.newest(3))
        hint = f"; the latest are {latest}" if latest else "; there is none yet"
        raise RunNotFoundError(f"no run {run_id!r} in {self._db.where}{hint}")

    def _before(self, run: RunRecord, *, verify: bool) -> RunRecord:
        """Return the run before another, of the same suite; of runs without a suite, of the same name."""
        same, value = (
            ("source = ?", run.source) if run.source is not None else ("source IS NULL AND name = ?", run.name)
        )
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM runs WHERE number < ? AND {same} ORDER BY number DESC LIMIT 1",  # noqa: S608
            [run.number, column(value)],
        )
        if not rows:
            self._db.check("runs")
            whose = f"named {run.name!r:.80}" if run.source is None else f"of {run.source!s:.200}"
            raise RunNotFoundError(f"there is no previous run: {run.id}, the last one, is the first {whose}")
        return _record(rows[0], verify=verify)

    def newest(self, limit: int | None = None, *, source: str | None = None) -> list[RunRecord]:
        """Return the runs, the newest first."""
        where, values = ("WHERE source = ?", [column(source)]) if source is not None else ("", [])
        most = "" if limit is None else f"LIMIT {int(limit)}"
        rows = self._db.rows(f"SELECT {_COLUMNS} FROM runs {where} ORDER BY number DESC {most}", values)  # noqa: S608
        return [_record(row) for row in rows]

    def in_progress(self) -> list[RunRecord]:
        """Return the runs that are marked as planning or running, the newest first."""
        marks = (RunStatus.PLANNING.value, RunStatus.RUNNING.value)
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM runs WHERE status IN (?, ?) ORDER BY number DESC",  # noqa: S608 - our own names
            list(marks),
        )
        return [_record(row) for row in rows]

    def ids(self) -> Iterator[str]:
        """Yield the ids of all runs, the newest first, whether their rows are sound or not."""
        yield from (str(row[0]) for row in self._db.rows("SELECT id FROM runs ORDER BY number DESC"))

    def total(self) -> int:
        """Return how many runs there are."""
        return int(self._db.rows("SELECT COUNT(*) FROM runs")[0][0])

    def with_option(self, name: str) -> list[RunRecord]:
        """Return the runs that have an option, the newest first."""
        rows = self._db.rows("SELECT id FROM runs WHERE options LIKE ? ORDER BY number DESC", [f'%"{name}"%'])
        # The name may also be in the value of another option.
        return [run for run in (self.find(run_id) for (run_id,) in rows) if name in run.options]

    def is_sound(self, run: RunRecord) -> bool | None:
        """Return whether the row of a run matches its checksum; None if it has none."""
        row = self._row(run.number, verify=False)
        return None if row[-1] is None and not row[_COVERED] else _is_sound(row)

    def claim(self, run: RunRecord) -> None:
        """Claim a run, unless a live process has it; its previous owner cannot write any more."""
        self._held[run.number], self._heartbeats[run.number] = self._claim(run), time.monotonic()

    @atomic
    def _claim(self, run: RunRecord) -> int:
        me = this_process()
        self._db.lock()
        owner, seen, fence = self._owner(run)
        if owner is not None and owner != me and owner.lives(seen):
            raise RunBusyError(f"run {run.id} is in use by {owner.words}")
        self._db.execute(
            "UPDATE runs SET owner = ?, seen = ?, fence = ? WHERE number = ?",
            [me.text, time.time(), fence + 1, run.number],
        )
        return fence + 1

    def require(self, number: int) -> None:
        """Within a transaction: raise ``RunBusyError`` if another process has taken over a run that was ours.

        Nobody else can claim it until the transaction has ended.
        """
        held = self._held.get(number)
        if held is None:
            return
        rows = self._db.rows(f"SELECT fence FROM runs WHERE number = ?{self._db.for_share}", [number])  # noqa: S608
        if not rows or rows[0][0] != held:
            self._refuse_lost(number)
        if (
            time.monotonic() - self._heartbeats[number] > HEARTBEAT_SECONDS
        ):  # who plans for long has nobody else to say it
            self._beat(number)

    @atomic
    def alive(self, run: RunRecord) -> None:
        """Send a heartbeat for a run; raise ``RunBusyError`` if this process has lost it."""
        held = self._held.get(run.number)
        if held is None:
            self._db.execute("UPDATE runs SET seen = ? WHERE number = ?", [time.time(), run.number])
        elif not self._beat(run.number):
            self._refuse_lost(run.number)

    def _beat(self, number: int) -> bool:
        self._heartbeats[number] = time.monotonic()
        sql = "UPDATE runs SET seen = ? WHERE number = ? AND fence = ?"
        return self._db.execute(sql, [time.time(), number, self._held[number]]) == 1

    def mark(self, run: RunRecord, status: RunStatus, reason: str = "", *, cases: int | None = None) -> RunRecord:
        """Set the status of a run; all but ``running`` and ``planning`` release it."""
        at_work = status in (RunStatus.RUNNING, RunStatus.PLANNING)
        changed = self._mark(run, status, reason, run.cases if cases is None else cases, at_work=at_work)
        if not at_work:
            self._held.pop(run.number, None)
        return changed

    @atomic
    def _mark(self, run: RunRecord, status: RunStatus, reason: str, cases: int, *, at_work: bool) -> RunRecord:
        ended = status is RunStatus.FINISHED
        self.require(run.number)
        changed = self._change(
            run,
            status=status.value,
            reason=column(reason),
            finished=time.time() if ended else None,
            cases=cases,
            **(self._counts(run) if ended else {"evaluations": None, "answers": None}),
        )
        owner = this_process().text if at_work else None
        self._db.execute("UPDATE runs SET owner = ? WHERE number = ?", [owner, run.number])
        return changed

    @atomic
    def count(self, run: RunRecord) -> RunRecord:
        """Store how many rows a finished run has, so that a lost one is noticed."""
        return self._change(run, **self._counts(run))

    @atomic
    def abandon(self, run: RunRecord, calls: int, cost: float | None) -> None:
        """Count calls that are part of no evaluation, because the run stopped before."""
        self.require(run.number)
        record = _record(self._row(run.number))
        # What is unknown stays unknown, whatever is added to it.
        total = None if cost is None or record.abandoned_cost is None else record.abandoned_cost + cost
        self._change(run, abandoned_calls=record.abandoned_calls + calls, abandoned_cost=total)

    @atomic
    def set_options(self, run: RunRecord, options: Mapping[str, Any]) -> None:
        """Replace the options of a run."""
        self._change(run, options=dumps(options))

    @atomic
    def set_option(self, run: RunRecord, name: str, value: Any) -> RunRecord:
        """Set one option of a run that this process has; the others stay as they are by now."""
        self._db.lock()
        self.require(run.number)
        return self._change(run, options=dumps({**_record(self._row(run.number)).options, name: value}))

    @atomic
    def set_label(self, run: RunRecord, label: str) -> RunRecord:
        """Set the label of a run; an empty one removes it."""
        if label and not is_label(label):
            raise ConfigError(f"label is {label!r:.80}; {NOT_A_LABEL}, or empty", key="label")
        self._db.lock()
        options = {name: value for name, value in _record(self._row(run.number)).options.items() if name != "label"}
        self.set_options(run, options | ({"label": label} if label else {}))
        return self.find(run.id)

    @atomic
    def change_tags(self, run: RunRecord, *, add: Iterable[str] = (), remove: Iterable[str] | None = ()) -> RunRecord:
        """Add tags to a run and remove others; None removes all that are not added."""
        self._db.lock()
        options = dict(_record(self._row(run.number)).options)
        tags = tags_after(self.find(run.id).tags, add=add, remove=remove)
        options.pop(TAGS, None)
        self.set_options(run, options | ({TAGS: list(tags)} if tags else {}))
        return self.find(run.id)

    def actual_status(self, run: RunRecord) -> RunStatus:
        """Return the status of a run: interrupted also if its process is gone without having stored that."""
        is_unfinished = run.status in (RunStatus.RUNNING, RunStatus.PLANNING)
        return RunStatus.INTERRUPTED if is_unfinished and not self.in_hand(run) else run.status

    def in_hand(self, run: RunRecord) -> bool:
        """Return whether a live process has a run."""
        owner, seen, _ = self._owner(run)
        return owner is not None and owner.lives(seen)

    @atomic
    def delete(self, run: RunRecord, *, with_batches: bool = False) -> None:
        """Delete a run with everything in it, unless a live process has it, or a provider works on its batches.

        ``with_batches`` deletes it in spite of them: their replies will be paid for, and nobody can read them.
        """
        self._db.lock()
        self.require_deletable(run, with_batches=with_batches)
        self._db.execute("DELETE FROM runs WHERE number = ?", [run.number])

    def require_deletable(self, run: RunRecord, *, with_batches: bool = False) -> None:
        """Raise ``RunBusyError`` or ``ConflictError`` if a run is not to be deleted now."""
        if self.in_hand(run):
            raise RunBusyError(f"run {run.id} is in progress; stop it first")
        if not with_batches and Batches(self._db).in_work(run):
            raise ConflictError(
                f"run {run.id} has pending batches, whose replies would be paid for and lost; "
                "resume the run, or cancel its batches first"
            )

    def _owner(self, run: RunRecord) -> tuple[Owner | None, float | None, int]:
        """Return the process that has a run, the time of its last heartbeat, and the fencing number."""
        rows = self._db.rows("SELECT owner, seen, fence FROM runs WHERE number = ? AND id = ?", [run.number, run.id])
        if not rows:
            raise RunNotFoundError(f"run {run.id} is not in {self._db.where} any more")
        owner, seen, fence = rows[0]
        return None if owner is None else Owner.read(owner), seen, fence

    def _refuse_lost(self, number: int) -> None:
        rows = self._db.rows("SELECT id, owner FROM runs WHERE number = ?", [number])
        if not rows:
            raise RunNotFoundError(f"the run is not in {self._db.where} any more: it was deleted")
        identity, owner = rows[0]
        who = "another process" if owner is None else Owner.read(owner).words
        raise RunBusyError(f"run {identity} was taken over by {who}, which keeps the results; this process stops")

    def _counts(self, run: RunRecord) -> dict[str, int]:
        return {
            table: int(self._db.rows(f"SELECT COUNT(*) FROM {table} WHERE run = ?", [run.number])[0][0])  # noqa: S608
            for table in ("evaluations", "answers")
        }

    def _row(self, number: int, *, verify: bool = True) -> tuple[Any, ...]:
        rows = self._db.rows(f"SELECT {_COLUMNS} FROM runs WHERE number = ?{self._db.for_update}", [number])  # noqa: S608
        if not rows:
            raise RunNotFoundError(f"the run is not in {self._db.where} any more: it was deleted")
        if verify:
            _record(rows[0])
        return rows[0]

    def _change(self, run: RunRecord, **columns: Any) -> RunRecord:
        """Change columns of a run, and its checksum with them."""
        fields = dict(zip(_NAMES, self._row(run.number), strict=False)) | columns
        row = (*(fields[name] for name in _NAMES), None)
        named = ", ".join(f"{name} = ?" for name in columns)
        seal = _checksum(row)
        self._db.execute(
            f"UPDATE runs SET {named}, checksum = ? WHERE number = ?",  # noqa: S608 - our own names
            [*columns.values(), seal, run.number],
        )
        return _record((*row[:-1], seal))


_ID: Final = _NAMES.index("id")
_COVERED: Final = _NAMES.index("covered")


def _checksum(row: tuple[Any, ...]) -> int:
    *columns, definition, options, _ = row
    return checksum.of_run(tuple(columns), checksum.content_half(f"{definition}\n{options}"))


def _is_sound(row: tuple[Any, ...]) -> bool:
    try:
        created, finished, cost, *_ = row
        if any(type(value) is not float and value is not None for value in (created, finished, cost)):
            return False
        return bool(_checksum(row) == row[-1])
    except NOT_AS_WRITTEN:
        return False


def _record(row: tuple[Any, ...], *, verify: bool = True) -> RunRecord:
    covered = row[_COVERED]
    if verify and not (row[-1] is None and covered == 0) and not _is_sound(row):
        raise StoreError(f"run {row[_ID]!s:.60} is damaged: its row does not match its checksum; {MENDING}")
    fields = dict(zip(_NAMES, row, strict=False))
    try:
        read = {"status": RunStatus(fields["status"]), "covered": bool(covered)}
        read |= {name: loads(fields[name]) for name in _JSON}
    except (*NOT_AS_WRITTEN, StoreError):
        if verify:
            raise StoreError(f"run {row[_ID]!s:.60} is damaged: its row cannot be read; {MENDING}") from None
        read = {"status": RunStatus.INTERRUPTED, "covered": True, "definition": {}, "options": {}}
    return RunRecord(**(fields | read))


def _new_id(now: float) -> str:
    """Make an id that sorts by time and can be typed."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    chance = "".join(secrets.choice(letters) for _ in range(4))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{chance}"
