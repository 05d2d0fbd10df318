"""The ids of profiles by their numbers, in a third of the room that a list of them would take."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from evenhand.stats.plackett_luce import Numbers


class Names:
    """Texts by number, put in one after the other in any order; "" is nobody's."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._begins, self._sizes = array("q"), array("i")

    def __len__(self) -> int:
        """One more than the highest number."""
        return len(self._sizes)

    def __getitem__(self, number: int) -> str:
        begin = self._begins[number]
        return self._text[begin : begin + self._sizes[number]].decode("utf-8", "surrogatepass")

    def has(self, number: int) -> bool:
        """Tell whether a number has a name."""
        return number < len(self._sizes) and self._sizes[number] > 0

    def put(self, number: int, name: str) -> None:
        """Give a number its name."""
        if (missing := number + 1 - len(self._sizes)) > 0:
            self._begins.frombytes(bytes(missing * self._begins.itemsize))
            self._sizes.frombytes(bytes(missing * self._sizes.itemsize))
        written = name.encode("utf-8", "surrogatepass")
        self._begins[number], self._sizes[number] = len(self._text), len(written)
        self._text += written


class NamesInOrder(Sequence[str]):
    """Names in an order of their numbers, each read when it is looked at."""

    def __init__(self, names: Names, numbers: Numbers) -> None:
        self._names = names
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, wanted: int) -> str: ...
    @overload
    def __getitem__(self, wanted: slice) -> list[str]: ...
    def __getitem__(self, wanted: int | slice) -> str | list[str]:
        if isinstance(wanted, slice):
            return [self._names[number] for number in self._numbers[wanted]]
        return self._names[int(self._numbers[wanted])]
