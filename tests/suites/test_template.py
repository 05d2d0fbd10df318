"""The first suite runs at once, and has something to show."""

from __future__ import annotations

from pathlib import Path

from evenhand.domain.aggregate import Weighed, case_score
from evenhand.domain.verdict import Verdict
from evenhand.suites.suite import read_suite
from evenhand.suites.template import init_files


def test_it_judges_without_a_key_and_one_case_fails() -> None:
    for name, content in init_files().items():
        Path(name).write_text(content, encoding="utf-8")
    suite = read_suite("suite.yaml")

    verdicts = {}
    for planned in suite.cases():
        evaluations = [Weighed(evaluation=one.evaluate(planned.case)) for one in suite.evaluators_for(planned)]  # type: ignore[attr-defined]  # all of these can
        verdicts[planned.case.id] = case_score(evaluations).verdict

    assert verdicts == {"capital": Verdict.PASS, "river": Verdict.FAIL, "order": Verdict.PASS}
    assert suite.notes == []


def test_the_schema_that_editors_are_sent_to_is_there() -> None:
    files = init_files()

    assert files["suite.yaml"].startswith("# yaml-language-server: $schema=suite.schema.json\n")
    assert "suite.schema.json" in files


def test_what_the_comments_propose_works_too() -> None:
    text = init_files()["suite.yaml"]
    for line in ("judge: openai/gpt-5-mini", "- {name: quality, type: llm_judge}", "gates: {min_pass_rate: 0.9}"):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    Path("suite.yaml").write_text(text.replace("openai/gpt-5-mini", "ollama/x"), encoding="utf-8")

    suite = read_suite("suite.yaml")

    assert [one.name for one in suite.evaluators_for(next(suite.cases()))] == ["right", "brief", "quality"]
