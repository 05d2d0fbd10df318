"""What a run took, for people: calls, tokens, dollars, and what was given up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.domain.run import RunRecord
from evenhand.domain.summary import Summary
from evenhand.reports.phrases import cost_text, counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many there were of each, judges and target together, in the words of ``--estimate``.

    ``targets`` are calls to targets of several kinds: how many were programs, functions and models is not known.

    ``cost`` is what it cost, for people; None where nothing that has a price was asked, and a program or function that
    made the answers did not say what it took.
    """

    models: int
    programs: int
    functions: int
    targets: int = 0
    cost: str | None

    @classmethod
    def of(cls, summary: Summary, run: RunRecord | None = None) -> Effort:
        """Take the numbers of a run; its definition says what the target is."""
        target = None if run is None else run.definition.get("target")
        kinds = {_target_kind(each) for each in (target if isinstance(target, list) else [target])}
        # Of targets of several kinds, it is not counted which were called how often.
        kind = kinds.pop() if len(kinds) == 1 else "mixed"
        calls = {kind: summary.target_calls}
        by_program, by_function, mixed = calls.get("command", 0), calls.get("python", 0), calls.get("mixed", 0)
        models = summary.calls - summary.programs - by_program - by_function - mixed
        is_code = by_program + by_function > 0
        has_no_price = summary.cost is None and not models and is_code
        return cls(
            models=models,
            programs=summary.programs + by_program,
            functions=summary.functions + by_function,
            targets=mixed,
            cost=None if has_no_price else _cost_text(summary, target_is_code=is_code),
        )


def _target_kind(target: object) -> str:
    kinds = target if isinstance(target, Mapping) else {}
    return next((kind for kind in ("command", "python") if kinds.get(kind) is not None), "model")


def _cost_text(summary: Summary, *, target_is_code: bool) -> str:
    """Write what a run cost, as far as that is known: where only a program or function has no price, models do."""
    if summary.unpriced == ("target",) and (summary.known_cost or target_is_code):
        return f"{cost_text(summary.known_cost)} without the target, whose cost is unknown"
    if summary.unpriced and summary.known_cost:
        return f"at least {cost_text(summary.known_cost)}, since a price is unknown"
    return cost_text(summary.cost)


def effort_sentence(summary: Summary, run: RunRecord | None = None) -> str:
    """Say what a run took; with the run itself, also what it took and gave up.

    >>> from evenhand.domain.summary import Tally
    >>> effort_sentence(Summary(cases=Tally(), calls=312, cached=20, input_tokens=5200, output_tokens=900, cost=0.12))
    '312 calls to models, 20 replies from the cache, 5,200 tokens in and 900 out, cost $0.12'
    """
    effort = Effort.of(summary, run)
    is_imported = run is not None and bool(run.origin)
    parts = ["as recorded" if is_imported else f"{counted(effort.models, 'call')} to models"]
    if effort.programs:
        parts.append(counted(effort.programs, "program run"))
    if effort.functions:
        parts.append(counted(effort.functions, "function call"))
    if effort.targets:
        parts.append(f"{counted(effort.targets, 'call')} to targets")
    if summary.cached:
        parts.append(f"{counted(summary.cached, 'reply', 'replies')} from the cache")
    if summary.retries:
        parts.append(counted(summary.retries, "retry", "retries"))
    if summary.transport_faults:
        parts.append(counted(summary.transport_faults, "failed call"))
    if summary.input_tokens or summary.output_tokens:
        parts.append(f"{summary.input_tokens:,} tokens in and {summary.output_tokens:,} out")
        parts += [f"cached by the provider: {cached}"] if (cached := prompt_cache_phrase(summary)) else []
    if effort.cost is not None:
        parts.append(f"cost {effort.cost}{_batch_phrase(effort, summary)}")
    if abandoned := "" if run is None else abandoned_phrase(run):
        parts.append(abandoned)
    return ", ".join(parts)


def _batch_phrase(effort: Effort, summary: Summary) -> str:
    """Say how much of the cost is at the batch price; calls that failed cost nothing."""
    if not summary.batch_calls:
        return ""
    if summary.batch_calls >= effort.models - summary.transport_faults:
        return " at the batch price"
    return f", {counted(summary.batch_calls, 'call')} at the batch price"


def prompt_cache_phrase(summary: Summary) -> str:
    """Say how much of the prompts came from the prompt caches of providers, and what that saved; empty if nothing did.

    >>> from evenhand.domain.summary import Tally
    >>> prompt_cache_phrase(
    ...     Summary(cases=Tally(), input_tokens=1000, prompt_cached_tokens=614, prompt_cache_saving=0.42)
    ... )
    '61 % of prompt tokens, saved $0.42'
    """
    if not summary.prompt_cached_tokens:
        return ""
    share = f"{int(100 * summary.prompt_cached_tokens / summary.input_tokens)} % of prompt tokens"
    saved = summary.prompt_cache_saving
    if saved > 0:
        return f"{share}, saved {cost_text(saved)}"
    # What was kept and hardly read again costs more than it saves.
    return f"{share}, cost {cost_text(-saved)} more than it saved" if saved < 0 else share


def abandoned_phrase(run: RunRecord) -> str:
    """Say which calls are in no evaluation, probes and what the run gave up; empty if there were none."""
    calls = run.abandoned_calls
    if not calls:
        return ""
    more = "1 more call" if calls == 1 else f"{calls:,} more calls"
    why = "for evaluations that were abandoned when the run stopped, or to check whether a provider answers"
    return f"plus {more} ({cost_text(run.abandoned_cost)}) {why}"
