"""The queries behind lists of evaluations and of cases, over the rows of a listing."""

# ruff: noqa: S608 - all names are ours, and all values have marks

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from evenhand.store.database import Database
from evenhand.store.list_filter import STANDINGS, CaseFilter, CaseOrder, CasePage, Filter, Order, hashed
from evenhand.store.list_totals import Totals, standings_of
from evenhand.store.results import Place
from evenhand.store.rows import column

# The value by which an evaluation is sorted, and its place.
SortedPlace: TypeAlias = tuple[Any, Place]

_ERROR, _PASS, _PENDING = (STANDINGS[name] for name in ("error", "pass", "pending"))
# Stands for a value that is missing, which comes last; ascending, that is.
LAST: Final = 1e300
_TEXTS: Final = {"model": "e.model", "case_id": "c.id", "evaluator": "e.evaluator"}
_JOIN: Final = "JOIN listed_cases c ON c.run = e.run AND c.row = e.row AND c.position = e.position"


@dataclass(slots=True)
class Where:
    """Conditions, all of which must hold, with their values."""

    parts: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, part: str, *values: Any) -> None:
        """Add a condition."""
        self.parts.append(part)
        self.values += values

    def one_of(self, name: str, values: Sequence[Any]) -> None:
        """Add that a column has one of some values; of none, any."""
        if values:
            self.add(f"{name} IN ({', '.join('?' * len(values))})", *values)

    def standing(self, name: str, standings: Iterable[int]) -> None:
        """Add that a column has one of some standings: as bits, which a large scan tests most quickly."""
        bits = sum({1 << standing for standing in standings})
        self.add(f"((1 << {name}) & {bits}) <> 0")

    def extend(self, other: Where) -> None:
        """Add the conditions of another."""
        self.parts += other.parts
        self.values += other.values

    @property
    def sql(self) -> str:
        """The conditions as one."""
        return " AND ".join(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The listing of a run: the database that it is in, and what it holds.

    ``covers`` is another once something has been added to the run. ``in_order`` says that cases are in the order of
    their rows, ``names_all`` that ``evaluators`` are all there are. ``totals`` says how many match the usual filters.
    ``texts`` is how many cases have their texts there, ``words`` how many the words of these.
    """

    database: Database
    run: int
    covers: str
    cases: int
    rows: int
    evaluations: int
    evaluators: tuple[str, ...]
    in_order: bool
    names_all: bool
    totals: Totals | None = None
    texts: int = 0
    words: int = 0

    @property
    def has_texts(self) -> bool:
        """Whether it can be searched for a text."""
        return self.texts == self.cases > 0

    @property
    def has_words(self) -> bool:
        """Whether its texts can be found by their words."""
        return self.has_texts and self.words == self.cases

    @property
    def has_several(self) -> bool:
        """Whether rows have several cases: one for each target."""
        return self.rows < self.cases

    @property
    def place(self) -> str:
        """The column that has the position of a case: where each is a row of its own, what the key begins with."""
        return "position" if self.has_several else "row"


def evaluations_page(
    listed: Listed,
    condition: Filter,
    looked_up: Where,
    order: Order,
    *,
    limit: int,
    after: SortedPlace | None = None,
    offset: int = 0,
    total: int | None = None,
) -> tuple[list[SortedPlace], int]:
    """Return a page of places, each with its sort key, and how many evaluations match in all, unless that is known.

    ``looked_up`` are the conditions for text, profile and metadata, on ``e.position``.
    """
    where = _of_evaluations(listed, condition)
    where.extend(looked_up)
    if order.by == "score" and condition.is_empty and listed.totals is not None:
        page = _by_score(listed, listed.totals.scored, order, limit=limit, after=after, offset=offset)
        return page, listed.evaluations
    if total == 0:
        return [], 0
    joined = f"{_JOIN} " if order.by == "case_id" else ""
    source, values = f"FROM listed_evaluations e {joined}WHERE {where.sql}", where.values
    if total is None:
        ((total,),) = listed.database.rows(f"SELECT COUNT(*) FROM listed_evaluations e WHERE {where.sql}", values)
    key = _evaluation_key(order)
    places = "e.position, e.place, e.sample"
    if after is not None:
        than = "<" if order.descending else ">"
        source += f" AND ({key} {than} ? OR ({key} = ? AND ({places}) > (?, ?, ?)))"
        values = [*values, after[0], after[0], *after[1]]
        if order == Order() and not listed.has_several:
            source += " AND e.row >= ?"
            values.append(after[0])
    # In the order of its key, a table need not be sorted.
    ordered = f"e.row, {places}" if listed.in_order and not order.descending else places
    ordered = ordered if order == Order() else f"{key}{_direction(order)}, {ordered}"
    rows = listed.database.rows(
        f"SELECT {key}, e.position, e.place, e.sample {source} ORDER BY {ordered} LIMIT ? OFFSET ?",
        [*values, limit, offset],
    )
    return [(row[0], (row[1], row[2], row[3])) for row in rows], total


def _by_score(
    listed: Listed, scored: int, order: Order, *, limit: int, after: SortedPlace | None, offset: int
) -> list[SortedPlace]:
    """Return a page of all evaluations by their score, through its index: those that have one, and then the others."""
    than, last = ("<", -LAST) if order.descending else (">", LAST)
    places = "e.row, e.position, e.place, e.sample" if listed.in_order else "e.position, e.place, e.sample"
    found = list[SortedPlace]()
    for has_score, skipped in ((True, offset), (False, max(offset - scored, 0))):
        if has_score and offset >= scored:
            continue
        where = Where(["e.run = ?", f"e.score IS {'NOT ' * has_score}NULL"], [listed.run])
        if after is not None and has_score:
            where.add(f"e.score {than}= ?", after[0])
            where.add(f"(e.score {than} ? OR (e.position, e.place, e.sample) > (?, ?, ?))", after[0], *after[1])
        elif after is not None and after[0] == last:
            where.add("(e.position, e.place, e.sample) > (?, ?, ?)", *after[1])
        ordered = f"e.score{_direction(order)}, {places}" if has_score else places
        rows = listed.database.rows(
            "SELECT e.score, e.position, e.place, e.sample FROM listed_evaluations e "
            f"WHERE {where.sql} ORDER BY {ordered} LIMIT ? OFFSET ?",
            [*where.values, limit - len(found), skipped],
        )
        found += [(last if row[0] is None else row[0], (row[1], row[2], row[3])) for row in rows]
        if len(found) == limit:
            break
    return found


def _of_evaluations(listed: Listed, condition: Filter) -> Where:
    where = Where(["e.run = ?"], [listed.run])
    for standings in standings_of(condition):
        where.standing("e.standing", standings)
    _add_evaluators(where, listed, condition.evaluator)
    where.one_of("e.label", [hashed(label) for label in condition.label])
    where.one_of("e.model", [column(model) for model in condition.model])
    _add_scores(where, "e", condition.min_score, condition.max_score)
    if condition.retried is not None:
        where.add("e.retried = ?", int(condition.retried))
    return where


def _evaluation_key(order: Order) -> str:
    """Return the SQL expression by which evaluations are sorted."""
    match order.by:
        case "position":
            return "e.position"
        case "score":
            return _or_last("e.score", order)
        case "cost" | "seconds":
            return _or_last(f"e.{order.by}", order)
        case "verdict":
            verdict = f"CASE e.standing WHEN {_ERROR} THEN {STANDINGS['fail']} ELSE e.standing END"
            return f"CASE WHEN e.standing > {_PASS} THEN {-1 if order.descending else 9} ELSE {verdict} END"
        case "status":
            return f"CASE WHEN e.standing = {_ERROR} THEN 0 WHEN e.standing > {_PASS} THEN 1 ELSE 2 END"
        case "model" | "case_id" | "evaluator":
            return f"COALESCE({_TEXTS[order.by]}, '')"
        case _:
            raise ValueError(f"evaluations cannot be sorted by {order.by!r:.80}")


def cases_page(
    listed: Listed,
    condition: CaseFilter,
    looked_up: Where,
    order: CaseOrder,
    *,
    limit: int,
    after: tuple[Any, int] | None = None,
    offset: int = 0,
    totals: tuple[int, int] | None = None,
) -> CasePage:
    """Return a page of rows, and how many rows and cases match in all, unless that is known.

    ``looked_up`` are the conditions for text, profile, metadata and positions, on the position of ``found_in``.
    """
    one = found_in(condition)
    source, where = _matching(listed, condition)
    where.extend(looked_up)
    is_grouped = one == "e" or listed.has_several
    if totals is None:
        totals = _totals(listed, f"{source} WHERE {where.sql}", where.values, one)
    if totals == (0, 0):
        return CasePage(rows=[], total=0, matching=0)
    key = _case_key(order, one, is_all=condition.is_empty)
    value = f"{'MAX' if order.descending else 'MIN'}({key})" if is_grouped and order.by != "position" else key
    later = Where()
    if after is not None and order.by == "position":
        where.add(f"{one}.row {'<' if order.descending else '>'} ?", after[1])
    elif after is not None:
        than = "<" if order.descending else ">"
        later.add(f"({value} {than} ? OR ({value} = ? AND {one}.row > ?))", after[0], *after)
    joined = f" {_JOIN}" if one == "e" and "c." in key else ""
    sql = f"SELECT {value}, {one}.row FROM {source}{joined} WHERE {where.sql}"
    if is_grouped:
        sql += f" GROUP BY {one}.row{' HAVING ' if later.parts else ''}{later.sql}"
    elif later.parts:
        sql += f" AND {later.sql}"
    ordered = f"{one}.row" if order.by == "position" else value
    sql += f" ORDER BY {ordered}{_direction(order)}{'' if order.by == 'position' else f', {one}.row'} LIMIT ? OFFSET ?"
    rows = listed.database.rows(sql, [*where.values, *later.values, limit, offset])
    return CasePage(rows=[(row[0], row[1]) for row in rows], total=totals[0], matching=totals[1])


def found_in(condition: CaseFilter) -> str:
    """Return where a filter looks for standing and score: in evaluations, as ``e``, or in cases, as ``c``."""
    return "e" if condition.evaluator else "c"


def _totals(listed: Listed, source: str, values: Sequence[Any], one: str) -> tuple[int, int]:
    """Count the rows and the cases that match."""
    if one == "c" and not listed.has_several:
        ((count,),) = listed.database.rows(f"SELECT COUNT(*) FROM {source}", values)
        return count, count
    cases = "COUNT(*)" if one == "c" else "COUNT(DISTINCT e.position)" if listed.has_several else "1"
    grouped = f"SELECT {cases} AS cases FROM {source} GROUP BY {one}.row"
    sql = f"SELECT COUNT(*), COALESCE(SUM(found.cases), 0) FROM ({grouped}) AS found"
    ((rows, matching),) = listed.database.rows(sql, values)
    return int(rows), int(matching)


def _matching(listed: Listed, condition: CaseFilter) -> tuple[str, Where]:
    """Return the table that a filter looks in, and its conditions."""
    one = found_in(condition)
    where = Where([f"{one}.run = ?"], [listed.run])
    if condition.standing:
        where.standing(f"{one}.standing", {STANDINGS[name] for name in condition.standing if name in STANDINGS})
    where.one_of(f"{one}.model", [column(model) for model in condition.model])
    _add_scores(where, one, condition.min_score, condition.max_score)
    if condition.retried is not None:
        where.add(f"{one}.retried = ?", int(condition.retried))
    if condition.evaluator:
        _add_evaluators(where, listed, condition.evaluator)
        where.one_of("e.label", [hashed(label) for label in condition.label])
    elif condition.label:
        labels = Where(["e.run = ?"], [listed.run])
        labels.one_of("e.label", [hashed(label) for label in condition.label])
        where.add(f"c.position IN (SELECT e.position FROM listed_evaluations e WHERE {labels.sql})", *labels.values)
    if condition.differ:
        where.extend(_differing(listed, condition, one))
    return f"{'listed_evaluations' if one == 'e' else 'listed_cases'} {one}", where


def _add_evaluators(where: Where, listed: Listed, names: Sequence[str]) -> None:
    """Add that an evaluation is by one of some evaluators, unless these are all there are."""
    if not (listed.names_all and set(listed.evaluators) <= set(names)):
        where.one_of("e.evaluator", names)


def _differing(listed: Listed, condition: CaseFilter, one: str) -> Where:
    """Return the condition that targets came out differently; where there is one target, that its evaluators did."""
    if not condition.evaluator and not listed.has_several:
        return Where([f"{one}.differs = 1"])
    where = Where(["o.run = ?", f"o.standing <> {_PENDING}"], [listed.run])
    where.one_of("o.evaluator", condition.evaluator)
    if len(condition.model) > 1:  # where one is asked for, it is compared with all of them
        where.one_of("o.model", [column(model) for model in condition.model])
    if not condition.evaluator:
        source = f"SELECT o.row, o.standing FROM listed_cases o WHERE {where.sql}"
    elif not listed.has_several:
        source = f"SELECT o.row, o.standing FROM listed_evaluations o WHERE {where.sql}"
    else:  # of several evaluations of a case, the worst
        source = (
            "SELECT o.row, MIN(o.standing) AS standing FROM listed_evaluations o "
            f"WHERE {where.sql} GROUP BY o.row, o.position"
        )
    differing = f"SELECT s.row FROM ({source}) AS s GROUP BY s.row HAVING MIN(s.standing) <> MAX(s.standing)"
    return Where([f"{one}.row IN ({differing})"], where.values)


def _case_key(order: CaseOrder, one: str, *, is_all: bool) -> str:
    """Return the SQL expression by which cases are sorted."""
    match order.by:
        case "position":
            return f"{one}.row"
        case "score":
            return _or_last(f"{one}.score", order)
        case "cost" | "seconds":
            return _or_last(f"c.{order.by}", order)
        case "standing":
            if not order.descending:
                return f"{one}.standing"
            return f"CASE WHEN {one}.standing > {_PASS} THEN -{one}.standing ELSE {one}.standing END"
        case "case_id":
            # Where something is left out, to go through its index would take longer than to sort.
            return "c.id" if is_all else "COALESCE(c.id, '')"
        case _:
            raise ValueError(f"cases cannot be sorted by {order.by!r:.80}")


def _add_scores(where: Where, one: str, least: float | None, most: float | None) -> None:
    """Add that a score lies between two."""
    for than, value in ((">=", least), ("<=", most)):
        if value is not None:
            where.add(f"{one}.score {than} ?", value)


def _or_last(expression: str, order: Order | CaseOrder) -> str:
    return f"COALESCE({expression}, {-LAST if order.descending else LAST})"


def _direction(order: Order | CaseOrder) -> str:
    return " DESC" if order.descending else ""
