"""Fetching a model while somebody watches: its size and the free disk first, then how far it is."""

from __future__ import annotations

import time
from pathlib import Path

from evenhand.cli.console import Console
from evenhand.models.embedded.catalogue import KnownModel
from evenhand.models.embedded.files import megabytes
from evenhand.models.embedded.pulling import free_space, is_here, pull
from evenhand.models.embedded.sources import sources_for

_BAR = 30
_LINE_EVERY = 10  # percent, where lines cannot be written again


def fetch(model: KnownModel, console: Console, *, source: str | None = None) -> Path:
    """Fetch a model unless it is here, and tell how it goes."""
    sources = sources_for(model, source)
    if not is_here(model):
        console.note(
            f"fetching {model.name}: {megabytes(model.bytes)}, {model.licence}, from {sources[0].name};"
            f" {megabytes(free_space(model))} of disk are free"
        )
    progress = _Progress(model, console)
    path = pull(model, sources, told=progress.told)
    if progress.began is not None:
        console.note(f"{model.name} is here, and its sha256 is right")
    return path


class _Progress:
    def __init__(self, model: KnownModel, console: Console) -> None:
        self._model = model
        self._console = console
        self._shown = 0
        self._start = 0
        self.began: float | None = None

    def told(self, have: int) -> None:
        """Show how far it is, once for each percent."""
        if self.began is None:
            self.began = time.monotonic()
            self._start = have
        if self._console.quiet:
            return
        percent = 100 * have // self._model.bytes
        self._shown = min(self._shown, percent)  # another source may have to begin anew
        if percent < self._shown + (1 if self._console.is_live else _LINE_EVERY):
            return
        self._shown = percent
        if self._console.is_live:
            self._console.live(self._line(have, percent))
        else:
            self._console.note(f"{percent} %, {megabytes(have)} of {megabytes(self._model.bytes)}")

    def _line(self, have: int, percent: int) -> str:
        done = "#" * (_BAR * percent // 100)  # and dots: the console makes one of several spaces
        seconds = time.monotonic() - (self.began or 0)
        rate = (have - self._start) / seconds if seconds > 0 else 0
        left = f", {(self._model.bytes - have) / rate:.0f} s left" if rate > 0 else ""
        return f"[{done:.<{_BAR}}] {percent} %, {megabytes(have)} of {megabytes(self._model.bytes)}{left}"
