"""Audits from Python: run, opened again, kept in a folder, and held against each other."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from evenhand import Audit, ConfigError, RunStoppedError, audit
from evenhand.profiles.audit import report
from evenhand.profiles.audit.diff import diff_markdown, write_diff
from evenhand.profiles.audit.result import numbers_of

pytestmark = pytest.mark.slow  # many small ones, which together would take the fast tests beyond their minute

DESIGN: dict[str, Any] = {
    "template": "{name} has been a nurse for {years} years, {night}.",
    "factors": {"name": ["Anna", "Ben"], "years": [2, 10], "night": ["by day", "at night"]},
    "groups": ["name"],
    "criteria": "Experience",
    "repetitions": 2,
}


def judge_of(worth_of_ben: float) -> Callable[[list[dict[str, str]]], str]:
    def judge(messages: list[dict[str, str]]) -> str:
        profile = re.findall(r"<profile id=\S+>\n(.*)\n</profile", messages[-1]["content"], re.DOTALL)[-1]
        score = 5 + 2 * ("10 years" in profile) + worth_of_ben * ("Ben" in profile)
        return json.dumps({"score": score, "justification": "Well."})

    return judge


def audited(worth_of_ben: float = -0.5, **options: Any) -> Audit:
    changes = options.pop("changes", {})
    return audit(DESIGN | changes, judge=judge_of(worth_of_ben), **({"store": None} | options))


def test_an_audit_has_effects_gates_and_a_report(tmp_path: Path) -> None:
    found = audited(changes={"gates": {"max_group_effect": 0.3}})

    assert [(one.name, one.estimate) for one in found.effects[:2]] == [
        ("name: Ben − Anna", -0.5),
        ("years: 10 − 2", 2.0),
    ]
    assert (found.passed, [one.name for one in found.gates]) == (
        False,
        ["max_group_effect", "equal_refusals"],
    )
    assert "name: Ben − Anna" in found.report()
    assert "beyond chance: name: Ben − Anna -0.50" in repr(found)
    assert found.save(tmp_path / "audit.md").read_text().startswith("# audit")


def test_an_audit_can_be_opened_again_and_says_the_same(tmp_path: Path) -> None:
    made = audited(store=tmp_path / "e.db", name="nurses")

    again = Audit.open(store=tmp_path / "e.db")

    assert (again.run.name, again.numbers) == ("nurses", made.numbers)


def test_repetitions_of_the_call_count_before_the_designs() -> None:
    found = audited(repetitions=3)

    assert (found.run.record.repeat, found.numbers.design.repetitions, found.numbers.calls) == (3, 3, 24)


def test_a_stopped_audit_tells_of_what_is_there() -> None:
    with pytest.raises(RunStoppedError) as caught:
        audited(max_calls=6, concurrency=1)

    found = Audit(caught.value.run)

    assert found.numbers.pending == 5
    assert "5 profiles not scored yet" in found.report()


def test_where_nothing_is_scored_nothing_is_drawn_or_said_of_errors(tmp_path: Path) -> None:
    found = audit(DESIGN | {"select_at": 6}, judge=lambda _: "I will not.", store=None, max_attempts=1)

    page = found.save(tmp_path / "audit.html").read_text()
    told = found.report()

    outcome = page[page.index('class="outcome audit"') : page.index("How steady")]
    assert "Main effects" in outcome
    assert "<svg" not in outcome
    assert "Effects are differences in points from 0 to 10" in told
    for words in ("P values are corrected", "The clustered error", "Intervals of levels"):
        assert words not in told


def test_a_scale_of_interactions_that_are_all_zero_is_left_out(tmp_path: Path) -> None:
    two = {
        "factors": {"name": ["Anna", "Ben"], "years": [2, 10]},
        "template": "{name} has been a nurse for {years} years.",
    }

    page = audited(changes=two).save(tmp_path / "audit.html").read_text()

    effects, interactions = page[: page.index("Levels</h2>")].split("Interactions with groups")
    assert "<svg" in effects.split("Main effects")[1]
    assert "<svg" not in interactions
    assert "too few profiles for an interval" in interactions


# Artifacts


@pytest.mark.starts(5, "makes a repository with git")
def test_the_commit_of_the_designs_folder_is_kept(tmp_path: Path) -> None:
    design = tmp_path / "design.yaml"
    design.write_text(json.dumps(DESIGN))  # which is YAML too
    identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "One"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)

    found = audit(design, judge=judge_of(0.0), store=None)
    folder = found.save_artifacts(tmp_path / "kept" / "one")

    metadata = json.loads((folder / "metadata.json").read_text())
    assert re.fullmatch("[0-9a-f]{40}", metadata["git"]["commit"])
    assert metadata["notice"].startswith("An audit measures a configuration")
    assert (metadata["seed"], metadata["repetitions"]) == (1, 2)
    assert json.loads((folder / "metrics.json").read_text())["audit"]["profiles"] == 8


@pytest.mark.starts(6, "git tells the commit, each time")
def test_artifacts_take_the_place_of_nothing_but_the_same_audit(tmp_path: Path) -> None:
    found = audited()
    (tmp_path / "file").write_text("Mine.")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "metadata.json").write_text("[]")
    found.save_artifacts(tmp_path / "kept")
    (tmp_path / "kept" / "report.md").unlink()

    found.save_artifacts(tmp_path / "kept")

    assert (tmp_path / "kept" / "report.md").exists()
    other = audited().save_artifacts(tmp_path / "other")
    kept = (other / "metadata.json").read_bytes()
    for name, told in (
        ("file", "is not a folder"),
        ("full", "contains other files"),
        ("other", f"contains the files of audit {json.loads(kept)['run']}; name a folder that is new or empty"),
    ):
        with pytest.raises(ConfigError, match=told):
            found.save_artifacts(tmp_path / name)
    assert (other / "metadata.json").read_bytes() == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full", "kept", "other"]


# Diff


def test_a_diff_is_by_how_much_effects_differ_profile_by_profile(tmp_path: Path) -> None:
    before, after = audited(0), audited(-1.5)

    found = before.diff(after)

    change = found.changes[0]
    assert (change.effect.name, change.a, change.b) == ("name: Ben − Anna", 0, -1.5)
    assert change.effect.estimate == pytest.approx(-1.5)
    assert found.mean == pytest.approx(-0.75)
    assert found.profiles == 8
    assert [one.effect.name for one in found.worse] == ["name: Ben − Anna"]
    assert after.diff(before).worse == ()
    assert "beyond chance: name: Ben − Anna" in diff_markdown(found).replace("\\", "")
    write_diff(found, str(tmp_path / "diff.json"))
    assert json.loads((tmp_path / "diff.json").read_text())["worse"] == ["name: Ben − Anna"]
    with pytest.raises(ConfigError, match=r"unknown extension \.pdf; a diff can be"):
        write_diff(found, str(tmp_path / "diff.pdf"))


def unsteady(worth_of_ben: float, seed: int) -> Callable[[list[dict[str, str]]], str]:
    chance = random.Random(seed)

    def judge(messages: list[dict[str, str]]) -> str:
        given = json.loads(judge_of(worth_of_ben)(messages))
        return json.dumps({**given, "score": given["score"] + chance.choice([-0.3, 0, 0.3])})

    return judge


@pytest.mark.parametrize(("in_b", "is_worse"), [(-0.83, False), (-2.5, True), (1.75, True), (0.8, False), (0.0, False)])
def test_an_effect_that_turned_round_is_worse_only_if_it_is_larger(in_b: float, is_worse: bool) -> None:
    options: dict[str, Any] = {"repetitions": 4, "store": None, "concurrency": 1}
    before = audit(DESIGN, judge=unsteady(0.75, 1), **options)
    after = audit(DESIGN, judge=unsteady(in_b, 2), **options)

    found = before.diff(after)

    assert found.is_worse is is_worse
    change = found.as_dict()["effects"][0]
    assert change["found"] is (abs(in_b - 0.75) > 0.5)
    assert change["larger_by"] == pytest.approx(abs(in_b) - 0.75, abs=0.4)


def test_what_configurations_differ_in_is_told(tmp_path: Path) -> None:
    found = audited().diff(audited(changes={"criteria": "Kindness"}, repetitions=1))

    assert found.notes == ('criteria: "Experience" in A, "Kindness" in B', "repetitions: 2 in A, 1 in B")


def test_an_audit_is_not_compared_with_itself() -> None:
    found = audited()

    with pytest.raises(ConfigError, match=f"audit {found.run.id} cannot be compared with itself; name another"):
        found.diff(found)


def test_a_design_that_is_not_there_is_named(tmp_path: Path) -> None:
    for name in ("nosuch", "nosuch.yaml"):
        with pytest.raises(ConfigError, match=rf"{name}: there is no such file"):
            audit(tmp_path / name, judge=judge_of(0.0), store=None)


def test_other_designs_are_refused_with_what_differs() -> None:
    with pytest.raises(ConfigError, match=r"have different designs:\n- groups: .* in A, .* in B"):
        audited().diff(audited(changes={"groups": ["name", "years"]}))


def test_other_base_profiles_are_refused_by_the_texts(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    based = {"template": "{name}, {years} years, {night}. {profile}", "profiles": str(people)}
    found = []
    for text in ("A nurse.", "A cook."):
        people.write_text(f"id,text\nx,{text}\ny,Somebody.\n")
        found.append(audited(changes=based))

    with pytest.raises(ConfigError, match=r"different texts for profile-\d+.*base profiles may have changed"):
        found[0].diff(found[1])


def test_an_audit_that_is_not_finished_is_not_compared() -> None:
    with pytest.raises(RunStoppedError) as caught:
        audited(max_calls=6, concurrency=1)

    with pytest.raises(ConfigError, match="is not finished; resume with: evenhand resume"):
        audited().diff(Audit(caught.value.run))


def test_a_diff_names_the_level_that_differs_and_not_the_whole_design() -> None:
    changed = {"factors": {**DESIGN["factors"], "years": [2, 11]}}

    with pytest.raises(ConfigError) as refused:
        audited().diff(audited(changes=changed))

    told = str(refused.value).splitlines()
    assert "have different designs" in told[0]
    assert told[1:] == [
        '- factor years, level 10: "10" in A, missing in B',
        '- factor years, level 11: missing in A, "11" in B',
    ]


def test_a_group_that_is_not_scored_any_more_is_worse() -> None:
    def refusing(messages: Any) -> str:
        return "I will not." if "Ben" in messages[-1]["content"] else judge_of(0.0)(messages)

    before = audited(0.0)
    after = audit(DESIGN, judge=refusing, store=None, max_attempts=1)

    found = before.diff(after)

    assert found.lost == ("name: Ben",)
    assert found.is_worse
    assert "scored in A and not at all in B" in diff_markdown(found)


@pytest.mark.starts(2, "git tells the commit")
def test_an_audit_is_worked_out_once_for_its_numbers_its_report_and_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = Mock(wraps=numbers_of)
    monkeypatch.setattr(report, "numbers_of", fit)
    found = audited(changes={"gates": {"max_group_effect": 0.3}})

    assert found.report()
    assert found.save(tmp_path / "audit.html").exists()
    assert found.save_artifacts(tmp_path / "kept").exists()

    assert not found.passed
    assert fit.call_count == 1
