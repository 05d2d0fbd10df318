"""The scores of a run's cases from their columns, and the terms on which each was judged."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from evenhand.domain.json_codec import case_to
from evenhand.domain.message import messages_from
from evenhand.domain.run import PlannedCase, RunRecord
from evenhand.domain.verdict import Thresholds
from evenhand.engine.identity import digest_of
from evenhand.engine.targets.several import MODEL, TEST_CASE
from evenhand.evaluators.prompts.ready import PLAN
from evenhand.reports.paired_cases import JudgedCase, Labelled, PairedFinding, findings_of
from evenhand.reports.phrases import Standing
from evenhand.reports.safe_text import strict_json
from evenhand.store.records import Row
from evenhand.store.results import case_positions, columns_at
from evenhand.store.rows import loads, planned_from
from evenhand.store.store import Store
from evenhand.store.weighed_case import JudgedRow, weighed_case

# What is another in each run, or says nothing on how a case is to be judged. Metadata are labels to most suites, and
# to some the name of the model that answers.
_NOT_JUDGED_BY: Final = (
    "id", "candidate_answer", "output_messages", "latency", "cost", "metadata", "cluster",
)  # fmt: skip

_USED_METADATA: Final = re.compile(r"\{\{[ \t]*metadata\.(\w[\w-]*)[ \t]*\}\}")
_SHOWS_PLAN: Final = '"plan_adherence"'


class Terms:
    """The terms of a stored case, equal to others where the case would be judged alike.

    Most cases are stored in the same words in both runs, or differ only in what is no term; so they are hashed only
    where they are not. ``settle`` keeps the hash alone. ``metadata`` are the keys of it that judges are shown.
    """

    __slots__ = ("_content", "_digest", "_metadata", "_of_a_prompt")

    def __init__(self, content: str, *, of_a_prompt: bool, metadata: frozenset[str] = frozenset()) -> None:
        self._content = content
        self._of_a_prompt = of_a_prompt
        self._metadata = metadata
        self._digest: str | None = None

    def settle(self) -> None:
        """Let go of the case, so that many can be kept."""
        self._digest = self.digest
        self._content = ""

    @property
    def digest(self) -> str:
        """The hash that distinguishes them."""
        if self._digest is None:
            planned = planned_from(0, "", 0, self._content)
            self._digest = judged_by(planned, of_a_prompt=self._of_a_prompt, metadata=self._metadata)
        return self._digest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Terms):
            return NotImplemented
        if self._content and other._content and self._of_a_prompt == other._of_a_prompt:
            if self._content == other._content:
                return True
            is_shown = self._metadata or other._metadata
            if not is_shown and _parse_terms(self._content) == _parse_terms(other._content):
                return True
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def judged_by(planned: PlannedCase, *, of_a_prompt: bool = False, metadata: frozenset[str] = frozenset()) -> str:
    """Hash what a case says on how it is to be judged: all but its answer, and what is only said about it.

    In a run of a prompt, the system message is what was tried, and versions of it are what is compared. ``metadata``
    are the keys of it that judges are shown.
    """
    case = planned.case
    if of_a_prompt:
        asked = [message for message in messages_from(case.input_messages) if message.role != "system"]
        case = replace(case, input_messages=tuple(asked))
    fields = case_to(case)
    for name in _NOT_JUDGED_BY:
        fields.pop(name, None)
    if shown := {key: case.metadata[key] for key in metadata if key in case.metadata}:
        fields["metadata"] = shown
    return digest_of({"case": fields, "evaluators": planned.evaluators})


def metadata_shown(evaluators: object) -> frozenset[str]:
    """Return the keys of the metadata that the templates and ready prompts of some evaluators show to a judge."""
    written = strict_json(evaluators)
    return frozenset(_USED_METADATA.findall(written)) | ({PLAN} if _SHOWS_PLAN in written else frozenset())


def _parse_terms(content: str) -> tuple[Mapping[str, Any], Any]:
    """Read the terms as they are stored: equal ones have equal hashes, others may be written in two ways."""
    terms = loads(content)
    case = {name: value for name, value in terms["case"].items() if name not in _NOT_JUDGED_BY}
    return case, terms.get("evaluators")


_Weigh: TypeAlias = Callable[[bool, tuple[JudgedRow, ...]], Mapping[str | None, PairedFinding]]
# Many cases come out alike.
_MOST_KNOWN: Final = 4096
# Stands in a column for a letter that it cannot hold.
_REPLACED: Final = "\ufffd"
_CLUSTER: Final = '"cluster"'


def judged_cases(store: Store, run: RunRecord, *, model: str | None = None) -> Iterator[JudgedCase]:
    """Yield the cases in suite order, each with no more than a comparison needs.

    With a ``model``, only those that it answered, each by the id of its test case: so they meet those of another model.
    """
    for answered_by, case in _judged_cases(store, run, by_target=model is not None):
        if answered_by == model or model is None:
            yield case


def case_standings(store: Store, run: RunRecord) -> Iterator[tuple[int, Standing]]:
    """Yield the position and the standing of each case, in suite order."""
    return ((case.position, case.found[None].standing) for case in judged_cases(store, run))


def cases_by_target(store: Store, run: RunRecord) -> Iterator[tuple[str, JudgedCase]]:
    """Yield the cases of a run of several targets, each with the name of its target, by the id of its test case."""
    for answered_by, case in _judged_cases(store, run, by_target=True):
        if isinstance(answered_by, str):
            yield answered_by, case


class JudgedById:
    """Some of the cases that ``judged_cases`` has, by their ids; one that is not there is left out."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self._run = run
        self._weigh = _weigher(run)

    def __call__(self, case_ids: Sequence[str]) -> dict[str, JudgedCase]:
        """Read them."""
        positions = case_positions(self._store, [self._run], case_ids).values()
        page = columns_at(self._store, self._run, sorted(positions))
        found = _judged_cases(self._store, self._run, by_target=False, pages=[page], weigh=self._weigh)
        return {case.id: case for _, case in found}


