"""The options that commands share, each with its environment variable and its setting (see ``settings``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, get_args

import typer

from evenhand.cli.console import read_input, show_addresses
from evenhand.cli.settings import Settings, load_settings
from evenhand.domain.errors import ConfigError

Named = TypeVar("Named")

PREFIX: Final = "EVENHAND_"
_SETTINGS: Final = "evenhand.settings"
_VERBOSE: Final = "evenhand.verbose"


def option(*names: str, **rest: Any) -> Any:
    """Make an option that is a setting too: ``--max-cost`` is ``EVENHAND_MAX_COST``, and ``max-cost`` in a file."""
    (long,) = (name for name in names if name.startswith("--"))
    return typer.Option(*names, envvar=variable_of(long.removeprefix("--")), show_envvar=False, **rest)


def variable_of(name: str) -> str:
    """Return the variable of a setting.

    >>> variable_of("max-cost")
    'EVENHAND_MAX_COST'
    """
    return PREFIX + name.replace("-", "_").upper()


def _load(ctx: typer.Context, without_env_file: bool) -> bool:
    """Load the settings, before the other options of a command are looked up in them."""
    if not ctx.resilient_parsing:
        if _SETTINGS not in ctx.meta:  # `config` makes the contexts of other commands, which share it
            ctx.meta[_SETTINGS] = load_settings(Path.cwd(), KINDS, with_env_file=not without_env_file)
            show_addresses(ctx, ctx.meta[_SETTINGS].from_env_file)
        ctx.default_map = dict(ctx.meta[_SETTINGS].values)
    return without_env_file


def _note_verbose(ctx: typer.Context, verbose: bool) -> bool:
    ctx.meta[_VERBOSE] = verbose
    return verbose


def is_verbose(ctx: typer.Context) -> bool:
    """Return whether ``--verbose`` was given."""
    return bool(ctx.meta.get(_VERBOSE))


def is_typed(ctx: typer.Context, name: str) -> bool:
    """Return whether an option was typed, rather than set in the environment, in a file, or nowhere."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def source_of(ctx: typer.Context, name: str) -> str:
    """Return where the value of an option comes from: ``typed``, the variable, the file, or ``default``."""
    source = ctx.get_parameter_source(name)
    settings: Settings = ctx.meta.get(_SETTINGS, Settings())
    match None if source is None else source.name:
        case "COMMANDLINE":
            return "typed"
        case "ENVIRONMENT":
            variable = variable_of(name)
            file = settings.from_env_file.get(variable)
            return variable if file is None else f"{variable} in {file}"
        case "DEFAULT_MAP":
            return str(settings.file)
        case _:
            return "default"


def display_name(ctx: typer.Context, name: str) -> str:
    """Return the name of an option as its user wrote it: the flag, the variable, or the key in a file."""
    key = name.replace("_", "-")
    source = ctx.get_parameter_source(name)
    match None if source is None else source.name:
        case "ENVIRONMENT":
            return source_of(ctx, name)
        case "DEFAULT_MAP":
            return f"{key} in {source_of(ctx, name)}"
        case _:
            return f"--{key}"


def _amount(unit: str, *, above_zero: bool = False) -> Callable[[float | None], float | None]:
    """Return a callback that refuses an amount that is infinite, below zero, or zero where it must be above."""
    least = " above 0" if above_zero else ", 0 or more"

    def require(amount: float | None) -> float | None:
        if amount is not None and not (0 < amount < float("inf") or (amount == 0 and not above_zero)):
            raise typer.BadParameter(f"{amount:g} must be a number of {unit}{least}.")
        return amount

    return require


NoEnvFile = Annotated[bool, option("--no-env-file", is_eager=True, callback=_load, help="Do not read .env files.")]
Db = Annotated[str, option("--db", metavar="URL", help="The database of runs: a file, or postgresql://user@host/name.")]
Verbose = Annotated[
    bool,
    option(
        "--verbose", "-v", callback=_note_verbose, help="Print every event of a run, and the traceback of an error."
    ),
]
Quiet = Annotated[bool, option("--quiet", "-q", help="Print errors only.")]
QuietRun = Annotated[bool, option("--quiet", "-q", help="Print the run's id and errors only.")]
Json = Annotated[bool, option("--json", help="Print JSON, for programs.")]

