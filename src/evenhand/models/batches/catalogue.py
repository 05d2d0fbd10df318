"""Which models can be asked in batches, and how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from evenhand.domain.ask import ModelClient
from evenhand.domain.errors import ConfigError
from evenhand.models.batches.anthropic import AnthropicBatches
from evenhand.models.batches.gemini import GeminiBatches
from evenhand.models.batches.openai import OpenAIBatches
from evenhand.models.batches.server import BatchProtocol
from evenhand.models.client import HttpModel
from evenhand.models.resolve import provider_of

PROTOCOLS: Final[Mapping[str, BatchProtocol]] = {
    "openai": OpenAIBatches(),
    "anthropic": AnthropicBatches(),
    "gemini": GeminiBatches(),
}


def batch_protocol_of(client: ModelClient) -> tuple[HttpModel, BatchProtocol]:
    """Return a model and the protocol of its batches; refuse one that cannot be asked in a batch."""
    if isinstance(client, HttpModel) and (protocol := PROTOCOLS.get(provider_of(client.name))) is not None:
        return client, protocol
    raise ConfigError(
        f"batch: {client.name} cannot be asked in batches; only models of {', '.join(PROTOCOLS)} can, so choose one of "
        "those, or leave out batch"
    )
