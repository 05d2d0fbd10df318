"""A run as a file, out of one store and into another."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Attempt, Check, Usage
from evenhand.domain.run import MadeAnswer, RunRecord, RunStatus
from evenhand.reports.report import FORMATS, Report, writer_of
from evenhand.reports.summary import summarize
from evenhand.store.rows import Batch, answer_row, evaluation_row
from evenhand.store.store import IN_MEMORY, Store, open_store
from evenhand.store.transfer import IMPORTED, MAX_LINE_BYTES, export_lines, import_lines, lines_of

from .databases import in_sqlite

Line = dict[str, Any]


@pytest.fixture
def other() -> Iterator[Store]:
    """Another store."""
    opened = open_store(IN_MEMORY)
    yield opened
    opened.close()


@pytest.fixture
def rich_run(made: Any) -> Callable[[Store], RunRecord]:
    """Make a run that has some of everything: answers, repeats, errors that were done again, checks, odd characters."""

    def make(store: Store) -> RunRecord:
        definition = {"evaluators": [{"type": "llm_judge"}], "thresholds": {"pass": 0.9}, "gates": {"min_mean": 0.5}}
        cases = [
            Case(id="a", question="Why?", rubrics=["short"], metadata={"n": 2**70, "ratio": 0.1, "none": None}),
            Case(
                id="b/ü\u2028",
                candidate_answer='{"score": 1}\0\n',
                evaluation_schema={"type": "object"},
                context=["a\0", {"id": "\0", "text": "b"}],
            ),
            Case(id="c", input_messages=[{"role": "user", "content": "Hi"}], latency=0.5, cost=0),
        ]
        run = made.run(
            store, cases=cases, definition=definition, options={"only": [], "limit": None}, repeat=2, forked_from="x-1"
        )
        attempts = (
            Attempt(kind="transport", error="rate_limited: HTTP 429", latency=0.25),
            Attempt(kind="reply", raw="{\x1b[2J", usage=Usage(input_tokens=3), cached=True),
        )
        checks = (Check(id="short", satisfied=True, reasoning="it is"),)
        made.judge(store, run, 0, made.judgment("unparsable: no JSON", evaluation={"attempts": attempts}))
        made.judge(
            store,
            run,
            0,
            made.judgment(0.75, round=1, evaluation={"checks": checks, "score_raw": 10**30, "label": "partly\0"}),
        )
        made.judge(store, run, 0, made.judgment(1.0, sample=1, cost=None, weight=0.0, required=True))
        made.judge(store, run, 1, made.judgment(0.0, key="other", evaluation={"details": {"deep": [[{}]]}}))
        made.answer(store, run, 2, MadeAnswer(text=None, error="timeout: late"), MadeAnswer(text="Hello", round=1))
        return store.runs.mark(run, RunStatus.STOPPED, "unauthorized: HTTP 401")

    return make


def lines(store: Store, run: RunRecord) -> list[Line]:
    return [json.loads(line) for line in export_lines(store, run)]


def written(*given: Line) -> list[bytes]:
    return [json.dumps(one).encode() + b"\n" for one in given]


# There and back


def test_what_was_exported_and_imported_is_exported_the_same(
    store: Store, other: Store, rich_run: Callable[[Store], RunRecord]
) -> None:
    run = rich_run(store)
    exported = list(export_lines(store, run))

    imported = import_lines(other, exported)
    again = other.runs.find(imported.id)

    assert list(export_lines(other, again)) == exported
    assert list(other.results(again)) == list(store.results(run))
    assert (imported.id, imported.cases, imported.evaluations) == (run.id, 3, 4)


def test_it_goes_back_into_a_database_of_the_same_kind(store: Store, rich_run: Callable[[Store], RunRecord]) -> None:
    run = rich_run(store)
    exported = list(export_lines(store, run))

    imported = import_lines(store, exported)

    assert imported.id == f"{run.id}-2"
    assert list(export_lines(store, store.runs.find(imported.id)))[1:] == exported[1:]


def test_an_import_keeps_the_whole_record_but_not_where_the_suite_lay(
    store: Store, other: Store, rich_run: Callable[[Store], RunRecord]
) -> None:
    run = rich_run(store)

    found = other.runs.find(import_lines(other, export_lines(store, run)).id)

    assert found.source is None
    assert found.options == {**run.options, IMPORTED: True}
    for name in (
        "id",
        "name",
        "status",
        "reason",
        "definition",
        "cases",
        "repeat",
        "forked_from",
        "version",
        "created",
    ):
        assert getattr(found, name) == getattr(run, name)
    assert b"suite.yaml" not in b"".join(export_lines(store, run))


def test_an_imported_run_can_be_found_claimed_and_deleted(
    other: Store, store: Store, rich_run: Callable[[Store], RunRecord]
) -> None:
    imported = import_lines(other, export_lines(store, rich_run(store)))
    found = other.runs.find(imported.id)

    other.runs.claim(found)
    other.runs.mark(found, RunStatus.INTERRUPTED)
    other.runs.delete(found)

    assert other.runs.newest() == []


@in_sqlite
def test_lines_are_lines(store: Store, rich_run: Callable[[Store], RunRecord]) -> None:
    exported = list(export_lines(store, rich_run(store)))

    assert len(exported) == 4
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 and line.startswith(b"{") for line in exported)


@in_sqlite
def test_a_run_whose_planning_never_ended_is_not_exported(store: Store) -> None:
    run = store.runs.create(name="refunds", source=None, definition={}, options={})

    with pytest.raises(ConfigError, match="were not all read"):
        list(export_lines(store, run))


texts = st.text(max_size=20)
ids = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=10)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
scores = st.floats(0, 1) | texts.map(lambda text: f"contract: {text}")
# The fixture has no state, and how fast the machine is does not matter.
UNASKED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=UNASKED)
@given(data=st.data())
def test_any_run_survives_the_journey(data: st.DataObject, made: Any) -> None:
    here, there = open_store(IN_MEMORY), open_store(IN_MEMORY)
    cases = [
        Case(
            id=identity,
            question=data.draw(st.none() | texts),
            candidate_answer=data.draw(st.none() | texts),
            metadata=data.draw(st.dictionaries(texts, json_values, max_size=2)),
        )
        for identity in data.draw(st.lists(ids, max_size=4, unique=True))
    ]
    run = made.run(here, cases=cases, name=data.draw(ids), definition={"metadata": data.draw(json_values)})
    for position in range(len(cases)):
        details = data.draw(st.dictionaries(texts, json_values, max_size=2))
        judgment = made.judgment(data.draw(scores), evaluation={"details": details, "reasoning": data.draw(texts)})
        here.commit(
            Batch(
                evaluations=[evaluation_row(run.number, position, 0, judgment)],
                answers=[answer_row(run.number, position, MadeAnswer(text=data.draw(texts)))],
            )
        )
    exported = list(export_lines(here, run))

    imported = import_lines(there, exported)
    again = list(export_lines(there, there.runs.find(imported.id)))

    assert again == exported
    here.close()
    there.close()


# As format 1 was first written. It must be read for ever, and written like this until there is a format 2.
GOLDEN = (
    b'{"kind":"evenhand-run","schema_version":1,"run":{"id":"20261115-093000-k7mq","name":"refunds","status":"finished",'
    b'"reason":"","definition":{"judge":"openai/gpt-5-mini","evaluators":[{"type":"llm_judge"}]},"options":{"only":[],'
    b'"limit":null,"answers_from":null},"cases":1,"repeat":1,"forked_from":null,"version":"0.1.0",'
    b'"created":1794735000.25,"finished":1794735002.5}}\n'
    b'{"case":{"id":"capital","question":"Capital of France?","expected_outcome":"Names Paris"},'
    b'"position":0,"hash":"2300089362b3cdad4184a2e874d894ee","expected":1,"answers":[{"text":"Paris","error":null,'
    b'"attempts":[{"kind":"reply","raw":"Paris","error":null,"latency":0.5,"usage":null}],"latency":0.5,"usage":null,'
    b'"cost":null,"messages":[],"sample":0,"round":0}],"evaluations":[{"evaluator":"llm_judge","type":"llm_judge",'
    b'"status":"scored","score":0.9,"score_raw":0.9,"verdict":"pass","hits":["names it"],"misses":[],'
    b'"reasoning":"Right.","checks":[],"details":{"judge":"openai/gpt-5-mini"},"error":null,"attempts":[{"kind":"reply",'
    b'"raw":"{\\"score\\": 0.9}","error":null,"latency":0.25,"usage":{"input_tokens":10,"output_tokens":5,'
    b'"cached_tokens":0}}],"retry_count":0,"evaluator_provider_request":{"userPrompt":"u","systemPrompt":"s"},'
    b'"usage":{"input_tokens":10,"output_tokens":5,"cached_tokens":0},"flags":[],"place":0,"sample":0,"round":0,'
    b'"key":"5820e3596fde42a66c60","weight":1.0,"required":false,"cost":0.0021,"seconds":0.3}]}\n'
)


@in_sqlite
def test_the_first_format_is_read_and_written_as_it_was(store: Store) -> None:
    imported = import_lines(store, lines_of(io.BytesIO(GOLDEN)))
    run = store.runs.find(imported.id)

    assert b"".join(export_lines(store, run)) == GOLDEN
    (result,) = store.results(run)
    assert (result.outcome.score, result.answers[0].text, result.pending) == (0.9, "Paris", False)


# What a later version may add


@in_sqlite
def test_fields_that_are_not_known_yet_are_kept(
    store: Store, other: Store, rich_run: Callable[[Store], RunRecord]
) -> None:
    exported = lines(store, rich_run(store))
    exported[0]["run"]["machine"] = {"cores": 2}
    exported[1]["tags"] = ["later"]
    exported[1]["evaluations"][0]["confidence"] = 0.5
    exported[1]["evaluations"][0]["attempts"][0]["region"] = "eu"
    exported[3]["answers"][0]["tools"] = []

    imported = import_lines(other, written(*exported))
    again = lines(other, other.runs.find(imported.id))

    assert again == exported
    assert len(list(other.results(other.runs.find(imported.id)))) == 3


@in_sqlite
def test_a_format_of_the_future_is_refused(store: Store, other: Store, rich_run: Callable[[Store], RunRecord]) -> None:
    exported = lines(store, rich_run(store))
    exported[0]["schema_version"] = 2

    with pytest.raises(ConfigError, match=r"in\.jsonl:1: it is written in format 2, and this Evenhand reads 1"):
        import_lines(other, written(*exported), name="in.jsonl")


# One mistake, and nothing is imported


def simple(count: int) -> list[bytes]:
    run = {
        "id": "r-1", "name": "refunds", "status": "finished", "reason": "", "definition": {}, "options": {},
        "cases": count, "repeat": 1, "forked_from": None, "version": "0.1", "created": 1.5, "finished": 2.5,
    }  # fmt: skip
    evaluation = {
        "evaluator": "right", "type": "contains", "status": "scored", "score": 1.0, "verdict": "pass", "place": 0,
        "sample": 0, "round": 0, "key": "k", "weight": 1.0, "required": False, "cost": 0.0, "seconds": 0.1,
    }  # fmt: skip
    cases = [
        {"case": {"id": f"case-{number}"}, "position": number, "hash": "h", "expected": 1, "answers": [],
         "evaluations": [evaluation]}
        for number in range(count)
    ]  # fmt: skip
    return written({"kind": "evenhand-run", "schema_version": 1, "run": run}, *cases)


def is_empty(store: Store) -> bool:
    tables = ("runs", "cases", "answers", "evaluations")
    return all(store.database.rows(f"SELECT COUNT(*) FROM {table}") == [(0,)] for table in tables)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_corrupt_record_among_thousands_is_named_and_nothing_is_imported(store: Store, count: int) -> None:
    given = simple(count)
    given[count - 2] = given[count - 2][:-20]

    with pytest.raises(ConfigError, match=rf"in\.jsonl:{count - 1}: this is not strict JSON"):
        import_lines(store, given, name="in.jsonl")

    assert is_empty(store)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"", "this is not strict JSON"),
        (b"\n", "this is not strict JSON"),
        (b"[1]\n", "a line must be one JSON object"),
        (b'{"case": {"id": "a"}, "case": {}}\n', "duplicate key 'case'"),
        (b'{"case": {"id": NaN}}\n', "this is not strict JSON"),
        (b'{"case": {"id": 1e999}}\n', "this is not strict JSON"),
        (b'{"case": {"id": "\xff"}}\n', "this is not strict JSON"),
        (b'{"case": {"id": "\\ud800"}}\n', "this is not strict JSON"),
        (b'{"a": ' * 5000 + b"1" + b"}" * 5000, "this is not strict JSON"),
        (b'{"a": ' + b"1" * 10_000 + b"}", "this is not strict JSON"),
        (b"{" + b" " * MAX_LINE_BYTES + b"}", "the line has more than 64 MB"),
    ],
    ids=range(11),
)
def test_a_line_that_is_no_json_is_refused(other: Store, line: bytes, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        import_lines(other, [*simple(2)[:2], line], name="in.jsonl")

    assert str(caught.value).startswith("in.jsonl:3: ")
    assert told in str(caught.value)
    assert is_empty(other)


def changed(line: bytes, path: str, value: Any) -> bytes:
    """Change a value in a line; the path is its keys, with dots between."""
    whole = json.loads(line)
    *above, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    place = whole
    for key in above:
        place = place[key]
    if value is None and isinstance(place, dict) and last in place:
        del place[last]
    else:
        place[last] = value
    return json.dumps(whole).encode() + b"\n"


@pytest.mark.parametrize(
    ("number", "path", "value", "told"),
    [
        (0, "kind", "promptfoo", "1: this is not the beginning of an exported run"),
        (0, "run", None, "1: run must be an object"),
        (0, "run.id", "../etc", "1: run: id is '../etc'; it must be letters, digits, dots and dashes"),
        (0, "run.id", None, "1: run: id is missing"),
        (0, "run.status", "planning", "1: run: status is 'planning'"),
        (0, "run.status", ["finished"], "1: run: status is ['finished']"),
        (0, "run.name", "a\0b", "1: run: name is 'a\\x00b'; it must be text"),
        (0, "run.repeat", 10**9, "1: run: repeat is 1000000000"),
        (0, "run.cases", True, "1: run: cases is True"),
        (0, "run.cases", -1, "1: run: cases is -1"),
        (0, "run.created", 1e300, "1: run: created is 1e+300"),
        (0, "run.definition", [], "1: run: definition is []; it must be an object"),
        (0, "run.definition", {"gates": {"min_men": 1}}, "1: run: definition: gates: no gate 'min_men'"),
        (0, "run.definition", {"thresholds": 3}, "1: run: definition: "),
        (0, "run.options", {"only": 5}, "1: run: options: only is 5; it must be a list, each text"),
        (0, "run.options", {"until_decided": 5}, "1: run: options: until_decided is 5; it must be an object"),
        (0, "run.options", {"until_decided": {"seed": 1, "alpha": 2}}, "1: run: options: alpha is 2"),
        (0, "run.options", {"until_decided": {"seed": -1, "alpha": 0.1}}, "1: run: options: until_decided: seed is -1"),
        (
            0,
            "run.options",
            {"until_decided": {"seed": 1, "alpha": 0.1, "known": [0.5]}},
            "1: run: options: until_decided: known is [0.5]",
        ),
        (
            0,
            "run.options",
            {"until_decided": {"seed": 1, "alpha": 0.1, "gates": 7}},
            "1: run: options: until_decided: gates is 7",
        ),
        (
            0,
            "run.options",
            {"until_decided": {"seed": 1, "alpha": 0.1, "gates": [7]}},
            "1: run: options: until_decided: gates has 7",
        ),
        (1, "position", 5, "2: case: position is 5"),
        (1, "case", "a", "2: case: case is 'a'; it must be an object"),
        (1, "case.id", 7, "2: case: case: id must be text or None, not int: 7"),
        (1, "case.id", None, "2: case: id is None; it must be text"),
        (1, "hash", None, "2: case: hash is missing"),
        (1, "evaluations", {}, "2: case: evaluations is {}; it must be a list, each an object"),
        (1, "answers", [{}], "2: answer: text is missing"),
        (1, "answers", [{"text": 1, "sample": 0, "round": 0}], "2: answer: text is 1"),
        (1, "evaluations.0.place", 1, "2: evaluation: place is 1"),
        (1, "evaluations.0.sample", 1, "2: evaluation: sample is 1"),
        (1, "evaluations.0.score", 2, "2: evaluation: a scored evaluation has a finite score from 0 to 1, not 2"),
        (1, "evaluations.0.score", "good", "2: evaluation: a scored evaluation has a finite score"),
        (1, "evaluations.0.status", "fine", "2: evaluation: 'fine' is not a valid Status"),
        (1, "evaluations.0.verdict", None, "2: evaluation: verdict is missing"),
        (1, "evaluations.0.hits", [1], "2: evaluation: hits is [1]; it must be a list, each text"),
        (1, "evaluations.0.weight", -1, "2: evaluation: weight is -1"),
        (1, "evaluations.0.required", 1, "2: evaluation: required is 1; it must be true or false"),
        (
            1,
            "evaluations.0.cost",
            1e16,
            "2: evaluation: cost is 1e+16; it must be a number, 0 or more, and below 1e+15",
        ),
        (1, "evaluations.0.attempts", [{"kind": "x"}], "2: evaluation: attempt: kind is 'x'"),
        (1, "evaluations.0.checks", [{"id": 1}], "2: evaluation: check: id is 1"),
        (1, "evaluations.0.usage", {"input_tokens": "many"}, "2: evaluation: usage is "),
        (2, "case.id", "case-0", "3: duplicate case id 'case-0'"),
    ],
)
def test_a_line_that_is_wrong_is_refused_by_its_number(
    other: Store, number: int, path: str, value: Any, told: str
) -> None:
    given = simple(2)
    given[number] = changed(given[number], path, value)

    with pytest.raises(ConfigError) as caught:
        import_lines(other, given, name="in.jsonl")

    assert f"in.jsonl:{told}" in str(caught.value)
    assert is_empty(other)


def test_an_evaluation_that_is_there_twice_is_refused(other: Store) -> None:
    given = simple(1)
    one = json.loads(given[1])["evaluations"][0]
    given[1] = changed(given[1], "evaluations", [one, one])

    with pytest.raises(ConfigError, match="2: duplicate evaluation of the same sample and round"):
        import_lines(other, given)


def test_a_file_that_was_cut_off_is_refused(other: Store) -> None:
    with pytest.raises(ConfigError, match=r"in\.jsonl: it ends after 2 of 3 cases; it was cut off"):
        import_lines(other, simple(3)[:-1], name="in.jsonl")
    with pytest.raises(ConfigError, match=r"in\.jsonl:1: this is not strict JSON"):
        import_lines(other, [], name="in.jsonl")

    assert is_empty(other)


def test_more_lines_than_cases_are_refused(other: Store) -> None:
    given = simple(2)
    given[0] = changed(given[0], "run.cases", 1)

    with pytest.raises(ConfigError, match=r"in\.jsonl:3: the run has 1 cases, and here is one more line"):
        import_lines(other, given, name="in.jsonl")


# A dry run


def test_a_dry_run_finds_mistakes_and_keeps_nothing(store: Store) -> None:
    found = import_lines(store, simple(3), dry_run=True)

    assert (found.id, found.cases, found.evaluations) == ("r-1", 3, 3)
    assert is_empty(store)
    with pytest.raises(ConfigError, match="cut off"):
        import_lines(store, simple(3)[:-1], dry_run=True)


# Nothing is believed


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value in a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*path, key)
        yield from places(one, (*path, key))


oddities: st.SearchStrategy[Any] = st.sampled_from(
    [None, 5, -1, 1e300, True, 0.5, "x", "\x1b[2J", "error", [], [1], {}, {"a": 1}, [{}], [["a"]], {"kind": "reply"}]
)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=UNASKED)
@given(data=st.data())
def test_whatever_is_let_in_can_be_reported_and_exported(
    data: st.DataObject, rich_run: Callable[[Store], RunRecord]
) -> None:
    let_in(data, rich_run)


@pytest.mark.long
@settings(max_examples=200, suppress_health_check=UNASKED)
@given(data=st.data())
def test_whatever_is_let_in_of_many_oddities_can_be_reported_and_exported(
    data: st.DataObject, rich_run: Callable[[Store], RunRecord]
) -> None:
    let_in(data, rich_run)


def let_in(data: st.DataObject, rich_run: Callable[[Store], RunRecord]) -> None:
    """Change an export in one place, and read it unless it is refused."""
    with closing(open_store(IN_MEMORY)) as here, closing(open_store(IN_MEMORY)) as there:
        given = lines(here, rich_run(here))
        *above, last = data.draw(st.sampled_from([path for path in places(given) if len(path) > 1]))
        place: Any = given
        for key in above:
            place = place[key]
        place[last] = data.draw(oddities)

        try:
            run = there.runs.find(import_lines(there, written(*given)).id)
        except ConfigError:
            return

        report = Report(run=run, summary=summarize(there.results(run)), results=lambda: there.results(run))
        for name in FORMATS:
            writer_of(name)(report, io.StringIO())
        assert len(list(export_lines(there, run))) == len(given)


def test_options_that_are_ours_cannot_be_set_from_outside(other: Store) -> None:
    given = simple(1)
    given[0] = changed(given[0], "run.options", {"imported": False, "more": 7, "only": ["a"]})

    found = other.runs.find(import_lines(other, given).id)

    assert found.options == {"only": ["a"], "imported": True}
    assert b'"imported"' not in b"".join(export_lines(other, found))


def test_no_code_that_a_run_names_is_loaded(other: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "marker_of_an_import.py").write_text("import pathlib\npathlib.Path('marked').touch()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    given = simple(1)
    hostile = {
        "target": {"python": "marker_of_an_import:answer"},
        "evaluators": [{"type": "code_judge", "command": ["touch", "marked"]}],
    }
    given[0] = changed(given[0], "run.definition", hostile)
    given[1] = changed(given[1], "evaluators", hostile["evaluators"])

    run = other.runs.find(import_lines(other, given).id)
    assert len(list(other.results(run))) == len(list(export_lines(other, run))) - 1

    assert "marker_of_an_import" not in sys.modules
    assert not (tmp_path / "marked").exists()


def test_a_file_is_read_line_by_line_and_never_more_than_one_line_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.store.transfer.MAX_LINE_BYTES", 10)

    assert [len(line) for line in lines_of(io.BytesIO(b"short\n" + b"x" * 25))] == [6, 11, 11, 3]
