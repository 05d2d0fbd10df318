"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml  # noqa: F401 - a run of pytester forgets what it loads, and libyaml does not bear to be loaded twice

import evenhand.engine.execution
import evenhand.suites.from_python  # noqa: F401 - loaded here, once, for all runs
from evenhand import Run
from evenhand.store.store import open_store

# Many, and together they take a while.
pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

# The module itself, whether or not the package is installed with its entry point.
ARGUMENTS = ("-p", "evenhand.plugin", "-p", "no:cacheprovider", "-W", "error")

TESTS = """
from evenhand import Case, Contains, PromptEvaluator, Scripted

RIGHT = Case(id="right", question="Capital of France?", candidate_answer="Paris", expected_outcome="Paris")

def scripted(reply):
    return PromptEvaluator(name="quality", judge=Scripted([reply]))

"""

SUITE = """
evaluators: [{name: city, type: contains, value: Paris}]
cases:
  - {id: france, output: Paris}
  - {id: italy, input: "Capital \\e[31mof Italy?", output: "Milan, \\e[31mof course"}
  - {id: nothing}
  - id: broken
    output: Rome
    criteria: Rome
    evaluators:
      - {type: llm_judge, judge: {model: vllm/none, base_url: "http://127.0.0.1:9/v1", max_transport_attempts: 1}}
"""


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load no plugin that is not named: that of each installed package would take longer than the tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def run(pytester: pytest.Pytester, *arguments: str, tests: str = "", suite: str = "") -> pytest.RunResult:
    if tests:
        pytester.makepyfile(test_answers=TESTS + tests)
    if suite:
        pytester.path.joinpath("capitals.evenhand.yaml").write_text(suite)
    return pytester.runpytest(*ARGUMENTS, *arguments)


# Gates in a test

LYON = """
import pytest
import evenhand as package
from evenhand import Case, Contains, GatesFailed

CASES = [Case(id=f"q{number}", candidate_answer="It is Lyon.") for number in range(10)]
GATES = {"min_pass_rate": 0.9}

"""


def test_ten_wrong_answers_do_not_pass_a_test_with_a_gate(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        tests=LYON
        + """
def test_by_the_package():
    package.evaluate(CASES, Contains(value="Paris"), gates=GATES, store="runs.db")

def test_by_the_fixture(evenhand):
    evenhand.evaluate(CASES, Contains(value="Paris"), gates=GATES)
""",
    )

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*GatesFailed: run *: min_pass_rate: wanted at least 0.9, found 0", "*fail 10*"])
    result.stdout.fnmatch_lines(["*= evenhand =*", "pass rate 0.00*: 0 of 10"])
    assert Run.open("last", store=str(pytester.path / "runs.db")).status == "finished"  # stored before it is raised


def test_gates_that_are_met_pass_and_others_can_be_looked_at(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        tests=LYON
        + """
def test_met():
    assert package.evaluate(CASES, Contains(value="Lyon"), gates=GATES, store=None).passed

def test_not_enforced(evenhand):
    assert not package.evaluate(CASES, Contains(value="Paris"), gates=GATES, store=None, enforce=False).passed
    assert not evenhand.evaluate(CASES, Contains(value="Paris"), gates=GATES, enforce=False).passed

def test_without_gates():
    run = package.evaluate(CASES, Contains(value="Paris"), store=None)
    run.raise_if_failed()

@pytest.fixture
def judged():
    return package.evaluate(CASES, Contains(value="Paris"), gates=GATES, store=None)

def test_of_a_fixture(judged):
    with pytest.raises(GatesFailed) as raised:
        judged.raise_if_failed()
    assert isinstance(raised.value, AssertionError)
    assert raised.value.run is judged
""",
    )

    result.assert_outcomes(passed=4)


def test_elsewhere_a_run_is_returned_unless_gates_are_to_be_enforced(tmp_path: Path) -> None:
    program = LYON.replace("import pytest\n", "") + (
        "run = package.evaluate(CASES, Contains(value='Paris'), gates=GATES, store=None)\n"
        "print(run.passed)\n"
        "package.evaluate(CASES, Contains(value='Paris'), gates=GATES, store=None, enforce=True)\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.stdout == "False\n"
    assert "GatesFailed: run " in done.stderr


# In a test function


def test_a_good_answer_passes_and_its_result_can_be_looked_at(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        tests="""
def test_it(evenhand):
    result = evenhand.check(RIGHT, [Contains(value="Paris"), scripted('{"score": 0.9}')])
    assert result.outcome.score == 0.95
""",
    )

    result.assert_outcomes(passed=1)


def test_a_bad_answer_fails_with_all_that_was_found(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        tests="""
def test_it(evenhand):
    evenhand.check(RIGHT, scripted('{"score": 0.3, "misses": ["names the river"], "reasoning": "Only the city."}'))
""",
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">   *evenhand.check(RIGHT*",
            "E   *AssertionError: case 'right': fail, score 0.30; wanted pass",
            "E   *quality: fail 0.30",
            "E   *missed: names the river",
            "E   *Only the city.",
            "E   *question: Capital of France?",
            "E   *answer: Paris",
        ]
    )
    result.stdout.no_fnmatch_line("*plugin.py*")


