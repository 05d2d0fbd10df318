"""The providers of models, and which models are of one family."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from evenhand.domain.errors import ConfigError, MissingKeyError, about
from evenhand.domain.secret import Secret
from evenhand.models.client import HttpModel
from evenhand.models.dialects.anthropic import ANTHROPIC as ANTHROPIC_DIALECT
from evenhand.models.dialects.dialect import Dialect, Generation, Structured
from evenhand.models.dialects.gemini import GEMINI as GEMINI_DIALECT
from evenhand.models.dialects.ollama import OLLAMA as OLLAMA_DIALECT
from evenhand.models.dialects.openai import OPENAI as OPENAI_DIALECT
from evenhand.models.endpoint import USUAL_HEADERS, Endpoint
from evenhand.models.environment import (
    Expanded,
    address_secrets,
    base_url_of,
    expanded,
    is_loopback,
    proxy_for,
    proxy_of,
    set_variable,
    variable,
)
from evenhand.models.resolve import is_unasked
from evenhand.models.settings import ModelSettings
from evenhand.models.wire.route import trusting

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


_SECRET_HEADERS = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
_SCHEMES = frozenset({"basic", "bearer", "token"})
_MOST_WORDS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models: its dialect, its addresses and the variables that hold its keys.

    ``path`` follows the base URL. ``names`` are its own names for settings, ``lacks`` the settings that it has not.
    The environment is read when a model is made, and not later.
    """

    name: str
    dialect: Dialect = OPENAI_DIALECT
    base_url: str | None
    base_url_variables: tuple[str, ...] = ()
    bare_port: int | None = None
    path: str = "/chat/completions"
    api_version: str = ""
    api_version_variables: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    key_header: str = "authorization"
    key_form: str = "Bearer {}"
    needs_key: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    structured: Structured = "json_schema"
    strict: bool = True
    lacks: frozenset[str] = frozenset({"api_version"})

    def __call__(self, model: str, /, **settings: Any) -> HttpModel:
        """Make a model of this provider, with the settings of ``ModelSettings``."""
        name = f"{self.name}/{model}"
        checked = ModelSettings.of(settings, where=name, lacks=self.lacks)
        base_url = self._base_url(checked, name)
        address = base_url.text
        generation = Generation(
            model=model,
            temperature=checked.temperature,
            top_p=checked.top_p,
            seed=checked.seed,
            max_tokens=checked.max_tokens,
            structured=checked.structured or self.structured,
            strict=self.strict,
            # A server elsewhere that speaks the same dialect goes by the common names.
            names=self.names if self.base_url in (None, address) else {},
            extra_body=checked.extra_body,
        )
        return HttpModel(
            name=name,
            dialect=self.dialect,
            generation=generation,
            endpoint=self._endpoint(model, checked, base_url, name),
            policy=checked.policy,
            rpm=checked.rpm,
            tpm=checked.tpm,
        )

    def _base_url(self, settings: ModelSettings, name: str) -> Expanded:
        where = f"{name}: base_url"
        if settings.base_url:
            written = expanded(settings.base_url, where)
        elif url := variable(*self.base_url_variables) or self.base_url:
            written = Expanded(url, {})
        else:
            raise ConfigError(f"{name} needs base_url; give it, or set {' or '.join(self.base_url_variables)}")
        try:
            with about("base_url"):
                return written._replace(text=base_url_of(written.text, where, bare_port=self.bare_port))
        except ConfigError:
            if not written.values:
                raise
        raise ConfigError(
            f"{where} {settings.base_url!r:.200} must be like https://host/path once {_name_values(written.values)} "
            "is filled in, with no login and nothing after the path",
            key="base_url",
        )

    def _endpoint(self, model: str, settings: ModelSettings, written: Expanded, name: str) -> Endpoint:
        base_url = written.text
        version = settings.api_version or variable(*self.api_version_variables) or self.api_version
        path = self.path.format(model=quote(model.removeprefix("models/"), safe=""), version=quote(version, safe=""))
        headers, secrets = self._headers(settings, base_url, name)
        secrets += address_secrets(written)
        proxy = None
        through = Expanded(proxy_for(base_url) or "", {})
        if settings.proxy is not None:
            through = expanded(settings.proxy, f"{name}: proxy")
        if through.text:
            with about("proxy"):
                proxy, more = proxy_of(through.text, name)
            secrets += (*more, *address_secrets(through))
        ca_file = (settings.ca_file or variable("SSL_CERT_FILE")) if base_url.lower().startswith("https:") else None
        if ca_file:
            trusting(ca_file)  # complains now if it is no use
        try:
            return Endpoint(
                url=base_url + path,
                variable=None if settings.base_url else set_variable(*self.base_url_variables),
                written_url=(settings.base_url or "").rstrip("/") + path if written.values else "",
                headers=headers,
                secrets=tuple(secrets),
                proxy=proxy,
                ca_file=ca_file,
                timeout=settings.timeout,
                connect_timeout=settings.connect_timeout,
                first_byte_timeout=settings.first_byte_timeout,
                max_body_bytes=settings.max_body_bytes,
            )
        except ConfigError as error:
            problem, key = str(error), error.key or "base_url"
        if written.values:
            problem = (
                f"base_url {settings.base_url!r:.200} has no host once {_name_values(written.values)} is filled in"
            )
        raise ConfigError(f"{name}: {problem}", key=key)

    def _headers(
        self, settings: ModelSettings, base_url: str, name: str
    ) -> tuple[dict[str, str | Secret], list[Secret]]:
        """Put the headers together, with the secrets in them; the user's own win, also over that of the key."""
        headers: dict[str, str | Secret] = {**USUAL_HEADERS, **self.headers}
        secrets: list[Secret] = []
        for header, text in settings.headers.items():
            value, values = expanded(text, f"{name}: header {header}")
            in_header = [Secret(referenced) for referenced in values.values()]
            if _SECRET_HEADERS.search(header):
                in_header += _secret_words(value, are_all_secret=not values)
            secrets += in_header
            headers[header.lower()] = Secret(value) if in_header else value
        if self.key_header not in headers and (key := self._key(settings, base_url, name)):
            secrets.append(Secret(key))
            headers[self.key_header] = Secret(self.key_form.format(key))
        return headers, secrets

    def _key(self, settings: ModelSettings, base_url: str, name: str) -> str | None:
        if settings.api_key is not None:
            return expanded(settings.api_key.reveal(), f"{name}: api_key").text
        key = variable(*self.key_variables)
        if key is None and self.needs_key and not is_loopback(base_url) and not is_unasked():
            variables = " or ".join(self.key_variables)
            raise MissingKeyError(
                f"{name} needs an API key: set {variables}, or give api_key",
                need=f"{name} needs an API key: set {variables}",
            )
        return key


