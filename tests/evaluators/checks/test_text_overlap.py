from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from hypothesis import given, strategies as st

from evenhand import BaseEvaluator, Bleu, Case, Chrf, Evaluation, Rouge, Status, TokenF1, Verdict
from evenhand.domain.errors import ConfigError
from evenhand.evaluators.checks.text_overlap import MOST_CHARACTERS, longest_common

FOX = "The quick brown fox jumps over the lazy dog"
LOG = "The quick brown dog jumps on the log."


def measured(evaluator: BaseEvaluator, answer: str, reference: str | None = None) -> Evaluation:
    return evaluator.evaluate(Case(candidate_answer=answer, reference_answer=reference))


# Token F1


@pytest.mark.parametrize(
    ("reference", "answer", "score"),
    [
        ("Eiffel Tower", "the Eiffel tower!", 1.0),
        ("the Eiffel Tower", "Eiffel tower, Paris", 0.8),
        ("a b c d", "b c", 0.8),  # the article is no word
        ("Paris", "Lyon", 0.0),
        ("so so so", "so so", 0.8),  # each word as often as both have it
        ("state-of-the-art", "stateoftheart", 1.0),  # punctuation goes without leaving a space
        ("", "", 1.0),
        ("", "Paris", 0.0),
        ("Paris", "", 0.0),
        ("The.", "an", 1.0),  # nothing is left of either
    ],
)
def test_token_f1_is_that_of_squad(reference: str, answer: str, score: float) -> None:
    assert measured(TokenF1(), answer, reference).score == pytest.approx(score)


def test_articles_count_when_told() -> None:
    assert measured(TokenF1(articles=True), "a cat", "the cat").score == 0.5
    assert measured(TokenF1(), "a cat", "the cat").score == 1.0


def test_precision_and_recall_are_in_the_details() -> None:
    evaluation = measured(TokenF1(), "Eiffel tower, Paris", "the Eiffel Tower")

    assert evaluation.details == {"precision": pytest.approx(2 / 3), "recall": 1.0, "f1": pytest.approx(0.8)}


# ROUGE


@pytest.mark.parametrize(
    ("reference", "answer", "figures"),
    # Precision, recall and F1 of the package rouge-score 0.1.2, without its stemmer: rouge1, rouge2, rougeL.
    [
        (FOX, LOG, [(0.75, 6 / 9, 0.705882352941), (2 / 7, 0.25, 0.266666666667), (0.625, 5 / 9, 0.588235294118)]),
        ("police killed the gunman", "police kill the gunman", [(0.75,) * 3, (1 / 3,) * 3, (0.75,) * 3]),
        ("police killed the gunman", "the gunman kill police", [(0.75,) * 3, (1 / 3,) * 3, (0.5,) * 3]),
        ("testing one two", "testing", [(1.0, 1 / 3, 0.5), (0, 0, 0), (1.0, 1 / 3, 0.5)]),
        (
            "It's 5 o'clock, is it?",
            "it is 5 o clock",
            [(1.0, 5 / 7, 0.833333333333), (0.5, 1 / 3, 0.4), (0.8, 4 / 7, 0.666666666667)],
        ),
        ("state-of-the-art results", "results", [(1.0, 0.2, 1 / 3), (0, 0, 0), (1.0, 0.2, 1 / 3)]),
    ],
)
def test_rouge_is_that_of_rouge_score(reference: str, answer: str, figures: list[tuple[float, ...]]) -> None:
    variants: list[Any] = ["rouge1", "rouge2", "rougeL"]
    measures: list[Any] = ["precision", "recall", "f1"]
    for variant, expected in zip(variants, figures, strict=True):
        for measure, figure in zip(measures, expected, strict=True):
            evaluation = measured(Rouge(variant=variant, measure=measure), answer, reference)
            assert evaluation.score == pytest.approx(figure), (variant, measure)


def test_rouge_finds_words_in_every_script() -> None:
    assert measured(Rouge(), "η γάτα κάθισε", "η γάτα κοιμάται").score == pytest.approx(2 / 3)


def table(left: list[str], right: list[str]) -> int:
    rows = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, ours in enumerate(left, 1):
        for j, theirs in enumerate(right, 1):
            rows[i][j] = rows[i - 1][j - 1] + 1 if ours == theirs else max(rows[i - 1][j], rows[i][j - 1])
    return rows[-1][-1]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_the_longest_common_sequence_is_that_of_the_table(left: list[str], right: list[str]) -> None:
    assert longest_common(left, right) == table(left, right)


# BLEU and chrF


@pytest.mark.parametrize("answer", [LOG, "the quick brown fox", FOX, "", "nothing alike"])
def test_bleu_and_chrf_are_those_of_sacrebleu(answer: str) -> None:
    bleu = sacrebleu.sentence_bleu(answer, [FOX]).score / 100
    chrf = sacrebleu.sentence_chrf(answer, [FOX]).score / 100

    assert measured(Bleu(), answer, FOX).score == pytest.approx(bleu)
    assert measured(Chrf(), answer, FOX).score == pytest.approx(chrf)


