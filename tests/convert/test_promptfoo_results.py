"""Results of promptfoo as finished runs: its scores and verdicts, in every shape that it has written them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, CaseResult, Contains, Run, Status, compare, evaluate, import_results
from evenhand.convert.conversion import results_into
from evenhand.domain.errors import ConfigError, IncomparableError
from evenhand.store.store import open_store

CONTAINS = {"type": "contains", "value": "Paris"}


def component(*, passed: bool = True, score: object = 1, **rest: Any) -> dict[str, Any]:
    return {"pass": passed, "score": score, "reason": "because", "assertion": CONTAINS, **rest}


def row(test: int = 0, *components: dict[str, Any], **rest: Any) -> dict[str, Any]:
    given = components or (component(),)
    return {
        "testIdx": test,
        "promptIdx": 0,
        "provider": {"id": "openai:gpt-5-mini", "label": ""},
        "prompt": {"raw": "Capital of France?", "label": "plain"},
        "vars": {"country": "France", "number": test},
        "testCase": {"description": f"capital {test}", "vars": {"number": test}, "assert": [CONTAINS]},
        "response": {"output": "Paris", "tokenUsage": {"prompt": 5, "completion": 1, "total": 6}},
        "success": True,
        "score": 1,
        "failureReason": 0,
        "latencyMs": 250,
        "cost": 0.002,
        "namedScores": {},
        "gradingResult": {"pass": True, "score": 1, "reason": "All passed", "componentResults": list(given)},
        **rest,
    }


def document(*rows: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {
        "evalId": "eval-1",
        "results": {"version": 3, "timestamp": "2026-11-15T09:30:00.000Z", "prompts": [], "results": list(rows)},
        "config": {"description": "Capitals"},
        "metadata": {"promptfooVersion": "0.119.0"},
        **rest,
    }


def imported(folder: Path, content: object, name: str = "results.json") -> Run:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return import_results(folder / name, store=None)


def notes_of(run: Run) -> list[str]:
    notes: list[str] = run.record.definition["imported_from"].get("notes", [])
    return notes


def only_case(run: Run) -> CaseResult:
    (result,) = run
    return result


def test_a_row_becomes_a_case_with_its_answer_and_what_that_took(tmp_path: Path) -> None:
    run = imported(tmp_path, document(row()))

    result = only_case(run)
    (answer,) = result.answers
    assert (run.record.name, run.record.status, run.id[:16]) == ("Capitals", "finished", "20261115-093000-")
    assert run.record.origin == "promptfoo 0.119.0, results.json, 2026-11-15 09:30 UTC"
    assert (result.id, result.case.question, answer.text) == ("capital 0", "Capital of France?", "Paris")
    assert (answer.latency, answer.cost) == (0.25, 0.002)
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (5, 1)
    assert result.case.metadata == {
        "model": "openai:gpt-5-mini", "test_case": "capital 0", "prompt": "plain",
        "vars": {"country": "France", "number": 0},
    }  # fmt: skip
    assert notes_of(run) == []


@pytest.mark.parametrize(
    ("score", "success", "verdict"), [(0.2, True, "pass"), (0.95, False, "fail"), (0, True, "pass"), (1, False, "fail")]
)
def test_the_recorded_verdict_holds_whatever_the_score_is(
    tmp_path: Path, score: float, success: bool, verdict: str
) -> None:
    run = imported(tmp_path, document(row(0, component(passed=success, score=score), score=score, success=success)))

    result = only_case(run)
    assert (result.outcome.status, result.outcome.score, result.outcome.verdict) == (Status.SCORED, score, verdict)
    assert [judgment.evaluation.verdict for judgment in result.judgments] == [verdict, verdict]


def test_a_test_that_passes_by_its_threshold_passes_though_an_assert_failed(tmp_path: Path) -> None:
    parts = (component(), component(passed=False, score=0))

    run = imported(tmp_path, document(row(0, *parts, score=0.5, success=True)))

    result = only_case(run)
    assert (result.outcome.score, result.outcome.verdict) == (0.5, "pass")
    assert [judgment.evaluation.verdict for judgment in result.judgments] == ["pass", "pass", "fail"]


def test_asserts_are_evaluators_by_their_metric_or_type_and_numbered(tmp_path: Path) -> None:
    parts = (
        component(),
        component(score=0.5),
        component(assertion={"type": "llm-rubric", "metric": "kindness", "value": "Is kind", "weight": 2}),
        component(assertion=None, metadata={"assertionSet": {"type": "assert-set", "threshold": 0.5}}),
    )

    run = imported(tmp_path, document(row(0, *parts, namedScores={"kindness": 2, "brevity": 0.7})))

    evaluations = [judgment.evaluation for judgment in only_case(run).judgments]
    assert [(each.evaluator, each.type, each.score) for each in evaluations] == [
        ("whole test", "promptfoo", 1.0),
        ("contains", "contains", 1.0),
        ("contains 2", "contains", 0.5),
        ("kindness", "llm-rubric", 1.0),
        ("assert-set", "assert-set", 1.0),
        ("brevity", "namedScore", 0.7),
    ]
    assert evaluations[1].reasoning == "because"


def test_an_error_is_an_error_with_its_text_and_without_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-17")
    failed = row(
        response=None, gradingResult=None, success=False, score=0, failureReason=2,
        error="401 for sk-very-secret-17", cost=None,
    )  # fmt: skip

    run = imported(tmp_path, document(row(1), failed))

    error = "no_answer: the target failed: 401 for ***"
    result = list(run)[1]
    assert [judgment.evaluation.error for judgment in result.judgments] == [error]
    assert (result.answers[0].text, result.answers[0].error) == (None, error)
    assert (run.summary.cases.errors, run.summary.cases.scored, run.summary.cases.mean) == (1, 1, 1.0)


def test_an_assert_that_failed_is_no_error_though_its_reason_stands_there(tmp_path: Path) -> None:
    failed = row(0, component(passed=False, score=0), success=False, score=0, error="because")
    older = {key: value for key, value in failed.items() if key != "failureReason"}

    run = imported(tmp_path, document(failed | {"failureReason": 1}, older | {"testIdx": 1}))

    assert [result.outcome.verdict for result in run] == ["fail", "fail"]
    assert run.summary.cases.errors == 0


def test_a_grader_that_failed_is_an_error_and_no_zero(tmp_path: Path) -> None:
    broken = component(passed=False, score=0, reason="No reply", metadata={"graderError": True})
    failing = component(passed=False, score=0)

    run = imported(
        tmp_path,
        document(row(0, broken, success=False, score=0), row(1, broken, failing, success=False, score=0)),
    )

    assert [result.outcome.status for result in run] == [Status.ERROR, Status.SCORED]
    assert [result.outcome.verdict for result in run][1] == "fail"
    assert [judgment.evaluation.error for judgment in next(iter(run)).judgments] == ["recorded_error: No reply"] * 2
    assert "Evenhand as an error (2 times)" in notes_of(run)[0]


def test_a_test_that_asserts_nothing_is_not_evaluated(tmp_path: Path) -> None:
    nothing = row(gradingResult={"pass": True, "score": 1, "reason": "No assertions"}, testCase={"assert": []})

    run = imported(tmp_path, document(nothing))

    assert run.summary.cases.not_evaluated == 1
    assert run.summary.cases.mean is None


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (7, "the recorded score, 7, is not from 0 to 1, and the file states no scale"),
        (-0.5, "the recorded score, -0.5, is not from 0 to 1, and the file states no scale"),
        (None, "no score is recorded"),
    ],
)
def test_a_score_that_is_missing_or_on_another_scale_is_not_evaluated_and_noted(
    tmp_path: Path, score: object, reason: str
) -> None:
    run = imported(tmp_path, document(row(0, component(score=score), score=score)))

    evaluations = [judgment.evaluation for judgment in only_case(run).judgments]
    assert [(each.status, each.score, each.reasoning) for each in evaluations] == [
        (Status.NOT_EVALUATED, None, reason)
    ] * 2
    assert evaluations[1].score_raw == score
    assert notes_of(run) == [
        f"results.json: results.results[0].score: {reason}, so the case is not evaluated",
        f"results.json: results.results[0].gradingResult.componentResults[0].score: {reason}, so it is not evaluated",
    ]


def test_several_models_are_told_apart_and_held_together_by_their_test(tmp_path: Path) -> None:
    other = {"id": "anthropic:claude", "label": "claude"}
    rows = [row(number, provider=provider) for number in (0, 1) for provider in ("openai:gpt-5-mini", other)]

    run = imported(tmp_path, document(*rows))

    assert [result.id for result in run] == [
        "capital 0 openai:gpt-5-mini", "capital 0 claude", "capital 1 openai:gpt-5-mini", "capital 1 claude",
    ]  # fmt: skip
    assert [result.case.cluster for result in run] == ["capital 0", "capital 0", "capital 1", "capital 1"]
    assert list(run.summary.models) == ["openai:gpt-5-mini", "claude"]
    assert run.record.definition["target"] == {"models": ["openai:gpt-5-mini", "claude"]}


def test_two_models_of_a_run_can_be_compared(tmp_path: Path) -> None:
    worse = row(0, component(passed=False, score=0), provider="worse", score=0, success=False)
    rows = [each for number in range(3) for each in (row(number), {**worse, "testIdx": number})]
    rows = [{**each, "testCase": row(each["testIdx"])["testCase"]} for each in rows]
    run = imported(tmp_path, document(*rows))

    comparison = compare(run, run, model_a="openai:gpt-5-mini", model_b="worse")

    assert comparison.cases.scores.difference == -1.0
    assert comparison.cases.scores.n == 3
    targets = run.compare_targets()
    assert targets is not None
    assert (targets.baseline, targets.noun) == ("openai:gpt-5-mini", "model")
    assert targets.others["worse"].scores == comparison.cases.scores


def test_what_not_all_models_answered_is_counted_too(tmp_path: Path) -> None:
    usual = [row(0), row(1)]
    other = [row(0, provider="other"), row(2, provider="other"), row(3, provider="other")]

    targets = imported(tmp_path, document(*usual, *other)).compare_targets()

    assert targets is not None
    found = targets.others["other"]
    assert (found.in_common, found.only_a, found.only_b, found.scores.n) == (1, 1, 2, 1)


def test_a_run_of_several_models_meets_that_of_one_of_them(tmp_path: Path) -> None:
    both = imported(tmp_path, document(row(0), row(0, provider="other")), "both.json")
    one = imported(tmp_path, document(row(0)), "one.json")

    assert compare(both, one).cases.scores.n == 1


def test_several_prompts_are_told_apart(tmp_path: Path) -> None:
    long = {"raw": "Name it", "label": "Name it, please,\nin a word"}

    run = imported(tmp_path, document(row(0), row(0, prompt=long, promptIdx=1)))

    first, second = run
    assert (first.id, first.case.metadata["prompt"]) == ("capital 0 [plain]", "plain")
    assert second.case.metadata["prompt"].startswith("Name it, please,… (")
    assert first.case.cluster == second.case.cluster == "capital 0"


def test_repeats_of_a_test_are_no_independent_evidence(tmp_path: Path) -> None:
    again = {**row(0), "testIdx": 5}

    run = imported(tmp_path, document(row(0), again, row(1)))

    assert [(result.id, result.case.cluster) for result in run] == [
        ("capital 0", "capital 0"), ("capital 0 2", "capital 0"), ("capital 1", None),
    ]  # fmt: skip


def test_messages_in_a_prompt_are_messages(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital?"}]

    run = imported(tmp_path, document(row(prompt={"raw": json.dumps(messages), "label": "chat"})))

    assert [message.role for message in only_case(run).case.input_messages] == ["system", "user"]  # type: ignore[union-attr]


def test_results_in_lines_are_read(tmp_path: Path) -> None:
    run = imported(tmp_path, "\n".join(json.dumps(row(number)) for number in range(3)) + "\n\n", "results.jsonl")

    assert [result.id for result in run] == ["capital 0", "capital 1", "capital 2"]
    assert run.record.origin == "promptfoo, results.jsonl"


def test_the_older_table_is_read(tmp_path: Path) -> None:
    cell = {
        "pass": False, "score": 0.4, "text": "Rome", "prompt": "Capital of France?", "latencyMs": 10, "cost": 0,
        "namedScores": {}, "gradingResult": {"pass": False, "score": 0.4, "reason": "Not Paris"},
        "testCase": {"vars": {"country": "France"}, "assert": [CONTAINS]},
    }  # fmt: skip
    table = {
        "head": {"prompts": [{"label": "plain", "provider": "openai:gpt-5-mini"}], "vars": ["country"]},
        "body": [{"outputs": [cell], "vars": ["France"], "description": "france"}],
    }

    run = imported(tmp_path, {"results": {"version": 2, "table": table}})

    result = only_case(run)
    assert (result.id, result.outcome.score, result.outcome.verdict) == ("france", 0.4, "fail")
    assert (result.answers[0].text, result.case.metadata["vars"]) == ("Rome", {"country": "France"})
    assert result.case.metadata["model"] == "openai:gpt-5-mini"


def test_the_first_shape_has_only_successes(tmp_path: Path) -> None:
    first = {"prompt": {"raw": "Hi", "display": "{{x}}"}, "vars": {"x": "Hi"}, "response": {"output": "Ho"}}

    run = imported(tmp_path, {"version": 1, "results": [first | {"success": True}, first | {"success": False}]})

    assert [(result.outcome.score, result.outcome.verdict) for result in run] == [(1.0, "pass"), (0.0, "fail")]


def test_a_cost_of_nothing_is_unknown_where_tokens_were_used(tmp_path: Path) -> None:
    cached = {"output": "Paris", "cached": True, "tokenUsage": {"prompt": 5, "completion": 1}}

    run = imported(tmp_path, document(row(0, cost=0), row(1, cost=0, response=cached)))

    assert [result.answers[0].cost for result in run] == [None, 0.0]


def test_a_grader_takes_tokens_whose_cost_is_unknown(tmp_path: Path) -> None:
    run = imported(tmp_path, document(row(0, component(tokensUsed={"prompt": 100, "completion": 20, "total": 120}))))

    assert [judgment.cost for judgment in only_case(run).judgments] == [0.0, None]
    assert (run.summary.input_tokens, run.summary.output_tokens) == (105, 21)
    assert "as recorded, 105 tokens in and 21 out, cost at least $0.0020" in run.report()


def test_what_is_not_carried_over_is_noted_once_with_a_count(tmp_path: Path) -> None:
    rows = [row(number, response={"output": "Paris", "raw": "{}"}, novelty=1) for number in range(3)]

    run = imported(tmp_path, document(*rows, traces=[{}]))

    assert notes_of(run) == [
        "results.json: results.results[0]: novelty is not carried over: Evenhand has nothing for it (3 times)",
        "results.json: results.results[0]: response: raw is not carried over (3 times)",
        "results.json: traces are not carried over: only text is judged",
    ]


def test_notes_without_end_are_counted(tmp_path: Path) -> None:
    run = imported(tmp_path, document(row(0, **{f"key{number}": 1 for number in range(80)})))

    assert len(notes_of(run)) == 51
    assert notes_of(run)[-1] == "and 30 more"


def test_totals_that_the_rows_do_not_bear_out_are_noted(tmp_path: Path) -> None:
    content = document(row(0))
    content["results"]["stats"] = {"successes": 2, "errors": 0}

    assert notes_of(imported(tmp_path, content)) == [
        "results.json: stats.successes is 2, and the rows have 1; the rows count"
    ]


def test_keys_of_providers_are_not_stored(tmp_path: Path) -> None:
    grader = {"id": "openai:gpt-5", "config": {"apiKey": "sk-in-the-file-17"}}

    run = imported(tmp_path, document(row(0, component(assertion={**CONTAINS, "provider": grader}))))

    assert "sk-in-the-file-17" not in run.report("json") + json.dumps(run.to_dicts())
    with run.opened_store() as store:
        contents = [content for rows in store.case_rows(run.record) for *_, content in rows]
    assert "openai:gpt-5" in contents[0]
    assert "sk-in-the-file-17" not in contents[0]


def test_metadata_of_the_test_that_we_use_ourselves_is_kept_under_another_name(tmp_path: Path) -> None:
    run = imported(tmp_path, document(row(0, metadata={"model": "mine", "city": "Graz"})))

    metadata = only_case(run).case.metadata
    assert (metadata["recorded_model"], metadata["city"], metadata["model"]) == ("mine", "Graz", "openai:gpt-5-mini")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "", r"a\.json: this is not strict JSON"),
        ("a.json", '{"results": {"results": [{"succ', r"not strict JSON: .*line 1 column"),
        ("a.json", '{"results": {"results": [], "results": []}}', "duplicate key 'results'"),
        ("a.json", json.dumps(document(row(score=0.25))).replace("0.25", "NaN"), "NaN is not a number|strict JSON"),
        ("a.json", "[" * 100_000, "not strict JSON"),
        ("a.json", "[1]", "the file must be one JSON object"),
        ("a.json", {"results": {"results": []}}, "there are no results in it, not one row"),
        ("a.json", {"results": {"results": 5}}, "these are no results that can be imported"),
        ("a.json", {"results": {"results": [5]}}, r"results\.results\[0\] is 5; it must be an object"),
        ("a.json", document(row(), row(success="yes")), r"results\[1\]\.success is 'yes'; it must be true or false"),
        ("a.json", document(row(score="0.5")), r"results\[0\]\.score is '0\.5'; it must be a number"),
        ("a.json", document(row(vars=[1])), r"\.vars is \[1\]; it must be an object"),
        ("a.json", document(row(gradingResult={"componentResults": {}})), r"componentResults is \{\}; it must be a list"),
        ("a.json", document(row(0, 5)), r"componentResults\[0\] is 5; it must be an object"),  # type: ignore[arg-type]
        ("a.json", {"prompts": [], "tests": []}, "make a suite of it with: evenhand convert"),
        ("a.json", {"kind": "evenhand-run"}, "import it with: evenhand import"),
        ("a.json", {"hello": 1}, "promptfoo writes results.json .* its keys are hello"),
        ("a.jsonl", "", "these are no results that can be imported"),
        ("a.jsonl", json.dumps(row()) + '\n{"success', r"a\.jsonl:2: this is not strict JSON"),
        ("a.jsonl", json.dumps(row()) + '\n{"success": 1}', r"a\.jsonl:2\.success is 1; it must be true or false"),
        ("a.yaml", "results: []", "results are read from JSON"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_place_and_nothing_is_stored(
    tmp_path: Path, name: str, content: object, message: str
) -> None:
    (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    store = open_store(":memory:")

    with pytest.raises(ConfigError, match=message):
        results_into(store, tmp_path / name)

    assert store.runs.total() == 0


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(1_000_000_000)  # takes no room on the disk

    with pytest.raises(ConfigError, match=r"the file has 1,000 MB, .* up to 200 MB; promptfoo writes results\.jsonl"):
        import_results(tmp_path / "a.json", store=None)


def test_values_nested_deep_are_refused_or_stored(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]

    run = imported(tmp_path, document(row(0, vars={"deep": deep})))

    assert run.summary.cases.n == 1


def test_a_file_is_imported_once_unless_it_is_wanted_again(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document(row())))
    (tmp_path / "copy.json").write_text(json.dumps(document(row())))
    store = open_store(":memory:")

    first = results_into(store, tmp_path / "a.json")
    second = results_into(store, tmp_path / "copy.json")
    third = results_into(store, tmp_path / "a.json", again=True)

    assert (first.is_new, second.is_new, third.is_new) == (True, False, True)
    assert (second.id, third.id) == (first.id, f"{first.id}-2")
    assert store.runs.total() == 2


def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document(row())))
    store = open_store(":memory:")

    assert results_into(store, tmp_path / "a.json", dry_run=True).cases == 1
    assert store.runs.total() == 0


def test_two_imports_are_compared_where_their_asserts_are_the_same(tmp_path: Path) -> None:
    stricter = component(assertion={**CONTAINS, "value": "Lyon"})
    before = imported(tmp_path, document(row(0)), "a.json")
    after = imported(tmp_path, document(row(0, score=0.5)), "b.json")
    other = imported(tmp_path, document(row(0, stricter)), "c.json")

    assert compare(before, after).cases.scores.difference == -0.5
    with pytest.raises(IncomparableError) as refused:
        compare(before, other)
    assert "1 case is judged differently" in str(refused.value.differing)


def test_an_imported_run_meets_one_of_ours_by_the_ids_of_its_cases(tmp_path: Path) -> None:
    theirs = imported(tmp_path, document(row(0)))
    ours = evaluate(
        [Case(id="capital 0", question="Capital of France?", candidate_answer="Rome")],
        Contains(name="contains", value="Paris"),
        store=None,
    )

    comparison = compare(theirs, ours, anyway=True)

    assert comparison.cases.scores.difference == -1.0
    assert comparison.evaluators["contains"].scores.difference == -1.0
