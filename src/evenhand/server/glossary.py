"""The words of the pages, each explained in a sentence: one place for what a statistic or a status means."""

from __future__ import annotations

from typing import Final

from evenhand.server.word import Word

WORDS: Final = (
    Word(
        label="pass",
        others=("passed",),
        sentence="The score reaches the pass threshold: 0.8, unless the evaluator or the suite says otherwise.",
        link="/help/results#verdicts",
    ),
    Word(
        label="borderline",
        sentence="The score is below the pass threshold, but reaches the borderline threshold.",
        link="/help/results#verdicts",
    ),
    Word(
        label="fail",
        sentence="The answer was judged, and its score is below the borderline threshold.",
        link="/help/results#verdicts",
    ),
    Word(
        label="error",
        others=("errors",),
        sentence="The judge or the target failed; errors are counted separately, and never as a score of 0.",
        link="/help/numbers#unscored-is-not-zero",
    ),
    Word(
        label="not evaluated",
        others=("not_evaluated",),
        sentence="There was nothing to judge, or nothing to judge it by; it is in no mean and in no rate.",
        link="/help/results#three-states",
    ),
    Word(
        label="pending",
        sentence="The run has not reached this case yet, or not all of its evaluators.",
        link="/help/numbers#unscored-is-not-zero",
    ),
    Word(
        label="unscored",
        sentence="Cases without a score: those that ended in an error, and those that were not evaluated.",
        link="/help/numbers#unscored-is-not-zero",
    ),
    Word(
        label="scored",
        others=("scored in both",),
        sentence="The answer was judged, so it has a score and a verdict; only scored cases are in a mean.",
        link="/help/results#three-states",
    ),
    Word(
        label="pass rate",
        sentence=(
            "The share of the scored cases whose verdict is pass; the interval says how far it could be off by chance."
        ),
        link="/help/numbers#intervals",
    ),
    Word(
        label="median",
        sentence="Half of the scores are higher than it or equal, and half are lower or equal.",
        link="/help/profiles#how-scores-spread",
    ),
    Word(
        label="standard deviation",
        sentence="How far scores typically lie from their mean: those of different profiles, on the same scale.",
        link="/help/profiles#how-scores-spread",
    ),
    Word(
        label="mean",
        others=("mean score", "means", "mean of a", "mean of b"),
        sentence=(
            "The average score of the scored cases, from 0 to 1 unless stated otherwise; a case that was judged "
            "several times counts once."
        ),
        link="/help/numbers#intervals",
    ),
    Word(
        label="confidence interval",
        others=("95 %", "95%"),
        sentence=(
            "If other cases of the same kind were judged, intervals made like this one would contain the true "
            "value 95 times out of 100."
        ),
        link="/help/numbers#intervals",
    ),
    Word(
        label="n",
        sentence="How many cases a number is about; with few of them, it can be far off by chance.",
        link="/help/numbers",
    ),
    Word(
        label="difference",
        others=("b − a",),
        sentence=(
            "The mean of B minus that of A, over the cases that are scored in both; if its interval contains 0, "
            "it may be chance."
        ),
        link="/help/compare#which-test-and-why",
    ),
    Word(
        label="test",
        sentence=(
            "The statistical test behind the p value; it is chosen by what the scores are, and never by the outcome."
        ),
        link="/help/compare#which-test-and-why",
    ),
    Word(
        label="p",
        others=("p value",),
        sentence=(
            "How often a difference this large or larger would appear by chance if A and B were equally good; "
            "below 0.05 counts as shown."
        ),
        link="/help/compare#which-test-and-why",
    ),
    Word(
        label="Holm",
        others=("p, holm", "p (holm)"),
        sentence=(
            "The p value corrected for the number of comparisons, since one of many is below 0.05 by chance alone."
        ),
        link="/help/compare#which-test-and-why",
    ),
    Word(
        label="detectable difference",
        others=("power", "detectable"),
        sentence=(
            "The smallest true difference that so many cases would show four times out of five (80 % power); "
            "smaller ones may exist unseen."
        ),
        link="/help/compare#which-test-and-why",
    ),
    Word(
        label="standardised difference",
        sentence=(
            "The mean difference divided by the standard deviation of the differences: 0.2 is small, 0.8 is large."
        ),
        link="/help/compare#which-test-and-why",
    ),
    Word(
        label="odds ratio",
        sentence="For scores of 0 and 1: how many cases B won for each one that it lost.",
        link="/help/compare#which-test-and-why",
    ),
    Word(
        label="win/tie/loss",
        sentence="How many cases scored higher, the same and lower in B than in A.",
        link="/help/compare",
    ),
    Word(
        label="how steady",
        others=("flip rate",),
        sentence=(
            "How far the numbers could move without any change to the answers or the judge: errors, repeated "
            "samples, and jurors that disagree."
        ),
        link="/help/numbers#how-steady",
    ),
    Word(
        label="pass@k",
        others=("pass@k: any passes", "pass@k and pass^k"),
        sentence="The probability that at least one of k samples of a case passes.",
        link="/help/numbers#how-steady",
    ),
    Word(
        label="pass^k",
        others=("pass^k: all pass",),
        sentence="The probability that all of k samples of a case pass.",
        link="/help/numbers#how-steady",
    ),
    Word(
        label="Krippendorff's alpha",
        others=("jury agreement",),
        sentence=(
            "How far jurors agree beyond chance: 1 is full agreement, 0 what chance would give, and below 0 they "
            "differ more than by chance."
        ),
        link="/help/numbers#agreement-of-a-jury",
    ),
    Word(
        label="cost",
        others=("cost so far", "cost per answer"),
        sentence=(
            "Dollars, computed from the token counts that providers report and from a price table; it does not "
            "include what is taken from the cache."
        ),
        link="/help/costs",
    ),
    Word(
        label="unknown cost",
        sentence=(
            "A model without a known price was asked; an unknown cost is never counted as 0, and ≥ stands before "
            "what is known."
        ),
        link="/help/costs#prices",
    ),
    Word(
        label="cached",
        others=("from the cache", "replies from the cache"),
        sentence="The same request was answered before, and its stored reply was used: no call, no cost.",
        link="/help/costs",
    ),
    Word(
        label="cached by the provider",
        sentence=(
            "The provider had kept the beginning of these prompts, which costs less than to read it again; this is not "
            "Evenhand's own cache."
        ),
        link="/help/costs#prompt-caches-of-providers",
    ),
    Word(
        label="retries",
        others=("retry", "retried"),
        sentence="How often a model was asked again, because its reply could not be used or the request failed.",
        link="/help/results#attempts",
    ),
    Word(
        label="gate",
        others=("gates",),
        sentence="A limit that a run has to meet, such as a lowest mean; in CI, a missed gate fails the build.",
        link="/help/numbers#gates",
    ),
    Word(
        label="baseline",
        sentence="The pinned run of a prompt or suite, with which later runs are compared.",
        link="/help/web#is-it-better",
    ),
    Word(
        label="interrupted",
        sentence=(
            "The run ended early, by hand or because its process is gone; what is done is kept, and it can be resumed."
        ),
        link="/help/resuming",
    ),
    Word(
        label="stopped",
        sentence="The run stopped by itself, for instance at a budget or because a key was refused; it can be resumed.",
        link="/help/resuming",
    ),
    Word(
        label="nothing scored",
        sentence="The run finished, but every case ended in an error, so that it has no mean and no pass rate.",
        link="/help/web#runs",
    ),
    Word(
        label="rank",
        sentence=(
            "The place in the order that agrees best with all groups; the interval contains 95% of the ranks that "
            "the judge's replies leave possible."
        ),
        link="/help/ranking#what-the-numbers-mean",
    ),
    Word(
        label="tier",
        sentence="Profiles that cannot be told apart from the first one in their tier.",
        link="/help/ranking#what-the-numbers-mean",
    ),
    Word(
        label="strength",
        sentence=(
            "Log-odds around 0: of two profiles that differ by 1, the stronger one is ranked first 73 times out of 100."
        ),
        link="/help/ranking#what-the-numbers-mean",
    ),
    Word(
        label="wins",
        others=("win rate",),
        sentence="The share of comparisons that a profile won, with ties counted as half.",
        link="/help/ranking#pairs",
    ),
    Word(
        label="length-adjusted",
        others=("wins, length-adjusted",),
        sentence="The win rate that a profile would have if all texts were equally long.",
        link="/help/ranking#pairs",
    ),
    Word(
        label="agreement",
        sentence="How often what the judge said earlier predicts what it says of two profiles later; chance is 50%.",
        link="/help/ranking#what-the-numbers-mean",
    ),
    Word(
        label="groups",
        sentence="In how many groups the judge saw the profile; the more, the narrower the interval of its rank.",
        link="/help/ranking#designs",
    ),
    Word(
        label="position bias",
        others=("mean place by position shown",),
        sentence=(
            "The judge prefers some positions over others, whatever is shown there; a linear trend is corrected for."
        ),
        link="/help/ranking#what-the-numbers-mean",
    ),
    Word(
        label="main effect",
        others=("main effects",),
        sentence=(
            "The difference in points between a level of an attribute and its first level, averaged over "
            "everything else."
        ),
        link="/help/audit#what-the-report-says",
    ),
    Word(
        label="interaction",
        others=("interactions with groups",),
        sentence="Whether an attribute counts differently in one group than in another.",
        link="/help/audit#what-the-report-says",
    ),
    Word(
        label="impact ratio",
        sentence=(
            "The rate at which a group is selected, divided by that of the group selected most often; below 0.80 "
            "is commonly taken as a sign of adverse impact."
        ),
        link="/help/audit#what-the-report-says",
    ),
    Word(
        label="draw",
        sentence="The cases that people are to label: taken at random by a seed, each with a known chance.",
        link="/help/labels#the-draw",
    ),
    Word(
        label="corrected pass rate",
        sentence=(
            "The share of all cases that people would pass, worked out from the judge's verdicts and the cases that "
            "people labelled."
        ),
        link="/help/judge-card#in-the-report-of-a-run",
    ),
    Word(
        label="judge card",
        sentence=(
            "What is known of a judge: how often it agrees with people and to which side it errs, or which probes it "
            "passed and failed."
        ),
        link="/help/judge-card",
    ),
    Word(
        label="attack success rate",
        others=("attack success",),
        sentence=(
            "The share of bad answers that pass with an attack, such as an instruction to the judge, among those that "
            "fail without it."
        ),
        link="/help/doctor#the-probes",
    ),
    Word(
        label="level",
        sentence="A value of an attribute, such as 10 years of experience; the others are compared with the first one.",
        link="/help/audit#a-design",
    ),
    Word(
        label="points",
        sentence="A difference between scores, which go from 0 to 10; above 0 means that it helps.",
        link="/help/audit#what-the-report-says",
    ),
    Word(
        label="spread",
        sentence="How much the judge disagrees with itself: the standard deviation of a profile's repetitions.",
        link="/help/audit#what-the-report-says",
    ),
    Word(
        label="replicate error",
        others=("replicate",),
        sentence=(
            "How far an effect would move if the judge scored the same profiles again: its own noise. * marks the "
            "error that decides."
        ),
        link="/help/audit#which-error-decides",
    ),
    Word(
        label="clustered error",
        others=("clustered",),
        sentence=(
            "How far an effect would move with other profiles like these. Against it, an effect holds for those too; "
            "* marks the error that decides."
        ),
        link="/help/audit#which-error-decides",
    ),
    Word(
        label="selected",
        others=("rate", "selection rate"),
        sentence="How many profiles of a level reach the score at which the design selects; the rate is their share.",
        link="/help/audit#what-the-report-says",
    ),
    Word(
        label="swap",
        others=("group changed", "score changed", "selection changed"),
        sentence=(
            "Pairs of profiles that differ only in the group; the score has changed in those with different scores, "
            "the selection in those of which only one is selected."
        ),
        link="/help/audit#what-the-report-says",
    ),
)
