"""A run that came from elsewhere may have been tampered with: it is refused with what is wrong, or it can be read.

Real exports of every kind of run are changed in one place at a time. Whatever is taken in must then be read by every
report, comparison and page, and be exported again.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from fastapi.testclient import TestClient

from evenhand import Case, Contains, Profile, SchemaEvaluator, audit, evaluate, rank, score
from evenhand.cli.commands.runs import ListedRun
from evenhand.cli.console import Console
from evenhand.cli.runs.finish import code_of, report_of, show
from evenhand.cli.runs.resume import require_trust
from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.domain.run import RunRecord
from evenhand.domain.secret import Secret
from evenhand.engine.carry_over import scope_of
from evenhand.engine.comparison import Side, compare_runs
from evenhand.engine.estimate import forecast
from evenhand.engine.overview import overview_of
from evenhand.profiles.imported import case_check
from evenhand.profiles.job import require_scores
from evenhand.profiles.modes import with_next_rounds
from evenhand.reports.json import canonical
from evenhand.reports.overview import survey
from evenhand.reports.report import FORMATS, write
from evenhand.reports.report_kind import report_kind_of
from evenhand.reports.safe_text import strict_json
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store, open_store
from evenhand.store.transfer import export_lines, import_lines
from evenhand.suites.definition_diff import judging_differences
from evenhand.suites.suite import job_of_run

# One group, so that parallel workers do not each make runs of every kind.
pytestmark = pytest.mark.group("tampered")

Line = dict[str, Any]
# Where something stands in an export: the number of the line, then keys and places in lists.
Path_ = tuple[Any, ...]

TOKEN: Final = "a-token-that-nobody-guesses"
SEED: Final = 20_240_229
ORDINARY, LONG = 25, 150
# Each reader of a ranking works it out anew, from so many draws of what is possible, instead of 200.
RANKINGS: Final = 12
DRAWS: Final = 20
DEEP: Any = json.loads("[" * 200 + "]" * 200)
RAW: Final = {"huge": "1" + "0" * 400, "infinite": "1e999", "nan": "NaN"}

VALUES: Final[dict[str, Any]] = {
    "null": None, "true": True, "minus one": -1, "zero": 0, "half": 0.5, "tiny": 5e-324, "large": 1e308, "2**63": 2**63,
    "10**12": 10**12, "10**9": 10**9, "empty": "", "word": "no such thing", "text": "7", "NUL": "a\0b", "markup": "<b>|\x1b[2J",
    "long": "x" * 1_000_000, "list": [], "list of nulls": [None], "object": {}, "odd object": {"": None}, "deep": DEEP,
    "year 9999": 253_402_300_799.0, "far": 253_402_300_800.0, "surrogate": "\ud800",
}  # fmt: skip


# Exports


def judged(messages: list[dict[str, str]]) -> str:
    """Judge as the text asks for it: rubric checks, bands, pairs, or a score; now and then no JSON at all."""
    text = messages[-1]["content"]
    whole = "\n".join(one["content"] for one in messages)
    if "case-broken" in text:
        return "I would rather not say."
    if '"checks"' in whole or "checks" in whole:
        return json.dumps({"checks": [
            {"id": "short", "satisfied": True, "reasoning": "It is."},
            {"id": "kind", "score": 7, "reasoning": "Rather."},
        ]})  # fmt: skip
    if '"winner"' in whole:
        return json.dumps({"winner": "A", "reasoning": "Better."})
    if '"order"' in whole:
        return json.dumps({"reasoning": "Experience.", "order": ["A", "B", "C"][: whole.count("years a nurse")]})
    if '"justification"' in whole:
        return json.dumps({"score": 8 if "10 years" in text else 5, "justification": "By the years."})
    return json.dumps({"score": 0.75, "hits": ["right"], "misses": ["short"], "reasoning": "Nearly."})


RUBRICS: Final = [
    {"id": "short", "description": "It is short", "required": True},
    {"id": "kind", "description": "It is kind", "weight": 2, "score_ranges": [
        {"min": 0, "max": 5, "outcome": "rude"}, {"min": 6, "max": 10, "outcome": "kind"},
    ]},
]  # fmt: skip


def suite_run(store: str, **rest: Any) -> str:
    evaluators: list[Any] = [
        {"name": "quality", "type": "llm_judge", "weight": 2, "required": True},
        {"name": "jury", "type": "composite", "members": [
            {"name": "one", "type": "llm_judge"}, {"name": "two", "type": "contains", "value": "Paris"},
        ]},
        SchemaEvaluator(name="shape"),
        Contains(name="city", value="Paris", negate=True),
    ]  # fmt: skip
    cases = [
        Case(id="capital", question="Capital of France?", expected_outcome="Names Paris", cluster="cities"),
        Case(id="case-broken", question="case-broken", expected_outcome="Fails"),
        Case(id="rubrics", question="Why?", rubrics=RUBRICS, metadata={"model": "a/b", "n": 1}, cluster="cities"),
        Case(id="schema", question="JSON?", evaluation_schema={"type": "object"}, expected_outcome="Some JSON"),
    ]

    def target(case: Case) -> str:
        if case.id == "schema":
            raise ValueError("no answer today")
        return f"Paris, since {case.id} asks"

    run = evaluate(
        cases, evaluators, judge=judged, target=target, store=store, repeat=2, thresholds={"pass": 0.7},
        gates={"min_mean": 0.2}, **rest,
    )  # fmt: skip
    return run.id


def pairs_run(store: str) -> str:
    cases = [Case(id=f"p{n}", question="Which?", candidate_answer="This", reference_answer="That") for n in range(2)]
    return evaluate(cases, {"name": "pair", "type": "pairwise"}, judge=judged, store=store).id


def decided_run(store: str) -> str:
    cases = [Case(id=f"d{n}", candidate_answer="This", expected_outcome="That") for n in range(50)]
    evaluators = {"name": "quality", "type": "llm_judge"}
    run = evaluate(
        cases, evaluators, judge=judged, store=store, gates={"min_mean": 0.2}, until_decided=True, concurrency=1
    )
    return run.id


PEOPLE: Final = [
    Profile(id=name, text=f"{years} years a nurse.", attributes={"gender": gender})
    for name, years, gender in [("anna", 10, "f"), ("ben", 1, "m"), ("cleo", 3, "f"), ("dan", 5, "m")]
]
DESIGN: Final = {
    "template": "{name}, {years} years a nurse.", "factors": {"name": ["Anna", "Jonas"], "years": [1, 10]},
    "groups": ["name"], "criteria": "Experience", "repetitions": 2, "gates": {"max_group_effect": 1.0},
}  # fmt: skip


def exports(folder: Path) -> dict[str, list[Line]]:
    """Make a run of every kind, and give what each is exported as, as if a suite with a model by name had made it."""
    url = str(folder / "made.db")
    made = {
        "suite": suite_run(url),
        "pairs": pairs_run(url),
        "decided early": decided_run(url),
        "scores": score(PEOPLE, criteria="Experience", judge=judged, store=url, repeat=2).run.id,
        "ranking": rank(PEOPLE, criteria="Experience", judge=judged, store=url, group_size=3, rounds=2).run.id,
        "ranking of pairs": rank(PEOPLE, criteria="Experience", judge=judged, store=url, group_size=2, rounds=2).run.id,
        "audit": audit(DESIGN, judge=judged, store=url).run.id,
    }
    store = open_store(url)
    found = {
        kind: [json.loads(line) for line in export_lines(store, store.runs.find(run))] for kind, run in made.items()
    }
    store.close()
    for lines in found.values():
        definition = lines[0]["run"]["definition"]
        definition["judge"] = "openai/gpt-5-mini"
        for one in definition["evaluators"]:
            one.pop("python", None)
    found["prompt"] = prompt_lines(found["pairs"])
    found["unfinished"] = unfinished_lines(found["suite"])
    return found


def prompt_lines(lines: list[Line]) -> list[Line]:
    """Return a run as one that tried a prompt."""
    tried = copy.deepcopy(lines)
    definition = tried[0]["run"]["definition"]
    definition["prompt"] = {"id": "p-1", "name": "capitals", "version": 2, "evaluation_mode": "llm"}
    definition["target"] = {"models": ["openai/gpt-5-mini", "openai/gpt-5"]}
    for line in tried[1:]:
        line["case"]["metadata"] = {"test_case": "t-1", "model": "openai/gpt-5"}
    return tried


def unfinished_lines(lines: list[Line]) -> list[Line]:
    """Return a run that stopped, with less than half of it judged."""
    stopped = copy.deepcopy(lines)
    stopped[0]["run"] |= {"status": "stopped", "reason": "budget: reached", "finished": None}
    stopped[0]["run"] |= {"abandoned_calls": 3, "abandoned_cost": 0.5}
    for line in stopped[2:]:
        line["evaluations"], line["answers"] = line["evaluations"][:1], line["answers"][:1]
    return stopped


# Tampering


def places(value: Any, here: Path_ = ()) -> Iterator[Path_]:
    """Yield the place of everything in a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*here, key)
        yield from places(part, (*here, key))


