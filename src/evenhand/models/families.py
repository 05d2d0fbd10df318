"""Which models are of one family, whoever serves them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

# Family -> how the names of its models begin; whole words only, so that "dolphin" is no phi.
_FAMILIES: Final[Mapping[str, str]] = {
    "openai": r"(?:chat)?gpt|o[1-9](?![a-z0-9])|davinci|codex",
    "claude": r"claude",
    "gemini": r"gemini|gemma|codegemma|medgemma",
    "llama": r"(?:code|tiny)?llama",
    "qwen": r"(?:code)?qwen|qwq|qvq",
    "mistral": r"(?:mi|mini|magi|code|dev)stral|(?:mix|pix|vox)tral",
    "deepseek": r"deepseek",
    "grok": r"grok",
    "phi": r"phi(?![a-z])",
    "command": r"command(?![a-z])|c4ai|aya(?![a-z])",
    "nova": r"nova(?![a-z])",
    "glm": r"(?:chat)?glm",
    "kimi": r"kimi|moonshot",
    "granite": r"granite",
    "minimax": r"minimax",
}
_FAMILY: Final = re.compile(
    "(?<![a-z0-9])(?:" + "|".join(f"(?P<{family}>{names})" for family, names in _FAMILIES.items()) + ")"
)


def family_of(model: str) -> str | None:
    """Name the family of a model, whoever serves it; None where its name does not say.

    >>> family_of("openrouter/meta-llama/llama-3.3-70b-instruct"), family_of("openai:o4-mini")
    ('llama', 'openai')
    >>> family_of("azure/our-deployment") is None
    True
    """
    # The provider says who serves the model, not who made it: anybody's model may run on ollama, or behind openai/….
    _, *rest = re.split("[/:]", model.lower(), maxsplit=1)
    # Of two names the first counts: a distilled model is named after its teacher first.
    match = _FAMILY.search(rest[0] if rest else model.lower())
    return match.lastgroup if match else None


def same_family(judge: str, target: str) -> str | None:
    """Warn of a judge that is kin to the model whose answers it judges; None where it is not, or that is unknown."""
    family = family_of(judge)
    if judge == target:
        kin = f"judge and target are the same model, {judge}"
    elif family is not None and family == family_of(target):
        kin = f"judge {judge} and target {target} are of the same family, {family}"
    else:
        return None
    return f"{kin}: models tend to favour answers of their own kind; a judge of another family would be more impartial"
