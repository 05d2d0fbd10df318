"""A judge card says what the labels support, and why it says no more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.label import Draw, DrawnCase, Label, answer_hash
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer, RunRecord, RunStatus
from evenhand.domain.summary import Corrected, Rate
from evenhand.domain.verdict import Thresholds
from evenhand.reports.judge_card import card_json, card_text
from evenhand.stats.kappa import Kappa
from evenhand.stats.refusal import Refused
from evenhand.stats.selective import Alone
from evenhand.trust.calibration import judge_card
from evenhand.trust.card import Basis, JudgeCard, PeopleAgreement, ProposedMark
from evenhand.trust.evidence import judge_view, pass_mark_of

ANSWER = "It is Paris."
RUN = RunRecord(number=1, id="20261117-120000-abcd", name="refunds", status=RunStatus.FINISHED, cases=1)


def judged(position: int, score: float | None, *, evaluator: str = "quality", **rest: Any) -> CaseResult:
    """Return a case with the judge's score, or with an error."""
    about: dict[str, Any] = {"evaluator": evaluator, "type": "llm_judge"} | rest
    evaluation = (
        Evaluation.with_error(error="timeout: too slow", **about)
        if score is None
        else Evaluation.with_score(score=score, verdict=Thresholds().verdict(score), **about)
    )
    case = Case(id=f"case-{position}", question=f"Question {position}?", candidate_answer=ANSWER)
    return CaseResult(position=position, case=case, judgments=(Judgment(evaluation),))


def said(position: int, value: Any, *, p: float | None = 0.5, rater: str = "Ann", **rest: Any) -> Label:
    """Return what a person said of a case."""
    fields = {"answer": answer_hash(ANSWER)} | rest
    return Label(case=f"case-{position}", position=position, rater=rater, value=value, p=p, **fields)


def drawn(labels: Iterable[Label], *, eligible: int, more: Sequence[DrawnCase] = ()) -> Draw:
    """Return the draw of some labels, and of more cases that nobody has labelled."""
    cases = {label.position: (label.case, label.p) for label in labels if label.p is not None}
    found = [
        DrawnCase(case=case, position=position, p=p or 1, answer=answer_hash(ANSWER))
        for position, (case, p) in cases.items()
    ]
    return Draw(seed=7, uncertain=0.0, evaluator=None, eligible=eligible, unsure=0, cases=(*found, *more))


CardOf = Callable[..., JudgeCard]


@pytest.fixture
def card_of() -> CardOf:
    """Make a card from scores and labels, which are a draw if they have a chance."""

    def make(scores: Sequence[float | None], labels: Sequence[Label], **rest: Any) -> JudgeCard:
        results = [judged(position, score) for position, score in enumerate(scores)]
        draw = drawn(labels, eligible=len(scores)) if any(label.is_drawn for label in labels) else None
        return judge_card(rest.pop("results", results), RUN, labels, rest.pop("draw", draw), **rest)

    return make


HALF = [0.9, 0.3] * 100


def reason(found: object) -> str:
    assert isinstance(found, Refused), found
    return found.reason


def test_without_labels_the_card_says_what_to_do(card_of: CardOf) -> None:
    card = card_of(HALF, [])

    assert (card.basis, card.labels.cases, card.judged) == (Basis.NONE, 0, 200)
    assert isinstance(card.judge_rate, Rate)
    assert card.judge_rate.value == 0.5
    assert reason(card.corrected) == "there are no labels that count"
    assert card.next_step.endswith(f"evenhand label {RUN.id} --sample 100")


def test_three_labels_support_next_to_nothing_and_the_card_says_why(card_of: CardOf) -> None:
    card = card_of(HALF, [said(0, "pass"), said(1, "fail"), said(2, "fail")])

    assert isinstance(card.kappa, Kappa)
    assert "at least 20" in reason(card.kappa.interval)
    assert "at least 10" in reason(card.proposed_mark)
    assert "at least 9" in reason(card.sure)
    assert isinstance(card.corrected, Corrected)
    assert card.corrected.method == "labels_only"
    assert "at least 5 are needed" in (card.corrected.note or "")
    assert card.next_step == f"Label more cases; 3 say little: evenhand label {RUN.id} --sample 100"


