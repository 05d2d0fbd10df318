"""Two audits of the same design: which effects differ, and that as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.domain.run_kind import is_audit
from evenhand.domain.summary import Interval
from evenhand.evaluators.value_text import shown
from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.effects import SIGNIFICANT, Effect, effects_of
from evenhand.profiles.audit.observed import Observed, mean_of, observed
from evenhand.profiles.audit.result import design_of
from evenhand.profiles.audit.sentences import NO_CERTIFICATE, NOTE, found_words, p_text, signed, signed_interval
from evenhand.reports.blocks import Block, Grid, Sentences, as_markdown, as_text
from evenhand.reports.json import SCHEMA_VERSION
from evenhand.reports.phrases import moment_text
from evenhand.reports.report import write_whole, writer_for
from evenhand.reports.safe_text import strict_json

# The parts of a design that make its profiles, and decide what is reported about them.
_SAME: Final = ("template", "factors", "groups", "profiles", "seed", "max_profiles", "select_at")
_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectChange:
    """An effect in both audits, over the profiles that are scored in both.

    ``effect`` is that of B minus A, and ``total`` that of B plus A.
    """

    effect: Effect
    total: Effect
    a: float | None
    b: float | None

    @property
    def larger_by(self) -> float | None:
        """By how much the effect is larger in B, in whichever direction it goes there."""
        return None if self.a is None or self.b is None else abs(self.b) - abs(self.a)

    @property
    def is_worse(self) -> bool:
        """Whether a group matters more in B, beyond chance.

        The sizes of effects in opposite directions differ by the total of the two, and not by their difference: that
        has to be beyond chance as well.
        """
        if not self.effect.is_group or not self.effect.found or (self.larger_by or 0.0) <= 0:
            return False
        is_opposite = (self.a or 0.0) * (self.b or 0.0) < 0
        return not is_opposite or (self.total.p is not None and self.total.p < SIGNIFICANT)

    def as_dict(self) -> dict[str, Any]:
        """Return the change as plain JSON values."""
        row = self.effect.as_dict()
        own = {"a": self.a, "b": self.b, "difference": row.pop("estimate"), "larger_by": self.larger_by}
        return {**own, **row, "is_worse": self.is_worse}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditDiff:
    """What differs between audit B and audit A: ``profiles`` are scored in both, ``notes`` say how the two differ.

    ``mean`` is by how much B scores higher on the whole. ``lost`` are the levels of groups that have scores in A and
    none in B: a judge that refuses a group treats it differently.
    """

    a: RunRecord
    b: RunRecord
    profiles: int
    mean: float
    interval: Interval | None
    changes: tuple[EffectChange, ...]
    lost: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_worse(self) -> bool:
        """Whether a group matters more in B, beyond chance, or is not scored there at all."""
        return bool(self.worse or self.lost)

    @property
    def worse(self) -> tuple[EffectChange, ...]:
        """The effects of groups that are larger in B, beyond chance."""
        return tuple(change for change in self.changes if change.is_worse)

    def as_dict(self) -> dict[str, Any]:
        """Return the diff as plain JSON values."""
        return {
            "a": self.a.id,
            "b": self.b.id,
            "profiles": self.profiles,
            "mean": self.mean,
            "interval": self.interval and asdict(self.interval),
            "effects": [change.as_dict() for change in self.changes],
            "worse": [change.effect.name for change in self.worse],
            "lost": list(self.lost),
            "notes": list(self.notes),
        }


def diff(a: RunRecord, b: RunRecord, ours: Iterable[CaseResult], theirs: Iterable[CaseResult]) -> AuditDiff:
    """Compare audit B with audit A; the same one, and audits of different designs, are refused, with what differs."""
    design = _same_design(a, b)
    before, texts = _read_profiles(design, ours)
    after, other_texts = _read_profiles(design, theirs)
    _require_same_profiles(texts, other_texts)
    both = [name for name in before if before[name].score is not None and after[name].score is not None]
    if not both:
        raise ConfigError("no profile is scored in both audits; there is nothing to compare")
    changed, summed = ([_together(before[name], after[name], sign) for name in both] for sign in (-1, 1))
    # Effects on what changed are changes of effects: every profile is its own comparison.
    effects, totals = (effects_of(design, profiles).effects for profiles in (changed, summed))
    sides = [
        {effect.name: effect.estimate for effect in effects_of(design, [side[name] for name in both]).effects}
        for side in (before, after)
    ]
    mean = mean_of([(profile, profile.score or 0.0) for profile in changed])
    return AuditDiff(
        a=a,
        b=b,
        profiles=len(both),
        mean=mean.value,
        interval=mean.interval,
        changes=tuple(
            EffectChange(effect=effect, total=total, a=sides[0][effect.name], b=sides[1][effect.name])
            for effect, total in zip(effects, totals, strict=True)
        ),
        lost=tuple(_lost(design, before.values(), after.values())),
        notes=tuple(_notes(a, b, len(before) - len(both))),
    )


def _together(before: Observed, after: Observed, sign: int) -> Observed:
    """Return a profile with B plus or minus A as its score."""
    return replace(before, score=(after.score or 0.0) + sign * (before.score or 0.0), other_scores=after.scores)


def _same_design(a: RunRecord, b: RunRecord) -> AuditDesign:
    for run in (a, b):
        if not is_audit(run.definition):
            raise ConfigError(f"run {run.id} is not an audit; compare other runs with: evenhand compare {a.id} {b.id}")
        if run.status is not RunStatus.FINISHED:
            raise ConfigError(f"audit {run.id} is not finished; resume with: evenhand resume {run.id}")
    if a.id == b.id:
        raise ConfigError(
            f"audit {a.id} cannot be compared with itself; name another, such as: evenhand audit diff previous last"
        )
    designs = [design_of(run.definition) for run in (a, b)]
    settings = [design.as_dict() for design in designs]
    differing = [name for name in _SAME if settings[0].get(name) != settings[1].get(name)]
    if differing:
        lines = [
            f"- {line}" for name in differing for line in _differing(name, settings[0].get(name), settings[1].get(name))
        ]
        raise ConfigError("\n".join([f"audits {a.id} and {b.id} have different designs:", *lines]))
    return designs[0]


def _differing(name: str, ours: Any, theirs: Any) -> Iterator[str]:
    """Yield what differs in a part of two designs; for factors, which ones and which of their levels."""
    if name != "factors":
        yield f"{name}: {shown(ours)} in A, {shown(theirs)} in B"
        return
    levels = [
        {entry["name"]: {level["name"]: level["text"] for level in entry["levels"]} for entry in side}
        for side in (ours, theirs)
    ]
    before = len(levels[0])
    for factor in dict.fromkeys([*levels[0], *levels[1]]):
        a, b = (side.get(factor) for side in levels)
        if a is None or b is None:
            yield f"factor {factor}: only in {'B' if a is None else 'A'}"
            continue
        for level in dict.fromkeys([*a, *b]):
            if a.get(level) != b.get(level):
                yield f"factor {factor}, level {level}: {_text(a.get(level))} in A, {_text(b.get(level))} in B"
        if a == b and list(a) != list(b):
            yield f"factor {factor}: its levels are in a different order"
    if levels[0] == levels[1] and before and list(levels[0]) != list(levels[1]):
        yield "factors: they are in a different order"


def _text(text: str | None) -> str:
    return "missing" if text is None else shown(text)


def _lost(design: AuditDesign, before: Iterable[Observed], after: Iterable[Observed]) -> Iterator[str]:
    """Name the levels of groups that have scores in A and none in B."""
    seen = [
        {(place, level) for profile in side if profile.score is not None for place, level in enumerate(profile.cell)}
        for side in (before, after)
    ]
    for place, factor in enumerate(design.factors):
        if factor.name in design.groups:
            for level, name in enumerate(factor.names):
                if (place, level) in seen[0] - seen[1]:
                    yield f"{factor.name}: {name}"


def _read_profiles(
    design: AuditDesign, results: Iterable[CaseResult]
) -> tuple[dict[str, Observed], dict[str, str | None]]:
    several = list(results)
    texts = {result.id: result.case.candidate_answer for result in several}
    return {profile.id: profile for profile in observed(design, several)}, texts


def _require_same_profiles(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> None:
    differing = [name for name in dict.fromkeys((*ours, *theirs)) if ours.get(name) != theirs.get(name)]
    if differing:
        more = f" and {len(differing) - _MOST_NAMED:,} more" if len(differing) > _MOST_NAMED else ""
        names = ", ".join(differing[:_MOST_NAMED])
        raise ConfigError(f"the two audits have different texts for {names}{more}; base profiles may have changed")


def _notes(a: RunRecord, b: RunRecord, unscored: int) -> Iterator[str]:
    """Yield how the configurations differ, which is what a diff is for, and what it leaves out."""
    configurations = [
        {
            "judge": run.definition.get("judge"),
            "criteria": run.definition["evaluators"][0].get("criteria"),
            "repetitions": run.repeat,
        }
        for run in (a, b)
    ]
    for name in configurations[0]:
        if configurations[0][name] != configurations[1][name]:
            yield f"{name}: {shown(configurations[0][name])} in A, {shown(configurations[1][name])} in B"
    if unscored:
        yield f"{unscored:,} profiles are not scored in both audits, and are left out"


_ERRORS: Final = (
    "A difference is held against the noise of the repetitions in both audits; if profiles vary more than that, or "
    "repetitions never varied, against the variation between profiles."
)
_HEADINGS: Final = ("effect", "A", "B", "B - A", "95 %", "p (Holm)", NOTE)


def diff_text(audit_diff: AuditDiff, *, width: int = 100) -> str:
    """Return the diff for a terminal."""
    return as_text(_parts(audit_diff), width=width)


def diff_markdown(audit_diff: AuditDiff) -> str:
    """Return the diff as Markdown."""
    return f"# Audit B against audit A\n{as_markdown(_parts(audit_diff))}"


def diff_json(audit_diff: AuditDiff) -> str:
    """Return the diff as one line of strict JSON."""
    return strict_json({"schema_version": SCHEMA_VERSION, **audit_diff.as_dict(), "notice": NO_CERTIFICATE})


_WRITERS: Final[dict[str, Callable[[AuditDiff], str]]] = {
    ".md": diff_markdown,
    ".json": lambda audit_diff: diff_json(audit_diff) + "\n",
}


def diff_writer(path: str) -> Callable[[AuditDiff], str]:
    """Return the writer that a file's name asks for; ask this first, so that the mistake costs nothing."""
    return writer_for(path, _WRITERS, "a diff")