def _judged_cases(
    store: Store,
    run: RunRecord,
    *,
    by_target: bool,
    pages: Iterable[tuple[list[Row], list[Row]]] | None = None,
    weigh: _Weigh | None = None,
) -> Iterator[tuple[Any, JudgedCase]]:
    weigh = weigh or _weigher(run)
    of_a_prompt = "prompt" in run.definition
    shown = metadata_shown(run.definition.get("evaluators"))
    for page, evaluations in store.columns(run) if pages is None else pages:
        rows = _by_position(store, run, evaluations)
        for position, identity, _, expected, content, _ in page:
            judged = rows.get(position, ())
            case = loads(content)["case"] if by_target or _CLUSTER in content else {}
            metadata = case.get("metadata", {})
            test_case = metadata.get(TEST_CASE) if by_target else None
            cluster = case.get("cluster")
            yield (
                metadata.get(MODEL),
                JudgedCase(
                    id=identity if test_case is None else test_case,
                    position=position,
                    # That of the test case only held the answers of several models together.
                    cluster=None if cluster == test_case else cluster,
                    judged_by=Terms(content, of_a_prompt=of_a_prompt, metadata=shown),
                    found=weigh(expected * run.repeat > len(judged), judged),
                ),
            )


def labelled_cases(
    store: Store, run: RunRecord, evaluators: Collection[str], *, model: str | None = None
) -> Iterator[tuple[str, Labelled]]:
    """Yield the labels that some evaluators gave, by the ids that ``judged_cases`` has; None where samples disagree."""
    for result in store.results(run):
        if model is not None and result.case.metadata.get(MODEL) != model:
            continue
        given: dict[str, set[tuple[str, float] | None]] = {}
        for evaluation in (judgment.evaluation for judgment in result.judgments):
            if evaluation.evaluator in evaluators:
                label = None if evaluation.label is None else (evaluation.label, evaluation.score or 0.0)
                given.setdefault(evaluation.evaluator, set()).add(label)
        test_case = None if model is None else result.case.metadata.get(TEST_CASE)
        labels = {name: next(iter(those)) if len(those) == 1 else None for name, those in given.items()}
        yield result.id if test_case is None else test_case, labels


def _by_position(store: Store, run: RunRecord, rows: Sequence[Row]) -> dict[int, tuple[JudgedRow, ...]]:
    """Return the evaluations that count of some positions, in the order of samples and evaluators."""
    groups: dict[int, dict[tuple[int, int], JudgedRow]] = {}
    for row in rows:
        position, place, sample, _, evaluator = row[:5]
        # Its column cannot hold every letter of a name.
        name = store.evaluator_name(run, position, place, sample) if _REPLACED in evaluator else evaluator
        # Of several rounds, the last counts.
        groups.setdefault(position, {})[sample, place] = (sample, name, *row[6:11])
    return {position: tuple(last_rounds.values()) for position, last_rounds in groups.items()}


def _weigher(run: RunRecord) -> _Weigh:
    return functools.lru_cache(_MOST_KNOWN)(functools.partial(_weigh, run.thresholds))


def _weigh(thresholds: Thresholds, is_pending: bool, rows: tuple[JudgedRow, ...]) -> Mapping[str | None, PairedFinding]:
    return findings_of(weighed_case(thresholds, is_pending, rows))
