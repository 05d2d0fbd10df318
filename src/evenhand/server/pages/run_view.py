"""A run as pages show it: as a row of a list, and on its own page."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

from evenhand.domain.failure import Failure
from evenhand.domain.run import RunRecord
from evenhand.domain.run_kind import (
    RANKING,
    SCORING,
    has_verdicts,
    is_audit,
    is_scoring,
    mode_of,
    without_unset_marks,
)
from evenhand.domain.summary import Tally
from evenhand.profiles.score_report import mark_sentence
from evenhand.profiles.scores import ProfileScore, profile_score
from evenhand.reports.effort import Effort
from evenhand.reports.html.judgment import RANKED, SCORED
from evenhand.reports.html.run import RunView, run_facts
from evenhand.reports.phrases import NONE, Standing, cost_text, counted, duration_text, names_in
from evenhand.reports.safe_text import plain
from evenhand.server.runs.baseline import is_baseline, is_hollow
from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.profile_summaries import ProfileNumbers, ScoredRun, scale_of
from evenhand.server.runs.progress import AT_WORK
from evenhand.server.runs.results import metadata_query
from evenhand.server.runs.summaries import Numbers, SummaryCache
from evenhand.server.runs.views import MOST_CASES_IN_LIST, judge_of
from evenhand.store.results import cases_at, positions_with_errors
from evenhand.store.store import Store
from evenhand.suites.drift import drift_of
from evenhand.suites.lint import kinship_notes
from evenhand.workspace.prompt_run import PROMPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A run in a list; if ``numbers`` is None, it is in progress, or ``why`` is the reason."""

    run: RunRecord
    numbers: Numbers | None
    why: str = ""
    live: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, store: Store, run: RunRecord, manager: RunManager, summaries: SummaryCache) -> Row:
        """Return the row of a run; the numbers of a large one are not waited for."""
        if run.status in AT_WORK:
            progress = manager.progress(run.id)
            return cls(run=run, numbers=None, live=None if progress is None else live(progress))
        if run.cases > MOST_CASES_IN_LIST and not summaries.has(store, run):
            return cls(run=run, numbers=None, why="large: open it to see its numbers")
        return cls(run=run, numbers=summaries.of(store, run))

    @property
    def cases(self) -> Tally | None:
        """The numbers of its cases, those of profiles from 0 to 10."""
        if self.numbers is None:
            return None
        return self.numbers.summary.cases.scaled(self.scale or 1)

    @property
    def scale(self) -> int | None:
        """The highest score; None for a ranking, which has no scores."""
        return scale_of(self.run)

    @property
    def has_verdicts(self) -> bool:
        """Whether its cases pass or fail: no group does, and a profile only where a pass mark was set."""
        return has_verdicts(self.run.definition)

    @property
    def has_audit(self) -> bool:
        """Whether it has a page as an audit."""
        return is_audit(self.run.definition)

    @property
    def cost(self) -> str:
        """What it cost."""
        return NONE if self.numbers is None else Effort.of(self.numbers.summary, self.run).cost or NONE

    @property
    def short_cost(self) -> str:
        """What it cost, at least: what has no price is not in it, which ``cost`` says in full."""
        if self.numbers is None or self.cost == NONE:
            return NONE
        summary = self.numbers.summary
        return (
            f"≥ {cost_text(summary.known_cost)}" if summary.unpriced and summary.known_cost else cost_text(summary.cost)
        )

    @property
    def duration(self) -> str:
        """How long it took."""
        finished = self.run.finished
        return NONE if finished is None else duration_text(max(finished - self.run.created, 0))

    @property
    def details(self) -> list[str]:
        """What tells it from other runs: the version of its prompt, what answered, and the judge."""
        prompt = self.run.definition.get(PROMPT)
        version = f"version {prompt.get('version')}" if isinstance(prompt, Mapping) else ""
        judge = judge_of(self.run)
        answered_by = ", ".join(names_in(self.run.definition.get("target")))
        return [detail for detail in (version, answered_by, judge and f"judged by {judge}") if detail]

    @property
    def is_hollow(self) -> bool:
        """Whether it has finished, and all it has is errors."""
        return self.numbers is not None and is_hollow(self.run, self.numbers.summary)

    @property
    def is_baseline(self) -> bool:
        """Whether it is a baseline."""
        return is_baseline(self.run)


_MOST_LOOKED_AT: Final = 20
_LONGEST_ERROR: Final = 300


def first_errors(store: Store, run: RunRecord) -> dict[str, str]:
    """Return an error of each kind in full, from the first cases that have any."""
    found: dict[str, str] = {}
    for stored in cases_at(store, run, positions_with_errors(store, run, _MOST_LOOKED_AT)).values():
        result = stored.result
        judged = ((judgment.evaluation.error, "") for judgment in result.judgments)
        answered = ((answer.error, "target ") for answer in result.answers)
        for error, whose in itertools.chain(judged, answered):
            if error is not None:
                failure = Failure.of(error)
                found.setdefault(f"{whose}{failure.kind}", plain(failure.message, _LONGEST_ERROR))
    return found