def test_a_judge_that_failed_is_an_error_and_no_failure(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        tests="""
def test_it(evenhand):
    evenhand.check(RIGHT, scripted(ConnectionError("gone")))

def test_limit(evenhand):
    evenhand.check(RIGHT, scripted('{"score": 1}'), max_calls=0)
""",
    )

    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*JudgeError: case 'right': the judge failed", "*JudgeError: run * stopped: budget*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_target_that_failed_is_not_said_to_be_the_judge(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        tests="""
def broken(input):
    raise ConnectionError("gone")

def test_it(evenhand):
    evenhand.check(Case(id="asked", question="Capital?"), Contains(value="Paris"), target=broken)
""",
    )

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*JudgeError: case 'asked': the target failed", "*; 1 target error"])


def test_what_was_not_evaluated_fails_unless_that_is_allowed(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        tests="""
def test_no(evenhand):
    evenhand.check(Case(id="nothing"), Contains(value="a"))

def test_yes(evenhand):
    assert evenhand.check(Case(id="nothing"), Contains(value="a"), allow_not_evaluated=True).outcome.score is None
""",
    )

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*AssertionError: case 'nothing': not evaluated"])


def test_the_verdict_that_is_wanted_can_be_set_for_a_test_and_for_all(pytester: pytest.Pytester) -> None:
    tests = """
def test_mine(evenhand):
    evenhand.check(RIGHT, scripted('{"score": 0.7}'), min_verdict="borderline")

def test_usual(evenhand):
    evenhand.check(RIGHT, scripted('{"score": 0.7}'))
"""

    usual = run(pytester, tests=tests)
    relaxed = run(pytester, "--evenhand-min-verdict=borderline")
    pytester.makeini("[pytest]\nevenhand_min_verdict = borderline")
    configured = run(pytester)
    mistaken = run(pytester, "--evenhand-min-verdict=good")

    usual.assert_outcomes(passed=1, failed=1)
    usual.stdout.fnmatch_lines(["*case 'right': borderline, score 0.70; wanted pass"])
    relaxed.assert_outcomes(passed=2)
    configured.assert_outcomes(passed=2)
    mistaken.stderr.fnmatch_lines(["*min-verdict is 'good'; it must be one of fail, borderline, pass"])


def test_many_cases_can_be_judged_at_once_and_held_to_what_the_test_demands(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        tests="""
def test_it(evenhand):
    run = evenhand.evaluate([RIGHT, Case(id="wrong", candidate_answer="Rome")], Contains(value="Paris"))
    assert run.summary.cases.mean == 0.5
""",
    )

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= evenhand =*", "mean 0.50 * over 2 of 2", "pass rate 0.50 *: 1 of 2"])


def test_the_judge_of_the_command_line_is_for_definitions_without_one(pytester: pytest.Pytester) -> None:
    tests = """
def test_it(evenhand):
    evenhand.check(RIGHT, {"type": "llm_judge"})
"""

    result = run(pytester, "--evenhand-judge=nobody/x", tests=tests)

    result.stdout.fnmatch_lines(["*no model provider 'nobody'*"])


# Suite files


def test_each_case_of_a_suite_file_is_a_test(pytester: pytest.Pytester) -> None:
    result = run(pytester, "-v", suite=SUITE)

    result.assert_outcomes(passed=1, failed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "capitals.evenhand.yaml::france PASSED*",
            "capitals.evenhand.yaml::italy FAILED*",
            "capitals.evenhand.yaml::nothing FAILED*",
            "capitals.evenhand.yaml::broken ERROR*",
        ]
    )


def test_a_failing_case_is_told_in_words_without_code(pytester: pytest.Pytester) -> None:
    result = run(pytester, suite=SUITE)

    result.stdout.fnmatch_lines(
        [
            "case 'broken': the judge failed",
            "  llm_judge: error",
            "    connection: *",
            "case 'italy': fail, score 0.00; wanted pass",
            "  city: fail 0.00",
            '    missed: The answer does not contain "Paris".',
            "  question: Capital of Italy?",
            "  answer: Milan, of course",
            "case 'nothing': not evaluated",
        ]
    )
    for noise in ("*plugin.py*", "*Traceback*", "*\x1b*"):
        result.stdout.no_fnmatch_line(noise)


