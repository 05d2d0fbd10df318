"""A Python function as the target."""

from __future__ import annotations

import importlib
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from evenhand.domain.ask import Call, Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ContractError, did_you_mean
from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Raised, Returned
from evenhand.domain.run import MadeAnswer
from evenhand.domain.secret import scrubber_of
from evenhand.drive import driver
from evenhand.drive.held_keys import keys_of
from evenhand.engine.targets.output import read_output
from evenhand.evaluators.program import version_in
from evenhand.models.retry import quoted

FUNCTION_KEYS: Final = ("python", "version")
FUNCTION_TAKES: Final = "a Python function takes only 'python', and 'version'"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTarget:
    """Calls a function, sync or async, with the input of each case, or with the whole of it.

    A parameter that is called ``case``, or annotated as a ``Case``, gets the case; another one gets the input as
    text. The function returns the answer, or a mapping with the answer and what it took. ``version`` stands for its
    source where that is not to be looked at.
    """

    function: Callable[..., Any]
    name: str
    version: str | None = None
    _takes: _Parameters = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_takes", _Parameters.of(self.function, self.name))

    @classmethod
    def of(cls, settings: Mapping[str, Any], *, folder: str | None = None) -> FunctionTarget:
        """Make a target from ``{"python": "package.module:function"}``, which imports the module."""
        for name in settings:
            if name not in FUNCTION_KEYS:
                raise ConfigError(f"no key {name!r}; {FUNCTION_TAKES}", key=str(name))
        path, version = settings["python"], version_in(settings)
        if callable(path) and not isinstance(path, type):
            return replace(cls.around(path), version=version)
        return cls(function=_import_function(path, folder), name=path, version=version)

    @classmethod
    def around(cls, function: Callable[..., Any]) -> FunctionTarget:
        """Make a target of a function itself."""
        kind = type(function)
        module = getattr(function, "__module__", kind.__module__)
        return cls(function=function, name=f"{module}:{getattr(function, '__qualname__', kind.__qualname__)}")

    def client_for(self, _: Case) -> None:
        """No model is asked that we would know of."""
        return

    def description(self) -> dict[str, Any]:
        """Say what decides on the answers, as far as a name can."""
        return {"python": self.name} | ({} if self.version is None else {"version": self.version})

    def steps(self, case: Case) -> Steps[MadeAnswer]:
        """Let the function answer a case."""
        try:
            args, kwargs = self._takes.filled(case)
        except ContractError as missing:
            return MadeAnswer(text=None, error=missing.failure)
        (answer,) = yield (Call(function=_timed(self.function), args=args, kwargs=kwargs),)
        match answer:
            case Raised() as raised:
                return _failed(raised.failure(quoted), kind="transport")
            case Returned(value=(value, seconds)):
                return self._made_answer(value, seconds)
            case _:
                raise TypeError(f"a Call is answered by Returned or Raised, not {type(answer).__name__}")

    def _made_answer(self, value: object, seconds: float) -> MadeAnswer:
        try:
            output = read_output(value)
        except ContractError as wrong:
            scrubber = scrubber_of(keys_of(self.function))
            error = Failure(wrong.kind, scrubber.scrub(f"{self.name}: {wrong}"))
            return _failed(error, kind="reply", raw=quoted(scrubber.scrub(repr(value))), latency=seconds)
        return output.answer(seconds, Attempt(kind="reply", raw=output.text, latency=seconds))


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What a function is given, in order: the ``input`` or the ``case``, and by which name; None is by its place."""

    sources: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, function: Callable[..., Any], where: str) -> _Parameters:
        """Find out what a function takes, or refuse one that takes what nobody gives."""
        try:
            parameters = [
                parameter
                for parameter in inspect.signature(function).parameters.values()
                if parameter.kind != parameter.VAR_KEYWORD
            ]
        except NameError as error:
            raise ConfigError(f"the annotations of {where} cannot be read: {error}") from None
        except (TypeError, ValueError):  # some builtins do not say
            return cls((("input", None),))
        needed = [
            parameter
            for parameter in parameters
            if parameter.default is parameter.empty and parameter.kind != parameter.VAR_POSITIONAL
        ]
        taken = [parameter for parameter in parameters if parameter in needed or _is_for_case(parameter)] or parameters[
            :1
        ]
        others = [parameter.name for parameter in taken if not _is_for_case(parameter)]
        if not taken or len(others) > 1:
            problem = f"needs {', '.join(others)}" if others else "takes no argument"
            raise ConfigError(f"{where} {problem}; it is given the input, or the case as 'case'")
        return cls(tuple(("case" if _is_for_case(parameter) else "input", _keyword(parameter)) for parameter in taken))

    def filled(self, case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments for a case."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for source, name in self.sources:
            value = case if source == "case" else case.question_text
            if value is None:
                raise ContractError("the case has no input to answer", kind="no_input")
            if name is None:
                args.append(value)
            else:
                kwargs[name] = value
        return tuple(args), kwargs


def _is_for_case(parameter: inspect.Parameter) -> bool:
    # An annotation may be a text, where annotations are not evaluated.
    written = parameter.annotation
    return (
        parameter.name == "case" or written is Case or (isinstance(written, str) and written.split(".")[-1] == "Case")
    )


def _keyword(parameter: inspect.Parameter) -> str | None:
    return None if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL) else parameter.name


def _timed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have the time taken by whoever calls the function: a step generator has no clock."""

    async def timed(*args: Any, **kwargs: Any) -> tuple[Any, float]:
        began = time.perf_counter()
        value = await driver.call_function(function, *args, **kwargs)
        return value, time.perf_counter() - began

    return timed


