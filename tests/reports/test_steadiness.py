"""The block "How steady": how far juries agree, and what was asked for nothing."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from evenhand import Case, CompositeEvaluator, Contains, PromptEvaluator, Scripted, evaluate, jury
from evenhand.domain.evaluation import Attempt, Usage
from evenhand.domain.run import MadeAnswer
from evenhand.domain.summary import Discarded, JuryAgreement, Summary, Tally
from evenhand.reports.overview import survey
from evenhand.reports.report import Report, writer_of
from evenhand.reports.steadiness import agreement_sentence, steady_grids, steady_sentences
from evenhand.reports.summary import summarize
from evenhand.reports.terminal import terminal

MEMBER = {"type": "llm_judge", "details": {}, "attempts": 1}
HOSTILE = "panel</p><script>alert(1)</script>|[x](y)\x1b[2J"


def written(report: Report, form: str) -> str:
    out = io.StringIO()
    writer_of(form)(report, out)
    return out.getvalue()


def jurors(*found: float | None, label: str | None = None) -> dict[str, Any]:
    """Return the details of a jury whose jurors found that, None being a juror that failed."""
    members = [
        MEMBER
        | {"evaluator": f"juror-{number}", "label": label}
        | ({"status": "error", "score": 0.0} if score is None else {"status": "scored", "score": score})
        for number, score in enumerate(found)
    ]
    return {"jury": True, "members": members}


def judged(made: Any, *rows: tuple[float | None, ...], name: str = "panel") -> list[Any]:
    return [made.case(made.judgment(0.5, name=name, details=jurors(*row)), position=n) for n, row in enumerate(rows)]


def test_a_run_says_how_far_the_jurors_of_a_jury_agree() -> None:
    scores = [(0.9, 0.8), (0.1, 0.3), (0.6, 0.6)]
    judges = [Scripted([f'{{"score": {row[place]}}}' for row in scores], name=f"judge-{place}") for place in (0, 1)]
    cases = [Case(id=f"c{n}", candidate_answer="Paris", expected_outcome="Names Paris") for n in range(3)]

    run = evaluate(cases, jury(judges, name="panel"), store=None, concurrency=1)

    agreement = run.summary.agreement["panel"]
    assert (agreement.cases, agreement.jurors, agreement.ratings, agreement.scale) == (3, 2, 6, "interval")
    # Within cases: 0.01 + 0.04. All ratings: 6 × Σx² − (Σx)² = 6 × 2.27 − 3.3².
    assert agreement.alpha == pytest.approx(1 - 5 * 0.05 / (6 * 2.27 - 3.3**2))
    assert json.loads(run.report("json"))["summary"]["agreement"]["panel"]["alpha"] == agreement.alpha
    for form in ("text", "md", "html"):
        told = " ".join(run.report(form).split())
        assert "How steady" in told
        assert "ury panel: Krippendorff" in told
        assert "s alpha of the scores is 0.91 (no interval: fewer than 20 cases)" in told


def test_a_notebook_shows_how_steady_too(made: Any) -> None:
    summary = summarize(judged(made, (0.2, 0.4), (0.9, 0.9)))

    shown = summary._repr_html_()

    assert "How steady" in shown
    assert "alpha of the scores" in shown


def test_labels_are_compared_as_labels() -> None:
    options: dict[str, Any] = {"choices": {"good": 1, "fair": 0.5, "bad": 0}, "template": "{{ candidate_answer }}"}
    replies = [("good", "good"), ("bad", "fair"), ("fair", "fair")]
    judges = [Scripted([f'{{"label": "{row[place]}"}}' for row in replies], name=f"judge-{place}") for place in (0, 1)]
    cases = [Case(id=f"c{n}", candidate_answer="Paris") for n in range(3)]

    run = evaluate(cases, jury(judges, name="panel", **options), store=None, concurrency=1)

    agreement = run.summary.agreement["panel"]
    assert agreement.scale == "nominal"
    # Within cases: two ratings of six are not like the other. Among all: 36 − (2² + 3² + 1²).
    assert agreement.alpha == pytest.approx(1 - 5 * 2 / (36 - 14))
    assert "alpha of the labels is 0.55" in " ".join(run.report("text").split())


def test_a_team_of_different_evaluators_is_no_jury() -> None:
    judge = Scripted(['{"score": 0.4}'] * 4)
    members: list[list[Any]] = [
        [Contains(value="Paris"), PromptEvaluator(judge=judge)],
        [
            PromptEvaluator(judge=judge, name="kind", template="Kind? {{ candidate_answer }}"),
            PromptEvaluator(judge=judge),
        ],
    ]
    case = Case(candidate_answer="Paris", expected_outcome="Names Paris")

    for team in members:
        evaluation = CompositeEvaluator(members=team).evaluate(case)
        assert "jury" not in evaluation.details


def test_members_that_put_the_same_question_are_a_jury_however_they_are_written() -> None:
    judges = [Scripted(['{"score": 0.4}'], name=name) for name in "ab"]
    team = CompositeEvaluator(
        members=[
            PromptEvaluator(judge=judges[0], name="a", weight=2, required=True),
            PromptEvaluator(judge=judges[1], name="b", thresholds={"pass": 0.9}, max_attempts=1),
        ]
    )

    evaluation = team.evaluate(Case(candidate_answer="Paris", expected_outcome="Names Paris"))

    assert evaluation.details["jury"] is True


def test_a_juror_that_failed_is_missing_and_said(made: Any) -> None:
    (sentence,) = steady_sentences(summarize(judged(made, (0.2, None, 0.4), (0.9, 0.9, 0.8), (0.5, None, None))))

    assert sentence.endswith("; 3 scores of jurors missing; 1 case with fewer than two scores left out")
    assert "over 2 cases and 3 jurors; two jurors differ by 0.10 on average" in sentence


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(0.8, 0.8)] * 40, "all 2 jurors gave the same score to every case (40 cases): alpha is not defined"),
        ([(0.8, None)] * 2, "no case was scored by two jurors, of 2 cases in all: alpha is not defined"),
        ([(n / 40, n / 40) for n in range(40)], "is 1.00 (no interval: the jurors never differ), where 1 is full"),
    ],
)
def test_where_there_is_no_number_the_sentence_says_why(made: Any, rows: Any, why: str) -> None:
    (sentence,) = steady_sentences(summarize(judged(made, *rows)))

    assert why in sentence


def test_an_interval_over_clusters_says_what_there_were_too_few_of() -> None:
    few = JuryAgreement(scale="interval", alpha=0.5, cases=100, jurors=3, clusters=4)

    assert "(no interval: fewer than 20 clusters)" in agreement_sentence("panel", few)


def test_a_jury_within_a_team_has_the_names_of_both(made: Any) -> None:
    team = {"members": [MEMBER | {"evaluator": "panel", "details": jurors(0.2, 0.4)}]}

    summary = summarize([made.case(made.judgment(0.5, name="team", details=team))])

    assert list(summary.agreement) == ["team/panel"]


@pytest.mark.parametrize("score", [None, "0.5", True, 1.5, -0.1, float("nan"), [0.5]])
def test_what_is_no_score_is_missing(made: Any, score: object) -> None:
    details = jurors(0.2, 0.4)
    details["members"].append(MEMBER | {"evaluator": "odd", "status": "scored", "score": score})

    agreement = summarize([made.case(made.judgment(0.5, name="panel", details=details))]).agreement["panel"]

    assert (agreement.ratings, agreement.missing) == (2, 1)


def test_names_of_juries_do_nothing_in_any_report(made: Any) -> None:
    report = made.report(*judged(made, (0.2, 0.4), (0.9, 0.9), name=HOSTILE))

    (sentence,) = steady_sentences(report.summary)
    assert "\x1b" not in sentence
    assert "\x1b" not in terminal(report)
    assert (
        "<script>" not in report.summary._repr_html_() + written(report, "html").split("How steady")[1].split("<h2")[0]
    )
    assert "\\|\\[x\\](y)" in written(report, "md").split("How steady")[1]


def wasted(made: Any) -> list[Any]:
    """Return cases with attempts of many kinds that did not count."""
    spent = Usage(input_tokens=100, output_tokens=10)
    broken = made.reply("{", error="truncated: cut off", usage=spent, cost=0.25)
    again = (broken, made.reply(usage=spent, cost=0.25))
    limited = [Attempt(kind="transport", error="rate_limited: HTTP 429: slow down")] * 3
    return [
        made.case(made.judgment(0.5, attempts=again, retry_count=1, cost=0.5), position=0),
        made.case(made.judgment(0.5, attempts=(*limited, made.reply(usage=spent)), cost=0.25), position=1),
        made.case(made.judgment("unparsable: no", attempts=(made.reply("?", error="unparsable: no"),), cost=None)),
    ]


def test_attempts_that_did_not_count_are_shown_by_kind_with_what_they_took(made: Any) -> None:
    summary = summarize(wasted(made))

    assert summary.discarded == {
        "rate_limited": Discarded(failed_calls=3),
        "truncated": Discarded(replies=1, input_tokens=100, output_tokens=10, known_cost=0.25),
        "unparsable": Discarded(replies=1, uncounted=1, unpriced=1),
    }
    assert steady_sentences(summary)[-1] == (
        "1 reply was asked for again; 5 attempts did not count and took 100 tokens in and 10 out "
        "(those of 1 reply unknown), at least $0.25, since a price is unknown"
    )
    (grid,) = steady_grids(summary)
    assert grid.rows == (
        ("rate_limited", "0", "3", "0", "0", "$0.00"),
        ("truncated", "1", "0", "100", "10", "$0.25"),
        ("unparsable", "1", "0", "unknown", "unknown", "unknown"),
    )


def test_every_report_shows_attempts_that_did_not_count(made: Any) -> None:
    report = made.report(*wasted(made))

    for form in ("md", "html"):
        assert "Attempts that did not count" in written(report, form)
    assert "Attempts that did not count" in terminal(report)
    assert json.loads(written(report, "json"))["summary"]["discarded"]["truncated"]["known_cost"] == 0.25
    assert "Attempts that did not count" in report.summary._repr_html_()


def test_a_reply_from_the_cache_was_not_paid_for_again(made: Any) -> None:
    cached = made.reply("{", error="truncated: cut off", usage=Usage(input_tokens=100), cached=True)

    summary = summarize([made.case(made.judgment(0.5, attempts=(cached, made.reply()), cost=0.25))])

    assert summary.discarded == {"truncated": Discarded(replies=1)}


def test_where_nothing_cost_anything_attempts_did_not_either(made: Any) -> None:
    program = made.reply("{", error="invalid_output: no JSON")

    summary = summarize([made.case(made.judgment("invalid_output: no JSON", attempts=(program,), cost=0.0))])

    assert summary.discarded == {"invalid_output": Discarded(replies=1)}


def test_what_the_target_was_asked_for_nothing_is_told_apart(made: Any) -> None:
    failed = made.reply(None, error="timeout: slow")
    answer = MadeAnswer(text="Paris", attempts=(failed, made.reply("Paris")), cost=0.0)

    summary = summarize([made.case(0.5, answers=(answer,))])

    assert list(summary.discarded) == ["target timeout"]


def test_a_run_without_juries_and_retries_has_no_such_block(made: Any) -> None:
    summary = summarize([made.case(0.5)])

    assert (summary.agreement, summary.discarded) == ({}, {})
    assert steady_sentences(summary) == []


def test_a_ranking_shows_the_attempts_and_nothing_of_verdicts() -> None:
    summary = Summary(
        cases=Tally(n=2, scored=1, errors=1), discarded={"timeout": Discarded(failed_calls=1)},
        agreement={"panel": JuryAgreement(scale="interval")},
    )  # fmt: skip

    assert steady_sentences(summary, has_verdicts=False) == [
        "1 attempt did not count and took 0 tokens in and 0 out, $0.00"
    ]


def test_what_is_kept_of_a_run_has_all_of_it(made: Any) -> None:
    overview = survey([*judged(made, *((n / 30, 0.5) for n in range(30))), *wasted(made)])

    assert type(overview).from_dict(json.loads(json.dumps(overview.as_dict()))) == overview


# Gates near their limits


def repeated(made: Any, *passes: int, of: int = 3) -> list[Any]:
    """Cases of which so many of three samples pass."""
    return [
        made.case(
            *(made.judgment(0.9 if sample < count else 0.1, sample=sample) for sample in range(of)), position=place
        )
        for place, count in enumerate(passes)
    ]


def test_a_gate_says_how_likely_a_rerun_would_flip_it(made: Any) -> None:
    report = made.report(*repeated(made, *[3] * 80, *[2] * 10, *[1] * 10), gates={"min_pass_rate": 0.9})

    (sentence,) = [one for one in steady_sentences(report.summary, report.gates) if one.startswith("gate")]

    # Each of 20 cases passes again with probability 20/27 or 7/27: ten of them, as often as a fair coin would have it.
    assert report.gates[0].ok
    assert sentence == (
        "gate min_pass_rate: by the judge and the target alone, a rerun of the same cases would meet it with probability "
        "0.60; two runs would disagree with probability 0.48"
    )
    for form in ("md", "html"):
        assert "two runs would disagree" in written(report, form)
    assert "two runs would disagree" in " ".join(terminal(report).split())


def test_a_gate_that_no_rerun_flips_needs_no_sentence(made: Any) -> None:
    report = made.report(*repeated(made, *[3] * 100), gates={"min_pass_rate": 0.9})

    assert not [one for one in steady_sentences(report.summary, report.gates) if one.startswith("gate")]


@pytest.mark.parametrize("gate", ["min_pass_rate", "min_mean"])
def test_a_limit_within_the_interval_is_told_where_cases_are_judged_once(made: Any, gate: str) -> None:
    cases = [made.case(0.95 if place % 10 else 0.2, position=place) for place in range(40)]
    near, far = (made.report(*cases, gates={gate: limit}) for limit in (0.85, 0.3))

    (sentence,) = steady_sentences(near.summary, near.gates)

    assert sentence.startswith(f"gate {gate}: the limit, 0.85, lies within the interval [0.")
    assert f"{gate}_low asks for more than luck; with repeat: 3, the report says how likely" in sentence
    assert steady_sentences(far.summary, far.gates) == []