def test_people_who_pass_everything_leave_open_how_the_judge_treats_fails(card_of: CardOf) -> None:
    card = card_of(HALF, [said(place, "pass") for place in range(40)])

    assert reason(card.specificity) == "there are no labels by people that say fail"
    assert "people passed all cases, or none" in reason(card.auc)
    assert "people failed 0 of the labelled cases" in reason(card.proposed_mark)
    assert card.next_step.startswith("Label 160 more: people said fail 0 times only")


def test_a_judge_with_one_score_tells_nothing_apart(card_of: CardOf) -> None:
    labels = [said(place, "pass" if place % 2 else "fail") for place in range(40)]

    card = card_of([0.9] * 80, labels)

    for found in (card.auc, card.proposed_mark, card.sure):
        assert reason(found) == "the judge gave all labelled cases the score 0.90, which tells none from another"
    assert isinstance(card.kappa, Kappa)
    assert "gave all cases the same label" in reason(card.kappa.interval)
    assert isinstance(card.corrected, Corrected)
    assert card.corrected.method == "labels_only"


def test_labels_that_were_not_drawn_stand_for_no_mean_and_no_sure_verdict(card_of: CardOf) -> None:
    labels = [said(place, "pass" if place % 2 == 0 else "fail", p=None) for place in range(60)]

    card = card_of(HALF, labels)

    assert card.basis is Basis.NOT_DRAWN
    assert isinstance(card.corrected, Corrected)
    assert card.corrected.method == "rogan_gladen"
    assert "not drawn at random" in reason(card.sure)
    assert "alone say nothing about all cases" in reason(card.labels_only)
    assert any("not drawn at random" in note for note in card.notes)
    assert card.next_step.startswith("Draw cases at random")


def test_a_judge_no_better_than_chance_cannot_be_corrected_by_its_errors(card_of: CardOf) -> None:
    labels = [said(place, "pass" if place % 4 < 2 else "fail", p=None) for place in range(60)]

    card = card_of(HALF, labels)

    assert "not surely better than chance" in reason(card.corrected)


def test_labels_outside_the_draw_do_not_count_beside_drawn_ones(card_of: CardOf) -> None:
    labels = [said(0, "pass"), said(1, "fail"), said(1, "pass", p=None, rater="Bob"), said(2, "fail", p=None)]

    card = card_of(HALF, labels)

    assert (card.labels.cases, card.labels.counted, card.labels.not_drawn) == (2, 2, 2)
    assert card.labels.raters == ("Ann",)
    assert "not counted: 2 labels given outside the draw" in card_text(card)


def test_a_label_of_another_answer_or_of_a_case_without_a_score_is_counted_as_such(card_of: CardOf) -> None:
    labels = [said(0, "pass"), said(1, "fail", answer=answer_hash("It was Lima.")), said(2, "pass"), said(900, "pass")]

    card = card_of([0.9, 0.9, None, 0.3], labels)

    assert (card.labels.cases, card.labels.stale, card.labels.unjudged) == (1, 2, 1)
    assert dict(card.left_out) == {"without a score": 1}
    assert "2 labels of an answer that the run does not have any more" in card_text(card)


def test_with_unequal_chances_each_label_counts_by_its_chance(card_of: CardOf) -> None:
    # Of 100 cases that the judge passes, all are labelled and 80 pass; of 400 that it fails, 40 are, and 10 pass.
    scores = [0.9] * 100 + [0.3] * 400
    labels = [said(place, "pass" if place < 80 else "fail", p=1.0) for place in range(100)]
    labels += [said(100 + place, "pass" if place < 10 else "fail", p=0.1) for place in range(40)]

    card = card_of(scores, labels)

    assert card.basis is Basis.UNEQUAL
    assert isinstance(card.corrected, Corrected)
    assert card.corrected.value == pytest.approx((80 + 100) / 500)
    assert "unequal chances" in reason(card.sure)
    assert any("where the judge is unsure" in note for note in card.notes)


def test_a_draw_that_is_labelled_in_part_counts_by_the_part_that_is_labelled(card_of: CardOf) -> None:
    scores = [0.9] * 100 + [0.3] * 400
    labels = [said(place, "pass" if place < 80 else "fail", p=1.0) for place in range(100)]
    labels += [said(100 + place, "pass" if place < 10 else "fail", p=0.2) for place in range(40)]
    rest = [DrawnCase(case=f"case-{140 + n}", position=140 + n, p=0.2, answer="h0") for n in range(40)]

    card = card_of(scores, labels, draw=drawn(labels, eligible=500, more=rest))

    assert isinstance(card.corrected, Corrected)
    assert card.corrected.value == pytest.approx((80 + 100) / 500)
    assert card.labels.unlabelled == 40
    assert card.next_step == f"Label the 40 cases that are left of the draw: evenhand label {RUN.id}"