def test_at_the_end_stands_how_all_answers_came_out(pytester: pytest.Pytester) -> None:
    result = run(pytester, suite=SUITE)

    result.stdout.fnmatch_lines(
        ["mean 0.50 * over 2 of 4; 1 judge error; 0.33 if counted as 0; 1 not evaluated", "pass rate 0.50 *: 1 of 2"]
    )


def test_the_chosen_cases_of_a_file_are_judged_in_one_run(pytester: pytest.Pytester) -> None:
    db = pytester.path / "runs.db"

    result = run(pytester, f"--evenhand-db={db}", "-k", "france or italy", suite=SUITE)

    result.assert_outcomes(passed=1, failed=1, deselected=2)
    store = open_store(str(db))
    (record,) = store.runs.newest()
    store.close()
    assert (record.status, record.name) == ("finished", "capitals.evenhand")
    assert [one.id for one in Run.open(store=db)] == ["france", "italy"]


def test_one_case_can_be_run_by_its_id(pytester: pytest.Pytester) -> None:
    run(pytester, suite=SUITE)

    run(pytester, "capitals.evenhand.yaml::france").assert_outcomes(passed=1)


def test_nothing_is_written_unless_a_database_is_given(pytester: pytest.Pytester) -> None:
    run(pytester, suite=SUITE)

    assert [path.name for path in pytester.path.iterdir()] == ["capitals.evenhand.yaml"]


def test_a_mistake_in_a_suite_is_told_with_its_line(pytester: pytest.Pytester) -> None:
    result = run(pytester, suite="evaluators: [{type: contains, value: a}]\ncases:\n  - {id: a, ouput: x}\n")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*capitals.evenhand.yaml:3, case \"a\": no key 'ouput'; did you mean 'output'?"])
    result.stdout.no_fnmatch_line("*plugin.py*")


NEEDS_KEY = """
judge: openai/gpt-5-mini
evaluators: [{type: llm_judge}]
cases:
  - {id: a, output: x, criteria: y}
  - {id: b, output: x, criteria: y}
"""


def test_tests_are_listed_without_a_key_and_say_what_is_missing_when_run(pytester: pytest.Pytester) -> None:
    listed = run(pytester, "--collect-only", "-q", suite=NEEDS_KEY)
    result = run(pytester)

    listed.stdout.fnmatch_lines(["capitals.evenhand.yaml::a", "capitals.evenhand.yaml::b"])
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*OPENAI_API_KEY*"])


def test_json_is_a_suite_too_and_other_files_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("a.evenhand.json").write_text(
        '{"evaluators": [{"type": "contains", "value": "a"}], "cases": [{"id": "one", "output": "a"}]}'
    )
    pytester.path.joinpath("other.yaml").write_text("a: 1")

    run(pytester).assert_outcomes(passed=1)


@pytest.mark.long
@pytest.mark.starts(2, "runs pytest with workers")
def test_the_tests_may_be_spread_over_workers(pytester: pytest.Pytester) -> None:
    tests = """
def test_it(evenhand):
    evenhand.check(RIGHT, scripted(ConnectionError("gone")))
"""

    result = run(pytester, "-p", "xdist", "-n", "2", tests=tests, suite=SUITE)

    result.assert_outcomes(passed=1, failed=2, errors=2)
    result.stdout.fnmatch_lines(["mean 0.50 * over 2 of 5; 2 judge errors; *"])


def test_the_examples_on_the_page_pass(pytester: pytest.Pytester) -> None:
    page = Path(__file__).parents[1].joinpath("docs", "pytest.md").read_text(encoding="utf-8")
    suite = page.partition('```yaml title="capitals.evenhand.yaml"\n')[2].partition("```")[0]
    pytester.makepyfile(test_page="".join(one.partition("```")[0] for one in page.split("```python\n")[1:]))

    run(pytester, suite=suite).assert_outcomes(passed=4)


# What it costs


def test_loading_the_plugin_imports_nothing_but_pytest() -> None:
    script = """
import sys, pytest
before = set(sys.modules)
import evenhand.plugin
print(sorted(set(sys.modules) - before))
"""

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.strip() == "['evenhand', 'evenhand.plugin', 'evenhand.version']"


def test_a_session_that_judges_nothing_loads_and_says_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
import sys

def test_it():
    assert [name for name in sys.modules if name.startswith("evenhand.")] == ["evenhand.version", "evenhand.plugin"]
"""
    )

    result = pytester.runpytest_subprocess(*ARGUMENTS)

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*= evenhand =*")
    assert Path(pytester.path, ".evenhand").exists() is False
