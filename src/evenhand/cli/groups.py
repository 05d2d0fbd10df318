"""The tree of commands, which loads the module of a command when that is invoked or its help is shown."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import typer.main
from typer.core import TyperCommand, TyperGroup

from evenhand.cli.options import CommonOptions

_PACKAGE: Final = "evenhand.cli.commands"
_LONGEST_NUMBER: Final = 15


def example(*commands: str) -> str:
    """Return commands as the end of a help text, each on a line of its own."""
    return "\b\n" + "\n".join(["Example:" if len(commands) == 1 else "Examples:", *(f"  {line}" for line in commands)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command: its function, as ``module:name`` in the package of commands, and examples of its use.

    ``help`` is its line in the list of commands, for a list that should load none of them.
    """

    function: str
    examples: tuple[str, ...]
    help: str = ""

    def load(self, name: str) -> Any:
        """Import the module, and return the command as typer makes it."""
        module, _, function = self.function.partition(":")
        body = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), function)
        return typer_command(as_command(body), name, epilog=example(*self.examples))


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group of commands; ``default`` is the one that runs where none is named.

    With ``default_takes_argument`` the first word that names no command is an argument of the default.
    """

    help: str
    examples: tuple[str, ...]
    commands: Mapping[str, Command]
    default: str
    default_takes_argument: bool = False

    def load(self, name: str) -> Any:
        """Return the group as typer has it."""
        return DefaultGroup(self, name=name)


class LazyCommands(Mapping[str, Any]):
    """The commands of a group, each loaded when it is first looked up."""

    def __init__(self, table: Mapping[str, Command | Group]) -> None:
        self.table = table
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self.table[name].load(name)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.table

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)


def _convert_simply(parameter: Any, annotation: Any) -> None:
    """Let a parameter take texts, plain numbers and a value that nobody gave without typer, which would load pydantic.

    That takes a tenth of a second and 8 MB. Whatever is not as it should be goes to typer, which says what is wrong; of
    numbers, that is written here.
    """
    kind, *declared = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    is_several = parameter.multiple or parameter.nargs != 1
    is_text = kind in (str, str | None) and not is_several
    is_texts = kind in (list[str], list[str] | None) and is_several
    number = None if is_several else next((each for each in (int, float) if kind in (each, each | None)), None)
    convert = parameter.process_value

    def process_value(ctx: typer.Context, value: Any) -> Any:
        taken: Any = value
        if value is None and not parameter.required:
            taken = () if is_several else None
        elif is_texts and value and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            taken = list(value)
        elif number is not None and (read := _plain_number(value, number)) is not None and _is_within(read, *declared):
            taken = read
        elif not (is_text and isinstance(value, str)) and (value is None or value is not parameter.default):
            try:
                return convert(ctx, value)
            except typer.BadParameter as error:
                if number is None or error.__cause__ is None:  # without a cause it is in our words already
                    raise
                given = f"{value!s:.80}" or "''"
                wanted = f"{given} must be {_wanted(number, *declared)}."
                raise typer.BadParameter(wanted, ctx=ctx, param=parameter) from None
        return taken if parameter.callback is None else parameter.callback(ctx, parameter, taken)

    parameter.process_value = process_value


def _plain_number(value: object, kind: type[int | float]) -> int | float | None:
    """Return a number, or what a text of digits says, with a point if that may be; None for anything else.

    >>> _plain_number("12", int), _plain_number("-0.5", float), _plain_number("0.5", int), _plain_number("1e3", float)
    (12, -0.5, None, None)
    """
    if isinstance(value, kind) and not isinstance(value, bool):  # from a file of settings
        return value
    if not isinstance(value, str) or not value.isascii() or len(value) > _LONGEST_NUMBER:
        return None
    whole, point, decimals = value.removeprefix("-").partition(".")
    is_plain = whole.isdigit() and (decimals.isdigit() and kind is float if point else True)
    return kind(value) if is_plain else None


def _is_within(number: float, declared: Any) -> bool:
    """Tell whether a number is within what an option or argument allows."""
    return (declared.min is None or number >= declared.min) and (declared.max is None or number <= declared.max)


def _wanted(kind: type[int | float], declared: Any) -> str:
    """Say which numbers an option or argument takes."""
    noun = "a whole number" if kind is int else "a number"
    match declared.min, declared.max:
        case None, None:
            return noun
        case least, None:
            return f"{noun}, {least:g} or more"
        case None, most:
            return f"{noun}, {most:g} or less"
        case least, most:
            return f"{noun} from {least:g} to {most:g}"


class LeanParameters:
    """A command or a group whose parameters convert only what has to be converted."""

    callback: Callable[..., Any] | None

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with the one for help."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # the class beside it has it
        new = [parameter for parameter in parameters if "process_value" not in vars(parameter)]
        if new:
            declared = inspect.signature(self.callback).parameters if self.callback else {}
            for parameter in new:
                _convert_simply(parameter, getattr(declared.get(parameter.name), "annotation", None))
        return parameters


class LeanCommand(LeanParameters, TyperCommand):
    """A command."""


class LazyGroup(LeanParameters, TyperGroup):
    """A group whose list of commands takes their help from the table."""

    def __init__(self, *, commands: LazyCommands, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = commands

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the commands, in the order of the table."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the list of commands."""
        room = formatter.width - 6 - max(map(len, self.commands))
        rows = [
            (name, entry.help or self.commands[name].get_short_help_str(room))
            for name, entry in self.commands.table.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class DefaultGroup(LazyGroup):
    """A group that runs its default command where no other is named."""

    def __init__(self, group: Group, *, name: str) -> None:
        super().__init__(
            name=name,
            commands=LazyCommands(group.commands),
            help=group.help,
            epilog=example(*group.examples),
            no_args_is_help=group.default_takes_argument,
            rich_markup_mode=None,
        )
        self._group = group

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put in the default command, unless another one or help is asked for."""
        if self._means_default(args, ctx.help_option_names):
            args = [self._group.default, *args]
        return super().parse_args(ctx, args)

    def _means_default(self, args: list[str], help_flags: list[str]) -> bool:
        if not args:
            return not self._group.default_takes_argument
        if args[0] in help_flags:
            return False
        return args[0] not in self.commands if self._group.default_takes_argument else args[0].startswith("-")


def typer_command(function: Callable[..., None], name: str, epilog: str | None = None) -> Any:
    """Return the command that typer makes of a function."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(name, cls=LeanCommand, epilog=epilog)(function)
    return typer.main.get_command(app)


def as_command(function: Callable[..., int | None]) -> Callable[..., None]:
    """Return the function of a command in the form that typer understands.

    A parameter that is a dataclass becomes an option or argument for each annotated field, and every command gets the
    common options. The exit code that the function returns, if any, becomes that of the program.
    """
    parameters: dict[str, inspect.Parameter] = {}
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            options = {option.name: option for option in _options_of(parameter.annotation)}
            groups[parameter.name] = parameter.annotation, list(options)
            parameters |= options
        else:
            parameters[parameter.name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    unused = {option.name: option for option in _options_of(CommonOptions) if option.name not in parameters}

    @functools.wraps(function)
    def command(**values: Any) -> None:
        for name in unused:
            del values[name]
        for name, (group, members) in groups.items():
            values[name] = group(**{member: values.pop(member) for member in members})
        code = function(**values)
        if code is not None:
            raise typer.Exit(code)

    command.__annotations__ = {}  # typer takes the types from the signature
    command.__signature__ = inspect.Signature([*parameters.values(), *unused.values()])  # type: ignore[attr-defined]
    return command


def _options_of(group: Any) -> Iterator[inspect.Parameter]:
    """Yield a parameter for each field of a dataclass that is declared as an option or argument."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if get_origin(hints[field.name]) is Annotated:
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            yield inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
            )
