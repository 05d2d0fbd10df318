"""Evaluators as a suite defines them: with the suite's judge, under today's names, and built once (SPEC-S1)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from evenhand import registry
from evenhand.domain.ask import Evaluator, ModelClient
from evenhand.domain.errors import ConfigError
from evenhand.models.environment import program_env
from evenhand.suites.cascade_confidence import CONFIDENT, as_numbers, with_cards

# An evaluator as a suite defines it.
Defined: TypeAlias = Mapping[str, Any]

JUDGE_TYPE: Final = "llm_judge"
# The keys of an evaluator that list others: members of a composite, stages of a cascade.
NESTED: Final = ("members", "stages")
PROGRAM_TYPE: Final = "code_judge"
OLD_NAMES: Final = {"rubric": JUDGE_TYPE, "code": PROGRAM_TYPE}
# Who checks the rubrics of a case that no other evaluator reads.
RUBRIC_NAME: Final = "rubric"
# An option of evaluators that a suite may set for all of them; and what was once a part of it.
AMBIGUOUS: Final = "ambiguous"
OLD_AMBIGUOUS: Final = "strict"


def type_of(definition: Defined) -> str:
    """Return the type of an evaluator, under today's name."""
    kind = str(definition.get("type"))
    return OLD_NAMES.get(kind, kind)


def name_of(definition: Defined) -> str:
    """Return the name of an evaluator: its own, or that of its type."""
    return str(definition.get("name") or type_of(definition))


def members_of(definition: Defined) -> list[Defined]:
    """Return the members of a composite or the stages of a cascade, as far as they are definitions."""
    return [member for key in _lists_in(definition) for member in definition[key] if isinstance(member, Mapping)]


def reads_rubrics(definition: Defined) -> bool:
    """Return whether an evaluator, or a member of it, checks the rubrics of a case."""
    is_whole = definition.get("prompt") is not None or definition.get("choices") is not None
    is_judge = type_of(definition) == JUDGE_TYPE and not is_whole
    return is_judge or any(map(reads_rubrics, members_of(definition)))


def evaluators_of(own: Sequence[Defined], *, has_rubrics: bool) -> tuple[Defined, ...]:
    """Return the evaluators of a case: its own, and a judge of its rubrics where none of them reads these."""
    if has_rubrics and not any(map(reads_rubrics, own)):
        return (*own, {"name": RUBRIC_NAME, "type": JUDGE_TYPE})
    return tuple(own)


@functools.cache
def takes_judge(kind: str) -> bool:
    """Return whether evaluators of a type ask a judge: their class has an option ``judge``."""
    return _has_option(kind, "judge")


def asks_judge(definition: Defined) -> bool:
    """Return whether an evaluator asks a judge; of some types, only those that are defined so do."""
    kind = type_of(definition)
    if kind not in registry.points(registry.EVALUATORS) or not takes_judge(kind):
        return False
    asks = getattr(registry.find(registry.EVALUATORS, kind, what="evaluator type"), "asks_judge", None)
    return True if asks is None else bool(asks(definition))


@functools.cache
def takes_ambiguous(kind: str) -> bool:
    """Return whether evaluators of a type say which of several verdicts in one reply counts."""
    return _has_option(kind, AMBIGUOUS)


def _has_option(kind: str, name: str) -> bool:
    factory = registry.find(registry.EVALUATORS, kind, what="evaluator type")
    return name in inspect.signature(factory).parameters


def lacks_judge(definition: Defined) -> bool:
    """Return whether an evaluator, a member of it or its meta-judge asks a judge and names none."""
    if asks_judge(definition) and definition.get("judge") is None:
        return True
    aggregator = _aggregator(definition)
    if aggregator is not None and aggregator["type"] == JUDGE_TYPE and aggregator.get("judge") is None:
        return True
    return any(map(lacks_judge, members_of(definition)))


def names_judge(definition: Defined) -> bool:
    """Return whether an evaluator, a member of it or its meta-judge names a judge of its own."""
    aggregator = _aggregator(definition)
    own = (definition, *(() if aggregator is None else (aggregator,)))
    return any(part.get("judge") is not None for part in own) or any(map(names_judge, members_of(definition)))


