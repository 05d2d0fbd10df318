"""`evenhand label`: labels by people in a file, and in the terminal."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

Command = Callable[..., Any]


def labels_of(command: Command) -> list[tuple[str, Any, str]]:
    return [(label["rater"], label["value"], label["note"]) for label in json.loads(command("label", "--json").out)]


def test_a_draw_goes_out_as_a_file_and_comes_back(command: Command, finished: str, folder: Path) -> None:
    drawn = command("label", "last", "--sample", "2", "--seed", "7", "-o", "labels.csv")
    rows = list(csv.DictReader(io.StringIO((folder / "labels.csv").read_text(encoding="utf-8-sig"))))
    with (folder / "filled.csv").open("w", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows([rows[0] | {"human": "pass", "rater": "Ann"}, rows[1]])

    back = command("label", "last", "--from", "filled.csv")
    again = command("label", finished, "--from", "-", given=(folder / "filled.csv").read_bytes())

    assert drawn.code == back.code == again.code == 0
    assert "drew 2 of 3 cases at random with seed 7" in drawn.err
    assert f"evenhand label {finished} --from labels.csv" in drawn.err
    assert not {"score", "verdict", "reasoning"} & set(rows[0])
    assert f"stored 1 label of run {finished} by Ann: 1 new, 0 changed" in back.err
    assert "1 are not labelled yet" in back.err
    assert "0 new, 0 changed; 1 were stored before" in again.err
    assert labels_of(command) == [("Ann", "pass", "")]


def test_commands_to_go_on_with_name_the_database(command: Command, finished: str, folder: Path) -> None:
    (folder / ".evenhand").rename(folder / "of mine")
    db = ("--db", "of mine/evenhand.db")
    named = f"evenhand label {finished} --db 'of mine/evenhand.db'"

    nothing = command("label", *db)
    written = command("label", *db, "--sample", "2", "-o", "to fill in.csv")
    stopped = command("label", *db, "--rater", "Ann", given="1\nq\n")

    assert f"draw cases first: {named} --sample 100" in nothing.err
    assert f"then: {named} --from 'to fill in.csv'" in written.err
    assert f"1 of 2 labelled; go on with: {named}\n" in stopped.err


def test_a_file_with_a_mistake_is_refused_as_a_whole(command: Command, finished: str, folder: Path) -> None:
    (folder / "labels.csv").write_text("id,human\ncase-1,pass\ncase-2,perhaps\nnobody,pass\n", encoding="utf-8")

    refused = command("label", "last", "--from", "labels.csv", "--rater", "Ann")

    assert refused.code == 2
    assert "labels.csv:3: human: 'perhaps' is no label" in refused.err
    assert "labels.csv:4: run" in refused.err
    assert "nothing was stored" in refused.err
    assert labels_of(command) == []


def test_labels_that_were_not_drawn_are_said_to_be(command: Command, finished: str, folder: Path) -> None:
    (folder / "labels.csv").write_text("id;human\ncase-1;pass\ncase-2;0,5\n", encoding="utf-8")

    done = command("label", "--from", "labels.csv", "--rater", "Ann")
    written = command("label", "-o", "all.csv")

    assert "2 labels without p: stored as not drawn at random" in done.err
    assert "wrote all.csv: 2 rows" in written.err
    assert labels_of(command) == [("Ann", "pass", ""), ("Ann", 0.5, "")]


def test_cases_are_labelled_one_by_one_and_the_judge_is_not_shown(command: Command, finished: str) -> None:
    first = command("label", "--sample", "3", "--seed", "1", "--rater", "Ann", given="1\nn\nquite short\n2\n")
    rest = command("label", "--rater", "Ann", given="x\nu\n3\n1\ns\n7\ns\n0.5\n")
    nothing = command("label", "--rater", "Ann", given="")
    changed = command("label", "--rater", "Ann", given="u\n2\nq\n")

    assert "1 of 3> stored: pass" in first.err
    assert "2 of 3 labelled; go on with: evenhand label" in first.err
    assert first.out.count("answer:") == 3
    assert "the judge" not in first.out + first.err
    assert "'x' is no key; the keys: 1 pass" in rest.err
    assert "undone: fail for" in rest.err
    assert "'7' is no label" in rest.err
    assert "all 3 cases of the draw are labelled" in rest.err
    assert "all 3 cases of the draw are labelled" in nothing.err
    assert "undone: 0.5 for" in changed.err
    assert sorted(str(value) for _, value, _ in labels_of(command)) == ["fail", "pass", "pass"]


def test_skipped_cases_come_again_after_the_others(command: Command, finished: str) -> None:
    done = command("label", "--sample", "2", "--seed", "1", "--rater", "Ann", given="3\n3\n1\n2\n")

    shown = [line.partition(": case ")[2] for line in done.out.splitlines() if ": case " in line]
    assert shown == [shown[0], shown[1], shown[0], shown[1]]
    assert "only skipped cases are left; they are shown again" in done.err
    assert [value for _, value, _ in labels_of(command)] == ["pass", "fail"]


def test_what_the_judge_said_is_shown_after_the_label_if_that_is_asked_for(command: Command, finished: str) -> None:
    done = command("label", "--sample", "1", "--rater", "Ann", "--show-judge", given="2\n")

    assert "stored: fail; the judge said: pass (1.00)" in done.err


def test_one_evaluator_is_labelled_apart_from_the_whole_case(command: Command, finished: str) -> None:
    done = command("label", "--sample", "1", "--evaluator", "right", "--rater", "Ann", "--show-judge", given="u\n1\n")

    assert "as right judges it" in done.out
    assert "there is no label of yours to take back" in done.err
    assert "the judge said: pass (1.00)" in done.err
    assert json.loads(command("label", "--json").out)[0]["evaluator"] == "right"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--from", "x.csv", "--sample", "3"], "--from and --sample cannot be given together"),
        (["--json", "-o", "x.csv"], "--json and --output cannot be given together"),
        (["--from", "x.csv", "--json"], "--from and --json cannot be given together"),
        (["--seed", "3"], "give --sample N too"),
        (["--sample", "3", "--uncertain", "1"], "cases of which the judge is sure need a chance too"),
        (["--rater", " "], "--rater is ' '"),
        (["--from", "x.csv"], "x.csv: there is no such file"),
        (["-o", "x.csv"], "has neither a draw nor labels; draw cases with --sample N"),
        ([], "nothing was drawn from run"),
    ],
)
def test_what_cannot_be_done_is_said(command: Command, finished: str, given: list[str], told: str) -> None:
    refused = command("label", "last", *given)

    assert refused.code in (1, 2)
    assert told in refused.err


def test_a_process_that_is_killed_has_stored_every_label(command: Command, finished: str) -> None:
    command("label", "--sample", "3", "--seed", "1", "-o", "labels.csv")

    with subprocess.Popen(
        [sys.executable, "-m", "evenhand", "label", "--rater", "Ann"],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as started:
        assert started.stdin is not None
        assert started.stderr is not None
        started.stdin.write("1\n2\n")
        started.stdin.flush()
        while "stored: fail" not in (line := started.stderr.readline()):
            assert line
        started.kill()

    assert labels_of(command) == [("Ann", "pass", ""), ("Ann", "fail", "")]


def test_at_a_terminal_a_key_is_enough(
    command: Command, finished: str, on_a_terminal: Callable[..., tuple[int, str]]
) -> None:
    code, shown = on_a_terminal("label", "--sample", "3", "--rater", "Ann", question="1 of 3>", answer="1nshort\n2q")

    assert code == 0
    assert "2 of 3 labelled" in shown
    assert labels_of(command) == [("Ann", "pass", ""), ("Ann", "fail", "short")]


def test_what_a_cascade_left_to_people_is_labelled_as_not_drawn(command: Command, folder: Path) -> None:
    stages = [{"name": name, "type": "levenshtein", "value": "Paris"} for name in ("cheap", "strong")]
    cascade = {"type": "cascade", "stages": stages, "confident": 0.5, "then": "people"}
    cases = [{"id": f"c{n}", "candidate_answer": text} for n, text in enumerate(["Paris", "Pari", "Parus"])]
    (folder / "suite.yaml").write_text(json.dumps({"evaluators": [cascade], "cases": cases}), encoding="utf-8")
    ran = command("run", "suite.yaml")

    labelled = command("label", "--undecided", "--rater", "Ann", given="1\nq\n")
    written = command("label", "--undecided", "-o", "left.csv")
    rows = list(csv.DictReader(io.StringIO((folder / "left.csv").read_text(encoding="utf-8-sig"))))
    refused = [command("label", "--undecided", *more) for more in (["--sample", "2"], ["--from", "left.csv"])]

    assert "of 3 cases, 1 decided by stage 1 (cheap), 0 by stage 2 (strong); 2 left to people" in " ".join(
        ran.out.split()
    )
    assert "1 of 2 labelled; go on with: evenhand label" in labelled.err
    assert "--undecided" in labelled.err
    assert (written.code, [(row["id"], row["human"], row["p"], row["seed"]) for row in rows]) == (
        0,
        [("c1", "", "", ""), ("c2", "", "", "")],
    )
    assert [one.code for one in refused] == [2, 2]
    assert labels_of(command) == [("Ann", "pass", "")]
