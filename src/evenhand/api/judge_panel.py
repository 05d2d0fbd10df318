"""Several judges of the same answers from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.domain.errors import ConfigError

if TYPE_CHECKING:
    from evenhand.engine.run import Run
    from evenhand.engine.store_location import PlaceLike
    from evenhand.trust.judge_panel import JudgesComparison


def compare_judges(
    run: str | Run,
    *others: str | Run,
    evaluator: str | None = None,
    margin: float = 0.05,
    anyway: bool = False,
    store: PlaceLike = "default",
) -> JudgesComparison:
    """Compare several judges of the same answers: how far they agree, what they cost, and which of them will do.

    >>> from evenhand import Case, Contains, compare_judges, evaluate
    >>> cases = [Case(id=f"case-{number}", candidate_answer="Paris" * (number % 3)) for number in range(30)]
    >>> run = evaluate(cases, [Contains(value="Paris", name="one"), Contains(value="P", name="other")], store=None)
    >>> found = compare_judges(run)
    >>> [(pair.a, pair.b, pair.agreement.value) for pair in found.pairs]
    [('one', 'other', 1.0)]

    The judges are those of several runs over the same answers, by whole cases or by one ``evaluator``; of one run, its
    evaluators, or the members of its only jury. All runs are in one store. With labels by people on whole cases, which
    are stored with a run, ``best`` has the highest accuracy, and ``cheapest`` is the cheapest judge that surely lies at
    most ``margin`` below it. Raises ``ConfigError`` where answers differ, unless ``anyway`` is set.
    """
    from evenhand.engine.judge_panel import compare_judges_of  # noqa: PLC0415 - the engine is loaded when needed
    from evenhand.engine.run import Run  # noqa: PLC0415
    from evenhand.profiles.job import require_suite  # noqa: PLC0415

    for each in (run, *others):
        if not isinstance(each, Run | str):
            raise ConfigError(f"compare_judges takes runs, or their ids as text, not {each!r:.80}")
    first = run if isinstance(run, Run) else Run.open(run, store=store)
    with first.opened_store() as opened:
        records = [opened.runs.find(each.id if isinstance(each, Run) else each) for each in (first, *others)]
        for record in records:
            require_suite(record)
        return compare_judges_of(opened, records, evaluator=evaluator, margin=margin, anyway=anyway)