def _secret_words(value: str, *, are_all_secret: bool) -> list[Secret]:
    """Return what is secret in the value of a header: its words, and the login that a word may be in Base64."""
    words = [word for word in value.split(None, _MOST_WORDS) if len(word) > 3 and word.lower() not in _SCHEMES]
    secrets = [Secret(word) for word in words] if are_all_secret else []
    if words and value[:6].lower() == "basic ":
        try:
            login = base64.b64decode(words[0], validate=True).decode()
        except (binascii.Error, ValueError):
            return secrets
        secrets += [Secret(login), Secret(login.partition(":")[2])]
    return secrets


def _name_values(names: Iterable[str]) -> str:
    return " and ".join(f"the value of {name}" for name in names)


OPENAI = Provider(
    name="openai",
    base_url="https://api.openai.com/v1",
    base_url_variables=("OPENAI_BASE_URL",),
    key_variables=("OPENAI_API_KEY",),
    names={"max_tokens": "max_completion_tokens"},
)
AZURE = Provider(
    name="azure",
    base_url=None,
    base_url_variables=("AZURE_OPENAI_ENDPOINT",),
    path="/openai/deployments/{model}/chat/completions?api-version={version}",
    key_variables=("AZURE_OPENAI_API_KEY",),
    key_header="api-key",
    key_form="{}",
    names={"max_tokens": "max_completion_tokens"},
    api_version="2024-10-21",
    api_version_variables=("OPENAI_API_VERSION",),
    lacks=frozenset(),
)
ANTHROPIC = Provider(
    name="anthropic",
    dialect=ANTHROPIC_DIALECT,
    base_url="https://api.anthropic.com",
    base_url_variables=("ANTHROPIC_BASE_URL",),
    path="/v1/messages",
    key_variables=("ANTHROPIC_API_KEY",),
    key_header="x-api-key",
    key_form="{}",
    headers={"anthropic-version": "2023-06-01"},
    lacks=frozenset({"api_version", "seed"}),
)
GEMINI = Provider(
    name="gemini",
    dialect=GEMINI_DIALECT,
    base_url="https://generativelanguage.googleapis.com",
    base_url_variables=("GOOGLE_GEMINI_BASE_URL",),
    path="/v1beta/models/{model}:generateContent",
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    key_header="x-goog-api-key",
    key_form="{}",
)
OLLAMA = Provider(
    name="ollama",
    dialect=OLLAMA_DIALECT,
    base_url="http://127.0.0.1:11434",
    base_url_variables=("OLLAMA_HOST",),
    path="/api/chat",
    key_variables=("OLLAMA_API_KEY",),
    needs_key=False,
    bare_port=11434,
)
VLLM = Provider(
    name="vllm",
    base_url="http://127.0.0.1:8000/v1",
    base_url_variables=("VLLM_BASE_URL",),
    key_variables=("VLLM_API_KEY",),
    needs_key=False,
    strict=False,
)
LLAMACPP = Provider(
    name="llamacpp",
    base_url="http://127.0.0.1:8080/v1",
    base_url_variables=("LLAMA_BASE_URL",),
    key_variables=("LLAMA_API_KEY",),
    needs_key=False,
    strict=False,
)
OPENROUTER = Provider(name="openrouter", base_url="https://openrouter.ai/api/v1", key_variables=("OPENROUTER_API_KEY",))
GROQ = Provider(name="groq", base_url="https://api.groq.com/openai/v1", key_variables=("GROQ_API_KEY",))
MISTRAL = Provider(
    name="mistral",
    base_url="https://api.mistral.ai/v1",
    key_variables=("MISTRAL_API_KEY",),
    names={"seed": "random_seed"},
)
DEEPSEEK = Provider(
    name="deepseek",
    base_url="https://api.deepseek.com",
    key_variables=("DEEPSEEK_API_KEY",),
    structured="json_object",
)
TOGETHER = Provider(name="together", base_url="https://api.together.xyz/v1", key_variables=("TOGETHER_API_KEY",))
FIREWORKS = Provider(
    name="fireworks", base_url="https://api.fireworks.ai/inference/v1", key_variables=("FIREWORKS_API_KEY",)
)
CEREBRAS = Provider(name="cerebras", base_url="https://api.cerebras.ai/v1", key_variables=("CEREBRAS_API_KEY",))
XAI = Provider(name="xai", base_url="https://api.x.ai/v1", key_variables=("XAI_API_KEY",))