def test_bleu_computed_by_hand() -> None:
    # Of six words five are right, of five pairs three, of four triples one, of three fours none, which counts 1/6.
    by_hand = (5 / 6 * 3 / 5 * 1 / 4 * 1 / 6) ** 0.25

    assert measured(Bleu(), "the cat sat on the mat", "the cat is on the mat").score == pytest.approx(by_hand)


def test_the_signature_says_how_the_score_was_computed() -> None:
    bleu = measured(Bleu(tokenize="char", lowercase=True), "cat", "Cat")
    chrf = measured(Chrf(word_order=2), "cat", "Cat")

    assert bleu.details["signature"].startswith("nrefs:1|case:lc|eff:yes|tok:char|smooth:exp|version:")
    assert chrf.details["signature"].startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:")


@pytest.mark.slow
def test_without_the_extra_a_suite_is_refused_with_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(
        "evaluators: [{type: bleu}, {type: token_f1}, {type: rouge}]\n"
        "cases: [{id: a, candidate_answer: x, reference_answer: x}]\n"
    )
    program = "import sys; sys.modules['sacrebleu'] = None\nfrom evenhand.suites.suite import problems\nprint(problems('suite.yaml'))"

    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert "bleu: it needs sacrebleu: pip install 'evenhand[text]'" in done.stdout
    assert "rouge" not in done.stdout


# All of them


ALL: list[Any] = [TokenF1, Rouge, Bleu, Chrf]


@pytest.mark.parametrize("check", ALL)
def test_an_equal_answer_scores_1_and_other_words_score_little(check: Any) -> None:
    assert measured(check(), FOX, FOX).score == 1.0
    assert measured(check(), FOX, FOX).verdict is Verdict.PASS
    assert (measured(check(), "Zzz qqq", FOX).score or 0) < 0.2
    assert measured(check(negate=True), FOX, FOX).score == 0.0


@pytest.mark.parametrize("check", ALL)
def test_of_several_references_the_best_counts(check: Any) -> None:
    assert measured(check(value=["Something else entirely", FOX]), FOX).score == 1.0


@pytest.mark.parametrize("check", ALL)
def test_what_is_missing_is_said(check: Any) -> None:
    assert check().evaluate(Case(reference_answer="x")).reasoning == "There is no candidate answer."
    assert check().evaluate(Case(candidate_answer="x")).status is Status.NOT_EVALUATED


@pytest.mark.parametrize("check", [Rouge, Bleu, Chrf])
def test_a_reference_without_words_is_not_compared(check: Any) -> None:
    assert measured(check(), "x", " … ").status is Status.NOT_EVALUATED
    assert measured(Rouge(variant="rouge2"), "x y", "x").status is Status.NOT_EVALUATED


@pytest.mark.parametrize("check", ALL)
def test_a_text_that_is_too_long_is_an_error_and_no_score(check: Any) -> None:
    evaluation = measured(check(), "a " * MOST_CHARACTERS, "b")

    assert evaluation.status is Status.ERROR
    assert evaluation.error is not None
    assert "at most 200000 are compared" in evaluation.error


def test_a_mark_of_its_own_decides_the_verdict() -> None:
    assert measured(Rouge(min=0.5), LOG, FOX).verdict is Verdict.PASS
    assert measured(Rouge(min=0.6), LOG, FOX).verdict is Verdict.FAIL
    assert measured(Rouge(min=0.6), LOG, FOX).misses == (f'ROUGE-L (f1) is 58.8%: "{LOG}".',)


@pytest.mark.parametrize(
    ("check", "options", "complaint"),
    [
        (TokenF1, {"value": 5}, "token_f1: value is 5; it must be text, or a list of texts"),
        (TokenF1, {"value": []}, "token_f1: value is"),
        (TokenF1, {"value": ["a", 1]}, "token_f1: value is"),
        (TokenF1, {"articles": "no"}, "token_f1: articles is 'no'; it must be true or false"),
        (Rouge, {"variant": "rouge3"}, "rouge: variant is 'rouge3'; it must be rouge1 or rouge2 or rougeL"),
        (Rouge, {"measure": "f2"}, "rouge: measure is 'f2'"),
        (Bleu, {"tokenize": "spm"}, "bleu: tokenize is 'spm'; it must be 13a or"),
        (Chrf, {"word_order": 3}, "chrf: word_order is 3; it must be 0, 1 or 2"),
        (Chrf, {"min": 2}, "chrf: min is 2; it must be a number from 0 to 1"),
    ],
)
def test_a_wrong_option_is_refused_and_said_what_would_be_right(
    check: Any, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{complaint}"):
        check(**options)
