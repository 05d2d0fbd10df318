"""Checksums of rows, which show whether a row has changed since it was written.

A checksum is one 64-bit number of two halves. The upper one is the CRC-32 of the row's content, its long text; the
lower one that of all other columns, begun with the upper. So a reader that leaves the content in the database can
verify the columns it got, and a row that is copied elsewhere keeps the half that is its content's.

Numbers are taken as they come back from the database: a column of decimals gives ``1.0`` for ``1``.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Final, TypeAlias
from zlib import crc32

import orjson

# The columns of a row as they are in the database.
Columns: TypeAlias = tuple[Any, ...]

_HALF: Final = 32
_LOWER: Final = (1 << _HALF) - 1
# Databases have signed numbers.
_SIGN: Final = 1 << 63
_THREE = struct.Struct("<3d")
_FOUR = struct.Struct("<4d")
# Stands for nothing; no column has it otherwise.
_NONE: Final = math.nan


def content_half(content: str | None) -> int:
    """Return the half of a checksum that is the content's."""
    return crc32(content.encode()) if content else 0


def half_in(checksum: int) -> int:
    """Return the content's half of a checksum."""
    return (checksum + _SIGN) >> _HALF


def of_case(run: int, columns: Columns, half: int) -> int:
    """Return the checksum of a case: ``position, id, hash, expected``."""
    return _joined(half, crc32(orjson.dumps((run, *columns)), half))


def of_answer(run: int, columns: Columns, half: int) -> int:
    """Return the checksum of an answer: ``position, sample, round``."""
    return _joined(half, crc32(orjson.dumps((run, *columns)), half))


def of_label(run: int, columns: Columns, half: int) -> int:
    """Return the checksum of a person's label: ``position, number, evaluator, rater``; or of a draw: ``number``."""
    return _joined(half, crc32(orjson.dumps((run, *columns)), half))


def of_evaluation(run: int, columns: Columns, half: int) -> int:
    """Return the checksum of an evaluation: its columns from ``position`` to ``seconds``, in the table's order."""
    (
        position, place, sample, number, evaluator, key, status, score, verdict, weight, required, cost, seconds
    ) = columns  # fmt: skip
    texts = orjson.dumps((run, position, place, sample, number, evaluator, key, status, verdict, required))
    numbers = _FOUR.pack(
        _NONE if score is None else score + 0.0,  # not every database distinguishes -0.0 from 0.0
        weight + 0.0,
        _NONE if cost is None else cost + 0.0,
        seconds + 0.0,
    )
    return _joined(half, crc32(numbers, crc32(texts, half)))


def of_run(columns: Columns, half: int) -> int:
    """Return the checksum of a run: its created, finished and abandoned cost, then all its other columns."""
    created, finished, cost, *texts = columns
    numbers = _THREE.pack(created, _NONE if finished is None else finished + 0.0, _NONE if cost is None else cost + 0.0)
    return _joined(half, crc32(numbers, crc32(orjson.dumps(texts), half)))


def of_reply(key: str, model: str, run: int | None, characters: int | None, content: str) -> int:
    """Return the checksum of a reply in the cache, without its time; the row it points to has its own."""
    return crc32(f"{key} {model} {run} {characters} {content}".encode())


def sealed_evaluation(row: Columns) -> Columns:
    """Return a row of an evaluation, from ``run`` to its content, with its checksum; this is done for every one."""
    (
        run, position, place, sample, number, evaluator, key, status, score, verdict, weight, required, cost, seconds,
        content,
    ) = row  # fmt: skip
    half = crc32(content.encode()) if content else 0
    numbers = _FOUR.pack(
        _NONE if score is None else score + 0.0, weight + 0.0, _NONE if cost is None else cost + 0.0, seconds + 0.0
    )
    texts = orjson.dumps((run, position, place, sample, number, evaluator, key, status, verdict, required))
    return (*row, (half << _HALF | crc32(numbers, crc32(texts, half))) - _SIGN)


def _joined(upper: int, lower: int) -> int:
    return (upper << _HALF | lower) - _SIGN
