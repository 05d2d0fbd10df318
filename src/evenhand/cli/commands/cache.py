"""`evenhand cache`: the replies of judges that need not be asked for again."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.console import Console, confirm
from evenhand.cli.groups import ShowByDefault, example
from evenhand.cli.options import DB, Db, Json, NoEnvFile, Verbose

app = typer.Typer(
    cls=ShowByDefault, help="Show or clear the replies that are kept.", epilog=example("evenhand cache show")
)


@app.command("show", epilog=example("evenhand cache show"))
def show_cache(
    *,
    db: Db = DB,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Show how many replies are kept, by model."""
    from evenhand.cli.options import opened_if_there
    from evenhand.reports.json import moment
    from evenhand.reports.json_text import strict_json
    from evenhand.reports.phrases import moment_text
    from evenhand.reports.safe_text import plain

    console = Console()
    with opened_if_there(db) as store:
        found = store.replies_by_model()
    if json:
        rows = [
            {"model": model, "replies": count, "characters": size, "since": moment(oldest)}
            for model, count, size, oldest in found
        ]
        console.result(strict_json(rows))
        return
    if not found:
        console.result("no replies are kept")
    for model, count, size, oldest in found:
        console.result(f"{count:>9,} replies  {size:>12,} characters  since {moment_text(oldest)}  {plain(model)}")


@app.command("clear", epilog=example("evenhand cache clear --model openai/gpt-5-mini"))
def clear_cache(
    *,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Those of this model only.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    db: Db = DB,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Forget replies, so that judges are asked again; runs keep theirs."""
    from evenhand.cli.options import opened_if_there
    from evenhand.reports.phrases import counted

    console = Console()
    with opened_if_there(db) as store:
        count = sum(number for name, number, _, _ in store.replies_by_model() if model in (None, name))
        if count and not yes:
            confirm(console, f"Forget {counted(count, 'reply', 'replies')}?")
        forgotten = counted(store.forget_replies(model), "reply", "replies")
        console.note(f"forgot {forgotten}" if count else "there is nothing to forget")
