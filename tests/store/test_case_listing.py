"""Lists of cases agree with the results that they are about, in each database and while a run is at work."""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from evenhand.domain.case import Case
from evenhand.domain.errors import StoreError
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import IMPORTED_FROM, CaseResult, MadeAnswer, RunRecord, RunStatus
from evenhand.store.kept_listing import FORMAT
from evenhand.store.list_filter import STANDINGS
from evenhand.store.listing import CaseFilter, CaseOrder, CasePage, CaseReader, Filter, Listing, Order
from evenhand.store.rows import Batch, evaluation_row
from evenhand.store.store import Store, open_store
from evenhand.store.transfer import export_lines
from evenhand.store.verification import verify_run

READER = CaseReader(model_key="model", test_case_key="test_case", group_members=lambda _run, _case: None)
EVALUATORS = ("facts", "style", "tone")
MODELS = ("x/one", "x/two", "x/three")
NAMES = list(STANDINGS)


@pytest.fixture
def listing(store: Store) -> Iterator[Listing]:
    with contextlib.closing(Listing(store, READER)) as opened:
        yield opened


def several(test_cases: int, models: int) -> list[Case]:
    return [
        Case(id=f"t{number} {model}", metadata={"model": model, "test_case": f"t{number}"})
        for number in range(test_cases)
        for model in MODELS[:models]
    ]


def mixed_run(store: Store, made: Any, seed: int) -> RunRecord:
    """Make a run of anything: several targets, evaluators, weights, samples and rounds, errors, what is awaited."""
    chance = random.Random(seed)
    models, evaluators = chance.choice((1, 1, 2, 3)), chance.choice((1, 1, 2, 3))
    cases = several(chance.randint(3, 9), models)
    definition: dict[str, Any] = {"thresholds": {"pass": chance.choice((0.8, 0.7, 0.3)), "borderline": 0.3}}
    if chance.random() < 0.3:
        definition[IMPORTED_FROM] = {"tool": "other"}
        chance.shuffle(cases)
    run = store.runs.create(
        name="r", source=None, definition=definition, options={}, repeat=chance.choice((1, 1, 2, 3))
    )
    planned = [made.planned(place, case, expected=evaluators) for place, case in enumerate(cases)]
    store.add_cases([made.row(run, one) for one in planned])
    run = store.runs.mark(run, RunStatus.RUNNING, cases=len(cases))
    weights = [chance.choice((0.0, 0.3, 1.0, 1.0)) for _ in range(evaluators)]
    required = [chance.random() < 0.3 for _ in range(evaluators)]
    is_partial = chance.random() < 0.5
    for position in range(len(cases)):
        for place in range(evaluators):
            for sample in range(run.repeat):
                for number in range(chance.choice((1, 1, 1, 2))):
                    if is_partial and chance.random() < 0.2:
                        continue
                    judgment = made.judgment(
                        round(chance.random(), 2) if chance.random() < 0.8 else "timeout: none",
                        evaluation={"evaluator": EVALUATORS[place], "retry_count": chance.choice((0, 0, 1))},
                        weight=weights[place], required=required[place], sample=sample, round=number,
                        cost=chance.choice((0.1, 0.2, 0.3, None) if chance.random() < 0.2 else (0.1, 0.7)),
                    )  # fmt: skip
                    if chance.random() < 0.1:
                        skipped = Evaluation.without_score(evaluator=EVALUATORS[place], type="x", reasoning="no answer")
                        judgment = judgment._replace(evaluation=skipped)
                    made.judge(store, run, position, judgment, place=place)
        for number in range(chance.choice((0, 1, 2))):
            made.answer(store, run, position, MadeAnswer(text="a", cost=0.1 + number, latency=0.5, round=number))
    return run if chance.random() < 0.3 else store.runs.mark(run, RunStatus.STOPPED)


def standing(result: CaseResult) -> str:
    if result.pending:
        return "pending"
    outcome = result.outcome
    return str(outcome.verdict if outcome.status is Status.SCORED else outcome.status)


def score(result: CaseResult) -> float | None:
    return result.outcome.score if not result.pending and result.outcome.status is Status.SCORED else None