def test_of_a_group_without_any_label_nothing_can_be_said(card_of: CardOf) -> None:
    labels = [said(place, "pass", p=1.0) for place in range(60)]
    rest = [DrawnCase(case=f"case-{60 + n}", position=60 + n, p=0.2, answer="h0") for n in range(10)]

    card = card_of([0.9] * 60 + [0.3] * 50, labels, draw=drawn(labels, eligible=110, more=rest))

    assert reason(card.corrected) == "none of the 10 cases that were drawn with the chance 0.2 is labelled yet"


def test_several_people_are_combined_by_majority_and_a_tie_is_a_fail(card_of: CardOf) -> None:
    labels = [
        *(said(0, value, rater=name) for name, value in (("Ann", "pass"), ("Bob", "pass"), ("Cem", "fail"))),
        *(said(1, value, rater=name) for name, value in (("Ann", "pass"), ("Bob", "fail"))),
    ]

    card = card_of([0.9, 0.9, 0.3], labels)

    assert (card.counts.tp, card.counts.fp) == (1, 1)
    assert (card.labels.cases, card.labels.counted, card.labels.raters) == (2, 5, ("Ann", "Bob", "Cem"))
    assert [(one.case, one.people, one.labels) for one in card.differences] == [("case-1", 0.5, 2)]
    assert any("a tie is a fail" in note for note in card.notes)


def test_people_agree_with_each_other_and_each_with_the_judge(card_of: CardOf) -> None:
    labels = [
        said(place, "pass" if place % 2 == 0 or (rater == "Bob" and place < 4) else "fail", rater=rater)
        for place in range(40)
        for rater in ("Ann", "Bob")
    ]

    card = card_of(HALF, labels)

    assert isinstance(card.people, PeopleAgreement)
    assert card.people.people.cases == 40
    assert card.people.people.alpha == pytest.approx(0.9, abs=0.01)
    assert card.people.with_judge.alpha == pytest.approx(0.93, abs=0.01)
    assert [(one.rater, one.labels, one.passes) for one in card.raters] == [("Ann", 40, 20), ("Bob", 40, 22)]
    assert [one.agreement.value for one in card.raters if isinstance(one.agreement, Rate)] == [1.0, 0.95]
    assert "with the judge as one more rater" in card_text(card)


def test_scores_by_people_pass_from_the_pass_mark_on_and_are_averaged(card_of: CardOf) -> None:
    labels = [said(0, 0.8), said(1, 0.7), said(2, 0.9), said(2, 0.5, rater="Bob")]

    card = card_of([0.9, 0.9, 0.4], labels)

    assert card.scores
    assert (card.counts.tp, card.counts.fp, card.counts.tn) == (1, 1, 1)
    assert not isinstance(card.score_difference, Refused)
    assert card.score_difference.mean == pytest.approx((0.1 + 0.2 - 0.3) / 3)
    assert isinstance(card.corrected_mean, Corrected)
    assert card.corrected_mean.method == "labels_only"


def test_a_judge_that_says_how_sure_it_is_may_decide_alone(card_of: CardOf) -> None:
    # The half of which the judge is sure is right; of the others, every second verdict is wrong.
    results = [
        judged(place, 0.9 if place % 2 else 0.3, details={"confidence": 0.95 if place % 200 < 100 else 0.5})
        for place in range(400)
    ]
    wrong = {place for place in range(400) if place % 200 >= 100 and place % 4 < 2}
    labels = [said(place, "pass" if bool(place % 2) != (place in wrong) else "fail") for place in range(200)]

    card = card_of([0.9] * 400, labels, results=results)

    assert isinstance(card.alone, Alone)
    assert card.alone.confidence == 0.95
    assert "may decide alone: it was wrong in 0 of 100" in card_text(card)