# Files of runs over profiles have a row or a line per profile.
PROFILE_FORMATS: Final = (
    ("html", "A self-contained report"),
    ("json", "The run with its summary and profiles"),
    ("jsonl", "One line per profile"),
    ("csv", "One row per profile, or per effect of an audit"),
    ("md", "A summary to paste"),
    ("xml", "JUnit, for CI"),
)
FORMATS: Final = (
    ("html", "A self-contained report"),
    ("json", "The run with its summary and cases"),
    ("jsonl", "One line per case"),
    ("csv", "One row per evaluation, for spreadsheets"),
    ("md", "A summary to paste"),
    ("xml", "JUnit, for CI"),
)
# Below this many evaluations per second, the rate is shown per minute.
_SLOW: Final = 0.95


def own(run: RunRecord) -> str:
    """Return the address of a run's page."""
    return f"/runs/{quote(run.id, safe='')}"


def facts(run: RunRecord, numbers: Numbers | None) -> list[tuple[str, str]]:
    """Return what was judged, when, and by what."""
    judges = () if numbers is None else numbers.summary.judges
    prompt = run.definition.get(PROMPT)
    named = f"{prompt.get('name')}, version {prompt.get('version')}" if isinstance(prompt, Mapping) else ""
    return [("Run", run.id), *([("Prompt", named)] if named else []), *run_facts(run, judges, noun=_noun(run))]


def fact_links(run: RunRecord) -> dict[str, str]:
    """Return the addresses of what some facts name."""
    links = {}
    prompt = run.definition.get(PROMPT)
    if isinstance(prompt, Mapping):
        links["Prompt"] = f"/prompts/{quote(str(prompt.get('id')), safe='')}"
    if run.forked_from is not None:
        links["Forked from"] = f"/runs/{quote(run.forked_from, safe='')}"
    return links


def drift_link(run: RunRecord) -> str:
    """Return where a run that judged the anchors of another one again is held against it; "" for other runs."""
    if (again := drift_of(run)) is None:
        return ""
    query = {"then": again["of"], "now": run.id, "evaluator": again.get("evaluator") or ""}
    return f"/drift?{urlencode({name: value for name, value in query.items() if value})}"


def _noun(run: RunRecord) -> str:
    return {None: "case", RANKING: "group"}.get(mode_of(run.definition), "profile")


def kinship(run: RunRecord) -> list[str]:
    """Return warnings if the judge is related to a model whose answers it judges."""
    target = run.definition.get("target")
    notes = [note for name in names_in(target) for note in kinship_notes({**run.definition, "target": name})]
    return [f"{note[:1].upper()}{note[1:]}." for note in dict.fromkeys(notes)]