def rows_of(results: list[CaseResult], *, scattered: bool) -> dict[int, list[CaseResult]]:
    """Group results as their test cases say."""
    rows: dict[str, list[CaseResult]] = {}
    for result in results:
        rows.setdefault(str(result.case.metadata["test_case"]), []).append(result)
    return {those[0].position: those for those in rows.values()}


def judged(result: CaseResult, condition: CaseFilter) -> list[tuple[str, float | None, bool]]:
    """Return the standings, scores and retries that a filter looks at."""
    if not condition.evaluator:
        retried = any(judgment.evaluation.retry_count for judgment in result.judgments)
        return [(standing(result), score(result), retried)]
    return [
        (
            str(one.verdict if one.status is Status.SCORED else one.status),
            one.score if one.status is Status.SCORED else None,
            bool(one.retry_count),
        )
        for one in (judgment.evaluation for judgment in result.judgments)
        if one.evaluator in condition.evaluator
    ]


def matches(result: CaseResult, condition: CaseFilter) -> bool:
    if condition.model and result.case.metadata["model"] not in condition.model:
        return False
    if condition.positions is not None and result.position not in condition.positions:
        return False
    return any(
        (not condition.standing or name in condition.standing)
        and (condition.min_score is None or (value is not None and value >= condition.min_score))
        and (condition.max_score is None or (value is not None and value <= condition.max_score))
        and (condition.retried is None or condition.retried == retried)
        for name, value, retried in judged(result, condition)
    )


def any_filter(chance: random.Random) -> CaseFilter:
    def some(names: Any, least: int = 0) -> tuple[Any, ...]:
        return tuple(chance.sample(list(names), chance.randint(least, 2)))

    return CaseFilter(
        standing=some(NAMES) if chance.random() < 0.6 else (),
        model=some(MODELS) if chance.random() < 0.4 else (),
        evaluator=some(EVALUATORS) if chance.random() < 0.4 else (),
        min_score=chance.choice((None, None, 0.2)),
        max_score=chance.choice((None, None, 0.7)),
        retried=chance.choice((None, None, True, False)),
        positions=chance.choice((None, None, (0, 1, 2, 3, 4))),
    )


SEEDS = [pytest.param(seed, marks=[] if seed < 3 else [pytest.mark.long]) for seed in range(12)]