def within(lines: list[Line], place: Path_) -> Any:
    value: Any = lines
    for key in place:
        value = value[key]
    return value


def changes(lines: list[Line], chance: random.Random, count: int) -> Iterator[tuple[str, list[bytes]]]:
    """Yield so many ways to tamper with an export, each with the place that it is about."""
    everywhere = list(places(lines))
    for _ in range(count):
        place = chance.choice(everywhere)
        how = chance.choice([*VALUES, *RAW, "deleted", "swapped", "twice", "copied"])
        changed = copy.deepcopy(lines)
        parent = within(changed, place[:-1])
        key = place[-1]
        raw: tuple[str, str] | None = None
        if how in VALUES:
            parent[key] = VALUES[how]
        elif how in RAW:
            parent[key] = "@raw@"
            raw = ('"@raw@"', RAW[how])
        elif how == "deleted":
            del parent[key]
        elif how == "copied":
            other = chance.choice(everywhere)
            parent[key] = copy.deepcopy(within(lines, other))
        elif how == "swapped":
            other_key = chance.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
            parent[key], parent[other_key] = parent[other_key], parent[key]
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        else:
            parent["@twice@"] = parent[key]
            raw = ('"@twice@"', json.dumps(key))
        yield f"{how} at {place}", as_lines(changed, raw)


