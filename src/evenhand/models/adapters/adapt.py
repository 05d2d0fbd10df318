"""The door for other people's model objects: which kind is it, and which adapter makes a judge of it."""

from __future__ import annotations

from typing import Any

from evenhand.domain.ask import ModelClient
from evenhand.domain.errors import ConfigError
from evenhand.models.adapters.function import Function, ProviderObject
from evenhand.models.adapters.langchain import LangChainModel
from evenhand.models.adapters.openai_client import OpenAIClient
from evenhand.models.adapters.pydantic_ai import PydanticAIModel
from evenhand.models.retry import RetryPolicy


def adapt(given: object, *, model: str | None = None, policy: RetryPolicy | None = None) -> ModelClient | None:
    """Make a model client from an object of another library, or a function; None for what cannot be one.

    >>> adapt(lambda messages: '{"score": 1}')
    Function('function/<lambda>')

    ``model`` names the model that an OpenAI client is to ask; the other kinds know theirs.
    """
    # A class is callable, yet what it makes is not a reply: somebody forgot the parentheses.
    if isinstance(given, type):
        return None
    client = _modern_face(given, model, policy) or _adapted(given, model, policy)
    if model is not None and client is not None and not isinstance(client, OpenAIClient):
        raise ConfigError(f"judge {client.name} knows its model; model={model!r} goes with an OpenAI client, or alone")
    return client


def _modern_face(given: object, model: str | None, policy: RetryPolicy | None) -> ModelClient | None:
    """Adapt what ``as_language_model()`` gives (SPEC-P5); None where there is none, and the object itself is asked."""
    if (as_language_model := _method(given, "as_language_model")) is None:
        return None
    try:
        face = as_language_model()
    except NotImplementedError:
        return None
    return None if face is given else adapt(face, model=model, policy=policy)


def _adapted(given: object, model: str | None, policy: RetryPolicy | None) -> ModelClient | None:
    if isinstance(given, ModelClient):
        return given
    if _comes_from(given, "langchain_core") and _method(given, "ainvoke"):
        return LangChainModel(given, policy=policy)
    if _method(given, "with_options") and _method(given, "chat", "completions", "create"):
        return OpenAIClient(given, model=model, policy=policy)
    if _comes_from(given, "pydantic_ai") and _method(given, "request"):
        return PydanticAIModel(given, policy=policy)
    if _method(given, "ainvoke") or _method(given, "invoke"):
        return ProviderObject(given, policy=policy)
    return Function(given, policy=policy) if callable(given) else None


def _comes_from(given: object, package: str) -> bool:
    """Tell whether an object's class, or one that it derives from, is of a package."""
    return any(each.__module__.partition(".")[0] == package for each in type(given).__mro__)


def _method(given: object, *path: str) -> Any:
    """Find a method behind attribute names; None where one is missing."""
    found: Any = given
    for name in path:
        found = getattr(found, name, None)
    return found if callable(found) else None
