"""What people read: in the terminal and as Markdown."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from evenhand import Case, Equals, evaluate
from evenhand.domain.run import Judgment, MadeAnswer, RunStatus
from evenhand.domain.summary import Interval, Summary, Tally
from evenhand.reports.effort import effort_sentence
from evenhand.reports.highlights import Highlight, Highlights, errors_once
from evenhand.reports.html.page import write_html
from evenhand.reports.markdown import markdown
from evenhand.reports.phrases import Standing, mean_sentence, pass_rate_sentence
from evenhand.reports.safe_text import escaped
from evenhand.reports.terminal import terminal

FORGED = "fine\r\n✓ pass 100   all passed\x1b]0;all passed\x07\x1b[2J\x1b[H\x9b1A\u202eoops"


@pytest.fixture
def mixed(made: Any) -> Any:
    """Return a report with something of everything."""
    return made.report(
        made.case(0.9, 1.0), made.case(0.7), made.case(made.judgment(0.2, misses=("the capital",)), id="lyon"),
        made.case("empty: nothing was said", id="broken"), made.case(None), made.case(awaited=1),
        gates={"min_mean": 0.9, "max_failed": 3}, status=RunStatus.INTERRUPTED, reason="stopped by a signal",
    )  # fmt: skip


def replaced_type(judgment: Judgment, kind: str) -> Judgment:
    return judgment._replace(evaluation=replace(judgment.evaluation, type=kind))


# Sentences


def test_a_mean_says_what_it_is_over() -> None:
    tally = Tally(
        n=100, scored=92, errors=3, not_evaluated=4, pending=1, mean=0.71, mean_if_errors_zero=0.6875,
        interval=Interval(low=0.62, high=0.8, method="t"),
    )  # fmt: skip

    assert mean_sentence(tally) == (
        "mean 0.71 [0.62, 0.80] over 92 of 100; 3 judge errors; 0.69 if counted as 0; 4 not evaluated; 1 not judged yet"
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([0.5], "mean 0.50 (n=1, no interval) over 1 of 1"),
        ([], "no mean: none of 0 cases was scored"),
        (["empty: x", "empty: x"], "no mean: none of 2 cases was scored; 2 judge errors"),
        (["no_answer: x", "no_answer: x"], "no mean: none of 2 cases was scored; 2 target errors"),
        (["no_answer: x", "empty: x"], "no mean: none of 2 cases was scored; 1 judge error and 1 target error"),
        ([0.5, 0.5], "mean 0.50 [0.09, 0.91] (all scores equal) over 2 of 2"),
    ],
)
def test_what_a_mean_lacks_is_said(made: Any, found: list[Any], words: str) -> None:
    assert mean_sentence(made.report(*map(made.case, found)).summary.cases) == words


def test_clusters_are_said(made: Any) -> None:
    even = [(0.1, "a"), (0.3, "a"), (0.9, "b"), (0.7, "b")]
    several = made.report(*[made.case(score, cluster=name) for score, name in even])
    uneven = made.report(*[made.case(score, cluster=name) for score, name in even[:3]])
    one = made.report(made.case(0.1, cluster="a"), made.case(0.3, cluster="a"))

    assert mean_sentence(several.summary.cases) == "mean 0.50 [0.00, 1.00] (2 clusters) over 4 of 4"
    assert mean_sentence(uneven.summary.cases) == "mean 0.43 (2 clusters, too unequal for an interval) over 3 of 3"
    assert mean_sentence(one.summary.cases) == "mean 0.20 (one cluster, no interval) over 2 of 2"


def test_without_a_scored_case_there_is_no_pass_rate(made: Any) -> None:
    assert pass_rate_sentence(made.report(made.case(None)).summary.cases) == "no pass rate"


def test_what_a_run_took_is_said() -> None:
    summary = Summary(
        cases=Tally(), calls=12, cached=1, retries=2, transport_faults=1, input_tokens=1200, output_tokens=30, cost=None
    )

    assert effort_sentence(summary) == (
        "12 calls to models, 1 reply from the cache, 2 retries, 1 failed call, 1,200 tokens in and 30 out, cost unknown"
    )


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        (0.42, "61 % of prompt tokens, saved $0.42"),
        (0.0, "61 % of prompt tokens"),
        (-0.01, "61 % of prompt tokens, cost $0.010 more than it saved"),
    ],
)
def test_what_the_prompt_cache_of_the_provider_did_is_said(saved: float, words: str) -> None:
    summary = Summary(cases=Tally(), calls=2, input_tokens=1000, prompt_cached_tokens=614, prompt_cache_saving=saved)

    assert effort_sentence(summary) == (
        f"2 calls to models, 1,000 tokens in and 0 out, cached by the provider: {words}, cost $0.00"
    )


@pytest.mark.parametrize(
    ("in_batches", "words"),
    [(0, "cost $0.020"), (2, "cost $0.020, 2 calls at the batch price"), (3, "cost $0.020 at the batch price")],
)
def test_the_batch_price_is_claimed_of_calls_in_batches_alone(in_batches: int, words: str) -> None:
    summary = Summary(cases=Tally(), calls=4, transport_faults=1, batch_calls=in_batches, cost=0.02)

    assert effort_sentence(summary) == f"4 calls to models, 1 failed call, {words}"


def test_models_programs_and_functions_are_told_apart(made: Any) -> None:
    member = {"type": "code_judge", "attempts": 1}
    jury = {"members": [member, {"type": "llm_judge", "attempts": 2}, {"type": "function", "attempts": 0}]}
    nested = {"members": [{"type": "composite", "attempts": 3, "details": jury}], "meta_judge": member}
    case = made.case(
        made.judgment(1.0, attempts=(made.reply(),) * 3),
        replaced_type(made.judgment(1.0, name="program", attempts=(made.reply(),)), "code_judge"),
        replaced_type(made.judgment(1.0, name="function"), "function"),
        replaced_type(made.judgment("no_answer: x", name="not called"), "function"),
        replaced_type(made.judgment(1.0, name="team", details=nested, attempts=(made.reply(),) * 4), "composite"),
    )

    report = made.report(case)

    assert (
        effort_sentence(report.summary, report.run) == "5 calls to models, 3 program runs, 2 function calls, cost $0.00"
    )


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"command": ["python", "app.py"]}, "0 calls to models, 2 program runs"),
        ({"python": "app:answer"}, "0 calls to models, 2 function calls"),
        ({"model": "openai/unheard-of"}, "2 calls to models, cost unknown"),
        ("openai/unheard-of", "2 calls to models, cost unknown"),
    ],
)
def test_what_the_target_took_is_told_by_what_it_is(made: Any, target: object, words: str) -> None:
    answers = tuple(MadeAnswer(text="x", attempts=(made.reply(),), sample=sample) for sample in (0, 1))

    report = made.report(made.case(1.0, answers=answers), definition={"target": target})

    assert effort_sentence(report.summary, report.run) == words


def test_the_cost_is_unknown_where_a_judge_was_asked_beside_a_function(made: Any) -> None:
    asked = made.judgment(1.0, cost=None, attempts=(made.reply(),))
    answers = (MadeAnswer(text="x", attempts=(made.reply(),)),)

    report = made.report(made.case(asked, answers=answers), definition={"target": {"python": "app:answer"}})

    assert effort_sentence(report.summary, report.run) == "1 call to models, 1 function call, cost unknown"


# Highlights


def test_the_worst_come_first_and_at_most_ten(made: Any) -> None:
    report = made.report(*[made.case(round(place * 7 % 20 / 20, 2)) for place in range(20)], made.case("empty: x"))

    shown = Highlights.of(report.results())

    assert [one.score for one in shown.worst] == [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45]
    assert [(one.case_id, one.reason) for one in shown.broken] == [("case-21", "empty: x")]


def test_at_most_ten_broken_ones_are_listed(made: Any) -> None:
    shown = Highlights.of([made.case("empty: x")] * 12)

    assert len(shown.broken) == 10


def test_blamed_is_whoever_failed_the_case(made: Any) -> None:
    case = made.case(
        made.judgment(0.0, name="aside", weight=0.0, reasoning="does not count"),
        made.judgment(0.65, name="fair", reasoning="so so"),
        made.judgment(0.4, name="strict", required=True, reasoning="leaks a secret"),
    )

    (worst,) = Highlights.of([case]).worst

    assert (worst.evaluator, worst.reason) == ("strict", "leaks a secret")


def test_a_required_one_that_fails_is_blamed_before_others_that_have_lower_scores(made: Any) -> None:
    case = made.case(
        made.judgment(0.0, name="style", reasoning="dull"),
        made.judgment(0.4, name="safety", required=True, reasoning="leaks a secret"),
        made.judgment(0.9, name="facts", required=True),
    )

    (worst,) = Highlights.of([case]).worst

    assert (worst.evaluator, worst.reason) == ("safety", "leaks a secret")


# Who judged


def test_reports_of_repeated_cases_say_what_counts_cases_and_what_counts_samples(made: Any) -> None:
    found: list[Any] = [1.0, 1.0, 0.0]
    samples = [made.judgment(score, sample=number) for number, score in enumerate(found)]
    idle = [made.judgment(None, sample=number) for number in range(3)]
    report = made.report(made.case(*samples), made.case(*samples), made.case(*idle))
    words = "9 samples of 3 cases: each case counts once, by its mean score and its median verdict"

    shown, written = terminal(report, width=140), markdown(report)
    page = io.StringIO()
    write_html(report, page)

    assert report.summary.cases.passed == report.summary.evaluators["quality"].passed == 2
    for text in (shown, written, page.getvalue()):
        assert words in text
    assert "Samples not evaluated: 3 × " in " ".join(shown.split())
    assert "- Samples not evaluated: 3 × " in written
    assert "Samples not evaluated</h3>" in page.getvalue()
    assert "scored cases" in shown
    assert "| scored cases |" in written


def test_reports_of_cases_judged_once_speak_of_no_samples(mixed: Any) -> None:
    page = io.StringIO()
    write_html(mixed, page)

    for text in (terminal(mixed), markdown(mixed)):
        assert "sample" not in text
    assert "counts once" not in page.getvalue()


def test_reports_for_people_name_the_judges(made: Any) -> None:
    members = [{"type": "llm_judge", "details": {"judge": name}} for name in ("xai/two_b", "openai/one")]

    report = made.report(made.case(made.judgment(1.0, details={"members": members})))

    assert "\njudged by openai/one, xai/two_b\n" in terminal(report)
    assert "\n- judged by openai/one, xai/two\\_b\n" in markdown(report)


def test_where_nobody_was_asked_no_judge_is_named(made: Any) -> None:
    report = made.report(made.case(1.0))

    assert "judged by" not in terminal(report) + markdown(report)


# Terminal


def test_the_terminal_shows_numbers_cases_gates_and_how_to_go_on(mixed: Any) -> None:
    text = terminal(mixed)

    for line in (
        "refunds: 6 cases, interrupted",
        "  stopped by a signal",
        "✓ pass 1   ≈ borderline 1   ✗ fail 1   ! error 1   – not evaluated 1   … pending 1",
        "Not evaluated: 1 × There is nothing to judge.",
        "✗ fail       0.20 lyon   quality: the capital",
        "! error  broken quality: empty: nothing was said",
        "1 empty",
        "✗ fail min_mean: wanted at least 0.9, found 0.6167",
        "✓ pass max_failed: wanted at most 3, found 1",
        "0 calls to models, cost $0.00",
        "Not finished. Resume with: evenhand resume 20260102-030405-abcd",
    ):
        assert line in text.splitlines()
    assert re.search(r"^mean 0\.62 \[.*\] over 3 of 6; 1 judge error; 0\.46 if counted as 0", text, re.MULTILINE)


def test_without_colour_there_is_no_escape_sequence(mixed: Any) -> None:
    assert "\x1b" not in terminal(mixed)


def test_with_colour_the_words_are_the_same(mixed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    coloured = terminal(mixed, colour=True)

    assert "\x1b[31m✗ fail" in coloured
    assert [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()] == terminal(
        mixed
    ).splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_line_is_wider_than_the_terminal(made: Any, width: int) -> None:
    report = made.report(
        made.case(made.judgment(0.1, name="a very long name " * 5, reasoning="漢字 wide and long " * 40), id="id" * 50),
        gates={"evaluators": {"long " * 30: {"min_mean": 0.5}}},
    )

    lines = terminal(report, width=width).splitlines()

    assert max(cell_len(line) for line in lines if "evenhand report" not in line) <= width


def test_a_command_to_copy_is_not_broken(made: Any) -> None:
    last = terminal(made.report(made.case(1.0)), width=40).splitlines()[-1]

    assert last == "All cases: evenhand report 20260102-030405-abcd --output report.html"


def test_after_a_page_was_written_nobody_is_told_to_write_it(made: Any, mixed: Any) -> None:
    assert "All cases" not in terminal(made.report(made.case(1.0)), html_written=True)
    assert "Resume with: evenhand resume" in terminal(mixed, html_written=True)


def test_flags_are_said_in_words(made: Any) -> None:
    lossy = made.judgment(1.0, flags=("members_left_out",))
    report = made.report(made.case(lossy), made.case(lossy), made.case(made.judgment(0.9, flags=("clamped", "own"))))

    shown, marked = terminal(report, width=120).splitlines(), markdown(report).splitlines()

    left_out = "2 evaluations of a composite left out members that failed or had nothing to judge"
    assert f"{left_out} (members_left_out)" in shown
    assert f"- {left_out} (members\\_left\\_out)" in marked
    for line in ("1 evaluation had a score out of range, which was clamped (clamped)", "1 evaluation flagged (own)"):
        assert line in shown
        assert f"- {line}" in marked


def test_an_unknown_cost_is_said(made: Any) -> None:
    assert "cost unknown" in terminal(made.report(made.case(made.judgment(1.0, cost=None))))


def test_a_run_without_cases_can_be_shown(made: Any) -> None:
    report = made.report()

    assert "no cases" in terminal(report)
    assert "no mean" in markdown(report)


# What models say stays theirs


def forged(made: Any) -> Any:
    return made.report(
        made.case(made.judgment(0.1, name=FORGED, reasoning=FORGED, misses=(FORGED,)), id=FORGED),
        made.case(FORGED),
        made.case(made.judgment(None, reasoning=FORGED, flags=(FORGED,))),
        gates={"evaluators": {FORGED: {"min_mean": 0.5}}},
        name=f"a name {FORGED * 5}",
        reason=FORGED * 5,
    )


@pytest.mark.parametrize("width", range(60, 120, 7))
def test_no_model_retitles_the_terminal_or_forges_a_line(made: Any, width: int) -> None:
    text = terminal(forged(made), width=width)

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert [line for line in text.splitlines() if line.startswith(("✓", "all passed"))] == []


def test_no_model_forges_a_line_of_markdown(made: Any) -> None:
    text = markdown(forged(made))

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert [line for line in text.splitlines() if line.startswith(("✓", "- ✓", "| ✓", "all passed"))] == []


# Markdown


def test_markdown_has_the_same_numbers(mixed: Any) -> None:
    text = markdown(mixed)

    for line in (
        "# refunds",
        "6 cases, interrupted: stopped by a signal",
        "- ✓ pass 1 · ≈ borderline 1 · ✗ fail 1 · ! error 1 · – not evaluated 1 · … pending 1",
        "- Not evaluated: 1 × There is nothing to judge.",
        "| ✗ fail | 0.20 | lyon | quality: the capital |",
        "| ! error | – | broken | quality: empty\\: nothing was said |",
        "| empty | 1 |",
        "| ✓ pass | max\\_failed\\: wanted at most 3, found 1 |",
    ):
        assert line in text.splitlines()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", r"a\|b"),
        ("a\\|b", r"a\\\|b"),
        ("<img src=x onerror=y>", r"\<img src\=x onerror\=y\>"),
        ("&lt;b&gt;", r"\&lt;b\&gt;"),
        ("[click](javascript:x)", r"\[click\](javascript\:x)"),
        ("![](http://x/y.png)", r"\!\[\](http\://x/y.png)"),
        ("see www.x.org", r"see www\.x.org"),
        ("`code` *b* _i_ ~~s~~ $x$", r"\`code\` \*b\* \_i\_ \~\~s\~\~ \$x\$"),
        ("@team", "@\u200bteam"),
    ],
)
def test_markup_is_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_a_row_has_as_many_cells_as_its_heading_whatever_is_in_it(made: Any) -> None:
    report = made.report(made.case(made.judgment(0.1, name="a|b", reasoning="c|d\\|e\n|f|", misses=()), id="|g|"))

    rows = [line for line in markdown(report).splitlines() if line.startswith("| ✗ fail")]

    assert [len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows] == [5]


def test_an_error_that_many_cases_share_is_told_once() -> None:
    def broken(case: str, error: str) -> Highlight:
        return Highlight(case_id=case, standing=Standing.ERROR, score=None, evaluator="e", reason=error)

    cases = [broken("a", "timeout: slow"), broken("b", "quota: used up"), broken("c", "timeout: slow")]

    told = errors_once(cases, "openai/x: quota: used up")

    assert [(one.case_id, one.reason) for one in told] == [
        ("a", "timeout: slow"),
        ("b", "the error that stopped the run"),
        ("c", "the same error as a"),
    ]


def test_repeated_cases_show_how_steady_their_verdicts_are() -> None:
    answers = iter(["Paris", "Lyon", "Paris", "Paris"])
    cases = [Case(id=f"c{number}", question="Capital?", reference_answer="Paris") for number in range(2)]
    run = evaluate(cases, Equals(), target=lambda case: next(answers), repeat=2, store=None, concurrency=1)

    told = run.report("text")

    assert "flip rate 0.50 " in told
    assert ": 1 of 2 cases passed in some samples and not in others" in told
    assert "two samples of a case agree with probability 0.50 " in told
    row = next(line for line in told.splitlines() if line.startswith("2 "))
    assert row.split()[:2] == ["2", "1.00"]
    assert "0.50 [" in row
    steadiness = run.summary.steadiness
    assert steadiness is not None
    assert json.loads(run.report("json"))["summary"]["steadiness"]["flipped"] == steadiness.flipped == 1
    assert "How steady" in run.report("html")
    assert "| 2 | 1.00 [" in run.report("md")


def test_cases_judged_once_have_no_such_block() -> None:
    run = evaluate(Case(id="c", candidate_answer="Paris", reference_answer="Paris"), Equals(), store=None)

    assert run.summary.steadiness is None
    assert "How steady" not in run.report("text") + run.report("html") + run.report("md")


def test_errors_leave_the_pass_rate_between_two_bounds() -> None:
    def judge(case: Case) -> bool:
        if case.candidate_answer == "broken":
            raise RuntimeError("no")
        return True

    cases = [Case(id=text, candidate_answer=text) for text in ("a", "b", "c", "broken")]
    run = evaluate(cases, judge, store=None)

    assert run.summary.cases.pass_rate_bounds == (0.75, 1.0)
    told = run.report("text")
    assert "if the case that ended in error had passed, the pass rate would be 1.00; if not, 0.75" in told
