"""The providers of models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from evenhand.domain.errors import ConfigError, MissingKeyError, about
from evenhand.domain.secret import Secret
from evenhand.models.client import HttpModel
from evenhand.models.dialects.anthropic import ANTHROPIC as ANTHROPIC_DIALECT
from evenhand.models.dialects.bedrock import BEDROCK as BEDROCK_DIALECT
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
    header_secrets,
    is_loopback,
    proxy_for,
    proxy_of,
    set_variable,
    variable,
)
from evenhand.models.families import family_of
from evenhand.models.resolve import is_unasked
from evenhand.models.settings import ModelSettings
from evenhand.models.signature import Signer
from evenhand.models.wire.route import trusting

# Settings that only some providers have.
_OF_FEW = frozenset({"api_version", "region", "project", "location"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models: its dialect, its addresses and the variables that hold its keys.

    ``path`` follows the base URL. ``names`` are its own names for settings, ``lacks`` the settings that it has not.
    ``settled`` says what settings and variables make of it, where its address or its keys depend on them.
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
    key_advice: str = ""
    needs_key: bool = True
    signer: Signer | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    structured: Structured = "json_schema"
    strict: bool = True
    lacks: frozenset[str] = _OF_FEW
    settled: Callable[[Provider, ModelSettings, str], Provider] | None = None

    def __call__(self, model: str, /, **settings: Any) -> HttpModel:
        """Make a model of this provider, with the settings of ``ModelSettings``."""
        name = f"{self.name}/{model}"
        checked = ModelSettings.of(settings, where=name, lacks=self.lacks)
        provider = self if self.settled is None else self.settled(self, checked, name)
        return provider._model(model, checked, name)

    def _model(self, model: str, checked: ModelSettings, name: str) -> HttpModel:
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
                signer=None if self.key_header in headers else self.signer,
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
            value = expanded(text, f"{name}: header {header}")
            in_header = header_secrets(header, value)
            secrets += in_header
            headers[header.lower()] = Secret(value.text) if in_header else value.text
        if self.key_header not in headers and self.signer is not None:
            secrets += self.signer.secrets
        elif self.key_header not in headers and (key := self._key(settings, base_url, name)):
            secrets.append(Secret(key))
            headers[self.key_header] = Secret(self.key_form.format(key))
        return headers, secrets

    def _key(self, settings: ModelSettings, base_url: str, name: str) -> str | None:
        if settings.api_key is not None:
            return expanded(settings.api_key.reveal(), f"{name}: api_key").text
        key = variable(*self.key_variables)
        if key is None and self.needs_key and not is_loopback(base_url) and not is_unasked():
            variables = self.key_advice or " or ".join(self.key_variables)
            raise MissingKeyError(
                f"{name} needs an API key: set {variables}, or give api_key",
                need=f"{name} needs an API key: set {variables}",
            )
        return key


def _name_values(names: Iterable[str]) -> str:
    return " and ".join(f"the value of {name}" for name in names)


def _settled_bedrock(provider: Provider, settings: ModelSettings, name: str) -> Provider:
    """Find the region, and where no key of Bedrock is given, the keys of an account, to sign requests with."""
    own = replace(provider, key_variables=provider.key_variables[:1])
    access_key, secret_key = variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")
    is_signed = settings.api_key is None and not variable(*own.key_variables) and bool(access_key or secret_key)
    if is_signed or not (settings.base_url or variable(*own.base_url_variables)):
        given = settings.region or variable("AWS_REGION", "AWS_DEFAULT_REGION")
        if given is None:
            raise ConfigError(f"{name} needs region; give it, or set AWS_REGION or AWS_DEFAULT_REGION", key="region")
        region = _place(name, "region", given, like="us-east-1")
        own = replace(own, base_url=(own.base_url or "").format(region=region))
    if not is_signed:
        profile = variable("AWS_PROFILE")
        command = f"aws configure export-credentials --profile {profile} --format env"
        return replace(own, key_advice=f"{own.key_advice} (`{command}` prints them)") if profile else own
    if not (access_key and secret_key):
        unset = "AWS_SECRET_ACCESS_KEY" if access_key else "AWS_ACCESS_KEY_ID"
        raise MissingKeyError(f"{name} needs both keys of an AWS account: {unset} is not set")
    token = variable("AWS_SESSION_TOKEN")
    with about("api_key"):
        signer = Signer(
            access_key=Secret(access_key),
            secret_key=Secret(secret_key),
            session_token=Secret(token) if token else None,
            region=region,
            service="bedrock",
        )
    return replace(own, signer=signer)


def _settled_vertex(provider: Provider, settings: ModelSettings, name: str) -> Provider:
    """Find the project and its location; without a project, the key is one of express mode, which has neither."""
    if family_of(name) not in (None, "gemini"):
        raise ConfigError(
            f"{name}: on Vertex AI, only models of Google can be asked by name; in Python, give a LangChain model",
            key="model",
        )
    key = "" if settings.api_key is None else expanded(settings.api_key.reveal(), f"{name}: api_key").text
    if key.startswith("{") or key.endswith(".json"):
        raise ConfigError(
            f"{name}: api_key is the file of a service account, which is not read; give what `{_OF_FILES}` prints",
            key="api_key",
        )
    project = variable("GOOGLE_CLOUD_PROJECT") if settings.project is None else settings.project
    if not project and settings.location:
        raise ConfigError(f"{name}: location needs a project; give it, or set GOOGLE_CLOUD_PROJECT", key="location")
    if not project:
        return replace(
            provider,
            base_url=_VERTEX_HOSTS["global"],
            path=f"/v1{provider.path}",
            key_variables=provider.key_variables[2:],
            key_header="x-goog-api-key",
            key_form="{}",
        )
    given = settings.location or variable("GOOGLE_CLOUD_LOCATION") or "global"
    location = _place(name, "location", given, like="europe-west4")
    has_file = variable("GOOGLE_APPLICATION_CREDENTIALS") is not None
    command = _OF_FILES if has_file else "gcloud auth print-access-token"
    advice = f"GOOGLE_OAUTH_ACCESS_TOKEN to what `{command}` prints"
    return replace(
        provider,
        base_url=_VERTEX_HOSTS.get(location, provider.base_url or "").format(location=location),
        path=f"/v1/projects/{quote(project, safe='')}/locations/{location}{provider.path}",
        key_variables=provider.key_variables[:2],
        key_advice=f"{advice} (files of credentials are not read)" if has_file else advice,
    )


_OF_FILES = "gcloud auth application-default print-access-token"
_VERTEX_HOSTS: Mapping[str, str] = {
    "global": "https://aiplatform.googleapis.com",
    "eu": "https://aiplatform.{location}.rep.googleapis.com",
    "us": "https://aiplatform.{location}.rep.googleapis.com",
}


def _place(name: str, setting: str, region: str, *, like: str) -> str:
    """Check a region, which becomes part of the name of a host."""
    if not re.fullmatch("[a-z0-9-]{1,60}", region):
        raise ConfigError(f"{name}: {setting} is {region!r:.80}; it must be like {like}", key=setting)
    return region


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
    lacks=_OF_FEW - {"api_version"},
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
    lacks=_OF_FEW | {"seed"},
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
BEDROCK = Provider(
    name="bedrock",
    dialect=BEDROCK_DIALECT,
    base_url="https://bedrock-runtime.{region}.amazonaws.com",
    base_url_variables=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
    path="/model/{model}/converse",
    key_variables=("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"),
    key_advice="AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    lacks=_OF_FEW - {"region"} | {"seed"},
    settled=_settled_bedrock,
)
VERTEX = Provider(
    name="vertex",
    dialect=GEMINI_DIALECT,
    base_url="https://{location}-aiplatform.googleapis.com",
    base_url_variables=("GOOGLE_VERTEX_BASE_URL",),
    path="/publishers/google/models/{model}:generateContent",
    key_variables=("GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_API_KEY"),
    key_advice="GOOGLE_CLOUD_PROJECT and GOOGLE_OAUTH_ACCESS_TOKEN, or in express mode GOOGLE_API_KEY",
    lacks=_OF_FEW - {"project", "location"},
    settled=_settled_vertex,
)
