"""`evenhand cache`: the replies of judges that need not be asked for again."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.console import Console, confirm
from evenhand.cli.options import DB, Db, Json, Yes
from evenhand.engine.store_location import open_or_empty
from evenhand.reports.json import moment
from evenhand.reports.phrases import counted, moment_text
from evenhand.reports.safe_text import plain, strict_json


def show_cache(*, db: Db = DB, json: Json = False) -> None:
    """Show how many replies are cached, by model."""
    console = Console()
    with open_or_empty(db) as store:
        models = store.replies_by_model()
    if json:
        rows = [
            {"model": model, "replies": count, "characters": size, "since": moment(oldest)}
            for model, count, size, oldest in models
        ]
        console.result(strict_json(rows))
        return
    if not models:
        console.result("the cache is empty")
    for model, count, size, oldest in models:
        console.result(f"{count:>9,} replies  {size:>12,} characters  since {moment_text(oldest)}  {plain(model)}")


def clear_cache(
    *,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Only the replies of this model.")
    ] = None,
    yes: Yes = False,
    db: Db = DB,
) -> None:
    """Delete cached replies, so that judges are asked again; runs keep theirs."""
    console = Console()
    with open_or_empty(db) as store:
        count = sum(number for name, number, _, _ in store.replies_by_model() if model in (None, name))
        if count and not yes:
            confirm(console, f"Delete {counted(count, 'cached reply', 'cached replies')}?")
        deleted = counted(store.forget_replies(model), "cached reply", "cached replies")
        console.note(f"deleted {deleted}" if count else "there is nothing to delete")
