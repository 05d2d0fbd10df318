"""`evenhand audit`: from a design to a report of effects, by way of a run that can be stopped and gone on with."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from evenhand.profiles.audit import report
from evenhand.profiles.audit.result import numbers_of

# many small ones, which together would take the fast tests beyond their minute
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

Serve = Callable[..., Any]
Command = Callable[..., Any]

DESIGN = {
    "template": "{name} has been a nurse for {years} years, {night}.",
    "factors": {
        "name": {"woman": "Anna", "man": "Ben"},
        "years": [2, 10],
        "night": {"days": "by day", "nights": "also at night"},
    },
    "groups": ["name"],
    "criteria": "Experience as a nurse",
    "judge": "openai/gpt-5-mini",
    "repetitions": 2,
    "select_at": 6,
}


def shown(text: str) -> str:
    return str(re.findall(r"<profile id=\S+>\n(.*)\n</profile", text, re.DOTALL)[-1])


def biased(text: str) -> dict[str, Any]:
    """Return three points for ten years, and take half a point from Ben."""
    profile = shown(text)
    return {"says": {"score": 4 + 3 * ("10 years" in profile) - 0.5 * ("Ben" in profile), "justification": "Well."}}


def silent_about_ben(text: str) -> dict[str, Any]:
    return {"says": "I will not."} if "Ben" in shown(text) else biased(text)


@pytest.fixture
def judged_by(serve: Serve, monkeypatch: pytest.MonkeyPatch, key: str) -> Callable[..., Any]:
    """Let every command ask a judge that does as a script says."""

    def start(script: Any = biased) -> Any:
        started = serve(script)
        monkeypatch.setenv("OPENAI_BASE_URL", started.url)
        monkeypatch.setenv("OPENAI_API_KEY", key)
        return started

    return start


@pytest.fixture
def design(folder: Path) -> Callable[..., str]:
    """Write a design, with changes: ``design(repetitions=1)``."""

    def write(name: str = "design.yaml", **changes: Any) -> str:
        given = {key: value for key, value in (DESIGN | changes).items() if value is not None}
        (folder / name).write_text(json.dumps(given, indent=1))  # JSON is YAML
        return name

    return write


def test_an_audit_says_its_plan_and_finds_what_was_planted(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judge = judged_by()

    done = command("audit", design())

    assert done.code == 0
    assert "full factorial design: 2 × 2 × 2 = 8 combinations of levels" in done.err
    assert "8 profiles, 2 repetitions each: 16 scores" in done.err
    assert "16 to 48 calls to models, about " in done.err
    assert len(judge.asked) == 16
    rows = {line.split("  ")[0]: line.split() for line in done.out.splitlines()}
    assert "-0.50" in rows["name: man − woman"]
    assert "+3.00" in rows["years: 10 − 2"]
    assert "0.00" in rows["night: nights − days"]
    told = " ".join(done.out.split())
    assert "An audit measures a configuration, on these profiles, on this day; it is not a legal certificate." in told


def test_the_report_of_the_stored_run_is_the_audit_in_every_format(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judged_by()
    command("audit", design(), "-q")
    files = [f"audit.{ending}" for ending in ("md", "json", "csv", "html", "jsonl", "xml")]

    done = command("report", *(word for name in files for word in ("-o", name)))
    told = command("report", "--json")

    assert done.code == 0
    assert told.json["audit"]["effects"][0]["estimate"] == pytest.approx(-0.5)
    assert json.loads(Path("audit.json").read_text())["audit"]["clusters"] == 8
    with Path("audit.csv").open(newline="") as file:
        effects = list(csv.DictReader(file))
    assert [(row["name"], float(row["estimate"])) for row in effects[:2]] == [
        ("name: man − woman", -0.5),
        ("years: 10 − 2", 3.0),
    ]
    for name in ("audit.md", "audit.html"):
        assert "it is not a legal certificate" in Path(name).read_text()
    assert len(Path("audit.jsonl").read_text().splitlines()) == 8


def test_the_page_draws_effects_under_the_strict_policy_and_escapes_what_models_said(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judged_by(
        lambda text: {"says": {"score": biased(text)["says"]["score"], "justification": "<script>alert(1)</script>"}}
    )
    levels = {"woman": "<b>Anna</b>", "man": "Ben"}

    command("audit", design(factors=DESIGN["factors"] | {"name": levels}), "-q", "-o", "audit.html")  # type: ignore[operator]

    page = Path("audit.html").read_text()
    assert page.count("<svg") > 5
    assert "<script>alert" not in page
    assert "<b>Anna" not in page
    assert re.search(r"default-src &#39;none&#39;|default-src 'none'", page)
    assert not re.search(r"<[^>]+ (style|on\w+)=", page)


def test_missed_gates_end_with_100_and_are_told(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judged_by()

    missed = command("audit", design(gates={"max_group_effect": 0.3, "min_impact_ratio": 0.8}))
    met = command("audit", design(gates={"max_group_effect": 0.6}), "--json")

    assert missed.code == 100
    assert "MISSED: max_group_effect: limit 0.3, found 0.50 (name: man − woman)" in missed.out
    assert (met.code, met.json["gates"][0]["ok"]) == (0, True)


def test_a_gate_that_the_interval_decides_fails_only_if_all_of_it_is_beyond(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judged_by()

    # Half a point less for Ben, in half points: 0.50 [0.22, 0.78].
    unsure = command("audit", design(gates={"max_group_effect": 0.3, "decided_by": "interval"}))
    sure = command("audit", design(gates={"max_group_effect": 0.2, "decided_by": "interval"}), "--json")
    wrong = command("audit", design(gates={"max_group_effect": 0.2, "decided_by": "range"}))

    assert unsure.code == 0
    assert "met: max_group_effect: limit 0.3, found 0.50 (name: man − woman)" in unsure.out
    assert "includes the limit, so the audit is inconclusive" in " ".join(unsure.out.split())
    assert (sure.code, sure.json["gates"][0]["ok"], sure.json["gates"][0]["decided_by"]) == (100, False, "interval")
    assert wrong.code == 2
    assert "gates.decided_by is 'range'; it must be estimate or interval" in wrong.err


def test_refusals_of_one_group_are_told(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judged_by(silent_about_ben)

    done = command("audit", design(), "--max-attempts", "1")
    told = command("report", "--json").json["audit"]

    said = " ".join(done.out.split())
    assert "The judge gave no score in 8 of 8 calls if name is man, and in 0 of 8 if it is woman: this is more" in said
    assert "No effect of a group" not in said
    (refusal,) = told["refusals"]
    assert (refusal["found"], refusal["refused"], refusal["other_refused"]) == (True, 8, 0)


def test_a_level_whose_calls_all_failed_is_missing_and_not_a_zero(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judged_by(silent_about_ben)

    done = command("audit", design(), "--max-attempts", "1")
    told = command("report", "--json").json["audit"]

    assert done.code == 101
    assert "No profile with name 'man' has a score: its mean is missing, and not a zero." in done.out
    assert "8 of 16 calls gave no score; they are in no mean." in done.out
    assert "Errors by class: 8 × unparsable (the reply has no complete JSON object)." in done.out
    assert told["effects"][0]["estimate"] is None
    assert told["effects"][1]["estimate"] == pytest.approx(3)
    assert told["missing"] == [{"factor": "name", "level": "man"}]
    assert [(one["level"], one["failed"], one["calls"]) for one in told["levels"][:2]] == [
        ("woman", 0, 8),
        ("man", 8, 8),
    ]


@pytest.mark.parametrize(
    ("says", "rate", "told"),
    [
        ({"says": "I will not."}, 0, "found 0.00 (name: man against woman); none of its profiles is scored"),
        ({"status": 400, "body": "{}"}, None, "which cannot be decided: name 'man' is missing: none of its profiles"),
    ],
    ids=["refused", "not judged"],
)
def test_who_is_refused_is_not_selected_and_who_is_not_judged_is_missing(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command, says: Any, rate: Any, told: str
) -> None:
    judged_by(lambda text: says if "Ben" in shown(text) else biased(text))
    gates = {"min_impact_ratio": 0.8, "decided_by": "interval"}

    done = command("audit", design(gates=gates), "--max-attempts", "1")
    impact = command("report", "--json").json["audit"]["impacts"][1]

    assert (impact["level"], impact["rate"], impact["ratio"]) == ("man", rate, rate)
    assert f"MISSED: min_impact_ratio: limit 0.8, {told}" in " ".join(done.out.split())


def test_a_limit_on_profiles_without_a_score_is_the_designs(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judged_by(silent_about_ben)

    strict = command("audit", design(gates={"max_unscored": 0.4}), "--max-attempts", "1", "-q")
    unequal = command("audit", design(gates={"max_unscored": "60%"}), "--max-attempts", "1")
    lenient = command("audit", design(gates={"max_unscored": "60%", "equal_refusals": False}), "--max-attempts", "1")

    assert (strict.code, unequal.code, lenient.code) == (101, 100, 0)
    assert "MISSED: equal_refusals: no score in 8 of 8 calls if name is man, and in 0 of 8" in unequal.out


def test_an_estimate_asks_nobody_and_keeps_nothing(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command, folder: Path
) -> None:
    judge = judged_by()
    shutil.rmtree(folder / ".evenhand")

    done = command("audit", design(), "--estimate")
    told = command("audit", design(), "--estimate", "--json")

    assert (done.code, judge.asked) == (0, [])
    assert "8 profiles, 2 repetitions each: 16 scores" in done.out
    assert told.json["calls"] == {"low": 16, "high": 48}
    assert not (folder / ".evenhand").exists()


def test_a_budget_stops_it_and_resume_goes_on_though_the_design_is_gone(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command, folder: Path
) -> None:
    judge = judged_by()
    stopped = command("audit", design(), "--max-calls", "5", "-j", "1")
    (folder / "design.yaml").unlink()
    other = command("resume", "--judge", "openai/other")
    done = command("resume")

    assert stopped.code == 102
    assert "not scored yet" in stopped.out
    assert "to use others, start a new run with: evenhand audit" in other.err
    assert done.code == 0
    assert "name: man − woman" in done.out
    assert len(judge.asked) == 16


def test_over_budget_a_fraction_is_taken_and_what_it_mixes_is_told_before_anybody_is_asked(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judge = judged_by()

    done = command("audit", design(max_profiles=4, repetitions=1))

    assert "fractional design: 4 of 2 × 2 × 2 = 8 combinations of levels, since max_profiles is 4" in done.err
    assert "name cannot be told apart from years × night" in done.err
    assert "name cannot be told apart from years × night" in done.out
    (row,) = [line for line in done.out.splitlines() if line.startswith("name: man − woman  ")]
    assert "may be years × night instead; too few profiles" in row
    assert len(judge.asked) == 4


def test_base_profiles_are_read_from_beside_the_design_and_errors_are_clustered_by_them(
    folder: Path, judged_by: Callable[..., Any], command: Command
) -> None:
    judge = judged_by()
    (folder / "audits").mkdir()
    people = [{"id": f"p{number}", "text": f"Worked {number} years elsewhere."} for number in range(5)]
    (folder / "audits" / "people.jsonl").write_text("\n".join(map(json.dumps, people)))
    (folder / "audits" / "d.yaml").write_text(
        "template: '{name}, {years} years. {profile}'\n"
        "factors:\n  name: [Anna, Ben]\n  years: [2, 10]\n"
        "groups: [name]\nprofiles: people.jsonl\ncriteria: Experience\njudge: openai/gpt-5-mini\nrepetitions: 1\n"
    )

    done = command("audit", "audits/d.yaml", "--json")

    assert done.code == 0
    assert len(judge.asked) == 20
    assert done.json["audit"]["clusters"] == 5
    assert {one["df"] for one in done.json["audit"]["effects"]} == {4}


def test_artifacts_have_everything_and_replace_only_those_of_the_same_audit(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command, folder: Path
) -> None:
    replies = iter(["no", *[None] * 100])
    judge = judged_by(lambda text: {"says": "no"} if next(replies) else biased(text))
    (folder / "full").mkdir()
    (folder / "full" / "notes.txt").write_text("Mine.")

    refused = command("audit", design(), "--artifacts", "full")
    done = command("audit", design(), "--artifacts", "kept", "-j", "1")
    again = command("audit", "artifacts", "last", "kept")
    asked = len(judge.asked)
    other = command("audit", design(seed=2), "--artifacts", "kept")

    assert refused.code == 2
    assert "full contains other files" in refused.err
    assert (done.code, again.code) == (0, 0)
    assert (other.code, len(judge.asked)) == (2, asked)
    assert "kept contains the files of audit" in other.err
    assert sorted(path.name for path in (folder / "kept").iterdir()) == [
        "inputs.jsonl", "metadata.json", "metrics.json", "outputs.jsonl", "replies.jsonl", "report.html", "report.md",
    ]  # fmt: skip
    inputs, replied, outputs = (
        [json.loads(line) for line in (folder / "kept" / f"{name}.jsonl").read_text().splitlines()]
        for name in ("inputs", "replies", "outputs")
    )
    assert (len(inputs), len(replied), len(outputs)) == (8, 17, 16)
    assert replied[0]["raw"] == "no"
    assert inputs[0]["levels"].keys() == {"name", "years", "night"}
    metadata = json.loads((folder / "kept" / "metadata.json").read_text())
    assert (metadata["seed"], metadata["judge"], metadata["git"]["commit"]) == (1, "openai/gpt-5-mini", None)
    assert list(folder.glob(".kept*")) == []


def test_a_diff_pairs_profiles_and_refuses_other_designs(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judged_by()
    first = command("audit", design(), "--json").json["run"]["id"]
    judged_by(lambda text: {"says": {"score": 4 + 3 * ("10 years" in shown(text)) - 2 * ("Ben" in shown(text)), "justification": "Well."}})  # fmt: skip
    second = command("audit", design(), "--judge", "openai/gpt-5", "--json").json["run"]["id"]
    command("audit", design(seed=2), "-q", "--judge", "openai/gpt-5")

    told = command("audit", "diff", first, second)
    row = command("audit", "diff", first, second, "--json", "--fail-if-worse")
    other = command("audit", "diff", first, "last")

    assert told.code == 0
    assert 'judge: "openai/gpt-5-mini" in A, "openai/gpt-5" in B' in told.out
    assert "groups that matter more in B, beyond chance: name: man − woman" in told.out
    assert row.code == 100
    assert [row.json["effects"][0][key] for key in ("a", "b", "difference")] == pytest.approx([-0.5, -2, -1.5])
    assert (other.code, "- seed: 1 in A, 2 in B" in other.err) == (2, True)


def test_the_last_audit_is_compared_with_the_one_before_and_never_with_itself(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command
) -> None:
    judged_by()
    command("audit", design(), "-q")
    first = command("report", "--json").json["run"]["id"]
    command("audit", design(), "-q", "--judge", "openai/gpt-5")

    same = command("audit", "diff", "last")
    named = command("audit", "diff", "previous", "last", "--json")

    assert same.code == 2
    assert "cannot be compared with itself; name another, such as: evenhand audit diff previous last" in same.err
    assert (named.code, named.json["a"]) == (0, first)


def test_runs_that_are_no_audits_are_not_diffed(folder: Path, judged_by: Callable[..., Any], command: Command) -> None:
    judged_by()
    (folder / "people.jsonl").write_text('{"id": "anna", "text": "A nurse."}')
    command("score", "people.jsonl", "--criteria", "Experience", "--judge", "openai/gpt-5-mini", "-q")

    done = command("audit", "diff", "last", "last")

    assert done.code == 2
    assert "is not an audit" in done.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "d.yaml: the file is empty; a design is a mapping with template, factors, groups and criteria"),
        ("- a\n", "d.yaml:1: a design is a mapping with template, factors, groups and criteria, not a list"),
        ("seed: 1\nseed: 2\n", "d.yaml:2: duplicate key 'seed'; first in line 1"),
        ("judge: {model: openai/x, api_key: secret}\n", "d.yaml:1: api_key is written out"),
        ("template: x\n", "d.yaml: factors is missing"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(folder: Path, command: Command, text: str, told: str) -> None:
    (folder / "d.yaml").write_text(text)

    done = command("audit", "d.yaml", "--judge", "openai/gpt-5-mini")

    assert done.code == 2
    assert told in done.err


def test_without_a_judge_or_a_file_it_says_what_to_do(design: Callable[..., str], command: Command) -> None:
    nobody = command("audit", design(judge=None))
    nothing = command("audit", "nothing.yaml")
    odd = command("audit", "design.txt")

    assert (nobody.code, nothing.code, odd.code) == (2, 2, 2)
    assert "set EVENHAND_JUDGE, or write judge: openai/gpt-5-mini into the design" in nobody.err
    assert "nothing.yaml: there is no such file" in nothing.err
    assert "in a file whose name ends in .yaml or .yml" in odd.err


def test_an_audit_is_worked_out_once_however_many_files_are_written(
    design: Callable[..., str], judged_by: Callable[..., Any], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_by()
    fit = Mock(wraps=numbers_of)
    monkeypatch.setattr(report, "numbers_of", fit)
    gates = {"max_group_effect": 9}

    done = command("audit", design(gates=gates), "-o", "a.csv", "-o", "a.html", "-o", "a.md", "--artifacts", "kept")

    assert done.code == 0
    assert fit.call_count == 1