def as_lines(lines: list[Line], raw: tuple[str, str] | None = None) -> list[bytes]:
    texts = [json.dumps(one) for one in lines]
    return [(text.replace(*raw) if raw else text).encode() + b"\n" for text in texts]


def at(*place: Any, to: Any) -> Callable[[list[Line]], None]:
    def change(lines: list[Line]) -> None:
        within(lines, place[:-1])[place[-1]] = to

    return change


def every_evaluation(**fields: Any) -> Callable[[list[Line]], None]:
    def change(lines: list[Line]) -> None:
        for line in lines[1:]:
            for one in line["evaluations"]:
                one.update(copy.deepcopy(fields))

    return change


def every_case(**fields: Any) -> Callable[[list[Line]], None]:
    def change(lines: list[Line]) -> None:
        for line in lines[1:]:
            line["case"].update(copy.deepcopy(fields))

    return change


MEMBERS: Final = [{"id": "anna"}, {"id": "zoe"}, {"id": "anna"}]
# What no single change makes: values that contradict each other, and references to what is not there.
TOGETHER: Final[dict[str, Callable[[list[Line]], None]]] = {
    "an error with a score": at(1, "evaluations", 0, "status", to="error"),
    "a score without a status": at(1, "evaluations", 0, "status", to="not_evaluated"),
    "a verdict that contradicts the score": at(1, "evaluations", 0, "verdict", to="fail"),
    "a gap in the positions": at(1, "position", to=7),
    "more cases than there are": at(0, "run", "cases", to=10**12),
    "a billion samples": at(0, "run", "repeat", to=10**9),
    "many samples": at(0, "run", "repeat", to=100_000),
    "more evaluators than there are": at(1, "expected", to=2**40),
    "fewer evaluators than there are": at(1, "expected", to=0),
    "a round in the far future": at(1, "evaluations", 0, "round", to=2**53),
    "created in the year 9999": at(0, "run", "created", to=253_402_300_799.0),
    "ended before it began": at(0, "run", "finished", to=0),
    "evaluators without names": at(0, "run", "definition", "evaluators", to=[{"type": "llm_judge"}, {}]),
    "evaluators that are texts": at(0, "run", "definition", "evaluators", to=["quality", 7, None]),
    "evaluators that are a text": at(0, "run", "definition", "evaluators", to="quality"),
    "no evaluators": at(0, "run", "definition", "evaluators", to=None),
    "a judge that is a list": at(0, "run", "definition", "judge", to=[["a"]]),
    "a target that is a number": at(0, "run", "definition", "target", to=7),
    "a prompt that is a list": at(0, "run", "definition", "prompt", to=[1]),
    "a prompt without an id": at(0, "run", "definition", "prompt", to={"version": "two"}),
    "prices that are words": at(0, "run", "definition", "prices", to={"a": "free"}),
    "profiles of no known mode": at(0, "run", "definition", "profiles", to={"mode": "guessing"}),
    "profiles that are a ranking without a design": at(0, "run", "definition", "profiles", to={"mode": "ranking"}),
    "profiles that are an audit without a design": at(0, "run", "definition", "profiles", to={"mode": "audit"}),
    "profiles that are scores": at(0, "run", "definition", "profiles", to={"mode": "scoring"}),
    "a mode that is a list": at(0, "run", "definition", "profiles", to={"mode": ["ranking"]}),
    "answers from itself": at(0, "run", "options", to={"answers_from": "last", "only": ["*"], "limit": 1}),
    "options of other kinds": at(0, "run", "options", to={"judge": "", "target": "x/y", "no_cache": "yes", "more": 7}),
    "a baseline": at(0, "run", "options", to={"baseline": True, "imported": False, "more": {"id": 3}}),
    "an order that is no permutation": every_evaluation(details={"order": ["anna", "anna"], "judge": "j"}),
    "an order of numbers": every_evaluation(details={"order": [1, 2]}),
    "an order that is a text": every_evaluation(details={"order": "anna"}),
    "an outcome that is none": every_evaluation(details={"outcome": "draw", "orders": [{}]}),
    "orders of nobody": every_evaluation(details={"outcome": "win", "orders": [{"candidate": "C", "winner": 7}]}),
    "orders that are a number": every_evaluation(details={"outcome": "loss", "orders": 7}),
    "members that are numbers": every_evaluation(details={"members": [1, "a", None, {"details": 7}], "meta_judge": 3}),
    "a judge that is an object": every_evaluation(details={"judge": {"model": "x"}}),
    "details of all kinds": every_evaluation(details={name: value for name, value in VALUES.items() if name != "long"}),
    "checks of nothing": every_evaluation(checks=[{"id": "", "satisfied": False, "score": 7, "probability": 2.0}]),
    "a score of another kind": every_evaluation(score_raw=[[]]),
    "no attempts": every_evaluation(attempts=[], retry_count=99),
    "negative usage": every_evaluation(usage={"input_tokens": -5}),
    "unknown usage": every_evaluation(usage={"thoughts": 5}),
    "flags of users": every_evaluation(flags=["", "<b>", "cached", "cached"]),
    "a weight of nothing": every_evaluation(weight=0),
    "a weight that is nearly nothing": every_evaluation(weight=5e-324),
    "a weight beyond measure": every_evaluation(weight=1.7e308),
    "a cost beyond measure": every_evaluation(cost=1.7e308),
    "no cost": every_evaluation(cost=None),
    "one evaluator": every_evaluation(evaluator="one"),
    "an evaluator without a name": every_evaluation(evaluator=""),
    "another type": every_evaluation(type="code_judge"),
    "a request of other keys": every_evaluation(evaluator_provider_request={"a": "b"}),
    "groups of nobody": every_case(metadata={"profiles": []}),
    "groups of strangers": every_case(metadata={"profiles": MEMBERS, "round": 0}),
    "groups that are texts": every_case(metadata={"profiles": ["anna"], "round": "one"}),
    "groups that are a text": every_case(metadata={"profiles": "anna", "round": None}),
    "groups with numbers for ids": every_case(metadata={"profiles": [{"id": 1}, {"id": 2}], "round": 10**12}),
    "groups with odd texts": every_case(metadata={"profiles": [{"id": "a", "text": 7, "attributes": 3}], "round": -1}),
    "numbers of profiles out of range": every_case(metadata={"profiles": [{"id": "anna", "number": 10**12}]}),
    "metadata of the audit gone": every_case(metadata={}),
    "metadata of all kinds": every_case(metadata={name: value for name, value in VALUES.items() if name != "long"}),
    "an audit of other levels": every_case(metadata={"name": 7, "years": ["a"], "levels": {}, "attributes": None}),
    "messages of nobody": every_case(input_messages=[{"role": "nobody", "content": "?"}]),
    "a schema that is none": every_case(evaluation_schema="{"),
    "a question of markup": every_case(question="<script>alert(1)</script>"),
    "no question": every_case(question=None),
}  # fmt: skip