def live(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return the progress of a run in words; live_runs.js puts newer ones in their places."""
    done, total = progress["done"], progress["total"]
    left = NONE if progress["eta"] is None else duration_text(progress["eta"])
    cost = _cost(progress)
    texts = {
        "title": f"{done:,} of {counted(total, 'evaluation')}{_more(progress)}",
        "rate": _rate(progress["rate"]),
        "eta": left,
        "retries": _count(progress["retries"]),
        "calls": _count(progress["calls"]),
        "cached": _count(progress["cached"]),
        "cost": cost,
        "expected_cost": _expected_cost(progress.get("expected_cost")),
        "paused": progress["paused"],
        "batches": waiting_text(progress.get("batches")),
        "latest_error": progress["latest_error"] and f"Latest error: {progress['latest_error']}",
        "pace": ", ".join(_pace(progress, cost, left)),
        **{standing.value: f"{progress[name]:,}" for standing, name in COUNTED.items()},
        **dict.fromkeys((SCORED, RANKED), f"{progress['passed'] + progress['borderline'] + progress['failed']:,}"),
    }
    return {"done": done, "total": total, "status": progress["status"], "texts": texts}


UNKNOWN_YET: Final = "unknown until it ends"
# The counts of a run in progress, by what they are shown as.
COUNTED: Final = {
    Standing.PASS: "passed",
    Standing.BORDERLINE: "borderline",
    Standing.FAIL: "failed",
    Standing.ERROR: "errors",
    Standing.NOT_EVALUATED: "not_evaluated",
}
# Of a run in progress, what is shown and what it is called.
LIVE_FACTS: Final = (
    ("rate", "Rate"), ("eta", "Time left"), ("cost", "Cost so far"), ("expected_cost", "Cost expected in all"),
    ("calls", "Calls"), ("cached", "From the cache"), ("retries", "Retries"),
)  # fmt: skip


def _pace(progress: Mapping[str, Any], cost: str, left: str) -> list[str]:
    """Return what a list has room for: rate, time left and cost so far, as far as they are known."""
    rate = _rate(progress["rate"])
    known = (
        (rate, rate),
        (left, f"{left} left"),
        (cost, f"cost {cost}" if cost in (cost_text(None), UNKNOWN_YET) else f"{cost} so far"),
    )
    return [words for value, words in known if value != NONE]


def _cost(progress: Mapping[str, Any]) -> str:
    """Return the cost so far; only the process that runs it adds it up."""
    if progress["calls"] is not None:
        return cost_text(progress["cost"])
    return UNKNOWN_YET if progress["status"] in {status.value for status in AT_WORK} else NONE


def _expected_cost(expected: Mapping[str, Any] | None) -> str:
    """Return what the run will cost in all, with its interval; that is known once enough cases are judged."""
    if expected is None:
        return NONE
    return "about {} [{}, {}]".format(*(cost_text(expected[name]) for name in ("cost", "low", "high")))


def _rate(rate: float | None) -> str:
    if not rate:
        return NONE
    return f"{rate:.1f} per second" if rate >= _SLOW else f"{60 * rate:.1f} per minute"


def _more(progress: Mapping[str, Any]) -> str:
    if progress["waiting"]:
        return ", queued"
    if progress["stopping"]:
        return ", stopping"
    if progress.get("paused"):
        return ", paused"
    batches = progress.get("batches")
    return f", waiting for {counted(batches['pending'], 'batch', 'batches')}" if batches else ""


def waiting_text(batches: Mapping[str, Any] | None) -> str:
    """Return for how many batches a run waits, since when, and what they save; empty if for none."""
    if not batches:
        return ""
    minutes = int((datetime.now(UTC) - datetime.fromisoformat(batches["since"])).total_seconds() // 60)
    since = f"{duration_text(60 * minutes)} ago" if minutes > 0 else "less than a minute ago"
    saving = f" Batches save about {cost_text(batches['saving'])}." if batches["saving"] else ""
    pending, requests = counted(batches["pending"], "batch", "batches"), counted(batches["requests"], "request")
    which = "it was" if batches["pending"] == 1 else "the first was"
    return (
        f"Waiting for {pending} with {requests}; {which} submitted {since}. Providers answer within a day, usually "
        "within an hour. You may close this page, or stop the server: a run that is resumed goes on with the same "
        f"batches.{saving}"
    )


def view_of(run: RunRecord, numbers: Numbers, scored: ScoredRun | None = None) -> RunView:
    """Return the run with its numbers; those of profiles are from 0 to 10, with how these spread beside them."""
    summary = numbers.summary
    return RunView(
        run=run,
        summary=summary,
        cases=summary.cases.scaled(scale_of(run) or 1),
        notes=() if scored is None else tuple(scored.spread.sentences()),
        bins=numbers.bins,
        gates=numbers.gates,
        noun=_noun(run),
        scale=scale_of(run) or 1,
    )


def verdict_links(run: RunRecord) -> dict[Standing, str]:
    """Return the addresses of the cases with each standing."""
    return {standing: _cases_with(run, standing) for standing in Standing}


def slice_link(run: RunRecord, key: str, value: str) -> str:
    """Return the address of the cases in a slice; "" where it is too long to be one."""
    query = metadata_query(key, value)
    return query and f"{own(run)}/results?{query}"


def _cases_with(run: RunRecord, standing: Standing) -> str:
    query = f"verdict={standing.value}" if standing.scored else f"status={standing.value}"
    return f"{own(run)}/results?{query}"


def _count(number: int | None) -> str:
    return NONE if number is None else f"{number:,}"


def pass_mark(run: RunRecord) -> str:
    """Return a sentence that says from which score on a profile passes; empty where no mark was set."""
    sentence = mark_sentence(run) if is_scoring(run.definition) else ""
    return sentence and f"{sentence[0].upper()}{sentence[1:]}."


def scored_run(store: Store, run: RunRecord, numbers: ProfileNumbers, seconds: float) -> ScoredRun | None:
    """Return how the scores of profiles spread; None for other runs, or if that takes longer."""
    if mode_of(run.definition) != SCORING:
        return None
    try:
        return numbers.scored(store, run, seconds)
    except TimeoutError:
        return None


def best_profiles(store: Store, run: RunRecord, scored: ScoredRun | None) -> list[tuple[str, ProfileScore]]:
    """Return the best profiles of a scoring, each with its address."""
    if scored is None:
        return []
    found = cases_at(store, run, scored.best)
    marked = has_verdicts(run.definition)
    profiles = (
        (f"{own(run)}/results/{position}", profile_score(found[position].result, has_verdict=marked))
        for position in scored.best
        if position in found
    )
    # A run from elsewhere may have scores in its columns that its evaluations do not bear out.
    return [(address, profile) for address, profile in profiles if profile.score is not None]


def defined(run: RunRecord) -> dict[str, Any]:
    """Return the definition of a run; it holds no secrets."""
    return {"definition": without_unset_marks(run.definition), "options": dict(run.options)}
