"""Judge answers from Python: with a judge, a check and a function of your own, and look at what came out.

python evaluate.py                      # judged by openai/gpt-5-mini
python evaluate.py ollama/qwen2.5:7b    # or by any other model
"""

import sys

from evenhand import Case, Contains, PromptEvaluator, evaluate

CASES = [
    Case(
        id="summary",
        question="Sum up in one sentence: The council met on Monday. It decided to keep the old linden tree on the "
        "market square, and to move the bus stop instead.",
        candidate_answer="The council will keep the linden tree on the square and move the bus stop.",
        expected_outcome="Says that the linden tree stays and that the bus stop is moved",
        reference_answer="linden tree",
    ),
    Case(
        id="summary-turned-round",
        question="Sum up in one sentence: The museum stays closed until May, as its roof is being repaired. "
        "The café is open as usual.",
        candidate_answer="The museum and its café are closed until May because of work on the roof.",
        expected_outcome="Says that the museum is closed until May, and that the café is open",
        reference_answer="café",
    ),
    Case(
        id="summary-rambling",
        question="Sum up in one sentence: Night trains from Vienna to Paris will run daily from June on.",
        candidate_answer="Well, there is quite some news for everybody who likes to travel by night, since, as has "
        "become known, from June on there will be, and that daily, night trains on the line between Vienna and Paris.",
        expected_outcome="Says that night trains between Vienna and Paris run daily from June on",
        reference_answer="June",
    ),
]


def short(case: Case) -> dict[str, object]:
    """Return full marks up to 20 words, and fewer for each word beyond."""
    words = len((case.candidate_answer or "").split())
    return {"score": max(0.0, 1 - max(0, words - 20) / 20), "reasoning": f"{words} words"}


def main(judge: str) -> None:
    """Judge the cases, and show the numbers, the worst case and a table."""
    quality = PromptEvaluator(name="quality", judge=judge, weight=3)
    keyword = Contains(name="keyword", weight=0)  # shows, and does not count
    run = evaluate(CASES, [quality, keyword, short], name="summaries", gates={"min_mean": 0.6})

    print(run)  # the mean with its interval, and how many cases it is over
    for name, tally in run.summary.evaluators.items():
        print(f"{name}: {tally.passed} of {tally.scored} pass, {tally.errors} errors")
    for gate in run.gates:
        print(gate.words)

    # A case where the judge failed has no score worth comparing.
    if scored := [result for result in run if result.outcome.status == "scored"]:
        worst = min(scored, key=lambda result: result.outcome.score or 0)
        print(f"\nWorst: {worst.id}")
        for one in worst.judgments:
            print(f"  {one.evaluation.evaluator}: {one.evaluation.score} {one.evaluation.reasoning}")

    frame = run.to_pandas()  # one row per case and evaluator; needs evenhand[pandas]
    print()
    print(frame.pivot(index="case_id", columns="evaluator", values="score"))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "openai/gpt-5-mini")