@pytest.mark.parametrize("seed", SEEDS)
def test_listed_cases_are_those_of_the_results(store: Store, made: Any, listing: Listing, seed: int) -> None:
    run = mixed_run(store, made, seed)
    results = list(store.results(run))
    rows = rows_of(results, scattered=IMPORTED_FROM in run.definition)

    for result in results:
        only = CaseFilter(positions=(result.position,))
        named = [
            n
            for n in NAMES
            if listing.case_page(run, replace(only, standing=(n,)), CaseOrder(), limit=9, after=None).total
        ]
        assert named == [standing(result)]
        for by, value in (("score", score(result)), ("cost", result.cost)):
            ((key, _),) = listing.case_page(run, only, CaseOrder(by=by), limit=9, after=None).rows
            assert key == (1e300 if value is None else value)
    assert listing.cases_in(run, list(rows)) == {row: [one.position for one in those] for row, those in rows.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_filter_of_cases_leaves_what_matches(store: Store, made: Any, listing: Listing, seed: int) -> None:
    run = mixed_run(store, made, seed)
    rows = rows_of(list(store.results(run)), scattered=IMPORTED_FROM in run.definition)
    chance = random.Random(seed)

    for _ in range(20):
        condition = any_filter(chance)
        by_row = {row: sum(matches(one, condition) for one in those) for row, those in rows.items()}
        found = {row: count for row, count in by_row.items() if count}

        page = listing.case_page(run, condition, CaseOrder(), limit=99, after=None)

        assert [row for _, row in page.rows] == sorted(found), condition
        assert (page.total, page.matching) == (len(found), sum(found.values())), condition


@pytest.mark.parametrize("condition", [CaseFilter(), CaseFilter(evaluator=EVALUATORS)], ids=["cases", "evaluations"])
def test_pages_of_cases_follow_each_other(store: Store, made: Any, listing: Listing, condition: CaseFilter) -> None:
    run = mixed_run(store, made, 5)

    for by, descending in itertools.product(
        ("position", "standing", "score", "case_id", "cost", "seconds"), (False, True)
    ):
        order = CaseOrder(by=by, descending=descending)
        whole = listing.case_page(run, condition, order, limit=99, after=None).rows
        pages, after = list[Any](), None
        while rows := listing.case_page(run, condition, order, limit=2, after=after).rows:
            pages += rows
            after = rows[-1]

        assert pages == whole, order
        assert [key for key, _ in whole] == sorted((key for key, _ in whole), reverse=descending), order
        assert len({row for _, row in whole}) == len(whole), order


@pytest.mark.parametrize("descending", [False, True])
def test_pages_of_evaluations_by_score_follow_each_other_and_those_without_one_come_last(
    store: Store, made: Any, listing: Listing, descending: bool
) -> None:
    run = store.runs.mark(mixed_run(store, made, 5), RunStatus.STOPPED)
    order = Order(by="score", descending=descending)
    whole, total = listing.page(run, Filter(), order, limit=999)
    keys = [key for key, _ in whole]

    by_offset = [listing.page(run, Filter(), order, limit=3, offset=offset)[0] for offset in range(total)]
    by_place = [listing.page(run, Filter(), order, limit=3, after=after)[0] for after in whole]

    assert keys == sorted(keys, reverse=descending)
    assert 0 < keys.count(-1e300 if descending else 1e300) < total == len(set(whole))
    assert by_offset == [whole[offset : offset + 3] for offset in range(total)]
    assert by_place == [whole[place + 1 : place + 4] for place in range(total)]


@pytest.mark.parametrize("seed", SEEDS[:6])
def test_as_many_evaluations_are_said_to_match_as_are_listed(
    store: Store, made: Any, listing: Listing, seed: int
) -> None:
    run = store.runs.mark(mixed_run(store, made, seed), RunStatus.STOPPED)
    chance = random.Random(seed)

    for _ in range(20):
        condition = Filter(
            verdict=tuple(chance.sample(["pass", "borderline", "fail"], chance.choice((0, 1, 2)))),
            status=tuple(chance.sample(["scored", "not_evaluated", "error", "other"], chance.choice((0, 0, 1)))),
            evaluator=tuple(chance.sample(EVALUATORS, chance.choice((0, 0, 1, 2)))),
            model=tuple(chance.sample(MODELS, chance.choice((0, 0, 1)))),
            has_error=chance.choice((None, None, True, False)),
            retried=chance.choice((None, None, True, False)),
        )

        page, total = listing.page(run, condition, Order(), limit=999)

        assert total == len(page), condition


@pytest.mark.parametrize("totals", ["null", "{}", '{"evaluations": 1}', "not JSON"])
def test_what_matches_is_counted_where_the_totals_cannot_be_read(
    store: Store, made: Any, listing: Listing, totals: str
) -> None:
    run = store.runs.mark(mixed_run(store, made, 5), RunStatus.STOPPED)
    condition = Filter(verdict=("fail",))
    before = listing.page(run, condition, Order(by="score"), limit=999), listing.page(run, Filter(), Order(), limit=9)

    store.database.execute("UPDATE listings SET totals = ?", [totals])

    with contextlib.closing(Listing(store, READER)) as other:
        again = other.page(run, condition, Order(by="score"), limit=999), other.page(run, Filter(), Order(), limit=9)
    assert again == before


def judge(store: Store, made: Any, run: RunRecord, *scores: float | str, place: int = 0) -> None:
    for position, found in enumerate(scores):
        made.judge(store, run, position, made.judgment(found, evaluation={"evaluator": EVALUATORS[place]}), place=place)


def all_rows(page: CasePage) -> list[int]:
    return [row for _, row in page.rows]


def test_rows_whose_targets_came_out_differently(store: Store, made: Any, listing: Listing) -> None:
    run = made.run(store, cases=several(3, 3))
    judge(store, made, run, 0.9, 0.9, 0.9, 0.9, 0.1, 0.9, 0.9, "timeout: none")

    def differing(**rest: Any) -> list[int]:
        return all_rows(listing.case_page(run, CaseFilter(differ=True, **rest), CaseOrder(), limit=9, after=None))

    assert differing() == [3, 6]
    assert differing(model=("x/one", "x/three")) == []
    assert differing(model=("x/one",)) == [3, 6]
    assert differing(model=("x/two",), standing=("fail",)) == [3]
    assert differing(evaluator=("facts",)) == [3, 6]


def test_rows_of_one_target_whose_evaluators_came_out_differently(store: Store, made: Any, listing: Listing) -> None:
    run = made.run(store, cases=3)
    for place, scores in enumerate(((0.9, 0.9, 0.1), (0.9, 0.1, 0.1), (0.9, 0.9, 0.9))):
        judge(store, made, run, *scores, place=place)

    def differing(*evaluators: str) -> list[int]:
        condition = CaseFilter(differ=True, evaluator=evaluators)
        return all_rows(listing.case_page(run, condition, CaseOrder(), limit=9, after=None))

    assert differing() == [1, 2]
    assert differing("facts", "style") == [1]
    assert differing("facts") == []


def test_the_value_of_a_row_is_that_of_its_cases_that_match(store: Store, made: Any, listing: Listing) -> None:
    run = made.run(store, cases=several(2, 2))
    judge(store, made, run, 0.3, 0.9, 0.5, 0.4)

    def sorted_by(**rest: Any) -> list[tuple[Any, int]]:
        order = CaseOrder(by="score", descending=rest.pop("descending", False))
        return listing.case_page(run, CaseFilter(**rest), order, limit=9, after=None).rows

    assert sorted_by() == [(0.3, 0), (0.4, 2)]
    assert sorted_by(descending=True) == [(0.9, 0), (0.5, 2)]
    assert sorted_by(model=("x/two",)) == [(0.4, 2), (0.9, 0)]


def test_cases_are_found_by_text_label_profile_and_metadata(store: Store, made: Any, listing: Listing) -> None:
    cases = [Case(id="a", question="Oslo?"), Case(id="b", metadata={"lang": "de"}), Case(id="c")]
    run = made.run(store, cases=cases)
    made.judge(store, run, 0, made.judgment(0.9, evaluation={"label": "right"}))
    made.judge(store, run, 1, made.judgment(0.9, evaluation={"reasoning": "It names Bergen."}))
    made.judge(store, run, 2, made.judgment("refused: not in Bergen"))

    def found(**rest: Any) -> list[int]:
        return all_rows(listing.case_page(run, CaseFilter(**rest), CaseOrder(), limit=9, after=None))

    assert [found(text=text) for text in ("oslo", "BERGEN", "reasoning")] == [[0], [1, 2], []]
    assert (found(label=("right",)), found(label=("right",), evaluator=("quality",))) == ([0], [0])
    assert (found(profile="b"), found(metadata=(("lang", ("de",)),))) == ([1], [1])
    assert found(text="bergen", standing=("error",), evaluator=("quality",)) == [2]


SEARCHED = [
    Case(id="a", question="Straße nach Oslo?", metadata={"note": "Bergen"}),
    Case(id="b", question="50 % of it! [or *two*]\0"),
    Case(id="c", input_messages=({"role": "user", "content": "ÜBER alles"},), reference_answer='He said "no"\n\u2028'),
    Case(id="d"),
]
TEXTS = [
    "STRAßE", "straße", "oslo", "bergen", "50 %", "*", "[or", "?", "über", '"no"', "no", "case", "question", "a", "d", "\n",
    "halb so", "timeout: none", "reasons", "\\", "]", "zebra", "\u2028",
]  # fmt: skip


def test_a_search_finds_the_same_once_texts_are_kept(
    store: Store, made: Any, listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.listed_texts._PAGE", 3)
    run = made.run(store, cases=SEARCHED)
    made.judge(store, run, 0, made.judgment("timeout: none", round=0), made.judgment(0.9, round=1))
    made.judge(store, run, 3, made.judgment(0.9, evaluation={"reasoning": "Good REASONS"}))
    made.answer(store, run, 3, MadeAnswer(text="Halb so viel"))
    run = store.runs.mark(run, RunStatus.FINISHED)

    def found(by: Listing) -> list[list[int]]:
        return [all_rows(by.case_page(run, CaseFilter(text=text), CaseOrder(), limit=9, after=None)) for text in TEXTS]

    before = found(listing)
    listing.prepare_texts(run)

    assert store.database.rows("SELECT texts FROM listings") == [(4,)]
    with contextlib.closing(Listing(store, READER)) as again:
        assert found(again) == before
    assert before[:5] == [[0], [0], [0], [], [1]]
    assert [before[TEXTS.index(text)] for text in ("halb so", "timeout: none", "reasons", "zebra")] == [
        [3],
        [0],
        [3],
        [],
    ]


def test_the_texts_of_a_large_run_are_kept_once_it_was_searched(
    store: Store, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.listing.LARGE", 1)
    run = store.runs.mark(made.run(store, cases=2), RunStatus.STOPPED)
    reader = Counting(model_key="model", test_case_key="test_case", group_members=READER.group_members)
    with contextlib.closing(Listing(store, reader)) as listing:
        for text in ("case-0", "case-1"):
            page = listing.case_page(run, CaseFilter(text=text), CaseOrder(), limit=9, after=None)
            assert page.total == 1
            assert Counting.kept.wait(30)

        made.judge(store, run, 1, made.judgment("refused: at case-0"))
        page = listing.case_page(run, CaseFilter(text="case-0"), CaseOrder(), limit=9, after=None)
        assert page.total == 2


class Counting(CaseReader):
    """Tells when the texts of all cases were read for the second time: by a search, and to keep them."""

    read: ClassVar[list[str]] = []
    kept: ClassVar[threading.Event] = threading.Event()

    def texts(self, run: RunRecord, case: Mapping[str, Any]) -> Iterator[str]:
        self.read.append(case["id"])
        if len(self.read) > 2:
            self.kept.set()
        return super().texts(run, case)


def test_what_is_added_to_a_run_at_work_is_listed(store: Store, made: Any, listing: Listing) -> None:
    run = made.run(store, cases=several(700, 2))
    made.judge(store, run, 0, made.judgment(0.9))
    pending = CaseFilter(standing=("pending",))
    before = listing.case_page(run, pending, CaseOrder(), limit=1, after=None)

    store.commit(
        Batch(evaluations=[evaluation_row(run.number, position, 0, made.judgment(0.5)) for position in range(1, 1400)])
    )
    run = store.runs.mark(run, RunStatus.FINISHED)

    after = listing.case_page(run, pending, CaseOrder(), limit=1, after=None)
    assert (before.total, before.matching, after.total) == (700, 1399, 0)
    assert listing.cases_in(run, [1022, 1023, 1024]) == {1022: [1022, 1023], 1024: [1024, 1025]}
    assert store.database.rows("SELECT cases, rows, evaluations FROM listings") == [(1400, 700, 1400)]


def test_the_cases_of_a_test_case_are_in_one_row_wherever_reading_began(
    store: Store, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.scratch_listing._BLOCK", 4)
    monkeypatch.setattr("evenhand.store.scratch_listing._STALE_SECONDS", -1.0)
    run = made.run(store, cases=several(4, 3))
    with contextlib.closing(Listing(store, READER)) as listing:
        listing.prepare(run)
        made.judge(store, run, 5, made.judgment(0.9))

        assert listing.cases_in(run, [3, 4]) == {3: [3, 4, 5]}
        page = listing.case_page(run, CaseFilter(standing=("pass",)), CaseOrder(), limit=9, after=None)
        assert all_rows(page) == [3]


def test_a_listing_is_kept_and_made_anew_once_something_was_added(store: Store, made: Any, url: str) -> None:
    run = made.run(store, cases=3)
    judge(store, made, run, 0.9, 0.1)
    run = store.runs.mark(run, RunStatus.STOPPED)
    failed = CaseFilter(standing=("fail",))
    with contextlib.closing(Listing(store, READER)) as listing:
        assert all_rows(listing.case_page(run, failed, CaseOrder(), limit=9, after=None)) == [1]
    ((covers,),) = store.database.rows("SELECT covers FROM listings")

    other = open_store(url)
    with contextlib.closing(other), contextlib.closing(Listing(other, READER)) as listing:
        assert listing.evaluators(run, 9) == ["facts"]
        made.judge(store, run, 2, made.judgment(0.2))
        assert listing.evaluators(run, 9) is None
        assert all_rows(listing.case_page(run, failed, CaseOrder(), limit=9, after=None)) == [1, 2]

    assert store.database.rows("SELECT covers FROM listings") != [(covers,)]


def test_a_listing_belongs_to_its_run_and_to_nothing_else(store: Store, made: Any, listing: Listing) -> None:
    run = made.run(store, cases=[Case(id="a", metadata={"lang": "de"})])
    judge(store, made, run, 0.9)
    run = store.runs.mark(run, RunStatus.FINISHED)
    before = list(export_lines(store, run))

    condition = CaseFilter(metadata=(("lang", ("de",)),))
    assert listing.case_page(run, condition, CaseOrder(), limit=9, after=None).total == 1
    listing.prepare_texts(run)

    assert list(export_lines(store, run)) == before
    assert verify_run(store, run.id).is_sound
    about_cases = ("listed_cases", "listed_metadata", "listed_keys", "listed_texts", "listed_words")
    tables = ("listings", "listed_evaluations", *about_cases)
    counts = [store.database.rows(f"SELECT COUNT(*) FROM {table}")[0][0] for table in tables]
    store.runs.delete(run)
    assert counts == [1, 1, 1, 1, 1, 1, 1]
    assert [store.database.rows(f"SELECT COUNT(*) FROM {table}") for table in tables] == [[(0,)]] * 7


def test_a_listing_that_another_process_makes_at_the_same_time_is_left_to_it(
    store: Store, made: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.kept_listing._PAGE", 1)
    run = made.run(store, cases=3)
    judge(store, made, run, 0.9, 0.1, 0.5)
    run = store.runs.mark(run, RunStatus.FINISHED)
    other = open_store(url)

    class Slow(CaseReader):
        def target(self, content: str) -> tuple[str | None, str | None]:
            if '"case-1"' in content:
                with contextlib.closing(Listing(other, READER)) as theirs:
                    theirs.prepare(run)
            return super().target(content)

    slow = Slow(model_key="model", test_case_key="test_case", group_members=READER.group_members)
    with contextlib.closing(other), contextlib.closing(Listing(store, slow)) as listing:
        page, total = listing.page(run, Filter(), Order(by="score"), limit=9, after=None)

    assert ([place[0] for _, place in page], total) == ([1, 2, 0], 3)
    assert store.database.rows("SELECT format, cases FROM listings") == [(FORMAT, 3)]
    assert store.database.rows("SELECT COUNT(*) FROM listed_cases") == [(3,)]


def test_a_listing_that_another_process_has_begun_is_not_taken_for_whole(
    store: Store, made: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.kept_listing._PAGE", 1)
    run = made.run(store, cases=3)
    judge(store, made, run, 0.9, 0.1, 0.5)
    run = store.runs.mark(run, RunStatus.FINISHED)
    other = open_store(url)

    class Failing(CaseReader):
        def target(self, content: str) -> tuple[str | None, str | None]:
            raise StoreError("the other process ends here")

    class Slow(CaseReader):
        def target(self, content: str) -> tuple[str | None, str | None]:
            if '"case-1"' in content:
                failing = Failing(model_key="model", test_case_key="test_case", group_members=READER.group_members)
                with (
                    contextlib.closing(Listing(other, failing)) as theirs,
                    pytest.raises(StoreError, match="ends here"),
                ):
                    theirs.prepare(run)
            return super().target(content)

    slow = Slow(model_key="model", test_case_key="test_case", group_members=READER.group_members)
    totals = list[int]()
    with contextlib.closing(other):
        for reader in (slow, READER):
            with contextlib.closing(Listing(store, reader)) as listing:
                condition = CaseFilter(standing=("pass", "borderline", "fail"))
                totals.append(listing.case_page(run, condition, CaseOrder(), limit=9, after=None).total)

    assert totals == [3, 3]
    assert store.database.rows("SELECT COUNT(*) FROM listed_cases") == [(3,)]


def test_a_test_case_that_a_model_answered_twice_has_two_rows(store: Store, made: Any, listing: Listing) -> None:
    cases = [
        Case(id=f"{number}", metadata={"model": model, "test_case": name})
        for number, (name, model) in enumerate(
            [("t", "x/one"), ("t", "x/two"), ("t", "x/one"), ("t", "x/two"), ("u", "x/one"), ("", "x/two")]
        )
    ]
    run = made.run(store, cases=cases)

    assert listing.cases_in(run, range(6)) == {0: [0, 1], 2: [2, 3], 4: [4], 5: [5]}


def test_a_store_that_can_only_be_read_is_listed_all_the_same(tmp_path: Any, made: Any) -> None:
    path = tmp_path / "runs.db"
    with contextlib.closing(open_store(str(path))) as store:
        run = made.run(store, cases=[Case(id="a", metadata={"lang": "de"}), Case(id="b")])
        judge(store, made, run, 0.9, 0.1)
        run = store.runs.mark(run, RunStatus.FINISHED)

    only_read = open_store(f"sqlite:///{path}?mode=ro")
    with contextlib.closing(only_read), contextlib.closing(Listing(only_read, READER)) as listing:
        condition = CaseFilter(standing=("pass",), metadata=(("lang", ("de",)),))

        assert all_rows(listing.case_page(run, condition, CaseOrder(), limit=9, after=None)) == [0]

    assert only_read.database.read_only


def test_runs_at_work_that_were_listed_longest_ago_are_forgotten(
    store: Store, made: Any, listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.scratch_listing.MOST_ROWS", 3)
    runs = [made.run(store, cases=2) for _ in range(3)]
    for run in runs:
        judge(store, made, run, 0.9, 0.1)

    totals = [
        listing.case_page(run, CaseFilter(standing=("pass",)), CaseOrder(), limit=9, after=None).total
        for run in (*runs, *runs)
    ]

    assert totals == [1] * 6
    assert [listing.evaluators(run, 9) for run in runs] == [None, None, ["facts"]]


class Waiting(CaseReader):
    """Waits in the middle of a run until it may go on."""

    reached: ClassVar[threading.Event]
    may_go_on: ClassVar[threading.Event]

    def target(self, content: str) -> tuple[str | None, str | None]:
        if '"slow"' in content:
            self.reached.set()
            assert self.may_go_on.wait(30)
        return super().target(content)


@pytest.fixture
def waiting() -> CaseReader:
    Waiting.reached, Waiting.may_go_on = threading.Event(), threading.Event()
    return Waiting(model_key="model", test_case_key="test_case", group_members=READER.group_members)


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.FINISHED])
def test_whoever_lists_another_run_need_not_wait(store: Store, made: Any, waiting: Waiting, status: RunStatus) -> None:
    slow, other = (store.runs.mark(made.run(store, cases=[Case(id=name)]), status) for name in ("slow", "other"))
    with contextlib.closing(Listing(store, waiting)) as listing, ThreadPoolExecutor(1) as pool:
        made_meanwhile = pool.submit(listing.case_page, slow, CaseFilter(), CaseOrder(), limit=9, after=None)
        assert waiting.reached.wait(30)

        page = listing.case_page(other, CaseFilter(), CaseOrder(), limit=9, after=None)
        names = listing.evaluators(slow, 9)
        waiting.may_go_on.set()

        assert (page.total, names, made_meanwhile.result().total) == (1, None, 1)


def test_what_is_being_made_ends_when_the_lists_are_closed(
    store: Store, made: Any, waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.kept_listing._PAGE", 1)
    run = store.runs.mark(made.run(store, cases=[Case(id="slow"), Case(id="next")]), RunStatus.FINISHED)
    listing = Listing(store, waiting)
    with ThreadPoolExecutor(2) as pool:
        made_meanwhile = pool.submit(listing.prepare, run)
        assert waiting.reached.wait(30)

        closed = pool.submit(listing.close)
        assert listing.closed.wait(30)
        waiting.may_go_on.set()

        assert (made_meanwhile.result(), closed.result()) == (None, None)
    assert store.database.rows("SELECT format FROM listings") == [("",)]
    with contextlib.closing(Listing(store, READER)) as again:
        assert again.case_page(run, CaseFilter(), CaseOrder(), limit=9, after=None).total == 2
