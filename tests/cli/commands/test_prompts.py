"""`evenhand prompts`: keep prompts with versions and test cases, carry them about, and try them on models."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.warm import Started

from evenhand.domain.run import RunStatus
from evenhand.store.store import open_store

# many small ones, which together would take the fast tests beyond their minute
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

PRICED = '{"type": "object", "required": ["price"]}'
DB = ".evenhand/evenhand.db"


@pytest.fixture
def prompts(command: Callable[..., Any]) -> Callable[..., Any]:
    """Run `evenhand prompts …`."""
    return lambda *argv, **rest: command("prompts", *argv, **rest)


@pytest.fixture
def asked_at(monkeypatch: pytest.MonkeyPatch, key: str) -> Callable[[Any], Any]:
    """Let every openai model be served by a provider of the tests."""

    def serve_by(provider: Any) -> Any:
        monkeypatch.setenv("OPENAI_API_KEY", key)
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        return provider

    return serve_by


def added(prompts: Callable[..., Any], *argv: str) -> str:
    """Add a test case, and give its id."""
    done = prompts("add-case", *argv)
    assert done.code == 0, done.err
    identity: str = done.out.strip()
    return identity


def test_a_prompt_is_made_shown_and_listed(prompts: Callable[..., Any]) -> None:
    made = prompts("new", "refunds", "--content", "Be terse.\n  - and kind", "--criteria", "Is kind")
    case = added(prompts, "refunds", "--input", "Where is my money?", "--schema", PRICED, "--reference", "On its way")

    shown, listed = prompts("show", "refunds"), prompts()

    assert (made.code, made.err) == (0, "created prompt refunds, version 1\n")
    assert re.fullmatch(r"p-\w{10}\n", made.out)
    told = shown.out.splitlines()
    assert told[0] == "refunds: version 1 of 1, mode llm"
    assert told[1].startswith(f"{made.out.strip()}, edited ")
    assert told[2:] == [
        "content:", "  Be terse.", "    - and kind", "criteria:", "  Is kind", "", "1 test case", "",
        f"{case}, version 1", "  input:", "    Where is my money?", "  schema:", f"    {PRICED}",
        "  reference:", "    On its way",
    ]  # fmt: skip
    assert re.search(rf"^refunds +1 +llm +1 .* {made.out.strip()}$", listed.out, re.MULTILINE)


def test_where_there_are_no_prompts_that_is_said_and_nothing_is_made(prompts: Callable[..., Any], folder: Path) -> None:
    shutil.rmtree(folder / ".evenhand")

    listed, as_json = prompts("list"), prompts("list", "--json")

    assert (listed.out, as_json.json) == ("no prompts yet\n", [])
    assert list(folder.iterdir()) == []


def test_texts_come_typed_from_files_and_through_a_pipe(prompts: Callable[..., Any], folder: Path) -> None:
    (folder / "schema.json").write_text(f"{PRICED}\n")

    done = prompts(
        "new", "p", "--content", "-", "--criteria", "@@home", "--expected-schema", "@schema.json", "--mode", "schema",
        "--json", given="Ünïcode\n",
    )  # fmt: skip

    assert done.json["content"] == "Ünïcode"
    assert done.json["evaluation_criteria"] == "@home"
    assert done.json["expected_schema"] == PRICED
    assert done.json["evaluation_mode"] == "schema"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["new", "p", "--mode", "shema"], "--mode: no mode 'shema'; did you mean 'schema'?"),
        (["new", "p", "--expected-schema", '{"a":}'], "--expected-schema: not JSON at column 6"),
        (["new", "p", "--content", "@none.md"], "--content: none.md: No such file or directory; a text that begins"),
        (
            ["new", "p", "--content", "-", "--criteria", "-"],
            "standard input can be read only once, not for --content and",
        ),
        (["new", " "], "name: it is empty; give the prompt a name"),
        (["new", "there"], "there is a prompt named 'there' already"),
        (["edit", "there"], "nothing to change: give --name, --content"),
        (["edit", "none", "--content", "x"], "no prompt 'none' in "),
        (["edit", "there", "--content", "x", "--seen", "7"], "is at version 1, but this edit is based on version 7"),
        (["show", "there", "--version", "99999999999999999999"], "no version 99999999999999999999 of prompt 'there'"),
        (["add-case", "there", "--input", " "], "--input: it is empty; write what the model is asked"),
        (["add-case", "there", "--input", "x", "--schema", "[]"], "--schema: $: [] is not of types"),
        (["edit-case", "t-none", "--input", "x"], "no test case 't-none' in "),
        (["edit-case", "t-none"], "nothing to change: give --input, --schema or --reference"),
        (["remove-case", "t-none"], "no test case 't-none' in "),
        (
            ["delete", "there"],
            "Delete there (1 version, 0 test cases)? Cannot ask for confirmation without a terminal; use --yes",
        ),
        (["export", "--suite"], "--suite exports one prompt; name exactly one"),
        (["export", "there", "--suite"], "prompt 'there' has no test cases yet, and a suite needs some"),
        (["export", "--model", "openai/x"], "--model requires --suite"),
        (["import", "none.json"], "none.json: there is no such file"),
        (["run", "there"], "no model to answer: give --model"),
        (["run", "there", "--model", "ollama/x"], "prompt 'there' has no test cases yet; add one"),
        (["run", "there", "--model", "opnai/x"], "did you mean 'openai'?"),
    ],
)
def test_what_cannot_be_right_is_told_in_one_line(prompts: Callable[..., Any], argv: list[str], told: str) -> None:
    prompts("new", "there")

    done = prompts(*argv, given="")

    assert done.code in (1, 2)
    assert told in done.err
    assert (done.out, done.err.count("\n")) == ("", 1)
    assert [one["version"] for one in prompts("--json").json] == [1]


def test_an_edit_makes_a_version_and_changes_only_what_it_names(prompts: Callable[..., Any]) -> None:
    prompts("new", "p", "--content", "a", "--criteria", "good")

    edited = prompts("edit", "p", "--mode", "schema", "--seen", "1")
    same = prompts("edit", "p", "--mode", "schema")
    renamed = prompts("edit", "p", "--name", "q", "--criteria", "", "--json")

    assert edited.err == "prompt p is now at version 2\n"
    assert same.err == "nothing changed: prompt p stays at version 2\n"
    second = prompts("show", "q", "--version", "2", "--json").json
    assert (second["name"], second["evaluation_criteria"], second["content"]) == ("p", "good", "a")
    assert (renamed.json["name"], renamed.json["version"], renamed.json["evaluation_criteria"]) == ("q", 3, "")


def test_test_cases_are_edited_and_removed(prompts: Callable[..., Any]) -> None:
    prompts("new", "p")
    first, second = (added(prompts, "p", "--input", text, "--reference", "r") for text in "xy")

    edited = prompts("edit-case", first, "--schema", PRICED, "--json")
    late = prompts("edit-case", first, "--input", "z", "--seen", "1")
    half = prompts("remove-case", second, "t-none")
    removed = prompts("remove-case", second)

    assert (edited.json["input"], edited.json["evaluation_schema"], edited.json["reference"]) == ("x", PRICED, "r")
    assert "is at version 2, but this edit is based on version 1" in late.err
    assert (half.code, removed.code) == (2, 0)
    assert [one["id"] for one in prompts("show", "p", "--json").json["test_cases"]] == [first]


def test_test_cases_come_from_a_table_and_what_is_left_out_is_told(prompts: Callable[..., Any], folder: Path) -> None:
    prompts("new", "capitals")
    Path(folder, "cases.csv").write_text("question,answer,topic\nCapital of France?,Paris,geo\n,,geo\n")

    looked = prompts("import-cases", "capitals", "cases.csv", "--dry-run")
    refused = prompts("import-cases", "capitals", "cases.csv")
    added = prompts("import-cases", "capitals", "cases.csv", "--skip-mistakes", "--json")
    again = prompts("import-cases", "capitals", "-", "--column", "input=text", given='{"text": "Capital of France?"}')
    typo = prompts("import-cases", "capitals", "cases.csv", "--column", "input")

    assert "input is the column question" in looked.err
    assert "not imported: topic" in looked.err
    assert "line 3: input, from 'question': it is empty" in looked.err
    assert "would add 1 test case to capitals" in looked.err
    assert (refused.code, typo.code) == (2, 2)
    assert "nothing was added because of 1 mistake" in refused.err
    assert "such as input=question" in typo.err
    assert (json.loads(added.out)["new"], json.loads(added.out)["mistakes"]) == (1, 1)
    assert "added 1 test case" in again.err
    told = json.loads(prompts("show", "capitals", "--json").out)["test_cases"]
    assert [(case["input"], case["reference"]) for case in told] == [
        ("Capital of France?", "Paris"),
        ("Capital of France?", None),
    ]


def test_what_users_wrote_cannot_move_the_cursor(prompts: Callable[..., Any]) -> None:
    prompts("new", "p", "--content", "\x1b[2Jred\x07", "--criteria", "\u202egnp")

    shown = prompts("show", "p").out

    assert "  red\n" in shown
    assert not any(sign in shown for sign in "\x1b\x07\u202e")


def test_what_is_exported_comes_in_elsewhere_and_goes_out_the_same(prompts: Callable[..., Any], folder: Path) -> None:
    prompts("new", "a", "--content", "{{ x }}\x85é", "--criteria", "c", "--mode", "schema")
    added(prompts, "a", "--input", "x", "--schema", PRICED)
    prompts("new", "b")

    prompts("export", "-o", "all.json")
    dry = prompts("import", "all.json", "--dry-run", "--db", "other.db")
    untouched = not (folder / "other.db").exists()
    first = prompts("import", "all.json", "--db", "other.db")
    again = prompts("import", "-", "--db", "other.db", "--json", given=(folder / "all.json").read_bytes())

    assert dry.err == "all.json is valid: it has 2 prompts with 1 test case to import; nothing was stored\n"
    assert untouched
    assert first.err == "imported 2 prompts with 1 test case\n"
    assert again.json == {"created": [], "updated": [], "skipped": ["a", "b"], "test_cases": 0, "dry_run": False}
    assert again.err.splitlines()[1] == "skipped a: a prompt with that name exists already"
    assert prompts("export", "--db", "other.db").out == (folder / "all.json").read_text(encoding="utf-8")
    (only,) = prompts("export", "b").json["prompts"]
    assert only["name"] == "b"


def test_an_import_updates_prompts_after_showing_what_changes(prompts: Callable[..., Any], folder: Path) -> None:
    prompts("new", "capitals", "--content", "Be kind.")
    Path(folder, "new.json").write_text('{"prompts": [{"name": "capitals", "content": "Be exact."}]}')

    looked = prompts("import", "new.json", "--update", "--dry-run")
    unasked = prompts("import", "new.json", "--update")
    done = prompts("import", "new.json", "--update", "--yes", "--json")
    again = prompts("import", "new.json", "--update", "--yes")

    assert "capitals: version 1 to 2" in looked.err
    assert "− Be kind." in looked.err
    assert "+ Be exact." in looked.err
    assert "0 new prompts and 1 update with 0 test cases to import; nothing was stored" in looked.err
    assert unasked.code == 2
    assert "Update 1 prompt? Cannot ask for confirmation without a terminal; use --yes" in unasked.err
    assert [one["name"] for one in done.json["updated"]] == ["capitals"]
    assert "skipped capitals: it is the same already" in again.err
    assert prompts("show", "capitals", "--json").json["version"] == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "file.json: not JSON"),
        (b"\xff", "file.json: byte 1 is not UTF-8"),
        ('{"prompts": [], "prompts": []}', "file.json: duplicate key in an object: 'prompts'"),
        ('{"prompts": [{"name": "a"}, {"name": "b", "citeria": ""}]}', "file.json: prompt 2: citeria: a prompt has no"),
    ],
)
def test_a_file_with_a_mistake_brings_nothing(
    prompts: Callable[..., Any], folder: Path, content: str | bytes, told: str
) -> None:
    (folder / "file.json").write_bytes(content if isinstance(content, bytes) else content.encode())

    done = prompts("import", "file.json")

    assert done.code == 2
    assert told in done.err
    assert prompts("--json").json == []


def test_in_mode_llm_the_judge_sees_all_and_the_run_is_one_like_any_other(
    prompts: Callable[..., Any], command: Callable[..., Any], folder: Path, serve: Any, asked_at: Any
) -> None:
    provider = asked_at(serve(lambda text: {} if "Is kind" in text else {"says": "It is on its way."}))
    prompts("new", "refunds", "--content", "You are terse.", "--criteria", "Is kind")
    case = added(prompts, "refunds", "--input", "Where is my money?")

    done = prompts(
        "run",
        "refunds",
        "--model",
        "openai/gpt-5-mini",
        "--judge",
        "openai/gpt-5",
        "-o",
        "report.md",
        "-o",
        "all.jsonl",
    )

    assert done.code == 0, done.err
    assert "refunds v1: 1 case, finished" in done.out
    assert "note: judge openai/gpt-5 and target openai/gpt-5-mini are of the same family" in done.err
    answered, judged = provider.asked
    assert answered == "Where is my money?"
    assert all(text in judged for text in ("You are terse.", "Where is my money?", "It is on its way.", "Is kind"))
    assert (folder / "report.md").read_text(encoding="utf-8").startswith("# refunds v1\n")
    (row,) = map(json.loads, (folder / "all.jsonl").read_text().splitlines())
    assert (row["case_id"], row["score"], row["metadata"]["model"]) == (case, 0.9, "openai/gpt-5-mini")
    assert command("runs", "--json").json[0]["name"] == "refunds v1"


def test_without_a_judge_or_with_one_in_vain_that_is_told(
    prompts: Callable[..., Any], serve: Any, asked_at: Any
) -> None:
    asked_at(serve(lambda _: {"says": "{}"}))
    prompts("new", "p", "--criteria", "Is kind")
    added(prompts, "p", "--input", "x", "--schema", "{}")

    without = prompts("run", "p", "--model", "openai/a")
    prompts("edit", "p", "--mode", "schema")
    in_vain = prompts("run", "p", "--model", "openai/a", "--judge", "openai/b")
    prompts("edit", "p", "--mode", "llm", "--criteria", " ")
    unjudged = prompts("run", "p", "--model", "openai/a", "--json")

    assert (without.code, without.err) == (
        2, "evenhand: no judge: give --judge openai/gpt-5-mini, or set EVENHAND_JUDGE\n",
    )  # fmt: skip
    assert "note: --judge has no effect: answers are checked against the schemas of the test cases\n" in in_vain.err
    assert "note: the prompt has no criteria, so answers are not evaluated" in unjudged.err
    assert unjudged.json["summary"]["not_evaluated"] == 1


def test_several_models_are_told_apart_in_every_report(
    prompts: Callable[..., Any], command: Callable[..., Any], folder: Path, serve: Any, asked_at: Any
) -> None:
    says = iter(['{"price": 1}', "{}"] * 6)
    asked_at(serve(lambda _: {"says": next(says)}))
    prompts("new", "p", "--mode", "schema")
    for text in "xyz":
        added(prompts, "p", "--input", text, "--schema", PRICED)

    done = prompts(
        "run", "p", "--model", "openai/a", "--model", "openai/b", "--repeat", "2", "-j", "1", "--no-cache", "--json",
        "-o", "r.md", "-o", "r.html",
    )  # fmt: skip

    models = done.json["summary"]["models"]
    assert {name: one["n"] for name, one in models.items()} == {"openai/a": 3, "openai/b": 3}
    assert done.json["run"]["repeat"] == 2
    assert re.search(r"^model +mean .*\n.*\nopenai/a ", command("report").out, re.MULTILINE)
    assert "## Models" in (folder / "r.md").read_text(encoding="utf-8")
    assert '<dd dir="auto">openai/a, openai/b</dd>' in (folder / "r.html").read_text(encoding="utf-8")


def test_one_test_case_and_an_earlier_version_can_be_chosen(
    prompts: Callable[..., Any], serve: Any, asked_at: Any
) -> None:
    provider = asked_at(serve(lambda _: {"says": "{}"}))
    prompts("new", "p", "--mode", "schema", "--content", "first")
    prompts("edit", "p", "--content", "second")
    added(prompts, "p", "--input", "x")
    chosen = added(prompts, "p", "--input", "y")

    done = prompts("run", "p", "--model", "openai/a", "--only", chosen, "--version", "1", "--json")
    missing = prompts("run", "p", "--model", "openai/a", "--only", "t-none")

    assert done.json["run"]["name"] == "p v1"
    assert done.json["run"]["definition"]["prompt"]["version"] == 1
    assert provider.asked == ["y"]
    assert "prompt 'p' has no test case 't-none'" in missing.err


def test_a_budget_stops_the_run_and_resume_goes_on_though_prompt_and_cases_are_gone(
    prompts: Callable[..., Any], command: Callable[..., Any], serve: Any, asked_at: Any
) -> None:
    provider = asked_at(serve(lambda text: {} if "Is kind" in text else {"says": "Fine."}))
    prompts("new", "p", "--criteria", "Is kind")
    for number in range(5):
        added(prompts, "p", "--input", f"Question {number}")

    stopped = prompts("run", "p", "--model", "openai/a", "--judge", "openai/b", "--max-calls", "4", "-j", "1")
    prompts("delete", "p", "--yes")
    other = command("resume", "--judge", "openai/c")
    done = command("resume", "--json")

    assert stopped.code == 102
    assert "resume with: evenhand resume " in stopped.err
    assert "to use others, start a new run with: evenhand prompts run" in other.err
    assert (done.code, done.json["summary"]["scored"], done.json["summary"]["judges"]) == (0, 5, ["openai/b"])
    assert len(provider.asked) == 10


def test_errors_are_done_again_and_a_fork_keeps_what_holds(
    prompts: Callable[..., Any], command: Callable[..., Any], serve: Any, asked_at: Any
) -> None:
    broken = True
    provider = asked_at(serve(lambda text: {"status": 400, "says": "no"} if broken and text == "y" else {"says": "{}"}))
    prompts("new", "p", "--mode", "schema")
    for text in "xy":
        added(prompts, "p", "--input", text, "--schema", "{}")

    first = prompts("run", "p", "--model", "openai/a", "--json", "-j", "1")
    broken = False
    forked = command("resume", "--fork", "--retry-errors", "--json")
    again = command("resume", first.json["run"]["id"], "--retry-errors", "--json")

    assert (first.code, first.json["summary"]["target_errors"]) == (101, 1)
    assert (forked.json["run"]["forked_from"], forked.json["summary"]["scored"]) == (first.json["run"]["id"], 2)
    assert (again.code, again.json["summary"]["scored"]) == (0, 2)
    assert provider.asked.count("x") == 1


def test_a_run_that_came_from_elsewhere_goes_on_here(
    prompts: Callable[..., Any], command: Callable[..., Any], serve: Any, asked_at: Any
) -> None:
    asked_at(serve(lambda _: {"says": "{}"}))
    prompts("new", "a/b", "--mode", "schema")
    for text in "xyz":
        added(prompts, "a/b", "--input", text, "--schema", "{}")
    prompts("run", "a/b", "--model", "openai/a", "--max-calls", "1", "-j", "1", "--no-cache")
    command("export", "last", "-o", "run.jsonl")
    command("import", "run.jsonl", "--db", "other.db")

    done = command("resume", "--db", "other.db", "--json")

    assert (done.code, done.json["run"]["name"], done.json["summary"]["scored"]) == (0, "a/b v1", 3)


def test_a_run_that_was_never_all_planned_says_how_to_get_rid_of_it(
    prompts: Callable[..., Any], command: Callable[..., Any], serve: Any, asked_at: Any
) -> None:
    asked_at(serve(lambda _: {"says": "{}"}))
    prompts("new", "p", "--mode", "schema")
    added(prompts, "p", "--input", "x")
    run = prompts("run", "p", "--model", "openai/a", "--json").json["run"]["id"]
    store = open_store(DB)
    store.runs.mark(store.runs.find(run), RunStatus.PLANNING)
    store.close()

    done = command("resume", run)

    assert (done.code, f"delete this one with: evenhand runs delete {run}" in done.err) == (2, True)


ODD = "Fill {{ nothing }} and ${HOME} {in}: \t# no comment\n  - 'quotes\": yes\n\n\x85\u2028😀 \n"


@pytest.mark.parametrize(
    "content",
    [
        ODD,
        "",
        "\r\nx\r",
        *(pytest.param(one, marks=pytest.mark.long) for one in ("yes", "12", "{{ input }}", "| a\n\tb")),
    ],
)
def test_a_prompt_becomes_a_suite_that_asks_and_judges_the_same(
    prompts: Callable[..., Any], command: Callable[..., Any], folder: Path, serve: Any, asked_at: Any, content: str
) -> None:
    asked_at(serve(lambda text: {} if "Is kind" in text else {"says": "{}"}))
    (folder / "content").write_bytes(content.encode())
    prompts("new", "p", "--content", "@content", "--criteria", "Is kind", "--expected-schema", '{"type": "object"}')
    added(prompts, "p", "--input", f" {content}?", "--schema", PRICED, "--reference", content)
    models = ("--model", "openai/a", "--judge", "openai/b")

    written = prompts("export", "p", "--suite", *models, "-o", "suite.yaml")
    done = command("run", "suite.yaml", "--json")
    direct = prompts("run", "p", *models, "--json")

    assert (written.code, written.err) == (0, "wrote suite.yaml: 1 case\n")
    assert (done.code, done.json["run"]["name"], done.json["summary"]["mean"]) == (0, "p v1", 0.9)
    assert direct.json["summary"]["cached"] == 2  # the very same was asked before, of the model and of the judge


def test_a_suite_of_schemas_has_each_test_case_with_its_own(
    prompts: Callable[..., Any], command: Callable[..., Any], serve: Any, asked_at: Any
) -> None:
    asked_at(serve(lambda text: {"says": '{"price": 1}' if text == "x" else "one"}))
    prompts("new", "p", "--mode", "schema", "--criteria", "unused")
    for text, schema in (("x", PRICED), ("y", "{}"), ("z", " ")):
        added(prompts, "p", "--input", text, "--schema", schema)

    written = prompts("export", "p", "--suite", "-o", "my suite.yaml")
    done = command("run", "my suite.yaml", "--target", "openai/a", "--json")

    assert written.err.endswith("run it with: evenhand run 'my suite.yaml' --target openai/gpt-5-mini\n")
    found = done.json["summary"]
    assert (found["scored"], found["mean"], found["not_evaluated"]) == (2, 0.5, 1)


def test_a_suite_with_an_expected_schema_needs_its_model(prompts: Callable[..., Any]) -> None:
    prompts("new", "p", "--expected-schema", "{}")
    added(prompts, "p", "--input", "x")

    done = prompts("export", "p", "--suite")

    assert (done.code, done.out) == (2, "")
    assert "belongs to the model of the suite's target; name one with --model" in done.err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="other signals")
@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_a_run_that_was_cut_off_goes_on_where_it_was(
    prompts: Callable[..., Any], command: Callable[..., Any], process: Callable[..., Started],
    serve: Any, asked_at: Any, eventually: Any, how: str,
) -> None:  # fmt: skip
    slow = True

    def script(text: str) -> dict[str, Any]:
        wait = 1.0 if slow and len(provider.asked) > 8 else 0.0  # so that it is in the middle when it is cut off
        return {"wait": wait} | ({} if "Is kind" in text else {"says": "Fine."})

    provider: Any = asked_at(serve(script))
    prompts("new", "p", "--criteria", "Is kind")
    for number in range(8):
        added(prompts, "p", "--input", f"Question {number}")
    started = process("prompts", "run", "p", "--model", "openai/a", "--judge", "openai/b", "--no-cache", "-j", "2")
    eventually(lambda: len(provider.asked) >= 10)

    if how == "kill":
        started.kill()
    else:
        started.send_signal(signal.SIGINT)
    _, told = started.communicate(timeout=60)
    before = len(provider.asked)
    slow = False
    done = command("resume", "--no-cache", "--json")

    assert (started.returncode == 130) is (how == "interrupt")
    assert ("interrupted; resume with: evenhand resume" in told) is (how == "interrupt")
    assert (done.code, done.json["summary"]["scored"]) == (0, 8)
    assert before < 16
    assert len(provider.asked) <= 20
