"""The whole judge card of 400 judged cases and 100 labels, against figures that were worked out in another way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.label import Draw, DrawnCase, Label, LabelValue, answer_hash
from evenhand.domain.run import Judgment, PlannedCase, RunStatus
from evenhand.domain.summary import Corrected, Rate
from evenhand.domain.verdict import Verdict
from evenhand.engine.run import Run
from evenhand.engine.store_location import StoreLocation
from evenhand.store.rows import Batch, case_content, dumps, evaluation_row
from evenhand.store.store import Store, open_store
from evenhand.trust.card import Basis, JudgeCard, ProposedMark, SureMarks

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    (found,) = json.loads((GOLDEN / "trust_expected.json").read_text(encoding="utf-8"))["cases"]
    return dict(found)


@pytest.fixture(scope="module")
def rows(expected: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / expected["file"]).read_text(encoding="utf-8").splitlines()]


def stored(store: Store, rows: list[dict[str, Any]], *, is_drawn: bool, has_scores: bool) -> str:
    """Store a run with the golden scores, verdicts and labels, and return its id."""
    run = store.runs.create(name="golden", source=None, definition={}, options={})
    cases = [
        PlannedCase(
            position=place, case=Case(id=row["id"], question="?", candidate_answer=row["id"]), hash="h", expected=1
        )
        for place, row in enumerate(rows)
    ]
    store.add_cases(
        [(run.number, one.position, one.case.id, one.hash, one.expected, dumps(case_content(one))) for one in cases]
    )
    judgments = [
        Judgment(
            evaluation=Evaluation.with_score(
                evaluator="quality", type="llm_judge", score=row["score"], verdict=Verdict(row["verdict"])
            ),
            key="k",
        )
        for row in rows
    ]
    store.commit(Batch(evaluations=[evaluation_row(run.number, place, 0, one) for place, one in enumerate(judgments)]))
    run = store.runs.mark(run, RunStatus.FINISHED, cases=len(rows))
    labelled = [(place, row) for place, row in enumerate(rows) if row["human"] is not None]
    p = len(labelled) / len(rows)
    if is_drawn:
        drawn = tuple(
            DrawnCase(case=row["id"], position=place, p=p, answer=answer_hash(row["id"])) for place, row in labelled
        )
        store.labels.keep_draw(
            run, Draw(seed=7, uncertain=0.0, evaluator=None, eligible=len(rows), unsure=0, cases=drawn)
        )

    def value(row: dict[str, Any]) -> LabelValue:
        word: LabelValue = "pass" if row["human"] == "pass" else "fail"
        return float(word == "pass") if has_scores else word

    store.labels.add(
        run,
        [
            Label(
                case=row["id"],
                position=place,
                rater="Ann",
                value=value(row),
                answer=answer_hash(row["id"]),
                p=p if is_drawn else None,
            )
            for place, row in labelled
        ],
    )
    return run.id


def card(folder: Path, rows: list[dict[str, Any]], *, is_drawn: bool = True, has_scores: bool = False) -> JudgeCard:
    db = str(folder / "golden.db")
    store = open_store(db)
    try:
        run = stored(store, rows, is_drawn=is_drawn, has_scores=has_scores)
    finally:
        store.close()
    return Run.open(run, store=StoreLocation(db)).calibrate()


def close(value: Any) -> Any:
    return pytest.approx(value, abs=1e-6)


def ends(found: Any) -> tuple[float, float]:
    return found.interval.low, found.interval.high


def test_every_number_of_the_card_is_the_golden_one(
    tmp_path: Path, rows: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    found = card(tmp_path, rows)

    for name in ("judged", "judge_passes", "pass_mark"):
        assert getattr(found, name) == expected[name]
    assert (found.labels.cases, found.basis) == (expected["labelled"], Basis.DRAWN)
    for name in ("tp", "fp", "fn", "tn"):
        assert getattr(found.counts, name) == expected[name]
    for name in ("judge_rate", "agreement", "kappa", "sensitivity", "specificity", "bias", "labels_only", "corrected"):
        number = getattr(found, name)
        assert number.value == close(expected[name]), name
        assert ends(number) == close(tuple(expected[f"{name}_interval"])), name
    assert found.bias.p == close(expected["bias_p"])  # type: ignore[union-attr]
    assert found.auc == close(expected["auc"])
    assert isinstance(found.corrected, Corrected)
    assert found.corrected.worth == close(expected["worth_labels"])


def test_the_marks_are_the_golden_ones(tmp_path: Path, rows: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    found = card(tmp_path, rows)

    mark, sure = found.proposed_mark, found.sure
    assert isinstance(mark, ProposedMark)
    assert mark.mark == expected["threshold"]["chosen"]
    assert mark.apparent == close(expected["threshold"]["apparent_youden"])
    assert mark.honest == close(expected["threshold"]["honest_youden"])
    assert list(mark.by_fold) == expected["threshold"]["mark_by_fold"]
    assert isinstance(sure, SureMarks)
    conformal = expected["conformal_90"]
    assert (sure.pass_above, sure.fail_below) == (conformal["pass_above"], conformal["fail_below"])
    assert {"pass": sure.passed, "borderline": sure.borderline, "fail": sure.failed} == conformal["verdicts"]


def test_labels_that_were_not_drawn_are_corrected_by_error_rates(
    tmp_path: Path, rows: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    found = card(tmp_path, rows, is_drawn=False)

    assert found.basis is Basis.NOT_DRAWN
    assert isinstance(found.corrected, Corrected)
    assert found.corrected.method == "rogan_gladen"
    assert found.corrected.value == close(expected["rogan_gladen"]["estimate"])
    assert ends(found.corrected) == close((expected["rogan_gladen"]["low"], expected["rogan_gladen"]["high"]))


def test_labels_that_are_scores_have_a_corrected_mean(
    tmp_path: Path, rows: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    found = card(tmp_path, rows, has_scores=True)

    golden = expected["ppi_by_score"]
    assert isinstance(found.corrected_mean, Corrected)
    assert found.corrected_mean.value == close(golden["estimate"])
    assert ends(found.corrected_mean) == close((golden["low"], golden["high"]))
    assert isinstance(found.agreement, Rate)
    assert found.agreement.value == close(expected["agreement"])
