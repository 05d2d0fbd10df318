r"""Reading a ``.env`` file: names and values, one a line, and nothing that would have to be guessed.

    # a comment
    OPENAI_API_KEY=sk-…
    export EVENHAND_JUDGE='openai/gpt-5-mini'
    GREETING="two\nlines"   # in double quotes, \n \r \t \" \\ \$ are escapes

Nothing is put in place of ``$NAME``. What is set already stays as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evenhand.cli.own_file import read_own_file
from evenhand.domain.errors import ConfigError

MAX_BYTES: Final = 1_000_000

_LINE: Final = re.compile(r"(?:export\s++)?([A-Za-z_][A-Za-z0-9_]*+)\s*+=\s*+(.*)", re.DOTALL)
_SINGLE: Final = re.compile(r"'([^']*)'\s*(?:#.*)?")
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


def load_env_file(path: Path) -> list[str]:
    """Put what a file says into the environment, where it is not set, and give the names of what was put there."""
    added = {name: value for name, value in read_env_file(path).items() if name not in os.environ}
    os.environ.update(added)
    return list(added)


def read_env_file(path: Path) -> Mapping[str, str]:
    """Read a file; a line that cannot be right is named, its value never shown."""
    try:
        content, problem = read_own_file(path)
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be read: {error.strerror}; or give --no-env-file") from None
    if problem is not None:
        raise ConfigError(f"{path}: {problem}; or give --no-env-file")
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{path}: it has more than {MAX_BYTES:,} bytes; give --no-env-file if it is something else")
    values: dict[str, str] = {}
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            found = _read(line.decode())
        except UnicodeDecodeError:
            raise ConfigError(f"{path}:{number}: this is not UTF-8") from None
        except ValueError as problem:
            raise ConfigError(f"{path}:{number}: {problem}") from None
        if found is None:
            continue
        name, value = found
        if name in values:
            raise ConfigError(f"{path}:{number}: {name} stands here again; give it once")
        values[name] = value
    return values


def _read(line: str) -> tuple[str, str] | None:
    """Read a line; None where it says nothing. Messages must not show what may be a secret."""
    line = line.strip()
    if not line or line.startswith("#"):
        return None
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError("a line is NAME=value, or a comment that begins with #")
    name, value = found.groups()
    if "\0" in value:
        raise ValueError(f"{name} holds a zero byte")
    if value.startswith("'"):
        quoted = _SINGLE.fullmatch(value)
        if quoted is None:
            raise ValueError(f"{name}: the quote ' is not closed on this line, or something follows on it")
        return name, quoted[1]
    if value.startswith('"'):
        quoted = _DOUBLE.fullmatch(value)
        if quoted is None:
            raise ValueError(f'{name}: the quote " is not closed on this line, or something follows on it')
        return name, _ESCAPE.sub(lambda one: _unescaped(name, one[1]), quoted[1])
    # In a value without quotes a comment begins after a space: the keys of some providers have # in them.
    return name, re.split(r"(?:^|\s)#", value, maxsplit=1)[0].rstrip()


def _unescaped(name: str, character: str) -> str:
    if character not in _ESCAPED:
        raise ValueError(f"{name}: no escape begins with \\{character}; use single quotes for text as it stands")
    return _ESCAPED[character]
