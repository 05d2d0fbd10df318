"""The command `evenhand`, to which the verbs are added."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from evenhand.cli import errors
from evenhand.cli.commands import (
    audit,
    cache,
    compare,
    config,
    demo,
    init,
    judge,
    models,
    prompts,
    rank,
    report,
    resume,
    run,
    runs,
    score,
    serve,
    transfer,
)
from evenhand.cli.console import Console
from evenhand.cli.groups import example
from evenhand.cli.options import is_verbose
from evenhand.version import __version__

# By how many the objects must have grown before Python looks among them for cycles of garbage. A run makes no cycles,
# and some dozens of young objects in each of its places: as often as usual, looking would take a twentieth of its time.
COLLECT_AFTER: Final = 50_000


class Verbs(TyperGroup):
    """The verbs; an error that one raises becomes a line on standard error and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            if errors.is_for_typer(error):
                errors.name_source(error)
                raise
            raise typer.Exit(errors.tell(error, verbose=is_verbose(ctx))) from None


# Plain help: rich would take longer to load than most commands take. Tracebacks are ours to show, or not to.
app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main() -> None:
    """Run the command line."""
    gc.set_threshold(COLLECT_AFTER)
    app(prog_name="evenhand")


def _show_version(wanted: bool) -> None:
    if wanted:
        Console().result(f"evenhand {__version__}")
        raise typer.Exit


@app.callback(epilog=example("evenhand init", "evenhand run suite.yaml", "evenhand report --output report.html"))
def evenhand(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Judge the outputs of language models.

    Every option may also stand in the environment (--max-cost is EVENHAND_MAX_COST) or in evenhand.toml; see
    `evenhand config`.
    """


def _add(name: str, verb: Callable[..., None], *examples: str) -> None:
    app.command(name, epilog=example(*examples))(verb)


_add("demo", demo.demo, "evenhand demo")
_add("init", init.init, "evenhand init my-suite")
_add("validate", init.validate, "evenhand validate suite.yaml")
_add("run", run.run, "evenhand run suite.yaml --max-cost 2 -o results.jsonl -o report.html")
_add("resume", resume.resume, "evenhand resume 20261115-093000-k7mq --retry-errors")
_add("report", report.report, "evenhand report last -o report.html -o junit.xml")
_add("compare", compare.compare, "evenhand compare 20261115-093000-k7mq last --fail-if-worse")
app.add_typer(runs.app, name="runs")
_add("judge", judge.judge_one, "evenhand judge --question 'Capital of France?' --answer Paris --criteria 'Names Paris'")
_add("score", score.score, "evenhand score people.jsonl --criteria @criteria.md --repeat 3 -o scores.csv")
_add("rank", rank.rank, "evenhand rank people.jsonl --criteria @criteria.md --top 10 -o ranking.html")
app.add_typer(audit.app, name="audit")
_add("export", transfer.export, "evenhand export last -o run.jsonl")
_add("import", transfer.import_run, "evenhand import run.jsonl --dry-run")
app.add_typer(prompts.app, name="prompts")
_add("serve", serve.serve, "evenhand serve", "evenhand serve --port 9000 --judge openai/gpt-5-mini")
app.add_typer(models.app, name="models")
app.add_typer(cache.app, name="cache")
_add("config", config.config, "evenhand config")
