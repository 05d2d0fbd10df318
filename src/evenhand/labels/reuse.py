"""A file of labels used for another run of the same answers: checked before the run, and stored with it after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.label import Draw, answer_hash, answer_of, is_rater, label_value
from evenhand.domain.run import RunRecord
from evenhand.labels.draw import candidates_of, draw_cases
from evenhand.labels.file import AddedLabels, add_label_rows, chance_in, label_rows, refuse_faults
from evenhand.reports.phrases import counted
from evenhand.store.results import case_result
from evenhand.store.store import Store
from evenhand.suites.values import Fault

# So many cases are named of those whose labels do not count.
_MOST_NAMED: Final = 5
_NOT_DONE: Final = "nothing was judged"


class _Row(NamedTuple):
    line: int
    cells: Mapping[str, str]

    @property
    def evaluator(self) -> str | None:
        return self.cells.get("evaluator") or None


class _DrawnRows(NamedTuple):
    """The rows of a draw: the chance of each case, the seed, and how many cases the file has of it."""

    p: float
    seed: int
    size: int

    @property
    def eligible(self) -> int:
        """How many cases could be drawn, as far as the file has all that were."""
        return round(self.size / self.p)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedLabels:
    """What became of the labels of a file in a run.

    ``changed`` are the cases whose answers are not the labelled ones any more, ``absent`` those that the run does not
    have; their labels do not count. ``draws`` are those that were repeated with their seeds; ``undrawn`` says why
    labels that were drawn for another run do not count as drawn here.
    """

    added: AddedLabels
    changed: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    draws: tuple[Draw, ...] = ()
    undrawn: tuple[str, ...] = ()

    def words(self, name: str) -> Iterator[str]:
        """Say it in sentences."""
        known = self.added.stored + self.added.same
        yield f"{name}: {counted(known, 'label')} stored with the run"
        for draw in self.draws:
            yield f"{name}: drawn at random: the draw of {draw.size:,} of {draw.eligible:,} cases with seed {draw.seed}"
        if self.changed:
            yield (
                f"{name}: the labels of {counted(len(self.changed), 'case')} do not count, since the answers are not "
                f"those that were labelled: {_named(self.changed)}"
            )
        if self.absent:
            yield f"{name}: {counted(len(self.absent), 'labelled case')} left out of this run: {_named(self.absent)}"
        yield from (f"{name}: {why}" for why in self.undrawn)


def _named(cases: tuple[str, ...]) -> str:
    more = "" if len(cases) <= _MOST_NAMED else f" and {len(cases) - _MOST_NAMED:,} more"
    return ", ".join(f"{case:.60}" for case in cases[:_MOST_NAMED]) + more


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelFile:
    """The labels of a file, as far as they can be checked without the run; rows that are not filled in are left out.

    ``rater`` is whose labels those are of which the file does not say it.
    """

    name: str
    rater: str
    rows: tuple[_Row, ...]
    drawn: Mapping[str | None, _DrawnRows] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str, *, rater: str, name: str | None = None) -> LabelFile:
        """Read a file, called ``name``; if one row is wrong, it is refused, and each mistake is named with its row."""
        told = name or path
        seen: dict[tuple[str, ...], int] = {}
        rows: list[_Row] = []
        drawn: dict[str | None, list[tuple[str, float, str]]] = {}
        faults: list[Fault] = []
        for line, cells, wrong in label_rows(Path(path), told):
            faults += wrong
            if wrong:
                continue
            row = _Row(line, cells)
            try:
                if cells["human"]:
                    label_value(cells["human"])
                    rows.append(row)
                    who = cells.get("rater") or rater
                    first = seen.setdefault((cells["id"], cells.get("evaluator", ""), who), line)
                    if first != line:
                        raise ConfigError(f"{who} has labelled case {cells['id']!r:.80} in line {first} already")
                if cells.get("p"):
                    p = chance_in(cells["p"])
                    drawn.setdefault(row.evaluator, []).append((cells["id"], p, cells.get("seed", "")))
                if cells.get("rater") and not is_rater(cells["rater"]):
                    raise ConfigError(f"rater is {cells['rater']!r:.120}; it must be a short line of text")
            except ConfigError as error:
                faults.append(Fault(line, str(error)))
        refuse_faults(told, faults, _NOT_DONE)
        if not rows:
            raise ConfigError(f"{told}: no row has a label; fill in the column human with pass, fail or a score")
        return cls(
            name=told,
            rater=rater,
            rows=tuple(rows),
            drawn={evaluator: _one_draw(told, those) for evaluator, those in drawn.items()},
        )

    @property
    def evaluators(self) -> dict[str, int]:
        """The evaluators that rows are about, each with the first line that names it."""
        return {row.evaluator: row.line for row in reversed(self.rows) if row.evaluator is not None}

    def check(self, cases: Iterable[Case], *, has_target: bool, is_whole: bool) -> None:
        """Refuse labels of answers that the cases do not have, where the answers are known before the run.

        Where a target answers, a label needs the hash of its answer: only the same answer again is the labelled one.
        ``is_whole`` says that all cases of the suite are run; then labels of others are refused, too.
        """
        waiting: dict[str, list[_Row]] = {}
        for row in self.rows:
            waiting.setdefault(row.cells["id"], []).append(row)
        faults: list[Fault] = []
        for case in cases:
            told = (
                (row.line, _problem(case, row.cells.get("answer_hash", ""), has_target=has_target))
                for row in waiting.pop(case.id or "", ())
            )
            faults += [Fault(line, problem) for line, problem in told if problem]
        for name, those in waiting.items() if is_whole else ():
            faults += [Fault(row.line, f"the suite has no case {name!r:.80}") for row in those]
        refuse_faults(self.name, sorted(faults, key=lambda fault: fault.line), _NOT_DONE)

    def add_to(self, store: Store, run: RunRecord) -> ReusedLabels:
        """Store the labels of the answers that a run has, as drawn where the draw can be repeated in the run."""
        changed: dict[str, None] = {}
        absent: dict[str, None] = {}
        moved = set[str | None]()
        fitting: list[_Row] = []
        for row in self.rows:
            result = case_result(store, run, row.cells["id"])
            answer = None if result is None else answer_of(result)
            if result is None:
                absent[row.cells["id"]] = None
            elif answer is None or row.cells.get("answer_hash", "") not in ("", answer_hash(answer)):
                changed[row.cells["id"]] = None
                moved.add(row.evaluator)
            else:
                fitting.append(row)
        draws: dict[str | None, Draw] = {}
        undrawn: list[str] = []
        for evaluator, drawn in self.drawn.items():
            found = _CHANGED if evaluator in moved else _repeated(store, run, evaluator, drawn)
            if isinstance(found, Draw):
                draws[evaluator] = found
            else:
                undrawn.append(found)
        added = add_label_rows(store, run, [_fitted(store, run, row, draws) for row in fitting], rater=self.rater)
        return ReusedLabels(
            added=added,
            changed=tuple(changed),
            absent=tuple(absent),
            draws=tuple(draws.values()),
            undrawn=tuple(undrawn),
        )


_CHANGED: Final = (
    "answers that stayed the same do not stand for those that changed, so the labels count as not drawn at random; "
    "draw anew with evenhand label RUN --sample 100"
)


def _problem(case: Case, hash_in_file: str, *, has_target: bool) -> str:
    if case.candidate_answer is None:
        if not has_target:
            return f"case {case.id!r:.80} has no answer, so there is nothing to label"
        missing = "answer_hash is empty, and the target answers anew: nobody can tell whether it is the labelled answer"
        return "" if hash_in_file else missing
    now = answer_hash(case.candidate_answer)
    if hash_in_file in ("", now):
        return ""
    return (
        f"the answer of case {case.id!r:.80} is not the one that was labelled: its hash is {now}, and in the file it "
        f"is {hash_in_file!r:.40}; label it again, or remove the row"
    )


def _one_draw(name: str, rows: list[tuple[str, float, str]]) -> _DrawnRows:
    """Return the draw of a file, which must be one with equal chances: only such a draw can be repeated."""
    chances, seeds = Counter(round(p, 6) for _, p, _ in rows), {seed for _, _, seed in rows}
    if len(chances) > 1:
        raise ConfigError(
            f"{name}: the cases were drawn with unequal chances (--uncertain), which hold for the run that they were "
            "drawn in; for labels that are used again, draw with equal ones, or leave p empty"
        )
    (seed,) = seeds if len(seeds) == 1 else ("",)
    if not seed.isdecimal():
        raise ConfigError(
            f"{name}: rows with p need the seed of their draw, the same in all of them; or leave p empty for labels "
            "that were not drawn at random"
        )
    return _DrawnRows(p=rows[0][1], seed=int(seed), size=len({case for case, _, _ in rows}))


def _repeated(store: Store, run: RunRecord, evaluator: str | None, drawn: _DrawnRows) -> Draw | str:
    """Repeat a draw in a run with its seed, and store it; or say why the labels do not count as drawn.

    Which cases are drawn depends on the seed and their ids alone, so that a part of them gives a part of the draw.
    """
    before = store.labels.draw(run, evaluator)
    if before is not None:
        if before.seed == drawn.seed:
            return before
        return (
            f"the run has a draw with seed {before.seed} already, so labels drawn with seed {drawn.seed} do not count"
        )
    candidates = candidates_of(store.results(run), run, evaluator)
    if len(candidates.cases) > drawn.eligible:
        return (
            f"the labels were drawn among {drawn.eligible:,} cases, and the run has {len(candidates.cases):,}: they "
            "count as not drawn at random; draw anew with evenhand label RUN --sample 100"
        )
    if not candidates.cases:
        return "no case of the run has an answer and a score, so the labels count as not drawn at random"
    sample = max(round(drawn.p * len(candidates.cases)), 1)
    return store.labels.keep_draw(run, draw_cases(candidates, sample=sample, seed=drawn.seed, evaluator=evaluator))


def _fitted(store: Store, run: RunRecord, row: _Row, draws: Mapping[str | None, Draw]) -> dict[str, str]:
    """Return a row with the chance that its case had in the draw of this run; without one outside of it."""
    cells, draw = dict(row.cells), draws.get(row.evaluator)
    result = case_result(store, run, cells["id"]) if draw is not None and cells.get("p") else None
    place = None if draw is None or result is None else draw.at(result.position)
    if draw is None or place is None:
        return cells | {"p": "", "seed": ""}
    return cells | {"p": repr(place.p), "seed": str(draw.seed), "answer_hash": place.answer}