# Reading


class Readers:
    """A store with the exports as they were made, and everybody who reads from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.exports = exports(folder)
        url = str(folder / "here.db")
        self.store = open_store(url)
        self.originals = {kind: import_lines(self.store, as_lines(lines)).id for kind, lines in self.exports.items()}
        self.app = make_app(ServerSettings(db=url, token=Secret(TOKEN), judge="vllm/judge", changes_a_minute=10**6))
        self.client = TestClient(
            self.app, base_url="http://localhost:8642", headers={"authorization": f"Bearer {TOKEN}"},
            follow_redirects=False,
        )  # fmt: skip

    def close(self) -> None:
        self.store.close()

    def take_in(self, kind: str, lines: list[bytes]) -> bool:
        """Import a run and, unless it is refused, let everybody read it; tell whether it was taken."""
        try:
            imported = import_lines(self.store, lines, name="run.jsonl", check=case_check)
        except ConfigError as error:
            told = str(error)
        else:
            told = ""
        if told:
            assert told.startswith("run.jsonl"), told
            assert len(told) < 1_000, told
            return False
        run = self.store.runs.find(imported.id)
        try:
            self.read(self.store, run)
            self.compare(self.store.runs.find(self.originals[kind]), run)
            self.go_on(self.store, run)
            self.show(run)
        finally:
            self.store.runs.delete(run)
        return True

    def read(self, store: Store, run: RunRecord) -> None:
        listed = ListedRun.of(store, run)
        assert run.id in listed.line()
        strict_json(listed.as_dict())
        report = report_of(store, run)
        code_of(report)
        for as_json in (False, True):
            show(report, Console(quiet=True), json=as_json)
        canonical(report)
        teller = report_kind_of(run.definition)
        for ending in FORMATS:
            (write if teller is None else teller.write)(report, self.folder / f"report.{ending}")
        again = list(export_lines(store, run))
        other = open_store("sqlite://")
        imported = other.runs.find(import_lines(other, again).id)
        assert list(export_lines(other, imported))[1:] == again[1:]
        listed_before = replace(overview_of(store, run), outcome="")  # which the list above keeps
        assert overview_of(other, imported) == survey(other.results(imported)) == listed_before
        other.close()

    def compare(self, a: RunRecord, b: RunRecord) -> None:
        for pair in ((a, b), (b, a)):
            try:
                for run in pair:
                    require_scores(run)
                sides = [Side(store=self.store, run=run) for run in pair]
                compare_runs(*sides, differing=judging_differences(a.definition, b.definition), anyway=True)
            except ConfigError:
                pass

    def go_on(self, store: Store, run: RunRecord) -> None:
        """Do what going on with it begins with; nobody is asked, and what cannot be done is said."""
        try:
            require_trust(store, run)
            job = with_next_rounds(job_of_run(store, run, trusted=False))
            if job.following is not None:
                job.following.total(store, run)
                list(job.following.cases(store, run))
            if run.cases * run.repeat < 1_000:
                forecast(store, job, scope_of(run), use_cache=True)
        except EvenhandError:
            pass

    def show(self, run: RunRecord) -> None:
        of_run = f"/runs/{run.id}"
        ids = [identity for identity, _ in self.store.hashes(run)]
        pages = [
            "/", "/runs", of_run, f"{of_run}/results", f"{of_run}/results?sort=score&verdict=fail", f"{of_run}/results?text=a",
            f"{of_run}/ranking", f"{of_run}/audit", f"{of_run}/delete", f"/compare?a={self.originals['suite']}&b={run.id}",
            f"/trend?run={run.id}", f"/compare?a={self.originals['suite']}&b={run.id}&anyway=yes",
            *(f"{of_run}/results/{position}" for position in range(min(len(ids), 4))),
            f"{of_run}/results/0/json", *(f"{of_run}/download.{ending}" for ending in FORMATS),
            *(f"{of_run}/results/export.{ending}" for ending in ("csv", "jsonl")),
        ]  # fmt: skip
        api = [
            "/runs", of_run, f"{of_run}/progress", f"{of_run}/evaluations", f"{of_run}/evaluations?sort=cost&has_error=true",
            f"{of_run}/ranking", f"{of_run}/audit", f"{of_run}/export", f"/compare?a={run.id}&b={self.originals['suite']}&anyway=true",
            f"/trend?run={run.id}",
            *(f"{of_run}/cases/{identity}" for identity in ids[:2] if len(identity) < 100),
        ]  # fmt: skip
        for address in (*pages, *(f"/api{one}" for one in api)):
            answer = self.client.get(address)
            assert answer.status_code < 500, (address, answer.text[:500])


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
    made = Readers(tmp_path_factory.mktemp("tampered"))
    with made.client, pytest.MonkeyPatch.context() as patch:
        patch.setattr("evenhand.profiles.ranking.fit.DRAWS", DRAWS)
        yield made
    made.close()


KINDS: Final = ("suite", "pairs", "scores", "ranking", "ranking of pairs", "audit", "prompt", "unfinished")


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in ("suite", "ranking") else [pytest.mark.long]) for kind in KINDS]
)
def test_a_run_as_it_was_exported_is_read_by_everybody(readers: Readers, kind: str) -> None:
    assert readers.take_in(kind, as_lines(readers.exports[kind]))


@pytest.mark.slow
@pytest.mark.parametrize("part", [0.16, pytest.param(1, marks=pytest.mark.long)], ids=["some", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_tampered_with_is_refused_or_read(readers: Readers, kind: str, part: float) -> None:
    tamper(readers, kind, round(part * (RANKINGS if "ranking" in kind else ORDINARY)))


# Every eighth in quick tests: neighbours are read by the same reader.
@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    [pytest.param(what, marks=[] if number % 8 == 0 else [pytest.mark.long]) for number, what in enumerate(TOGETHER)],
)
def test_a_run_that_contradicts_itself_is_refused_or_read(readers: Readers, what: str) -> None:
    kind = "audit" if "audit" in what else "ranking" if "groups" in what or "order" in what else "suite"

    contradict(readers, kind, what)


@pytest.mark.sweep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_any_kind_that_contradicts_itself_is_refused_or_read(readers: Readers, kind: str) -> None:
    for what in TOGETHER:
        contradict(readers, kind, what)


@pytest.mark.sweep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_tampered_with_in_many_ways_is_refused_or_read(readers: Readers, kind: str) -> None:
    tamper(readers, kind, LONG)


def contradict(readers: Readers, kind: str, what: str) -> None:
    lines = copy.deepcopy(readers.exports[kind])
    TOGETHER[what](lines)
    try:
        readers.take_in(kind, as_lines(lines))
    except Exception as error:
        raise AssertionError(f"{kind}, {what}: {error!r:.300}") from error


def tamper(readers: Readers, kind: str, count: int) -> None:
    chance = random.Random(f"{SEED} {kind}")
    for what, lines in changes(readers.exports[kind], chance, count):
        try:
            readers.take_in(kind, lines)
        except Exception as error:
            raise AssertionError(f"{kind}, {what}: {error!r:.300}") from error
