"""A program that has changed: what it said under another source is not passed off as what it says now."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.harness.warm import WarmEvenhand

pytestmark = pytest.mark.slow

APP = """
def answer(text: str) -> str:
    return "It is Paris."
"""
# Two of the questions find no index.
CRASHES = """
def answer(text: str) -> str:
    if "Question 1:" in text:
        raise RuntimeError("index not found")
    return "It is Paris."
"""
SUITE: dict[str, Any] = {
    "name": "rag",
    "target": {"python": "app:answer"},
    "evaluators": [{"name": "right", "type": "contains", "value": "Paris"}],
    "gates": {"min_pass_rate": 0.9, "max_unscored": 0},
    "cases": [{"id": f"q{number}", "input": f"Question {number}: capital of France?"} for number in range(4)],
}
JUDGE = """
import json, sys
print(json.dumps({"score": 1.0 if "Paris" in json.load(sys.stdin)["candidate_answer"] else 0.0}))
"""
BY_PROGRAM = {"evaluators": [{"name": "right", "type": "code_judge", "command": ["python3", "judge.py"]}]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(APP)
    Path("judge.py").write_text(JUDGE)
    return tmp_path


def write(**settings: Any) -> None:
    Path("suite.yaml").write_text(json.dumps(SUITE | settings))


def edit(name: str, before: str, after: str) -> None:
    path = Path(name)
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


@pytest.mark.parametrize(
    "command", [("resume",), ("resume", "--retry-errors"), ("run", "suite.yaml", "--retry-errors")], ids=" ".join
)
def test_an_app_that_answers_wrongly_now_is_not_green_for_what_it_answered_before(
    warm: WarmEvenhand, command: tuple[str, ...]
) -> None:
    write()
    assert warm.run("run", "suite.yaml").returncode == 0
    edit("app.py", "Paris", "Lyon")

    done = warm.run(*command)

    assert done.returncode == 2
    assert "pass" not in done.stdout
    assert re.search(r"suite.yaml has changed since run \S+ began:", done.stderr)
    assert "- target app:answer: its source, or a file that it uses, has changed" in done.stderr
    assert re.search(r"evenhand resume \S+ --fork", done.stderr)


def test_answers_of_two_versions_of_an_app_are_not_mixed(warm: WarmEvenhand) -> None:
    write()
    Path("app.py").write_text(CRASHES)
    assert warm.run("run", "suite.yaml").returncode == 101
    Path("app.py").write_text(APP.replace("Paris", "Lyon"))

    refused = warm.run("run", "suite.yaml", "--retry-errors")
    forked = warm.run("resume", "--fork")

    assert refused.returncode == 2
    assert forked.returncode == 100
    assert "app:answer has changed: every answer is made and judged again, which took 4 calls in run" in (forked.stderr)
    assert "with 0 evaluations from it" in forked.stderr
    assert "min_pass_rate: wanted at least 0.9, found 0" in forked.stdout


def test_a_judge_that_has_changed_judges_again_and_the_others_need_not(warm: WarmEvenhand) -> None:
    write(evaluators=[*BY_PROGRAM["evaluators"], {"name": "short", "type": "regex", "value": "^.{1,20}$"}])
    assert warm.run("run", "suite.yaml").returncode == 0
    edit("judge.py", "1.0 if", "0.2 if")

    refused = warm.run("resume")
    forked = warm.run("resume", "--fork")

    assert refused.returncode == 2
    assert "- evaluator 'right': the source of python3 judge.py, or a file that it uses, has changed" in refused.stderr
    assert "python3 judge.py has changed: 4 evaluations by 'right' are made again" in forked.stderr
    assert "with 4 evaluations from it" in forked.stderr
    assert forked.returncode == 100
    assert "mean 0.60" in forked.stdout


def test_what_a_program_imports_from_the_folder_of_the_suite_is_a_part_of_it(warm: WarmEvenhand) -> None:
    Path("lib").mkdir()
    Path("lib", "__init__.py").touch()
    Path("lib", "city.py").write_text('CITY = "Paris"\n')
    Path("app.py").write_text(
        "def answer(text: str) -> str:\n    from lib.city import CITY\n    return f'It is {CITY}.'\n"
    )
    write()
    assert warm.run("run", "suite.yaml").returncode == 0
    edit("lib/city.py", "Paris", "Lyon")

    assert warm.run("resume").returncode == 2
    assert warm.run("resume", "--fork").returncode == 100


def test_comments_and_layout_ask_nothing_again(warm: WarmEvenhand) -> None:
    write(**BY_PROGRAM)
    assert warm.run("run", "suite.yaml").returncode == 0
    edit("app.py", '    return "It is Paris."', '    # The capital.\n\n    return (\n        "It is Paris."\n    )')
    edit("judge.py", "import json, sys", "import json, sys  # to read and to write")

    done = warm.run("resume")

    assert done.returncode == 0, done.stderr
    assert "there is nothing left to do" in done.stderr


def test_a_version_stands_for_the_source(warm: WarmEvenhand) -> None:
    write(target={"python": "app:answer", "version": 1})
    assert warm.run("run", "suite.yaml").returncode == 0
    edit("app.py", "Paris.", "Paris!")

    same = warm.run("resume")
    write(target={"python": "app:answer", "version": 2})
    other = warm.run("resume")

    assert same.returncode == 0, same.stderr
    assert other.returncode == 2
    assert "version" in other.stderr


def test_it_is_said_where_no_source_was_found(warm: WarmEvenhand) -> None:
    Path("app.py").unlink()
    write(target={"command": ["sh", "-c", "exit 1"]}, gates={})
    assert warm.run("run", "suite.yaml").returncode == 101
    told = warm.run("resume", "--retry-errors").stderr
    write(target={"command": ["false"]}, gates={})
    assert warm.run("run", "suite.yaml").returncode == 101

    unknown = warm.run("resume", "--retry-errors")

    assert "unknown" not in told  # the program stands in the command
    assert unknown.returncode == 101
    assert "whether false has changed since" in unknown.stderr


def test_a_finished_run_whose_suite_was_edited_is_not_reported_as_the_suite_of_now(warm: WarmEvenhand) -> None:
    write()
    assert warm.run("run", "suite.yaml").returncode == 0
    write(gates={"min_pass_rate": 1.0}, evaluators=[{"name": "right", "type": "contains", "value": "Lyon"}])

    done = warm.run("resume")

    assert done.returncode == 2
    assert "evaluators" in done.stderr
    assert "gates.min_pass_rate: 0.9 in the run, 1.0 now" in done.stderr


def test_a_run_of_an_earlier_version_resumes_with_a_line_that_says_what_is_unknown(warm: WarmEvenhand) -> None:
    write()
    Path("app.py").write_text(CRASHES)
    assert warm.run("run", "suite.yaml").returncode == 101
    forget_fingerprints()
    Path("app.py").write_text(APP)

    done = warm.run("resume", "--retry-errors")

    assert done.returncode == 0, done.stderr
    assert re.search(r"note: run \S+ has no fingerprints of its programs, so whether app:answer has", done.stderr)


def forget_fingerprints() -> None:
    from evenhand.store.store import open_store

    store = open_store(".evenhand/evenhand.db")
    (run,) = store.runs.newest(1)
    store.runs.set_options(run, {name: value for name, value in run.options.items() if name != "programs"})
    store.close()
