"""Find the judge: a model client from whatever a user gave."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Final

from evenhand.domain.ask import ModelClient
from evenhand.domain.errors import ConfigError, MissingJudgeError, UnknownNameError, about
from evenhand.registry import MODELS, find, points

_unasked: ContextVar[bool] = ContextVar("unasked", default=False)


@contextlib.contextmanager
def unasked(so: bool = True) -> Iterator[None]:
    """Let models be made without their keys meanwhile; whoever asks such a one is refused by its provider."""
    before = _unasked.set(so)
    try:
        yield
    finally:
        _unasked.reset(before)


def is_unasked() -> bool:
    """Return whether models that are made now will not be asked."""
    return _unasked.get()


JUDGE_VARIABLE = "EVENHAND_JUDGE"
# What "embedded" alone stands for.
_ON_THIS_MACHINE = "embedded/qwen2.5-coder-1.5b"


def resolve(given: object = None, *, model: str | None = None) -> ModelClient:
    """Make a model client from a client, a name, a mapping, an object of another library, or nothing.

    >>> resolve("ollama/qwen2.5:7b").name
    'ollama/qwen2.5:7b'
    >>> resolve({"model": "vllm/qwen", "base_url": "http://127.0.0.1:8000/v1", "temperature": 0}).name
    'vllm/qwen'

    ``model`` is the name instead, or the model that a given client with ``chat.completions.create`` shall ask. With
    neither, the judge is the one that ``EVENHAND_JUDGE`` names.
    """
    if model is not None and not isinstance(model, str):
        raise ConfigError(f"model must be a name, such as 'openai/gpt-5-mini', not {type(model).__name__}")
    if given is None and model is not None:
        return _model_by_name(model, {})
    if given is None:
        try:
            return _model_by_name(_judge_of_the_environment(), {})
        except UnknownNameError as error:
            raise UnknownNameError(f"{JUDGE_VARIABLE}: {error}") from None
    if isinstance(given, (str, Mapping)) or _is_client(given):
        if model is not None:
            raise ConfigError(f"judge is {_short(given)} and model is {model!r}; give one of them")
        if isinstance(given, str):
            return _model_by_name(given, {})
        return _from_mapping(given) if isinstance(given, Mapping) else given  # type: ignore[return-value]
    from evenhand.models.adapters.adapt import adapt  # noqa: PLC0415 - only for foreign objects

    adapted = adapt(given, model=model)
    if adapted is None:
        raise ConfigError(
            f"judge is {_short(given)}; it must be a name such as 'openai/gpt-5-mini', a mapping with 'model', a model "
            "client, a LangChain chat model, an OpenAI client, a pydantic-ai model, or a function"
        )
    return adapted


def _is_client(value: object) -> bool:
    # A class has the attributes too; what was meant is an instance.
    return isinstance(value, ModelClient) and not isinstance(value, type) and isinstance(value.name, str)


def _judge_of_the_environment() -> str:
    name = os.environ.get(JUDGE_VARIABLE, "").strip()
    if not name:
        raise MissingJudgeError(
            "no judge: pass judge='openai/gpt-5-mini', a client, another library's model or a function; in the factory "
            f"also model='openai/gpt-5-mini'; or set {JUDGE_VARIABLE}, such as {JUDGE_VARIABLE}=ollama/qwen2.5:7b"
        )
    return name


def _from_mapping(mapping: Mapping[Any, Any]) -> ModelClient:
    settings = {str(key): value for key, value in mapping.items()}
    name = settings.pop("model", None)
    if not isinstance(name, str):
        raise ConfigError("a judge given as a mapping needs a 'model', such as 'openai/gpt-5-mini'", key="model")
    return _model_by_name(name, settings)


def _model_by_name(name: str, settings: dict[str, Any]) -> ModelClient:
    """Make a model by its name; what follows the provider may hold more separators."""
    if name.strip() == "embedded":
        return _model_by_name(_ON_THIS_MACHINE, settings)
    with about("model"):
        provider, model = provider_and_model(name)
        factory = find(MODELS, provider, what="model provider")
    try:
        client: ModelClient = factory(model, **settings)
    except TypeError as error:
        raise ConfigError(f"model {name!r}: {error}") from None
    return client


# Settings that every model takes alike. The others belong to a provider or to an account there.
_OF_ANY_MODEL: Final = frozenset({"temperature", "top_p", "seed", "max_tokens", "timeout"})
_OF_ANY_SERVER: Final = _OF_ANY_MODEL | {
    "connect_timeout", "first_byte_timeout", "max_transport_attempts", "backoff", "max_body_bytes",
}  # fmt: skip


def carried_over(settings: Mapping[str, Any], model: str) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of a model with another model in its place, and the names of those that it cannot have.

    >>> carried_over({"model": "openai/gpt-5-mini", "base_url": "http://127.0.0.1:1", "seed": 7}, "ollama/qwen2.5:7b")
    ({'model': 'ollama/qwen2.5:7b', 'seed': 7}, ['base_url'])

    What belongs to an account, such as its key, stays with its provider: no other is to see it.
    """
    before, after = _provider_of(settings.get("model")), _provider_of(model)
    lost: list[str] = []
    if before != after:
        provider = points(MODELS)[after].load() if after in points(MODELS) else None
        lacks: frozenset[str] = getattr(provider, "lacks", frozenset())
        taken = (_OF_ANY_MODEL if "embedded" in (before, after) else _OF_ANY_SERVER) - lacks
        lost = [name for name, value in settings.items() if name not in taken and name != "model" and value is not None]
    return {**{name: value for name, value in settings.items() if name not in lost}, "model": model}, lost


