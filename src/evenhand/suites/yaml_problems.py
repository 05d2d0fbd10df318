"""What the parsers of YAML complain about, in the words of somebody who writes suites."""

from __future__ import annotations

from typing import Final

import yaml
from yaml.reader import ReaderError

from evenhand.domain.errors import ConfigError
from evenhand.suites.textfile import TextFile

_TAB: Final = "a tab; indent with spaces"

# What the parsers say, and what it means to somebody who writes a suite.
_PROBLEMS: Final = (
    ("tab character", _TAB),
    ("mapping values are not allowed", "a colon where none can be; put text with ': ' in quotes, or indent it right"),
    ("unexpected end of stream", "a quote is opened here and never closed"),
    ("unexpected document indicator", "a quote is opened here and not closed before the document ends"),
    ("but got '?'", "PyYAML has no libyaml here, and without it takes no ? within [ ] or { }; put the text in quotes"),
    ("',' or ']'", "a list that is opened with [ is not closed, or lacks a comma"),
    ("',' or '}'", "a mapping that is opened with { is not closed, or lacks a comma"),
    ("unknown escape character", "a backslash in double quotes begins an escape; use single quotes, or double it"),
    ("Unicode character escape", "an escape that is no character; write the character itself"),
    ("expected ':'", "a line that is neither a key with its colon nor part of a text; look at the indentation"),
    ("expected key", "the indentation does not fit what stands above; or a text needs quotes"),
    ("expected '-' indicator", "an item of a list must begin with '- ', as far in as the others"),
    ("<block end>", "the indentation does not fit what stands above; or a text needs quotes"),
    ("undefined tag handle", "a tag; suites have none, so put text that begins with ! in quotes"),
)  # fmt: skip


def explained(error: yaml.YAMLError, file: TextFile) -> ConfigError:
    """Say what a parser did not like, and where."""
    if isinstance(error, ReaderError):
        code = error.character if isinstance(error.character, int) else ord(error.character)
        told = f"the character U+{code:04X} cannot stand in YAML; in double quotes, write \\u{code:04x}"
        return ConfigError(f"{file.name}:{file.line_of(chr(code))}: {told}")
    problem = getattr(error, "problem", None) or str(error)
    told = next((ours for theirs, ours in _PROBLEMS if theirs in problem), f"not YAML: {problem}")
    # What was opened and never closed is found at its end, and mended at its beginning.
    opened = getattr(error, "context_mark", None) if "opened" in told else None
    mark = opened or getattr(error, "problem_mark", None)
    if mark is not None and "cannot start any token" in problem:
        found = file.character_at(mark.line + 1, mark.column)
        told = _TAB if found == "\t" else f"text cannot begin with {found or 'this character'}; put it in quotes"
    return ConfigError(f"{file.name}:{1 if mark is None else mark.line + 1}: {told}")
