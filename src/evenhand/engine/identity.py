"""Who is who: the hashes by which a case, an evaluator and an evaluation are known, never by their place (SPEC-S3)."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import orjson

from evenhand.domain.ask import Evaluator, ModelClient
from evenhand.domain.secret import Secret

_SIZE = 16


def hashed(content: bytes) -> hashlib.blake2b:
    """Hash bytes; what is given can be hashed on."""
    return hashlib.blake2b(content, digest_size=_SIZE)


def digest_of(value: object) -> str:
    """Hash plain JSON values; the order of keys does not matter."""
    return hashed(canonical(value)).hexdigest()


def canonical(value: object) -> bytes:
    """Write plain JSON values in the one way that equal ones share."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str)
    except TypeError:  # whole numbers of more than 64 bits, lone surrogates, and what is nested deep
        return json.dumps(value, sort_keys=True, default=str).encode()


def evaluation_key(case: str, evaluator: str, target: str, sample: int) -> str:
    """Return the identity of an evaluation from the hashes of its parts and the number of the sample."""
    return hashed(_part(case) + _judged_by(evaluator, target, sample)).hexdigest()


@functools.lru_cache(maxsize=64)
def _judged_by(evaluator: str, target: str, sample: int) -> bytes:
    return b"".join(map(_part, (evaluator, target, str(sample))))


def _part(text: str) -> bytes:
    """Write a part with its length, so that ("ab", "c") is not ("a", "bc")."""
    content = text.encode()
    return b"%d:%b" % (len(content), content)


def describe(part: object) -> Any:
    """Describe an evaluator, a judge or one of their options in plain JSON values, without secrets.

    What would judge differently must be described differently. A model says by ``identity`` what it is; an evaluator
    by its fields, and by the ``wording`` of its prompts where it has some.
    """
    match part:
        case None | bool() | int() | float() | str():
            return part
        case Enum():
            return part.value
        case Secret():
            return part.written
        case Mapping():
            return {str(key): describe(value) for key, value in part.items()}
        case set() | frozenset():  # whose order is another one in each process
            return sorted((describe(member) for member in part), key=canonical)
        case Sequence():
            return [describe(member) for member in part]
        case _:
            return _describe_object(part)


def _describe_object(part: object) -> Any:
    identity = getattr(part, "identity", None)
    if isinstance(identity, (str, Mapping)):
        return identity
    if isinstance(part, ModelClient):
        return {"model": part.name}
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        described: dict[str, Any] = {}
        for field in dataclasses.fields(part):
            if field.compare:
                described |= _describe_field(field, getattr(part, field.name))
        return described | {"class": type(part).__qualname__, "wording": getattr(part, "wording", None)}
    if hasattr(part, "steps"):  # an evaluator of somebody's own
        own = {name: describe(value) for name, value in getattr(part, "__dict__", {}).items() if name[0] != "_"}
        return {**own, "class": type(part).__qualname__}
    kind = part if callable(part) and hasattr(part, "__qualname__") else type(part)
    return f"{kind.__module__}.{kind.__qualname__}"


def _describe_field(field: dataclasses.Field[Any], value: object) -> dict[str, Any]:
    """Describe one field; an option that came later says itself by what it is known, or that it is not."""
    identity_of = field.metadata.get("identity")
    return {field.name: describe(value)} if identity_of is None else identity_of(value)


_MOST_KNOWN = 4096


class Fingerprints:
    """The hashes of evaluators, each worked out once while it is in use."""

    def __init__(self) -> None:
        # By object, which is kept, so that no other can come to have its number.
        self._entries: dict[int, tuple[Evaluator, str]] = {}

    def of(self, evaluator: Evaluator) -> str:
        """Return the hash of an evaluator."""
        entry = self._entries.get(id(evaluator))
        if entry is None:
            if len(self._entries) >= _MOST_KNOWN:  # a suite may have other evaluators for each case
                self._entries.clear()
            described = {"name": evaluator.name, "type": evaluator.type, "is": describe(evaluator)}
            entry = self._entries[id(evaluator)] = (evaluator, digest_of(described))
        return entry[1]