Judge = Annotated[
    str | None, option("--judge", metavar="NAME", help="The model that judges, such as openai/gpt-5-mini.")
]
Target = Annotated[
    list[str] | None,
    option("--target", metavar="NAME", help="The model that answers, such as ollama/qwen2.5:7b. Can be repeated."),
]
Concurrency = Annotated[
    int | None, option("--concurrency", "-j", metavar="N", min=1, help="Maximum number of evaluations at once.")
]
On = Annotated[
    str | None,
    option("--on", metavar="PLACE", help="Judge on Ray: ray, on this machine or at RAY_ADDRESS, or ray://host:port."),
]
Workers = Annotated[
    int | None, option("--workers", metavar="N", min=1, help="With --on: how many processes judge; one per processor.")
]
WorkerEnv = Annotated[
    list[str] | None,
    option("--worker-env", metavar="NAME", help="With --on: a variable that all workers must have. Can be repeated."),
]
OUTPUT_HELP: Final = "Write a report: .jsonl, .json, .csv, .md, .xml (JUnit) or .html. Can be repeated."
Output = Annotated[list[str] | None, option("--output", "-o", metavar="FILE", help=OUTPUT_HELP)]
LogFile = Annotated[
    str | None, option("--log-file", metavar="FILE", help="Append events as JSON lines, without prompts or keys.")
]
NoCache = Annotated[bool, option("--no-cache", help="Ignore cached replies.")]
RetryErrors = Annotated[bool, option("--retry-errors", help="Retry evaluations that ended in an error.")]
MaxCost = Annotated[
    float | None,
    option("--max-cost", metavar="DOLLARS", callback=_amount("dollars"), help="Stop after spending this many dollars."),
]
MaxCalls = Annotated[int | None, option("--max-calls", metavar="N", min=0, help="Stop after this many requests.")]
Timeout = Annotated[
    float | None,
    option(
        "--timeout",
        metavar="SECONDS",
        callback=_amount("seconds", above_zero=True),
        help="Time limit of one evaluation, including its retries.",
    ),
]
OutageTimeout = Annotated[
    float | None,
    option(
        "--outage-timeout",
        metavar="SECONDS",
        callback=_amount("seconds"),
        help="How long to wait for a provider that stops answering, before the run stops.",
    ),
]
MaxConsecutiveErrors = Annotated[
    int | None,
    option(
        "--max-consecutive-errors",
        metavar="N",
        min=0,
        help="Stop when an evaluator has scored nothing and failed N times in a row in the same way; 0 never stops.",
    ),
]
Limit = Annotated[int | None, option("--limit", metavar="N", min=1, help="Use only the first N cases.")]
Repeat = Annotated[int | None, option("--repeat", metavar="N", min=1, help="Judge each case N times.")]
Only = Annotated[
    list[str] | None,
    option("--only", metavar="ID", help="Use only the case with this id, or those like refund-*. Can be repeated."),
]
LimitProfiles = Annotated[int | None, option("--limit", metavar="N", min=1, help="Use only the first N profiles.")]
RepeatProfiles = Annotated[int | None, option("--repeat", metavar="N", min=1, help="Score each profile N times.")]
OnlyProfiles = Annotated[
    list[str] | None,
    option("--only", metavar="ID", help="Use only the profile with this id, or those like nurse-*. Can be repeated."),
]
AnswersFrom = Annotated[
    str | None, option("--answers-from", metavar="RUN", help="Judge the answers of this run instead of new ones.")
]
Label = Annotated[
    str | None, typer.Option("--label", metavar="TEXT", help="What to call this run, to tell it from others.")
]
LabelsFile = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="A CSV file with labels of these answers by people: stored with the run, and used for corrected numbers.",
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="A tag of this run, by which lists are filtered. Can be repeated."),
]
UntilDecided = Annotated[
    bool,
    typer.Option(
        "--until-decided", help="Judge cases in random order, and stop when a gate has failed or all are decided."
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        metavar="P",
        help="With --until-decided: the highest probability of a wrong decision; 0.05 by default.",
    ),
]
Batch = Annotated[
    bool,
    typer.Option("--batch", help="Ask in batches, at half price: OpenAI, Anthropic and Gemini answer within a day."),
]
Estimate = Annotated[bool, option("--estimate", help="Show the expected calls and cost, and ask no model.")]
Fork = Annotated[
    bool, option("--fork", help="If the suite has changed, continue in a new run that keeps what is still valid.")
]
Canonical = Annotated[bool, option("--canonical", help="Print the canonical report, the same for equal results.")]
DryRun = Annotated[bool, option("--dry-run", help="Check everything and show what would be done, but change nothing.")]

# Arguments and options that a few commands share, and that are no settings.
RUN_HELP: Final = "its id, the start of it, last, or previous: the one before the last, of the same suite."
RunId = Annotated[str, typer.Argument(metavar="RUN", help=f"The run: {RUN_HELP}")]
RunOrLast = Annotated[
    str, typer.Argument(metavar="RUN", help="The run: its id, the start of it, or previous; the last run by default.")
]
Suites = Annotated[
    list[str],
    typer.Argument(metavar="SUITE...", help="The suite files: .yaml or .json, or a table or .jsonl file next to one."),
]
Profiles = Annotated[
    str,
    typer.Argument(
        metavar="PROFILES", help="A .jsonl, .json, .csv, .tsv or .parquet file, or a folder of .txt and .md files."
    ),
]
MaxAttempts = Annotated[
    int | None,
    typer.Option("--max-attempts", metavar="N", min=1, help="How many times to ask for a usable reply: 3 by default."),
]
MaxRetries = Annotated[
    int | None,
    typer.Option("--max-retries", metavar="N", min=0, help="The same, without the first time; give one of the two."),
]
AmbiguousReplies = Annotated[
    str,
    typer.Option(
        "--ambiguous",
        metavar="WAY",
        help="If a reply has several different verdicts: first, last, or ask_again to ask for one.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
# Parameters of these types are not called output: that is a setting of other commands, and means something else.
ComparisonFiles = Annotated[
    list[str] | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to a .html, .md or .json file instead of the terminal."),
]
AuditDiffFiles = Annotated[
    list[str] | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to a .md or .json file instead of the terminal."),
]
ExportFile = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="The file to write; standard output by default.")
]