def _provider_of(name: object) -> str:
    return provider_of(name) if isinstance(name, str) else ""


def _short(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"


# What LangChain, LiteLLM, pydantic-ai and Inspect call a provider, and what it is called here.
OTHER_NAMES: Final[Mapping[str, str]] = {
    "anthropic_bedrock": "bedrock",
    "azure_openai": "azure",
    "azureopenai": "azure",
    "bedrock_converse": "bedrock",
    "fireworks_ai": "fireworks",
    "google": "gemini",
    "google-genai": "gemini",
    "google-gla": "gemini",
    "google-vertex": "vertex",
    "google-vertexai": "vertex",
    "google_genai": "gemini",
    "google_vertexai": "vertex",
    "grok": "xai",
    "hosted_vllm": "vllm",
    "mistralai": "mistral",
    "ollama_chat": "ollama",
    "openai-chat": "openai",
    "together_ai": "together",
    "vertex_ai": "vertex",
}

# Providers that others have and we have not, and what to do about that.
NOT_HERE: Final[Mapping[str, str]] = {
    "google_anthropic_vertex": (
        "Claude on Vertex AI is not supported by name; write anthropic/… or bedrock/…, or in Python give a LangChain "
        "model such as ChatAnthropicVertex"
    ),
}

# Whose model a name without provider probably is, by how it begins.
MAKERS: Final[Mapping[str, str]] = {
    "gpt-oss": "ollama",
    "claude": "anthropic",
    "gemini": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "grok": "xai",
    "llama": "ollama",
    "qwen": "ollama",
    "gemma": "ollama",
}
_USUAL_MAKER: Final = "openai"
_USUAL_MODEL: Final = "gpt-5-mini"


def provider_of(name: str) -> str:
    """Return the provider in a model's name, as it is called here; the first separator counts.

    >>> provider_of("google_genai:gemini-2.5-flash")
    'gemini'
    """
    provider = re.split("[/:]", name.strip(), maxsplit=1)[0]
    # Somebody's own provider of that name is meant.
    return OTHER_NAMES[provider] if provider in OTHER_NAMES and provider not in points(MODELS) else provider


def normal_name(name: str) -> str:
    """Return a model's name as it is recorded: ``provider/name``, with the provider as it is called here.

    >>> normal_name("mistralai:mistral-small-latest"), normal_name("openai:gpt-5-mini")
    ('mistral/mistral-small-latest', 'openai/gpt-5-mini')
    """
    _, *rest = re.split("[/:]", name.strip(), maxsplit=1)
    return "/".join([provider_of(name), *rest])


def provider_and_model(name: str) -> tuple[str, str]:
    """Return the provider and the model of a name, or refuse it with what to write."""
    written, *rest = re.split("[/:]", name.strip(), maxsplit=1)
    if not rest:
        raise ConfigError(f"model {name!r:.80} names no provider; write '{_suggestion(written)}'")
    (model,) = rest
    if not written or not model:
        raise ConfigError(f"model {name!r:.80} must be a provider and a name, such as 'openai/gpt-5-mini'")
    if written in NOT_HERE and written not in points(MODELS):
        raise UnknownNameError(f"model {name!r:.80}: {NOT_HERE[written]}")
    return provider_of(name), model


def _suggestion(model: str) -> str:
    maker = next((maker for start, maker in MAKERS.items() if model.lower().startswith(start)), _USUAL_MAKER)
    return f"{maker}/{model[:80] or _USUAL_MODEL}"
