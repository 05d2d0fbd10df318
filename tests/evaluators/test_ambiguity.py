"""Several different verdicts in one reply: which one counts, and what is on record of the other (SPEC-R2)."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from evenhand import create_llm_as_judge, rank, score
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation, JudgeError
from evenhand.engine.identity import Fingerprints
from evenhand.evaluators.composite import CompositeEvaluator
from evenhand.evaluators.group_ranking import GroupRankingEvaluator
from evenhand.evaluators.pairwise import PairwiseEvaluator
from evenhand.evaluators.profile_score import ProfileScoreEvaluator
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.replay import Scripted

CASE = Case(question="?", candidate_answer="Rome", reference_answer="Paris", expected_outcome="Names Paris")
GROUP = Case(metadata={"profiles": [{"id": "anna", "text": "One year."}, {"id": "ben", "text": "Ten years."}]})


def checks(*satisfied: bool) -> str:
    return json.dumps({"checks": [{"id": f"rubric-{n}", "satisfied": met} for n, met in enumerate(satisfied, start=1)]})


def replies(first: str, last: str) -> list[str]:
    return [f"Draft: {first}\nFinal: {last}"]


FREEFORM = replies('{"score": 0.9}', '{"score": 0.2}')
RUBRIC = replies(checks(True, True), checks(False, True))
PROFILE = replies('{"score": 9, "justification": "Much."}', '{"score": 2, "justification": "Little."}')
PAIR = [*replies('{"winner": "A"}', '{"winner": "B"}'), '{"winner": "B"}']
ORDER = replies('{"order": ["A", "B"]}', '{"order": ["B", "A"]}')


@pytest.mark.parametrize(
    ("kind", "options", "case", "said", "first", "last"),
    [
        (PromptEvaluator, {}, CASE, FREEFORM, 0.9, 0.2),
        (PromptEvaluator, {"rubrics": ["a", "b"]}, CASE, RUBRIC, 1.0, 0.5),
        (PromptEvaluator, {"samples": 2}, CASE, [*FREEFORM, '{"score": 0.1}'], 0.5, 0.15),
        (ProfileScoreEvaluator, {"criteria": "x"}, CASE, PROFILE, 0.9, 0.2),
        (PairwiseEvaluator, {}, CASE, PAIR, 1.0, 0.5),
    ],
)
def test_the_first_or_the_last_counts_and_what_the_other_would_have_decided_is_on_record(
    kind: Any, options: dict[str, Any], case: Case, said: list[str], first: float, last: float
) -> None:
    by_first, by_last = (
        kind(judge=Scripted(said), ambiguous=way, **options).evaluate(case) for way in ("first", "last")
    )

    assert "ambiguous" in by_first.flags
    assert "ambiguous" in by_last.flags
    assert (by_first.score, by_last.score) == pytest.approx((first, last))
    assert other(by_first) == {"counted": "first", "score": pytest.approx(last), "verdict": by_last.verdict}
    assert other(by_last) == {"counted": "last", "score": pytest.approx(first), "verdict": by_first.verdict}


def other(evaluation: Evaluation) -> Any:
    return evaluation.details["ambiguous"]


@pytest.mark.parametrize(
    ("kind", "options", "case", "said"),
    [
        (ProfileScoreEvaluator, {"criteria": "x"}, CASE, PROFILE),
        (PairwiseEvaluator, {}, CASE, PAIR[:1]),
        (GroupRankingEvaluator, {"criteria": "x"}, GROUP, ORDER),
        (PromptEvaluator, {"ambiguous": "ask_again"}, CASE, FREEFORM),
    ],
)
def test_the_other_readers_ask_again(kind: Any, options: dict[str, Any], case: Case, said: list[str]) -> None:
    evaluation = kind(judge=Scripted(said * 6), max_attempts=2, **options).evaluate(case)

    assert evaluation.error.startswith("ambiguous: the reply has verdicts that differ; give one")
    assert "ambiguous" not in evaluation.flags


def test_a_prompt_evaluator_takes_the_first_unless_told_otherwise() -> None:
    evaluation = PromptEvaluator(judge=Scripted(FREEFORM)).evaluate(CASE)

    assert (evaluation.score, evaluation.retry_count, evaluation.flags) == (0.9, 0, ("within_text", "ambiguous"))


def test_a_verdict_that_only_one_in_the_middle_contradicts_is_ambiguous_too() -> None:
    said = 'a {"score": 0.9} b {"score": 0.1} c {"score": 0.9}'

    evaluation = PromptEvaluator(judge=Scripted([said])).evaluate(CASE)

    assert "ambiguous" in evaluation.flags
    assert other(evaluation)["verdict"] == evaluation.verdict


def test_the_factory_asks_again_or_says_what_the_other_score_was() -> None:
    said = replies('{"reasoning": "", "score": true}', '{"reasoning": "", "score": false}')
    options: dict[str, Any] = {"prompt": "Rate {outputs}"}

    with pytest.raises(JudgeError, match="ambiguous: the reply has verdicts that differ"):
        create_llm_as_judge(judge=Scripted(said * 3), **options)(outputs="x")
    taken = create_llm_as_judge(judge=Scripted(said), ambiguous="last", **options)(outputs="x")

    assert taken["score"] is False
    assert taken["metadata"]["ambiguous"] == {"counted": "last", "score": True}


def test_numbers_and_booleans_of_a_users_own_schema_are_different_verdicts() -> None:
    schema = {"type": "object", "required": ["ok"]}
    judge = Scripted(replies('{"ok": 1}', '{"ok": true}') * 3)

    with pytest.raises(JudgeError, match="ambiguous"):
        create_llm_as_judge(prompt="Rate {outputs}", judge=judge, output_schema=schema)(outputs="x")
    agreed = Scripted(replies('{"ok": 1}', '{"ok": 1.0}'))
    assert create_llm_as_judge(prompt="Rate {outputs}", judge=agreed, output_schema=schema)(outputs="x") == {"ok": 1}


def test_a_composite_says_that_a_member_of_it_was_ambiguous() -> None:
    members = [
        PromptEvaluator(name=name, judge=Scripted([said])) for name, said in (("a", FREEFORM[0]), ("b", '{"score": 1}'))
    ]

    evaluation = CompositeEvaluator(members=members).evaluate(CASE)

    assert evaluation.flags == ("ambiguous",)


def test_what_is_no_way_is_refused() -> None:
    kinds: list[tuple[Any, dict[str, Any]]] = [
        (PromptEvaluator, {}),
        (PairwiseEvaluator, {}),
        (ProfileScoreEvaluator, {"criteria": "x"}),
    ]
    for kind, options in kinds:
        with pytest.raises(ConfigError, match="ambiguous is 'maybe'; it must be first, last or ask_again"):
            kind(judge=Scripted([]), ambiguous="maybe", **options)
    with pytest.raises(ConfigError, match="create_llm_as_judge: ambiguous is None; it must be"):
        create_llm_as_judge(prompt="x {outputs}", judge=Scripted([]), ambiguous=None)  # type: ignore[arg-type]


def test_strict_is_the_old_name() -> None:
    with pytest.warns(DeprecationWarning, match="'strict' is the old name; write ambiguous='ask_again'"):
        strict = PromptEvaluator(judge=Scripted([]), strict=True)
    with pytest.warns(DeprecationWarning, match="write ambiguous='first'"):
        lenient = PromptEvaluator(judge=Scripted([]), strict=False)

    assert (strict.ambiguous, lenient.ambiguous) == ("ask_again", "first")
    with pytest.raises(ConfigError, match="ambiguous last and strict True disagree; drop strict"):
        PromptEvaluator(judge=Scripted([]), ambiguous="last", strict=True)


# What evaluations of stored runs are known by; a run that was begun before there was the option must go on.
STORED = {
    "llm_judge": "9c41b89a43ba75705b49d67ffd5fcf8e",
    "llm_judge, strict": "f97f3fb07e2f92d660f96fd930df6f04",
    "pairwise": "b785d2efe54848ff2c0a5b5ab61eea74",
    "profile_score": "0aa4bcd23c15b96d2b4de2fee3577298",
    "group_ranking": "19cf0efa8caa243dc5a9e6151e48541f",
}


def test_evaluators_that_use_no_option_of_today_are_known_as_before() -> None:
    judge = Scripted([])
    now = {
        "llm_judge": PromptEvaluator(judge=judge),
        "llm_judge, strict": PromptEvaluator(judge=judge, ambiguous="ask_again"),
        "pairwise": PairwiseEvaluator(judge=judge),
        "profile_score": ProfileScoreEvaluator(judge=judge, criteria="x"),
        "group_ranking": GroupRankingEvaluator(judge=judge, criteria="x"),
    }

    assert {name: Fingerprints().of(evaluator) for name, evaluator in now.items()} == STORED
    assert len({*STORED.values(), Fingerprints().of(PairwiseEvaluator(judge=judge, ambiguous="first"))}) == 6


@pytest.mark.parametrize(("way", "points"), [("first", 9.0), ("last", 2.0)])
def test_profiles_are_scored_by_the_verdict_that_was_chosen(way: Any, points: float) -> None:
    scored = score(["A nurse."], criteria="x", judge=Scripted(PROFILE), ambiguous=way, store=None)

    assert [profile.score for profile in scored] == [points]
    assert scored.run.summary.ambiguous == {way: 1}


def test_profiles_are_asked_for_again_by_default() -> None:
    scored = score(
        ["A nurse."], criteria="x", judge=Scripted([*PROFILE, '{"score": 5, "justification": "x"}']), store=None
    )

    assert [profile.score for profile in scored] == [5.0]
    assert "ambiguous" not in scored.run.record.definition["evaluators"][0]


@pytest.mark.parametrize(("way", "best"), [("first", 0), ("last", 1)])
def test_profiles_are_ranked_by_the_verdict_that_was_chosen(way: Any, best: int) -> None:
    shown: list[str] = []

    def judge(messages: Any) -> str:
        shown[:] = sorted(("anna", "ben"), key=messages[-1]["content"].index)
        return ORDER[0]

    people = [{"id": "anna", "text": "anna"}, {"id": "ben", "text": "ben"}]
    ranked = rank(people, criteria="x", judge=judge, rounds=1, ambiguous=way, store=None)

    assert ranked.order[0] == shown[best]


def test_an_unknown_way_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(ConfigError, match="ambiguous is 'both'; it must be first, last or ask_again"):
        score(["A nurse."], criteria="x", judge=Scripted([]), ambiguous=cast("Any", "both"), store=None)
