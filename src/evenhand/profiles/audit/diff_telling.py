"""The difference between two audits as text for a terminal, as Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import RunRecord
from evenhand.profiles.audit.diff import AuditDiff, EffectChange
from evenhand.profiles.audit.saying import NO_CERTIFICATE, NOTE, p_text, signed, signed_interval
from evenhand.reports.blocks import Block, Grid, Sentences, as_markdown, as_text
from evenhand.reports.numbers import moment_text
from evenhand.reports.rows import SCHEMA_VERSION
from evenhand.reports.strict import strict_json
from evenhand.reports.whole import written_whole

_HEADINGS: Final = ("effect", "A", "B", "B - A", "95 %", "p (Holm)", NOTE)


def diff_text(found: AuditDiff, *, width: int = 100) -> str:
    """Give the diff for a terminal."""
    return as_text(_parts(found), width=width)


def diff_markdown(found: AuditDiff) -> str:
    """Give the diff as Markdown."""
    return f"# Audit B against audit A\n{as_markdown(_parts(found))}"


def diff_json(found: AuditDiff) -> str:
    """Give the diff as one line of strict JSON."""
    return strict_json({"schema_version": SCHEMA_VERSION, **found.as_dict(), "notice": NO_CERTIFICATE})


_WRITERS: Final[dict[str, Callable[[AuditDiff], str]]] = {
    ".md": diff_markdown,
    ".json": lambda found: diff_json(found) + "\n",
}


def diff_writer(path: str) -> Callable[[AuditDiff], str]:
    """Give the writer that a file's name asks for; ask this first, so that the mistake costs nothing."""
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        known = " or ".join(_WRITERS)
        raise ConfigError(f"{path}: no diff is written to {ending or 'no ending'}; give a name in {known}")
    return _WRITERS[ending]


def write_diff(found: AuditDiff, path: str) -> None:
    """Write the diff to a file, whole or not at all."""
    text = diff_writer(path)(found)
    with written_whole(path) as file:
        file.write(text.encode())


def _parts(found: AuditDiff) -> Iterator[Block]:
    mean = f"B scores {signed(found.mean)} {signed_interval(found.interval)} points on the whole"
    yield Sentences(lines=(f"A: {_who(found.a)}", f"B: {_who(found.b)}", *found.notes))
    yield Sentences(lines=(f"{found.profiles:,} profiles are scored in both; {mean}",))
    yield Grid(title="Effects", headings=_HEADINGS, rows=tuple(map(_row, found.changes)), words=(NOTE,))
    if found.lost:
        yield Sentences(lines=(f"scored in A and not at all in B: {'; '.join(found.lost)}",))
    told = "; ".join(one.effect.name for one in found.worse) or "none"
    yield Sentences(lines=(f"groups that matter more in B, beyond chance: {told}", NO_CERTIFICATE))


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
        effect.lacking or ("beyond chance" if effect.found else ""),
    )