def write_diff(audit_diff: AuditDiff, path: str) -> None:
    """Write the diff to a file, whole or not at all."""
    write_whole(path, diff_writer(path)(audit_diff))


def _parts(audit_diff: AuditDiff) -> Iterator[Block]:
    mean = f"B scores {signed(audit_diff.mean)} {signed_interval(audit_diff.interval)} points overall"
    yield Sentences(lines=(f"A: {_who(audit_diff.a)}", f"B: {_who(audit_diff.b)}", *audit_diff.notes))
    yield Sentences(lines=(f"{audit_diff.profiles:,} profiles are scored in both; {mean}",))
    yield Sentences(lines=(_ERRORS,))
    yield Grid(title="Effects", headings=_HEADINGS, rows=tuple(map(_row, audit_diff.changes)), words=(NOTE,))
    if audit_diff.lost:
        yield Sentences(lines=(f"scored in A and not at all in B: {'; '.join(audit_diff.lost)}",))
    names = "; ".join(change.effect.name for change in audit_diff.worse) or "none"
    yield Sentences(lines=(f"groups that matter more in B, beyond chance: {names}", NO_CERTIFICATE))


def _who(run: RunRecord) -> str:
    return f"{run.id} ({run.name}, {moment_text(run.created)})"


def _row(change: EffectChange) -> tuple[str, ...]:
    effect = change.effect
    return (
        effect.name,
        signed(change.a),
        signed(change.b),
        signed(effect.estimate),
        signed_interval(effect.interval),
        p_text(effect.p_holm),
        effect.lacking or found_words(effect),
    )