# The store's own default, without loading the store to know it.
DB: Final = ".evenhand/evenhand.db"

# Everything that can be set in a file or in the environment, by its name in Python.
SETTINGS: Final[Mapping[str, Any]] = {
    "db": Db, "judge": Judge, "target": Target, "concurrency": Concurrency, "output": Output, "limit": Limit,
    "on": On, "workers": Workers, "worker_env": WorkerEnv,
    "repeat": Repeat, "only": Only, "answers_from": AnswersFrom, "timeout": Timeout, "outage_timeout": OutageTimeout,
    "max_consecutive_errors": MaxConsecutiveErrors, "max_cost": MaxCost, "max_calls": MaxCalls, "no_cache": NoCache,
    "retry_errors": RetryErrors,
    "estimate": Estimate, "fork": Fork, "canonical": Canonical, "dry_run": DryRun, "quiet": QuietRun, "json": Json,
    "verbose": Verbose, "log_file": LogFile, "no_env_file": NoEnvFile,
}  # fmt: skip


def _kind(annotated: Any) -> Any:
    """Return the type of an option's value."""
    declared = get_args(annotated)[0]
    if declared == list[str]:
        return declared
    return next((member for member in get_args(declared) if member is not type(None)), declared)


KINDS: Final[Mapping[str, Any]] = {name: _kind(annotated) for name, annotated in SETTINGS.items()}


TEXT_SOURCES: Final = "Text, @FILE, or - for standard input."


def text_option(flag: str, words: str) -> Any:
    """Return an option whose value is a text, a file with one, or standard input."""
    return typer.Option(flag, metavar="TEXT", help=words)


def read_texts(values: Mapping[str, str | None]) -> dict[str, str]:
    """Return the texts of options by their flags; an option that is None is left out.

    >>> read_texts({"--content": "@@handle", "--criteria": None})
    {'--content': '@handle'}
    """
    piped = [flag for flag, value in values.items() if value == "-"]
    if len(piped) > 1:
        raise ConfigError(f"standard input can be read only once, not for {' and '.join(piped)}")
    return {flag: read_text(flag, value) for flag, value in values.items() if value is not None}


def read_text(flag: str, value: str) -> str:
    """Return the text of an option: the value itself, the content of ``@FILE``, or standard input for ``-``."""
    if value == "-":
        return read_input()
    if not value.startswith("@"):
        return value
    if value.startswith("@@"):  # a text that begins with one
        return value[1:]
    path = Path(value[1:])
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{flag}: {path}: byte {error.start + 1} is not UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{flag}: {path}: {error.strerror}; a text that begins with @ is written @@") from None
    return text.removesuffix("\n").removesuffix("\r")  # as from standard input: editors put one last


def require_judge(judge: Named | None, *, or_in: str = "") -> Named:
    """Return the judge, or raise if there is none; ``or_in`` is a file that may name one."""
    if judge is None:
        ways = ["give --judge openai/gpt-5-mini", "set EVENHAND_JUDGE"]
        ways += [f"write judge: openai/gpt-5-mini into {or_in}"] if or_in else []
        raise ConfigError(f"no judge: {', '.join(ways[:-1])}, or {ways[-1]}")
    return judge


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceOptions:
    """The options of every command that asks judges: its pace, its limits, and where it logs.

    ``no_cache``, ``retry_errors`` and ``output`` are options only where they have a meaning: see ``RunOptions`` and
    ``RetryOptions``.
    """

    concurrency: Concurrency = None
    on: On = None
    workers: Workers = None
    worker_env: WorkerEnv = None
    timeout: Timeout = None
    outage_timeout: OutageTimeout = None
    max_consecutive_errors: MaxConsecutiveErrors = None
    max_cost: MaxCost = None
    max_calls: MaxCalls = None
    no_cache: bool = False
    retry_errors: bool = False
    output: list[str] | None = None
    db: Db = DB
    quiet: QuietRun = False
    json: Json = False
    verbose: Verbose = False
    log_file: LogFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(PaceOptions):
    """The options of every command that works on a run and reports it."""

    no_cache: NoCache = False
    output: Output = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryOptions(RunOptions):
    """The options of a command that can resume an earlier run."""

    retry_errors: RetryErrors = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """The options of every command. They act when they are read; few commands look at them."""

    verbose: Verbose = False
    no_env_file: NoEnvFile = False
