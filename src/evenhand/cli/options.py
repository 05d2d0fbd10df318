"""The options that commands share, each with its environment variable and its setting (see ``settings``)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import typer

from evenhand.cli.console import read_input, tell_addresses
from evenhand.cli.settings import Settings, load_settings
from evenhand.domain.errors import ConfigError, RunNotFoundError
from evenhand.engine.store_location import StoreLocation
from evenhand.store.store import Store

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
            tell_addresses(ctx, ctx.meta[_SETTINGS].from_env_file)
        ctx.default_map = dict(ctx.meta[_SETTINGS].values)
    return without_env_file


def _note_verbose(ctx: typer.Context, verbose: bool) -> bool:
    ctx.meta[_VERBOSE] = verbose
    return verbose


def is_verbose(ctx: typer.Context) -> bool:
    """Tell whether the command was to tell more."""
    return bool(ctx.meta.get(_VERBOSE))


def is_typed(ctx: typer.Context, name: str) -> bool:
    """Tell whether an option was typed, and does not come from the environment, a file, or nowhere."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def source_of(ctx: typer.Context, name: str) -> str:
    """Say where the value of an option comes from: ``typed``, the variable, the file, or ``default``."""
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


def called(ctx: typer.Context, name: str) -> str:
    """Call an option what its user did: by the flag, by the variable, or by the key in a file."""
    key = name.replace("_", "-")
    source = ctx.get_parameter_source(name)
    match None if source is None else source.name:
        case "ENVIRONMENT":
            return source_of(ctx, name)
        case "DEFAULT_MAP":
            return f"{key} in {source_of(ctx, name)}"
        case _:
            return f"--{key}"


def _require_seconds(timeout: float | None) -> float | None:
    """Refuse a time in which nothing can be done."""
    if timeout is not None and not 0 < timeout < float("inf"):
        raise typer.BadParameter(f"{timeout:g} must be a number of seconds above 0.")
    return timeout


def _require_patience(seconds: float | None) -> float | None:
    """Refuse what is no time to wait."""
    if seconds is not None and not 0 <= seconds < float("inf"):
        raise typer.BadParameter(f"{seconds:g} must be a number of seconds, 0 or more.")
    return seconds


NoEnvFile = Annotated[
    bool, option("--no-env-file", is_eager=True, callback=_load, help="Do not read the .env file beside the settings.")
]
Db = Annotated[str, option("--db", metavar="URL", help="Where runs are kept: a file, or postgresql://user@host/name.")]
Verbose = Annotated[
    bool, option("--verbose", "-v", callback=_note_verbose, help="Tell more: what happens, and where an error arose.")
]
Quiet = Annotated[bool, option("--quiet", "-q", help="Tell errors only.")]
Json = Annotated[bool, option("--json", help="Print one JSON object, for programs.")]

Judge = Annotated[
    str | None,
    option("--judge", metavar="NAME", help="The model that judges, such as openai/gpt-5-mini."),
]
Target = Annotated[
    str | None, option("--target", metavar="NAME", help="The model that answers, such as ollama/qwen2.5:7b.")
]
Concurrency = Annotated[
    int | None, option("--concurrency", "-j", metavar="N", min=1, help="How many evaluations at once at most.")
]
OUTPUT_HELP: Final = "Write a report: .jsonl, .json, .csv, .md, .xml (JUnit) or .html. May be given several times."
Output = Annotated[list[str] | None, option("--output", "-o", metavar="FILE", help=OUTPUT_HELP)]
LogFile = Annotated[
    str | None, option("--log-file", metavar="FILE", help="Append what happens as JSON lines, without prompts or keys.")
]
NoCache = Annotated[bool, option("--no-cache", help="Ask anew what was asked before.")]
RetryErrors = Annotated[bool, option("--retry-errors", help="Do evaluations again that ended in an error.")]
MaxCost = Annotated[
    float | None, option("--max-cost", metavar="DOLLARS", min=0, help="Stop when this command has cost so much.")
]
MaxCalls = Annotated[
    int | None, option("--max-calls", metavar="N", min=0, help="Stop before this command makes more requests.")
]
Timeout = Annotated[
    float | None,
    option(
        "--timeout",
        metavar="SECONDS",
        callback=_require_seconds,
        help="How long one evaluation may take, all its retries in.",
    ),
]
OutageTimeout = Annotated[
    float | None,
    option(
        "--outage-timeout",
        metavar="SECONDS",
        callback=_require_patience,
        help="How long to wait for a provider that stops answering, before the run stops.",
    ),
]
Limit = Annotated[int | None, option("--limit", metavar="N", min=1, help="Take the first N cases only.")]
Repeat = Annotated[int | None, option("--repeat", metavar="N", min=1, help="Judge each case N times.")]
Only = Annotated[
    list[str] | None,
    option(
        "--only", metavar="ID", help="Take the case of this id, or those like refund-*. May be given several times."
    ),
]
AnswersFrom = Annotated[
    str | None, option("--answers-from", metavar="RUN", help="Judge the answers that this run has; make none anew.")
]
Estimate = Annotated[bool, option("--estimate", help="Tell what it would take, and ask nobody.")]
Fork = Annotated[bool, option("--fork", help="Where the suite has changed, go on in a new run with what still holds.")]
Canonical = Annotated[bool, option("--canonical", help="Print the canonical report: equal for equal results.")]
DryRun = Annotated[bool, option("--dry-run", help="Read and check everything, and keep nothing.")]