def _failed(error: str, **attempt: Any) -> MadeAnswer:
    return MadeAnswer(text=None, error=error, attempts=(Attempt(**attempt, error=error),))


def _import_function(path: object, folder: str | None) -> Callable[..., Any]:
    module_name, colon, attribute = path.partition(":") if isinstance(path, str) else ("", "", "")
    if not colon or not all(part.isidentifier() for part in [*module_name.split("."), *attribute.split(".")]):
        raise ConfigError(f"python is {path!r:.120}; write 'package.module:function'", key="python")
    member: Any = _module(module_name, folder)
    for part in attribute.split("."):
        if not hasattr(member, part):
            there = [
                name
                for name, value in getattr(member, "__dict__", {}).items()
                if callable(value) and not name.startswith("_")
            ]
            raise ConfigError(f"{module_name} has no {attribute!r}{did_you_mean(part, there)}")
        member = getattr(member, part)
    if not callable(member) or isinstance(member, type):
        raise ConfigError(f"{path} is not a function, but of type {type(member).__name__}")
    function: Callable[..., Any] = member
    return function


def _module(name: str, folder: str | None) -> Any:
    with _first_on_path(folder):
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit) as error:  # a module of the user's may do anything
            raise ConfigError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
    _require_own(module, name, folder)
    return module


@contextmanager
def _first_on_path(folder: str | None) -> Iterator[None]:
    if folder is None:
        yield
        return
    importlib.invalidate_caches()
    place = str(Path(folder).resolve())
    sys.path.insert(0, place)
    try:
        yield
    finally:
        sys.path.remove(place)


def _require_own(module: Any, name: str, folder: str | None) -> None:
    """Refuse a module that was loaded before from elsewhere, while the suite has its own of that name beside it."""
    if folder is None or not getattr(module, "__file__", None):
        return
    beside = Path(folder, *name.split(".")).resolve()
    own = [path for path in (beside.with_suffix(".py"), beside / "__init__.py") if path.is_file()]
    if own and Path(module.__file__).resolve() not in own:
        raise ConfigError(f"{name} should be {own[0]}, but {module.__file__} was loaded under that name; rename it")
