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


def adapt(source: object, *, model: str | None = None, policy: RetryPolicy | None = None) -> ModelClient | None:
    """Make a model client from an object of another library, or a function; None for what cannot be one.

    >>> adapt(lambda messages: '{"score": 1}')
    Function('function/<lambda>')

    ``model`` names the model that an OpenAI client, or another object with ``chat.completions.create``, is to ask; the
    other kinds know theirs.
    """
    # A class is callable, yet what it makes is not a reply: somebody forgot the parentheses.
    if isinstance(source, type):
        return None
    client: ModelClient | None
    if _is_openai_client(source):
        client = OpenAIClient(source, model=model, policy=policy)
    else:
        client = _modern_face(source, model, policy) or _make_adapter(source, policy)
    if model is not None and client is not None and not isinstance(client, OpenAIClient):
        raise ConfigError(f"judge {client.name} knows its model; model={model!r} goes with an OpenAI client, or alone")
    return client


def _is_openai_client(source: object) -> bool:
    """Return whether an object is asked by ``chat.completions.create``; one that has all attributes, a mock, is too."""
    if _comes_from(source, "langchain_core") or _comes_from(source, "pydantic_ai"):
        return False
    return _method(source, "chat", "completions", "create") is not None


def _modern_face(source: object, model: str | None, policy: RetryPolicy | None) -> ModelClient | None:
    """Adapt what ``as_language_model()`` gives (SPEC-P5); None where there is none, and the object itself is asked."""
    if (as_language_model := _method(source, "as_language_model")) is None:
        return None
    try:
        face = as_language_model()
    except NotImplementedError:
        return None
    return None if face is source else adapt(face, model=model, policy=policy)


def _make_adapter(source: object, policy: RetryPolicy | None) -> ModelClient | None:
    if isinstance(source, ModelClient):
        return source
    if _comes_from(source, "langchain_core") and _method(source, "ainvoke"):
        return LangChainModel(source, policy=policy)
    if _comes_from(source, "pydantic_ai") and _method(source, "request"):
        return PydanticAIModel(source, policy=policy)
    if _method(source, "ainvoke") or _method(source, "invoke"):
        return ProviderObject(source, policy=policy)
    return Function(source, policy=policy) if callable(source) else None


def _comes_from(source: object, package: str) -> bool:
    """Return whether an object's class, or one that it derives from, is of a package."""
    return any(each.__module__.partition(".")[0] == package for each in type(source).__mro__)


def _method(source: object, *path: str) -> Any:
    """Find a method behind attribute names; None where one is missing."""
    member: Any = source
    for name in path:
        member = getattr(member, name, None)
    return member if callable(member) else None