def test_of_a_judge_that_does_not_say_how_sure_it_is_the_distance_from_the_pass_mark_counts(card_of: CardOf) -> None:
    # Far from the mark at 0.8 the judge is right; near it, every second verdict is wrong.
    scores = [(0.95, 0.1, 0.82, 0.75)[place % 4] for place in range(400)]
    wrong = {place for place in range(200) if place % 4 > 1 and place % 8 < 4}
    labels = [said(place, "pass" if (scores[place] > 0.8) != (place in wrong) else "fail") for place in range(200)]

    card = card_of(scores, labels)

    assert isinstance(card.alone, Alone)
    assert card.alone.confidence == 0.75


def test_without_a_confidence_the_card_says_so(card_of: CardOf) -> None:
    results = [judged(place, 0.9, details={"confidence": None}) for place in range(200)]

    card = card_of(HALF, [said(0, "pass")], results=results)

    assert "gives no confidence" in reason(card.alone)


def test_a_better_pass_mark_is_proposed(card_of: CardOf) -> None:
    scores = [0.7] * 50 + [0.4] * 50
    labels = [said(place, "pass" if place < 50 else "fail", p=1.0) for place in range(100)]

    card = card_of(scores, labels)

    assert isinstance(card.proposed_mark, ProposedMark)
    assert (card.proposed_mark.mark, card.proposed_mark.current, card.proposed_mark.honest) == (0.7, 0.0, 1.0)


def test_the_next_step_says_how_many_labels_more_narrow_the_interval(card_of: CardOf) -> None:
    labels = [said(place, "pass" if place % 2 == 0 else "fail", p=0.1) for place in range(100)]
    labels[0], labels[1] = said(0, "fail", p=0.1), said(1, "pass", p=0.1)

    card = card_of([0.9, 0.3] * 500, labels)

    assert isinstance(card.corrected, Corrected)
    half = (card.corrected.interval.high - card.corrected.interval.low) / 2
    assert 0.05 < half < 0.06
    assert card.next_step.startswith("Label ")
    assert "more to bring the interval under ±5 points" in card.next_step


def test_labels_for_another_evaluator_are_pointed_at(card_of: CardOf) -> None:
    card = card_of(HALF, [said(0, "pass", evaluator="quality")])

    assert dict(card.labels.elsewhere) == {"quality": 1}
    assert card.next_step == "Choose what is to be checked: 1 label is for the evaluator 'quality': name it."


def test_the_card_of_an_evaluator_takes_its_labels_alone_and_an_unknown_one_is_refused() -> None:
    results = [judged(0, 0.9), judged(1, 0.3)]
    labels = [said(0, "pass", evaluator="quality"), said(1, "pass")]

    card = judge_card(results, RUN, labels, evaluator="quality")

    assert (card.evaluator, card.labels.cases, dict(card.labels.elsewhere)) == ("quality", 1, {None: 1})
    with pytest.raises(ConfigError, match="has no evaluator 'qualty'; did you mean 'quality'"):
        judge_card(results, RUN, labels, evaluator="qualty")


def test_an_evaluator_with_thresholds_of_its_own_has_its_own_pass_mark() -> None:
    definition = {"evaluators": [{"type": "llm_judge", "name": "quality", "thresholds": {"pass": 0.5}}]}
    run = RunRecord(number=1, id="r", name="r", status=RunStatus.FINISHED, definition=definition)

    assert (pass_mark_of(run), pass_mark_of(run, "quality"), pass_mark_of(run, "other")) == (0.8, 0.5, 0.8)


def test_where_each_sample_has_its_own_answer_the_first_one_counts() -> None:
    first, second = judged(0, 0.9).judgments[0], judged(0, 0.1).judgments[0]._replace(sample=1)
    same = replace(judged(0, 0.9), judgments=(first, second))
    own = replace(same, answers=(MadeAnswer(text=ANSWER), MadeAnswer(text="No.", sample=1)))

    assert [view and view.score for view in (judge_view(same), judge_view(same, "quality"))] == [0.5, 0.5]
    assert [view and view.score for view in (judge_view(own), judge_view(own, "quality"))] == [0.9, 0.9]


def test_a_card_is_plain_json_also_where_numbers_are_refused(card_of: CardOf) -> None:
    card = card_of(HALF, [said(0, "pass"), said(1, "fail")])

    row: dict[str, Any] = json.loads(card_json(card))

    assert row["proposed_mark"] == {"refused": reason(card.proposed_mark)}
    assert row["judge_rate"]["interval"]["method"] == "wilson"
    assert row["labels"]["raters"] == ["Ann"]
    assert row["schema_version"] == 1
    assert set(card.as_dict()) <= set(row)
