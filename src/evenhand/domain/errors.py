"""Every error that Evenhand raises on purpose.

* EvenhandError
  + ConfigError (also a ValueError)   a definition that cannot be right; nothing was sent
    - TemplateError                   a template uses a name without a value
    - UnknownNameError                no provider, evaluator or prompt has that name
    - MissingKeyError                 a model needs an API key and none is set
    - IncomparableError               two runs that are only compared on request
    - ModelChoiceError                a run is of several models, and one has to be chosen
    - MissingModelError               an embedded model's file is not on this machine
  + ModelFetchError                   an embedded model could not be fetched; nothing half done takes its place
  + StoreError                        the database cannot be opened, read or written
    - RunNotFoundError                no run has that id
    - RunBusyError                    another process is at work on the run
    - ReadOnlyError                   the database can be read, and this would write to it
    - ConnectionLostError             the connection to the database was lost; nothing half done is stored
    - NotFoundError                   no prompt or test case has that id or name
    - ConflictError                   a name is taken, or another write came first
  + RunStoppedError                   a run could not go on: a key was refused, or its budget is used up
  + JudgeError                        the judge was asked as often as allowed; no reply could be used
  + ScriptExhaustedError              a Scripted judge was asked more often than it has replies
  + ContractError                     a reply breaks its contract (evaluators turn it into a failed attempt)

Trouble with one case is a value, an ``Evaluation`` with status ``error``; trouble with the request itself is raised
before anything is sent.
"""

from __future__ import annotations

import contextlib
import copy
import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from evenhand.domain.failure import Failure


class EvenhandError(Exception):
    """The base of all errors raised here on purpose."""


class ConfigError(EvenhandError, ValueError):
    """A definition that cannot be right: says what, where, and what would be right.

    ``key`` is the key of the definition that it is about, if it is about one. Where a ``part`` is named first, such as
    the target, ``problem`` is the message without it.
    """

    part: str | None = None

    def __init__(self, message: str = "", *, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key
        self.problem = message

    def within(self, part: str, *, key: str | None = None) -> ConfigError:
        """Return this error as that of a part, or of the value of a key there."""
        named = copy.copy(self)
        named.args = (f"{part}: {self}",)
        named.part = part
        named.key = key or self.key
        return named


class TemplateError(ConfigError):
    """A template uses a name without a value, or lacks one that it must use."""


class UnknownNameError(ConfigError):
    """A provider, evaluator type or ready prompt of that name does not exist."""


class MissingJudgeError(ConfigError):
    """No judge was given, and none is named by the environment."""


class MissingKeyError(ConfigError):
    """A model needs an API key, and the variable that should hold it is not set; ``need`` says which."""

    def __init__(self, message: str, *, need: str | None = None, key: str | None = None) -> None:
        super().__init__(message, key=key)
        self.need = need


class IncomparableError(ConfigError):
    """Two runs that are only compared on request: ``why`` not, and in what they are ``differing``."""

    def __init__(self, why: str, *, differing: Sequence[str] = (), advice: str) -> None:
        listed = "\n".join([f"{why}:", *(f"- {difference}" for difference in differing), advice])
        super().__init__(listed if differing else f"{why}; or {advice}")
        self.why = why
        self.differing = differing


class ModelChoiceError(ConfigError):
    """A run has the answers of several ``models``, and nobody said which to compare; ``side`` is the run, a or b."""

    def __init__(self, message: str, *, side: Literal["a", "b"], models: Sequence[str]) -> None:
        super().__init__(message)
        self.side = side
        self.models = models


class MissingModelError(ConfigError):
    """The file of an embedded model, or what runs it, is not on this machine."""


class ModelFetchError(EvenhandError):
    """An embedded model could not be fetched: says why, and what is kept of it."""


class StoreError(EvenhandError):
    """The database cannot be opened, read or written: says which, and what would help."""


class ReadOnlyError(StoreError):
    """The database can only be read, and something would have to be written: said before it is begun."""


class ConnectionLostError(StoreError):
    """The connection to the database was lost, and there was no other in time; what was not committed is undone."""


class RunNotFoundError(StoreError):
    """No run has that id, or several do."""


class RunBusyError(StoreError):
    """Another process is at work on the run."""


class NotFoundError(StoreError):
    """No prompt or test case has that id or name."""


class ConflictError(StoreError):
    """The request conflicts with what is stored: a name is taken, or another write came first."""


class RunStoppedError(EvenhandError):
    """A run could not go on, for a reason that is not one case's; ``run`` has what was done until then."""

    def __init__(self, message: str, *, run: Any) -> None:
        super().__init__(message)
        self.run = run  # a Run; values do not know the engine, which makes those


class GatesFailed(EvenhandError, AssertionError):  # noqa: N818 - an assertion: what failed is what it is about
    """A run did not reach what its gates demand; ``run`` is that run, and the message is its report."""

    def __init__(self, message: str, *, run: Any) -> None:
        super().__init__(message)
        self.run = run


class ScriptExhaustedError(EvenhandError):
    """A ``Scripted`` judge was asked more often than it has replies."""


class ContractError(EvenhandError):
    """A reply that breaks its contract: ``kind`` is the class of the failure, the message says what was wrong.

    ``told`` is what the judge is told of it, where the message quotes the reply: a judge's words must not come back
    to it as ours. ``place`` is the line and the column in the text, where there is one.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "contract",
        told: str | None = None,
        place: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.told = told or message
        self.place = place

    @property
    def failure(self) -> Failure:
        """Return what went wrong as a value."""
        return Failure(self.kind, str(self))


@contextlib.contextmanager
def about(key: str) -> Iterator[None]:
    """Say of a ``ConfigError`` that is raised inside that it is about a key of the definition."""
    try:
        yield
    except ConfigError as error:
        error.key = key
        raise


def require_flag(value: object, key: str, *, where: str = "") -> None:
    """Refuse what is neither true nor false: the text ``"no"`` would count as true."""
    if not isinstance(value, bool):
        label = f"{where}: {key}" if where else key
        raise ConfigError(f"{label} is {value!r:.80}; it must be true or false", key=key)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """End an error message with the nearest right name, or with all of them.

    >>> did_you_mean("llm-jugde", ["llm_judge", "schema"])
    "; did you mean 'llm_judge'?"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(names)}" if names else ""
