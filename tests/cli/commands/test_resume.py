"""`evenhand resume`, and runs that ended before they were done."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.run import RunStatus
from evenhand.store.store import open_store

# Many, and together they take a while.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]


def stopped(command: Callable[..., Any], *argv: str) -> str:
    """Run the suite as far as its fourth call, and give the id of the run."""
    identity: str = command("run", "suite.yaml", "--max-calls", "4", "--json", *argv).json["run"]["id"]
    return identity


def test_a_resumed_run_ends_like_one_that_was_never_stopped(
    command: Callable[..., Any], suite: Callable[..., Path], serve: Any
) -> None:
    provider = serve(lambda text: {"says": {"score": len(text) % 7 / 10, "reasoning": text[-40:]}})
    suite(12, judge=provider)
    whole = command("run", "suite.yaml", "--no-cache", "--json").json["run"]["id"]
    halves = stopped(command, "--no-cache")
    for _ in range(3):
        command("resume", "--no-cache", "--max-calls", "3")

    reports = [command("report", one, "--canonical") for one in (whole, halves)]

    assert reports[0].out == reports[1].out
    assert json.loads(reports[0].out)["summary"]["scored"] == 12


def test_a_run_that_began_without_the_cache_goes_on_without_it(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(9, judge=provider)
    command("run", "suite.yaml")
    stopped(command, "--no-cache")

    command("resume")

    assert len(provider.asked) == 18


def test_only_what_is_missing_is_asked(command: Callable[..., Any], suite: Callable[..., Path], provider: Any) -> None:
    suite(9, judge=provider)
    identity = stopped(command)

    done = command("resume", identity[:-2])

    assert done.code == 0
    assert len(provider.asked) == 9
    assert f"run {identity}: 9 evaluations, 4 already done" in done.err


def test_a_finished_run_is_shown_again_with_its_exit_code(
    command: Callable[..., Any], suite: Callable[..., Path], serve: Any
) -> None:
    provider = serve(lambda _: {"says": "no JSON"})
    suite(2, judge=provider)
    first = command("run", "suite.yaml")
    asked = len(provider.asked)

    again = command("resume")

    assert (first.code, again.code) == (101, 101)
    assert again.out == first.out
    assert "is finished; --retry-errors retries its errors" in again.err
    assert len(provider.asked) == asked


def test_of_a_finished_run_without_errors_nothing_is_left_to_do(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(2, judge=provider)
    command("run", "suite.yaml")

    again = command("resume")

    assert again.code == 0
    assert "is finished; there is nothing left to do" in again.err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"judge": {"temperature": 0.3}}, "judge.temperature: 0.2 in the run, 0.3 now"),
        ({"thresholds": {"pass": 0.95}}, "thresholds: not set in the run"),
        (
            {"evaluators": [{"name": "quality", "type": "llm_judge", "max_attempts": 1}]},
            "evaluators[quality].max_attempts",
        ),
        ({"cases": {"input": "Another question?"}}, "case 'case-0' has changed"),
        ({"cases": {"id": "renamed"}}, "case 'renamed' was added"),
    ],
)
def test_a_changed_definition_is_refused_and_the_field_named(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any, change: dict[str, Any], told: str
) -> None:
    path = suite(9, judge=provider)
    written = json.loads(path.read_text())
    written["judge"]["temperature"] = 0.2
    path.write_text(json.dumps(written))
    identity = stopped(command)
    if "judge" in change:
        written["judge"] |= change["judge"]
    elif "cases" in change:
        written["cases"][0] |= change["cases"]
    else:
        written |= change
    path.write_text(json.dumps(written))

    done = command("resume")

    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert f"evenhand resume {identity} --fork" in done.err
    assert len(provider.asked) == 4


def test_a_fork_keeps_what_still_holds_and_leaves_the_run_alone(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    path = suite(9, judge=provider)
    identity = stopped(command, "--no-cache", "-j", "1")
    written = json.loads(path.read_text())
    written["cases"][0]["input"] = "Another question?"
    path.write_text(json.dumps(written))

    done = command("resume", "--fork", "--json", "--no-cache")

    assert done.code == 0
    assert done.json["run"]["forked_from"] == identity
    assert f"continues {identity}, with 3 evaluations from it" in done.err
    assert len(provider.asked) == 4 + 6
    assert command("report", identity, "--json").json["run"]["status"] == "stopped"


def test_a_run_goes_on_without_its_suite(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    path = suite(9, judge=provider)
    stopped(command)
    path.unlink()

    done = command("resume", "--json")

    assert (done.code, done.json["summary"]["scored"]) == (0, 9)
    assert "suite.yaml is gone; resuming with what the run stored of it" in done.err


def test_a_run_that_a_program_started_is_left_to_it(folder: Path, command: Callable[..., Any]) -> None:
    store = open_store(".evenhand/evenhand.db")
    run = store.runs.create(name="mine", source=None, definition={}, options={})
    store.runs.mark(run, RunStatus.INTERRUPTED)
    store.close()

    done = command("resume")

    assert done.code == 2
    assert "was started by a program" in done.err


def test_a_run_whose_planning_was_cut_off_is_planned_again(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    path = suite(9, judge=provider)
    definition = json.loads(path.read_text())
    del definition["cases"]
    store = open_store(".evenhand/evenhand.db")
    store.runs.create(name="suite", source=str(path), definition=definition, options={"only": ["case-[0-4]"]})
    store.database.execute("UPDATE runs SET owner = NULL")
    store.close()

    done = command("resume", "--json")

    assert (done.code, done.json["run"]["cases"], done.json["summary"]["scored"]) == (0, 5, 5)


def test_a_run_that_another_process_works_on_is_refused(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(9, judge=provider)
    identity = stopped(command)
    claim = f"""
