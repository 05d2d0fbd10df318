"""The command `evenhand`, and the tree of its commands."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from evenhand.cli import errors
from evenhand.cli.console import Console
from evenhand.cli.groups import Command, Group, LazyCommands, LazyGroup, example
from evenhand.cli.options import is_verbose
from evenhand.cli.shared_heap import share_heap
from evenhand.version import __version__

# By how many the objects must have grown before Python looks among them for cycles of garbage. A run makes no cycles,
# and some dozens of young objects in each of its places: as often as usual, looking would take a twentieth of its time.
COLLECT_AFTER: Final = 50_000

RUNS: Final = Group(
    help="List, show, label, tag, verify, delete and prune runs.",
    examples=("evenhand runs",),
    default="list",
    commands={
        "list": Command(function="runs:list_runs", examples=("evenhand runs list --limit 5",)),
        "show": Command(function="runs:show_run", examples=("evenhand runs show 20261115",)),
        "label": Command(function="runs:label_run", examples=('evenhand runs label last "shorter prompt"',)),
        "tag": Command(
            function="runs:tag_run",
            examples=("evenhand runs tag last release", "evenhand runs tag last --remove draft"),
        ),
        "verify": Command(function="runs:verify_runs", examples=("evenhand runs verify", "evenhand runs verify last")),
        "cancel-batches": Command(function="batches:cancel_batches", examples=("evenhand runs cancel-batches last",)),
        "delete": Command(function="runs:delete_runs", examples=("evenhand runs delete 20261115-093000-k7mq",)),
        "prune": Command(
            function="runs_space:prune_runs",
            examples=("evenhand runs prune --older-than 90 --dry-run", "evenhand runs prune --keep 50 --yes"),
        ),
        "vacuum": Command(function="runs_space:vacuum_runs", examples=("evenhand runs vacuum",)),
    },
)
AUDIT: Final = Group(
    help="Audit a judge: do its scores depend on what must not matter?",
    examples=("evenhand audit design.yaml", "evenhand audit diff 20261115-093000-k7mq last"),
    default="run",
    default_takes_argument=True,
    commands={
        "run": Command(
            function="audit:run_audit",
            examples=("evenhand audit run design.yaml --judge openai/gpt-5-mini --artifacts audit-1",),
        ),
        "diff": Command(
            function="audit:diff_audits", examples=("evenhand audit diff 20261115-093000-k7mq last -o diff.md",)
        ),
        "artifacts": Command(function="audit:save_artifacts", examples=("evenhand audit artifacts last audit-1",)),
    },
)
PROMPTS: Final = Group(
    help="Manage prompts with versions and test cases, and try them.",
    examples=("evenhand prompts", "evenhand prompts run refunds --model openai/gpt-5-mini"),
    default="list",
    commands={
        "list": Command(function="prompts:list_prompts", examples=("evenhand prompts list",)),
        "show": Command(
            function="prompts:show_prompt",
            examples=("evenhand prompts show refunds", "evenhand prompts show refunds --version 1"),
        ),
        "new": Command(
            function="prompts:new_prompt",
            examples=("evenhand prompts new refunds --content @system.md --criteria 'Is kind'",),
        ),
        "edit": Command(
            function="prompts:edit_prompt", examples=("evenhand prompts edit refunds --content @system.md",)
        ),
        "delete": Command(function="prompts:delete_prompts", examples=("evenhand prompts delete refunds",)),
        "add-case": Command(
            function="prompt_cases:add_case",
            examples=("evenhand prompts add-case refunds --input 'Where is my money?'",),
        ),
        "import-cases": Command(
            function="prompt_cases:import_cases",
            examples=(
                "evenhand prompts import-cases refunds cases.csv --dry-run",
                "evenhand prompts import-cases refunds cases.jsonl --column input=query",
            ),
        ),
        "edit-case": Command(
            function="prompt_cases:edit_case",
            examples=("evenhand prompts edit-case t-k7mqh2wd3v --schema @money.json",),
        ),
        "remove-case": Command(
            function="prompt_cases:remove_cases", examples=("evenhand prompts remove-case t-k7mqh2wd3v",)
        ),
        "export": Command(
            function="prompt_files:export_prompts",
            examples=("evenhand prompts export -o prompts.json", "evenhand prompts export refunds --suite"),
        ),
        "import": Command(
            function="prompt_files:import_prompts", examples=("evenhand prompts import prompts.json --dry-run",)
        ),
        "run": Command(
            function="prompts:run_prompt",
            examples=("evenhand prompts run refunds --model openai/gpt-5-mini --judge openai/gpt-5",),
        ),
    },
)
MODELS: Final = Group(
    help="List, download and remove judges that run on this machine.",
    examples=("evenhand models",),
    default="list",
    commands={
        "list": Command(function="models:list_models", examples=("evenhand models list",)),
        "pull": Command(function="models:pull_model", examples=("evenhand models pull qwen2.5-coder-1.5b",)),
        "remove": Command(function="models:remove_model", examples=("evenhand models remove smollm2-135m",)),
    },
)
JUDGES: Final = Group(
    help="Compare several judges of the same answers.",
    examples=("evenhand judges compare last",),
    default="compare",
    default_takes_argument=True,
    commands={
        "compare": Command(
            function="judges:compare_judges",
            examples=(
                "evenhand judges compare 20261115-093000-k7mq 20261116-101500-w3xn -o judges.html",
                "evenhand judges compare last --labels labels.csv",
            ),
        ),
    },
)
CACHE: Final = Group(
    help="Show or clear the cached replies.",
    examples=("evenhand cache show",),
    default="show",
    commands={
        "show": Command(function="cache:show_cache", examples=("evenhand cache show",)),
        "clear": Command(function="cache:clear_cache", examples=("evenhand cache clear --model openai/gpt-5-mini",)),
    },
)
COMMANDS: Final[Mapping[str, Command | Group]] = {
    "demo": Command(
        function="demo:demo",
        help="Judge a small suite with a model on this machine.",
        examples=("evenhand demo",),
    ),
    "init": Command(
        function="init:init",
        help="Write a first suite, which runs without a key.",
        examples=("evenhand init my-suite",),
    ),
    "convert": Command(
        function="init:convert",
        help="Turn a file of promptfoo, AgentV or openevals into a suite.",
        examples=("evenhand convert promptfooconfig.yaml -o suite.yaml",),
    ),
    "validate": Command(
        function="init:validate",
        help="Check suites and report every mistake.",
        examples=("evenhand validate suite.yaml",),
    ),
    "run": Command(
        function="run:run",
        help="Judge a suite, or several.",
        examples=("evenhand run suite.yaml --max-cost 2 -o results.jsonl -o report.html",),
    ),
    "resume": Command(
        function="run:resume",
        help="Resume a run and complete it.",
        examples=("evenhand resume 20261115-093000-k7mq --retry-errors",),
    ),
    "report": Command(
        function="report:report",
        help="Show the report of a run, or write it to files.",
        examples=("evenhand report last -o report.html -o junit.xml",),
    ),
    "show": Command(
        function="report:show_case",
        help="Show a case of a run: question, answer and every verdict.",
        examples=("evenhand show france", "evenhand show france 20261115-093000-k7mq --prompts"),
    ),
    "compare": Command(
        function="report:compare",
        help="Compare two runs, case by case.",
        examples=("evenhand compare previous last", "evenhand compare 20261115-093000-k7mq last --fail-if-worse"),
    ),
    "runs": RUNS,
    "label": Command(
        function="label:label",
        help="Label answers of a run by hand, drawn at random.",
        examples=(
            "evenhand label last --sample 100 -o labels.csv",
            "evenhand label last --from labels.csv",
            "evenhand label last --sample 50 --uncertain 0.5",
        ),
    ),
    "calibrate": Command(
        function="calibrate:calibrate",
        help="Say how far the judge of a run can be trusted.",
        examples=("evenhand calibrate last", "evenhand calibrate last labels.csv -o card.html"),
    ),
    "drift": Command(
        function="drift:drift",
        help="Say whether a judge has changed.",
        examples=(
            "evenhand drift last --max-calls 200",
            "evenhand drift 20261115-093000-k7mq last -o drift.html",
            "evenhand drift card.json last",
        ),
    ),
    "doctor": Command(
        function="doctor:doctor",
        help="Examine a judge with answers known to be right or wrong.",
        examples=(
            "evenhand doctor openai/gpt-5-mini -o card.html",
            "evenhand doctor suite.yaml --evaluator quality --probes position,attack --size 60",
        ),
    ),
    "tune": Command(
        function="tune:tune",
        help="Propose a better prompt for a judge, from labels by people.",
        examples=(
            "evenhand tune last --model openai/gpt-5 --estimate",
            "evenhand tune last labels.csv --model openai/gpt-5 -o tuned.yaml",
        ),
    ),
    "judge": Command(
        function="judge:judge_answer",
        help="Judge a single answer.",
        examples=("evenhand judge --question 'Capital of France?' --answer Paris --criteria 'Names Paris'",),
    ),
    "judges": JUDGES,
    "score": Command(
        function="profiles:score",
        help="Score profiles from 0 to 10 by criteria.",
        examples=("evenhand score people.jsonl --criteria @criteria.md --repeat 3 -o scores.csv",),
    ),
    "rank": Command(
        function="profiles:rank",
        help="Rank profiles by criteria.",
        examples=("evenhand rank people.jsonl --criteria @criteria.md --top 10 -o ranking.html",),
    ),
    "audit": AUDIT,
    "export": Command(
        function="transfer:export",
        help="Write a complete run to one file.",
        examples=("evenhand export last -o run.jsonl",),
    ),
    "import": Command(
        function="transfer:import_run",
        help="Import a run that was exported elsewhere.",
        examples=("evenhand import run.jsonl --dry-run",),
    ),
    "import-results": Command(
        function="transfer:import_results",
        help="Import results that promptfoo or Inspect recorded.",
        examples=("evenhand import-results results.json", "evenhand import-results logs/task.eval --dry-run"),
    ),
    "export-results": Command(
        function="transfer:export_results",
        help="Send the results of a run to MLflow or Weights & Biases.",
        examples=(
            "evenhand export-results last --to mlflow",
            "evenhand export-results last --to wandb --project evals",
        ),
    ),
    "prompts": PROMPTS,
    "serve": Command(
        function="serve:serve",
        help="Serve the web pages and the REST API.",
        examples=("evenhand serve", "evenhand serve --port 9000 --judge openai/gpt-5-mini"),
    ),
    "models": MODELS,
    "cache": CACHE,
    "config": Command(
        function="config:config",
        help="Show every setting and where it comes from.",
        examples=("evenhand config",),
    ),
}


class Evenhand(LazyGroup):
    """All commands; an error that one raises becomes a line on standard error and an exit code."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": LazyCommands(COMMANDS)})

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            if errors.is_for_typer(error):
                errors.name_source(error)
                raise
            raise typer.Exit(errors.report(error, verbose=is_verbose(ctx))) from None


# Plain help: rich would take longer to load than most commands take. Tracebacks are ours to show, or not to.
app = typer.Typer(
    cls=Evenhand,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main() -> None:
    """Run the command line."""
    gc.set_threshold(COLLECT_AFTER)
    share_heap()
    app(prog_name="evenhand")


def _show_version(is_requested: bool) -> None:
    if is_requested:
        Console().result(f"evenhand {__version__}")
        raise typer.Exit


@app.callback(epilog=example("evenhand init", "evenhand run suite.yaml", "evenhand report --output report.html"))
def evenhand(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Judge the outputs of language models.

    Most options can also be set in the environment (--max-cost as EVENHAND_MAX_COST) or in evenhand.toml; see
    `evenhand config`.
    """