def settled(definition: Defined, judge: object, ambiguous: str | None = None) -> dict[str, Any]:
    """Return a definition with the suite's judge wherever one is needed and none is given, and with today's names.

    So with what the suite says about ``ambiguous`` replies.
    """
    made = dict(definition)
    if made.get("type") == "rubric" and not made.get("rubrics"):
        raise ConfigError(
            f"evaluator {name_of(made)!r} (rubric): rubrics is empty; list what to check", key="rubrics"
        )  # SPEC-P7
    if isinstance(made.get("type"), str):
        made["type"] = type_of(made)
        if judge is not None and made.get("judge") is None and asks_judge(made):
            made["judge"] = judge
        if takes_ambiguous(made["type"]):
            _settle_ambiguous(made, ambiguous)
    for key in _lists_in(made):
        made[key] = [
            settled(member, judge, ambiguous) if isinstance(member, Mapping) else member for member in made[key]
        ]
    if (aggregator := _aggregator(made)) is not None:
        made["aggregator"] = aggregator = dict(aggregator)
        if aggregator["type"] == JUDGE_TYPE:
            if aggregator.get("judge") is None and judge is not None:
                aggregator["judge"] = judge
            _settle_ambiguous(aggregator, ambiguous)
    return made


def with_read_cards(definition: Any, judge: object, folder: Path) -> Any:
    """Return a definition with what the judge cards say that it names, members and all: so it is kept with a run."""
    if not isinstance(definition, Mapping):
        return definition
    made = dict(definition)
    for key in _lists_in(made):
        made[key] = [with_read_cards(member, judge, folder) for member in made[key]]
    if not isinstance(made.get("type"), str) or CONFIDENT not in made:
        return made
    return made | {CONFIDENT: with_cards(settled(made, judge), folder, anew=True)[CONFIDENT]}


def _settle_ambiguous(made: dict[str, Any], ambiguous: str | None) -> None:
    """Put today's name in the place of ``strict``, and what the suite says where the evaluator says nothing."""
    if isinstance(made.get(OLD_AMBIGUOUS), bool) and made.get(AMBIGUOUS) is None:
        made[AMBIGUOUS] = "ask_again" if made.pop(OLD_AMBIGUOUS) else "first"
    elif made.get(AMBIGUOUS) is None:
        made.pop(AMBIGUOUS, None)
        if ambiguous is not None and made.get(OLD_AMBIGUOUS) is None:
            made[AMBIGUOUS] = ambiguous


def build(definition: Defined, *, folder: Path | None, client: Callable[[object], ModelClient]) -> Evaluator:
    """Make an evaluator from its settled definition; ``client`` makes its judge, and programs run in ``folder``."""
    return registry.evaluator(_with_clients(definition, folder, client))


def _with_clients(definition: Defined, folder: Path | None, client: Callable[[object], ModelClient]) -> dict[str, Any]:
    made = with_cards(definition, folder)
    if CONFIDENT in made:
        made[CONFIDENT] = as_numbers(made[CONFIDENT])
    kind = made.get("type")
    if isinstance(kind, str) and takes_judge(kind):
        if "model" in made:  # which goes with a client, an object
            raise ConfigError(
                f"evaluator {name_of(made)!r} ({kind}): no option 'model'; name the judge: judge: {made['model']}",
                key="model",
            )
        if asks_judge(made):
            made["judge"] = client(made.get("judge"))
    if kind == PROGRAM_TYPE:
        _prepare_program(made, folder)
    for key in _lists_in(made):
        made[key] = [
            _with_clients(member, folder, client) if isinstance(member, Mapping) else member for member in made[key]
        ]
    if (aggregator := _aggregator(made)) is not None:
        made["aggregator"] = dict(aggregator)
        if aggregator["type"] == JUDGE_TYPE:
            made["aggregator"]["judge"] = client(aggregator.get("judge"))
        if aggregator["type"] == PROGRAM_TYPE:
            _prepare_program(made["aggregator"], folder)
    return made


def _lists_in(definition: Defined) -> list[str]:
    return [key for key in NESTED if isinstance(definition.get(key), list)]


def _aggregator(definition: Defined) -> Defined | None:
    """Return the aggregator of a composite where it is a judge itself."""
    aggregator = definition.get("aggregator")
    if isinstance(aggregator, str):
        aggregator = {"type": aggregator}
    return (
        aggregator if isinstance(aggregator, Mapping) and aggregator.get("type") in {JUDGE_TYPE, PROGRAM_TYPE} else None
    )


def _prepare_program(program: dict[str, Any], folder: Path | None) -> None:
    """Let a program run in the folder of the suite, or in one that is named from there, with the variables it wants."""
    if isinstance(program.get("env"), Mapping) and all(isinstance(value, str) for value in program["env"].values()):
        try:
            program["env"] = program_env(program["env"])
        except ConfigError as error:
            raise error.within(f"evaluator {name_of(program)!r}", key="env") from None
    cwd = program.get("cwd")
    if folder is not None and (cwd is None or isinstance(cwd, str)):
        program["cwd"] = str(folder if cwd is None else folder / cwd)