import sys
from evenhand.store.store import open_store
store = open_store(".evenhand/evenhand.db")
store.runs.claim(store.runs.find("{identity}"))
print("claimed", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", claim], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        done = command("resume")
        deleted = command("runs", "delete", identity, "--yes")
        other.communicate(b"")

    assert (done.code, deleted.code) == (1, 1)
    assert f"evenhand: run {identity} is in use by process {other.pid}" in done.err
    assert f"run {identity} is in progress" in deleted.err
    assert command("resume").code == 0


def test_the_command_that_goes_on_names_the_database_where_it_was_typed(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(9, judge=provider)
    shutil.rmtree(folder / ".evenhand")

    done = command("run", "suite.yaml", "--max-calls", "4", "--db", "my runs.db")
    told = done.err.split("resume with: evenhand ")[1].strip()

    assert told.endswith("--db 'my runs.db'")
    assert command("resume", "--db", "my runs.db").code == 0
    assert not (folder / ".evenhand").exists()


# Runs that came from elsewhere

MARKER = "import pathlib\npathlib.Path('marked').touch()\ndef answer(case):\n    return 'made'\n"


@pytest.fixture
def hostile(folder: Path, command: Callable[..., Any], suite: Callable[..., Path]) -> str:
    """Import a run that would run a program and import a module, and give its id."""
    sys.modules.pop("marker_module", None)  # of the test before
    importlib.invalidate_caches()
    (folder / "elsewhere").mkdir()
    (folder / "marker_module.py").write_text(MARKER)
    judging = [sys.executable, "-c", "open('marked', 'w'); print('{\"score\": 1}')"]
    suite(
        target={"python": "marker_module:answer"},
        evaluators=[{"name": "program", "type": "code_judge", "command": judging}],
        cases=[{"id": "a", "input": "Question?"}, {"id": "b", "input": "Question?"}],
    )
    command("run", "suite.yaml", "--db", "elsewhere/runs.db", "--limit", "2")
    command("export", "last", "--db", "elsewhere/runs.db", "-o", "run.jsonl")
    (folder / "marked").unlink()
    lines = (folder / "run.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    header["run"] |= {"status": "interrupted", "finished": None}
    last = json.loads(lines[2]) | {"answers": [], "evaluations": []}
    (folder / "run.jsonl").write_text("\n".join([json.dumps(header), lines[1], json.dumps(last)]) + "\n")
    del sys.modules["marker_module"]
    identity: str = command("import", "run.jsonl").out.strip()
    return identity


@pytest.mark.starts(3, "programs judge, or must not")
def test_a_run_from_elsewhere_runs_no_code_until_it_is_trusted(
    folder: Path, command: Callable[..., Any], hostile: str
) -> None:
    refused = command("resume", hostile)
    was_marked = (folder / "marked").exists() or "marker_module" in sys.modules

    trusted = command("resume", hostile, "--trust", "--json")

    assert refused.code == 2
    assert "was imported; resuming it would use, on this machine:" in refused.err
    assert "the Python function marker_module:answer" in refused.err
    assert f"the program {sys.executable} -c" in refused.err
    assert not was_marked
    assert (trusted.code, trusted.json["summary"]["scored"]) == (0, 2)


def test_whoever_only_looks_runs_no_code(folder: Path, command: Callable[..., Any], hostile: str) -> None:
    done = [
        command("report", hostile),
        command("report", hostile, "--canonical"),
        command("report", hostile, "-o", "r.html", "-o", "r.xml", "-o", "r.csv"),
        command("runs"),
        command("runs", "show", hostile),
        command("export", hostile, "-o", "again.jsonl"),
        command("import", "again.jsonl", "--dry-run"),
        command("validate", "suite.yaml"),
        command("cache"),
        command("config"),
        command("runs", "delete", hostile, "--yes"),
    ]

    assert [one.code for one in done] == [0] * len(done)
    assert "marker_module" not in sys.modules
    assert not (folder / "marked").exists()


OF_ITS_OWN: dict[str, tuple[dict[str, Any], str]] = {
    "a key under another name": (
        {"api_key": "${AWS_SECRET_ACCESS_KEY}"},
        "api_key with the value of AWS_SECRET_ACCESS_KEY",
    ),
    "the provider's own key": ({"api_key": "${OPENAI_API_KEY}"}, "api_key with the value of OPENAI_API_KEY"),
    "a header": ({"headers": {"X-A": "${HOME}", "X-B": "b"}}, "headers with the value of HOME"),
    "a header without a variable": ({"headers": {"X-B": "b"}}, "headers with literal values"),
    "a body": ({"extra_body": {"user": "them"}}, "extra_body with literal values"),
    "a proxy": ({"proxy": "http://${PROXY_HOST}:1"}, "proxy http://${PROXY_HOST}:1"),
    "an authority": ({"ca_file": "theirs.pem"}, "ca_file theirs.pem"),
    "a region": ({"region": "eu-west-1"}, "region eu-west-1"),
    "somebody's project": ({"project": "theirs"}, "project theirs"),
    "an address": ({"base_url": "https://${HOME}.example"}, "base_url https://${HOME}.example"),
}


@pytest.mark.parametrize(
    ("settings", "told", "place"),
    [
        *((*own, "judge") for own in OF_ITS_OWN.values()),
        *((*OF_ITS_OWN["a key under another name"], place) for place in ("target", "evaluator", "case", "member")),
    ],
)
def test_an_imported_run_reads_no_variable_and_sends_nothing_of_its_own_until_it_is_trusted(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], settings: Any, told: str, place: str
) -> None:
    suite(2)
    command("run", "suite.yaml", "--db", "elsewhere.db")
    command("export", "last", "--db", "elsewhere.db", "-o", "run.jsonl")
    header, *cases = map(json.loads, (folder / "run.jsonl").read_text().splitlines())
    header["run"] |= {"status": "interrupted", "finished": None}
    model = {"model": "openai/gpt-5-mini", **settings}
    judged = {"name": "quality", "type": "llm_judge", "judge": model}
    match place:
        case "evaluator":
            header["run"]["definition"]["evaluators"] = [judged]
        case "member":
            header["run"]["definition"]["evaluators"] = [{"type": "composite", "name": "all", "members": [judged]}]
        case "case":
            cases[-1]["evaluators"] = [judged]
        case _:
            header["run"]["definition"][place] = model
    (folder / "run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in (header, *cases)))
    (folder / "suite.yaml").unlink()
    assert command("import", "run.jsonl").code == 0

    refused, forked = command("resume"), command("resume", "--fork")

    for done in (refused, forked):
        assert done.code == 2
        assert "was imported; resuming it would use, on this machine:" in done.err
        assert f"- {told}\n" in done.err


def test_what_a_prompt_says_of_variables_is_no_reference(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path]
) -> None:
    suite(9, evaluators=[{"name": "right", "type": "contains", "value": "${HOME}"}])
    command("run", "suite.yaml", "--db", "elsewhere.db")
    command("export", "last", "--db", "elsewhere.db", "-o", "run.jsonl")
    header, *cases = (folder / "run.jsonl").read_text().splitlines()
    interrupted = header.replace('"status":"finished"', '"status":"interrupted"')
    (folder / "run.jsonl").write_text("\n".join([interrupted, *cases]) + "\n")
    (folder / "suite.yaml").unlink()
    command("import", "run.jsonl")

    assert command("resume").code == 0


def test_an_address_of_its_own_needs_trust_too(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(9, judge=provider)
    identity = stopped(command, "--db", "elsewhere.db")
    command("export", identity, "--db", "elsewhere.db", "-o", "run.jsonl")
    command("import", "run.jsonl")

    refused, trusted = command("resume"), command("resume", "--trust")

    assert refused.code == 2
    assert f"base_url {provider.url}" in refused.err
    assert trusted.code == 0
    assert len(provider.asked) == 9


def test_an_imported_run_that_asks_well_known_models_only_goes_on_at_once(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    suite(9, judge="openai/one", evaluators=[{"type": "llm_judge"}])
    identity = stopped(command, "--db", "elsewhere.db")
    command("export", identity, "--db", "elsewhere.db", "-o", "run.jsonl")
    command("import", "run.jsonl")

    assert command("resume").code == 0
    assert len(provider.asked) == 9
