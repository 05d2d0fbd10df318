"""From a judged run to a judge that deserves trust, or does not: labels by two people, the judge card, and what follows.

With commands, each a program of its own, over HTTP and on the pages; on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from bench.server_process import TOKEN, serving

from evenhand import Run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.group("postgres")]

# The judge passes what names Paris; people pass "the city of light" too.
ANSWERS = ("It is Paris.", "Paris, of course.", "The city of light.", "It is Rome.")
SUITE = """
name: capitals
evaluators:
  - {name: names it, type: contains, value: Paris}
cases: cases.jsonl
trust: {min_specificity_low: 0.8, min_sensitivity_low: 0.9}
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def db(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(tmp_path / "runs.db") if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def typed(typed: Callable[..., str], db: str) -> Callable[..., str]:
    return lambda *argv, code=0: typed(*argv, "--db", db, code=code)


def by_people(answer: str) -> str:
    return "fail" if "Rome" in answer else "pass"


def fill_in(path: Path, rater: str) -> None:
    """Do what a person does in a spreadsheet."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row |= {"human": by_people(row["answer"]), "rater": rater}
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_a_judge_is_put_to_the_test(db: str, typed: Callable[..., str], tmp_path: Path) -> None:
    cases = [
        {"id": f"c{number}", "question": "Capital of France?", "candidate_answer": ANSWERS[number % 4]}
        for number in range(200)
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    run = typed("run", "suite.yaml", "--quiet").strip()

    # Ann fills in a file; nothing of the judge's view is in it.
    typed("label", run, "--sample", "100", "--seed", "7", "-o", "labels.csv")
    assert "judge" not in Path("labels.csv").read_text(encoding="utf-8-sig").splitlines()[0]
    fill_in(tmp_path / "labels.csv", "Ann")
    typed("label", run, "--from", "labels.csv")

    # Ben labels over HTTP in the order of the draw, and looks at the pages.
    with serving(db, {}) as (_, (host, port)):
        headers = {"authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=f"http://{host}:{port}", headers=headers, timeout=60, trust_env=False) as client:
            for _ in range(20):
                drawn = client.get(f"/api/runs/{run}/label-queue", params={"rater": "Ben"}).json()["next"]
                body = {"rater": "Ben", "value": by_people(drawn["answer"]), "answer_hash": drawn["answer_hash"]}
                put = client.put(f"/api/runs/{run}/labels/{quote(drawn['case'])}", json=body | {"drawn": True})
                assert put.status_code == 200, put.text
            assert "20" in client.get(f"/runs/{run}/label").text
            card = client.get(f"/api/runs/{run}/card").json()
            page = client.get(f"/runs/{run}/card")
    assert page.status_code == 200
    assert "people would pass" in page.text

    # The judge's rate of 0.5 is corrected to what people say of all cases, which is 0.75; its card says why.
    assert {rater["rater"] for rater in card["raters"]} == {"Ann", "Ben"}
    corrected = card["corrected"]
    assert corrected["interval"]["low"] < 0.75 < corrected["interval"]["high"]
    typed("calibrate", run, "-o", "card.html", "-o", "card.json", code=103)
    assert "people would pass" in (tmp_path / "card.html").read_text(encoding="utf-8")
    written: dict[str, Any] = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    assert written["corrected"] == corrected
    assert "the judge is too strict" in typed("calibrate", run, code=103)
    assert Run.open(run, store=db).calibrate().as_dict()["corrected"] == corrected

    # The next run takes the labels along: it reports what people would say, and is held to what the suite demands.
    told = typed("run", "suite.yaml", "--labels", "labels.csv", code=103)
    assert "people would pass" in told
    assert "trust.min_sensitivity_low" in told
    again = json.loads(typed("report", "last", "--json"))["summary"]["corrected"]["pass_rate"]
    assert (again["labels"], again["method"]) == (100, "post_stratified")
    assert again["interval"]["low"] < 0.75 < again["interval"]["high"]

    # Months later, the card stands for what the judge said then.
    drifted = json.loads(typed("drift", "card.json", "last", "--json"))
    assert (drifted["outcome"], drifted["anchors"], drifted["flips"]) == ("ok", 100, 0)

    # Of another run, more are drawn where the judge is unsure; their chances are in the file, to be weighed by.
    other = typed("run", "suite.yaml", "--quiet").strip()
    typed("label", other, "--sample", "40", "--uncertain", "0.5", "-o", "more.csv")
    with (tmp_path / "more.csv").open(encoding="utf-8-sig", newline="") as file:
        chances = [float(row["p"]) for row in csv.DictReader(file)]
    assert len(chances) == 40
    assert all(0 < chance <= 1 for chance in chances)
