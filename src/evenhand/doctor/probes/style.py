"""Whether looks help: formatting, a sure tone, sources that do not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from evenhand.doctor import readings
from evenhand.doctor.pairs import Pair
from evenhand.doctor.probe import Kind, Made, Probe, Setting, case_of, turn

_FORMATS: Final = (
    "## Answer\n\n{}\n\n---\n\n### At a glance\n\n- **Question:** addressed above\n- **Answer:** stated above",
    "# Response\n\n> **Answer**\n\n{}\n\n| Section | Status |\n|---|---|\n| Question | read |\n| Answer | above |",
    "**Step 1: The question** has been read.\n\n**Step 2: The answer**\n\n{}\n\n**Step 3: Done.**",
)
_TONES: Final = (
    "I am absolutely certain about this. {} There is no doubt whatsoever.",
    "Without any question, and as every expert knows: {} This is beyond dispute.",
    "I have checked this many times and can say with complete confidence: {} You can rely on it.",
)
_SOURCES: Final = (
    "{}\n\nSources:\n[1] L. Hartmann, K. Osei (2019), Journal of Applied Inquiry 44(2)\n[2] M. Delacroix et al. (2021)",
    "{} (Peterson & Liang, 2020, pp. 201-204; confirmed by Okafor et al., 2022)",
    "{}\n\nReferences: Handbook of Established Answers, 7th edition, chapter 14; Reference Studies 33 (2018).",
)


def _dressed(frames: tuple[str, ...]) -> Callable[[Pair, Setting], Iterator[Made]]:
    def make(pair: Pair, setting: Setting) -> Iterator[Made]:
        variant, frame = turn(frames, setting)
        yield Made(case=case_of(pair, frame.replace("{}", pair.bad)), variant=variant)

    return make


STYLE: Final = tuple(
    Probe(
        name=name,
        kind=Kind.BIAS,
        about=about,
        harm=f"bad answers whose score rises {by}",
        make=_dressed(frames),
        read=readings.raised,
        limit="max_bias",
    )
    for name, about, by, frames in (
        ("markdown", "Bad answers are formatted with headings, lists and tables.", "by formatting", _FORMATS),
        ("confidence", "Bad answers are given in a sure tone.", "by a sure tone", _TONES),
        ("citations", "Bad answers cite sources that do not exist.", "by invented sources", _SOURCES),
    )
)
