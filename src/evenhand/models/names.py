"""How models are named: ours is ``provider/name``; and how other libraries write the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from evenhand.domain.errors import ConfigError, UnknownNameError
from evenhand.registry import MODELS, points

# What LangChain, LiteLLM, pydantic-ai and Inspect call a provider, and what it is called here.
OTHER_NAMES: Final[Mapping[str, str]] = {
    "azure_openai": "azure",
    "azureopenai": "azure",
    "fireworks_ai": "fireworks",
    "google": "gemini",
    "google-genai": "gemini",
    "google-gla": "gemini",
    "google_genai": "gemini",
    "grok": "xai",
    "hosted_vllm": "vllm",
    "mistralai": "mistral",
    "ollama_chat": "ollama",
    "openai-chat": "openai",
    "together_ai": "together",
}

_BEDROCK: Final = (
    "Amazon Bedrock is not supported by name; in Python, give a LangChain model such as ChatBedrockConverse, or for "
    "models that Bedrock serves by OpenAI's API {'model': 'openai/…', 'base_url': "
    "'https://bedrock-runtime.REGION.amazonaws.com/openai/v1'}"
)
_VERTEX: Final = (
    "Vertex AI is not supported by name; write gemini/… and set GEMINI_API_KEY, or in Python give a LangChain model "
    "such as ChatVertexAI"
)
# Providers that others have and we have not, and what to do about that.
NOT_HERE: Final[Mapping[str, str]] = {
    "bedrock": _BEDROCK,
    "bedrock_converse": _BEDROCK,
    "anthropic_bedrock": _BEDROCK,
    "google-vertex": _VERTEX,
    "google-vertexai": _VERTEX,
    "google_vertexai": _VERTEX,
    "vertex_ai": _VERTEX,
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