# The store's own default, without loading the store to know it.
DB: Final = ".evenhand/evenhand.db"

# Everything that may stand in a file or in the environment, by its name in Python.
SETTINGS: Final[Mapping[str, Any]] = {
    "db": Db, "judge": Judge, "target": Target, "concurrency": Concurrency, "output": Output, "limit": Limit,
    "repeat": Repeat, "only": Only, "answers_from": AnswersFrom, "timeout": Timeout, "outage_timeout": OutageTimeout,
    "max_cost": MaxCost, "max_calls": MaxCalls, "no_cache": NoCache, "retry_errors": RetryErrors,
    "estimate": Estimate, "fork": Fork, "canonical": Canonical, "dry_run": DryRun, "quiet": Quiet, "json": Json,
    "verbose": Verbose, "log_file": LogFile, "no_env_file": NoEnvFile,
}  # fmt: skip


def _kind(annotated: Any) -> Any:
    """Return the type of an option: that of its value where there is one."""
    given = get_args(annotated)[0]
    return next((one for one in get_args(given) if one is not type(None)), given) if given != list[str] else given


KINDS: Final[Mapping[str, Any]] = {name: _kind(annotated) for name, annotated in SETTINGS.items()}


WAYS = "Typed, or in a file as @FILE, or - for standard input."


def text_option(flag: str, words: str) -> Any:
    """Make an option whose value is a text, however it is given."""
    return typer.Option(flag, metavar="TEXT", help=words)


def texts_given(given: Mapping[str, str | None]) -> dict[str, str]:
    """Read the texts that were given, by their flags; what was not given is left out.

    >>> texts_given({"--content": "@@handle", "--criteria": None})
    {'--content': '@handle'}
    """
    piped = [flag for flag, value in given.items() if value == "-"]
    if len(piped) > 1:
        raise ConfigError(f"standard input can be read once, not for {' and '.join(piped)}")
    return {flag: _read(flag, value) for flag, value in given.items() if value is not None}


def _read(flag: str, value: str) -> str:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How much at once, what it may spend, where it tells what."""

    concurrency: int | None = None
    timeout: float | None = None
    outage_timeout: float | None = None
    max_cost: float | None = None
    max_calls: int | None = None
    no_cache: bool = False
    retry_errors: bool = False
    output: Sequence[str] | None = None
    db: str = DB
    quiet: bool = False
    json: bool = False
    verbose: bool = False
    log_file: str | None = None


@contextlib.contextmanager
def opened_if_there(db: str) -> Iterator[Store]:
    """Open a database, or an empty one in memory where there is none yet: who only asks leaves nothing behind."""
    with contextlib.ExitStack() as stack:
        try:
            store = stack.enter_context(StoreLocation(db).opened(to_read=True))
        except RunNotFoundError:
            store = stack.enter_context(StoreLocation(None).opened())
        yield store
