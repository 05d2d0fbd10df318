"""Gates and exit codes (SPEC-S8)."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode, exit_code
from evenhand.domain.gates import Gates
from evenhand.domain.summary import Corrected, CorrectedNumbers, Interval, Summary, Tally

USUAL = Tally(
    n=100,
    scored=90,
    errors=4,
    not_evaluated=6,
    mean=0.8,
    interval=Interval(low=0.75, high=0.85, method="t"),
    passed=60,
    borderline=20,
    failed=10,
    pass_rate=2 / 3,
    pass_rate_interval=Interval(low=0.56, high=0.76, method="wilson"),
)
SUMMARY = Summary(cases=USUAL, evaluators={"quality": Tally(n=100, scored=100, mean=0.5)})
CLEAN = Summary(cases=Tally(n=10, scored=10, mean=0.2, failed=10))
NOTHING_SCORED = Summary(cases=Tally(n=3, not_evaluated=3))


def held(demands: dict[str, Any], summary: Summary = SUMMARY) -> list[bool]:
    return [result.ok for result in Gates.of(demands).check(summary)]


# What the gates say


@pytest.mark.parametrize(
    ("demands", "ok"),
    [
        ({"min_mean": 0.8}, True),
        ({"min_mean": "80%"}, True),
        ({"min_mean": 0.81}, False),
        ({"min_mean_low": 0.75}, True),
        ({"min_mean_low": 0.76}, False),
        ({"min_pass_rate": 0.66}, True),
        ({"min_pass_rate": 0.67}, False),
        ({"min_pass_rate_low": 0.56}, True),
        ({"min_pass_rate_low": 0.6}, False),
        ({"max_unscored": 10}, True),
        ({"max_unscored": 9}, False),
        ({"max_unscored": "10%"}, True),
        ({"max_unscored": 0.05}, False),
        ({"max_failed": 10}, True),
        ({"max_failed": 9}, False),
        ({"max_failed": 0.12}, True),
        ({"max_failed": "11%"}, False),
        ({"evaluators": {"quality": {"min_mean": 0.5}}}, True),
        ({"evaluators": {"quality": {"min_mean": 0.6}}}, False),
    ],
)
def test_a_gate_compares_what_it_names(demands: dict[str, Any], ok: bool) -> None:
    assert held(demands) == [ok]


def test_float_noise_closes_no_gate() -> None:
    assert held({"min_mean": 0.8}, Summary(cases=Tally(n=2, scored=2, mean=0.1 + 0.7))) == [True]


@pytest.mark.parametrize("rule", ["min_mean", "min_mean_low", "min_pass_rate", "min_pass_rate_low", "max_failed"])
def test_without_a_scored_case_a_gate_fails_and_says_so(rule: str) -> None:
    (result,) = Gates.of({rule: 0.5}).check(NOTHING_SCORED)

    assert not result.ok
    assert result.found is None
    assert result.words.endswith("found no scored case")


def test_without_an_interval_its_lower_end_is_not_reached() -> None:
    (result,) = Gates.of({"min_mean_low": 0.1}).check(Summary(cases=Tally(n=1, scored=1, mean=1.0)))

    assert not result.ok
    assert result.words == "min_mean_low: wanted at least 0.1, found no interval, with 1 scored"


def test_a_gate_for_an_evaluator_that_is_not_there_fails() -> None:
    (result,) = Gates.of({"evaluators": {"qualty": {"min_mean": 0.1}}}).check(SUMMARY)

    assert not result.ok
    assert result.words == (
        "qualty.min_mean: wanted at least 0.1, found no evaluation by an evaluator of that name; "
        "did you mean 'quality'?"
    )


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("5%", "max_unscored: wanted at most 5 %, found 100 % (3 of 3)"),
        (0.125, "max_unscored: wanted at most 12.5 %, found 100 % (3 of 3)"),
        (2, "max_unscored: wanted at most 2, found 3"),
    ],
)
def test_a_share_of_cases_is_said_in_percent(limit: Any, words: str) -> None:
    (result,) = Gates.of({"max_unscored": limit}).check(NOTHING_SCORED)

    assert result.words == words


def test_what_is_pending_is_in_no_share() -> None:
    half_done = Summary(cases=Tally(n=100, scored=10, errors=1, pending=89))

    assert held({"max_unscored": "5%"}, half_done) == [False]
    assert held({"max_unscored": "10%"}, half_done) == [True]


def test_the_unscored_gate_is_of_its_own_kind() -> None:
    results = Gates.of({"max_unscored": 0, "max_failed": 0}).check(SUMMARY)

    assert [(result.name, result.kind) for result in results] == [("max_unscored", "unscored"), ("max_failed", "score")]


def test_a_result_tells_numbers_to_programs() -> None:
    (result,) = Gates.of({"max_failed": 3}).check(SUMMARY)

    assert result.as_dict() == {"name": "max_failed", "wanted": 3, "found": 10, "ok": False, "kind": "score"}


# What may be written


@pytest.mark.parametrize("given", [None, {}])
def test_no_gates_are_gates_too(given: Any) -> None:
    assert Gates.of(given).check(SUMMARY) == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_maen": 0.8}, "suite.yaml: gates: no gate 'min_maen'; did you mean 'min_mean'?"),
        ({"evaluators": {"q": {"min_men": 1}}}, "evaluators: q: no gate 'min_men'; did you mean 'min_mean'?"),
        ({"evaluators": {"q": {"evaluators": {}}}}, "no gate 'evaluators'"),
        ({"evaluators": ["q"]}, "evaluators must be a mapping of names to gates"),
        (["min_mean"], "gates must be a mapping such as"),
        ({"min_mean": 80}, "min_mean is 80; it must be a number from 0 to 1, or such as '80%'"),
        ({"min_mean": True}, "min_mean is True"),
        ({"min_mean": float("nan")}, "min_mean is nan"),
        ({"min_mean": "120%"}, "min_mean is '120%'"),
        ({"max_failed": -1}, "a whole number of cases, a fraction below 1, or such as '5%'"),
        ({"max_failed": 1.0}, "max_failed is 1.0"),
        ({"max_failed": 2.5}, "max_failed is 2.5"),
        ({"max_failed": True}, "max_failed is True"),
        ({"max_unscored": "many"}, "max_unscored is 'many'"),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(given: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Gates.of(given, where="suite.yaml: gates")

    assert message in str(caught.value)


def test_all_cases_can_be_written_as_a_share() -> None:
    assert held({"max_unscored": "100%"}, NOTHING_SCORED) == [True]


# Exit codes


@pytest.mark.parametrize(
    ("summary", "demands", "code"),
    [
        (CLEAN, None, ExitCode.OK),
        (SUMMARY, None, ExitCode.UNSCORED),
        (NOTHING_SCORED, None, ExitCode.OK),
        (SUMMARY, {"max_unscored": 10}, ExitCode.OK),
        (SUMMARY, {"max_unscored": 9}, ExitCode.UNSCORED),
        (NOTHING_SCORED, {"max_unscored": 2}, ExitCode.UNSCORED),
        (CLEAN, {"min_mean": 0.5}, ExitCode.GATE_FAILED),
        (CLEAN, {"min_mean": 0.1}, ExitCode.OK),
        (SUMMARY, {"min_mean": 0.1}, ExitCode.UNSCORED),
        (SUMMARY, {"min_mean": 0.9, "max_unscored": "50%"}, ExitCode.GATE_FAILED),
        (None, None, ExitCode.OK),
    ],
)
def test_the_numbers_decide_the_exit_code(summary: Summary | None, demands: Any, code: int) -> None:
    assert exit_code(summary, Gates.of(demands)) == code


def test_a_gate_for_one_evaluator_does_not_relax_the_rule_for_cases() -> None:
    gates = Gates.of({"evaluators": {"quality": {"max_unscored": 100}}})

    assert exit_code(SUMMARY, gates) == ExitCode.UNSCORED


def test_what_matters_most_wins() -> None:
    matter: dict[str, Any] = {
        "interrupted": 130,
        "usage": 2,
        "error": 1,
        "budget_reached": 102,
        "too many unscored": 101,
        "judge_not_trusted": 103,
        "gate failed": 100,
    }
    codes = []

    while matter:
        failing: dict[str, Any] = {"min_mean": 1.0} if "gate failed" in matter else {}
        failing |= {"max_unscored": 0} if "too many unscored" in matter else {"max_unscored": "100%"}
        given = {name: True for name in matter if " " not in name}
        codes.append(int(exit_code(SUMMARY, Gates.of(failing), **given)))
        del matter[next(iter(matter))]

    assert codes == [130, 2, 1, 102, 101, 103, 100]


def test_a_gate_on_what_people_would_say_needs_labels_that_support_it() -> None:
    gates = Gates.of({"min_pass_rate_corrected": "70%", "min_pass_rate_corrected_low": 0.65})
    rate = Corrected(
        value=0.74, interval=Interval(low=0.6, high=0.8, method="mover"), method="post_stratified", labels=100
    )
    labelled = CorrectedNumbers(judged=200, labels=100, basis="drawn", pass_rate=rate)
    unsupported = CorrectedNumbers(judged=200, labels=3, basis="not_drawn", pass_rate_problem="3 labels say too little")

    def found(corrected: CorrectedNumbers | None) -> list[tuple[float | None, bool, str]]:
        results = gates.check(Summary(cases=Tally(n=200, scored=200, corrected=corrected)))
        return [(result.found, result.ok, result.problem) for result in results]

    assert found(labelled) == [(0.74, True, ""), (0.6, False, "")]
    assert found(unsupported) == [(None, False, "no corrected pass rate: 3 labels say too little")] * 2
    assert all("evenhand label RUN --sample 100" in problem for _, _, problem in found(None))
    with pytest.raises(ConfigError, match="is a gate of all cases: labels are drawn among them"):
        Gates.of({"slices": {"lang": {"min_pass_rate_corrected": 0.5}}})
