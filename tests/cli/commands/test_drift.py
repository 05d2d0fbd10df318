"""`evenhand drift`: a judge that has changed is found, one that has not is ok, and what cannot be compared is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Contains, evaluate

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

Command = Callable[..., Any]
CASES = 80


class ChangingJudge:
    """What a judge says: it passes even cases, and people agree; ``wrong`` are those it errs on, ``model`` its name."""

    def __init__(self) -> None:
        self.wrong: set[int] = set()
        self.failing: set[int] = set()
        self.model = "judge-2026-01"

    def __call__(self, text: str) -> Mapping[str, Any]:
        found = re.search(r"Answer (\d+)", text)
        assert found is not None
        number = int(found[1])
        if number in self.failing:
            return {"says": "no"}
        passes = (number % 2 == 0) != (number in self.wrong)
        said = json.dumps({"score": 1.0 if passes else 0.0, "hits": [], "misses": [], "reasoning": "So."})
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return {"body": json.dumps({"model": self.model, "choices": [choice], "usage": {}})}


@pytest.fixture
def judge() -> ChangingJudge:
    return ChangingJudge()


@pytest.fixture
def run(command: Command, suite: Callable[..., Path], serve: Any, judge: ChangingJudge) -> str:
    """Judge a suite, and label its answers."""
    suite(CASES, judge=serve(judge), trust={"max_drop": 0.1})
    identity: str = command("run", "suite.yaml", "--json").json["run"]["id"]
    rows = [f"case-{number},{'pass' if number % 2 == 0 else 'fail'},Ann" for number in range(CASES)]
    Path("labels.csv").write_text("\n".join(["id,human,rater", *rows]) + "\n", encoding="utf-8")
    assert command("label", identity, "--from", "labels.csv").code == 0
    return identity


def test_an_unchanged_judge_is_ok_and_a_changed_one_is_found(
    command: Command, run: str, judge: ChangingJudge, folder: Path
) -> None:
    same = command("drift", run)
    judge.wrong, judge.model = set(range(20)), "judge-2026-09"
    changed = command("drift", run, "--json")
    again = command("drift", run, "last", "-o", "drift.html", "-o", "drift.md", "-o", "drift.json")

    assert (same.code, changed.code, again.code) == (0, 103, 103)
    assert "80 anchors would show an unchanged judge to be ok 9" in same.err  # past the cache, after this was said
    assert "ok: the agreement with people has surely not fallen by more than 0.1" in same.out
    report = changed.json
    assert (report["outcome"], report["anchors"], report["flips"]) == ("drifted", CASES, 20)
    assert report["change"]["change"] == -0.25
    assert (report["models_then"], report["models_now"]) == (["judge-2026-01"], ["judge-2026-09"])
    assert "drifted: the judge agrees with people less than it did" in again.err
    assert json.loads((folder / "drift.json").read_text("utf-8")) == report
    assert "<script" not in (folder / "drift.html").read_text("utf-8")
    assert "replied as judge-2026-09" in (folder / "drift.md").read_text("utf-8")


def test_a_card_stands_for_the_run_it_is_of(command: Command, run: str, judge: ChangingJudge) -> None:
    command("calibrate", run, "-o", "card.json")
    judge.wrong = set(range(20))
    cached = command("run", "suite.yaml", "--json").json["run"]["id"]
    anew = command("run", "suite.yaml", "--no-cache", "--json").json["run"]["id"]
    evaluate([Case(id="other", candidate_answer="Paris")], Contains(value="Paris"), store="elsewhere.db")

    from_cache = command("drift", "card.json", cached)
    compared = command("drift", "card.json", anew, "--json")
    again = command("drift", "card.json", "--json")
    elsewhere = command("drift", "card.json", "--db", "elsewhere.db")

    assert (from_cache.code, compared.code, again.code, elsewhere.code) == (2, 103, 103, 2)
    assert "80 anchors of 80 got replies from the cache" in from_cache.err
    for name in ("outcome", "flips", "change", "agreement_now", "watch"):
        assert compared.json[name] == again.json[name]
    assert f"the card of run {run}, which is not in this database" in elsewhere.err


def test_what_has_changed_is_refused_by_name(
    command: Command, run: str, suite: Callable[..., Path], judge: ChangingJudge
) -> None:
    written = json.loads(Path("suite.yaml").read_text("utf-8"))
    written["cases"][1]["candidate_answer"] = "Answer 1, or another."
    written["cases"][2]["reference_answer"] = "Another reference"
    del written["cases"][3]
    written["judge"]["temperature"] = 0.7
    Path("suite.yaml").write_text(json.dumps(written), encoding="utf-8")
    command("run", "suite.yaml", "--no-cache", "--quiet")

    refused = command("drift", run, "last")
    anyway = command("drift", run, "last", "--anyway", "--json")
    itself = command("drift", run, run)

    assert (refused.code, anyway.code, itself.code) == (2, 0, 2)
    for said in (
        "judge.temperature: nothing then, 0.7 now",
        "case 'case-3' is not in it",
        "case 'case-1' has another answer",
        "case 'case-2' has another question, reference or other text",
        "--anyway",
    ):
        assert said in refused.err
    assert anyway.json["anchors"] == CASES - 3
    assert anyway.json["left_out"] == {"with another answer": 1, "edited": 1, "not there now": 1}
    assert "cannot be held against itself" in itself.err


def test_a_run_of_anchors_that_stopped_is_resumed_and_then_compared(
    command: Command, run: str, judge: ChangingJudge
) -> None:
    asked = command("drift", run, "--estimate")
    stopped = command("drift", run, "--max-calls", "30", "--concurrency", "1")
    made = command("runs", "show", "last", "--json").json
    unfinished = command("drift", run, "last")
    judge.failing = {70, 71}
    resumed = command("resume")
    done = command("drift", run, "last", "--json")
    once_more = command("drift", "last")

    assert asked.code == 0
    assert "80 anchors would show an unchanged judge to be ok" in asked.out
    assert stopped.code == 102
    assert f"then compare with: evenhand drift {run} {made['run']['id']}" in stopped.err
    assert unfinished.code == 2
    assert "it is not finished (stopped)" in unfinished.err
    assert resumed.code == 101  # the judge failed on two
    assert (done.code, done.json["anchors"], done.json["left_out"]) == (0, CASES - 2, {"without a score now": 2})
    assert once_more.code == 2
    assert f"to judge them once more: evenhand drift {run}" in once_more.err


def test_without_labels_flips_are_counted(
    command: Command, suite: Callable[..., Path], serve: Any, judge: ChangingJudge
) -> None:
    suite(CASES, judge=serve(judge))
    command("run", "suite.yaml", "--quiet")
    first = command("runs", "show", "last", "--json").json["run"]["id"]
    same = command("drift", first)
    judge.wrong = {3, 30}
    few = command("drift", first)
    strict = command("drift", first, "last", "--strict")
    judge.wrong = set(range(0, CASES, 3))
    many = command("drift", first)

    assert [each.code for each in (same, few, strict, many)] == [0, 0, 103, 103]
    assert "without labels only flips can be counted" in same.err
    assert "ok: so few verdicts flipped" in same.out
    assert "undecided: the verdicts that flipped" in few.out
    assert "drifted: more verdicts flipped than the usual 6%" in many.out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("last", "--max-drop", "2"), "max_drop is 2.0; it must be above 0 and below 1"),
        (("last", "--usual-flips", "0"), "usual_flips is 0.0; it must be above 0 and below 1"),
        (("last", "-o", "drift.pdf"), "drift can be .html, .md, .json"),
        (("last", "last", "--estimate"), "--estimate is for judging again"),
        (("last", "--evaluator", "nobody"), "has no evaluator 'nobody'"),
        (("nowhere.json",), "nowhere.json: there is no such file"),
        (("suite.yaml.json",), "this is no judge card with anchors"),
        (("broken.json",), "it is not JSON"),
        (("damaged.json",), "the anchors of this judge card are damaged"),
    ],
)
def test_mistakes_are_refused_before_anything_is_asked(
    command: Command, finished: str, argv: tuple[str, ...], said: str
) -> None:
    Path("suite.yaml.json").write_text("{}", encoding="utf-8")
    Path("broken.json").write_text("{", encoding="utf-8")
    Path("damaged.json").write_text('{"anchors": {"run": 1}}', encoding="utf-8")

    refused = command("drift", *argv)

    assert refused.code == 2
    assert said in refused.err
    assert len(command("runs", "list", "--json").out.strip().splitlines()) == 1
